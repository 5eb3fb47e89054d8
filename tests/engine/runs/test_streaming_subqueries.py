"""EXISTS, NOT EXISTS, IN and anti joins over streams: a job returns what batch returns, each row once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from tests.conftest import Sql
from tests.support.tables.json_files import create_stream

pytestmark = pytest.mark.spark

ORDERS: Final = "STREAM orders WATERMARK ts DELAY OF INTERVAL 30 SECONDS"
PAYMENTS: Final = "STREAM payments WATERMARK at DELAY OF INTERVAL 30 SECONDS"
MATCH: Final = "p.order_id = o.id AND p.at BETWEEN o.ts AND o.ts + INTERVAL 20 SECONDS"
PAID: Final = f"EXISTS (SELECT * FROM {PAYMENTS} AS p WHERE {MATCH})"
PAID_EARLY: Final = f"EXISTS (SELECT 1 FROM {PAYMENTS} AS p WHERE {MATCH} AND p.at <= o.ts + INTERVAL 5 SECONDS)"
IN_TIME: Final = f"SELECT order_id FROM {PAYMENTS} AS p WHERE p.at BETWEEN o.ts AND o.ts + INTERVAL 20 SECONDS"

QUERIES: Final = {
    "exists": f"SELECT id FROM {ORDERS} AS o WHERE {PAID}",
    "not exists": f"SELECT id FROM {ORDERS} AS o WHERE NOT {PAID} AND id % 5 > 0",
    "in": f"SELECT id FROM {ORDERS} AS o WHERE id IN ({IN_TIME})",
    "anti join": f"SELECT o.id FROM {ORDERS} AS o LEFT ANTI JOIN {PAYMENTS} AS p ON {MATCH}",
    "both": f"SELECT id FROM {ORDERS} AS o WHERE {PAID} AND NOT {PAID_EARLY}",
    "with": f"WITH p AS (SELECT * FROM {PAYMENTS}) SELECT id FROM {ORDERS} AS o"
    f" WHERE NOT EXISTS (SELECT * FROM p WHERE {MATCH}) AND (id IN (SELECT id FROM range(20)) OR id > 7)",
}
SLOW: Final = ("exists", "not exists", "in", "anti join", "with")


@pytest.fixture(params=[1, pytest.param(2, marks=pytest.mark.slow)])
def streams(request: pytest.FixtureRequest, sql: Sql, tmp_path: Path) -> Iterator[Sql]:
    """Return two streams of four files each. The last row of each closes all others."""
    chosen = random.Random(request.param)
    begin = datetime(2026, 1, 1)
    orders: list[dict[str, object]] = [
        {"id": n if n % 9 else None, "ts": f"{begin + timedelta(seconds=n * 2)}"} for n in range(48)
    ]
    payments: list[dict[str, object]] = []
    for order in orders:
        for _ in range(chosen.choice((0, 0, 1, 1, 2))):
            delay = timedelta(seconds=chosen.randrange(-5, 28))
            payments.append({"order_id": order["id"], "at": f"{datetime.fromisoformat(str(order['ts'])) + delay}"})
    payments.sort(key=lambda payment: str(payment["at"]))
    create_stream(sql, tmp_path / "orders", "id INT, ts TIMESTAMP", parts(orders, {"id": 1001, "ts": "2100-01-01"}))
    create_stream(
        sql,
        tmp_path / "payments",
        "order_id INT, at TIMESTAMP",
        parts(payments, {"order_id": 1002, "at": "2100-01-01"}),
    )
    sql("CREATE TABLE found (id INT) USING parquet")
    yield sql


def parts(rows: list[dict[str, object]], last: dict[str, object]) -> list[list[dict[str, object]]]:
    """Return the rows of each file."""
    return [rows[:20], rows[20:33], rows[33:], [last]]


def batch(query: str) -> str:
    """Return the text of a query over the tables, without the rows that close the others."""
    for stream in (ORDERS, PAYMENTS):
        query = query.replace(stream, stream.split()[1])
    return f"SELECT * FROM ({query}) WHERE id IS NULL OR id < 1000"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in QUERIES]
)
def test_job_and_batch_have_the_same_rows(streams: Sql, name: str) -> None:
    sql, query = streams, QUERIES[name]
    sql(f"CREATE JOB j OPTIONS ('trigger' = 'availableNow') AS INSERT INTO found {query}")
    sql("WAIT FOR JOB j UNTIL COMPLETED TIMEOUT 120")
    expected = sorted(sql(batch(query)), key=str)
    assert 3 <= len(expected) < 48
    assert sorted(sql("SELECT id FROM found WHERE id IS NULL OR id < 1000"), key=str) == expected


@pytest.mark.slow
def test_state_is_kept_through_a_restart_and_a_new_version(streams: Sql) -> None:
    sql, query = streams, QUERIES["not exists"]
    explained = sql.value(f"EXPLAIN CREATE JOB j AS INSERT INTO found {query}")
    assert "Rewritten:   rows of the first stream without a match in the second leave when" in explained
    options = "'snapshotIntervalMillis' = '100'"
    sql(f"CREATE JOB j OPTIONS ({options}) AS INSERT INTO found {query}")
    sql("WAIT FOR JOB j UNTIL BATCH 1")
    sql("SUSPEND JOB j")
    sql("RESUME JOB j")
    more = "'spark.sql.shuffle.partitions' = '3'"
    sql(f"CREATE OR REPLACE JOB j OPTIONS ({options}, {more}) AS INSERT INTO found {query}")
    sql("WAIT FOR JOB j UNTIL IDLE")
    found = sql("SELECT id FROM found WHERE id IS NULL OR id < 1000")
    assert sorted(found, key=str) == sorted(sql(batch(query)), key=str)


@pytest.mark.slow
def test_rows_of_joined_streams_can_be_counted(streams: Sql) -> None:
    sql = streams
    query = f"SELECT CAST(count(*) AS INT) AS id FROM {ORDERS} AS o WHERE {PAID}"
    sql(f"CREATE JOB j OPTIONS ('trigger' = 'availableNow') AS INSERT OVERWRITE found {query}")
    sql("WAIT FOR JOB j UNTIL COMPLETED TIMEOUT 120")
    assert sql("SELECT id FROM found") == sql(batch(query))


REFUSED: Final = {
    "SELECT id FROM STREAM orders WHERE id NOT IN (SELECT order_id FROM STREAM payments)": "Write WHERE NOT EXISTS",
    "SELECT id FROM STREAM orders WHERE id = 1 OR id IN (SELECT order_id FROM STREAM payments)": "alone or with AND",
    "SELECT id FROM STREAM orders WHERE id = (SELECT max(order_id) FROM STREAM payments)": "write a join",
    "SELECT (SELECT max(order_id) FROM STREAM payments) AS id FROM STREAM orders": "write a join",
    "SELECT id FROM orders WHERE id IN (SELECT order_id FROM STREAM payments)": "FROM STREAM as well",
    "SELECT id FROM STREAM orders WHERE id IN (SELECT order_id FROM STREAM payments)": "and bound the time",
    f"SELECT id FROM {ORDERS} AS o WHERE NOT EXISTS (SELECT * FROM {PAYMENTS} AS p WHERE p.order_id = o.id)": (
        "and bound the time"
    ),
}
"""Queries with a part of the message or of the hint."""


def test_other_subqueries_are_refused_with_a_hint(streams: Sql) -> None:
    for query, advice in REFUSED.items():
        text = f"CREATE JOB j AS INSERT INTO found {query}"
        error = streams.error(text)
        assert error.condition in ("JETSQL.UNSUPPORTED_QUERY", "JETSQL.NO_OUTPUT_MODE")
        assert advice in f"{error.message} {error.hint}", query
        if error.condition == "JETSQL.UNSUPPORTED_QUERY":
            assert error.line == 1 and 1 < (error.column or 0) < text.index("payments")


def test_a_missing_name_in_a_subquery_is_reported(streams: Sql) -> None:
    outer = f"SELECT id FROM {ORDERS} AS o WHERE EXISTS"
    for subquery, name, condition in (
        ("SELECT * FROM STREAM nope AS p WHERE p.order_id = o.id", "STREAM nope", "TABLE_OR_VIEW_NOT_FOUND"),
        ("SELECT * FROM STREAM payments AS p WHERE p.missing = o.id", "p.missing", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
    ):
        text = f"CREATE JOB j AS INSERT INTO found {outer} ({subquery})"
        error = streams.error(text)
        assert (error.condition, error.column) == (condition, text.index(name) + 1)
