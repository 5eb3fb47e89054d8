"""The engine of `jobs.engine.Engine` on Spark: analysis, runs, sinks and checkpoints put together."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from jetsql.engine.checkpoints.checkpoint_check import check_checkpoint
from jetsql.engine.checkpoints.checkpoint_folders import Checkpoints, fill_gap
from jetsql.engine.checkpoints.checkpoint_pins import CheckpointPins
from jetsql.engine.checkpoints.job_lease import JobLease
from jetsql.engine.checkpoints.state_copies import StateCopies
from jetsql.engine.errors import run_failures
from jetsql.engine.errors.kafka_errors import KafkaOperation
from jetsql.engine.jdbc.jdbc_dialects import LEDGER_FORMAT
from jetsql.engine.jvm.filesystem import FileSystem
from jetsql.engine.jvm.java_bridge import bridge
from jetsql.engine.runs.analysis import ResolvedBody, resolve
from jetsql.engine.runs.cancel_when import ended_when
from jetsql.engine.runs.kafka_watchdog import KafkaWatchdog
from jetsql.engine.runs.pending_batch_run import PendingBatchRun, not_finished
from jetsql.engine.runs.real_time_runs import RealTimeRun, check_query
from jetsql.engine.runs.spark_runs import BatchRun, Run, RunContext, StreamingRun
from jetsql.engine.session.catalog import Catalog
from jetsql.engine.session.executors import members, watch
from jetsql.engine.session.job_sessions import Sessions
from jetsql.engine.session.kafka_topics import ask_topic
from jetsql.engine.sinks import SinkContext, SinkWriter
from jetsql.engine.sinks.batch_records import FORMAT as MANIFEST_FORMAT
from jetsql.engine.sinks.file_tables import PART_NAMES, StagedFiles
from jetsql.engine.sinks.jdbc import JdbcAppend, JdbcTransactions, needs_transactions
from jetsql.engine.sinks.kafka.dead_letters import make_boxes, with_letters
from jetsql.engine.sinks.kafka.topic_stream import KafkaAppend, KafkaStream
from jetsql.engine.sinks.kafka.transactional_topics import KafkaTransactions
from jetsql.engine.sinks.kafka.transactional_topics import rehearse as rehearse_topic
from jetsql.engine.sinks.preflight import rehearse
from jetsql.engine.sinks.spark_sinks import PartitionOverwrite, PlainAppend
from jetsql.engine.sinks.table_snapshots import TableVersions
from jetsql.errors import StatementError
from jetsql.failpoints import failpoint
from jetsql.jobs.lifecycle.engine_api import (
    CopiedState,
    EngineEvent,
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
from jetsql.jobs.model.job import Analysis, Cause, Guarantee, Job, Plan, RunId, SinkKind, Status, Trigger, Version
from jetsql.jobs.planning.compatibility import describe_replacements
from jetsql.jobs.planning.progress_tracking import is_topic_to_topic, tracks_asynchronously
from jetsql.language.statement import Body
from jetsql.version import VERSION


@dataclass(frozen=True)
class EngineSettings:
    """checkpoint_root, snapshot_root: path or URI. pending_seconds: what a snapshot or an update waits at most for a
    batch that is to be finished first. The others: see `jetsql.settings.Settings`."""

    checkpoint_root: str
    snapshot_root: str
    single_file_bytes: int = 256 * 1024
    old_versions_seconds: float = 600.0
    pending_seconds: float = 600.0


class SparkEngine:
    """Runs jobs on one Spark session's context."""

    def __init__(self, spark: SparkSession, settings: EngineSettings) -> None:
        self._spark = spark
        self._settings = settings
        self._catalog = Catalog(spark)
        self._files = FileSystem(spark)
        self._checkpoints = Checkpoints(self._files.qualified(settings.checkpoint_root), self._files)
        self._sessions = Sessions(spark, self._checkpoints.root)
        self._holds = CheckpointPins()
        self._states = StateCopies(self._checkpoints, self._holds, self._files.qualified(settings.snapshot_root))
        self._runs: dict[RunId, Run] = {}
        self._lock = threading.Lock()
        self._vigil = KafkaWatchdog(spark, self._catalog)

    def analyse(self, body: Body, session: UserSession) -> Analysis:
        spark = _spark(session)
        return resolve(body, spark, self._sessions.capture(spark)).analysis

    def check_conf(self, name: str, value: str) -> None:
        self._sessions.check_conf(name, value)

    def check_reachable(self, plan: Plan) -> None:
        """File tables are reached through Spark itself; analysing the statement has asked for them already."""
        if plan.trigger is not Trigger.REAL_TIME:  # `check_real_time` has asked them
            self._ask_sources(plan)
        make_boxes(self._spark, self._catalog, plan)
        if plan.analysis.sink.kind is SinkKind.JDBC:
            rehearse(self._spark, self._catalog, plan)
        elif plan.analysis.sink.kind is SinkKind.KAFKA:
            table = self._catalog.same(plan.analysis.sink)
            if plan.guarantee is Guarantee.EXACTLY_ONCE:
                rehearse_topic(self._spark, table)
            else:
                ask_topic(self._spark, table, KafkaOperation.WRITE)

    def _ask_sources(self, plan: Plan) -> None:
        for source in plan.analysis.sources:
            table = self._catalog.table(source.name) if source.format == "kafka" and source.created else None
            if table is not None:
                ask_topic(self._spark, table, KafkaOperation.READ)

    def check_real_time(self, body: Body, plan: Plan, job: Job | None) -> None:
        self._ask_sources(plan)  # the connector would ask for the topics' partitions for minutes
        session = self._sessions.for_plan(plan, {} if job is None else job.version.session_defaults)
        query = resolve(body, session, plan.analysis.session).query
        check_query(session, query, self._cores_held(but=job))

    def _cores_held(self, but: Job | None = None) -> int:
        """By the runs that never give them free, without those of a job."""
        with self._lock:
            runs = [run for id_, run in self._runs.items() if but is None or id_.job != but.id]
        return sum(run.tasks for run in runs if isinstance(run, RealTimeRun))

    def explain(self, body: Body, plan: Plan, session: UserSession, formatted: bool) -> str:
        spark = _spark(session)
        query = resolve(body, spark, plan.analysis.session).query
        dataset = bridge(spark).dataset(spark._jsparkSession, query)
        jvm: Any = self._spark.sparkContext._jvm
        mode = jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted" if formatted else "simple")
        return str(dataset.queryExecution().explainString(mode))

    def start(self, job: Job, report: Report) -> None:
        check_formats(job, self.software_versions())
        JobLease(self._checkpoints, job).claim()
        if job.plan.guarantee is Guarantee.NONE:
            self._checkpoints.start_over(job)
        for folder in self._checkpoints.stale(job):
            self._files.delete(folder)
        session = self._sessions.for_job(job)
        self._states.seed(job, session)
        if job.plan.trigger is Trigger.REAL_TIME:
            self._ask_sources(job.plan)  # all that follows would wait for minutes, and a stop behind it
            # Real-time mode would run such a batch anew, past where its end is noted.
            self._finish_pending(job, report)
        parts = self._parts(job, session, self._forgetting_ended_runs(report))
        run = _run(parts)
        if isinstance(run, StreamingRun):
            self._vigil.watch(run, job, parts.report)
        try:
            if job.plan.trigger is Trigger.REAL_TIME:
                check_query(session, parts.query, self._cores_held())
            self._begin(run, job)
        except BaseException:
            self._vigil.forget(RunId(job.id, job.run))
            raise

    def _parts(self, job: Job, session: SparkSession, report: Report) -> RunContext:
        resolved = resolve(job.body, session, job.plan.analysis.session)
        _same_query(job, resolved)
        lease = JobLease(self._checkpoints, job)
        checkpoint, statics = self._checkpoints.spark(job.id, job.version.checkpoint), resolved.static_locations
        if is_topic_to_topic(job.plan.analysis):
            fill_gap(self._files, checkpoint)
        reached = check_checkpoint(self._files, checkpoint, job)
        writer = self._writer(job, session, report)
        writer.recover()
        return RunContext(
            job, session, resolved.query, writer, checkpoint, report, self._holds, lease, statics, reached
        )

    def _begin(self, run: Run, job: Job) -> None:
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
        # While it is waiting to be started again a run may begin at any time, and finishes the batch itself.
        if job.status is Status.SUSPENDED_EXPORTING_SNAPSHOT:
            self._finish_pending(job, report)
        return self._states.snapshot(job, snapshot, self._sessions.for_job(job))

    def delete_snapshot(self, snapshot: str) -> None:
        self._states.delete(snapshot)

    def snapshot_folders(self) -> tuple[str, ...]:
        return self._states.names()

    def prepare_update(self, job: Job, report: Report, unwanted: Future[None]) -> None:
        proposed = job.pending_version
        assert proposed is not None, "there is a version to prepare for"
        if job.plan.guarantee is not Guarantee.NONE and not self._untried(job):
            self._finish_pending(job, report, unwanted)
        with ended_when(unwanted, self._spark, f"update-{job.id}-{proposed.checkpoint}"):
            self._states.prepare(job, proposed, self._sessions.for_job(job))

    def _untried(self, job: Job) -> bool:
        """Whether nothing of the job's present version is in the sink: its first batch may hang for ever, and the next
        version reads the same rows anew."""
        return job.version.checkpoint > 0 and not self.sink_has_batch(job)

    def _finish_pending(self, job: Job, report: Report, unwanted: Future[None] | None = None) -> None:
        """Run a batch that is planned and not committed to its commit, under the job's own statement, unless it becomes
        unwanted before that.
        """
        if not self._checkpoints.progress(job).pending:
            return
        JobLease(self._checkpoints, job).claim()
        ended = PendingBatchRun(report)
        try:
            parts = self._parts(job, self._sessions.for_job(job), self._forgetting_ended_runs(ended.report))
            self._begin(StreamingRun(parts, once=True), job)
        except StatementError as error:
            raise not_finished(join_sentences(as_sentence(error.message), error.hint)) from error
        if unwanted is not None:
            unwanted.add_done_callback(lambda _: ended.give_up())
        try:
            ended.wait(self._settings.pending_seconds)
        finally:
            self.stop(RunId(job.id, job.run), 0.0)
        failpoint("pending-finished", job.name)

    def discard_version(self, job: Job, version: Version) -> None:
        self._states.discard(job.id, version.checkpoint)
        self._leave_table(job, version)

    def _leave_table(self, job: Job, version: Version) -> None:
        """Delete what a version of the job has staged in a table that is not the job's any more."""
        old, new = version.plan.analysis.sink, job.plan.analysis.sink
        # What is staged and noted in a database or at a broker is the job's, whichever of its versions it was: the run
        # that is there needs it, and drops what others left.
        if old.table != new.table and old.kind is SinkKind.FILES:
            self._writer(job.with_plan(version.plan), self._spark, _no_report).discard()

    def sink_has_batch(self, job: Job) -> bool:
        progress = self._checkpoints.progress(job)
        if progress.committed is not None and progress.committed > self._states.begins_at(job):
            return True
        pending = progress.replayed
        return pending is not None and self._writer(job, self._spark, _no_report).holds(pending)

    def stop(self, run: RunId, deadline_seconds: float) -> bool:
        running = self._runs.get(run)
        if running is None:
            return True
        graceful = running.stop(deadline_seconds)  # one that can't be stopped is still there for the next try
        self._forget(run)
        return graceful

    def watch_idle(self, run: RunId) -> None:
        running = self._runs.get(run)
        if running is not None:
            running.watch_idle()

    def recover_sink(self, job: Job) -> None:
        self._writer(job, self._spark, _no_report).recover()

    def discard_files(self, job: Job) -> None:
        self._holds.before_deleting(job.id)
        self._writer(job, self._spark, _no_report).discard()
        if job.rollback_version is not None:
            self._leave_table(job, job.rollback_version)
        failpoint("staging-discarded", job.name)
        self._checkpoints.discard(job)

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
        return members(self._spark)

    def watch_members(self, listener: MembersListener) -> None:
        watch(self._spark, listener)

    def session_defaults(self) -> dict[str, str]:
        return self._sessions.defaults()

    def _forget(self, run: RunId) -> Run | None:
        self._vigil.forget(run)
        with self._lock:
            return self._runs.pop(run, None)

    def _forgetting_ended_runs(self, report: Report) -> Report:
        def told(event: EngineEvent) -> None:
            if isinstance(event, RunCompleted | RunFailed | RestartRequested):
                self._forget(event.run)
            report(event)

        return told

    def _writer(self, job: Job, session: SparkSession, report: Report) -> SinkWriter:
        run = RunId(job.id, job.run)
        context = SinkContext(
            job=job,
            spark=session,
            catalog=self._catalog,
            checkpoints=self._checkpoints,
            single_file_bytes=self._settings.single_file_bytes,
            old_versions_seconds=self._settings.old_versions_seconds,
            notice=lambda words: report(SinkNotice(run, words)),
        )
        return with_letters(context, writer_for(context))


