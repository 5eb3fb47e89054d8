"""The metrics in a file of SQLite next to the store's."""

from __future__ import annotations

import os
import sqlite3
from contextlib import AbstractContextManager
from pathlib import Path
from typing import ClassVar

import sqlalchemy as sa

from jetsql.home.private_files import MODE
from jetsql.jobs.store.metrics import Metrics
from jetsql.jobs.store.metrics_store import VERSION, MetricsStore


class MetricsFile(MetricsStore):
    """A file that stores metrics, separate from the store's, so that its damage or loss harms no job."""

    errors: ClassVar[tuple[type[Exception], ...]] = (*MetricsStore.errors, sqlite3.Error)

    def __init__(self, path: Path, metrics: Metrics) -> None:
        """Create it for a path; `start` opens the file."""
        super().__init__(str(path), metrics)
        self._path = path

    def _connect(self) -> sa.Engine:
        os.close(os.open(self._path, os.O_CREAT | os.O_WRONLY, MODE))
        engine = sa.create_engine(sa.URL.create("sqlite", database=str(self._path)))
        sa.event.listen(engine, "connect", _configure)
        return engine

    def _begin(self, engine: sa.Engine) -> AbstractContextManager[sa.Connection]:
        return engine.begin()

    def _version(self, connection: sa.Connection) -> int:
        return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())

    def _set_version(self, connection: sa.Connection) -> None:
        connection.exec_driver_sql(f"PRAGMA user_version = {VERSION}")

    def _set_aside(self) -> str:
        aside = f"{self._path}.damaged"
        for end in ("-wal", "-shm"):
            Path(f"{self._path}{end}").unlink(missing_ok=True)
        os.replace(self._path, aside)
        return aside


def _configure(connection: sqlite3.Connection, _record: object) -> None:
    # No wait for the disk at each commit: metrics can be lost when the machine crashes.
    for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "busy_timeout = 1000"):
        connection.execute(f"PRAGMA {pragma}")
