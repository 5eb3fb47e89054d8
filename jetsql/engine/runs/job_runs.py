"""The runs of an engine: they are opened, begun, stopped and forgotten here, and watched until they end."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Final

from pyspark.sql import SparkSession

from jetsql.engine.checkpoints.checkpoint_check import check_checkpoint
from jetsql.engine.checkpoints.checkpoint_copies import CheckpointPins, correct_schema_paths
from jetsql.engine.checkpoints.checkpoint_folders import Checkpoints
from jetsql.engine.checkpoints.checkpoint_reader import fill_offset_gap
from jetsql.engine.checkpoints.job_lease import JobLease
from jetsql.engine.errors.run_failures import cause_of
from jetsql.engine.jvm.filesystem import FileSystem
from jetsql.engine.jvm.java_classes import java
from jetsql.engine.runs.analysis import resolve_with_plan
from jetsql.engine.runs.batch_runs import BatchRun, PendingBatchRun, pending_batch_failed
from jetsql.engine.runs.owner_checks import check_owner
from jetsql.engine.runs.real_time_runs import RealTimeRun, check_real_time_query
from jetsql.engine.runs.run_context import Run, RunContext
from jetsql.engine.runs.source_starts import begin_query
from jetsql.engine.runs.start_checks import check_same_query
from jetsql.engine.runs.streaming_runs import StreamingRun
from jetsql.engine.runs.topics.commit_group import find_commit_group
from jetsql.engine.runs.topics.topic_acceptance import accept_topics
from jetsql.engine.runs.topics.topic_watch import TopicWatch
from jetsql.engine.session.job_sessions import JobSessions
from jetsql.engine.sinks.branched_sink import BranchRun
from jetsql.engine.sinks.job_sinks import JobSinks
from jetsql.engine.sinks.sink_kinds import connect_to_sinks
from jetsql.engine.watchdogs.external_systems import ExternalSystems, outage_error
from jetsql.engine.watchdogs.kafka_watchdog import KafkaWatchdog
from jetsql.engine.watchdogs.resource_reports import Activity, find_suspects
from jetsql.engine.watchdogs.resource_watchdog import ResourceWatchdog
from jetsql.errors import StatementError
from jetsql.failpoints import failpoint
from jetsql.jobs.checkpoint_files.log_entries import Progress
from jetsql.jobs.lifecycle.runtime import (
    CrashReport,
    LineageFound,
    Report,
    RestartRequested,
    RunCompleted,
    RunFailed,
    RuntimeEvent,
)
from jetsql.jobs.lifecycle.step_context import as_sentence, join_sentences
from jetsql.jobs.model.job import Job, RunId
from jetsql.jobs.model.job_options import Trigger
from jetsql.jobs.openlineage.job_lineage import NO_LINEAGE, JobLineage
from jetsql.jobs.openlineage.read_lineage import read_lineage
from jetsql.jobs.planning.progress_tracking import is_topic_to_topic

_LOG: Final = logging.getLogger(__name__)
_TASKS_SECONDS: Final = 20.0
"""The time to wait for the tasks of a stopped run."""


class JobRuns:
    """The runs of the jobs of an engine."""

    def __init__(
        self,
        sessions: JobSessions,
        sinks: JobSinks,
        pins: CheckpointPins,
        watchdog: ResourceWatchdog,
        pending_seconds: float,
        lineage_namespace: str,
    ) -> None:
        """Create it without runs.

        watchdog: started. pending_seconds: the time to wait for a pending batch. lineage_namespace: see
        `RuntimeSettings`
        """
        self._sessions: Final = sessions
        self._sinks: Final = sinks
        self._pins: Final = pins
        self._pending_seconds: Final = pending_seconds
        self._lineage_namespace: Final = lineage_namespace
        self._files: Final = FileSystem(sinks.spark)
        self._checkpoints: Final[Checkpoints] = sinks.checkpoints
        self._runs: Final[dict[RunId, Run]] = {}
        self._lock: Final = threading.Lock()
        self._kafka_watchdog: Final = KafkaWatchdog(sinks.spark, sinks.catalog)
        self._systems: Final = ExternalSystems(
            sinks.spark, sinks.catalog, partial(connect_to_sinks, sinks.spark, sinks.catalog)
        )
        self._resource_watchdog: Final = watchdog

    def start(self, job: Job, session: SparkSession, report: Report) -> None:
        """Start a run of a job, whose checkpoint is there and has no pending batch in real-time mode.

        Raises the error that prevents it; RetryableError while a system of the job cannot be reached.
        """
        try:
            self._start(job, session, report)
        except Exception as error:
            cause = cause_of(error)
            judged = self._systems.judge(cause, job.plan.analysis)
            if judged is cause:
                raise
            raise outage_error(judged) from error

    def _start(self, job: Job, session: SparkSession, report: Report) -> None:
        context = self._open(job, session, self._forget_when_ended(report))
        if self._lineage_namespace:
            report(LineageFound(job.run_id, _find_lineage(context, self._lineage_namespace)))
        run = _create_run(context)
        self._kafka_watchdog.watch(run, job, context.report)
        try:
            if job.plan.options.trigger is Trigger.REAL_TIME:
                check_real_time_query(session, context.body.query, self.count_held_cores())
            self._begin(run, job, context.report)
        except BaseException:
            self._kafka_watchdog.unwatch(RunId(job.id, job.run))
            raise

    def accept_topics(self, job: Job, report: Report) -> None:
        """Let a job that does not run continue with the new topics of its option. Raises as `accept_topics`."""
        accept_topics(job, self._sinks, self._pins, report)

    def finish_pending(self, job: Job, report: Report, cancelled: Future[None] | None = None) -> None:
        """Run a pending batch to its commit with the job's current statement. Raises StatementError.

        cancelled: a future whose end cancels the wait.
        """
        if not self._checkpoints.read_progress(job).has_pending_batch:
            return
        JobLease(self._checkpoints, job).claim()
        pending_run = PendingBatchRun(report)
        try:
            # An update accepts a replaced function. The old one may have been the reason why the batch failed.
            context = self._open(
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
            pending_run.wait(self._pending_seconds)
        finally:
            self.stop(RunId(job.id, job.run), 0.0)
        failpoint("pending-finished", job.name)

    def stop(self, run: RunId, deadline_seconds: float) -> bool:
        running = self._runs.get(run)
        if running is None:
            return True
        graceful = running.stop(deadline_seconds)  # after an error, the run stays registered for the next attempt
        self._forget(run)
        return graceful

    def await_tasks(self, job: Job) -> None:
        """Wait for the tasks of a job that does not run: after a batch was interrupted, they write for some seconds.

        Raises StatementError JOB_IN_USE when the time is up before.
        """
        spark = self._sinks.spark
        context = spark.sparkContext._jsc.sc()
        tasks = java(spark).scheduling.RunningTasks.awaitEnd(context, job.id, int(_TASKS_SECONDS * 1000))
        if tasks:
            message = f"Tasks of its last run still write after {_TASKS_SECONDS:g} s (number of tasks: {tasks})."
            raise StatementError("JOB_IN_USE", message)

    def watch(self, run: RunId, wait: int) -> None:
        running = self._runs.get(run)
        if running is not None:
            running.watch(wait)

    def count_held_cores(self, excluded_job: Job | None = None) -> int:
        """Return the number of cores that real-time runs occupy, without those of the excluded job."""
        with self._lock:
            runs = [run for id_, run in self._runs.items() if excluded_job is None or id_.job != excluded_job.id]
        return sum(run.held_cores for run in runs if isinstance(run, RealTimeRun))

    def describe_crash(self, reason: str) -> CrashReport:
        """Return what is known about the end of Spark's process, without Spark. reason: why it ended, a sentence."""
        with self._lock:
            runs = dict(self._runs)
        busy = {run.job: each.activity for run, each in runs.items() if each.activity is not Activity.IDLE}
        return find_suspects(reason, busy, self._resource_watchdog.newest_memory_report)

    def _open(self, job: Job, session: SparkSession, report: Report, accepts_functions: bool = False) -> RunContext:
        """Return the context of a new run, after its checkpoint was checked and its sink recovered.

        accepts_functions: whether replaced functions are no reason to refuse the run.
        """
        for sink in job.plan.analysis.sinks:
            self._sinks.catalog.check_sink_exists(sink)
        check_owner(job, self._sessions, self._sinks)
        self._sinks.create_side_tables(job.plan, job.owner)  # a user may have dropped them while the job was suspended
        resolved = resolve_with_plan(job.body, session, job.plan)
        check_same_query(job, resolved.analysis, accepts_functions)
        topics = TopicWatch(session, self._sinks.catalog, self._checkpoints, job)
        lease = JobLease(self._checkpoints, job)
        checkpoint = self._checkpoints.spark_checkpoint(job.id, job.version.checkpoint)
        if resolved.unchecked_by_spark:
            session.conf.set("spark.sql.streaming.unsupportedOperationCheck", "false")
        if job.plan.options.state_ttl_millis is not None and not job.plan.analysis.waits_for_watermark:
            # Spark would run a batch at each trigger to remove state, also without new rows.
            session.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
        progress = check_checkpoint(self._files, checkpoint, job)
        if is_topic_to_topic(job.plan.analysis):
            fill_offset_gap(self._files, checkpoint)
        if job.plan.analysis.has_state_variables:
            correct_schema_paths(self._files, checkpoint)
        topics.check_start()
        if job.version.starts:
            has_offsets = progress.planned is not None
            query = begin_query(session, self._sinks.catalog, job, resolved.query, has_offsets)
            resolved = replace(resolved, query=query)
        sink_rows: dict[int, dict[str, int]] = {}
        query = resolved.query if resolved.batch_part is None else None
        branches = BranchRun(resolved.branches, sink_rows)
        writer = self._sinks.writer_of_run(job, session, report, query, branches)
        with self._sinks.gate.writing(job.name):
            writer.recover()
        self._check_restored(job, progress)
        return RunContext(
            job=job,
            session=session,
            body=resolved,
            writer=writer,
            checkpoint=checkpoint,
            report=report,
            pins=self._pins,
            gate=self._sinks.gate,
            lease=lease,
            progress=progress,
            topics=topics,
            group=find_commit_group(session, self._sinks.catalog, self._checkpoints, job, report),
            systems=self._systems,
            sink_rows=sink_rows,
        )

    def _check_restored(self, job: Job, progress: Progress) -> None:
        """Raise StatementError SINK_CHANGED if the sink of a restored job has a batch that its checkpoint lacks."""
        note = self._checkpoints.restored_note(job.id)
        if self._files.exists(note):
            self._sinks.check_not_ahead(job, progress)
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

    def _forget(self, run: RunId) -> Run | None:
        self._kafka_watchdog.unwatch(run)
        self._resource_watchdog.unwatch(run)
        with self._lock:
            return self._runs.pop(run, None)

    def _forget_when_ended(self, report: Report) -> Report:
        """Return a listener that forgets ended runs and forwards all events."""

        def listen(event: RuntimeEvent) -> None:
            if isinstance(event, RunCompleted | RunFailed | RestartRequested):
                self._forget(event.run)
            report(event)

        return listen


def _find_lineage(context: RunContext, namespace: str) -> JobLineage:
    """Return what a run reads and writes. An error is logged, because it must not prevent the run."""
    try:
        return read_lineage(context.body.java_body.lineage(), namespace)
    except Exception:
        _LOG.exception("The lineage of run %s could not be found", context.id)
        return NO_LINEAGE


def _create_run(context: RunContext) -> StreamingRun | BatchRun:
    if context.job.plan.options.trigger is Trigger.REAL_TIME:
        return RealTimeRun(context)
    return StreamingRun(context) if context.job.plan.analysis.streaming else BatchRun(context)
