"""ASOF JOIN of two streams by event time: a job returns what batch returns, each row once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from tests.conftest import Sql, until
from tests.support.tables.json_files import create_stream, write_json_files

pytestmark = pytest.mark.spark

BEGIN: Final = datetime(2026, 1, 1)
LAST: Final = "2100-01-01 00:00:00"
ORDERS: Final = "STREAM orders WATERMARK ts DELAY OF INTERVAL 30 SECONDS"
RATES: Final = "STREAM rates WATERMARK at DELAY OF INTERVAL 30 SECONDS"
COLUMNS: Final = "SELECT o.id, o.ts, r.rate, r.at"

QUERIES: Final = {
    "inner": f"{COLUMNS} FROM {ORDERS} AS o ASOF JOIN {RATES} AS r MATCH_CONDITION (o.ts >= r.at) ON o.k = r.k",
    "left": f"{COLUMNS} FROM {ORDERS} AS o LEFT ASOF JOIN {RATES} AS r MATCH_CONDITION (o.ts > r.at) ON r.k = o.k"
    " AND r.rate % 5 > 0",
    "without a key": f"{COLUMNS} FROM {ORDERS} AS o LEFT ASOF JOIN {RATES} AS r MATCH_CONDITION (o.ts >= r.at)"
    " ON r.rate < 9",
    "filters": f"{COLUMNS} FROM {ORDERS} AS o ASOF JOIN {RATES} AS r MATCH_CONDITION (r.at <= o.ts) ON o.k = r.k"
    " AND o.id % 3 > 0 WHERE r.rate > 2",
    "using": f"SELECT id, ts, rate, at FROM {ORDERS} LEFT ASOF JOIN {RATES} MATCH_CONDITION (ts >= at) USING (k)",
}
FLINK: Final = f"{COLUMNS} FROM dated_orders o LEFT JOIN dated_rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.k = r.k"
SLOW: Final = ("left", "without a key", "filters", "using")
asof = pytest.mark.needs_spark("4.3")


@pytest.fixture(params=[1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def streams(request: pytest.FixtureRequest, sql: Sql, tmp_path: Path) -> Iterator[Sql]:
    """Return two streams of four files each. The last row of each closes all others."""
    chosen = random.Random(request.param)
    orders = [row(chosen, n, "ts", id=n, k=chosen.choice((*"abc", None))) for n in range(60)]
    rates = [row(chosen, n, "at", k=chosen.choice((*"abd", None)), rate=n % 11) for n in range(60)]
    create_stream(
        sql, tmp_path / "orders", "id INT, k STRING, ts TIMESTAMP", parts(orders, {"id": 1001, "k": "a", "ts": LAST})
    )
    create_stream(
        sql, tmp_path / "rates", "k STRING, rate INT, at TIMESTAMP", parts(rates, {"k": "z", "rate": 0, "at": LAST})
    )
    sql("CREATE TABLE joined (id INT, ts TIMESTAMP, rate INT, at TIMESTAMP) USING parquet")
    yield sql


def row(chosen: random.Random, number: int, time: str, **values: object) -> dict[str, object]:
    """Return a row whose time differs by up to 20 s from the order of the rows; every ninth has no time."""
    at = BEGIN + timedelta(seconds=number * 4 + chosen.randrange(-10, 10), milliseconds=number)
    return {**values, time: f"{at}" if number % 9 else None}


def parts(rows: list[dict[str, object]], last: dict[str, object]) -> list[list[dict[str, object]]]:
    """Return the rows of each file."""
    return [rows[:20], rows[20:43], rows[43:], [last]]


def batch(query: str) -> str:
    """Return the text of a query over the tables, without the row that closes the others."""
    for stream in (ORDERS, RATES):
        query = query.replace(stream, stream.split()[1])
    return f"SELECT * FROM ({query}) WHERE id < 1000"


@asof
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in QUERIES]
)
def test_job_and_batch_join_the_same_rows(streams: Sql, name: str) -> None:
    sql, query = streams, QUERIES[name]
    sql(f"CREATE JOB j OPTIONS ('trigger' = 'availableNow') AS INSERT INTO joined {query}")
    sql("WAIT FOR JOB j UNTIL COMPLETED TIMEOUT 120")
    expected = sorted(sql(batch(query)), key=str)
    assert 10 <= len(expected) <= 60
    assert sorted(sql("SELECT * FROM joined WHERE id < 1000"), key=str) == expected


@pytest.mark.slow
def test_flinks_spelling_is_the_same_join(streams: Sql) -> None:
    sql = streams
    sql(f"CREATE VIEW dated_orders AS SELECT * FROM {ORDERS}")
    sql(f"CREATE VIEW dated_rates AS SELECT * FROM {RATES}")
    plain = (
        "SELECT o.id, o.ts, max(r.at) FROM orders AS o LEFT JOIN rates AS r ON o.k = r.k AND r.at <= o.ts"
        " WHERE id < 1000 GROUP BY ALL"
    )
    beside = FLINK.replace("dated_rates FOR", f"{RATES.partition(' WATERMARK')[0]} FOR").replace(
        " AS r", f" WATERMARK{RATES.partition('WATERMARK')[2]} AS r"
    )
    for query in (FLINK, beside):
        sql(f"CREATE JOB j OPTIONS ('trigger' = 'availableNow') AS INSERT INTO joined {query}")
        sql("WAIT FOR JOB j UNTIL COMPLETED TIMEOUT 120")
    found = sorted(sql("SELECT id, ts, at FROM joined WHERE id < 1000"), key=str)
    assert found == sorted(2 * sql(plain), key=str)


@asof
@pytest.mark.slow
def test_state_is_kept_through_a_restart_and_a_new_version(streams: Sql, tmp_path: Path) -> None:
    sql, query = streams, QUERIES["inner"]
    explained = sql.value(f"EXPLAIN CREATE JOB j AS INSERT INTO joined {query}")
    assert (
        "ASOF JOIN returns each row of the first stream when the watermark has passed ts; state: the rows" in explained
    )
    assert "the newest row of each k" in explained
    options = "'snapshotIntervalMillis' = '100'"
    sql(f"CREATE JOB j OPTIONS ({options}) AS INSERT INTO joined {query}")
    sql("WAIT FOR JOB j UNTIL BATCH 1")
    more = f"OPTIONS ({options}, 'spark.sql.shuffle.partitions' = '3')"
    other = query.replace("ON o.k = r.k", "ON o.k = upper(r.k)")
    error = sql.error(f"CREATE OR REPLACE JOB j {more} AS INSERT INTO joined {other}")
    assert error.condition == "JETSQL.STATE_NOT_COMPATIBLE"
    sql("SUSPEND JOB j")
    sql("RESUME JOB j")
    sql(f"CREATE OR REPLACE JOB j {more} AS INSERT INTO joined {query}")
    # Spark evaluates a new watermark after a restart when new rows arrive.
    for folder, time in (("orders", "ts"), ("rates", "at")):
        write_json_files(tmp_path / folder, [[{time: "2101-01-01 00:00:00"}]], first=4)
    expected = sorted(sql(batch(query)), key=str)
    until(lambda: sorted(sql("SELECT * FROM joined WHERE id < 1000"), key=str) == expected)
    versions = sql("SELECT list_element.row.f0 FROM jetsql.state('j', 0, 'versions')")
    assert len(versions) >= 3


REFUSED: Final = {
    f"SELECT o.id, o.ts, r.rate, r.at FROM {ORDERS} AS o ASOF JOIN STREAM rates AS r MATCH_CONDITION (o.ts >= r.at)"
    " ON o.k = r.k": "a WATERMARK",
    f"SELECT o.id, o.ts, r.rate, r.at FROM {ORDERS} AS o ASOF JOIN {RATES} AS r MATCH_CONDITION (o.ts <= r.at)"
    " ON o.k = r.k": "(a.ts >= b.ts)",
    f"SELECT o.id, o.ts, r.rate, r.at FROM {ORDERS} AS o ASOF JOIN {RATES} AS r MATCH_CONDITION (o.ts >= r.at)"
    " ON o.k = r.k AND o.id > r.rate": "equal columns",
}
"""Queries with a part of the hint."""


@asof
def test_other_joins_by_time_are_refused_with_a_hint(streams: Sql) -> None:
    for query, advice in REFUSED.items():
        error = streams.error(f"CREATE JOB j AS INSERT INTO joined {query}")
        assert error.condition == "JETSQL.NO_OUTPUT_MODE", query
        assert advice in str(error.hint), query
