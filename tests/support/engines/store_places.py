"""Places of a store for tests that run on SQLite and on PostgreSQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import pytest

from jetsql.home.store_note import StoreNote
from jetsql.home.store_url import StoreUrl
from jetsql.jobs.store.database import StoreDatabase
from jetsql.jobs.store.job_store import Store
from jetsql.jobs.store.postgresql.store_schema import StoreSchema
from jetsql.jobs.store.store_file import StoreFile
from tests.support.servers.postgres import PASSWORD, USER, Postgres

PLACES = (pytest.param("file", id=pytest.HIDDEN_PARAM), pytest.param("schema", marks=pytest.mark.spark))
"""The parameters of a test on both databases; `make test-fast` leaves out PostgreSQL, as it leaves out Spark."""
HOME = StoreNote("the id of a home")
_numbers = count(1)


class StorePlace(Protocol):
    """The place of a store. Each `database` is an engine of its own."""

    def database(self) -> StoreDatabase: ...

    def execute(self, *statements: str) -> list[tuple[Any, ...]]:
        """Execute statements of SQL, and return the rows of the last one."""

    def dump(self) -> object:
        """Return the whole content, to compare it."""


class FilePlace:
    """A file of SQLite."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def database(self) -> StoreDatabase:
        return StoreFile(self.path)

    def execute(self, *statements: str) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        with closing(sqlite3.connect(self.path)) as connection:
            for statement in statements:
                rows = connection.execute(statement).fetchall()
            connection.commit()
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return rows

    def dump(self) -> object:
        return self.path.read_bytes()


class SchemaPlace:
    """A schema of PostgreSQL."""

    def __init__(self, server: Postgres) -> None:
        self.server = server
        self.url = StoreUrl("127.0.0.1", server.port, "postgres", USER, PASSWORD, f"store_{next(_numbers)}")

    def database(self, note: StoreNote = HOME) -> StoreSchema:
        return StoreSchema(self.url, note)

    def execute(self, *statements: str) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        with self.server.connect() as connection:
            connection.execute(f"SET search_path = {self.url.schema}")
            for statement in statements:
                cursor = connection.execute(statement)
                rows = cursor.fetchall() if cursor.description else []
        return rows

    def dump(self) -> object:
        query = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1"
        return {
            table: self.execute(f"SELECT * FROM {table} ORDER BY 1, 2")
            for (table,) in self.execute(query)
            if table not in ("lease", "engines")
        }

    def drop(self) -> None:
        self.server(f"DROP SCHEMA IF EXISTS {self.url.schema} CASCADE")


def make_place(kind: str, folder: Path, request: pytest.FixtureRequest) -> Iterator[StorePlace]:
    """Yield a new place of a kind of `PLACES`."""
    if kind == "file":
        yield FilePlace(folder / "jetsql.db")
        return
    place = SchemaPlace(request.getfixturevalue("postgres"))
    yield place
    place.drop()


def open_store(place: StorePlace) -> Store:
    return Store(place.database())
