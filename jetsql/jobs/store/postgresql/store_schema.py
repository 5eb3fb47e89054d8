"""A store in a schema of PostgreSQL.

One engine leads, see `lease`: every transaction that writes checks the number of its lease, so an engine that has lost
it without noticing cannot write. Each transaction also writes the id of its change into the row of the lease. When the
connection is lost before the answer to a COMMIT, the id says whether the change was committed. So a change is executed
once, also when PostgreSQL restarts.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar
from uuid import uuid4

import sqlalchemy as sa

from jetsql.errors import EngineError
from jetsql.home.storage import Storage
from jetsql.home.store_note import StoreNote
from jetsql.home.store_url import StoreUrl
from jetsql.jobs.model.cluster_member import EngineRecord, connection_name, new_engine_id
from jetsql.jobs.model.leadership import Leadership, LeaseTimes
from jetsql.jobs.store.database import LEASE_NUMBER, MOVED_TO, TABLES, WRITTEN_BY, Reading, StoreDatabase
from jetsql.jobs.store.metrics_store import MEASURES
from jetsql.jobs.store.postgresql.lease import Lease
from jetsql.jobs.store.postgresql.lease_keeper import LeaseKeeper
from jetsql.jobs.store.postgresql.lease_tables import ENGINES, LEASE, living_engines, read_engines
from jetsql.jobs.store.postgresql.lease_tables import create_tables as create_lease
from jetsql.jobs.store.postgresql.metrics_table import MetricsTable, write_metrics_version
from jetsql.jobs.store.postgresql.shared_store import StoreOwner, format_storage, parse_storage
from jetsql.jobs.store.postgresql.store_server import StoreServer
from jetsql.jobs.store.tables import METADATA

if TYPE_CHECKING:
    from jetsql.jobs.store.metrics import Metrics

RETRY_SECONDS: Final = 10.0
"""Reads and writes are tried again for this time after the connection was lost; later each is tried once."""
DOUBT_SECONDS: Final = 120.0
"""A change of which it is not known whether it was committed is tried again for this time."""
_PAUSE: Final = 0.2
# The rows of a copy have numbers, which do not advance the sequence.
_CONTINUE_NUMBERS: Final = sa.text(
    "SELECT setval(pg_get_serial_sequence('history', 'number'), max(number)) FROM history HAVING count(*) > 0"
)
_CONTINUE_LEASE: Final = sa.text(
    f"UPDATE lease SET number = meta.value::bigint FROM meta WHERE meta.key = '{LEASE_NUMBER}'"
)
_CONSTRAINTS: Final = {"jobs_live_name": "jobs", "snapshots_name_key_key": "snapshots"}
_LOG: Final = logging.getLogger(__name__)
T = TypeVar("T")


class StoreSchema(StoreDatabase):
    """The schema of a store, which need not exist."""

    kind: ClassVar[str] = "the schema of the store"
    remedy: ClassVar[str] = (
        "Nothing was changed. Restore the schema from a backup (pg_restore), or set store to another schema to start"
        " with an empty store."
    )

    def __init__(self, url: StoreUrl, note: StoreNote, home: str = "", times: LeaseTimes | None = None) -> None:
        """Create it for a URL with its password, without connecting.

        note: that of the home that the store belongs to. home: the path of the home, for the errors of other engines.
        Raises EngineError STORE_NOT_USABLE when the driver of PostgreSQL is not installed.
        """
        self.url = url
        self.name = self.location = str(url)
        engine = new_engine_id()
        self._server = StoreServer(url, connection_name(engine))
        self.errors = (self._server.driver.Error, OSError)
        self.note = note
        holder = f"process {os.getpid()} on {socket.gethostname()}{f' (home {home})' if home else ''}"
        self._times = times = times or LeaseTimes()
        self._lease = Lease(self._server, times, engine, holder, self.check_version)
        self.keeper = LeaseKeeper(self._lease, times.heartbeat_seconds, self.errors)
        self._outage_since: float | None = None
        self._doubt: str | None = None

    # --- connections -------------------------------------------------------------------------------------------------

    def create_engine(self) -> sa.Engine:
        return self._server.create_engine()

    @contextmanager
    def reading(self) -> Iterator[Reading]:
        connection = self._server.connect()
        try:
            connection.read_only = True
            connection.isolation_level = self._server.driver.IsolationLevel.REPEATABLE_READ
            yield connection
        finally:
            connection.close()

    # --- the lease ---------------------------------------------------------------------------------------------------

    @property
    def lease(self) -> Lease:
        return self._lease

    def lock(self) -> None:
        self._lease.lock()

    def exclude(self) -> int:
        return self._lease.exclude()

    def retire(self, target: StoreDatabase) -> None:
        self._lease.retire(target.name)

    def close(self) -> None:
        self.keeper.stop()
        self._lease.release()

    def begin_writing(self, engine: sa.Engine) -> None:
        self._lease.begin(engine)
        self.keeper.start()

    def announce(self, address: str) -> None:
        self._lease.announce(address)

    def watch(self, on_lost: Callable[[], None]) -> None:
        self.keeper.watch(on_lost)

    def publish(self, engine: sa.Engine, storage: Storage) -> None:
        self.write(engine, [LEASE.update().values(storage=format_storage(storage))])

    @property
    def leadership(self) -> Leadership:
        return self._lease.leadership

    def engines(self, engine: sa.Engine) -> Sequence[EngineRecord]:
        return read_engines(self.read(engine, living_engines(self._times)))

    # --- reads and writes --------------------------------------------------------------------------------------------

    def write(self, engine: sa.Engine, changes: Sequence[sa.Executable]) -> None:
        """Execute changes in one transaction, exactly once, also if the connection is lost.

        Raises EngineError STORE_NOT_USABLE if it remains unknown for too long whether they were committed. Then the
        store refuses all further changes, because the engine's memory may be older than the store.
        """
        self._check_doubt(engine)
        change, started, in_doubt = uuid4().hex, time.monotonic(), False
        while True:
            committing = False
            try:
                with engine.connect() as connection:
                    if self._begin_change(connection, change):
                        in_doubt = False
                        for each in changes:
                            connection.execute(each)
                        committing = True
                        connection.commit()
                self._outage_since = None
                return
            except sa.exc.DBAPIError as error:
                is_outage = self._server.is_outage(error.orig)
                in_doubt = in_doubt or (committing and is_outage)
                if in_doubt and time.monotonic() > started + DOUBT_SECONDS:
                    self._doubt = change
                    raise self._doubtful_error() from error
                # While PostgreSQL still works on the COMMIT, its row is locked, and even another error decides nothing.
                if not in_doubt and not (is_outage and self._may_retry()):
                    raise
                _LOG.warning("The connection to the store %s was lost; trying again.", self.name)
            time.sleep(_PAUSE)

    def read(self, engine: sa.Engine, wanted: sa.Executable) -> Sequence[sa.Row[Any]]:
        while True:
            try:
                with engine.connect() as connection:
                    rows = connection.execute(wanted).all()
                self._outage_since = None
                return rows
            except sa.exc.DBAPIError as error:
                if not self._server.is_outage(error.orig) or not self._may_retry():
                    raise
            time.sleep(_PAUSE)

    def _begin_change(self, connection: sa.Connection, change: str) -> bool:
        """Return whether a change is to be executed; False if it was committed. Raises EngineError STORE_IN_USE.

        A transaction of the same change, whose connection was lost, may still be running: this waits for its end.
        """
        mine = sa.and_(LEASE.c.number == self.leadership.number, LEASE.c.change != change)
        if connection.execute(LEASE.update().where(mine).values(change=change)).rowcount:
            return True
        self._lease.check_number(connection.execute(sa.select(LEASE)).one())
        return False

    def _check_doubt(self, engine: sa.Engine) -> None:
        if self._doubt is None:
            return
        with engine.connect() as connection:
            row = connection.execute(sa.select(LEASE).with_for_update()).one()
        self._lease.check_number(row)
        if row.change == self._doubt:
            raise self._doubtful_error()
        self._doubt = None

    def _may_retry(self) -> bool:
        """Return whether the outage is so short that an operation can wait for its end."""
        now = time.monotonic()
        if self._outage_since is None:
            self._outage_since = now
        return now < self._outage_since + RETRY_SECONDS

    # --- tables ------------------------------------------------------------------------------------------------------

    def prepare(self, connection: sa.Connection) -> None:
        exists = sa.text("SELECT 1 FROM pg_namespace WHERE nspname = :schema")
        if not connection.execute(exists, {"schema": self.url.schema}).all():  # not every user may create schemas
            connection.execute(sa.schema.CreateSchema(self.url.schema))
        create_lease(connection, self.note.home)

    @contextmanager
    def reading_metrics(self) -> Iterator[Reading | None]:
        with self.reading() as connection:
            yield connection if MEASURES.name in self._table_names(connection) else None

    @contextmanager
    def copying(self) -> Iterator[Callable[[sa.Table], sa.Connection]]:
        engine = self.create_engine()
        try:
            with engine.begin() as connection:
                self.prepare(connection)
                METADATA.create_all(connection)
                MEASURES.metadata.create_all(connection)
                yield lambda table: connection
                write_metrics_version(connection)
                connection.execute(_CONTINUE_NUMBERS)
                connection.execute(_CONTINUE_LEASE)
        finally:
            engine.dispose()

    def back_up(self, version: int) -> None:
        pass  # the migration is one transaction, and a server has backups of its own

    def metrics_store(self, metrics: Metrics) -> MetricsTable:
        return MetricsTable(self, metrics)

    def _is_absent(self) -> bool:
        return False

    def _version(self, connection: Reading, *, thorough: bool) -> int | None:
        version = super()._version(connection, thorough=thorough)
        if version is None and self.note.store:
            raise self._server.not_usable(
                f"it does not exist, and the jobs of the home are in the store {self.note.store}",
                "Correct the setting store, or restore the schema from a backup (pg_restore).",
            )
        return version

    def _table_names(self, connection: Reading) -> set[str]:
        query = f"SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = '{self.url.schema}'"
        return {str(row[0]) for row in connection.execute(query)}

    def _tables(self) -> Mapping[str, int]:
        return {**TABLES, LEASE.name: 1, ENGINES.name: 1}

    def _check_owner(self, connection: Reading) -> None:
        rows = list(connection.execute("SELECT home, holder FROM lease"))
        if len(rows) != 1:
            raise self.damaged_error(f"its table lease has {len(rows)} rows instead of 1")
        home, holder = rows[0]
        if home != self.note.home:
            raise self.other_home_error(str(holder))
        moved = [str(row[0]) for row in connection.execute(f"SELECT value FROM meta WHERE key = '{MOVED_TO}'")]
        if moved and moved != [self.copied_to]:
            raise self._server.not_usable(
                f"it was copied to {moved[0]}, with which the jobs continue",
                "Start the engines with that store. If `jetsql store copy` was interrupted, repeat it first. To use"
                " this schema again, drop it.",
            )

    def read_owner(self) -> StoreOwner | None:
        """Return the home that the store belongs to; None while there is no store.

        Raises EngineError STORE_TOO_NEW, STORE_DAMAGED, STORE_NOT_USABLE.
        """
        try:
            with self.reading() as connection:
                meta = {str(key): str(value) for key, value in connection.execute("SELECT key, value FROM meta")}
                self.check_version(meta.get("version", ""), meta.get(WRITTEN_BY))
                rows = [tuple(row) for row in connection.execute("SELECT home, storage, holder FROM lease")]
        except self._server.driver.errors.UndefinedTable:
            return None
        except self.errors as error:
            raise self.translate_error(error) from error
        return StoreOwner(rows[0][0], parse_storage(rows[0][1]), rows[0][2]) if rows else None

    def other_home_error(self, holder: str) -> EngineError:
        """Return the error for the store of another home. holder: its last engine, as a phrase"""
        return self._server.not_usable(
            f"it belongs to another home, last used by {holder}",
            "Give each home a store of its own: another database, or another schema (?schema=NAME). If this is that"
            " home, restore its file engine.store from a backup.",
        )

    def _check_integrity(self, connection: Reading, *, thorough: bool) -> None:
        pass  # PostgreSQL checks its pages

    # --- errors ------------------------------------------------------------------------------------------------------

    def taken_name(self, error: BaseException) -> str | None:
        if not isinstance(error, self._server.driver.errors.UniqueViolation):
            return None
        return _CONSTRAINTS.get(error.diag.constraint_name or "")

    def translate_error(self, error: BaseException) -> EngineError:
        """Return an error of psycopg as EngineError: STORE_DAMAGED for other tables, otherwise STORE_NOT_USABLE."""
        damage = self._server.damage(error)
        return self._server.explain(error) if damage is None else self.damaged_error(damage)

    def _doubtful_error(self) -> EngineError:
        return self._server.not_usable(
            "the connection was lost during a COMMIT, and whether it has happened is not known",
            "Restart the engine, which reads the store again.",
        )
