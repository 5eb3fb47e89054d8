"""ADBC over Spark Connect."""

import os

import adbc_driver_spark.dbapi
from story import Story, run_step

address = os.environ["JETSQL_TEST_CONNECT"]
token = os.environ["JETSQL_TEST_TOKEN"]
connection = adbc_driver_spark.dbapi.connect(f"{address}/;token={token}", use_ssl=False)
last = []


def run(text):
    with connection.cursor() as cursor:
        cursor.execute(text)
        last[:] = [column[0] for column in cursor.description or ()]
        return cursor.fetchall()


def explain(error):
    return f"{type(error).__name__} {getattr(error, 'sqlstate', '')} {error}"


def arrow():
    with connection.cursor() as cursor:
        cursor.execute("SELECT id, name FROM jetsql.jobs")
        assert cursor.fetch_arrow_table().column_names == ["id", "name"]
    return ""


def wrong_token():
    try:
        with adbc_driver_spark.dbapi.connect(f"{address}/;token=wrong", use_ssl=False) as other:
            with other.cursor() as cursor:
                cursor.execute("SELECT 1")
                cursor.fetchall()
    except Exception as error:
        assert "nauthenticated" in str(error).lower() or "token" in str(error).lower(), error
        return ""
    raise AssertionError("came in with a wrong token")


Story(run, explain, lambda: last).run_all()
run_step("arrow", arrow)
run_step("wrong token", wrong_token)
connection.close()
