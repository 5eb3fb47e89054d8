"""The database of a store: its version, the checks before it is written, and its contents.

JetSQL never writes to a store that it cannot read. So an existing store is first checked through a read-only
connection, and only then opened. `StoreFile` is a store in a file of SQLite, `StoreSchema` one in a schema of
PostgreSQL. They differ in how they are opened, locked and written, and in the errors of their drivers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeVar

from jetsql.errors import EngineError
from jetsql.jobs.model.cluster_member import EngineRecord
from jetsql.jobs.model.history_row import HistoryRow
from jetsql.jobs.model.job import Job, Snapshot, Status
from jetsql.jobs.model.leadership import Leadership
from jetsql.jobs.model.serialization import MalformedRecord, decode
from jetsql.jobs.store.record_versions import RENAMED_EVENTS, upgrade_text
from jetsql.request import Caller

if TYPE_CHECKING:  # SQLAlchemy is slow to import, and reading the contents does not need it
    import sqlalchemy as sa

    from jetsql.home.storage import Storage
    from jetsql.jobs.store.metrics import Metrics
    from jetsql.jobs.store.metrics_store import MetricsStore
    from jetsql.jobs.store.postgresql.lease import Lease

VERSION: Final = 11

# Keys of the table `meta`. Those of one place are not copied with a store.
WRITTEN_BY: Final = "written_by"
LEASE_NUMBER: Final = "lease_number"  # the number of the lease from which a copy continues, see `Leadership`
MOVED_TO: Final = "moved_to"  # the store with which the jobs continue, after a copy
OF_ONE_PLACE: Final = ("metrics_version", LEASE_NUMBER, MOVED_TO)

# The tables, with the version of the store that added them.
TABLES: Final = {
    **{"meta": 1, "jobs": 1, "history": 1, "snapshots": 2, "functions": 5},
    **dict.fromkeys(("users", "roles", "members", "tokens", "grants", "owners"), 9),
    **dict.fromkeys(("alerts", "alert_states", "alert_messages"), 11),
}

_CALLERS: Final = 6  # the version of the store that added the callers to the history

T = TypeVar("T")


class Reading(Protocol):
    """A read-only connection of the driver, with a consistent view."""

    def execute(self, statement: Any, /) -> Iterable[Sequence[Any]]: ...


@dataclass(frozen=True)
class StoreContents:
    """The contents of a store."""

    version: int
    jobs: tuple[Job, ...]
    snapshots: tuple[Snapshot, ...]
    history: tuple[HistoryRow, ...]  # oldest first
    unreadable: tuple[str, ...] = ()  # errors of records that cannot be read, as sentences


class StoreDatabase(ABC):
    """The database of one store, which need not exist."""

    name: str
    """The store in messages: a path, or a URL without secrets."""
    kind: ClassVar[str]
    """The store as the object of a sentence."""
    location: str = ""
    """The URL of the store for the note of its home; empty for a file in the home."""
    errors: tuple[type[Exception], ...]
    """The exceptions of the driver and the system that `translate_error` translates."""
    remedy: ClassVar[str]
    """The advice for a damaged store, as sentences."""
    copied_to: str = ""
    """The name of the store to which this one is being copied; empty in an engine."""

    @property
    def subject(self) -> str:
        """Return the store as the subject of a sentence."""
        return f"store {self.name}"

    @abstractmethod
    def lock(self) -> None:
        """Lock the store, before it is inspected. Raises EngineError STORE_IN_USE, and the driver's errors."""

    @abstractmethod
    def exclude(self) -> int:
        """Keep all engines from writing until `close`, for a copy, and return the number of the lease.

        The caller has the lock.
        """

    @abstractmethod
    def retire(self, target: StoreDatabase) -> None:
        """Keep engines from using this store after it was copied, except for the same copy. The caller has the lock."""

    @abstractmethod
    def close(self) -> None:
        """Release the lock, if it is held."""

    @abstractmethod
    def create_engine(self) -> sa.Engine:
        """Return an engine for reading and writing."""

    @abstractmethod
    def prepare(self, connection: sa.Connection) -> None:
        """Create what the tables need, in the transaction that creates them."""

    @abstractmethod
    def back_up(self, version: int) -> None:
        """Keep the store of this older version, if the database can, before it is migrated."""

    @abstractmethod
    def begin_writing(self, engine: sa.Engine) -> None:
        """Become the only writer, after the store was created or migrated."""

    @property
    @abstractmethod
    def leadership(self) -> Leadership:
        """Return the leadership of this engine. Without a lease, an open store's engine always leads."""

    @property
    def lease(self) -> Lease | None:
        """Return the lease for which engines wait; None for a store that only the engine of its home can use."""
        return None

    @abstractmethod
    def announce(self, address: str) -> None:
        """Set the URL of this engine's HTTP endpoint, which heartbeats store."""

    @abstractmethod
    def watch(self, on_lost: Callable[[], None]) -> None:
        """Set the function that is called once, on a thread, when another engine leads."""

    @abstractmethod
    def publish(self, engine: sa.Engine, storage: Storage) -> None:
        """Store where the checkpoints are, for the homes of standbys."""

    @abstractmethod
    def engines(self, engine: sa.Engine) -> Sequence[EngineRecord]:
        """Return the engines of this store, the leader first, without the numbers of their jobs."""

    @abstractmethod
    def write(self, engine: sa.Engine, changes: Sequence[sa.Executable]) -> None:
        """Execute changes in one transaction, exactly once."""

    @abstractmethod
    def read(self, engine: sa.Engine, wanted: sa.Executable) -> Sequence[sa.Row[Any]]:
        """Return the rows of a query."""

    @abstractmethod
    def taken_name(self, error: BaseException) -> str | None:
        """Return the table of which a live name is taken; None for other errors."""

    @abstractmethod
    def translate_error(self, error: BaseException) -> EngineError:
        """Return an error of `errors` as EngineError."""

    @abstractmethod
    def metrics_store(self, metrics: Metrics) -> MetricsStore:
        """Return the store of the metrics that belongs to this store."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Reading]:
        """Return a read-only connection with a consistent view."""

    @abstractmethod
    def reading_metrics(self) -> AbstractContextManager[Reading | None]:
        """Return a read-only connection with the newest table of metrics; None without one."""

    @abstractmethod
    def copying(self) -> AbstractContextManager[Callable[[sa.Table], sa.Connection]]:
        """Create the tables of a new store, also of its metrics, and return a function for the connection of each.

        The end of the context commits all of them, or none after an error.
        """

    @abstractmethod
    def _is_absent(self) -> bool:
        """Return whether there is nothing to connect to."""

    @abstractmethod
    def _table_names(self, connection: Reading) -> set[str]:
        """Return the names of all tables."""

    @abstractmethod
    def _check_integrity(self, connection: Reading, *, thorough: bool) -> None:
        """Check the database itself. Raises EngineError STORE_DAMAGED."""

    @abstractmethod
    def _check_owner(self, connection: Reading) -> None:
        """Check that a store belongs to the home. Raises EngineError STORE_NOT_USABLE, STORE_DAMAGED."""

    def inspect(self) -> int | None:
        """Return the version of the store; None without a store.

        Raises EngineError STORE_DAMAGED, STORE_TOO_NEW, and the errors of `errors`.
        """
        if self._is_absent():
            return None
        with self.reading() as connection:
            version = self._version(connection, thorough=False)
            if version is not None:
                for job_id, record in connection.execute("SELECT id, record FROM jobs WHERE live"):
                    self._check_record(str(job_id), upgrade_text(str(record), version))
        return version

    def contents(self) -> StoreContents | None:
        """Return the contents of the store; None without a store.

        Raises EngineError STORE_DAMAGED, STORE_TOO_NEW, HOME_NOT_USABLE, STORE_NOT_USABLE when nothing can be read.
        """
        try:
            if self._is_absent():
                return None
            with self.reading() as connection:
                version = self._version(connection, thorough=True)
                return None if version is None else _contents(connection, version)
        except self.errors as error:
            raise self.translate_error(error) from error

    def read_jobs(self) -> tuple[Job, ...]:
        """Return the live jobs that can be read, of a store that another engine has open. Raises as `contents`."""
        try:
            with self.reading() as connection:
                records = [str(row[0]) for row in connection.execute("SELECT record FROM jobs WHERE live ORDER BY id")]
        except self.errors as error:
            raise self.translate_error(error) from error
        return tuple(_readable(records))

    def _version(self, connection: Reading, *, thorough: bool) -> int | None:
        """Return the version after a check of the database; None for an empty database."""
        self._check_integrity(connection, thorough=thorough)
        tables = self._table_names(connection)
        return self._stated_version(connection, tables) if tables else None

    def _stated_version(self, connection: Reading, tables: set[str]) -> int:
        if "meta" not in tables:
            raise self.damaged_error("it is a database, but not a JetSQL store")
        meta = {str(key): str(value) for key, value in connection.execute("SELECT key, value FROM meta")}
        version = meta.get("version")
        if version is None:
            raise self.damaged_error("its version is missing")
        if not version.isdecimal() or int(version) < 1:
            raise self.damaged_error(f"its version is {version!r}")
        self.check_version(version, meta.get(WRITTEN_BY))
        missing = sorted(
            table for table, since in self._tables().items() if since <= int(version) and table not in tables
        )
        if missing:
            raise self.damaged_error(f"these tables are missing: {', '.join(missing)}")
        self._check_owner(connection)
        return int(version)

    def check_version(self, version: str, written_by: str | None) -> None:
        """Raise EngineError STORE_TOO_NEW for the version of a store that a newer JetSQL has written."""
        if version.isdecimal() and int(version) > VERSION:
            raise self._too_new(version, written_by)

    def _tables(self) -> Mapping[str, int]:
        """Return the tables of a store, with the version that added each."""
        return TABLES

    def _check_record(self, job_id: str, record: str) -> None:
        try:
            decode(Job, record)
        except MalformedRecord as error:
            raise self.damaged_record_error(f"job {job_id}", error) from error

    def _too_new(self, version: str, written_by: str | None) -> EngineError:
        by = f", written by JetSQL {written_by}" if written_by else ""
        return EngineError(
            "STORE_TOO_NEW",
            f"The {self.subject} has version {version}{by}; this JetSQL reads up to version {VERSION}.",
            hint="Install the newer JetSQL, or use another home folder.",
        )

    def damaged_error(self, reason: str) -> EngineError:
        """Return the error for a damaged store. reason: a phrase without a full stop."""
        return EngineError(
            "STORE_DAMAGED",
            f"The {self.subject} is damaged: {reason} (this JetSQL reads version {VERSION}).",
            hint=self.remedy,
        )

    def damaged_record_error(self, subject: str, error: MalformedRecord) -> EngineError:
        """Return the error for a malformed record. subject: the object of the record, such as `job ID`."""
        return self.damaged_error(f"the record of {subject} is not readable ({error})")


def _readable(records: Iterable[str]) -> Iterator[Job]:
    for record in records:
        with suppress(MalformedRecord):  # of another version of JetSQL
            yield decode(Job, record)


def _contents(connection: Reading, version: int) -> StoreContents:
    unreadable: list[str] = []

    def records(kind: type[T], table: str) -> Iterator[T]:
        for record_id, record in connection.execute(f"SELECT id, record FROM {table} ORDER BY id"):
            try:
                yield decode(kind, upgrade_text(str(record), version))
            except MalformedRecord as error:
                unreadable.append(f"The record of {kind.__name__.lower()} {record_id} is not readable ({error}).")

    def history() -> Iterator[HistoryRow]:
        columns = "number, job, time, title, before, after, run, words"
        if version >= _CALLERS:
            columns += ", caller, endpoint, address"
        for number, *values in connection.execute(f"SELECT {columns} FROM history ORDER BY number"):
            values[2] = RENAMED_EVENTS.get(str(values[2]), str(values[2]))
            try:
                yield history_row(*values)
            except ValueError:
                message = f"Row {number} of the history of job {values[0]} is not readable (unknown status)."
                unreadable.append(message)

    jobs = tuple(records(Job, "jobs"))
    snapshots = tuple(records(Snapshot, "snapshots")) if version >= TABLES["snapshots"] else ()
    return StoreContents(version, jobs, snapshots, tuple(history()), tuple(unreadable))


def history_row(
    job: str,
    time: float,
    title: str,
    before: str | None,
    after: str,
    run: int,
    words: str,
    caller: str | None = None,
    endpoint: str | None = None,
    address: str | None = None,
) -> HistoryRow:
    """Return the row of a history from its columns. Raises ValueError for an unknown status."""
    by = None if caller is None else Caller(caller, endpoint or "", address or "")
    return HistoryRow(job, time, title, None if before is None else Status(before), Status(after), run, words, by)
