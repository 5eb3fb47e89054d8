"""Runs that end by themselves: batch jobs, and runs that only finish a pending batch."""

from __future__ import annotations

import threading
from datetime import datetime
from queue import Empty, SimpleQueue

from pyspark import InheritableThread

from jetsql.engine.errors.run_failures import cause_of
from jetsql.engine.jvm.java_classes import java
from jetsql.engine.runs.progress import batch_committed, measure_batch_job
from jetsql.engine.runs.run_context import RunContext, end_event, tag_thread
from jetsql.engine.sinks import StreamWriter
from jetsql.engine.spark.startup import is_lost
from jetsql.engine.watchdogs.external_systems import outage_error
from jetsql.engine.watchdogs.resource_reports import Activity
from jetsql.errors import StatementError
from jetsql.failpoints import failpoint
from jetsql.jobs.lifecycle.runtime import Report, RestartRequested, RunCompleted, RunFailed, RuntimeEvent
from jetsql.jobs.lifecycle.step_context import describe_cause
from jetsql.jobs.model.job import Cause


class BatchRun:
    """A batch job, whose whole query is batch 0, written through the same sinks."""

    def __init__(self, context: RunContext) -> None:
        assert not isinstance(context.writer, StreamWriter), "a batch job has no stream"
        self._context = context
        self._writer = context.writer
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._rounds = 0
        """The rounds of the watchdog."""
        self._unreachable_in = -1
        """The newest round in which a system was away."""
        self._outage: StatementError | None = None
        """The reason why the run was ended."""

    def start(self) -> None:
        self._thread = InheritableThread(target=self._execute, session=self._context.session)
        self._thread.daemon = True
        self._thread.start()

    def stop(self, deadline_seconds: float) -> bool:
        self._stopping = True
        self._cancel()
        if self._thread is not None:
            self._thread.join()
        return True

    def is_stalled(self) -> bool:
        """Return True: Spark reports no progress of a batch job."""
        self._rounds += 1
        return True

    def end_batch(self, outage: Cause, stalled_seconds: float) -> None:
        """End the run when a system is away in two successive rounds, each of which waits for an answer."""
        if self._outage is None and self._unreachable_in == self._rounds - 1:
            self._outage = outage_error(outage)
            self._cancel()
        self._unreachable_in = self._rounds

    def check_topics(self) -> None:
        """Do nothing: a batch job reads the topics as they are at its start."""

    def _cancel(self) -> None:
        java(self._context.session).scheduling.CancelledJobGroups.cancel(
            self._context.session._jsparkSession, str(self._context.id)
        )

    def watch(self, wait: int) -> None:
        """Do nothing: a batch job is never idle."""

    @property
    def activity(self) -> Activity:
        return Activity.FIRST_BATCH

    def _execute(self) -> None:
        context = self._context
        sc = context.session.sparkContext
        sc.setJobGroup(str(context.id), context.job.name, interruptOnCancel=True)
        tag_thread(sc, context.job)
        began = datetime.now()
        try:
            context.lease.check()
            with context.gate.writing(context.job.name):
                count = self._writer.write(context.rows(), 0)
            self._writer.close()
            failpoint("sink-written", context.job.name)
        except Exception as error:  # any error ends the job and is reported as its failure
            # Without Spark's process, the engine ends, and its next start continues the job.
            if not self._stopping and not is_lost(error):
                context.report(end_event(context, cause_of(self._outage or error, 0, context.paths)))
            return
        context.report(
            batch_committed(
                context.id, measure_batch_job(context.id, began.timestamp(), datetime.now().timestamp(), count)
            )
        )
        context.report(RunCompleted(context.id))


class PendingBatchRun:
    """The listener of a run that only finishes a pending batch.

    It forwards all events except the end of the run, which is no event of the job, because the job does not run.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._end: SimpleQueue[RunCompleted | RunFailed | RestartRequested | None] = SimpleQueue()

    def report(self, event: RuntimeEvent) -> None:
        """Store the end of the run, and forward every other event."""
        if isinstance(event, RunCompleted | RunFailed | RestartRequested):
            self._end.put(event)
        else:
            self._report(event)

    def cancel(self) -> None:
        """End the wait with an error, because another statement has superseded the snapshot or update."""
        self._end.put(None)

    def wait(self, seconds: float) -> None:
        """Wait until the batch is committed. Raises StatementError PENDING_BATCH_FAILED otherwise."""
        try:
            end = self._end.get(timeout=seconds)
        except Empty:
            raise pending_batch_failed(f"it has not ended within {seconds:g} s") from None
        if end is None:
            raise pending_batch_failed("another statement cancelled it")
        if not isinstance(end, RunCompleted):
            raise pending_batch_failed(describe_cause(end.cause) if isinstance(end, RunFailed) else end.message)


def pending_batch_failed(reason: str) -> StatementError:
    """Return the error to raise when a pending batch cannot be finished."""
    return StatementError(
        "PENDING_BATCH_FAILED",
        f"The job's newest batch is planned but not committed, and JetSQL cannot finish it: {reason}",
        hint="Correct the problem, RESUME JOB until the batch is committed, and try again.",
    )
