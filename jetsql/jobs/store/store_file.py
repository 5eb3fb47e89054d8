"""A store in a file of SQLite. The lock on the home is its lock."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from jetsql.errors import EngineError
from jetsql.home.private_files import MODE
from jetsql.home.store_note import STORE
from jetsql.jobs.model.cluster_member import EngineRecord, Role, new_engine_id
from jetsql.jobs.model.leadership import Leadership
from jetsql.jobs.store.database import LEASE_NUMBER, Reading, StoreContents, StoreDatabase
from jetsql.version import VERSION

if TYPE_CHECKING:
    import sqlalchemy as sa

    from jetsql.home.storage import Storage
    from jetsql.jobs.store.metrics import Metrics
    from jetsql.jobs.store.metrics_file import MetricsFile

METRICS: Final = "metrics.db"
_TAKEN: Final = {"jobs.name_key": "jobs", "snapshots.name_key": "snapshots"}


class StoreFile(StoreDatabase):
    """The file of a store, which need not exist."""

    kind: ClassVar[str] = STORE
    errors: tuple[type[Exception], ...] = (OSError, sqlite3.Error)
    remedy: ClassVar[str] = (
        "The file was not changed. Restore it from a backup. To start with an empty store, in which the jobs are lost,"
        " move the file away and start the engine with --new-store."
    )

    def __init__(self, path: Path) -> None:
        """Create it for a path, without opening the file."""
        self.path = path
        self.name = str(path)
        self._record = EngineRecord(new_engine_id(), "", Role.LEADER, time.time(), VERSION)
        self._leadership = Leadership()

    @property
    def leadership(self) -> Leadership:
        return self._leadership

    def lock(self) -> None:
        pass

    def exclude(self) -> int:
        with self.reading() as connection:
            return _lease_number(connection.execute("SELECT key, value FROM meta"))

    def retire(self, target: StoreDatabase) -> None:
        pass  # the note of the home names the other store

    def announce(self, address: str) -> None:
        self._record = replace(self._record, address=address)

    def engines(self, engine: sa.Engine) -> Sequence[EngineRecord]:
        return (self._record,)

    def watch(self, on_lost: Callable[[], None]) -> None:
        pass

    def publish(self, engine: sa.Engine, storage: Storage) -> None:
        pass

    def close(self) -> None:
        pass

    def make_private(self) -> None:
        """Create the file, empty and readable for its owner only, since it can contain secrets."""
        os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, MODE))

    def create_engine(self) -> sa.Engine:
        import sqlalchemy as sa

        if self._is_absent():
            self.make_private()
        engine = sa.create_engine(sa.URL.create("sqlite", database=str(self.path)), pool_size=4, max_overflow=-1)
        sa.event.listen(engine, "connect", _configure)
        sa.event.listen(engine, "begin", _begin)
        return engine

    def prepare(self, connection: sa.Connection) -> None:
        pass

    def back_up(self, version: int) -> None:
        """Copy the file atomically to `<file>.version-<version>`: the copy gets its name when it is complete."""
        destination = Path(f"{self.path}.version-{version}")
        part = StoreFile(Path(f"{destination}.part"))
        part.path.unlink(missing_ok=True)
        part.make_private()
        with closing(sqlite3.connect(self.path)) as source, closing(sqlite3.connect(part.path)) as target:
            source.backup(target)
        os.replace(part.path, destination)

    def begin_writing(self, engine: sa.Engine) -> None:
        with engine.connect() as connection:
            number = _lease_number(connection.exec_driver_sql("SELECT key, value FROM meta").all())
        self._leadership.begin(number, float("inf"))

    def write(self, engine: sa.Engine, changes: Sequence[sa.Executable]) -> None:
        with engine.begin() as connection:
            for change in changes:
                connection.execute(change)

    def read(self, engine: sa.Engine, wanted: sa.Executable) -> Sequence[sa.Row[Any]]:
        with engine.connect() as connection:
            return connection.execute(wanted).all()

    def taken_name(self, error: BaseException) -> str | None:
        if not isinstance(error, sqlite3.IntegrityError):
            return None
        return next((table for column, table in _TAKEN.items() if column in str(error)), None)

    def metrics_store(self, metrics: Metrics) -> MetricsFile:
        from jetsql.jobs.store.metrics_file import MetricsFile

        return MetricsFile(self.path.with_name(METRICS), metrics)

    def contents(self) -> StoreContents | None:
        closed = self._is_closed()
        try:
            return super().contents()
        except EngineError:
            if self._is_closed() is closed:
                raise
            return super().contents()  # an engine has opened it meanwhile

    def _is_absent(self) -> bool:
        return not self.path.exists() or self.path.stat().st_size == 0

    @contextmanager
    def reading(self) -> Iterator[Reading]:
        """Return a read-only connection with a consistent view.

        Without a write-ahead log the file is opened as immutable. Otherwise SQLite would create log files next to it,
        which belong to the reading user and can prevent the engine from opening the store.
        """
        mode = "mode=ro&immutable=1" if self._is_closed() else "mode=ro"
        with closing(sqlite3.connect(f"{self.path.resolve().as_uri()}?{mode}", uri=True)) as connection:
            connection.execute("BEGIN")
            yield connection

    @contextmanager
    def reading_metrics(self) -> Iterator[Reading | None]:
        from jetsql.jobs.store.metrics_store import VERSION as METRICS_VERSION

        file = StoreFile(self.path.with_name(METRICS))
        if file._is_absent():
            yield None
            return
        with file.reading() as connection:
            try:
                [(version,)] = connection.execute("PRAGMA user_version")
            except sqlite3.DatabaseError:  # an engine moves a damaged file aside
                version = None
            yield connection if version == METRICS_VERSION else None

    @contextmanager
    def copying(self) -> Iterator[Callable[[sa.Table], sa.Connection]]:
        """Create both files under other names, and rename them when they are complete, the store's last."""
        from jetsql.jobs.store.metrics_store import MEASURES
        from jetsql.jobs.store.metrics_store import VERSION as METRICS_VERSION
        from jetsql.jobs.store.tables import METADATA

        paths = self.path, self.path.with_name(METRICS)
        parts = [StoreFile(Path(f"{path}.part")) for path in paths]
        for part in parts:
            part.path.unlink(missing_ok=True)
        with ExitStack() as engines:
            made = [part.create_engine() for part in parts]
            for engine in made:
                engines.callback(engine.dispose)
            with made[0].begin() as store, made[1].begin() as metrics:
                METADATA.create_all(store)
                MEASURES.metadata.create_all(metrics)
                metrics.exec_driver_sql(f"PRAGMA user_version = {METRICS_VERSION}")
                yield lambda table: metrics if table is MEASURES else store
        for part, path in reversed(list(zip(parts, paths, strict=True))):
            os.replace(part.path, path)

    def _is_closed(self) -> bool:
        log = Path(f"{self.path.resolve()}-wal")
        return not log.exists() or log.stat().st_size == 0

    def _table_names(self, connection: Reading) -> set[str]:
        return {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def _check_integrity(self, connection: Reading, *, thorough: bool) -> None:
        pragma = "integrity_check" if thorough else "quick_check"
        [(result,)] = connection.execute(f"PRAGMA {pragma}(1)")
        if result != "ok":
            raise self.damaged_error(str(result))

    def _check_owner(self, connection: Reading) -> None:
        pass  # the file is in its home

    def translate_error(self, error: BaseException) -> EngineError:
        """Return an error of SQLite or the system as EngineError: HOME_NOT_USABLE for disk and folder, otherwise
        STORE_DAMAGED."""
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        if isinstance(error, OSError) or (isinstance(error, sqlite3.OperationalError) and code != sqlite3.SQLITE_ERROR):
            hint = "Check owner and permissions of this file and the files next to it, and whether the disk is full."
            return EngineError("HOME_NOT_USABLE", f"Cannot access the store {self.path}: {error}.", hint=hint)
        return self.damaged_error(str(error))


def _lease_number(meta: Iterable[Sequence[Any]]) -> int:
    """Return the number of the lease that the store of these rows had before; 0 for a store that never had one."""
    return next((int(row[1]) for row in meta if row[0] == LEASE_NUMBER), 0)


def _configure(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # otherwise the driver runs statements like CREATE TABLE outside of transactions
    for pragma in ("journal_mode = WAL", "foreign_keys = ON", "synchronous = FULL", "busy_timeout = 5000"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: sa.Connection) -> None:
    connection.exec_driver_sql("BEGIN")
