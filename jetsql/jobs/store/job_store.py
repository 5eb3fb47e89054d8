"""The store of jobs, their history, snapshots and functions: a file of SQLite, or a schema of PostgreSQL.

A step is committed to the store before its actions are carried out, with job, history row and snapshot in one
transaction. A job is a JSON record next to the columns for queries, so new fields need no migration. `database` has
the checks before a store is opened, and `migrations` the upgrade of older versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import uuid4

import sqlalchemy as sa

from jetsql.errors import JetSQLError, StatementError
from jetsql.failpoints import failpoint
from jetsql.home.storage import Storage
from jetsql.jobs.access.access_state import AccessState
from jetsql.jobs.access.connection_records import ConnectionRecord, SecretRecord, StoredConnections
from jetsql.jobs.alerts.alert_records import AlertChange, AlertMessage, AlertRecord, StoredAlerts
from jetsql.jobs.model.cluster_member import EngineRecord
from jetsql.jobs.model.function import Function
from jetsql.jobs.model.history_row import HistoryRow
from jetsql.jobs.model.job import Job, RunId, Snapshot, Status, name_key
from jetsql.jobs.model.serialization import MalformedRecord, decode, encode
from jetsql.jobs.store import access_rows, alert_rows
from jetsql.jobs.store.database import VERSION, WRITTEN_BY, StoreDatabase, history_row
from jetsql.jobs.store.store_file import StoreFile
from jetsql.jobs.store.tables import CONNECTIONS, FUNCTIONS, HISTORY, JOBS, META, METADATA, SECRETS, SNAPSHOTS
from jetsql.version import VERSION as PROGRAM


@dataclass(frozen=True)
class _Names:
    """The names in a change, for the error message when a name is taken."""

    job: str = ""
    snapshot: str = ""


_NO_NAMES: Final = _Names()
_NEWEST_ID: Final = "newest_id"
_MAX_IDS: Final = 500  # SQLite limits the parameters of a statement
T = TypeVar("T")


class Store:
    """An open store. Any thread can read; only the manager's writer thread writes."""

    def __init__(self, place: Path | StoreDatabase, check_new: Callable[[bool], None] = lambda is_new: None) -> None:
        """Open the store, creating or migrating it if necessary.

        place: its database, or the path of its file.
        check_new: called before any change with whether the store has to be created; it can raise.
        Raises EngineError STORE_DAMAGED, STORE_TOO_NEW (the store is unchanged), HOME_NOT_USABLE, STORE_NOT_USABLE,
        STORE_IN_USE.
        """
        self.database = StoreFile(place) if isinstance(place, Path) else place
        with self._translated_errors():
            self._open(check_new)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()
        self.database.close()

    def publish(self, storage: Storage) -> None:
        """Store where the checkpoints are, for the homes of standbys."""
        with self._translated_errors():
            self.database.publish(self._engine, storage)

    def engines(self) -> Sequence[EngineRecord]:
        """Return the engines of this store, the leader first, without the numbers of their jobs."""
        with self._translated_errors():
            return self.database.engines(self._engine)

    @property
    def id(self) -> str:
        """Return the id of this store, which was generated when it was created."""
        [row] = self._rows(sa.select(META.c.value).where(META.c.key == "id"))
        return str(row.value)

    def add(self, job: Job, row: HistoryRow, alerts: Sequence[AlertChange] = ()) -> None:
        """Store a new job, and changes of alerts.

        Raises StatementError JOB_ALREADY_EXISTS when a live job has its name.
        """
        changes = [JOBS.insert().values(_columns(job)), _insert_history(row), *alert_rows.changes(alerts)]
        self._change(changes, _Names(job.name))

    def save(
        self,
        job: Job,
        row: HistoryRow,
        snapshot: Snapshot | None = None,
        replaces: str | None = None,
        alerts: Sequence[AlertChange] = (),
    ) -> None:
        """Store a job's new state with its history row, and with a new snapshot and changes of alerts, if any.

        replaces: see `add_snapshot`. Raises StatementError JOB_ALREADY_EXISTS when an ended job becomes live while
        another live job has its name, SNAPSHOT_ALREADY_EXISTS.
        """
        if snapshot is not None:
            self.add_snapshot(snapshot, replaces, row, job, alerts)
        else:
            self._change([_update_job(job), _insert_history(row), *alert_rows.changes(alerts)], _Names(job.name))

    def add_snapshot(
        self,
        snapshot: Snapshot,
        replaces: str | None = None,
        row: HistoryRow | None = None,
        job: Job | None = None,
        alerts: Sequence[AlertChange] = (),
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
        changes += alert_rows.changes(alerts)
        self._change(changes, _Names(job.name if job is not None else "", snapshot.name))

    def save_snapshots(self, snapshots: Iterable[Snapshot]) -> None:
        """Store the new state of snapshots that still exist."""
        self._change([_update_snapshot(snapshot) for snapshot in snapshots])

    def remove_snapshot(self, snapshot_id: str) -> None:
        """Delete a snapshot, if it exists."""
        self._change([SNAPSHOTS.delete().where(SNAPSHOTS.c.id == snapshot_id), *_remember_id(snapshot_id)])

    def save_function(self, function: Function) -> None:
        """Store a function; it replaces one with its name."""
        self._change([_delete_function(function.key), _insert_function(function)])

    def remove_function(self, function: Function) -> None:
        """Delete a function, if it exists."""
        self._change([_delete_function(function.key)])

    def functions(self) -> tuple[Function, ...]:
        """Return all functions, by schema and name."""
        wanted = sa.select(FUNCTIONS).order_by(FUNCTIONS.c.schema_key, FUNCTIONS.c.name_key)
        return tuple(self._function(row) for row in self._rows(wanted))

    def _function(self, row: sa.Row[Any]) -> Function:
        try:
            return decode(Function, row.record)
        except MalformedRecord as error:
            subject = f"function {row.schema_key}.{row.name_key}"
            raise self.database.damaged_record_error(subject, error) from error

    def access(self) -> AccessState:
        """Return the users, roles, tokens and rights."""
        rows = {table.name: self._rows(sa.select(table)) for table in access_rows.TABLES}
        try:
            return access_rows.decode_state(rows)
        except ValueError as error:
            raise self.database.damaged_error(f"the users and rights are not readable ({error})") from error

    def save_access(self, before: AccessState, after: AccessState) -> None:
        """Store changed users, roles, tokens and rights in one transaction. before: what the store has"""
        changes = access_rows.changes(before, after)
        if changes:
            self._change(changes)

    def connections(self) -> StoredConnections:
        """Return the secrets and connections."""
        secrets, connections = (self._rows(sa.select(table)) for table in (SECRETS, CONNECTIONS))
        try:
            state = StoredConnections()
            for row in secrets:
                state = state.with_secret(decode(SecretRecord, row.record))
            for row in connections:
                state = state.with_connection(decode(ConnectionRecord, row.record))
        except MalformedRecord as error:
            raise self.database.damaged_error(f"the secrets and connections are not readable ({error})") from error
        return state

    def save_connection(self, changed: SecretRecord | ConnectionRecord) -> None:
        """Store a secret or a connection; it replaces one with its name."""
        table = _table_of(changed)
        row = {"name_key": changed.key, "record": encode(changed)}
        self._change([table.delete().where(table.c.name_key == changed.key), table.insert().values(row)])

    def remove_connection(self, gone: SecretRecord | ConnectionRecord) -> None:
        """Delete a secret or a connection, if it exists."""
        table = _table_of(gone)
        self._change([table.delete().where(table.c.name_key == gone.key)])

    def alerts(self) -> StoredAlerts:
        """Return the alerts, their states, and the messages that are not delivered."""
        try:
            return alert_rows.decode_alerts(*map(self._rows, alert_rows.STORED))
        except MalformedRecord as error:
            raise self.database.damaged_error(f"the alerts are not readable ({error})") from error

    def alert_messages(self) -> tuple[AlertMessage, ...]:
        """Return the messages of alerts, oldest first."""
        return self._messages(alert_rows.MESSAGES)

    def newest_alert_messages(self) -> tuple[AlertMessage, ...]:
        """Return the newest message of each alert."""
        return self._messages(alert_rows.NEWEST_MESSAGES)

    def _messages(self, query: sa.Select[Any]) -> tuple[AlertMessage, ...]:
        try:
            return tuple(decode(AlertMessage, row.record) for row in self._rows(query))
        except MalformedRecord as error:
            raise self.database.damaged_error(f"the messages of alerts are not readable ({error})") from error

    def save_alert(self, alert: AlertRecord, *, keeps_states: bool) -> None:
        """Store an alert; it replaces one with its name. keeps_states: whether its condition and jobs are as before"""
        self._change(alert_rows.save(alert, keeps_states=keeps_states))

    def remove_alert(self, alert: AlertRecord) -> None:
        """Delete an alert with its states and the messages that are not delivered."""
        self._change(alert_rows.remove(alert))

    def save_alert_changes(self, changes: Sequence[AlertChange]) -> None:
        """Store new states of alerts with their messages, in one transaction."""
        self._change(alert_rows.changes(changes))

    def save_alert_message(self, message: AlertMessage) -> None:
        """Store the result of an attempt to deliver a message."""
        self._change([alert_rows.update_message(message)])

    def forget(self, job_ids: Sequence[str]) -> None:
        """Delete jobs and their history, if they exist."""
        for ids in (job_ids[at : at + _MAX_IDS] for at in range(0, len(job_ids), _MAX_IDS)):
            history = HISTORY.delete().where(HISTORY.c.job.in_(ids))
            self._change([history, JOBS.delete().where(JOBS.c.id.in_(ids)), *_remember_id(max(ids))])

    def _change(self, changes: Sequence[sa.Executable], names: _Names = _NO_NAMES) -> None:
        """Execute the changes in one transaction."""
        with self._translated_errors(names):
            self.database.write(self._engine, changes)

    def live_jobs(self) -> tuple[Job, ...]:
        """Return the jobs that have not ended, oldest first."""
        return self._jobs(sa.select(JOBS.c.id, JOBS.c.record).where(JOBS.c.live).order_by(JOBS.c.id))

    def jobs_with_files(self) -> tuple[Job, ...]:
        """Return the ended jobs that can still have a checkpoint or staged rows."""
        ended = sa.and_(sa.not_(JOBS.c.live), JOBS.c.files)
        return self._jobs(sa.select(JOBS.c.id, JOBS.c.record).where(ended).order_by(JOBS.c.id))

    def ended_jobs(self) -> tuple[Job, ...]:
        """Return the jobs that have ended, oldest first."""
        return self._jobs(sa.select(JOBS.c.id, JOBS.c.record).where(sa.not_(JOBS.c.live)).order_by(JOBS.c.id))

    def all_jobs(self) -> tuple[Job, ...]:
        """Return all jobs of the store, oldest first."""
        return self._jobs(sa.select(JOBS.c.id, JOBS.c.record).order_by(JOBS.c.id))

    def job(self, job_id: str) -> Job | None:
        """Return the job with this id, or None."""
        jobs = self._jobs(sa.select(JOBS.c.id, JOBS.c.record).where(JOBS.c.id == job_id))
        return jobs[0] if jobs else None

    def newest_named(self, name: str) -> Job | None:
        """Return the newest job with this name, ended or not, or None."""
        named = sa.select(JOBS.c.id, JOBS.c.record).where(JOBS.c.name_key == name_key(name))
        jobs = self._jobs(named.order_by(JOBS.c.id.desc()).limit(1))
        return jobs[0] if jobs else None

    def snapshots(self) -> tuple[Snapshot, ...]:
        """Return all snapshots, oldest first."""
        return self._snapshots(sa.select(SNAPSHOTS.c.id, SNAPSHOTS.c.record).order_by(SNAPSHOTS.c.id))

    def snapshot(self, snapshot_id: str) -> Snapshot | None:
        """Return the snapshot with this id, or None."""
        wanted = sa.select(SNAPSHOTS.c.id, SNAPSHOTS.c.record).where(SNAPSHOTS.c.id == snapshot_id)
        snapshots = self._snapshots(wanted)
        return snapshots[0] if snapshots else None

    def snapshot_named(self, name: str) -> Snapshot | None:
        """Return the snapshot with this name, or None."""
        named = sa.select(SNAPSHOTS.c.id, SNAPSHOTS.c.record).where(SNAPSHOTS.c.name_key == name_key(name))
        snapshots = self._snapshots(named)
        return snapshots[0] if snapshots else None

    def newest_id(self) -> str | None:
        """Return the newest id that a job or a snapshot ever had, even if it was deleted."""
        given = sa.union_all(
            sa.select(sa.func.max(JOBS.c.id).label("id")),
            sa.select(sa.func.max(SNAPSHOTS.c.id)),
            sa.select(META.c.value).where(META.c.key == _NEWEST_ID),
        )
        return max((str(row.id) for row in self._rows(given) if row.id is not None), default=None)

    def history(self, job_id: str | None = None) -> tuple[HistoryRow, ...]:
        """Return a job's history, or that of all jobs, oldest first."""
        wanted = sa.select(HISTORY).order_by(HISTORY.c.number)
        if job_id is not None:
            wanted = wanted.where(HISTORY.c.job == job_id)
        return tuple(self._history_row(row) for row in self._rows(wanted))

    def newest_history(self, most: int) -> tuple[HistoryRow, ...]:
        """Return the newest rows of the histories of all jobs, newest first. most: the limit of rows"""
        wanted = sa.select(HISTORY).order_by(HISTORY.c.number.desc()).limit(most)
        return tuple(self._history_row(row) for row in self._rows(wanted))

    def run_starts(self) -> dict[RunId, float]:
        """Return the time when each run of each job began, in seconds since the epoch."""
        began = sa.select(HISTORY.c.job, HISTORY.c.run, sa.func.min(HISTORY.c.time).label("time"))
        grouped = began.where(HISTORY.c.run > 0).group_by(HISTORY.c.job, HISTORY.c.run)
        return {RunId(row.job, row.run): row.time for row in self._rows(grouped)}

    def resumed_times(self) -> dict[str, float]:
        """Return the time when each job that was suspended was resumed last, in seconds since the epoch, by its id."""
        resumed = sa.select(HISTORY.c.job, sa.func.max(HISTORY.c.time).label("time"))
        wanted = resumed.where(HISTORY.c.before == Status.SUSPENDED.value).group_by(HISTORY.c.job)
        return {row.job: row.time for row in self._rows(wanted)}

    def _jobs(self, wanted: sa.Select[Any]) -> tuple[Job, ...]:
        return tuple(self._decoded(Job, "job", row) for row in self._rows(wanted))

    def _snapshots(self, wanted: sa.Select[Any]) -> tuple[Snapshot, ...]:
        return tuple(self._decoded(Snapshot, "snapshot", row) for row in self._rows(wanted))

    def _rows(self, wanted: sa.Select[Any] | sa.CompoundSelect[Any]) -> Sequence[sa.Row[Any]]:
        with self._translated_errors():
            return self.database.read(self._engine, wanted)

    def _decoded(self, kind: type[T], word: str, row: sa.Row[Any]) -> T:
        try:
            return decode(kind, str(row.record))
        except MalformedRecord as error:
            raise self.database.damaged_record_error(f"{word} {row.id}", error) from error

    def _history_row(self, row: sa.Row[Any]) -> HistoryRow:
        number, *values = tuple(row)
        try:
            return history_row(*values)
        except ValueError as error:
            raise self.database.damaged_error(f"row {number} of the history is not readable ({error})") from error

    # --- opening -----------------------------------------------------------------------------------------------------

    def _open(self, check_new: Callable[[bool], None]) -> None:
        try:
            self.database.lock()
            version = self.database.inspect()
            check_new(version is None)
            self._engine = self.database.create_engine()
            try:
                self._create_or_migrate(version)
                self.database.begin_writing(self._engine)
                self._sign()
            except BaseException:
                self._engine.dispose()
                raise
        except BaseException:
            self.database.close()
            raise

    def _create_or_migrate(self, version: int | None) -> None:
        if version is None:
            self._create()
        elif version < VERSION:
            from jetsql.jobs.store.migrations import migrate

            migrate(self._engine, self.database, version)

    def _create(self) -> None:
        with self._engine.begin() as connection:
            create_tables(connection, self.database)
            rows = [{"key": "version", "value": str(VERSION)}, {"key": "id", "value": uuid4().hex}]
            connection.execute(META.insert(), rows)
            failpoint("store-made")

    def _sign(self) -> None:
        """Store the version of JetSQL, for the error message of an older version that opens the store later."""
        signature = sa.select(META.c.value).where(META.c.key == WRITTEN_BY)
        if [row.value for row in self._rows(signature)] != [PROGRAM]:
            signed = META.insert().values(key=WRITTEN_BY, value=PROGRAM)
            self._change([META.delete().where(META.c.key == WRITTEN_BY), signed])

    @contextmanager
    def _translated_errors(self, names: _Names = _NO_NAMES) -> Iterator[None]:
        """Raise errors of the database and the system as JetSQLError."""
        errors: tuple[type[Exception], ...] = (*self.database.errors, sa.exc.DBAPIError)
        try:
            yield
        except errors as error:
            raise self._translate(getattr(error, "orig", None) or error, names) from error

    def _translate(self, error: BaseException, names: _Names) -> JetSQLError:
        """Return the error for a name that is taken, or the error of the database."""
        taken = self.database.taken_name(error)
        if taken == JOBS.name:
            return StatementError("JOB_ALREADY_EXISTS", f"A job named {names.job} already exists.")
        if taken == SNAPSHOTS.name:
            return StatementError("SNAPSHOT_ALREADY_EXISTS", f"A snapshot named {names.snapshot} already exists.")
        return self.database.translate_error(error)


def create_tables(connection: sa.Connection, database: StoreDatabase) -> None:
    """Create the tables of a store, in the transaction of a connection."""
    database.prepare(connection)
    METADATA.create_all(connection)


def _update_job(job: Job) -> sa.Update:
    return JOBS.update().where(JOBS.c.id == job.id).values(_columns(job))


def _insert_snapshot(snapshot: Snapshot, replaces: str | None) -> list[sa.Executable]:
    made = SNAPSHOTS.insert().values(
        id=snapshot.id, name_key=name_key(snapshot.name), job=snapshot.job_id, record=encode(snapshot)
    )
    return [made] if replaces is None else [SNAPSHOTS.delete().where(SNAPSHOTS.c.id == replaces), made]


def _update_snapshot(snapshot: Snapshot) -> sa.Update:
    return SNAPSHOTS.update().where(SNAPSHOTS.c.id == snapshot.id).values(record=encode(snapshot))


def _columns(job: Job) -> dict[str, object]:
    return {
        "id": job.id,
        "name_key": name_key(job.name),
        "live": job.is_live,
        "files": job.has_files,
        "record": encode(job),
    }


def _remember_id(forgotten_id: str) -> list[sa.Executable]:
    """Store a deleted id, so that no id is used twice: files and ledgers of sinks depend on it."""
    remembered = META.c.key == _NEWEST_ID
    first = sa.select(sa.literal(_NEWEST_ID), sa.literal(forgotten_id)).where(~sa.exists().where(remembered))
    return [
        META.update().where(remembered, META.c.value < forgotten_id).values(value=forgotten_id),
        META.insert().from_select(["key", "value"], first),
    ]


def _insert_function(function: Function) -> sa.Insert:
    schema, name = function.key
    return FUNCTIONS.insert().values(schema_key=schema, name_key=name, record=encode(function))


def _table_of(record: SecretRecord | ConnectionRecord) -> sa.Table:
    return SECRETS if isinstance(record, SecretRecord) else CONNECTIONS


def _delete_function(key: tuple[str, str]) -> sa.Delete:
    return FUNCTIONS.delete().where(FUNCTIONS.c.schema_key == key[0], FUNCTIONS.c.name_key == key[1])


def _insert_history(row: HistoryRow) -> sa.Insert:
    return HISTORY.insert().values(
        job=row.job_id,
        time=row.time,
        title=row.event,
        before=row.from_status.value if row.from_status is not None else None,
        after=row.to_status.value,
        run=row.run,
        words=row.message,
        caller=row.by.user if row.by is not None else None,
        endpoint=row.by.endpoint if row.by is not None else None,
        address=row.by.address if row.by is not None else None,
    )
