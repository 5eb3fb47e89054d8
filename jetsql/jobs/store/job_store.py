"""The store of jobs, their history, snapshots and functions: one SQLite file.

A step is committed to the file before its actions are carried out, with job, history row and snapshot in one
transaction. A job is a JSON record next to the columns for queries, so new fields need no migration. `store_file` has
the checks before a file is opened, and `migrations` the upgrade of older versions.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from jetsql.errors import JetSQLError, StatementError
from jetsql.failpoints import failpoint
from jetsql.jobs.model.function import Function
from jetsql.jobs.model.history_row import HistoryRow
from jetsql.jobs.model.job import Job, RunId, Snapshot, Status, name_key
from jetsql.jobs.model.serialization import MalformedRecord, decode, encode
from jetsql.jobs.store.store_file import VERSION, StoreFile
from jetsql.version import VERSION as PROGRAM

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

_SNAPSHOTS: Final = sa.Table(
    "snapshots",
    _METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name_key", sa.Text, nullable=False, unique=True),
    sa.Column("job", sa.Text, nullable=False),  # may be forgotten before its snapshots
    sa.Column("record", sa.Text, nullable=False),
)

_FUNCTIONS: Final = sa.Table(
    "functions",
    _METADATA,
    sa.Column("schema_key", sa.Text, primary_key=True),
    sa.Column("name_key", sa.Text, primary_key=True),
    sa.Column("record", sa.Text, nullable=False),
)


@dataclass(frozen=True)
class _Names:
    """The names in a change, for the error message when a name is taken."""

    job: str = ""
    snapshot: str = ""


_NO_NAMES: Final = _Names()
_WRITTEN_BY: Final = "written_by"
_NEWEST_ID: Final = "newest_id"
_MAX_IDS: Final = 500  # SQLite limits the parameters of a statement
T = TypeVar("T")


class Store:
    """The store in a file. Any thread can read; only the manager's writer thread writes."""

    def __init__(self, path: Path) -> None:
        """Open the store, creating or migrating the file if necessary.

        Raises EngineError STORE_DAMAGED, STORE_TOO_NEW (the file is unchanged), HOME_NOT_USABLE.
        """
        self.path = path
        self._file = StoreFile(path)
        with self._translated_errors():
            self._prepare()

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @property
    def id(self) -> str:
        """Return the id of this store, which was generated when it was created."""
        with self._reading() as connection:
            return str(connection.execute(sa.select(_META.c.value).where(_META.c.key == "id")).scalar_one())

    def add(self, job: Job, row: HistoryRow) -> None:
        """Store a new job. Raises StatementError JOB_ALREADY_EXISTS when a live job has its name."""
        self._change([_JOBS.insert().values(_columns(job)), _insert_history(row)], _Names(job.name))

    def save(self, job: Job, row: HistoryRow, snapshot: Snapshot | None = None, replaces: str | None = None) -> None:
        """Store a job's new state with its history row, and with a new snapshot, if there is one.

        replaces: see `add_snapshot`. Raises StatementError JOB_ALREADY_EXISTS when an ended job becomes live while
        another live job has its name, SNAPSHOT_ALREADY_EXISTS.
        """
        if snapshot is not None:
            self.add_snapshot(snapshot, replaces, row, job)
        else:
            self._change([_update_job(job), _insert_history(row)], _Names(job.name))

    def add_snapshot(
        self, snapshot: Snapshot, replaces: str | None = None, row: HistoryRow | None = None, job: Job | None = None
    ) -> None:
        """Store a new snapshot, with a history row and the job's new state, if they are given.

        replaces: the id of the snapshot whose name it takes over, which is deleted in the same transaction.
        Raises StatementError SNAPSHOT_ALREADY_EXISTS when another snapshot has its name.
        """
        changes = _insert_snapshot(snapshot, replaces)
        if job is not None:
            changes.append(_update_job(job))
        if row is not None:
            changes.append(_insert_history(row))
        self._change(changes, _Names(job.name if job is not None else "", snapshot.name))

    def remove_snapshot(self, snapshot_id: str) -> None:
        """Delete a snapshot, if it exists."""
        self._change([_SNAPSHOTS.delete().where(_SNAPSHOTS.c.id == snapshot_id), _remember_id(snapshot_id)])

    def save_function(self, function: Function) -> None:
        """Store a function; it replaces one with its name."""
        self._change([_delete_function(function.key), _insert_function(function)])

    def remove_function(self, function: Function) -> None:
        """Delete a function, if it exists."""
        self._change([_delete_function(function.key)])

    def functions(self) -> tuple[Function, ...]:
        """Return all functions, by schema and name."""
        wanted = sa.select(_FUNCTIONS).order_by(_FUNCTIONS.c.schema_key, _FUNCTIONS.c.name_key)
        return tuple(self._function(row) for row in self._rows(wanted))

    def _function(self, row: sa.Row[Any]) -> Function:
        try:
            return decode(Function, row.record)
        except MalformedRecord as error:
            subject = f"function {row.schema_key}.{row.name_key}"
            raise self._file.damaged_record_error(subject, error) from error

    def forget(self, job_ids: Sequence[str]) -> None:
        """Delete jobs and their history, if they exist."""
        for ids in (job_ids[at : at + _MAX_IDS] for at in range(0, len(job_ids), _MAX_IDS)):
            history = _HISTORY.delete().where(_HISTORY.c.job.in_(ids))
            self._change([history, _JOBS.delete().where(_JOBS.c.id.in_(ids)), _remember_id(max(ids))])

    def _change(self, changes: Sequence[sa.Executable], names: _Names = _NO_NAMES) -> None:
        """Execute the changes in one transaction."""
        with self._translated_errors(names), self._engine.begin() as connection:
            for change in changes:
                connection.execute(change)

    def live_jobs(self) -> tuple[Job, ...]:
        """Return the jobs that have not ended, oldest first."""
        return self._jobs(sa.select(_JOBS.c.id, _JOBS.c.record).where(_JOBS.c.live).order_by(_JOBS.c.id))

    def jobs_with_files(self) -> tuple[Job, ...]:
        """Return the ended jobs that can still have a checkpoint or staged rows."""
        ended = sa.and_(sa.not_(_JOBS.c.live), _JOBS.c.files)
        return self._jobs(sa.select(_JOBS.c.id, _JOBS.c.record).where(ended).order_by(_JOBS.c.id))

    def ended_jobs(self) -> tuple[Job, ...]:
        """Return the jobs that have ended, oldest first."""
        return self._jobs(sa.select(_JOBS.c.id, _JOBS.c.record).where(sa.not_(_JOBS.c.live)).order_by(_JOBS.c.id))

    def all_jobs(self) -> tuple[Job, ...]:
        """Return all jobs of the store, oldest first."""
        return self._jobs(sa.select(_JOBS.c.id, _JOBS.c.record).order_by(_JOBS.c.id))

    def job(self, job_id: str) -> Job | None:
        """Return the job with this id, or None."""
        jobs = self._jobs(sa.select(_JOBS.c.id, _JOBS.c.record).where(_JOBS.c.id == job_id))
        return jobs[0] if jobs else None

    def newest_named(self, name: str) -> Job | None:
        """Return the newest job with this name, ended or not, or None."""
        named = sa.select(_JOBS.c.id, _JOBS.c.record).where(_JOBS.c.name_key == name_key(name))
        jobs = self._jobs(named.order_by(_JOBS.c.id.desc()).limit(1))
        return jobs[0] if jobs else None

    def snapshots(self) -> tuple[Snapshot, ...]:
        """Return all snapshots, oldest first."""
        return self._snapshots(sa.select(_SNAPSHOTS.c.id, _SNAPSHOTS.c.record).order_by(_SNAPSHOTS.c.id))

    def snapshot(self, snapshot_id: str) -> Snapshot | None:
        """Return the snapshot with this id, or None."""
        wanted = sa.select(_SNAPSHOTS.c.id, _SNAPSHOTS.c.record).where(_SNAPSHOTS.c.id == snapshot_id)
        snapshots = self._snapshots(wanted)
        return snapshots[0] if snapshots else None

    def snapshot_named(self, name: str) -> Snapshot | None:
        """Return the snapshot with this name, or None."""
        named = sa.select(_SNAPSHOTS.c.id, _SNAPSHOTS.c.record).where(_SNAPSHOTS.c.name_key == name_key(name))
        snapshots = self._snapshots(named)
        return snapshots[0] if snapshots else None

    def newest_id(self) -> str | None:
        """Return the newest id that a job or a snapshot ever had, even if it was deleted."""
        given = sa.union_all(
            sa.select(sa.func.max(_JOBS.c.id).label("id")),
            sa.select(sa.func.max(_SNAPSHOTS.c.id)),
            sa.select(_META.c.value).where(_META.c.key == _NEWEST_ID),
        )
        return max((str(row.id) for row in self._rows(given) if row.id is not None), default=None)

    def history(self, job_id: str | None = None) -> tuple[HistoryRow, ...]:
        """Return a job's history, or that of all jobs, oldest first."""
        wanted = sa.select(_HISTORY).order_by(_HISTORY.c.number)
        if job_id is not None:
            wanted = wanted.where(_HISTORY.c.job == job_id)
        return tuple(self._history_row(row) for row in self._rows(wanted))

    def run_starts(self) -> dict[RunId, float]:
        """Return the time when each run of each job began, in seconds since the epoch."""
        began = sa.select(_HISTORY.c.job, _HISTORY.c.run, sa.func.min(_HISTORY.c.time).label("time"))
        grouped = began.where(_HISTORY.c.run > 0).group_by(_HISTORY.c.job, _HISTORY.c.run)
        return {RunId(row.job, row.run): row.time for row in self._rows(grouped)}

    def _jobs(self, wanted: sa.Select[Any]) -> tuple[Job, ...]:
        return tuple(self._decoded(Job, "job", row) for row in self._rows(wanted))

    def _snapshots(self, wanted: sa.Select[Any]) -> tuple[Snapshot, ...]:
        return tuple(self._decoded(Snapshot, "snapshot", row) for row in self._rows(wanted))

    def _rows(self, wanted: sa.Select[Any] | sa.CompoundSelect[Any]) -> Sequence[sa.Row[Any]]:
        with self._reading() as connection:
            return connection.execute(wanted).all()

    def _decoded(self, kind: type[T], word: str, row: sa.Row[Any]) -> T:
        try:
            return decode(kind, str(row.record))
        except MalformedRecord as error:
            raise self._file.damaged_record_error(f"{word} {row.id}", error) from error

    def _history_row(self, row: Any) -> HistoryRow:
        try:
            before = Status(row.before) if row.before is not None else None
            return HistoryRow(row.job, row.time, row.title, before, Status(row.after), row.run, row.words)
        except ValueError as error:
            raise self._file.damaged_error(f"row {row.number} of the history is not readable ({error})") from error

    # --- opening -----------------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        version = self._file.inspect()
        if version is None:
            self._file.make_private()
        url = sa.URL.create("sqlite", database=str(self.path))
        self._engine = sa.create_engine(url, pool_size=4, max_overflow=-1)
        sa.event.listen(self._engine, "connect", _configure)
        sa.event.listen(self._engine, "begin", _begin)
        try:
            self._create_or_migrate(version)
        except BaseException:
            self._engine.dispose()
            raise

    def _create_or_migrate(self, version: int | None) -> None:
        if version is None:
            self._create()
        elif version < VERSION:
            from jetsql.jobs.store.migrations import migrate

            migrate(self._engine, self._file, version)
        self._sign()

    def _create(self) -> None:
        with self._engine.begin() as connection:
            _METADATA.create_all(connection)
            rows = [{"key": "version", "value": str(VERSION)}, {"key": "id", "value": uuid4().hex}]
            connection.execute(_META.insert(), rows)
            failpoint("store-made")

    def _sign(self) -> None:
        """Store the version of JetSQL, for the error message of an older version that opens the store later."""
        signature = sa.select(_META.c.value).where(_META.c.key == _WRITTEN_BY)
        if [row.value for row in self._rows(signature)] != [PROGRAM]:
            signed = _META.insert().values(key=_WRITTEN_BY, value=PROGRAM)
            self._change([_META.delete().where(_META.c.key == _WRITTEN_BY), signed])

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        with self._translated_errors(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def _translated_errors(self, names: _Names = _NO_NAMES) -> Iterator[None]:
        """Raise errors of SQLite and the system as JetSQLError."""
        try:
            yield
        except (OSError, sa.exc.DBAPIError, sqlite3.Error) as error:
            raise self._translate(getattr(error, "orig", None) or error, names) from error

    def _translate(self, error: BaseException, names: _Names) -> JetSQLError:
        """Return the error for a name that is taken, or the error of the file."""
        if isinstance(error, sqlite3.IntegrityError) and str(_JOBS.c.name_key) in str(error):
            return StatementError("JOB_ALREADY_EXISTS", f"A job named {names.job} already exists.")
        if isinstance(error, sqlite3.IntegrityError) and str(_SNAPSHOTS.c.name_key) in str(error):
            return StatementError("SNAPSHOT_ALREADY_EXISTS", f"A snapshot named {names.snapshot} already exists.")
        return self._file.translate_error(error)


def _configure(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # otherwise the driver runs statements like CREATE TABLE outside of transactions
    for pragma in ("journal_mode = WAL", "foreign_keys = ON", "synchronous = FULL", "busy_timeout = 5000"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: sa.Connection) -> None:
    connection.exec_driver_sql("BEGIN")


def _update_job(job: Job) -> sa.Update:
    return _JOBS.update().where(_JOBS.c.id == job.id).values(_columns(job))


def _insert_snapshot(snapshot: Snapshot, replaces: str | None) -> list[sa.Executable]:
    made = _SNAPSHOTS.insert().values(
        id=snapshot.id, name_key=name_key(snapshot.name), job=snapshot.job_id, record=encode(snapshot)
    )
    return [made] if replaces is None else [_SNAPSHOTS.delete().where(_SNAPSHOTS.c.id == replaces), made]


def _columns(job: Job) -> dict[str, object]:
    return {
        "id": job.id,
        "name_key": name_key(job.name),
        "live": job.is_live,
        "files": job.has_files,
        "record": encode(job),
    }


def _remember_id(forgotten_id: str) -> sa.Insert:
    """Store a deleted id, so that no id is used twice: files and ledgers of sinks depend on it."""
    remembered = insert(_META).values(key=_NEWEST_ID, value=forgotten_id)
    newest = sa.func.max(_META.c.value, remembered.excluded.value)
    return remembered.on_conflict_do_update(index_elements=[_META.c.key], set_={"value": newest})


def _insert_function(function: Function) -> sa.Insert:
    schema, name = function.key
    return _FUNCTIONS.insert().values(schema_key=schema, name_key=name, record=encode(function))


def _delete_function(key: tuple[str, str]) -> sa.Delete:
    return _FUNCTIONS.delete().where(_FUNCTIONS.c.schema_key == key[0], _FUNCTIONS.c.name_key == key[1])


def _insert_history(row: HistoryRow) -> sa.Insert:
    return _HISTORY.insert().values(
        job=row.job_id,
        time=row.time,
        title=row.event,
        before=row.from_status.value if row.from_status is not None else None,
        after=row.to_status.value,
        run=row.run,
        words=row.message,
    )
