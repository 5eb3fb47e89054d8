"""SINK INTO PostgreSQL of an aggregate over aggregates: each batch writes the rows that change, and deletes others."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

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
            self.sql(f"CREATE JOB j{number} {NOW} AS SINK INTO r{number} {streamed(query)}")
        for number, (query, _) in enumerate(queries):
            self.sql(f"WAIT FOR JOB j{number} UNTIL COMPLETED TIMEOUT 120")
            written, whole = (rows_of(self.sql, text) for text in (f"SELECT * FROM r{number}", query))
            assert written == whole, f"missing: {whole - written}, extra: {written - whole}, of {query}"
            assert dict(self.sql(f"DESCRIBE JOB j{number}"))["output mode"] == "update"


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
