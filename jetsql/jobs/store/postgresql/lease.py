"""The lease on a store of PostgreSQL: one engine leads, and the others wait as standbys.

Three things keep all engines but one from writing. An advisory lock, which PostgreSQL releases with its connection, so
a standby notices immediately that the leader's process has ended. A heartbeat, which a standby misses when the leader
is paused or its network is cut. And the number of the lease, which each new leader increments and which every
transaction that writes compares: a leader that was paused finds another number and has no effect.

A standby measures the time without a heartbeat on its own monotonic clock. So neither clock has to be right.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from jetsql.errors import EngineError
from jetsql.jobs.access.access_state import AccessState
from jetsql.jobs.model.cluster_member import EngineRecord, Role, connection_name
from jetsql.jobs.model.leadership import Leadership, LeaseTimes
from jetsql.jobs.store.access_rows import TABLES, decode_state
from jetsql.jobs.store.postgresql.lease_tables import (
    BEAT,
    END_CONNECTIONS,
    END_HOLDER,
    ENGINES,
    FREED,
    LEASE,
    OBSERVE,
    RETIRE,
)
from jetsql.jobs.store.postgresql.lease_watch import Observation, Watch
from jetsql.jobs.store.postgresql.store_server import StoreServer
from jetsql.version import VERSION

if TYPE_CHECKING:
    import psycopg

_LOCK_SECONDS: Final = 1.0  # PostgreSQL ends the connections of a killed engine within this time
_ROW_SECONDS: Final = 1  # a leader that is not paused ends its transactions within this time
_LOCK_CLASS: Final = 0x4A657453
_PAUSE: Final = 0.2
_POLLS: Final = 4  # in each heartbeat of a standby
_FORGOTTEN_SECONDS: Final = 60.0
_ACCESS_TABLES: Final = tuple(table.name for table in TABLES)
_LOG: Final = logging.getLogger(__name__)


class Lease:
    """The lease on the store of one schema."""

    def __init__(
        self,
        server: StoreServer,
        times: LeaseTimes,
        engine: str,
        holder: str,
        check_version: Callable[[str, str | None], None],
    ) -> None:
        """Create it without connecting.

        engine: the id of this engine. holder: the same as a phrase, for messages.
        check_version: called with the version of the store and of the JetSQL that wrote it; raises EngineError
        STORE_TOO_NEW.
        """
        self._server = server
        self._times = times
        self._holder = holder
        self._check_version = check_version
        self._record = EngineRecord(engine, "", Role.STANDBY, 0.0, VERSION)
        self._lock: psycopg.Connection[Any] | None = None
        self._key = {"lock": _LOCK_CLASS, "schema": server.url.schema}
        self.leadership = Leadership()
        self._observed = float("-inf")
        self.leader: Observation | None = None
        """The leader that a standby has seen last."""
        self.access = AccessState()
        """The users and rights that a standby has read last."""

    @property
    def connection_name(self) -> str:
        """Return the application name of this engine's connections, which the next leader ends."""
        return self._server.application_name

    @property
    def can_take_over(self) -> bool:
        """Return whether this standby would notice now that the leader is gone: it has read the lease recently."""
        return time.monotonic() < self._observed + self._times.lease_seconds

    def announce(self, address: str) -> None:
        """Set the URL of this engine's HTTP endpoint, which the next heartbeat stores."""
        self._record = replace(self._record, address=address)

    # --- the lock ----------------------------------------------------------------------------------------------------

    def lock(self) -> None:
        """Take the lock, if this engine does not have it. Raises EngineError STORE_IN_USE, psycopg.Error."""
        if self._lock is not None:
            return
        connection = self._server.connect(autocommit=True)
        try:
            self._check_server(connection)
            if not self._lock_within(connection, _LOCK_SECONDS):
                raise self.in_use(f"is in use by the engine of {self._read_holder(connection)}")
        except BaseException:
            connection.close()
            raise
        self._lock = connection

    def exclude(self) -> int:
        """Keep engines from leading until `release`, and from writing those that do not know that they lost the lock.

        This engine has the lock. Returns the number of the lease.
        """
        assert self._lock is not None, "the lock is taken first"
        self._end_predecessor()
        taken = "UPDATE lease SET number = number + 1, engine = '', holder = %s RETURNING number"
        row = self._lock.execute(taken, (self._holder,)).fetchone()
        assert row is not None, "the store was inspected"
        return int(row[0])

    def retire(self, target: str) -> None:
        """Store that the jobs continue with another store. This engine has the lock."""
        assert self._lock is not None, "the lock is taken first"
        self._lock.execute(RETIRE, (target,))

    def release(self) -> None:
        """Release the lock, and notify the standbys if this engine still leads."""
        connection, self._lock = self._lock, None
        if connection is None:
            return
        if self.leadership.number:
            self.leadership.lose("another engine")  # a run that has not ended must not commit any more
        with suppress(self._server.driver.Error):
            freed = f"UPDATE lease SET engine = '' WHERE number = {self.leadership.number}"
            if self.leadership.number and connection.execute(freed).rowcount:
                connection.execute("DELETE FROM engines WHERE id = %s", (self._record.id,))
                connection.execute("SELECT pg_advisory_unlock_all()")
                connection.execute(f"NOTIFY {FREED}")
        connection.close()

    def _lock_within(self, connection: psycopg.Connection[Any], seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not self._try_lock(connection):
            if time.monotonic() > deadline:
                return False
            time.sleep(_PAUSE)
        return True

    def _try_lock(self, connection: psycopg.Connection[Any]) -> bool:
        query = "SELECT pg_try_advisory_lock(%(lock)s, hashtext(%(schema)s))"
        row = connection.execute(query, self._key).fetchone()
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

    # --- the leader --------------------------------------------------------------------------------------------------

    def begin(self, engine: sa.Engine) -> None:
        """Lead, with the next number."""
        started = time.monotonic()
        taken = LEASE.update().values(number=LEASE.c.number + 1, engine=self._record.id, holder=self._holder, change="")
        age = sa.extract("epoch", sa.func.now() - ENGINES.c.seen)
        self._end_predecessor()
        with engine.begin() as connection:
            number = int(connection.execute(taken.returning(LEASE.c.number)).scalar_one())
            connection.execute(ENGINES.delete().where(sa.or_(age > _FORGOTTEN_SECONDS, ENGINES.c.role == Role.LEADER)))
        self.leadership.begin(number, started + self._times.lease_seconds)

    def _end_predecessor(self) -> None:
        """End what the last leader has left, whose lock this engine has: its transactions may be open."""
        assert self._lock is not None, "the lock is taken first"
        row = self._lock.execute("SELECT engine FROM lease").fetchone()
        if row is not None and row[0] not in ("", self._record.id):
            self._end_connections(self._lock, row[0])

    @staticmethod
    def _end_connections(connection: psycopg.Connection[Any], engine: str) -> None:
        """End all connections of an engine to this database, those of its catalogue included.

        A paused engine keeps the locks of its open transactions, and the engines after it would wait for them.
        """
        connection.execute(END_CONNECTIONS, (connection_name(engine),))

    def beat(self) -> None:
        """Send a heartbeat as the leader, on the connection with the lock, which is renewed if it was lost.

        Raises psycopg.Error without a connection, and EngineError STORE_IN_USE when another engine leads.
        """
        started = time.monotonic()
        if self._lock is None or self._lock.broken or self._lock.closed:
            self._lock = self._server.connect(autocommit=True)
            self._try_lock(self._lock)
        record = replace(self._record, role=Role.LEADER)
        if not self._send(self._lock, record):
            row = self._lock.execute("SELECT holder FROM lease").fetchone()
            holder = "another engine" if row is None else f"the engine of {row[0]}"
            self.leadership.lose(holder)
            raise self.in_use(f"was taken over by {holder}")
        self.leadership.extend(started + self._times.lease_seconds)

    def check(self, connection: sa.Connection) -> None:
        """Check that this engine leads, until the end of the transaction. Raises EngineError STORE_IN_USE."""
        row = connection.execute(sa.select(LEASE.c.number, LEASE.c.holder).with_for_update(read=True)).one()
        self.check_number(row)

    def check_number(self, row: Any) -> None:
        """Compare the number of a row of `LEASE`. Raises EngineError STORE_IN_USE."""
        if row.number != self.leadership.number:
            self.leadership.lose(f"the engine of {row.holder}")
            raise self.in_use(f"was taken over by the engine of {row.holder}")

    def in_use(self, reason: str) -> EngineError:
        """Return the error for the store of another engine. reason: completes "The store X ..."."""
        hint = "Stop that engine first, or use another store for this home."
        return EngineError("STORE_IN_USE", f"The store {self._server.url} {reason}.", hint=hint)

    def _send(self, connection: psycopg.Connection[Any], record: EngineRecord) -> bool:
        values = {
            "id": record.id,
            "address": record.address,
            "role": record.role.value,
            "version": record.version,
            "number": self.leadership.number,
        }
        return bool(connection.execute(BEAT, values).rowcount)

    # --- a standby ---------------------------------------------------------------------------------------------------

    def wait(self, stop: Event) -> bool:
        """Wait as a standby until this engine has the lock. Return False when `stop` was set before.

        Raises EngineError STORE_TOO_NEW, and STORE_NOT_USABLE for an error that is not an outage.
        """
        watch = Watch(self._times.lease_seconds)
        is_out = False
        while not stop.is_set():
            try:
                with self._server.connect(autocommit=True) as connection:
                    connection.execute(f"LISTEN {FREED}")
                    if is_out:
                        _LOG.info("The store %s is reachable again", self._server.url)
                    is_out = False
                    if self._watch_on(connection, watch, stop):
                        return True
            except self._server.driver.Error as error:
                if not self._server.is_outage(error):
                    raise self._server.explain(error) from error
                if not is_out:
                    _LOG.warning("The store %s is out of reach; trying again", self._server.url)
                is_out = True
                watch.interrupt()
                stop.wait(_PAUSE)
        return False

    def _watch_on(self, connection: psycopg.Connection[Any], watch: Watch, stop: Event) -> bool:
        """Watch the leader until `stop` is set (False), or this engine has the lock (True)."""
        poll = self._times.heartbeat_seconds / _POLLS
        polls = 0
        while not stop.is_set():
            seen = self._observe(connection)
            self.leader = seen if seen.engine else None
            if watch.is_free(seen, time.monotonic()) and self._take(seen):
                connection.execute("DELETE FROM engines WHERE id = %s", (self._record.id,))
                return True
            if polls % _POLLS == 0:
                self._send(connection, self._record)
                self.access = self._read_access(connection)
            polls += 1
            for _ in connection.notifies(timeout=poll, stop_after=1):
                pass
        connection.execute("DELETE FROM engines WHERE id = %s", (self._record.id,))
        return False

    def _read_access(self, connection: psycopg.Connection[Any]) -> AccessState:
        """Return the users and rights of the store; those that were read last if they are not readable."""
        driver = self._server.driver
        try:
            with connection.cursor(row_factory=driver.rows.namedtuple_row) as cursor:
                rows: Any = {name: cursor.execute(f"SELECT * FROM {name}").fetchall() for name in _ACCESS_TABLES}
            return decode_state(rows)
        except driver.errors.UndefinedTable:  # an earlier release leads, without users
            return AccessState()
        except ValueError as error:
            _LOG.warning("The users and rights in the store are not readable: %s", error)
            return self.access

    def _observe(self, connection: psycopg.Connection[Any]) -> Observation:
        """Return the lease as it is now. Raises EngineError STORE_TOO_NEW, also after an update of the leader."""
        row = connection.execute(OBSERVE, self._key).fetchone()
        if row is None:
            raise self._server.not_usable("its table lease is empty", "Restore the schema from a backup (pg_restore).")
        self._observed = time.monotonic()
        number, engine, holder, beat, address, is_locked, seconds, version, written_by = row
        self._check_version(version or "", written_by)
        return Observation(number, engine, holder, beat, address, is_locked, float(seconds))

    def _take(self, seen: Observation) -> bool:
        """Take the lease that was seen, and return whether this engine was the first to do so.

        The new number comes first: from then on the earlier leader cannot write. Its connection may still have the
        lock, when its process is paused or its machine is gone.
        """
        connection = self._server.connect(autocommit=True)
        try:
            if seen.is_locked:
                if not self._raise_number(connection, seen):
                    connection.close()
                    return False
                connection.execute(END_HOLDER, self._key)
                self._end_connections(connection, seen.engine)
            if self._lock_within(connection, _LOCK_SECONDS):
                self._lock = connection
                return True
        except BaseException:
            connection.close()
            raise
        connection.close()
        return False

    def _raise_number(self, connection: psycopg.Connection[Any], seen: Observation) -> bool:
        """Return whether this engine was the first to raise the number; False also when it has to try again."""
        connection.execute("SELECT set_config('lock_timeout', %s, false)", (f"{_ROW_SECONDS}s",))
        change = "UPDATE lease SET number = number + 1, engine = %s, holder = %s, change = '' WHERE number = %s"
        try:
            taken = connection.execute(change, (self._record.id, self._holder, seen.number)).rowcount
        except self._server.driver.errors.LockNotAvailable:  # the leader was paused in a transaction that has the row
            _LOG.warning("A transaction of the engine of %s is open; ending its connections", seen.holder)
            self._end_connections(connection, seen.engine)
            return False
        if taken:
            _LOG.warning("No heartbeat of the engine of %s for %g s", seen.holder, self._times.lease_seconds)
        return bool(taken)
