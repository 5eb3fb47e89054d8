"""The store: what jobs there are and what happened to them, in one SQLite file.

The file is the truth: a step is in it before its actions are carried out, job and history row in one transaction. A job
is one JSON record beside the columns that are searched by, so that new fields need no migration. A file that can't be
read is never written to: it is first opened read-only and looked through.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import sqlalchemy as sa

from jetsql.errors import EngineError, JetSQLError, StatementError
from jetsql.jobs.codec import MalformedRecord, decode, encode
from jetsql.jobs.history import HistoryRow
from jetsql.jobs.model import Job, Status, name_key

VERSION: Final = 1

_METADATA: Final = sa.MetaData()

_META: Final = sa.Table(
    "meta",
    _METADATA,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

_JOBS: Final = sa.Table(
    "jobs",
    _METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name_key", sa.Text, nullable=False),
    sa.Column("live", sa.Boolean, nullable=False),
    sa.Column("files", sa.Boolean, nullable=False),
    sa.Column("record", sa.Text, nullable=False),
)
sa.Index("jobs_live_name", _JOBS.c.name_key, unique=True, sqlite_where=_JOBS.c.live)
sa.Index("jobs_name", _JOBS.c.name_key, _JOBS.c.id)

_HISTORY: Final = sa.Table(
    "history",
    _METADATA,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("job", sa.Text, sa.ForeignKey("jobs.id"), nullable=False, index=True),
    sa.Column("time", sa.Float, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("before", sa.Text),
    sa.Column("after", sa.Text, nullable=False),
    sa.Column("run", sa.Integer, nullable=False),
    sa.Column("words", sa.Text, nullable=False),
)


class Store:
    """Jobs and their history in a file. Any thread may read; the manager's writer alone writes.

    Raises EngineError STORE_DAMAGED, STORE_TOO_NEW (the file is left as it is), HOME_NOT_USABLE.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._translated():
            self._prepare()

    def close(self) -> None:
        self._engine.dispose()

    @property
    def id(self) -> str:
        """This store's own id, given when it was made."""
        with self._reading() as connection:
            return str(connection.execute(sa.select(_META.c.value).where(_META.c.key == "id")).scalar_one())

    def add(self, job: Job, row: HistoryRow) -> None:
        """Store a new job. Raises StatementError JOB_ALREADY_EXISTS when a live one has its name."""
        self._write(job, row, _JOBS.insert())

    def save(self, job: Job, row: HistoryRow) -> None:
        """Store a job's new state and why it came about.

        Raises StatementError JOB_ALREADY_EXISTS when it comes to life again while another has its name.
        """
        self._write(job, row, _JOBS.update().where(_JOBS.c.id == job.id))

    def _write(self, job: Job, row: HistoryRow, change: sa.Insert | sa.Update) -> None:
        with self._translated(job.name), self._engine.begin() as connection:
            connection.execute(change.values(_columns(job)))
            connection.execute(_HISTORY.insert().values(_history_columns(row)))

    def live_jobs(self) -> tuple[Job, ...]:
        """Those that have not ended, oldest first."""
        return self._jobs(sa.select(_JOBS.c.id, _JOBS.c.record).where(_JOBS.c.live).order_by(_JOBS.c.id))

    def jobs_with_files(self) -> tuple[Job, ...]:
        """Ended jobs that may still have a checkpoint or staged rows."""
        ended = sa.and_(sa.not_(_JOBS.c.live), _JOBS.c.files)
        return self._jobs(sa.select(_JOBS.c.id, _JOBS.c.record).where(ended).order_by(_JOBS.c.id))

    def all_jobs(self) -> tuple[Job, ...]:
        """All jobs ever made, oldest first."""
        return self._jobs(sa.select(_JOBS.c.id, _JOBS.c.record).order_by(_JOBS.c.id))

    def job(self, job_id: str) -> Job | None:
        jobs = self._jobs(sa.select(_JOBS.c.id, _JOBS.c.record).where(_JOBS.c.id == job_id))
        return jobs[0] if jobs else None

    def newest_named(self, name: str) -> Job | None:
        """The newest job of a name, ended or not."""
        named = sa.select(_JOBS.c.id, _JOBS.c.record).where(_JOBS.c.name_key == name_key(name))
        jobs = self._jobs(named.order_by(_JOBS.c.id.desc()).limit(1))
        return jobs[0] if jobs else None

    def newest_id(self) -> str | None:
        with self._reading() as connection:
            newest = connection.execute(sa.select(sa.func.max(_JOBS.c.id))).scalar_one()
        return None if newest is None else str(newest)

    def history(self, job_id: str) -> tuple[HistoryRow, ...]:
        """A job's history, oldest first."""
        wanted = sa.select(_HISTORY).where(_HISTORY.c.job == job_id).order_by(_HISTORY.c.number)
        with self._reading() as connection:
            return tuple(self._history_row(row) for row in connection.execute(wanted))

    def _jobs(self, wanted: sa.Select[Any]) -> tuple[Job, ...]:
        with self._reading() as connection:
            rows = connection.execute(wanted).all()
        return tuple(self._decoded(str(row.id), str(row.record)) for row in rows)

    def _decoded(self, job_id: str, record: str) -> Job:
        try:
            return decode(Job, record)
        except MalformedRecord as error:
            raise self._damaged(f"the record of job {job_id} can't be read ({error})") from error

    def _history_row(self, row: Any) -> HistoryRow:
        try:
            before = Status(row.before) if row.before is not None else None
            return HistoryRow(row.job, row.time, row.title, before, Status(row.after), row.run, row.words)
        except ValueError as error:
            raise self._damaged(f"row {row.number} of the history can't be read ({error})") from error

    # --- opening -----------------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        is_new = not self.path.exists() or self.path.stat().st_size == 0
        if is_new:
            self._make_private()
        else:
            is_new = self._look_through()
        url = sa.URL.create("sqlite", database=str(self.path))
        self._engine = sa.create_engine(url, pool_size=4, max_overflow=-1)
        sa.event.listen(self._engine, "connect", _configure)
        if is_new:
            self._create()

    def _make_private(self) -> None:
        """The file may hold secrets, so only its owner may read it, from the first byte on."""
        os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600))

    def _look_through(self) -> bool:
        """Check an existing file without a chance to change it; True when it is an empty database."""
        with closing(sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if found != "ok":
                raise self._damaged(str(found))
            tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if not tables:
                return True
            self._check_version(connection, tables)
            for job_id, record in connection.execute("SELECT id, record FROM jobs WHERE live"):
                self._decoded(str(job_id), str(record))
        return False

    def _check_version(self, connection: sqlite3.Connection, tables: set[str]) -> None:
        missing = sorted(set(_METADATA.tables) - tables)
        if "meta" not in tables:
            raise self._damaged("it is a database, but not a JetSQL store")
        row = connection.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()
        if row is None:
            raise self._damaged("it does not say its version")
        if not str(row[0]).isdigit():
            raise self._damaged(f"its version is {row[0]!r}")
        if int(row[0]) > VERSION:
            raise self._too_new(int(row[0]))
        if missing:
            raise self._damaged(f"it lacks the tables {', '.join(missing)}")

    def _create(self) -> None:
        with self._engine.begin() as connection:
            _METADATA.create_all(connection)
            rows = [{"key": "version", "value": str(VERSION)}, {"key": "id", "value": uuid4().hex}]
            connection.execute(_META.insert(), rows)

    def _too_new(self, version: int) -> EngineError:
        return EngineError(
            "STORE_TOO_NEW",
            f"The store {self.path} has version {version}; this JetSQL reads up to version {VERSION}.",
            hint="Install the newer JetSQL, or use another home folder.",
        )

    def _damaged(self, what: str) -> EngineError:
        return EngineError(
            "STORE_DAMAGED",
            f"The store {self.path} is damaged: {what} (this JetSQL reads version {VERSION}).",
            hint="It was left as it is. Restore it from a copy, or move it away to begin with an empty one.",
        )

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        with self._translated(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def _translated(self, job_name: str = "") -> Iterator[None]:
        """SQLite's errors as ours."""
        try:
            yield
        except OSError as error:
            raise self._not_usable(error) from error
        except (sa.exc.DBAPIError, sqlite3.Error) as error:
            raise self._translation(getattr(error, "orig", None) or error, job_name) from error

    def _translation(self, error: BaseException, job_name: str) -> JetSQLError:
        """A live name that is taken; a disk or folder that can't be used; else the file itself is at fault."""
        if isinstance(error, sqlite3.IntegrityError) and _JOBS.c.name_key.name in str(error):
            return StatementError("JOB_ALREADY_EXISTS", f"There is a job named {job_name} already.")
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        if isinstance(error, sqlite3.OperationalError) and code != sqlite3.SQLITE_ERROR:
            return self._not_usable(error)
        return self._damaged(str(error))

    def _not_usable(self, error: BaseException) -> EngineError:
        return EngineError("HOME_NOT_USABLE", f"The store {self.path} can't be used: {error}.")


def _configure(connection: sqlite3.Connection, _record: object) -> None:
    for pragma in ("journal_mode = WAL", "foreign_keys = ON", "synchronous = FULL", "busy_timeout = 5000"):
        connection.execute(f"PRAGMA {pragma}")


def _columns(job: Job) -> dict[str, object]:
    return {
        "id": job.id,
        "name_key": name_key(job.name),
        "live": job.live,
        "files": job.files,
        "record": encode(job),
    }


def _history_columns(row: HistoryRow) -> dict[str, object]:
    return {
        "job": row.job,
        "time": row.time,
        "title": row.title,
        "before": row.before.value if row.before is not None else None,
        "after": row.after.value,
        "run": row.run,
        "words": row.words,
    }
