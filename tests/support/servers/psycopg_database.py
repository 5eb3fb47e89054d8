"""The database of a JDBC table through psycopg and not through Spark's JVM, for tests of sinks without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import psycopg

from jetsql.engine.jdbc.jdbc_databases import Database, JdbcError, TransactionStep


class PsycopgDatabase(Database):
    """A database of PostgreSQL."""

    def __init__(self, spark: object, options: Mapping[str, str]) -> None:
        self._options = dict(options)
        self._lower_case_options = self._options

    def transact(self, steps: Sequence[TransactionStep], keep: bool = True) -> list[str | None]:
        values = []
        step = None
        try:
            with self._connect() as connection:
                for step in steps:
                    values.append(value := self._run(connection, step.sql))
                    if step.expect is not None and str(step.expect) != value:
                        connection.rollback()
                        raise JdbcError("", "", step.name, int(value or 0))
                step = None
                if not keep:
                    connection.rollback()
        except psycopg.Error as error:
            name = None if step is None else step.name
            raise JdbcError(error.sqlstate or "08006", str(error), name) from error
        return values

    def list_tables(self, prefix: str) -> list[tuple[str, str]]:
        query = "SELECT schemaname, tablename FROM pg_tables WHERE starts_with(tablename, %s)"
        with self._connect() as connection:
            return [(str(schema), str(table)) for schema, table in connection.execute(query, (prefix,))]

    def _run(self, connection: psycopg.Connection[Any], sql: str) -> str | None:
        cursor = connection.execute(sql.encode())
        if cursor.description is None:
            return str(cursor.rowcount)
        row = cursor.fetchone()
        return None if row is None or row[0] is None else str(row[0])

    def _connect(self) -> psycopg.Connection[Any]:
        url = urlsplit(self._options["url"].removeprefix("jdbc:"))
        return psycopg.connect(
            host=url.hostname,
            port=url.port,
            dbname=url.path.strip("/"),
            user=self._options["user"],
            password=self._options["password"],
            application_name="JetSQL",
        )
