"""Spark's own statements through the engine: rows as Spark's tools show them, each statement run once."""

from __future__ import annotations

import datetime as dt

import pytest

from tests.conftest import Sql

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(("zone", "hour"), [("UTC", 0), ("Asia/Tokyo", 9), ("+02:00", 2), ("GMT-3", 21)])
def test_timestamps_go_by_the_clock_of_the_session(sql: Sql, zone: str, hour: int) -> None:
    sql(f"SET TIME ZONE '{zone}'")
    try:
        shown = sql.value("SELECT TIMESTAMP'2024-01-02 00:00:00Z'")
    finally:
        sql("SET TIME ZONE 'UTC'")
    assert shown == dt.datetime(2024, 1, 1 if hour == 21 else 2, hour)


def test_a_statement_runs_once(sql: Sql) -> None:
    sql("CREATE TABLE src (id INT) USING json")
    sql("CREATE VIEW v AS SELECT id FROM STREAM src")
    sql("INSERT INTO src VALUES (1)")
    assert sql("SELECT * FROM src") == [(1,)]


def test_a_select_over_a_stream_is_refused_with_the_way_out(sql: Sql) -> None:
    sql("CREATE TABLE src (id INT) USING json")
    error = sql.error("SELECT * FROM STREAM src")
    assert error.condition == "JETSQL.STREAM_OUTSIDE_JOB"
    assert "CREATE JOB" in error.hint


def test_a_large_result_is_read_part_by_part(sql: Sql) -> None:
    rows = sql.engine.run("SELECT id FROM range(0, 100000, 1, 4)").rows
    assert next(rows) == (0,)
    assert sum(1 for _ in rows) == 99999


@pytest.mark.parametrize(
    ("text", "condition", "line", "column"),
    [
        ("SELEC 1", "PARSE_SYNTAX_ERROR", 1, 1),
        ("SELECT\n  nope\nFROM range(1)", "UNRESOLVED_COLUMN.WITH_SUGGESTION", 2, 3),
        ("SELECT\n 1 / 0", "DIVIDE_BY_ZERO", 2, 2),
        ("SELECT * FROM nowhere", "TABLE_OR_VIEW_NOT_FOUND", 1, 15),
    ],
)
def test_errors_of_spark_keep_their_place(sql: Sql, text: str, condition: str, line: int, column: int) -> None:
    error = sql.error(text)
    assert (error.condition, error.line, error.column) == (condition, line, column)
    assert "SQLSTATE" not in error.message and "== SQL" not in error.message
