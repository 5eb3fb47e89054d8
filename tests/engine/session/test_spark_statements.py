"""Spark's own statements through the engine: rows as Spark's tools show them, each statement executed once."""

from __future__ import annotations

import datetime as dt
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest

import jetsql
from jetsql.client.engine_client import EngineClient
from jetsql.errors import StatementError
from jetsql.output.diagnostics import Script
from jetsql.request import Cancellation, cancellable
from jetsql.script import PreparedStatement, prepare
from tests.conftest import Sql, until
from tests.support.engines.file_size_limit import file_size_limit
from tests.support.servers.http_server import TOKEN, RunningServer

pytestmark = pytest.mark.spark


NEW_YEAR = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


@pytest.fixture
def zone(sql: Sql) -> Iterator[Callable[[str], object]]:
    """Yield a function that sets the session's time zone for a test."""
    yield lambda name: sql(f"SET TIME ZONE '{name}'")
    sql("SET TIME ZONE 'UTC'")


@pytest.mark.parametrize(("name", "hours"), [("UTC", 0), ("Asia/Tokyo", 9), ("+02:00", 2), ("GMT-3", -3)])
def test_timestamps_go_by_the_clock_of_the_session(
    sql: Sql, zone: Callable[[str], None], name: str, hours: int
) -> None:
    zone(name)
    shown = sql.value("SELECT TIMESTAMP'2024-01-01 00:00:00Z'")
    assert (shown, shown.utcoffset()) == (NEW_YEAR, dt.timedelta(hours=hours))


def test_nested_timestamps_and_local_times_have_the_right_offset(sql: Sql, zone: Callable[[str], None]) -> None:
    zone("Asia/Tokyo")
    [(array, table, pair)] = sql(
        "SELECT array(t, NULL), map(t, array(struct(t))), struct(t AS a, TIMESTAMP_NTZ'2024-01-01 00:00:00' AS b)"
        " FROM VALUES (TIMESTAMP'2024-01-01 00:00:00Z') AS v(t)"
    )
    assert (array, table) == ([NEW_YEAR, None], {NEW_YEAR: [(NEW_YEAR,)]})
    assert (pair.a, pair.b) == (NEW_YEAR, dt.datetime(2024, 1, 1))
    assert {array[0].utcoffset(), pair.a.utcoffset()} == {dt.timedelta(hours=9)}


def test_last_timestamp_can_be_shown_in_every_zone(sql: Sql, zone: Callable[[str], None]) -> None:
    zone("Asia/Tokyo")
    assert sql.value("SELECT TIMESTAMP'9999-12-31 23:59:59Z'").year == 9999


@pytest.mark.parametrize("value", ["DATE'99999-01-01'", "DATE'-0044-03-15'", "TIMESTAMP'+99999-01-01 00:00:00'"])
def test_values_that_cannot_be_shown_are_reported_with_a_hint(sql: Sql, value: str) -> None:
    error = sql.error(f"SELECT {value} AS v")
    assert (error.condition, error.hint) == ("JETSQL.VALUE_NOT_SHOWN", "Cast the column to STRING.")
    assert sql.value(f"SELECT CAST({value} AS STRING)")


def test_calendar_interval_is_shown_as_spark_writes_it(sql: Sql) -> None:
    assert sql.value("SELECT make_interval(1, 2)") == "1 years 2 months"


def test_a_dollar_of_a_script_is_written_twice(sql: Sql) -> None:
    [step] = prepare([Script("dollars.sql", "SELECT '$${day} ${day} $${spark.app.name}' AS text")], {"day": "Monday"})
    assert isinstance(step, PreparedStatement)
    assert sql(step.text) == [("${day} Monday ${spark.app.name}",)]
    assert list(sql.engine.session().run(step.text).rows) == [("${day} Monday ${spark.app.name}",)]


def test_a_statement_runs_once(sql: Sql) -> None:
    sql("CREATE TABLE src (id INT) USING json")
    sql("CREATE VIEW v AS SELECT id FROM STREAM src")
    sql("INSERT INTO src VALUES (1)")
    assert sql("SELECT * FROM src") == [(1,)]


def test_a_large_result_is_read_part_by_part(sql: Sql) -> None:
    rows = sql.engine.run("SELECT id FROM range(0, 100000, 1, 4)").rows
    assert next(rows) == (0,)
    assert sum(1 for _ in rows) == 99999


