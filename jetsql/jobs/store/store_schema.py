"""A store in a schema of PostgreSQL.

Two things keep a second engine out. An advisory lock, which PostgreSQL releases with its connection, refuses it while
the first engine lives. The table `lease` has one row with a number that each engine increments when it opens the store.
Every transaction that writes checks its number, so an engine that has lost the lock without noticing cannot write.

Each transaction also writes the id of its change into that row. When the connection is lost before the answer to a
COMMIT, the id says whether the change was committed. So a change is executed once, also when PostgreSQL restarts.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar
from uuid import uuid4

import sqlalchemy as sa

from jetsql.errors import EngineError
from jetsql.home.store_note import StoreNote
from jetsql.home.store_url import StoreUrl
from jetsql.jobs.store.database import TABLES, Reading, StoreDatabase
from jetsql.jobs.store.metrics_store import MEASURES
from jetsql.jobs.store.metrics_table import MetricsTable, write_metrics_version
from jetsql.jobs.store.store_server import StoreServer
from jetsql.jobs.store.tables import INTEGER, METADATA, TEXT

if TYPE_CHECKING:
    import psycopg

    from jetsql.jobs.store.metrics import Metrics

RETRY_SECONDS: Final = 10.0
"""Reads and writes are tried again for this time after the connection was lost; later each is tried once."""
DOUBT_SECONDS: Final = 120.0
"""A change of which it is not known whether it was committed is tried again for this time."""
_PAUSE: Final = 0.2
_LOCK_SECONDS: Final = 1.0  # PostgreSQL ends the connections of a killed engine within this time
_LOCK_CLASS: Final = 0x4A657453
_LEASE: Final = sa.Table(
    "lease",
    sa.MetaData(),
    sa.Column("number", INTEGER, primary_key=True, autoincrement=False),
    sa.Column("holder", TEXT, nullable=False),  # the engine that opened the store last
    sa.Column("home", TEXT, nullable=False),  # the id of the home with the jobs' checkpoints
    sa.Column("change", TEXT, nullable=False),  # the id of the last change
)
# The rows of a copy have numbers, which do not advance the sequence.
_CONTINUE_NUMBERS: Final = sa.text(
    "SELECT setval(pg_get_serial_sequence('history', 'number'), max(number)) FROM history HAVING count(*) > 0"
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

    def __init__(self, url: StoreUrl, note: StoreNote, home: str = "") -> None:
        """Create it for a URL with its password, without connecting.

        note: that of the home that the store belongs to. home: the path of the home, for the errors of other engines.
        Raises EngineError STORE_NOT_USABLE when the driver of PostgreSQL is not installed.
        """
        self.url = url
        self.name = self.location = str(url)
        self._server = StoreServer(url)
        self.errors = (self._server.driver.Error, OSError)
        self._note = note
        self._holder = f"process {os.getpid()} on {socket.gethostname()}{f' (home {home})' if home else ''}"
        self._lock: psycopg.Connection[Any] | None = None
        self._number = 0
        self._has_new_connection = False
        self._outage_since: float | None = None
        self._doubt: str | None = None

    # --- connections -------------------------------------------------------------------------------------------------

    def create_engine(self) -> sa.Engine:
        engine = self._server.create_engine()
        sa.event.listen(engine, "connect", self._on_connect)
        return engine

    def _on_connect(self, _connection: object, _record: object) -> None:
        self._has_new_connection = True

    @contextmanager
    def reading(self) -> Iterator[Reading]:
        connection = self._server.connect()
        try:
            connection.read_only = True
            connection.isolation_level = self._server.driver.IsolationLevel.REPEATABLE_READ
            yield connection
        finally:
            connection.close()

    # --- lock and lease ----------------------------------------------------------------------------------------------

    def lock(self) -> None:
        connection = self._server.connect(autocommit=True)
        try:
            self._check_server(connection)
            deadline = time.monotonic() + _LOCK_SECONDS
            while not self._try_lock(connection):
                if time.monotonic() > deadline:
                    raise self._in_use(f"is in use by the engine of {self._read_holder(connection)}")
                time.sleep(_PAUSE)
        except BaseException:
            connection.close()
            raise
        self._lock = connection

    def close(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _try_lock(self, connection: psycopg.Connection[Any]) -> bool:
        query = "SELECT pg_try_advisory_lock(%s, hashtext(%s))"
        row = connection.execute(query, (_LOCK_CLASS, self.url.schema)).fetchone()
        return row is not None and bool(row[0])

    def _read_holder(self, connection: psycopg.Connection[Any]) -> str:
        try:
            row = connection.execute("SELECT holder FROM lease").fetchone()
        except self._server.driver.ProgrammingError:  # that engine is creating the store
            row = None
        return "another process" if row is None else str(row[0])

    def _check_server(self, connection: psycopg.Connection[Any]) -> None:
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise self._server.not_usable(
                f"its database has the encoding {encoding}, not UTF8", "Use another database."
            )

    def _renew_lock(self) -> None:
        """Take the lock again if its connection was lost. Without it, the number in `lease` still fences the writes.

        A new connection in the pool may mean that all connections were lost.
        """
        if self._lock is None or not self._has_new_connection:
            return
        self._has_new_connection = False
        try:
            self._lock.execute("SELECT 1")
        except self._server.driver.Error:
            self._lock.close()
            with suppress(self._server.driver.Error):
                self._lock = self._server.connect(autocommit=True)
                self._try_lock(self._lock)

    def begin_writing(self, engine: sa.Engine) -> None:
        taken = _LEASE.update().values(number=_LEASE.c.number + 1, holder=self._holder, change="")
        with engine.begin() as connection:
            self._number = int(connection.execute(taken.returning(_LEASE.c.number)).scalar_one())

    def check_lease(self, connection: sa.Connection) -> None:
        """Check that this engine is the writer, until the end of the transaction. Raises EngineError STORE_IN_USE."""
        row = connection.execute(sa.select(_LEASE.c.number, _LEASE.c.holder).with_for_update(read=True)).one()
        self._check_number(row)

    def _check_number(self, row: Any) -> None:
        if row.number != self._number:
            raise self._in_use(f"was taken over by the engine of {row.holder}")

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
                        for each in changes:
                            connection.execute(each)
                        committing = True
                        connection.commit()
                self._outage_since = None
                self._renew_lock()
                return
            except sa.exc.DBAPIError as error:
                if not self._server.is_outage(error.orig):
                    raise
                in_doubt = in_doubt or committing
                if in_doubt and time.monotonic() > started + DOUBT_SECONDS:
                    self._doubt = change
                    raise self._doubtful_error() from error
                if not in_doubt and not self._may_retry():
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
        mine = sa.and_(_LEASE.c.number == self._number, _LEASE.c.change != change)
        if connection.execute(_LEASE.update().where(mine).values(change=change)).rowcount:
            return True
        self._check_number(connection.execute(sa.select(_LEASE)).one())
        return False

    def _check_doubt(self, engine: sa.Engine) -> None:
        if self._doubt is None:
            return
        with engine.connect() as connection:
            row = connection.execute(sa.select(_LEASE).with_for_update()).one()
        self._check_number(row)
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
        _LEASE.metadata.create_all(connection)
        connection.execute(_LEASE.insert().values(number=0, holder=self._holder, home=self._note.home, change=""))

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
        if version is None and self._note.store:
            raise self._server.not_usable(
                f"it does not exist, and the jobs of the home are in the store {self._note.store}",
                "Correct the setting store, or restore the schema from a backup (pg_restore).",
            )
        return version

    def _table_names(self, connection: Reading) -> set[str]:
        query = f"SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = '{self.url.schema}'"
        return {str(row[0]) for row in connection.execute(query)}

    def _tables(self) -> Mapping[str, int]:
        return {**TABLES, _LEASE.name: 1}

    def _check_owner(self, connection: Reading) -> None:
        rows = list(connection.execute("SELECT home, holder FROM lease"))
        if len(rows) != 1:
            raise self.damaged_error(f"its table lease has {len(rows)} rows instead of 1")
        home, holder = rows[0]
        if home != self._note.home:
            raise self._server.not_usable(
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

    def _in_use(self, reason: str) -> EngineError:
        hint = "Stop that engine first, or use another store for this home."
        return EngineError("STORE_IN_USE", f"The store {self.name} {reason}.", hint=hint)

    def _doubtful_error(self) -> EngineError:
        return self._server.not_usable(
            "the connection was lost during a COMMIT, and whether it has happened is not known",
            "Restart the engine, which reads the store again.",
        )
