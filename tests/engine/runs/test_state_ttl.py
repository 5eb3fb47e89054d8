"""The option stateTtlMillis: state that no watermark removes is forgotten after its time to live."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.conftest import Sql
from tests.support.servers.postgres import Postgres
from tests.support.tables.json_files import create_stream

pytestmark = pytest.mark.spark

HOUR: Final = 3_600_000
INTERVAL: Final = "'snapshotIntervalMillis' = '100'"
JOINED: Final = "SELECT c.k, c.v, d.w FROM STREAM clicks c JOIN STREAM users d ON c.k = d.k AND c.v < d.w"
TOTALS: Final = """
    SELECT k, count(*), sum(v) FILTER (WHERE v > 3), avg(v), max(v) FROM STREAM clicks WHERE k IS NOT NULL GROUP BY k
"""
_schemas = itertools.count(1)


@pytest.fixture
def streams(sql: Sql, tmp_path: Path) -> Iterator[Sql]:
    """Return two streams of four files each."""
    chosen = random.Random(1)
    for name, column in (("clicks", "v"), ("users", "w")):
        rows = [{"k": chosen.choice((None, *range(9))), column: chosen.randrange(12)} for _ in range(60)]
        parts = [rows[:15], rows[15:20], rows[20:44], rows[44:]]
        create_stream(sql, tmp_path / name, f"k INT, {column} INT", parts)
    yield sql


@pytest.fixture
def totals(postgres: Postgres, sql: Sql) -> Iterator[str]:
    """Return a table in PostgreSQL with one row for each `k`."""
    schema = f"state_ttl_{next(_schemas)}"
    postgres(f"CREATE SCHEMA {schema}")
    postgres(f"CREATE TABLE {schema}.totals (k int PRIMARY KEY, n bigint, s bigint, a float8, m int)")
    sql(f"CREATE TABLE totals {postgres.options(f'{schema}.totals', key_columns='k')}")
    yield "totals"
    for row in sql("SHOW JOBS"):
        sql(f"DROP JOB '{row[0]}'")
    postgres(f"DROP SCHEMA {schema} CASCADE")


def rows_of(sql: Sql, verb: str, query: str, table: str, millis: int) -> list[tuple[Any, ...]]:
    """Return the rows of the table after a job has read all files."""
    sql(f"CREATE JOB j OPTIONS ({INTERVAL}, 'stateTtlMillis' = '{millis}') AS {verb} {table} {query}")
    sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 90 SECONDS")
    return sql(f"SELECT * FROM {table} ORDER BY ALL")


@pytest.mark.slow
def test_each_row_is_returned_once_within_the_time_to_live(streams: Sql) -> None:
    query = "SELECT DISTINCT k, v % 3 AS v FROM STREAM clicks"
    streams("CREATE TABLE found (k INT, v INT) USING parquet")
    rows = rows_of(streams, "INSERT INTO", query, "found", HOUR)
    assert rows == streams(f"{query.replace('STREAM', '')} ORDER BY ALL")


@pytest.mark.slow
def test_rows_are_joined_that_arrive_within_the_time_to_live(streams: Sql) -> None:
    streams("CREATE TABLE found (k INT, v INT, w INT) USING parquet")
    rows = rows_of(streams, "INSERT INTO", JOINED, "found", HOUR)
    assert rows == streams(f"{JOINED.replace('STREAM', '')} ORDER BY ALL")


@pytest.mark.slow
def test_groups_are_updated_within_the_time_to_live(streams: Sql, totals: str) -> None:
    explanation = streams.value(
        f"EXPLAIN CREATE JOB j OPTIONS ('stateTtlMillis' = '1000') AS SINK INTO {totals} {TOTALS}"
    )
    assert (
        "each group by k is forgotten 1000 ms after its last row" in explanation
        and "nothing removes" not in explanation
    )
    rows = rows_of(streams, "SINK INTO", TOTALS, totals, HOUR)
    assert rows == streams(f"{TOTALS.replace('STREAM', '')} ORDER BY ALL")


@pytest.mark.slow
def test_group_starts_again_after_the_time_to_live(streams: Sql, totals: str) -> None:
    rows = rows_of(streams, "SINK INTO", TOTALS, totals, 1)
    assert 0 < sum(row[1] for row in rows) < streams.value("SELECT count(k) FROM clicks")


def test_a_row_is_returned_again_after_the_time_to_live(sql: Sql) -> None:
    sql("CREATE TABLE pages (k INT) USING json")
    sql("CREATE TABLE found (k INT) USING parquet")
    sql("INSERT INTO pages VALUES (7)")
    assert rows_of(sql, "INSERT INTO", "SELECT DISTINCT k FROM STREAM pages", "found", 1) == [(7,)]
    sql("INSERT INTO pages VALUES (7)")
    sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 90 SECONDS")
    assert sql("SELECT * FROM found") == [(7,), (7,)]


MARKED: Final = "STREAM {} WATERMARK ts DELAY OF INTERVAL 1 MINUTE"
BESIDE_WATERMARKS: Final = {
    "pairs": "SELECT a.k FROM {s} a JOIN {u} b ON a.k = b.k",
    "windows_of_keys": "SELECT DISTINCT k FROM (SELECT k, count(*) FROM {s} GROUP BY k, window(ts, '1 minute'))",
}
"""Queries with state that the clock removes, next to a watermark or above it."""


@pytest.fixture
def timed(sql: Sql, tmp_path: Path) -> Sql:
    """Return two streams with a row later than the watermark, and a last one that closes all windows before it."""
    rows = ((0, "00:00"), (1, "10:00"), (1, "10:30"), (2, "00:05"), (3, "59:00"))
    parts = [[{"k": k, "ts": f"2026-01-01T00:{at}"}] for k, at in rows]
    for name in ("s", "u"):
        create_stream(sql, tmp_path / name, "k INT, ts TIMESTAMP", parts)
    return sql


def test_state_removed_by_the_clock_keeps_late_rows(timed: Sql) -> None:
    now = "'trigger' = 'availableNow', 'stateTtlMillis' = '3600000'"
    for name, query in BESIDE_WATERMARKS.items():
        timed(f"CREATE TABLE {name} (k INT) USING parquet")
        body = query.format(s=MARKED.format("s"), u=MARKED.format("u"))
        timed(f"CREATE JOB {name} OPTIONS ({now}) AS INSERT INTO {name} {body}")
    for name, query in BESIDE_WATERMARKS.items():
        timed(f"WAIT FOR JOB {name} UNTIL COMPLETED TIMEOUT 120")
        whole = timed(f"{query.format(s='s', u='u')} ORDER BY ALL")
        expected = [(0,), (1,)] if name == "windows_of_keys" else whole  # without the late row and the open window
        assert timed(f"SELECT * FROM {name} ORDER BY ALL") == expected, name


def test_a_job_whose_state_the_clock_removes_becomes_idle(timed: Sql) -> None:
    timed("CREATE TABLE found (k INT) USING parquet")
    query = BESIDE_WATERMARKS["windows_of_keys"].format(s=MARKED.format("s"))
    assert rows_of(timed, "INSERT INTO", query, "found", HOUR) == [(0,), (1,)]


def test_windows_above_a_join_without_a_watermark_are_refused(timed: Sql) -> None:
    timed("CREATE TABLE found (n BIGINT) USING parquet")
    joined = BESIDE_WATERMARKS["pairs"].replace("a.k FROM", "a.ts FROM").format(s=MARKED.format("s"), u="STREAM u")
    query = f"SELECT count(*) FROM ({joined}) GROUP BY window(ts, '1 minute')"
    error = timed.error(f"CREATE JOB j OPTIONS ('stateTtlMillis' = '1000') AS INSERT INTO found {query}")
    assert error.condition == "JETSQL.NO_OUTPUT_MODE"
    assert "The rows of a join with 'stateTtlMillis' have no watermark" in error.message


@pytest.mark.parametrize(
    "body",
    [
        "INSERT INTO found SELECT k FROM STREAM pages",
        "INSERT OVERWRITE found SELECT k FROM STREAM pages GROUP BY k",
        "INSERT INTO found SELECT DISTINCT k FROM pages",
    ],
)
def test_state_that_cannot_expire(sql: Sql, body: str) -> None:
    sql("CREATE TABLE pages (k INT) USING json")
    sql("CREATE TABLE found (k INT) USING parquet")
    error = sql.error(f"CREATE JOB j OPTIONS ('stateTtlMillis' = '1000') AS {body}")
    assert error.condition == "JETSQL.INVALID_OPTION_VALUE"
    assert "can have a time to live" in error.message
    assert sql("SHOW JOBS") == []
