"""Apache Superset with two databases, each with the token of a user: one reads two tables, one operates a job."""

import os

from story import run_step
from superset_app import add_database, add_dataset, app, count_rows, create_metadata, run_in_lab

place = os.environ["JETSQL_TEST_URL"].removeprefix("https://")


def address(user, schema):
    token = os.environ[f"JETSQL_TEST_{user.upper()}"]
    return f"jetsql://{user}:{token}@{place}/{schema}?tls=true&ca_file={os.environ['JETSQL_CA_FILE']}"


def error_of(database, text, *words):
    """Check that SQL Lab refuses a statement, and return what it shows."""
    try:
        run_in_lab(database, text)
    except Exception as caught:
        assert all(word in str(caught) for word in words), caught
        return str(caught)[:160]
    raise AssertionError("no error")


def tables():
    assert {each[0] for each in reading.get_all_table_names_in_schema(None, "shop")} == {"orders", "customers"}
    assert "shop" not in operating.get_all_schema_names(catalog=None), "nothing of it is visible"
    return ""


def charts():
    for table, column, expected in (("orders", "customer", {"Ada", "Grace"}), ("customers", "country", {"UK", "US"})):
        frame = count_rows(add_dataset(reading, "shop", table), column)
        assert set(frame[column]) == expected, frame
    return ""


def hidden_table():
    missing = error_of(reading, "SELECT * FROM shop.missing", "TABLE_OR_VIEW_NOT_FOUND")
    hidden = error_of(reading, "SELECT * FROM shop.payroll", "TABLE_OR_VIEW_NOT_FOUND")
    assert hidden == missing.replace("missing", "payroll"), (hidden, missing)
    return ""


def jobs():
    assert [row["name"] for row in run_in_lab(operating, "SHOW JOBS")] == ["copying"]
    assert run_in_lab(reading, "SHOW JOBS") == []
    return ""


def operate():
    [row] = run_in_lab(operating, "ALTER JOB copying SUSPEND")
    assert row["status"] == "SUSPENDED", row
    [row] = run_in_lab(operating, "ALTER JOB copying RESUME")
    assert row["status"] == "RUNNING", row
    return ""


def no_more():
    error_of(operating, "SELECT * FROM shop.orders", "TABLE_OR_VIEW_NOT_FOUND")
    error_of(operating, "DROP JOB copying", "JETSQL.NOT_ALLOWED")
    return error_of(reading, "ALTER JOB copying SUSPEND", "JETSQL.JOB_NOT_FOUND")


with app.test_request_context():
    create_metadata()
    reading = add_database("reading", address("reader", "shop"))
    operating = add_database("operating", address("operator", "default"))
    for step in (tables, charts, hidden_table, jobs, operate, no_more):
        run_step(step.__name__, step)
