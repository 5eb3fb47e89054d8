"""The store's file, as far as it can be judged without writing to it, and what is said when it can't be used.

A file that can't be read is never written to, so an existing one is first opened read-only and looked through, with
SQLite alone; only then does the store open it.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jetsql.errors import EngineError
from jetsql.jobs.codec import MalformedRecord, decode
from jetsql.jobs.model import Job

VERSION: Final = 2

# The tables, with the version of the store that brought them.
TABLES: Final = {"meta": 1, "jobs": 1, "history": 1, "snapshots": 2}


@dataclass(frozen=True)
class StoreFile:
    """One file, which need not exist."""

    path: Path

    def make_private(self) -> None:
        """Make it, empty. It may come to hold secrets, so only its owner may read it, from the first byte on."""
        os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600))

    def look_through(self) -> int | None:
        """The version of the store in it; None when there is no file or an empty database.

        Raises EngineError STORE_DAMAGED, STORE_TOO_NEW; OSError and sqlite3.Error for a place that can't be used.
        """
        if not self.path.exists() or self.path.stat().st_size == 0:
            return None
        with closing(sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if found != "ok":
                raise self.damaged(str(found))
            tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if not tables:
                return None
            version = self._version(connection, tables)
            for job_id, record in connection.execute("SELECT id, record FROM jobs WHERE live"):
                self._check_record(str(job_id), str(record))
        return version

    def _version(self, connection: sqlite3.Connection, tables: set[str]) -> int:
        if "meta" not in tables:
            raise self.damaged("it is a database, but not a JetSQL store")
        meta = {str(key): str(value) for key, value in connection.execute("SELECT key, value FROM meta")}
        version = meta.get("version")
        if version is None:
            raise self.damaged("it does not say its version")
        if not version.isdecimal() or int(version) < 1:
            raise self.damaged(f"its version is {version!r}")
        if int(version) > VERSION:
            raise self._too_new(version, meta.get("written_by"))
        missing = sorted(table for table, since in TABLES.items() if since <= int(version) and table not in tables)
        if missing:
            raise self.damaged(f"it lacks the tables {', '.join(missing)}")
        return int(version)

    def _check_record(self, job_id: str, record: str) -> None:
        try:
            decode(Job, record)
        except MalformedRecord as error:
            raise self.damaged_record(f"job {job_id}", error) from error

    def _too_new(self, version: str, written_by: str | None) -> EngineError:
        by = f", written by JetSQL {written_by}" if written_by else ""
        return EngineError(
            "STORE_TOO_NEW",
            f"The store {self.path} has version {version}{by}; this JetSQL reads up to version {VERSION}.",
            hint="Install the newer JetSQL, or use another home folder.",
        )

    def damaged(self, what: str) -> EngineError:
        return EngineError(
            "STORE_DAMAGED",
            f"The store {self.path} is damaged: {what} (this JetSQL reads version {VERSION}).",
            hint="It was left as it is. Restore it from a copy, or move it away to begin with an empty one.",
        )

    def damaged_record(self, of: str, error: MalformedRecord) -> EngineError:
        return self.damaged(f"the record of {of} can't be read ({error})")

    def not_usable(self, error: BaseException) -> EngineError:
        return EngineError("HOME_NOT_USABLE", f"The store {self.path} can't be used: {error}.")
