"""pandas over SQLAlchemy's dialect `jetsql://`, without PySpark."""

import os

import pandas
import sqlalchemy
from story import Story, run_step

engine = sqlalchemy.create_engine(os.environ["JETSQL_TEST_SQLALCHEMY"])
connection = engine.connect()
last = []


def run(text):
    found = connection.execute(sqlalchemy.text(text.replace(":", r"\:")))
    last[:] = found.keys() if found.returns_rows else []
    return [tuple(row) for row in found] if found.returns_rows else []


def explain(error):
    return f"{type(error).__name__} {getattr(error.orig, 'sqlstate', '')} {error.orig}"


def read_sql():
    frame = pandas.read_sql("SELECT name, status, submission_time FROM jetsql.jobs", connection)
    assert list(frame.columns) == ["name", "status", "submission_time"]
    assert str(frame.dtypes["submission_time"]).startswith("datetime64"), frame.dtypes
    assert len(pandas.read_sql("SHOW JOBS", connection)) == 1
    return ""


def tables():
    assert "jobs" in sqlalchemy.inspect(engine).get_table_names(schema="jetsql") + sqlalchemy.inspect(
        engine
    ).get_view_names(schema="jetsql")
    return ""


story = Story(run, explain, lambda: last, more=(read_sql, tables))
story.run_all()
connection.close()
run_step("close", lambda: engine.dispose() or "")
