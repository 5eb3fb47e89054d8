"""Open an engine: find its store and storage, start Spark or use a session, and wait while another engine leads.

`open` starts Spark; `enable` adds the statements to an existing session.
"""

from __future__ import annotations

import hashlib
import os
import socket
import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Protocol
from weakref import ref

from jetsql.embedded.engine_instance import EngineInstance
from jetsql.engine.errors.run_failures import cause_of
from jetsql.engine.jdbc.missing_driver import report_missing_drivers
from jetsql.engine.jvm import java_classes
from jetsql.engine.jvm.filesystem import FileSystem
from jetsql.engine.jvm.launch import SparkStart
from jetsql.engine.runs.warm_up import WarmUp
from jetsql.engine.spark.spark_end import unwatch_spark
from jetsql.engine.spark.startup import (
    Session,
    has_active_session,
    is_same_spark,
    is_stopped,
    list_session_problems,
    redact_table_options,
    silence_query_errors,
    start_spark,
)
from jetsql.errors import EngineError
from jetsql.failpoints import check_armed
from jetsql.home.discovery import token
from jetsql.home.home_lock import HomeLock, check_location, make_home, not_usable
from jetsql.home.restore_note import check_restored
from jetsql.home.storage import Storage, choose_storage, claim_storage, warn_if_open
from jetsql.jobs.lifecycle.step_context import as_sentence
from jetsql.jobs.store.database import StoreDatabase
from jetsql.jobs.store.job_store import Store
from jetsql.jobs.store.store_choice import open_database, prepare_database
from jetsql.settings.engine_settings import Settings, load

if TYPE_CHECKING:
    from jetsql.jobs.store.postgresql.lease import Lease

Starter = Callable[[Settings, Storage], Session]
_open_engine: ref[EngineInstance] | None = None


class Service(Protocol):
    """The process of an engine with endpoints for other processes, which has the lock of the home."""

    @property
    def address(self) -> str:
        """Return the URL of its HTTP endpoint for clients on other machines."""

    def open_unless_led(self, home: Path, database: StoreDatabase) -> Store | None:
        """Return the open store; None if another engine leads, after the home has become one of the store's homes."""

    def check_store(self, store: Store) -> None:
        """Raise EngineError ENDPOINT_NOT_ENCRYPTED if the endpoints would show the tokens of the store's users."""

    def wait_until_leading(self, lease: Lease, spark: Session, warm_up: WarmUp) -> bool:
        """Wait as a standby, which warms up. Return whether this engine has the lease now; False if it was stopped."""

    def on_lost(self, engine: EngineInstance) -> None:
        """Handle the loss of the leadership, on a thread."""


def open(
    home: str | os.PathLike[str] | None = None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    settings: Settings | None = None,
) -> EngineInstance:
    """Start Spark and an engine on a home folder.

    home, master, conf: see `jetsql.settings.load`; settings: replaces these three.
    Raises EngineError HOME_IN_USE, HOME_NOT_USABLE, ENGINE_NOT_STARTED, STORE_DAMAGED, STORE_TOO_NEW, STORE_NOT_USABLE,
    STORE_IN_USE, and ENGINE_NOT_INSTALLED for the modules of two versions.
    """
    settings = settings or load(home=home, master=master, conf=conf)
    if has_active_session():
        raise EngineError(
            "ENGINE_NOT_STARTED", "This process already has a Spark session.", hint="Use jetsql.enable(spark) with it."
        )

    engine = _engine(settings, partial(_start_spark, owns_process=False), owns_spark=True)
    assert engine is not None, "only a service waits as a standby"
    return engine


def enable(spark: Session, home: str | os.PathLike[str] | None = None) -> EngineInstance:
    """Add the statements of JetSQL to an existing session, so that `spark.sql("CREATE JOB ...")` works.

    Sessions created from it later (`spark.newSession()`) have the statements too. A warning lists settings that cannot
    be changed in a running session. Further calls with the same session have no effect. Raises EngineError as `open`.
    """
    settings = load(home=home)
    current = current_engine()
    if current is not None and current.home == make_home(settings.home) and is_same_spark(current.spark, spark):
        java_classes.enable(spark)
        redact_table_options(spark)
        return current
    if current is not None and is_stopped(current.spark):
        current.close()
    elif current is not None:
        raise EngineError(
            "ENGINE_NOT_STARTED",
            f"This process already has an engine on {current.home}.",
            hint="Close that engine first, or use its home.",
        )
    silence_query_errors()
    report_missing_drivers()
    engine = _engine(settings, lambda settings, storage: spark, owns_spark=False)
    assert engine is not None, "only a service waits as a standby"
    for problem in list_session_problems(spark):
        warnings.warn(problem, stacklevel=2)
    return engine


