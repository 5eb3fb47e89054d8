"""The option sink.on.error: rows that cannot be converted to the types of the sink's columns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from tests.conftest import Sql
from tests.support.servers.postgres import Postgres

pytestmark = pytest.mark.spark

QUICK = "'snapshotIntervalMillis' = '100'"
KEPT = f"OPTIONS ({QUICK}, 'sink.on.error' = 'table:refused')"


@pytest.fixture
def events(sql: Sql) -> Iterator[Sql]:
    sql("CREATE TABLE events (id BIGINT, name STRING, amount DOUBLE) USING json")
    yield sql
    for row in sql("SHOW JOBS"):
        sql(f"DROP JOB '{row[0]}'")


def add(sql: Sql, values: str) -> None:
    # One file: the job may see several files of a statement in two batches.
    sql(f"INSERT INTO events SELECT /*+ COALESCE(1) */ * FROM VALUES {values}")


def refused_rows(sql: Sql) -> list[tuple[str, dict[str, Any]]]:
    return [(state, json.loads(row)) for state, row in sorted(sql("SELECT sqlstate, row FROM refused"))]


@pytest.mark.parametrize("provider", ["parquet", "json"])
def test_rows_that_do_not_fit_a_file_table_are_kept(events: Sql, provider: str) -> None:
    events(f"CREATE TABLE t (id INT, name VARCHAR(3), amount DECIMAL(4, 1)) USING {provider}")
    add(events, "(1, 'a', 1.5), (3000000000, 'b', 1)")
    add(events, "(3, 'long', 1), (4, 'd', 12345), (NULL, NULL, NULL)")
    events(f"CREATE JOB j {KEPT} AS INSERT INTO t SELECT * FROM STREAM events")
    events("WAIT FOR JOB j UNTIL IDLE")
    assert events("SELECT * FROM t ORDER BY id") == [(None, None, None), (1, "a", Decimal("1.5"))]
    assert [(state, row["id"]) for state, row in refused_rows(events)] == [
        ("22003", 3_000_000_000),
        ("22003", 4),
        ("54006", 3),
    ]
    columns = "job, batch, sink, message, get_json_object(sources, '$[0].start')"
    [(job, batch, sink, message, start)] = events(f"SELECT {columns} FROM refused WHERE row LIKE '%30000%'")
    assert (job, batch, start) == ("j", 0, None) and sink.endswith(".t")
    assert "`id`" in message and "INT" in message
    add(events, "(5, 'e', 5), (6, 'more', 6)")
    events("WAIT FOR JOB j UNTIL IDLE")
    assert events("SELECT id FROM t WHERE id > 1") == [(5,)]
    assert events("SELECT batch, get_json_object(row, '$.name') FROM refused WHERE batch = 1") == [(1, "more")]


def test_equal_values_in_several_columns_end_no_query(events: Sql) -> None:
    """Spark evaluates common expressions once, and before the others."""
    events("CREATE TABLE t (a INT, b INT, c INT) USING parquet")
    add(events, "(1, 'a', 1), (3000000000, 'b', 1)")
    events(f"CREATE JOB j {KEPT} AS INSERT INTO t SELECT id, id, id FROM STREAM events")
    events("WAIT FOR JOB j UNTIL IDLE")
    assert events("SELECT * FROM t") == [(1, 1, 1)]
    assert len(refused_rows(events)) == 1


def test_nested_values_that_do_not_fit_are_kept(events: Sql) -> None:
    events("CREATE TABLE t (ids ARRAY<INT>, pair STRUCT<id: SMALLINT, name: STRING>) USING parquet")
    add(events, "(1, 'a', 1), (70000, 'b', 1), (3000000000, 'c', 1)")
    events(f"CREATE JOB j {KEPT} AS INSERT INTO t SELECT array(1L, id), struct(id % 100000, name) FROM STREAM events")
    events("WAIT FOR JOB j UNTIL IDLE")
    assert events("SELECT ids, pair.name FROM t") == [([1, 1], "a")]
    assert len(refused_rows(events)) == 2


def test_a_result_that_does_not_fit_leaves_the_older_one(events: Sql, postgres: Postgres) -> None:
    postgres("CREATE SCHEMA sums; CREATE TABLE sums.t (name text PRIMARY KEY, n smallint)")
    events(f"CREATE TABLE t {postgres.options('sums.t', key_columns='name')}")
    add(events, "(30000, 'a', 1), (30000, 'b', 1)")
    events(f"CREATE JOB j {KEPT} AS SINK INTO t SELECT name, sum(id) FROM STREAM events GROUP BY name")
    events("WAIT FOR JOB j UNTIL IDLE")
    add(events, "(1, 'a', 1), (30000, 'b', 1)")
    events("WAIT FOR JOB j UNTIL IDLE")
    assert postgres("SELECT * FROM sums.t ORDER BY 1") == [("a", 30001), ("b", 30000)]
    [(state, row)] = refused_rows(events)
    assert state == "22003" and "60000" in json.dumps(row)


def test_the_limit_counts_rows_that_cannot_be_converted(events: Sql) -> None:
    events("CREATE TABLE t (id INT) USING parquet")
    add(events, "(1, 'a', 1), (3000000000, 'b', 1), (3000000001, 'c', 1)")
    options = f"OPTIONS ({QUICK}, 'sink.on.error' = 'table:refused', 'sink.on.error.most' = '1')"
    error = events.error(f"CREATE JOB j {options} AS INSERT INTO t SELECT id FROM STREAM events")
    assert "[JETSQL.SINK_REFUSED_ROWS]" in error.message
    assert "refuses more than 1 row of batch 0" in error.message
    assert (events("SELECT * FROM t"), events("SELECT * FROM refused")) == ([], [])


def test_each_of_several_tables_converts_its_own_rows(events: Sql) -> None:
    events("CREATE TABLE small (id TINYINT) USING parquet")
    events("CREATE TABLE large (id INT) USING parquet")
    add(events, "(1, 'a', 1), (300, 'b', 1), (3000000000, 'c', 1)")
    events(f"CREATE JOB j {KEPT} AS FROM STREAM events INSERT INTO small SELECT id INSERT INTO large SELECT id")
    events("WAIT FOR JOB j UNTIL IDLE")
    assert events("SELECT * FROM small") == [(1,)]
    assert events("SELECT * FROM large ORDER BY id") == [(1,), (300,)]
    kept = sorted(events("SELECT substring_index(sink, '.', -1), row FROM refused"))
    assert kept == [("large", '{"id":3000000000}'), ("small", '{"id":3000000000}'), ("small", '{"id":300}')]


def test_numbers_that_do_not_fit_a_database_are_kept(events: Sql, postgres: Postgres) -> None:
    postgres("CREATE SCHEMA unconverted; CREATE TABLE unconverted.t (id int PRIMARY KEY CHECK (id <> 2))")
    events(f"CREATE TABLE t {postgres.options('unconverted.t')}")
    add(events, "(1, 'a', 1), (2, 'b', 1), (3000000000, 'c', 1)")
    events(f"CREATE JOB j {KEPT} AS INSERT INTO t SELECT id FROM STREAM events")
    events("WAIT FOR JOB j UNTIL IDLE")
    assert postgres("SELECT * FROM unconverted.t") == [(1,)]
    assert [(state, row["id"]) for state, row in refused_rows(events)] == [("22003", 3_000_000_000), ("23514", 2)]


def test_errors_of_the_query_stop_the_job(events: Sql) -> None:
    events("CREATE TABLE t (id INT) USING parquet")
    add(events, "(1, 'a', 1), (0, 'b', 1)")
    error = events.error(f"CREATE JOB j {KEPT} AS INSERT INTO t SELECT 10 div id FROM STREAM events")
    assert "DIVIDE_BY_ZERO" in error.message
    assert events("SELECT * FROM t") == []
