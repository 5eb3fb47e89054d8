"""The file of the metrics, separate from the store: it can be lost, and no statement waits for writing it.

A thread writes the changes every few seconds in one transaction. A file that cannot be read is moved aside, and a new
one is written from memory. When the file cannot be written (a full disk), the thread tries again the next time.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

import sqlalchemy as sa

from jetsql.jobs.store.metrics import LEVELS, BatchMetrics, Changes, Metrics, Series
from jetsql.jobs.store.store_file import StoreFile

VERSION: Final = 3
WRITE_SECONDS: Final = 10.0
_LOG: Final = logging.getLogger(__name__)
_METADATA: Final = sa.MetaData()
_TYPES: Final[Mapping[str, type[sa.types.TypeEngine[Any]]]] = {"int": sa.Integer, "float": sa.Float}


def _column(name: str, kind: str) -> sa.Column[Any]:
    """Return the column of a field of `BatchMetrics`. kind: its type hint."""
    plain = kind.removesuffix(" | None")
    return sa.Column(name, _TYPES.get(plain, sa.Text), nullable=plain != kind)


_MEASURES: Final = sa.Table(
    "measures",
    _METADATA,
    sa.Column("job", sa.Text, primary_key=True),
    sa.Column("level", sa.Integer, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    *(_column(item.name, str(item.type)) for item in fields(BatchMetrics)),
    sqlite_with_rowid=False,
)
_FIELDS: Final = tuple(item.name for item in fields(BatchMetrics))
_MAPPINGS: Final = ("lag", "lag_seconds", "sink_rows")
_ADDED: Final = ("lag_seconds", "sink_rows")
"""The columns that each version after the first has added."""


class MetricsFile:
    """A file that stores metrics. Errors of the file are logged, never raised."""

    def __init__(self, path: Path, metrics: Metrics) -> None:
        """Create it for a path; `start` opens the file."""
        self._path = path
        self._metrics = metrics
        self._engine: sa.Engine | None = None
        self._forgotten: set[str] = set()
        self._ended = Event()
        self._thread: Thread | None = None

    def start(self, jobs: Collection[str]) -> None:
        """Restore the metrics of these jobs, delete those of other jobs, and start writing."""
        try:
            self._open()
            saved = self._load()
            self._metrics.restore({job: series for job, series in saved.items() if job in jobs})
            self._change((), saved.keys() - set(jobs))
        except (sa.exc.SQLAlchemyError, sqlite3.Error, OSError, ValueError) as error:
            self._replace_file(error)
        self._thread = Thread(target=self._loop, name="jetsql-metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Write the last changes and close the file."""
        if self._thread is not None:
            self._ended.set()
            self._thread.join()
        if self._engine is not None:
            self._engine.dispose()

    def write(self) -> None:
        """Write the changes since the last time in one transaction."""
        changes, forgotten = self._metrics.take_changes()
        self._forgotten |= set(forgotten)
        if not changes and not self._forgotten:
            return
        try:
            self._change(changes, self._forgotten)
            self._forgotten = set()
        except sa.exc.OperationalError as error:
            _LOG.error("Metrics could not be written to %s: %s. Trying again later.", self._path, error.orig)
            self._metrics.mark_unwritten()
        except (sa.exc.SQLAlchemyError, sqlite3.Error, OSError) as error:
            self._replace_file(error)

    def _loop(self) -> None:
        while not self._ended.wait(WRITE_SECONDS):
            self.write()
        self.write()

    def _open(self) -> None:
        StoreFile(self._path).make_private()
        self._engine = sa.create_engine(sa.URL.create("sqlite", database=str(self._path)))
        sa.event.listen(self._engine, "connect", _configure)
        with self._engine.begin() as connection:
            version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
            if version not in range(VERSION + 1):
                raise ValueError(f"it has version {version}, and this JetSQL writes version {VERSION}")
            _METADATA.create_all(connection)
            for column in _ADDED[version - 1 :] if version else ():
                connection.exec_driver_sql(f"ALTER TABLE measures ADD COLUMN {column} TEXT NOT NULL DEFAULT '{{}}'")
            connection.exec_driver_sql(f"PRAGMA user_version = {VERSION}")

    def _load(self) -> dict[str, Series]:
        assert self._engine is not None
        saved: dict[str, Series] = {}
        rows = sa.select(_MEASURES).order_by(_MEASURES.c.job, _MEASURES.c.level, _MEASURES.c.number)
        with self._engine.connect() as connection:
            for job, level, number, *values in connection.execute(rows):
                if level < len(LEVELS):
                    saved.setdefault(job, Series()).restore(level, number, _measure(values))
        return saved

    def _change(self, changes: Iterable[Changes], forgotten: Collection[str]) -> None:
        if self._engine is None:
            self._open()
            assert self._engine is not None
        with self._engine.begin() as connection:
            for job in forgotten:
                connection.execute(_MEASURES.delete().where(_MEASURES.c.job == job))
            for change in changes:
                _write(connection, change)

    def _replace_file(self, error: Exception) -> None:
        """Move a damaged file aside; the next write creates a new one from memory."""
        aside = Path(f"{self._path}.damaged")
        reason = getattr(error, "orig", None) or error
        _LOG.error("Cannot use the metrics in %s (%s): the file is moved to %s.", self._path, reason, aside)
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None
        self._metrics.mark_unwritten()
        try:
            for end in ("-wal", "-shm"):
                Path(f"{self._path}{end}").unlink(missing_ok=True)
            os.replace(self._path, aside)
        except OSError as second:
            _LOG.error("Cannot move %s aside: %s. No metrics are written.", self._path, second)


def _write(connection: sa.Connection, changes: Changes) -> None:
    of_job = _MEASURES.c.job == changes.job
    rows = []
    for level, (oldest, written) in enumerate(zip(changes.oldest, changes.written, strict=True)):
        gone = sa.or_(_MEASURES.c.number < oldest, *(_MEASURES.c.number >= number for number, _ in written[:1]))
        connection.execute(_MEASURES.delete().where(of_job, _MEASURES.c.level == level, gone))
        rows += [
            {"job": changes.job, "level": level, "number": number, **_values(measure)} for number, measure in written
        ]
    if rows:
        connection.execute(_MEASURES.insert(), rows)


def _values(measure: BatchMetrics) -> dict[str, object]:
    values: dict[str, Any] = {name: getattr(measure, name) for name in _FIELDS}
    return {**values, **{name: json.dumps(dict(values[name])) for name in _MAPPINGS}}


def _measure(values: list[Any]) -> BatchMetrics:
    named = dict(zip(_FIELDS, values, strict=True))
    return BatchMetrics(**{**named, **{name: json.loads(named[name]) for name in _MAPPINGS}})


def _configure(connection: sqlite3.Connection, _record: object) -> None:
    # No wait for the disk at each commit: metrics can be lost when the machine crashes.
    for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "busy_timeout = 1000"):
        connection.execute(f"PRAGMA {pragma}")
