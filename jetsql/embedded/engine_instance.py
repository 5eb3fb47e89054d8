"""An engine in this process: a Spark session, a store and a manager on one home folder.

`open_engine` opens it. JetSQL's interfaces call `execute` directly, and Spark's parser hook calls it, too.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import tzinfo
from functools import cached_property, lru_cache, partial
from pathlib import Path
from threading import Lock, Timer
from types import TracebackType
from typing import Any, Final

from jetsql.backup.backup_manifest import BackupManifest
from jetsql.backup.make_backup import BackedUpHome, OnlineBackups
from jetsql.embedded.bound_statements import bind, bound_statement
from jetsql.embedded.endpoints import Addresses, open_endpoints
from jetsql.embedded.own_places import own_places
from jetsql.engine.jvm import java_classes
from jetsql.engine.jvm.class_archive import archive_later
from jetsql.engine.jvm.java_classes import without_secrets
from jetsql.engine.runs.spark_runtime import RuntimeSettings, SparkRuntime
from jetsql.engine.session import audit_records, extension, relation_views, streaming_selects
from jetsql.engine.session import spark_statements as statements
from jetsql.engine.session.engine_sessions import open_engine_session, open_user_session
from jetsql.engine.session.spark_hints import hints_for
from jetsql.engine.spark.spark_end import SparkEnd, unwatch_spark, watch_spark
from jetsql.engine.spark.spark_endpoints import end_logins
from jetsql.engine.spark.startup import (
    Session,
    is_lost,
    is_stopped,
    kill_process,
    load_kafka_connector,
    redact_table_options,
)
from jetsql.errors import EngineError, ErrorReport, check_text
from jetsql.home.home_lock import HomeLock
from jetsql.home.machine_use import Heap, MachineUse, measure_machine
from jetsql.home.storage import Storage
from jetsql.identity.open_issuer import open_issuer
from jetsql.jobs.access.logins import Logins, is_of
from jetsql.jobs.access.user_limits import UserLimits
from jetsql.jobs.audit.audit_file import AuditFile
from jetsql.jobs.audit.audit_log import AuditLog, active_record
from jetsql.jobs.audit.spark_records import SparkRecords
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.manager.run_reports import RunReports
from jetsql.jobs.manager.serial_executor import closed_error
from jetsql.jobs.manager.table_users import refuse_change
from jetsql.jobs.model.cluster_member import Role
from jetsql.jobs.model.job import name_key
from jetsql.jobs.model.redaction import show
from jetsql.jobs.statements import statement_table, system_tables
from jetsql.jobs.statements.function_statements import drop_function
from jetsql.jobs.statements.job_queries import JobQueries
from jetsql.jobs.statements.lookup import find_job_of_argument
from jetsql.jobs.statements.metrics_sample import JobSample
from jetsql.jobs.store.job_store import Store
from jetsql.jobs.store.metrics import Metrics, keeps_metrics
from jetsql.language import parse
from jetsql.language.body.misplaced_clauses import refuse_misplaced_clauses
from jetsql.language.body.parameter_markers import check_number
from jetsql.language.statement import Statement
from jetsql.language.tokens import tokens
from jetsql.request import ENGINE, OWNER, Endpoint, acting_for, current, inside_process
from jetsql.resultset import Column, Table
from jetsql.server.prometheus import PrometheusResponse, prometheus_response
from jetsql.server.statement_result import StatementResult, from_table
from jetsql.settings.engine_settings import EndpointSettings, Settings, shown_settings
from jetsql.version import VERSION


@lru_cache(maxsize=16)
def _parsed(text: str) -> Statement | None:
    """Return the statement of a text. Spark passes each text twice, for its plan and for its execution."""
    return parse(text)


_OWN_RESULT_SECONDS: Final = 1.0
"""The time in which a client gets the result of the statement that has ended its own login."""


class EngineInstance:
    """JetSQL on one Spark session. As a context manager it stops jobs gracefully; the next start continues them."""

    def __init__(
        self,
        spark: Session,
        store: Store,
        settings: Settings,
        storage: Storage,
        lock: HomeLock | None,
        owns_spark: bool,
        on_lost: Callable[[EngineInstance], None],
    ) -> None:
        """Start the jobs of the store.

        lock: `close` releases it. owns_spark: whether `close` stops Spark. on_lost: called when another engine leads.
        """
        self.spark, self._owns_spark = spark, owns_spark
        self._settings, self._lock, self._store = settings, lock, store
        metrics = Metrics()
        self._metrics_store = store.database.metrics_store(metrics)
        runtime = SparkRuntime(spark, _runtime_settings(spark, store, settings, storage))
        self._backups = OnlineBackups(_copied_home(settings, storage, store), runtime)
        self.audit = audit = AuditLog(AuditFile(settings.home), settings.audit)
        self._manager = _make_manager(store, runtime, settings, metrics, audit)
        self.queries = JobQueries(self._manager)
        self.accounts = self._manager.access
        self.limits = UserLimits(settings.limits, self.accounts)
        self.issuer_users = open_issuer(settings.identity, self.accounts, self.accounts.change, self._manager.clock)
        """The users of the issuer of JWTs; None without one."""
        self._runtime = runtime
        self._closed = False
        self._logins: Logins | None = None  # of the open endpoints
        self.accounts.on_change(self._end_logins)
        java_classes.enable(spark)
        if not owns_spark:
            redact_table_options(spark)
        if settings.kafka:
            load_kafka_connector(spark)
        self._functions = extension.connect(spark, self._callbacks())
        audit_records.connect(spark, self.audit.is_on, self.audit.is_required)
        self.audit.note("engine start", ENGINE, detail=f"JetSQL {VERSION}, process {os.getpid()}.")
        relation_views.install(spark, system_tables.SYSTEM_TABLES)
        streaming_selects.connect(spark, storage.streaming_selects, settings.streaming_select_seconds)
        self._metrics_store.start({job.id for job in store.all_jobs() if keeps_metrics(job)})
        try:
            self._manager.start()
        except BaseException:
            self._metrics_store.close()
            raise
        store.database.watch(lambda: on_lost(self))
        self._archiving = archive_later(settings.class_archives) if owns_spark else None
        atexit.register(self.close)

    def _callbacks(self) -> extension.EngineCallbacks:
        records = SparkRecords(self.audit)
        return extension.EngineCallbacks(
            describe=describe,
            execute=self._execute,
            bind=bind,
            check_number=check_number,
            rows=lambda name: list(system_tables.rows(self._manager, name)),
            check_topic=partial(extension.check_table_topic, self.spark),
            refuse_change=partial(refuse_change, self._manager.registry, self.accounts.sees_job),
            drop_function=partial(drop_function, self._manager),
            change_object=self.accounts.note_object_change,
            find_state=lambda job: self._runtime.locate_state(find_job_of_argument(self._manager, job).job),
            log_in=self._log_in,
            audit_secret=records.secret,
            audit_begin=records.begin,
            audit=records.end,
        )

    def run(self, text: str, live: bool = False) -> StatementResult:
        """Run one statement, JetSQL's or Spark's, in the engine's own session. See `StatementSession.run`."""
        return StatementSession(self, self.spark).run(text, live=live)

    def session(self) -> StatementSession:
        """Return a new session with its own current schema, settings and temporary views."""
        if self.closed:
            raise closed_error()
        return StatementSession(self)

    @property
    def home(self) -> Path:
        """Return the home folder."""
        return self._settings.home

    @cached_property
    def facts(self) -> dict[str, str]:
        """Return versions and settings by name, without secrets."""
        with acting_for(ENGINE):  # the first caller may be any user
            about = self.about()
        facts = {name: str(about[name]) for name in ("version", "spark", "master", "home", "pid")}
        return facts | shown_settings(self._settings)

    def machine_use(self) -> MachineUse:
        """Return the current use of this machine, and of the heap of Spark's driver."""
        jvm: Any = self.spark.sparkContext._jvm
        runtime = jvm.java.lang.Runtime.getRuntime()
        return measure_machine(self.home, Heap(runtime.totalMemory() - runtime.freeMemory(), runtime.maxMemory()))

    @property
    def catalogs(self) -> tuple[str, ...]:
        """Return the names of all catalogues that statements can use, from the settings."""
        return self._settings.catalog_names

    def prometheus_response(self, sessions: int, statements: int) -> PrometheusResponse:
        """Return the metrics for Prometheus. sessions, statements: the current numbers of clients' ones."""
        return prometheus_response(self.queries, sessions, statements)

    def sample_jobs(self) -> tuple[JobSample, ...]:
        """Return the current state of the jobs."""
        return self.queries.all_samples()

    def about(self) -> dict[str, Any]:
        """Return facts about this engine, as JSON values; those about its machine only for an admin."""
        machine = {"master": self.spark.sparkContext.master, "home": str(self.home), "pid": os.getpid()}
        return {
            "version": VERSION,
            "spark": self.spark.version,
            **(machine if self.accounts.is_admin else {}),
            "role": Role.LEADER.value,
            "jobs": dict(self.queries.statuses()),
        }

    def back_up(self, folder: Path) -> BackupManifest:
        """Write a backup while the jobs run. folder: new or empty. Raises EngineError BACKUP_FAILED."""
        return self._backups.write(folder)

    def error(self, error: BaseException, text: str) -> ErrorReport:
        """Return the parts of an error that `run` raised for the text."""
        if is_lost(error):
            message = "The engine has ended, because Spark's process has ended."
            hint = "Start the engine again; the jobs continue."
            return EngineError("ENGINE_NOT_REACHABLE", message, hint=hint).report()
        return statements.build_error_report(error, text)

    def without_secrets(self, text: str) -> str:
        """Return a text of an error with the secrets that options refer to redacted."""
        return without_secrets(text)

    @contextmanager
    def open_endpoints(self, settings: EndpointSettings, token: str) -> Iterator[Addresses]:
        """Open the endpoints other than HTTP inside the context; its end cancels waiting statements.

        Raises EngineError ENGINE_NOT_STARTED.
        """
        self._logins = Logins(token, self.accounts, self.issuer_users, self.audit)
        with open_endpoints(self.spark, self.home, settings) as addresses:
            try:
                yield addresses
            finally:
                self._logins = None
                self._functions.cancel_all()
                streaming_selects.stop_all(self.spark)

    def _log_in(self, **login: Any) -> dict[str, Any]:
        if self._logins is None:
            raise closed_error()
        return self._logins.log_in(**login)

    def _end_logins(self) -> None:
        """End the sessions at Spark's endpoints whose login is not valid any more."""
        ended = {} if self._logins is None or self._closed else self._logins.take_ended()
        caller = current().caller
        own = {key: reason for key, reason in ended.items() if is_of(key, caller)}
        others = {key: reason for key, reason in ended.items() if key not in own}
        if others:
            end_logins(self.spark, others)
        if own:
            timer = Timer(_OWN_RESULT_SECONDS, end_logins, (self.spark, own))
            timer.daemon = True
            timer.start()

    def close(self) -> None:
        """Stop the live jobs at a batch boundary and release the home folder; further calls have no effect."""
        if self._closed:
            return
        self._closed = True
        if self._archiving is not None:
            self._archiving.cancel()
        atexit.unregister(self.close)
        try:
            if self._owns_spark:
                unwatch_spark(self.spark)
            if not is_stopped(self.spark):
                streaming_selects.stop_all(self.spark)
            self._manager.close()
            self._metrics_store.close()
            self._store.close()  # a standby leads from now on
            if not is_stopped(self.spark):
                audit_records.flush(self.spark)
            extension.disconnect(self.spark)
            if self._owns_spark:
                self.spark.stop()
            else:
                self._runtime.publish_rights(None)  # the program that has started Spark continues with it
        finally:
            self._metrics_store.close()
            self._store.close()
            self.audit.note("engine stop", ENGINE)
            self.audit.close()
            if self._lock is not None:
                self._lock.release()

    def kill_spark(self) -> None:
        """Kill Spark's process, so that nothing of its jobs continues. The engine is not usable afterwards."""
        self._closed = True
        kill_process(self.spark)

    def watch_spark(self) -> Callable[[], SparkEnd]:
        """Kill Spark's process when its application ends before `close`.

        Returns a function that blocks until the process has ended.
        """
        return watch_spark(self.spark)

    def record_crash(self, reason: str) -> None:
        """Store which job has ended Spark, before this process ends as well. reason: why Spark ended, a sentence."""
        self._manager.record_crash(self._runtime.describe_crash(reason))

    @property
    def is_closing(self) -> bool:
        """Return whether `close` was called."""
        return self._closed

    @property
    def closed(self) -> bool:
        """Return whether the engine or its Spark is stopped; in both cases `close` releases the home folder."""
        return self._closed or is_stopped(self.spark)

    @property
    def leads(self) -> bool:
        """Return whether this engine surely leads; False while its store is out of reach, so that another may lead."""
        return self._store.database.leadership.is_confirmed

    def execute(self, statement: Statement, session: Callable[[], Session]) -> Table:
        """Execute a JetSQL statement. session: called when the statement needs a session."""
        return statement_table.execute(self._manager, statement, session)

    def _execute(self, text: str, session: Session) -> Table:
        statement = _parsed(text)
        assert statement is not None, "the parser hook passes JetSQL's statements only"
        return self.execute(statement, lambda: session)

    @cached_property
    def zone(self) -> tzinfo:
        """Return the time zone of a new session."""
        return statements.session_zone(open_engine_session(self.spark))

    def __enter__(self) -> EngineInstance:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class StatementSession:
    """A session of an engine. Several threads can run statements in it in parallel, as in a Spark session."""

    def __init__(self, engine: EngineInstance, spark: Session | None = None) -> None:
        """Create the session. spark: its Spark session; None to create one when it is first needed."""
        self._engine = engine
        self._spark = spark
        self._creation = Lock()

    @property
    def spark(self) -> Session:
        """Return the Spark session."""
        with self._creation:
            if self._spark is None:
                caller = current().caller
                user = OWNER if caller is ENGINE else name_key(caller.user)
                self._spark = open_user_session(self._engine.spark, user)
            return self._spark

    def run(self, text: str, parameters: statements.Parameters | None = None, live: bool = False) -> StatementResult:
        """Run one statement, JetSQL's or Spark's; its rows must be read on the same thread.

        parameters: values of Spark's parameter markers, see `jetsql.server.parameter_values`. live: whether the result
        of a SELECT over a stream has no end.
        Raises JetSQLError or Spark's errors, also while the rows are read.
        """
        if active_record() is None:
            return self._run_in_process(text, parameters, live)
        statement = self._parse(text, parameters)
        if statement is None:
            with hints_for(lambda: self.spark, text):
                rows = statements.run(self.spark, text, parameters, live)
            return StatementResult(rows.columns, rows.rows, rows.live)
        return self._execute(statement, text)

    def _run_in_process(self, text: str, parameters: statements.Parameters | None, live: bool) -> StatementResult:
        """Run a statement of a program in this process, and record it when its first rows are there."""
        with inside_process(Endpoint.EMBEDDED):
            record = self._engine.audit.statement(text)
            try:
                with record.active():
                    return self.run(text, parameters, live)
            except Exception as error:
                record.fail(self._engine.error(error, text).condition)
                raise
            finally:
                record.end()

    def run_arrow(self, text: str, parameters: statements.Parameters | None = None) -> Iterator[bytes]:
        """Run one statement as `run` does, and return the rows as parts of an Arrow stream."""
        statement = self._parse(text, parameters)
        if statement is None:
            return self._run_spark_arrow(text, parameters)
        result = self._execute(statement, text)
        return statements.encode_arrow(self.spark, result.columns, result.rows)

    def _run_spark_arrow(self, text: str, parameters: statements.Parameters | None) -> Iterator[bytes]:
        with hints_for(lambda: self.spark, text):
            yield from statements.run_arrow(self.spark, text, parameters)

    def _parse(self, text: str, parameters: statements.Parameters | None) -> Statement | None:
        """Return a JetSQL statement with its parameters; None for a statement of Spark.

        Raises StatementError, EngineError.
        """
        check_text(text, "The statement")
        if not parameters or self._engine.closed:
            statement = _parsed(text)
        else:
            _, statement = bound_statement(text, lambda: statements.literal_texts(self.spark, parameters))
        if self._engine.closed:
            raise closed_error()
        return statement

    def _execute(self, statement: Statement, text: str) -> StatementResult:
        with inside_process(Endpoint.EMBEDDED), hints_for(lambda: self.spark, text):
            table = self._engine.execute(statement, lambda: self.spark)
        zone = self._engine.zone if self._spark is None else statements.session_zone(self._spark)
        return from_table(table, zone)

    def schema(self) -> str:
        """Return the current schema, qualified with the catalog unless it is `spark_catalog`."""
        catalog = self.spark.catalog.currentCatalog()
        schema = self.spark.catalog.currentDatabase()
        return schema if catalog == "spark_catalog" else f"{catalog}.{schema}"