def open_service(settings: Settings, service: Service) -> EngineInstance | None:
    """Open an engine as `open`, for other processes. While another engine leads, wait as a standby.

    Returns None if the standby was stopped.
    """
    return _engine(settings, partial(_start_spark, owns_process=True), owns_spark=True, service=service)


def _start_spark(settings: Settings, storage: Storage, owns_process: bool) -> Session:
    return start_spark(
        SparkStart(
            settings.home,
            storage.warehouse,
            settings.master,
            settings.driver_memory,
            settings.start_conf,
            settings.cluster_secret_file,
            home_token(settings.home),
            settings.connectors(storage.root),
            settings.class_archives,
            owns_process,
        )
    )


def _engine(
    settings: Settings, start: Starter, owns_spark: bool, service: Service | None = None
) -> EngineInstance | None:
    """Return the engine; None for one that was stopped while it waited as a standby."""
    global _open_engine
    check_armed()
    home = make_home(settings.home)
    settings = replace(settings, home=home)
    with ExitStack() as undo:
        lock = HomeLock(home) if service is None else None
        if lock is not None:
            undo.callback(lock.release)
        check_restored(home)
        if owns_spark:
            check_location(home)
        choose_storage(home, settings.storage)  # before anything is changed
        given = settings.store
        database = prepare_database(home, given.store, given.store_password, given.times)
        if database.lease is not None:
            settings = replace(settings, catalog_connections=database.lease.connection_name)
        if service is not None:
            database.announce(service.address)
        # Before Spark's start, so that an unreadable home is refused immediately and unchanged.
        store = (
            open_database(home, database, settings.new_store)
            if service is None
            else service.open_unless_led(home, database)
        )
        if store is not None:
            undo.callback(store.close)
            if service is not None:
                service.check_store(store)
        storage = choose_storage(home, settings.storage)  # a new home can have joined those of the store
        spark = start(settings, storage)
        if owns_spark:
            undo.callback(spark.stop)
            undo.callback(unwatch_spark, spark)
        if store is None:
            assert service is not None and database.lease is not None, "only these wait as standbys"
            warm_up = WarmUp(spark, _warm_up_folder(storage, home), database.read_jobs)
            if not service.wait_until_leading(database.lease, spark, warm_up):
                return None
            store = open_database(home, database)
            undo.callback(store.close)
            service.check_store(store)
        store.publish(_claim(storage, home, spark))
        warn_if_open(home, storage)
        on_lost = service.on_lost if service is not None else _close_later
        engine = EngineInstance(spark, store, settings, storage, lock, owns_spark, on_lost)
        _open_engine = ref(engine)
        undo.pop_all()
    return engine


def current_engine() -> EngineInstance | None:
    """Return the engine that is open in this process; None if there is none."""
    engine = None if _open_engine is None else _open_engine()
    return None if engine is None or engine.is_closing else engine


def _warm_up_folder(storage: Storage, home: Path) -> str:
    """Return the folder for the warm-up of a standby in the storage that all engines of a store share."""
    engine = f"{socket.gethostname()}{home}"
    return f"{storage.root}/warm-ups/{hashlib.sha256(engine.encode()).hexdigest()[:16]}"


def _close_later(engine: EngineInstance) -> None:
    """Close an engine inside another program, which cannot become a standby."""
    Thread(target=engine.close, name="close-engine", daemon=True).start()


def home_token(home: Path) -> str:
    """Return the token of a home; generate it at the first call. Raises EngineError HOME_NOT_USABLE."""
    try:
        return token(home)
    except OSError as error:
        raise not_usable(home, error) from error


def _claim(storage: Storage, home: Path, spark: Session) -> Storage:
    """Claim the storage for the home, and return it. Raises EngineError HOME_NOT_USABLE."""
    try:
        return claim_storage(storage, home, FileSystem(spark))
    except EngineError:
        raise
    except Exception as error:  # errors of Py4J, Hadoop and the system have no more specific common class
        raise EngineError(
            "HOME_NOT_USABLE",
            as_sentence(f"Cannot use the storage {storage.root}: {cause_of(error).message}"),
            hint=f"Check that it is reachable and writable. If this was the first start of {home}, delete that folder,"
            " which has no data yet, before you use another storage.",
        ) from error
