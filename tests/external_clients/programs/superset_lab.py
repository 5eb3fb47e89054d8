"""Apache Superset without its web UI: the execution of a statement in SQL Lab, and the query of a chart.

Superset stores its metadata in a SQLite file. It connects with `jetsql://`, or with the argument `thrift` as to a Hive
database.
"""

import logging
import os
import sys
import tempfile

from story import run_step

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
schema = os.environ["JETSQL_TEST_SCHEMA"]
job = f"job_{schema}"
token = os.environ["JETSQL_TEST_TOKEN"]
place = os.environ["JETSQL_TEST_THRIFT"].removeprefix("jdbc:hive2://")
ADDRESS = os.environ["JETSQL_TEST_SQLALCHEMY"]
if "thrift" in sys.argv:
    ADDRESS = f"hive://jetsql:{token}@{place}/default?auth=CUSTOM"


def lab(text, schema_name="default"):
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


def connect():
    assert [list(row.values()) for row in lab("SELECT 1 AS one")] == [[1]]
    return database.db_engine_spec.__name__


def table():
    with database.get_raw_connection() as connection:
        for text in (
            f"CREATE SCHEMA {schema}",
            f"CREATE TABLE {schema}.orders (id INT, amount DECIMAL(10,2)) USING json",
            f"CREATE TABLE {schema}.big (id INT, amount DECIMAL(10,2)) USING parquet",
            f"INSERT INTO {schema}.orders VALUES (1, 20.00), (2, 350.50)",
        ):
            cursor = connection.cursor()
            cursor.execute(text)
            cursor.close()
    return "beside SQL Lab"


def table_in_lab():
    lab(f"CREATE TABLE {schema}.more (id INT) USING json")
    return ""


def create():
    [row] = lab(f"CREATE JOB {job} AS INSERT INTO {schema}.big SELECT * FROM STREAM {schema}.orders WHERE amount > 100")
    assert row["status"] == "RUNNING", row
    return ""


def show():
    rows = lab("SHOW JOBS")
    assert [(row["name"], row["status"]) for row in rows if row["name"] == job] == [(job, "RUNNING")], rows
    return ""


def suspend_resume():
    [row] = lab(f"ALTER JOB {job} SUSPEND")
    assert row["status"] == "SUSPENDED", row
    [row] = lab(f"ALTER JOB {job} RESUME")
    assert row["status"] == "RUNNING", row
    return "as ALTER JOB ... SUSPEND; needs the database's 'allow DML'"


def suspend_word():
    lab(f"SUSPEND JOB {job}")
    lab(f"RESUME JOB {job}")
    return ""


def chart():
    """Run a grouped query over jetsql.jobs, which Superset builds from a dataset."""
    from superset import db
    from superset.connectors.sqla.models import SqlaTable

    dataset = SqlaTable(table_name="jobs", schema="jetsql", database=database)
    db.session.add(dataset)
    db.session.commit()
    dataset.fetch_metadata()
    columns = {column.column_name: column.type for column in dataset.columns}
    assert "status" in columns and "submission_time" in columns, columns
    found = dataset.query(
        {
            "granularity": None,
            "from_dttm": None,
            "to_dttm": None,
            "groupby": ["status"],
            "columns": ["status"],
            "metrics": [{"expressionType": "SQL", "sqlExpression": "count(*)", "label": "n"}],
            "filter": [],
            "is_timeseries": False,
            "row_limit": 100,
            "extras": {},
            "orderby": [],
        }
    )
    assert found.error_message is None and "RUNNING" in set(found.df["status"]), (found.error_message, found.df)
    return ""


def error():
    try:
        lab("ALTER JOB nobody_knows SUSPEND")
    except Exception as caught:
        assert "JETSQL.JOB_NOT_FOUND" in str(caught), caught
        return str(caught)[:160]
    raise AssertionError("no error")


def drop():
    lab(f"DROP JOB {job}")
    lab(f"DROP SCHEMA {schema} CASCADE")
    return ""


with app.test_request_context():
    from flask_appbuilder import Model
    from superset import db
    from superset.models.core import Database

    Model.metadata.create_all(db.engine)
    database = Database(database_name="jetsql", allow_dml=True, allow_run_async=False)
    database.set_sqlalchemy_uri(ADDRESS)
    db.session.add(database)
    db.session.commit()
    steps = (connect, table, table_in_lab, create, show, chart, suspend_resume, suspend_word, error, drop)
    for step in steps:
        run_step(step.__name__, step)
