"""Checks of the store's file without writing to it, and the errors for a file that is not usable.

JetSQL never writes to a file that it cannot read. So an existing file is first checked through a read-only connection,
and only then opened by the store.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from jetsql.errors import EngineError
from jetsql.jobs.model.job import Job, Snapshot, Status
from jetsql.jobs.model.serialization import MalformedRecord, decode
from jetsql.jobs.store.record_versions import upgrade_text

VERSION: Final = 5

# The tables, with the version of the store that added them.
TABLES: Final = {"meta": 1, "jobs": 1, "history": 1, "snapshots": 2, "functions": 5}


T = TypeVar("T")


@dataclass(frozen=True)
class StoreContents:
    """The contents of a store."""

    version: int
    jobs: tuple[Job, ...]
    snapshots: tuple[Snapshot, ...]
    unreadable: tuple[str, ...] = ()  # errors of records that cannot be read, as sentences


@dataclass(frozen=True)
class StoreFile:
    """The file of a store, which need not exist."""

    path: Path

    def make_private(self) -> None:
        """Create the file, empty and readable for its owner only, since it can contain secrets."""
        os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600))

    def inspect(self) -> int | None:
        """Return the version of the store; None without a file or with an empty database.

        Raises EngineError STORE_DAMAGED, STORE_TOO_NEW; OSError and sqlite3.Error for a file that is not accessible.
        """
        if not self._has_bytes():
            return None
        with self._reading() as connection:
            version = self._version(connection, "quick_check")
            if version is not None:
                for job_id, record in connection.execute("SELECT id, record FROM jobs WHERE live"):
                    self._check_record(str(job_id), upgrade_text(str(record), version))
        return version

    def contents(self) -> StoreContents | None:
        """Return the contents of the store; None without a file or with an empty database.

        Raises EngineError STORE_DAMAGED, STORE_TOO_NEW, HOME_NOT_USABLE when nothing can be read.
        """
        closed = self._is_closed()
        try:
            return self._contents()
        except EngineError:
            if self._is_closed() is closed:
                raise
            return self._contents()  # an engine has opened it meanwhile

    def _contents(self) -> StoreContents | None:
        if not self._has_bytes():
            return None
        try:
            with self._reading() as connection:
                version = self._version(connection, "integrity_check")
                return None if version is None else _contents(connection, version)
        except (OSError, sqlite3.Error) as error:
            raise self.translate_error(error) from error

    def _has_bytes(self) -> bool:
        return self.path.exists() and self.path.stat().st_size > 0

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """Return a read-only connection with a consistent view.

        Without a write-ahead log the file is opened as immutable. Otherwise SQLite would create log files next to it,
        which belong to the reading user and can prevent the engine from opening the store.
        """
        mode = "mode=ro&immutable=1" if self._is_closed() else "mode=ro"
        with closing(sqlite3.connect(f"{self.path.resolve().as_uri()}?{mode}", uri=True)) as connection:
            connection.execute("BEGIN")
            yield connection

    def _is_closed(self) -> bool:
        log = Path(f"{self.path.resolve()}-wal")
        return not log.exists() or log.stat().st_size == 0

    def _version(self, connection: sqlite3.Connection, check: str) -> int | None:
        """Return the version after a check; None for an empty database. check: the name of SQLite's pragma."""
        result = connection.execute(f"PRAGMA {check}(1)").fetchone()[0]
        if result != "ok":
            raise self.damaged_error(str(result))
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        return self._stated_version(connection, tables) if tables else None

    def _stated_version(self, connection: sqlite3.Connection, tables: set[str]) -> int:
        if "meta" not in tables:
            raise self.damaged_error("it is a database, but not a JetSQL store")
        meta = {str(key): str(value) for key, value in connection.execute("SELECT key, value FROM meta")}
        version = meta.get("version")
        if version is None:
            raise self.damaged_error("its version is missing")
        if not version.isdecimal() or int(version) < 1:
            raise self.damaged_error(f"its version is {version!r}")
        if int(version) > VERSION:
            raise self._too_new(version, meta.get("written_by"))
        missing = sorted(table for table, since in TABLES.items() if since <= int(version) and table not in tables)
        if missing:
            raise self.damaged_error(f"these tables are missing: {', '.join(missing)}")
        return int(version)

    def _check_record(self, job_id: str, record: str) -> None:
        try:
            decode(Job, record)
        except MalformedRecord as error:
            raise self.damaged_record_error(f"job {job_id}", error) from error

    def _too_new(self, version: str, written_by: str | None) -> EngineError:
        by = f", written by JetSQL {written_by}" if written_by else ""
        return EngineError(
            "STORE_TOO_NEW",
            f"The store {self.path} has version {version}{by}; this JetSQL reads up to version {VERSION}.",
            hint="Install the newer JetSQL, or use another home folder.",
        )

    def translate_error(self, error: BaseException) -> EngineError:
        """Return an error of SQLite or the system as EngineError: HOME_NOT_USABLE for disk and folder, otherwise
        STORE_DAMAGED."""
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        if isinstance(error, OSError) or (isinstance(error, sqlite3.OperationalError) and code != sqlite3.SQLITE_ERROR):
            hint = "Check owner and permissions of this file and the files next to it, and whether the disk is full."
            return EngineError("HOME_NOT_USABLE", f"Cannot access the store {self.path}: {error}.", hint=hint)
        return self.damaged_error(str(error))

    def damaged_error(self, reason: str) -> EngineError:
        """Return the error for a damaged store. reason: a phrase without a full stop."""
        return EngineError(
            "STORE_DAMAGED",
            f"The store {self.path} is damaged: {reason} (this JetSQL reads version {VERSION}).",
            hint="The file was not changed. Restore it from a backup, or move it away to start with an empty store.",
        )

    def damaged_record_error(self, subject: str, error: MalformedRecord) -> EngineError:
        """Return the error for a malformed record. subject: the object of the record, such as `job ID`."""
        return self.damaged_error(f"the record of {subject} is not readable ({error})")


def _contents(connection: sqlite3.Connection, version: int) -> StoreContents:
    unreadable: list[str] = []

    def records(kind: type[T], table: str) -> Iterator[T]:
        for record_id, record in connection.execute(f"SELECT id, record FROM {table} ORDER BY id"):
            try:
                yield decode(kind, upgrade_text(str(record), version))
            except MalformedRecord as error:
                unreadable.append(f"The record of {kind.__name__.lower()} {record_id} is not readable ({error}).")

    jobs = tuple(records(Job, "jobs"))
    snapshots = tuple(records(Snapshot, "snapshots")) if version >= TABLES["snapshots"] else ()
    known = {None, *(status.value for status in Status)}
    for number, job_id, *statuses in connection.execute("SELECT number, job, before, after FROM history"):
        if not known.issuperset(statuses) or statuses[1] is None:
            unreadable.append(f"Row {number} of the history of job {job_id} is not readable (unknown status).")
    return StoreContents(version, jobs, snapshots, tuple(unreadable))
