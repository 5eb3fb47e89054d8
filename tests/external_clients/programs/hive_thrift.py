"""PyHive over Thrift, which dbt-spark and Superset's Hive dialect use as well."""

import os

import pyhive.hive as hive
from story import Story, run_step

host, port = os.environ["JETSQL_TEST_THRIFT"].removeprefix("jdbc:hive2://").split(":")


def connect(token):
    return hive.connect(host, int(port), username="jetsql", password=token, auth="CUSTOM")


connection = connect(os.environ["JETSQL_TEST_TOKEN"])
last = []


def run(text):
    with connection.cursor() as cursor:
        cursor.execute(text)
        last[:] = [column[0] for column in cursor.description or ()]
        return cursor.fetchall() if cursor.description else []


def explain(error):
    status = error.args[0].status
    return f"{type(error).__name__} {status.sqlState} {status.errorMessage}"


def wrong_token():
    try:
        connect("wrong")
    except Exception as error:
        return str(error)[:100]
    raise AssertionError("came in with a wrong token")


def parameters():
    """Write the values into the statement, as PyHive does: the protocol has no parameters."""
    with connection.cursor() as cursor:
        for text in ("it's", "a\\b\\'c", "'; --", "?", "a\nb"):
            cursor.execute("SELECT %s, %s", (text, 5))
            assert cursor.fetchall() == [(text, 5)], text
        cursor.execute("SHOW JOBS LIKE %(name)s", {"name": "no such job"})
        assert cursor.fetchall() == []
    return ""


Story(run, explain, lambda: last).run_all()
run_step("parameters", parameters)
run_step("wrong token", wrong_token)
connection.close()
