"""Apache Superset without its web UI: its application, databases, and the execution of statements in SQL Lab.

Superset stores its metadata in a SQLite file.
"""

import logging
import os
import tempfile

logging.disable(logging.WARNING)
folder = tempfile.mkdtemp()
with open(f"{folder}/superset_config.py", "w") as config:
    config.write(f"SECRET_KEY = 'x' * 42\nSQLALCHEMY_DATABASE_URI = 'sqlite:///{folder}/superset.db'\n")
    config.write("RATELIMIT_ENABLED = False\nTALISMAN_ENABLED = False\n")
    for cache in ("CACHE", "DATA_CACHE", "FILTER_STATE_CACHE", "EXPLORE_FORM_DATA_CACHE"):
        config.write(f"{cache}_CONFIG = {{'CACHE_TYPE': 'SimpleCache'}}\n")
os.environ["SUPERSET_CONFIG_PATH"] = f"{folder}/superset_config.py"

from superset.app import create_app  # noqa: E402

app = create_app()


def create_metadata():
    """Create the tables of Superset's metadata, in the context of the application."""
    from flask_appbuilder import Model
    from superset import db

    Model.metadata.create_all(db.engine)


def add_database(name, address):
    """Return a new database in Superset. address: as SQLAlchemy has it."""
    from superset import db
    from superset.models.core import Database

    database = Database(database_name=name, allow_dml=True, allow_run_async=False)
    database.set_sqlalchemy_uri(address)
    db.session.add(database)
    db.session.commit()
    return database


def run_in_lab(database, text, schema_name="default"):
    """Return the rows of a statement through SQL Lab, without its queue."""
    from superset import db
    from superset.models.sql_lab import Query
    from superset.sql_lab import execute_sql_statements

    query = Query(
        client_id=os.urandom(5).hex(), database_id=database.id, sql=text, schema=schema_name, limit=100, user_id=None
    )
    query.start_time = 0
    db.session.add(query)
    db.session.commit()
    found = execute_sql_statements(
        query.id, text, return_results=True, store_results=False, start_time=None, expand_data=False, log_params=None
    )
    assert query.status == "success", (query.status, query.error_message, found)
    return found["data"]


def add_dataset(database, schema, table):
    """Return a dataset of a table, with its columns."""
    from superset import db
    from superset.connectors.sqla.models import SqlaTable

    dataset = SqlaTable(table_name=table, schema=schema, database=database)
    db.session.add(dataset)
    db.session.commit()
    dataset.fetch_metadata()
    return dataset


def count_rows(dataset, column):
    """Return the data frame of a chart: the number of rows by a column."""
    found = dataset.query(
        {
            "granularity": None,
            "from_dttm": None,
            "to_dttm": None,
            "groupby": [column],
            "columns": [column],
            "metrics": [{"expressionType": "SQL", "sqlExpression": "count(*)", "label": "n"}],
            "filter": [],
            "is_timeseries": False,
            "row_limit": 100,
            "extras": {},
            "orderby": [],
        }
    )
    assert found.error_message is None, found.error_message
    return found.df