@pytest.fixture
def left(sql: Sql) -> Callable[[], set[str]]:
    """Return what Spark keeps for statements of the test. Other tests in the same engine may have left something."""
    before = kept_by_spark(sql)
    return lambda: kept_by_spark(sql) - before


def kept_by_spark(sql: Sql) -> set[str]:
    """Return the ids of stored rows, of queries with jobs, and of running jobs."""
    context: Any = sql.engine.spark.sparkContext
    kept = {f"rows {number}" for number in context._jsc.getPersistentRDDs()}
    kept |= {f"query {query}" for query in context._jsc.sc().dagScheduler().activeQueryToJobs()}
    return kept | {f"job {number}" for number in context.statusTracker().getActiveJobsIds()}


def test_read_rows_leave_no_data_in_spark(sql: Sql, left: Callable[[], set[str]]) -> None:
    assert len(sql("SELECT id FROM range(0, 100000, 1, 4)")) == 100000
    until(lambda: not left())


ENDLESS = [
    "SELECT id FROM range(0, 1000000000000, 1, 2) WHERE id < 0",
    "SELECT count(*) FROM range(1000000000000) WHERE id % 7 = rand()",
]


def test_partly_read_rows_leave_no_data_in_spark(sql: Sql, left: Callable[[], set[str]]) -> None:
    rows = sql.engine.run("SELECT id FROM range(0, 1000000, 1, 4)").rows
    assert next(rows) == (0,)
    rows.close()  # type: ignore[attr-defined]
    until(lambda: not left())


def test_spark_begins_when_rows_are_read(sql: Sql, left: Callable[[], set[str]]) -> None:
    unread = sql.engine.run(ENDLESS[0]).rows
    assert left() == set()
    del unread


def test_cancelled_unread_statement_leaves_no_data_in_spark(sql: Sql, left: Callable[[], set[str]]) -> None:
    token = Cancellation()
    with cancellable(token):
        rows = sql.engine.run(ENDLESS[0]).rows
        token.cancel()
        with pytest.raises(StatementError):
            next(rows)
    assert left() == set()


def test_rows_fetched_by_spark_leave_no_data(sql: Sql, left: Callable[[], set[str]]) -> None:
    assert len(list(sql.engine.spark.sql("SELECT id FROM range(0, 1000, 1, 4)").toLocalIterator())) == 1000
    until(lambda: not left())


def test_rows_come_up_to_an_error(sql: Sql, left: Callable[[], set[str]]) -> None:
    text = "SELECT 1 / (id - 75000) FROM range(0, 100000, 1, 4)"
    rows = sql.engine.run(text).rows
    read: list[Any] = []
    with pytest.raises(Exception) as error:
        read.extend(rows)
    assert sql.engine.error(error.value, text).condition == "DIVIDE_BY_ZERO"
    assert len(read) >= 50000
    until(lambda: not left())


@pytest.mark.parametrize("size", [0, 5000])
def test_a_full_disk_never_shortens_a_result(sql: Sql, server: RunningServer, remote: EngineClient, size: int) -> None:
    """Fill the disk: Spark's block store can lose the end of a block, and then reads it without an error."""
    sql("CREATE TABLE counted (name STRING) USING json")
    sql("INSERT INTO counted VALUES ('a'), ('b')")
    connection = jetsql.connect(server.url, token=TOKEN)
    ways = (
        lambda text: list(sql.engine.run(text).rows),
        lambda text: list(remote.run(text).rows),
        lambda text: connection.arrow_cursor().execute(text).fetch_arrow_table().to_pylist(),
    )
    counts = {
        "SELECT id FROM range(1000)": 1000,
        "SELECT count(*) FROM range(10)": 1,
        "SELECT id, repeat(uuid(), 100) AS text FROM range(3000)": 3000,
        "SELECT role FROM jetsql.engines": 1,
        f"SELECT name FROM STREAM {sql.value('SELECT current_schema()')}.counted LIMIT 2": 2,
    }
    pid = sql.engine.spark.sparkContext._gateway.proc.pid  # type: ignore[union-attr]
    for text, count in counts.items():
        for read in ways:
            with file_size_limit(pid, size):
                try:
                    rows = read(text)
                except Exception as error:
                    assert "no space left" in sql.engine.error(error, text).message
                else:
                    assert len(rows) == count, text
            assert len(read(text)) == count
    connection.close()


