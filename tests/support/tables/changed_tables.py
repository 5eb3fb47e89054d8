"""Tables of PostgreSQL for the results of queries over streams, which are compared with batch queries."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING, Final

from jetsql.errors import StatementError
from tests.support.servers.postgres import Postgres

if TYPE_CHECKING:
    from tests.conftest import Sql

TYPES: Final = {"int": "int", "bigint": "bigint", "double": "float8", "string": "text", "boolean": "boolean"}
NOW: Final = "OPTIONS ('trigger' = 'availableNow')"
_STREAM: Final = re.compile(r"\b(FROM|JOIN) (?=[su]\b)")
_schemas = itertools.count(1)


class Tables:
    """Tables in the database for the results of queries over the streams `s` and `u`."""

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

    def compare_each(
        self, queries: Sequence[tuple[str, str]], streams: str, add_files: Callable[[int], None], files: int
    ) -> None:
        """Run each query as a job, and over the whole table after each of the files, which `add_files` adds."""
        started = []
        for number, (query, keys) in enumerate(queries):
            self.create(f"r{number}", query, keys)
            if not self._is_refused(f"CREATE JOB j{number} AS SINK INTO r{number} {streamed(query)}"):
                started.append((f"j{number}", f"r{number}", query))
        assert 2 * len(started) > len(queries)
        for number in range(1, files + 1):
            for job, table, query in started:
                self._check_result(job, table, query, streams)
            if number < files:
                add_files(number)

    def keep_state(self, query: str, keys: str, streams: str, add_files: Callable[[int], None]) -> None:
        """Run a query as a job that is suspended, spread over more partitions and restarted, while files are added.

        streams: the names of its streams. add_files: adds the next files, from number 1
        """
        self.create("r", query, keys)
        job = f"JOB j OPTIONS ('snapshotIntervalMillis' = '50') AS SINK INTO r {streamed(query)}"
        spread = job.replace("'50'", "'50', 'spark.sql.shuffle.partitions' = '3'")
        changes = ("SUSPEND JOB j", "RESUME JOB j"), (f"CREATE OR REPLACE {spread}",), ("RESTART JOB j",), ()
        self.sql(f"CREATE {job}")
        for number, statements in enumerate(changes, 1):
            self._check_result("j", "r", query, streams)
            for statement in statements:
                self.sql(statement)
            add_files(number)
        self._check_result("j", "r", query, streams)

    def _check_result(self, job: str, table: str, query: str, streams: str) -> None:
        self.sql(f"WAIT FOR JOB {job} UNTIL IDLE TIMEOUT 60")
        for stream in streams:
            self.sql(f"REFRESH TABLE {stream}")
        written, whole = (rows_of(self.sql, text) for text in (f"SELECT * FROM {table}", query))
        assert written == whole, f"missing: {whole - written}, extra: {written - whole}, of {query}"

    def _is_refused(self, job: str) -> bool:
        """Create a job, and return whether a decimal of it could overflow."""
        try:
            self.sql(job)
        except StatementError as error:
            assert "could overflow" in error.message, error
            return True
        return False


def with_aggregates_above(chosen: Random, query: str, keys: str, groups: Sequence[str], calls: str) -> tuple[str, str]:
    """Return a query, mostly unchanged, or joined with or under an aggregate, and its key columns.

    groups: the expressions by which it may be grouped. calls: the aggregates then
    """
    if chosen.random() < 0.15:
        query = f"SELECT q.*, x.m FROM ({query}) q LEFT JOIN (SELECT k, max(v) AS m FROM s GROUP BY k) x ON q.k = x.k"
    elif chosen.random() < 0.3:
        group = chosen.choice(groups)
        return f"SELECT {group} AS key, {calls} FROM ({query}) GROUP BY {group}", "key"
    return query, keys


def streamed(query: str) -> str:
    return _STREAM.sub(r"\1 STREAM ", query)


def rows_of(sql: Sql, text: str) -> Counter[str]:
    return Counter(map(repr, sql(text)))


@contextmanager
def changed_tables(postgres: Postgres, sql: Sql) -> Iterator[Tables]:
    tables = Tables(postgres, sql)
    yield tables
    for row in sql("SHOW JOBS"):
        sql(f"DROP JOB '{row[0]}'")
    postgres(f"DROP SCHEMA {tables.schema} CASCADE")