def _run(parts: RunContext) -> Run:
    if parts.job.plan.trigger is Trigger.REAL_TIME:
        return RealTimeRun(parts)
    return StreamingRun(parts) if parts.job.plan.analysis.streaming else BatchRun(parts)


def _spark(session: UserSession) -> SparkSession:
    """The session behind the handle that statements carry."""
    assert isinstance(session, SparkSession)
    return session


def writer_for(context: SinkContext) -> SinkWriter:
    """The way into a job's table that gives the guarantee of its plan."""
    plan = context.job.plan
    if plan.analysis.sink.kind is SinkKind.FILES and plan.overwrite:
        return PartitionOverwrite(context) if plan.analysis.sink.partition_columns else TableVersions(context)
    if plan.analysis.sink.kind is SinkKind.FILES and plan.guarantee is Guarantee.EXACTLY_ONCE:
        return StagedFiles(context)
    if plan.analysis.sink.kind is SinkKind.JDBC:
        return JdbcTransactions(context) if needs_transactions(plan) else JdbcAppend(context)
    if plan.analysis.sink.kind is SinkKind.KAFKA:
        return _into_topic(context)
    return PlainAppend(context)


def _into_topic(context: SinkContext) -> SinkWriter:
    plan = context.job.plan
    if plan.trigger is Trigger.REAL_TIME or tracks_asynchronously(plan):
        return KafkaStream(context)
    return KafkaTransactions(context) if plan.guarantee is Guarantee.EXACTLY_ONCE else KafkaAppend(context)


