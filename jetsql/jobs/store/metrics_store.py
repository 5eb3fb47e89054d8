"""The stored metrics: they can be lost, and no statement waits for writing them.

A thread writes the changes every few seconds in one transaction. Metrics that cannot be read are moved aside, and
written again from memory. When they cannot be written (a full disk), the thread tries again the next time.
`MetricsFile` stores them in a file next to the store's, `MetricsTable` in the store's schema of PostgreSQL.
"""

from __future__ import annotations

import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import fields
from threading import Event, Thread
from typing import Any, ClassVar, Final

import sqlalchemy as sa

from jetsql.jobs.store.metrics import LEVELS, BatchMetrics, Changes, Metrics, Series
from jetsql.jobs.store.tables import FLOAT, INTEGER, TEXT

VERSION: Final = 3
WRITE_SECONDS: Final = 10.0
_LOG: Final = logging.getLogger(__name__)
_METADATA: Final = sa.MetaData()
_TYPES: Final[Mapping[str, sa.types.TypeEngine[Any]]] = {"int": INTEGER, "float": FLOAT}


def _column(name: str, kind: str) -> sa.Column[Any]:
    """Return the column of a field of `BatchMetrics`. kind: its type hint."""
    plain = kind.removesuffix(" | None")
    return sa.Column(name, _TYPES.get(plain, TEXT), nullable=plain != kind)


MEASURES: Final = sa.Table(
    "measures",
    _METADATA,
    sa.Column("job", TEXT, primary_key=True),
    sa.Column("level", INTEGER, primary_key=True, autoincrement=False),
    sa.Column("number", INTEGER, primary_key=True, autoincrement=False),
    *(_column(item.name, str(item.type)) for item in fields(BatchMetrics)),
    sqlite_with_rowid=False,
)
_FIELDS: Final = tuple(item.name for item in fields(BatchMetrics))
_MAPPINGS: Final = ("lag", "lag_seconds", "sink_rows")
_ADDED: Final = ("lag_seconds", "sink_rows")
"""The columns that each version after the first has added."""


class MetricsStore(ABC):
    """A store of metrics. Its errors are logged, never raised."""

    errors: ClassVar[tuple[type[Exception], ...]] = (sa.exc.SQLAlchemyError, OSError, ValueError)
    is_remote: ClassVar[bool] = False
    """True if the database is a server, which may be unreachable for some time."""

    def __init__(self, name: str, metrics: Metrics) -> None:
        """Create it; `start` opens the database. name: the place of the metrics in messages."""
        self.name = name
        self._metrics = metrics
        self._engine: sa.Engine | None = None
        self._forgotten: set[str] = set()
        self._ended = Event()
        self._thread: Thread | None = None

    @abstractmethod
    def _connect(self) -> sa.Engine:
        """Return an engine of the database."""

    @abstractmethod
    def _begin(self, engine: sa.Engine) -> AbstractContextManager[sa.Connection]:
        """Begin a transaction that writes."""

    @abstractmethod
    def _version(self, connection: sa.Connection) -> int:
        """Return the version of the table; 0 without one."""

    @abstractmethod
    def _set_version(self, connection: sa.Connection) -> None:
        """Store that the table has the newest version."""

    @abstractmethod
    def _set_aside(self) -> str:
        """Move damaged metrics aside and return where they are. Raises an error of `errors`."""

    def start(self, jobs: Collection[str]) -> None:
        """Restore the metrics of these jobs, delete those of other jobs, and start writing."""
        try:
            self._open()
            saved = self._load()
            self._metrics.restore({job: series for job, series in saved.items() if job in jobs})
            self._change((), saved.keys() - set(jobs))
        except self.errors as error:
            if isinstance(error, sa.exc.OperationalError) and self.is_remote:
                self._log_unwritten(error)
            else:
                self._replace(error)
        self._thread = Thread(target=self._loop, name="jetsql-metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Write the last changes and close the database."""
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
            self._log_unwritten(error)
        except self.errors as error:
            self._replace(error)

    def _log_unwritten(self, error: sa.exc.OperationalError) -> None:
        _LOG.error("Metrics could not be written to %s: %s. Trying again later.", self.name, error.orig)
        self._metrics.mark_unwritten()

    def _loop(self) -> None:
        while not self._ended.wait(WRITE_SECONDS):
            self.write()
        self.write()

    def _open(self) -> None:
        self._engine = self._connect()
        with self._begin(self._engine) as connection:
            version = self._version(connection)
            if version not in range(VERSION + 1):
                raise ValueError(f"it has version {version}, and this JetSQL writes version {VERSION}")
            _METADATA.create_all(connection)
            for column in _ADDED[version - 1 :] if version else ():
                connection.exec_driver_sql(f"ALTER TABLE measures ADD COLUMN {column} TEXT NOT NULL DEFAULT '{{}}'")
            self._set_version(connection)

    def _load(self) -> dict[str, Series]:
        assert self._engine is not None
        saved: dict[str, Series] = {}
        rows = sa.select(MEASURES).order_by(MEASURES.c.job, MEASURES.c.level, MEASURES.c.number)
        with self._engine.connect() as connection:
            for job, level, number, *values in connection.execute(rows):
                if level < len(LEVELS):
                    saved.setdefault(job, Series()).restore(level, number, _measure(values))
        return saved

    def _change(self, changes: Iterable[Changes], forgotten: Collection[str]) -> None:
        if self._engine is None:
            self._open()
            assert self._engine is not None
        with self._begin(self._engine) as connection:
            for job in forgotten:
                connection.execute(MEASURES.delete().where(MEASURES.c.job == job))
            for change in changes:
                _write(connection, change)

    def _replace(self, error: Exception) -> None:
        """Move damaged metrics aside; the next write stores those in memory."""
        reason = getattr(error, "orig", None) or error
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None
        self._metrics.mark_unwritten()
        try:
            aside = self._set_aside()
        except self.errors as second:
            _LOG.error("Cannot use the metrics in %s (%s), and cannot move them aside: %s.", self.name, reason, second)
        else:
            _LOG.error("Cannot use the metrics in %s (%s): they are moved to %s.", self.name, reason, aside)


def _write(connection: sa.Connection, changes: Changes) -> None:
    of_job = MEASURES.c.job == changes.job
    rows = []
    for level, (oldest, written) in enumerate(zip(changes.oldest, changes.written, strict=True)):
        gone = sa.or_(MEASURES.c.number < oldest, *(MEASURES.c.number >= number for number, _ in written[:1]))
        connection.execute(MEASURES.delete().where(of_job, MEASURES.c.level == level, gone))
        rows += [
            {"job": changes.job, "level": level, "number": number, **_values(measure)} for number, measure in written
        ]
    if rows:
        connection.execute(MEASURES.insert(), rows)


def _values(measure: BatchMetrics) -> dict[str, object]:
    values: dict[str, Any] = {name: getattr(measure, name) for name in _FIELDS}
    return {**values, **{name: json.dumps(dict(values[name])) for name in _MAPPINGS}}


def _measure(values: list[Any]) -> BatchMetrics:
    named = dict(zip(_FIELDS, values, strict=True))
    return BatchMetrics(**{**named, **{name: json.loads(named[name]) for name in _MAPPINGS}})
