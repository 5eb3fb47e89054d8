"""SINK INTO PostgreSQL of an aggregate over aggregates: each batch writes the rows that change, and deletes others."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from benchmarks.nexmark.events import Events
from benchmarks.nexmark.query import load
from benchmarks.nexmark.workload import BATCH, STREAM, Workload
from tests.conftest import Sql
from tests.support.servers.postgres import Postgres
from tests.support.tables.changed_tables import NOW, Tables, changed_tables, rows_of, streamed
from tests.support.tables.json_files import create_stream, write_json_files

pytestmark = pytest.mark.spark

COLUMNS: Final = "id INT, k INT, g STRING, v INT, d DECIMAL(10, 2)"
MAXIMA: Final = "SELECT coalesce(g, '-') AS g, k, max(v) AS m, count(*) AS n FROM s GROUP BY coalesce(g, '-'), k"


def random_parts(seed: int, parts: int = 4, rows: int = 12) -> list[list[dict[str, Any]]]:
    chosen, ids = Random(seed), itertools.count()
    values = {
        "k": (None, 0, 1, 2, 3),
        "g": (None, "a", "b", "c"),
        "v": (None, -1, 0, 1, 2, 3, 4),
        "d": (None, -1.25, 0.1, 0.2, 100000.75),
    }
    return [
        [{"id": next(ids), **{name: chosen.choice(each) for name, each in values.items()}} for _ in range(rows)]
        for _ in range(parts)
    ]


@pytest.fixture
def tables(postgres: Postgres, sql: Sql) -> Iterator[Tables]:
    with changed_tables(postgres, sql) as tables:
        yield tables


def test_groups_are_updated_and_deleted(tables: Tables, sql: Sql, tmp_path: Path) -> None:
    create_stream(sql, tmp_path / "s", COLUMNS, random_parts(1))
    tables.compare(
        [
            (f"SELECT g, avg(m) AS a, sum(n) AS s FROM ({MAXIMA}) GROUP BY g", "g"),
            (f"SELECT n, count(*) AS c, sum(m) AS t FROM ({MAXIMA}) GROUP BY n HAVING sum(m) <> 3", "n"),
        ]
    )


def test_rows_that_are_later_than_the_watermark_count(tables: Tables, sql: Sql, tmp_path: Path) -> None:
    times = ("10:00", "10:20", "10:00", "10:20", "09:00", "10:10")
    parts: list[list[dict[str, object]]] = [
        [{"id": n, "k": n % 2, "ts": f"2026-01-01 {at}:00"}, {"id": -n, "k": 0, "ts": None}]
        for n, at in enumerate(times, start=1)
    ]
    create_stream(sql, tmp_path / "s", "id INT, k INT, ts TIMESTAMP", parts)
    newest = "SELECT k, max(ts) AS ts, count(*) AS n FROM s GROUP BY k"
    query = f"SELECT a.id, b.n FROM (SELECT * FROM s) AS a LEFT JOIN ({newest}) AS b ON a.k = b.k AND a.ts = b.ts"
    tables.create("r", query, "id")
    streaming = query.replace("FROM s", "FROM STREAM s WATERMARK ts DELAY OF INTERVAL 1 MINUTE")
    sql(f"CREATE JOB j {NOW} AS SINK INTO r {streaming}")
    sql("WAIT FOR JOB j UNTIL COMPLETED TIMEOUT 120")
    assert rows_of(sql, "SELECT * FROM r") == rows_of(sql, query)
    assert sql.value("SELECT coalesce(sum(late_rows), 0) FROM jetsql.metrics WHERE job = 'j'") == 0


INNER: Final = (
    "SELECT {g} AS g, k, max(v) AS m, count(*) AS n FROM s GROUP BY {g}, k",
    "SELECT {g} AS g, k % 2 AS k, sum(v) AS m, count(DISTINCT v) AS n FROM s WHERE id % 7 > 0 GROUP BY {g}, k % 2",
    "SELECT {g} AS g, k, sum(d) AS m, count(d) AS n FROM s GROUP BY {g}, k HAVING count(*) > 1",
    "SELECT {g} AS g, k, min(v) AS m, max(k) AS n FROM s GROUP BY ROLLUP ({g}, k)",
    "SELECT {g} AS g, v AS m, k AS n, r AS k"
    " FROM (SELECT *, row_number() OVER (PARTITION BY g ORDER BY v, id DESC) AS r FROM s) WHERE r <= 3",
    "SELECT {g} AS g, v AS m, k AS n, k FROM s QUALIFY rank() OVER (PARTITION BY k ORDER BY v DESC) <= 2",
    "SELECT DISTINCT {g} AS g, v AS m, k AS n, k FROM s",
    "SELECT '-' AS g, sum(v) AS m, count(*) AS n, max(k) AS k FROM s",
    "SELECT {g} AS g, k, v AS m, 1L AS n FROM s WHERE v > 2 UNION ALL"
    " SELECT {g}, max(k), max(v), count(*) FROM s GROUP BY {g}",
)
CALLS: Final = (
    *("count(*)", "count(m)", "sum(m)", "avg(m)", "min(m)", "max(m)", "count(DISTINCT m)", "count(DISTINCT m, n)"),
    *("sum(n) FILTER (WHERE m > 1)", "avg(n)", "max(k) FILTER (WHERE n > 1)", "max(m) - min(m)", "count_if(m > 1)"),
    *("bool_or(m > 2)", "sum(m * n) / count(*)", "sum(coalesce(m, 10))", "max(named_struct('m', m, 'n', n)).m"),
)
GROUPS: Final = ("g", "coalesce(n, -1)", "coalesce(k, 0) % 2", "length(g) * 10")
HAVING: Final = ("", "", " HAVING count(*) > 1", " HAVING sum(m) % 2 = 0", " HAVING max(m) > 1 AND count(*) <> 3")


def random_query(chosen: Random) -> tuple[str, str]:
    """Return a query of an aggregate over aggregates, and its key columns."""
    inner = chosen.choice(INNER).format(g="coalesce(g, '-')")
    where = chosen.choice(("", "", " WHERE m > 0", " WHERE n IS NOT NULL AND m <> 2"))
    shown = f"SELECT coalesce(g, 'all') AS g, k, m, n FROM ({inner}){where}"
    group = chosen.choice(GROUPS)
    if chosen.random() < 0.2:
        shown = f"SELECT g, n AS k, count(m) AS m, max(m) AS n FROM ({shown}) GROUP BY g, n"
    calls = ", ".join(f"{call} AS c{n}" for n, call in enumerate(chosen.sample(CALLS, chosen.randint(1, 4))))
    query = f"SELECT {group} AS key, {calls} FROM ({shown}) GROUP BY {group}{chosen.choice(HAVING)}"
    if chosen.random() < 0.2:
        query = f"SELECT key, c0, 100 / length(key) AS c FROM ({query}) WHERE c0 IS NOT NULL AND length(key) > 0"
    return query, "key"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_random_queries_write_what_batch_returns(tables: Tables, sql: Sql, tmp_path: Path, seed: int) -> None:
    create_stream(sql, tmp_path / "s", COLUMNS, random_parts(seed))
    chosen = Random(seed)
    tables.compare([random_query(chosen) for _ in range(6)])


@pytest.mark.slow
def test_results_without_groups_and_distinct_results(tables: Tables, sql: Sql, tmp_path: Path) -> None:
    create_stream(sql, tmp_path / "s", COLUMNS, random_parts(7))
    tables.compare(
        [
            (f"SELECT 1 AS key, avg(m) AS a, max(n) AS n, min(n) AS l FROM ({MAXIMA})", "key"),
            (f"SELECT DISTINCT n FROM ({MAXIMA})", "n"),
            (f"SELECT n, g, sum(m) AS s FROM ({MAXIMA}) GROUP BY n, g", "g, n"),
            (f"SELECT k, sum(m) AS s FROM ({MAXIMA}) GROUP BY k HAVING k IS NOT NULL", "k"),
        ]
    )


@pytest.mark.slow
def test_a_query_with_a_join_of_streams(tables: Tables, sql: Sql, tmp_path: Path) -> None:
    Events(5000, seed=3, rate=50, files=5).write(tmp_path / "events")
    workload, query = Workload(sql, tmp_path / "events", files_in_batch=2), load("q4")
    try:
        workload.create()
        sql(f"USE {BATCH}")
        tables.create("q4", query.select, "category")
        whole = rows_of(sql, query.select)
        sql(f"USE {STREAM}")
        sql(f"CREATE JOB q4 {NOW} AS SINK INTO {BATCH}.q4 {query.select}")
        sql("WAIT FOR JOB q4 UNTIL COMPLETED TIMEOUT 120")
        assert rows_of(sql, f"SELECT * FROM {BATCH}.q4") == whole and len(whole) > 1
    finally:
        sql("DROP JOB IF EXISTS q4")
        workload.drop()


@pytest.mark.slow
def test_a_job_keeps_its_state(tables: Tables, sql: Sql, tmp_path: Path) -> None:
    parts = random_parts(5, parts=5)
    create_stream(sql, tmp_path / "s", COLUMNS, parts[:1])
    query = f"SELECT n, count(*) AS c, sum(m) AS t, min(k) AS l FROM ({MAXIMA}) GROUP BY n HAVING count(*) <> 2"
    tables.keep_state(
        query, "n", "s", lambda number: write_json_files(tmp_path / "s", parts[number : number + 1], first=number)
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_groups_that_stop_passing_a_filter_leave_the_aggregate_above(
    tables: Tables, sql: Sql, tmp_path: Path, seed: int
) -> None:
    parts = random_parts(seed, parts=5)
    create_stream(sql, tmp_path / "s", COLUMNS, parts[:1])
    rows = "SELECT coalesce(g, '-') AS g, v, max(id) AS m, count(*) AS n FROM s GROUP BY 1, 2 HAVING count(*) % 3 <> 0"
    pairs = f"SELECT g, m % 4 AS r, count(*) AS n, sum(n) AS m FROM ({rows}) GROUP BY 1, 2 HAVING sum(n) % 2 = 0"
    queries = [
        (f"SELECT n, count(*) AS c, sum(m) AS t FROM ({rows}) GROUP BY n", "n"),
        (f"SELECT v, count(*) AS c FROM ({rows}) WHERE v IS NOT NULL GROUP BY v", "v"),
        (f"SELECT r, n, sum(m) AS t FROM ({pairs}) GROUP BY r, n", "n, r"),
        (f"SELECT r, max(m) AS t FROM ({pairs}) GROUP BY r", "r"),
    ]
    tables.compare_each(
        queries,
        "s",
        lambda number: write_json_files(tmp_path / "s", parts[number : number + 1], first=number),
        files=len(parts),
    )
    for number, (query, _) in enumerate(queries):
        # The first operator is the upper aggregate.
        kept = sql.value(f"SELECT count(*) FROM jetsql.state('j{number}', 0, 'group')")
        assert kept == sql.value(f"SELECT count(*) FROM ({query})"), query


@pytest.mark.slow
def test_only_a_sum_that_is_too_large_overflows(tables: Tables, sql: Sql, tmp_path: Path) -> None:
    most = 2**63 - 1
    create_stream(
        sql, tmp_path / "s", "k INT, v BIGINT", [[{"k": 1, "v": most}], [{"k": 1, "v": 3}, {"k": 2, "v": most}]]
    )
    least = "SELECT k, min(v) AS m FROM s WHERE k < {} GROUP BY k"
    query = f"SELECT 1 AS key, sum(m) - 3 AS s, try_sum(m) AS t FROM ({least})"
    tables.create("r", query.format(3), "key")
    job = f"CREATE JOB j {NOW} AS SINK INTO r {streamed(query.format(3))}"
    sql(job)
    error = sql.error("WAIT FOR JOB j UNTIL COMPLETED TIMEOUT 60")
    assert "overflow" in error.message
    sql("DROP JOB j")
    sql(job.replace("sum(m) - 3", "max(m) - 3"))
    sql("WAIT FOR JOB j UNTIL COMPLETED TIMEOUT 60")
    assert tables.server(f"SELECT * FROM {tables.schema}.r") == [(1, most - 3, None)]


def test_explain_and_refusals(tables: Tables, sql: Sql, tmp_path: Path) -> None:
    create_stream(sql, tmp_path / "s", COLUMNS, [])
    tables.create("r", "SELECT g, 0.5D AS a, 1L AS n FROM s", "g")
    text = f"SELECT g, avg(m), max(n) FROM ({streamed(MAXIMA)}) GROUP BY g"
    tables.create("narrow", "SELECT 1 AS k, 0.5D AS a FROM s", "k")
    sql(f"EXPLAIN CREATE JOB j AS SINK INTO narrow SELECT k DIV 2, avg(m) FROM ({streamed(MAXIMA)}) GROUP BY k DIV 2")
    lines = sql.value(f"EXPLAIN CREATE JOB j AS SINK INTO r {text}")
    assert "changed rows are updated by g, and rows that leave the result are deleted" in lines
    assert "the result of each coalesce(g, -), k is kept, and only its changes go on" in lines
    assert "all different values of each g are kept for min(), max() and count(DISTINCT)" in lines
    assert "getexternalrowfield" not in lines.partition("== Physical Plan")[0]
    whole = sql.value(f"EXPLAIN CREATE JOB j OPTIONS ('outputMode' = 'complete') AS SINK INTO r {text}")
    assert "In batches:" in whole and "Output mode: complete" in whole
    for changed, reason in (
        (text.replace("avg(m)", "avg(m + 0.5D)"), "avg() of DOUBLE would not be exact"),
        (text.replace("max(n)", "first(n)"), "first() cannot take back values"),
        (text.replace("SELECT g", "SELECT upper(g)"), "g is not one of the key columns"),
        (text.replace("SELECT g", "SELECT max(g)"), "a key column is not one of the grouping columns"),
        (text.replace("avg(m)", "avg(m + year(current_date()))"), "can change between the batches"),
        (
            text.replace("GROUP BY g", "JOIN range(2) ON n = id GROUP BY g"),
            "the join reads a table, which can change between the batches",
        ),
    ):
        error = sql.error(f"CREATE JOB j AS SINK INTO r {changed}")
        assert error.condition == "JETSQL.NO_OUTPUT_MODE" and reason in error.message, error
        assert "'outputMode' = 'complete'" in error.hint
    for option in ("'stateTtlMillis' = '1000'", "'trigger' = 'realTime'"):
        assert sql.error(f"CREATE JOB j OPTIONS ({option}) AS SINK INTO r {text}").condition.startswith("JETSQL.")
