"""The implementation of `jobs.lifecycle.engine_api.Engine` on Spark, from analysis, runs, sinks and checkpoints."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from jetsql.engine.checkpoints.checkpoint_check import check_checkpoint
from jetsql.engine.checkpoints.checkpoint_copies import CheckpointPins, correct_schema_paths
from jetsql.engine.checkpoints.checkpoint_folders import Checkpoints
from jetsql.engine.checkpoints.checkpoint_images import list_image
from jetsql.engine.checkpoints.checkpoint_reader import Progress, fill_offset_gap
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
from jetsql.engine.runs.analysis import ResolvedBody, resolve_body, resolve_with_plan
from jetsql.engine.runs.kafka_watchdog import KafkaWatchdog
from jetsql.engine.runs.real_time_runs import RealTimeRun, check_real_time_query
from jetsql.engine.runs.resource_reports import Activity, judge_crash
from jetsql.engine.runs.resource_watchdog import ResourceWatchdog
from jetsql.engine.runs.spark_runs import BatchRun, PendingBatchRun, Run, RunContext, StreamingRun, pending_batch_failed
from jetsql.engine.runs.start_checks import (
    check_formats,
    check_not_ahead,
    check_same_query,
    check_sink,
    check_sources,
)
from jetsql.engine.session.catalog import Catalog
from jetsql.engine.session.derby_backup import back_up_derby
from jetsql.engine.session.executors import list_members, watch_members
from jetsql.engine.session.job_sessions import JobSessions
from jetsql.engine.session.job_tables import create_table, is_empty, qualify, time_columns
from jetsql.engine.sinks import SinkContext, SinkWriter
from jetsql.engine.sinks.batch_records import FORMAT as MANIFEST_FORMAT
from jetsql.engine.sinks.branched_sink import BranchRun, branch_contexts
from jetsql.engine.sinks.file_tables import PART_NAMES
from jetsql.engine.sinks.kafka.dead_letters import create_dead_letter_tables, with_dead_letters
from jetsql.engine.sinks.late_rows import create_late_rows_table, with_late_rows
from jetsql.engine.sinks.sink_choice import choose_sink
from jetsql.errors import StatementError
from jetsql.failpoints import failpoint
from jetsql.jobs.lifecycle.engine_api import (
    CheckpointImage,
    CopiedState,
    CrashReport,
    EngineEvent,
    JobTable,
    MembersListener,
    Report,
    RestartRequested,
    RunCompleted,
    RunFailed,
    SinkNotice,
    UserSession,
)
from jetsql.jobs.lifecycle.step_context import as_sentence, join_sentences
from jetsql.jobs.model.cluster_member import Member
from jetsql.jobs.model.function import Function
from jetsql.jobs.model.job import (
    Analysis,
    Cause,
    Guarantee,
    Job,
    OutputMode,
    Plan,
    RunId,
    SinkKind,
    Status,
    Trigger,
    Version,
)
from jetsql.jobs.model.leadership import Leadership
from jetsql.jobs.planning.output_mode import MODES
from jetsql.jobs.planning.progress_tracking import is_topic_to_topic
from jetsql.language.statement import Body, CreateFunction, TableIdentifier
from jetsql.settings.watchdog_settings import WatchdogSettings
from jetsql.version import VERSION


@dataclass(frozen=True)
class EngineSettings:
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


class SparkEngine:
    """The engine that runs jobs on the Spark of one session."""

    def __init__(self, spark: SparkSession, settings: EngineSettings) -> None:
        self._spark = spark
        self._settings = settings
        self._catalog = Catalog(spark)
        self._files = FileSystem(spark)
        self._checkpoints = Checkpoints(self._files.qualify(settings.checkpoint_root), self._files, settings.leadership)
        self._sessions = JobSessions(spark, self._checkpoints.root)
        self._pins = CheckpointPins()
        self._gate = WriteGate()
        self._state_copies = StateCopies(self._checkpoints, self._pins, self._files.qualify(settings.snapshot_root))
        self._state_locations = StateLocations(self._checkpoints)
        self._runs: dict[RunId, Run] = {}
        self._lock = threading.Lock()
        self._kafka_watchdog = KafkaWatchdog(spark, self._catalog)
        self._resource_watchdog = ResourceWatchdog(spark)
        self._resource_watchdog.start(settings.watchdog, (settings.home, self._checkpoints.root))
        self._functions = PythonFunctions(spark)

    @property
    def fixed_partitions(self) -> str:
        return fixed_partitions()

    def analyse(
        self, body: Body, session: UserSession, modes: Sequence[OutputMode], state_ttl_millis: int | None
    ) -> Analysis:
        spark = _spark(session)
        return resolve_body(body, spark, self._sessions.capture(spark), modes, state_ttl_millis).analysis

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

    def check_reachable(self, plan: Plan) -> None:
        """Check the external systems of a plan. Spark has already accessed file tables during analysis."""
        if plan.trigger is not Trigger.REAL_TIME:  # `check_real_time` checks its sources
            check_sources(self._spark, self._catalog, plan)
        self._create_side_tables(plan)
        for branch in plan.branches:
            check_sink(self._spark, self._catalog, branch)

    def _create_side_tables(self, plan: Plan) -> None:
        create_dead_letter_tables(self._spark, self._catalog, plan)
        create_late_rows_table(self._spark, self._catalog, plan)

    def check_real_time(self, body: Body, plan: Plan, job: Job | None) -> None:
        # For an unreachable broker, Spark's connector would wait for minutes.
        check_sources(self._spark, self._catalog, plan)
        session = self._sessions.open_for_plan(plan, {} if job is None else job.version.session_defaults)
        query = resolve_with_plan(body, session, plan).query
        check_real_time_query(session, query, self._count_held_cores(excluded_job=job))

    def _count_held_cores(self, excluded_job: Job | None = None) -> int:
        """Return the number of cores that real-time runs occupy, without those of the excluded job."""
        with self._lock:
            runs = [run for id_, run in self._runs.items() if excluded_job is None or id_.job != excluded_job.id]
        return sum(run.held_cores for run in runs if isinstance(run, RealTimeRun))

    def explain(self, body: Body, plan: Plan, session: UserSession, formatted: bool) -> str:
        spark = _spark(session)
        query = resolve_with_plan(body, spark, plan).query
        dataset = java(spark).sql.Sessions.dataset(spark._jsparkSession, query)
        jvm: Any = self._spark.sparkContext._jvm
        mode = jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted" if formatted else "simple")
        return str(dataset.queryExecution().explainString(mode))

    def start(self, job: Job, report: Report) -> None:
        check_formats(job, self.software_versions())
        JobLease(self._checkpoints, job).claim()
        if job.plan.guarantee is Guarantee.NONE:
            self._checkpoints.reset(job)
        for folder in self._checkpoints.find_stale(job):
            self._files.delete(folder)
        session = self._sessions.open_for_job(job)
        self._state_copies.restore_snapshot(job, session)
        if job.plan.trigger is Trigger.REAL_TIME:
            # For an unreachable broker, the start and a stop would wait for minutes.
            check_sources(self._spark, self._catalog, job.plan)
            # Real-time mode would replay a pending batch beyond its stored end.
            self._finish_pending(job, report)
        context = self._open_run(job, session, self._forget_when_ended(report))
        run = _create_run(context)
        if isinstance(run, StreamingRun):
            self._kafka_watchdog.watch(run, job, context.report)
        try:
            if job.plan.trigger is Trigger.REAL_TIME:
                check_real_time_query(session, context.body.query, self._count_held_cores())
            self._begin(run, job, context.report)
        except BaseException:
            self._kafka_watchdog.unwatch(RunId(job.id, job.run))
            raise

    def _open_run(self, job: Job, session: SparkSession, report: Report, accepts_functions: bool = False) -> RunContext:
        """Return the context of a new run, after its checkpoint was checked and its sink recovered.

        accepts_functions: whether replaced functions are no reason to refuse the run.
        """
        for sink in job.plan.analysis.sinks:
            self._catalog.check_sink_exists(sink)
        self._create_side_tables(job.plan)  # a user may have dropped them while the job was suspended
        resolved = resolve_with_plan(job.body, session, job.plan)
        check_same_query(job, resolved, accepts_functions)
        lease = JobLease(self._checkpoints, job)
        checkpoint = self._checkpoints.spark_checkpoint(job.id, job.version.checkpoint)
        if resolved.unchecked_by_spark:
            session.conf.set("spark.sql.streaming.unsupportedOperationCheck", "false")
        if job.plan.state_ttl_millis is not None and not job.plan.analysis.waits_for_watermark:
            # Spark would run a batch at each trigger to remove state, also without new rows.
            session.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
        if is_topic_to_topic(job.plan.analysis):
            fill_offset_gap(self._files, checkpoint)
        if job.plan.analysis.has_state_variables:
            correct_schema_paths(self._files, checkpoint)
        progress = check_checkpoint(self._files, checkpoint, job)
        sink_rows: dict[int, dict[str, int]] = {}
        writer = self._run_writer(job, session, report, resolved, sink_rows)
        with self._gate.writing(job.name):
            writer.recover()
        self._check_restored(job, progress)
        return RunContext(
            job, session, resolved, writer, checkpoint, report, self._pins, self._gate, lease, progress, sink_rows
        )

    def _check_restored(self, job: Job, progress: Progress) -> None:
        """Raise StatementError SINK_CHANGED if the sink of a restored job has a batch that its checkpoint lacks."""
        note = self._checkpoints.restored_note(job.id)
        if self._files.exists(note):
            check_not_ahead(self._sink_context(job, self._spark, _no_report), progress)
            self._files.delete(note)

    def _begin(self, run: Run, job: Job, report: Report) -> None:
        self._resource_watchdog.watch(job, report, self._checkpoints.job_folder(job.id))
        with self._lock:
            self._runs[RunId(job.id, job.run)] = run
        failpoint("run-starting", job.name)
        try:
            run.start()
            failpoint("run-started", job.name)
        except BaseException:
            self._forget(RunId(job.id, job.run))
            raise

    def copy_state(self, job: Job, snapshot: str, report: Report) -> CopiedState:
        # A job that waits for a restart may start a run at any time, which finishes the batch.
        if job.status is Status.SUSPENDED_EXPORTING_SNAPSHOT:
            self._finish_pending(job, report)
        return self._state_copies.create_snapshot(job, snapshot, self._sessions.open_for_job(job))

    def delete_snapshot(self, snapshot: str) -> None:
        self._state_copies.delete_snapshot(snapshot)

    def snapshot_folders(self) -> tuple[str, ...]:
        return self._state_copies.list_snapshots()

    def prepare_update(self, job: Job, report: Report, cancelled: Future[None]) -> None:
        proposed = job.pending_version
        assert proposed is not None, "an update has a pending version"
        if job.plan.guarantee is not Guarantee.NONE and not self._has_written_nothing(job):
            self._finish_pending(job, report, cancelled)
        with cancel_when(cancelled, self._spark, f"update-{job.id}-{proposed.checkpoint}"):
            self._state_copies.copy_for_update(job, proposed, self._sessions.open_for_job(job))

    def _has_written_nothing(self, job: Job) -> bool:
        """Return whether a version after the first has written no batch to the sink.

        Its pending batch need not be finished: it may never end, and the next version reads the same rows.
        """
        return job.version.checkpoint > 0 and not self.sink_has_batch(job)

    def _finish_pending(self, job: Job, report: Report, cancelled: Future[None] | None = None) -> None:
        """Run a pending batch to its commit with the job's current statement. Raises StatementError.

        cancelled: a future whose end cancels the wait.
        """
        if not self._checkpoints.read_progress(job).has_pending_batch:
            return
        JobLease(self._checkpoints, job).claim()
        pending_run = PendingBatchRun(report)
        try:
            # An update accepts a replaced function. The old one may have been the reason why the batch failed.
            context = self._open_run(
                job,
                self._sessions.open_for_job(job),
                self._forget_when_ended(pending_run.report),
                accepts_functions=job.pending_version is not None,
            )
            self._begin(StreamingRun(context, once=True), job, context.report)
        except StatementError as error:
            raise pending_batch_failed(join_sentences(as_sentence(error.message), error.hint)) from error
        if cancelled is not None:
            cancelled.add_done_callback(lambda _: pending_run.cancel())
        try:
            pending_run.wait(self._settings.pending_seconds)
        finally:
            self.stop(RunId(job.id, job.run), 0.0)
        failpoint("pending-finished", job.name)

    def discard_version(self, job: Job, version: Version) -> None:
        with self._gate.writing(job.name):
            self._state_copies.discard_checkpoint(job.id, version.checkpoint)
            self._discard_staged_rows(job, version)

    def _discard_staged_rows(self, job: Job, version: Version) -> None:
        """Delete the rows that a version of the job has staged in a table that the job no longer writes."""
        kept = dict(enumerate(sink.table for sink in job.plan.analysis.sinks))
        contexts = branch_contexts(self._sink_context(job.with_plan(version.plan), self._spark, _no_report))
        # In a database and at a broker, all versions of the job share staging tables and batch numbers. The current run
        # needs them, and drops leftovers of other runs.
        for context in contexts:
            old = context.job.plan.analysis.sink
            if old.table != kept.get(context.number) and old.kind is SinkKind.FILES:
                with_dead_letters(context, choose_sink(context)).discard()

    def sink_has_batch(self, job: Job) -> bool:
        progress = self._checkpoints.read_progress(job)
        if progress.committed is not None and progress.committed > self._state_copies.read_base_batch(job):
            return True
        pending = progress.replayed_batch
        return pending is not None and self._writer(job, self._spark, _no_report).has_batch(pending)

    def stop(self, run: RunId, deadline_seconds: float) -> bool:
        running = self._runs.get(run)
        if running is None:
            return True
        graceful = running.stop(deadline_seconds)  # after an error, the run stays registered for the next attempt
        self._forget(run)
        return graceful

    def watch_idle(self, run: RunId) -> None:
        running = self._runs.get(run)
        if running is not None:
            running.watch_idle()

    def recover_sink(self, job: Job) -> None:
        with self._gate.writing(job.name):
            self._writer(job, self._spark, _no_report).recover()

    def discard_files(self, job: Job) -> None:
        with self._gate.writing(job.name):
            self._pins.wait_until_unpinned(job.id)
            self._writer(job, self._spark, _no_report).discard()
            if job.rollback_version is not None:
                self._discard_staged_rows(job, job.rollback_version)
            failpoint("staging-discarded", job.name)
            self._checkpoints.discard(job)

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
        with self._lock:
            runs = dict(self._runs)
        busy = {run.job: each.activity for run, each in runs.items() if each.activity is not Activity.IDLE}
        return judge_crash(reason, busy, self._resource_watchdog.newest_memory_report)

    def _forget(self, run: RunId) -> Run | None:
        self._kafka_watchdog.unwatch(run)
        self._resource_watchdog.unwatch(run)
        with self._lock:
            return self._runs.pop(run, None)

    def _forget_when_ended(self, report: Report) -> Report:
        """Return a listener that forgets ended runs and forwards all events."""

        def listen(event: EngineEvent) -> None:
            if isinstance(event, RunCompleted | RunFailed | RestartRequested):
                self._forget(event.run)
            report(event)

        return listen

    def _writer(self, job: Job, session: SparkSession, report: Report) -> SinkWriter:
        """Return the sink of a job, for anything but a run."""
        return _writer(self._sink_context(job, session, report))

    def _run_writer(
        self, job: Job, session: SparkSession, report: Report, body: ResolvedBody, sink_rows: dict[int, dict[str, int]]
    ) -> SinkWriter:
        """Return the sink of a run. sink_rows: receives the rows of each of several sinks"""
        query = body.query if body.batch_part is None else None
        context = replace(self._sink_context(job, session, report), query=query)
        return _writer(context, BranchRun(body.branches, sink_rows))

    def _sink_context(self, job: Job, session: SparkSession, report: Report) -> SinkContext:
        run = RunId(job.id, job.run)
        return SinkContext(
            job=job,
            spark=session,
            catalog=self._catalog,
            checkpoints=self._checkpoints,
            single_file_bytes=self._settings.single_file_bytes,
            old_versions_seconds=self._settings.old_versions_seconds,
            notice=lambda message: report(SinkNotice(run, message)),
            keeps_replaced=lambda: self._gate.is_copying,
        )


def _writer(context: SinkContext, branches: BranchRun | None = None) -> SinkWriter:
    return with_late_rows(context, with_dead_letters(context, choose_sink(context, branches)))


def _create_run(context: RunContext) -> Run:
    if context.job.plan.trigger is Trigger.REAL_TIME:
        return RealTimeRun(context)
    return StreamingRun(context) if context.job.plan.analysis.streaming else BatchRun(context)


def _spark(session: UserSession) -> SparkSession:
    """Return the Spark session of a statement's handle."""
    assert isinstance(session, SparkSession)
    return session


def _no_report(event: object) -> None:
    """Ignore the events of sinks that only clean up, because there is no run to report them for."""
