"""Apache Superset without its web UI: the execution of a statement in SQL Lab, and the query of a chart.

It connects with `jetsql://`, or with the argument `thrift` as to a Hive database.
"""

import os
import sys

from story import run_step
from superset_app import add_database, add_dataset, app, count_rows, create_metadata, run_in_lab

schema = os.environ["JETSQL_TEST_SCHEMA"]
job = f"job_{schema}"
token = os.environ["JETSQL_TEST_TOKEN"]
place = os.environ["JETSQL_TEST_THRIFT"].removeprefix("jdbc:hive2://")
ADDRESS = os.environ["JETSQL_TEST_SQLALCHEMY"]
if "thrift" in sys.argv:
    ADDRESS = f"hive://jetsql:{token}@{place}/default?auth=CUSTOM"


def lab(text):
    return run_in_lab(database, text)


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
    dataset = add_dataset(database, "jetsql", "jobs")
    columns = {column.column_name: column.type for column in dataset.columns}
    assert "status" in columns and "submission_time" in columns, columns
    frame = count_rows(dataset, "status")
    assert "RUNNING" in set(frame["status"]), frame
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
    create_metadata()
    database = add_database("jetsql", ADDRESS)
    steps = (connect, table, table_in_lab, create, show, chart, suspend_resume, suspend_word, error, drop)
    for step in steps:
        run_step(step.__name__, step)
