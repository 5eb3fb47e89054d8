"""SINK INTO PostgreSQL of an aggregate over aggregates: each batch writes the rows that change, and deletes others."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from jetsql.errors import StatementError
from tests.conftest import Sql
from tests.support.json_files import create_stream, write_json_files
from tests.support.postgres import Postgres

pytestmark = pytest.mark.spark

COLUMNS: Final = "id INT, k INT, g STRING, v INT, d DECIMAL(10, 2)"
TYPES: Final = {"int": "int", "bigint": "bigint", "double": "float8", "string": "text", "boolean": "boolean"}
NOW: Final = "OPTIONS ('trigger' = 'availableNow')"
MAXIMA: Final = "SELECT coalesce(g, '-') AS g, k, max(v) AS m, count(*) AS n FROM s GROUP BY coalesce(g, '-'), k"
_schemas = itertools.count(1)


class Tables:
    """Tables in the database for the results of queries over the stream `s`."""

    def __init__(self, server: Postgres, sql: Sql) -> None:
        self.server, self.sql = server, sql
        self.schema = f"changed_{next(_schemas)}"
        server(f"CREATE SCHEMA {self.schema}")

    def create(self, name: str, query: str, keys: str) -> None:
        """Create a table with the columns of a query."""
        columns = [(str(row[0]), str(row[1])) for row in self.sql(f"DESCRIBE QUERY {query}")]
        typed = ", ".join(f"{column} {TYPES.get(kind, kind)}" for column, kind in columns)
        self.server(f"CREATE TABLE {self.schema}.{name} ({typed}, PRIMARY KEY ({keys}))")
        self.sql(f"CREATE TABLE {name} {self.server.options(f'{self.schema}.{name}', key_columns=keys)}")

    def compare(self, queries: Sequence[tuple[str, str]]) -> None:
        """Run each query as a job with a batch for each file, and over the whole table. queries: with their keys"""
        for number, (query, keys) in enumerate(queries):
            self.create(f"r{number}", query, keys)
        jobs = [f"CREATE JOB j{n} {NOW} AS SINK INTO r{n} {streamed(query)}" for n, (query, _) in enumerate(queries)]
        started = [number for number, job in enumerate(jobs) if not self._is_refused(job)]
        assert 2 * len(started) > len(queries)
        for number in started:
            query = queries[number][0]
            self.sql(f"WAIT FOR JOB j{number} UNTIL COMPLETED TIMEOUT 120")
            written, whole = (rows_of(self.sql, text) for text in (f"SELECT * FROM r{number}", query))
            assert written == whole, f"missing: {whole - written}, extra: {written - whole}, of {query}"
            assert dict(self.sql(f"DESCRIBE JOB j{number}"))["output mode"] == "update"

    def _is_refused(self, job: str) -> bool:
        """Create a job, and return whether a decimal of it could overflow."""
        try:
            self.sql(job)
        except StatementError as error:
            assert "could overflow" in error.message, error
            return True
        return False


def streamed(query: str) -> str:
    return query.replace("FROM s", "FROM STREAM s")


def rows_of(sql: Sql, text: str) -> Counter[str]:
    return Counter(map(repr, sql(text)))


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
    tables = Tables(postgres, sql)
    yield tables
    for row in sql("SHOW JOBS"):
        sql(f"DROP JOB '{row[0]}'")
    postgres(f"DROP SCHEMA {tables.schema} CASCADE")


def test_groups_are_updated_and_deleted(tables: Tables, sql: Sql, tmp_path: Path) -> None:
    create_stream(sql, tmp_path / "s", COLUMNS, random_parts(1))
    tables.compare(
        [
            (f"SELECT g, avg(m) AS a, sum(n) AS s FROM ({MAXIMA}) GROUP BY g", "g"),
            (f"SELECT n, count(*) AS c, sum(m) AS t FROM ({MAXIMA}) GROUP BY n HAVING sum(m) <> 3", "n"),
        ]
    )


INNER: Final = (
    "SELECT {g} AS g, k, max(v) AS m, count(*) AS n FROM s GROUP BY {g}, k",
    "SELECT {g} AS g, k % 2 AS k, sum(v) AS m, count(DISTINCT v) AS n FROM s WHERE id % 7 > 0 GROUP BY {g}, k % 2",
    "SELECT {g} AS g, k, sum(d) AS m, count(d) AS n FROM s GROUP BY {g}, k HAVING count(*) > 1",
    "SELECT {g} AS g, k, min(v) AS m, max(k) AS n FROM s GROUP BY ROLLUP ({g}, k)",
    "SELECT {g} AS g, v AS m, k AS n, r AS k FROM (SELECT *, row_number() OVER (PARTITION BY g ORDER BY v, id DESC) AS r"
    " FROM s) WHERE r <= 3",
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
@pytest.mark.parametrize("seed", range(5))
def test_random_queries_write_what_batch_returns(tables: Tables, sql: Sql, tmp_path: Path, seed: int) -> None:
    create_stream(sql, tmp_path / "s", COLUMNS, random_parts(seed))
    chosen = Random(seed)
    tables.compare([random_query(chosen) for _ in range(8)])


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