def _same_query(job: Job, resolved: ResolvedBody) -> None:
    """Raises StatementError JOB_CHANGED when what the job's text means is no longer what its state was made by."""
    found = describe_replacements(job.plan.analysis, resolved.analysis) if job.version.first_trigger_done else ()
    if found:
        raise StatementError(
            "JOB_CHANGED",
            f"A view or table under the job was changed, so its text means something else now. {' '.join(found)}",
            hint="Undo that change and RESUME the job; or accept it with CREATE OR REPLACE JOB, which tells whether the"
            " state can be kept.",
        )


def check_formats(job: Job, versions: Mapping[str, str]) -> None:
    """Raises StatementError FORMAT_NOT_READABLE for a job that a later release has written in a newer form."""
    made_with = job.version.software_versions
    for name in ("manifest", "part_names", "ledger"):
        if int(made_with.get(name, "0")) > int(versions[name]):
            raise StatementError(
                "FORMAT_NOT_READABLE",
                f"The job was made by JetSQL {made_with.get('jetsql', '')}, whose form {made_with[name]} of"
                f" {name.replace('_', ' ')} this release does not know; it reads up to {versions[name]}.",
                hint="Start the engine with that release or a later one, and RESUME the job.",
            )


def _no_report(event: object) -> None:
    """For writers that only clean up: there is no run whose history could take notices."""
