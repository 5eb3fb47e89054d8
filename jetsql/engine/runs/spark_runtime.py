"""The implementation of `jobs.lifecycle.runtime.JobRuntime` on Spark, from analysis, runs, sinks and checkpoints."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyspark
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jetsql.engine.checkpoints.checkpoint_copies import CheckpointPins, list_image
from jetsql.engine.checkpoints.checkpoint_folders import Checkpoints
from jetsql.engine.checkpoints.job_lease import JobLease
from jetsql.engine.checkpoints.state_copies import StateCopies, cancel_when
from jetsql.engine.checkpoints.state_locations import StateLocations
from jetsql.engine.checkpoints.write_gate import WriteGate
from jetsql.engine.errors import run_failures
from jetsql.engine.functions.python_functions import PythonFunctions
from jetsql.engine.jdbc.jdbc_dialects import LEDGER_FORMAT
from jetsql.engine.jvm.filesystem import FileSystem
from jetsql.engine.jvm.java_classes import java
from jetsql.engine.jvm.spark_version import fixed_partitions
from jetsql.engine.runs.analysis import resolve_body, resolve_with_plan
from jetsql.engine.runs.job_runs import JobRuns
from jetsql.engine.runs.owner_checks import check_owner, check_writes
from jetsql.engine.runs.real_time_runs import check_real_time_query
from jetsql.engine.runs.source_starts import decide_starts
from jetsql.engine.runs.start_checks import (
    check_formats,
    check_sources,
)
from jetsql.engine.session.catalog import Catalog
from jetsql.engine.session.engine_sessions import as_user
from jetsql.engine.session.job_sessions import JobSessions, with_utc_windows
from jetsql.engine.session.job_tables import create_table, has_function, has_namespace, is_empty, qualify, time_columns
from jetsql.engine.sinks.batch_records import FORMAT as MANIFEST_FORMAT
from jetsql.engine.sinks.file_tables import PART_NAMES
from jetsql.engine.sinks.job_sinks import JobSinks
from jetsql.engine.sinks.sink_kinds import check_sinks
from jetsql.engine.spark.derby_backup import back_up_derby
from jetsql.engine.spark.executors import list_members, watch_members
from jetsql.engine.spark.spark_end import is_ending
from jetsql.engine.watchdogs.resource_watchdog import ResourceWatchdog
from jetsql.errors import StatementError
from jetsql.failpoints import failpoint
from jetsql.jobs.lifecycle.runtime import (
    CheckpointImage,
    CopiedState,
    CrashReport,
    JobTable,
    MembersListener,
    OptionProblem,
    Report,
    SinkNotice,
    UserSession,
)
from jetsql.jobs.lifecycle.step_context import as_sentence
from jetsql.jobs.model.body_analysis import Analysis, OutputMode
from jetsql.jobs.model.cluster_member import Member
from jetsql.jobs.model.function import Function
from jetsql.jobs.model.job import Cause, Job, Plan, RunId, SourceStart, Status, Version
from jetsql.jobs.model.job_options import Guarantee, Trigger
from jetsql.jobs.model.leadership import Leadership
from jetsql.jobs.planning.output_mode import MODES
from jetsql.language.statement import Body, CreateFunction, StartMode, TableIdentifier
from jetsql.settings.watchdog_settings import WatchdogSettings
from jetsql.version import VERSION

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class RuntimeSettings:
    """The engine's settings; for those without a comment see `jetsql.settings.Settings`."""

    checkpoint_root: str
    """The folder of all checkpoints, a path or URI."""
    snapshot_root: str
    """The folder of all snapshots, a path or URI."""
    single_file_bytes: int = 256 * 1024
    old_versions_seconds: float = 600.0
    pending_seconds: float = 600.0
    """The time that a snapshot or an update waits for a pending batch."""
    leadership: Leadership = field(default_factory=Leadership)
    """The right of this engine to write."""
    watchdog: WatchdogSettings = field(default_factory=WatchdogSettings)
    home: str = ""
    """The home folder, whose disk is watched."""
    own_places: Sequence[str] = ()
    """The files and folders that no right on a location opens, as paths or URIs; see `own_places`."""
    lineage_namespace: str = ""
    """The namespace of datasets in the lineage of runs, which they report; empty for no reports."""