def describe(text: str) -> tuple[Column, ...] | None:
    """Return the columns of a statement's result; None for a statement of Spark.

    Raises StatementError for a statement that is nearly one of JetSQL's, and for clauses of streams at a wrong place.
    """
    statement = _parsed(text)
    if statement is None:
        refuse_misplaced_clauses(list(tokens(text)))
        return None
    return statement_table.columns(statement)


def _runtime_settings(spark: Session, store: Store, settings: Settings, storage: Storage) -> RuntimeSettings:
    return RuntimeSettings(
        storage.checkpoints,
        storage.snapshots,
        settings.single_file_bytes,
        settings.old_versions_seconds,
        leadership=store.database.leadership,
        watchdog=settings.watchdog,
        home=str(settings.home),
        own_places=own_places(settings, storage, str(spark.conf.get("spark.sql.warehouse.dir"))),
        lineage_namespace=settings.openlineage.openlineage_namespace if settings.openlineage.is_on else "",
    )


def _make_manager(
    store: Store, runtime: SparkRuntime, settings: Settings, metrics: Metrics, audit: AuditLog
) -> Manager:
    return Manager(
        store,
        runtime,
        settings.jobs,
        metrics=metrics,
        audit=audit,
        limits=settings.limits,
        alerts=settings.alerts,
        reports=RunReports(settings.openlineage, settings.opentelemetry),
    )


def _copied_home(settings: Settings, storage: Storage, store: Store) -> BackedUpHome:
    catalog, confs = settings.catalog_database, show(settings.spark_conf)
    return BackedUpHome(settings.home, storage, store.database, catalog, confs, settings.iceberg_servers)