def test_disk_filling_during_a_wait_never_shortens_a_result(sql: Sql, remote: EngineClient) -> None:
    text = "SELECT id, repeat(uuid(), 100) AS text FROM range(0, 20000, 1, 8)"  # more than the sockets keep
    pid = sql.engine.spark.sparkContext._gateway.proc.pid  # type: ignore[union-attr]
    rows = iter(remote.run(text).rows)
    read = [next(rows)]
    with file_size_limit(pid, 5000):
        try:
            read.extend(rows)
        except Exception as error:
            assert "no space left" in sql.engine.error(error, text).message
        else:
            assert len(read) == 20000


@pytest.mark.parametrize("text", ENDLESS, ids=["rows", "aggregate"])
@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "when it runs"])
def test_a_cancelled_statement_ends_what_spark_does_for_it(
    sql: Sql, left: Callable[[], set[str]], text: str, at_once: bool
) -> None:
    token, errors = Cancellation(), []

    def read() -> None:
        with cancellable(token):
            errors.append(sql.error(text).condition)

    thread = threading.Thread(target=read)
    thread.start()
    until(lambda: at_once or left() != set())
    token.cancel()
    thread.join(60)
    assert errors == ["JETSQL.STATEMENT_CANCELLED"]
    until(lambda: not left())


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
    assert not error.message.startswith("[")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("SELECT\n " + "(" * 20_000 + "1" + ")" * 20_000, (2, 202)),
        ("CREATE JOB deep AS\nINSERT INTO t SELECT " + "(" * 20_000 + "1" + ")" * 20_000, (2, 222)),
        ("CREATE TABLE deep (a " + "ARRAY<" * 20_000 + "INT" + ">" * 20_000 + ")", (1, 1221)),
        ("SELECT /*" + " /*" * 20_000 + "*/" * 20_001 + " 1", (1, 68)),
        ("SELECT 1 IN (1" + ", 1" * 700_000 + ")", None),
        ("SELECT " + "NOT " * 20_000 + "true", None),
        ("SELECT\n from_json('', repeat('ARRAY<', 20000))", (2, 2)),
        ("SELECT from_csv('', 'a " + "ARRAY<" * 20_000 + "INT')", (1, 8)),
        ("SELECT from_xml('', 'a ' || repeat('STRUCT<a: ', 20000))", (1, 8)),
        ("SELECT try_variant_get(parse_json('1'), '$', repeat('MAP<INT, ', 20000))", (1, 8)),
        ("SELECT variant_get(parse_json('1'), '$', repeat('(', 20000))", (1, 8)),
    ],
    ids=["parentheses", "job", "types", "comments", "tokens", "chain", "json", "csv", "xml", "try-variant", "variant"],
)
def test_statements_that_spark_cannot_parse_are_refused(sql: Sql, text: str, place: tuple[int, int] | None) -> None:
    error = sql.error(text)
    assert (error.condition, error.sqlstate) == ("JETSQL.STATEMENT_TOO_COMPLEX", "54001")
    assert place is None or (error.line, error.column) == place


@pytest.mark.parametrize("text", ["SELECT '\ud800'", "\udfff", "SHOW JOBS \ud800", "CREATE JOB \ud800 AS SELECT 1"])
def test_half_a_surrogate_pair_is_refused(sql: Sql, text: str) -> None:
    error = sql.error(text)
    assert (error.condition, error.sqlstate) == ("JETSQL.REQUEST_NOT_READABLE", "08P01")
    assert "an unpaired surrogate" in error.message and error.message.isprintable()
    assert sql.value("SELECT '\U0001f600'") == "\U0001f600"


@pytest.mark.parametrize("levels", [10, 95])
def test_nested_parameters(server: RunningServer, levels: int) -> None:
    remote = EngineClient(server.url, TOKEN)
    value: Any = 1
    for _ in range(levels):
        value = [value]
    request = {"statement": "SELECT ? AS v", "parameters": [value]}
    with closing(HTTPConnection(urlsplit(server.url).netloc, timeout=60)) as connection:
        connection.request("POST", "/v1/sql", json.dumps(request), {"Authorization": f"Bearer {TOKEN}"})
        response = connection.getresponse()
        response_text = response.read().decode()
    assert response.status == 200, response_text
    assert "JETSQL.ENGINE_NOT_REACHABLE" not in response_text
    assert list(remote.run("SELECT 1").rows) == [(1,)]
    remote.close()