class SparkRuntime:
    """The engine that runs jobs on the Spark of one session."""

    def __init__(self, spark: SparkSession, settings: RuntimeSettings) -> None:
        self._spark = spark
        self._settings = settings
        self._catalog = Catalog(spark)
        self._files = FileSystem(spark)
        self._checkpoints = Checkpoints(self._files.qualify(settings.checkpoint_root), self._files, settings.leadership)
        self._sessions = JobSessions(spark, self._checkpoints.root)
        self._pins = CheckpointPins()
        self._gate = WriteGate()
        self._sinks = JobSinks(
            spark,
            self._catalog,
            self._checkpoints,
            self._gate,
            settings.single_file_bytes,
            settings.old_versions_seconds,
        )
        self._state_copies = StateCopies(self._checkpoints, self._pins, self._files.qualify(settings.snapshot_root))
        self._state_locations = StateLocations(self._checkpoints)
        watchdog = ResourceWatchdog(spark)
        watchdog.start(settings.watchdog, (settings.home, self._checkpoints.root))
        self._runs = JobRuns(
            self._sessions, self._sinks, self._pins, watchdog, settings.pending_seconds, settings.lineage_namespace
        )
        self._functions = PythonFunctions(spark)
        self._newest_analysis: tuple[Body, Any] | None = None
        java(spark).rights.EnginePlaces.publish(json.dumps(list(settings.own_places)))

    @property
    def fixed_partitions(self) -> str:
        return fixed_partitions()

    def analyse(
        self,
        body: Body,
        session: UserSession,
        modes: Sequence[OutputMode],
        state_ttl_millis: int | None,
        local_windows: bool = True,
    ) -> Analysis:
        spark = _spark(session)
        captured = self._sessions.capture(spark)
        resolved_in = spark if local_windows else with_utc_windows(spark)
        resolved = resolve_body(body, resolved_in, captured, modes, state_ttl_millis)
        if resolved.misspelled is not None:
            raise resolved.misspelled
        self._newest_analysis = (body, resolved.query)
        return resolved.analysis

    def locate_state(self, job: Job) -> dict[str, Any]:
        """Return where the state of a job is, see `StateLocations`. Raises StatementError STATE_NOT_FOUND."""
        return self._state_locations.locate(job, self._sessions.state_confs(job))

    def qualify_function(self, statement: CreateFunction, session: UserSession) -> tuple[str, str]:
        return self._functions.qualify(statement, _spark(session))

    def check_function(self, statement: CreateFunction, schema: str, name: str, session: UserSession) -> Function:
        return self._functions.check(statement, schema, name, _spark(session))

    def register_function(self, function: Function) -> None:
        self._functions.register(function)

    def forget_function(self, schema: str, name: str) -> None:
        self._functions.forget(schema, name)

    def hides_function(self, name: str) -> bool:
        return self._functions.is_hidden(name)

    def analyse_again(self, job: Job) -> Analysis:
        session = self._sessions.open_for_plan(job.plan, job.version.session_defaults)
        return resolve_with_plan(job.body, session, job.plan).analysis

    def qualify(self, table: TableIdentifier, session: UserSession) -> str:
        return qualify(table, _spark(session))

    def find_table(self, table: str) -> JobTable | None:
        facts = self._catalog.table(table)
        return None if facts is None else JobTable(facts.name, facts.kind, facts.job, facts.is_view, facts.columns)

    def as_user(self, session: UserSession, user: str) -> UserSession:
        return as_user(_spark(session), user)

    def check_owner(self, job: Job) -> None:
        check_owner(job, self._sessions, self._sinks)

    def check_writes(self, plan: Plan, owner: str) -> None:
        check_writes(owner, plan, self._sinks)

    def publish_rights(self, rights: str | None) -> None:
        java(self._spark).rights.Rights.publish(rights)

    def publish_connections(self, connections: str) -> None:
        java(self._spark).connections.Connections.publish(connections)

    def find_connection_problem(self, kind: str, options: Mapping[str, str], state: str) -> OptionProblem | None:
        problem = java(self._spark).catalog.ConnectionChecks.problem(kind, json.dumps(dict(options)), state)
        return None if problem is None else OptionProblem(**json.loads(problem))

    def find_host_problem(self, url: str) -> str:
        return str(java(self._spark).connections.Hosts.problem(url) or "")

    def find_tables_with_option(self, name: str, value: str) -> Sequence[str]:
        found = java(self._spark).catalog.ConnectionChecks.tables(self._spark._jsparkSession, name, value)
        return [str(table) for table in json.loads(found)]

    def has_namespace(self, name: Sequence[str]) -> bool:
        return has_namespace(name, self._spark)

    def has_function(self, name: Sequence[str]) -> bool:
        return has_function(name, self._spark)

    def time_columns(self, table: str, session: UserSession) -> Sequence[str]:
        return time_columns(table, _spark(session))

    def columns(self, body: Body, session: UserSession) -> str:
        spark = _spark(session)
        written = resolve_body(body, spark, self._sessions.capture(spark), MODES[body.verb]).written
        return ", ".join(f"{field.name()} {field.dataType().simpleString()}" for field in written.schema().fields())

    def is_empty(self, table: str) -> bool:
        return is_empty(table, self._spark, self._catalog)

    def create_table(self, body: Body, session: UserSession, properties: Mapping[str, str]) -> None:
        create_table(body, _spark(session), properties)

    def drop_table(self, table: str) -> None:
        self._catalog.drop(table)

    def check_conf(self, name: str, value: str) -> None:
        self._sessions.check_conf(name, value)

    def check_reachable(self, plan: Plan, owner: str) -> None:
        """Check the external systems of a plan. Spark has already accessed file tables during analysis."""
        if plan.options.trigger is not Trigger.REAL_TIME:  # `check_real_time` checks its sources
            check_sources(self._spark, self._catalog, plan)
        self._sinks.create_side_tables(plan, owner)
        check_sinks(self._spark, self._catalog, plan)

    def decide_starts(self, plan: Plan, mode: StartMode, now: float) -> tuple[SourceStart, ...]:
        session = self._sessions.open_for_plan(plan, {})
        return decide_starts(session, self._catalog, plan, mode, now)

    def check_real_time(self, body: Body, plan: Plan, job: Job | None) -> None:
        self._check_real_time(body, plan, job)

    def count_real_time_cores(self, body: Body, plan: Plan, job: Job | None) -> int | None:
        analysed, query = self._newest_analysis or (None, None)  # most probably, the same statement has made it
        try:
            return self._check_real_time(body, plan, job, query if analysed is body else None)
        except (StatementError, PySparkException, Py4JError) as error:  # the statement is right without this trigger
            _LOG.debug("The trigger realTime is not possible: %s", run_failures.cause_of(error).message)
            return None

    def _check_real_time(self, body: Body, plan: Plan, job: Job | None, query: Any = None) -> int:
        """Return the number of cores that the body would occupy. Raises as `check_real_time`.

        query: the resolved query of the body; None to resolve it.
        """
        # For an unreachable broker, Spark's connector would wait for minutes.
        check_sources(self._spark, self._catalog, plan)
        session = self._sessions.open_for_plan(plan, {} if job is None else job.version.session_defaults)
        query = resolve_with_plan(body, session, plan).query if query is None else query
        return check_real_time_query(session, query, self._runs.count_held_cores(excluded_job=job))

    def explain(self, body: Body, plan: Plan, formatted: bool) -> str:
        spark = self._sessions.open_for_plan(plan, {})  # the plan depends on the settings of the job's runs
        query = resolve_with_plan(body, spark, plan).query
        dataset = java(spark).catalog.Sessions.dataset(spark._jsparkSession, query)
        jvm: Any = self._spark.sparkContext._jvm
        mode = jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted" if formatted else "simple")
        return str(dataset.queryExecution().explainString(mode))

    def start(self, job: Job, report: Report) -> None:
        check_formats(job, self.software_versions())
        JobLease(self._checkpoints, job).claim()
        if job.plan.guarantee is Guarantee.NONE:
            self._checkpoints.reset(job)
        self._checkpoints.delete_stale(job)
        session = self._sessions.open_for_job(job)
        self._state_copies.restore_snapshot(job, session)
        self._runs.accept_topics(job, report)
        if job.plan.options.trigger is Trigger.REAL_TIME:
            # For an unreachable broker, the start and a stop would wait for minutes.
            check_sources(self._spark, self._catalog, job.plan)
            # Real-time mode would replay a pending batch beyond its stored end.
            self._runs.finish_pending(job, report)
        with self._catalog.reading_once():
            self._runs.start(job, session, report)

    def copy_state(self, job: Job, snapshot: str, report: Report) -> CopiedState:
        # A job that waits for a restart may start a run at any time, which finishes the batch.
        if job.status is Status.SUSPENDED_EXPORTING_SNAPSHOT:
            self._runs.finish_pending(job, report)
        return self._state_copies.create_snapshot(job, snapshot, self._sessions.open_for_job(job))

    def delete_snapshot(self, snapshot: str) -> None:
        self._state_copies.delete_snapshot(snapshot)

    def snapshot_folders(self) -> tuple[str, ...]:
        return self._state_copies.list_snapshots()

    def prepare_update(self, job: Job, report: Report, cancelled: Future[None]) -> None:
        proposed = job.pending_version
        assert proposed is not None, "an update has a pending version"
        if job.plan.guarantee is not Guarantee.NONE:
            self._finish_or_leave_pending(job, report, cancelled)
        with cancel_when(cancelled, self._spark, f"update-{job.id}-{proposed.checkpoint}"):
            self._state_copies.copy_for_update(job, proposed, self._sessions.open_for_job(job))

    def _finish_or_leave_pending(self, job: Job, report: Report, cancelled: Future[None]) -> None:
        """Finish the pending batch, or leave it to the pending version, which reads its rows again.

        Raises StatementError PENDING_BATCH_FAILED when the batch cannot be finished and a table has a part of it.
        """
        batch = self._checkpoints.read_progress(job).replayed_batch
        if batch is None:
            return
        if not self._has_written_nothing(job):
            try:
                self._runs.finish_pending(job, report, cancelled)
            except StatementError as error:
                is_failure = error.condition == "JETSQL.PENDING_BATCH_FAILED"
                if not is_failure or cancelled.done() or self._sinks.has_part(job, batch):
                    raise
                report(SinkNotice(job.run_id, _describe_left_batch(job, batch, error)))
            else:
                return
        self._sinks.discard_result(job, batch)

    def _has_written_nothing(self, job: Job) -> bool:
        """Return whether a version after the first has written no batch to the sink.

        Its pending batch need not be finished: it may never end, and the next version reads the same rows.
        """
        return job.version.checkpoint > 0 and not self.sink_has_batch(job)

    def discard_version(self, job: Job, version: Version) -> None:
        with self._gate.writing(job.name):
            self._state_copies.discard_checkpoint(job.id, version.checkpoint)
            self._sinks.discard_version(job, version)

    def sink_has_batch(self, job: Job) -> bool:
        progress = self._checkpoints.read_progress(job)
        if progress.committed is not None and progress.committed > self._state_copies.read_base_batch(job):
            return True
        pending = progress.replayed_batch
        return pending is not None and self._sinks.has_batch(job, pending)

    def stop(self, run: RunId, deadline_seconds: float) -> bool:
        return self._runs.stop(run, deadline_seconds)

    def watch(self, run: RunId, wait: int) -> None:
        self._runs.watch(run, wait)

    @property
    def is_ending(self) -> bool:
        return is_ending(self._spark)

    def recover_sink(self, job: Job) -> None:
        with self._catalog.reading_once():
            self._sinks.recover(job)

    def discard_files(self, job: Job) -> None:
        self._runs.await_tasks(job)
        with self._gate.writing(job.name):
            self._pins.wait_until_unpinned(job.id)
            self._sinks.discard(job)
            if job.rollback_version is not None:
                self._sinks.discard_version(job, job.rollback_version)
            failpoint("staging-discarded", job.name)
            self._checkpoints.discard(job)

    def delete_staged_rows(self, jobs: Sequence[Job]) -> None:
        self._sinks.delete_staged_rows(jobs)

    def copying_files(self) -> AbstractContextManager[None]:
        """Keep the replaced snapshots of tables inside the context, for a backup."""
        return self._gate.copying()

    def closed_sinks(self, seconds: float) -> AbstractContextManager[None]:
        """Let no sink write inside the context. Raises EngineError BACKUP_FAILED, see `WriteGate.closed`."""
        return self._gate.closed(seconds)

    @contextmanager
    def pinned_image(self, job: Job) -> Iterator[CheckpointImage]:
        """Return the files of the job's checkpoints, which stay inside the context."""
        committed = self._checkpoints.read_progress(job).committed
        with self._pins.pin(job.id, -1 if committed is None else committed):
            yield list_image(self._checkpoints, job)

    def back_up_catalog(self, metastore: Path, folder: Path) -> None:
        """Copy the catalogue on Derby into a folder, while it is used. Raises EngineError BACKUP_FAILED."""
        back_up_derby(self._spark, metastore, folder)

    def cause_of(self, error: Exception) -> Cause:
        return run_failures.cause_of(error)

    def software_versions(self) -> dict[str, str]:
        return {
            "jetsql": VERSION,
            "spark": pyspark.__version__,
            "manifest": str(MANIFEST_FORMAT),
            "part_names": str(PART_NAMES),
            "ledger": str(LEDGER_FORMAT),
        }

    def members(self) -> tuple[Member, ...]:
        return list_members(self._spark)

    def watch_members(self, listener: MembersListener) -> None:
        watch_members(self._spark, listener)

    def session_defaults(self) -> dict[str, str]:
        return self._sessions.defaults()

    def describe_crash(self, reason: str) -> CrashReport:
        """Return what is known about the end of Spark's process, without Spark. reason: why it ended, a sentence."""
        return self._runs.describe_crash(reason)


def _describe_left_batch(job: Job, batch: int, error: StatementError) -> str:
    """Return the notice that the new version computes a batch that the old one could not finish."""
    tables = job.plan.analysis.sink_names
    is_tracked = job.plan.guarantee is Guarantee.EXACTLY_ONCE
    rows = f"no row of it is in {tables}" if is_tracked else f"{tables} may have some of its rows already"
    reason = as_sentence(error.message)
    return f"{reason} The new version reads the rows of batch {batch} again; {rows}."


def _spark(session: UserSession) -> SparkSession:
    """Return the Spark session of a statement's handle."""
    assert isinstance(session, SparkSession)
    return session
