"""Runs of streaming jobs: a streaming query, and the events that it reports.

Spark's listener delivers the events of the query, so nothing polls. A run reports its end once. A run that is being
stopped does not report its end, because `stop` returns then.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from jetsql.engine.errors.remedies import GONE_HINT
from jetsql.engine.errors.run_failures import cause_of, cause_of_throwable
from jetsql.engine.jvm.java_classes import java
from jetsql.engine.runs.lag import LagTracker
from jetsql.engine.runs.progress import batch_committed, changes_nothing, measure_batch, parse_timestamp
from jetsql.engine.runs.run_context import RunContext, batch_rows, end_event, tag_thread
from jetsql.engine.sinks import BatchWriter, StreamWriter
from jetsql.engine.spark.startup import is_stopped
from jetsql.engine.watchdogs.external_systems import outage_error
from jetsql.engine.watchdogs.resource_reports import Activity
from jetsql.errors import StatementError
from jetsql.failpoints import failpoint
from jetsql.jobs.lifecycle.runtime import RunCompleted, RunFailed, RunIdle
from jetsql.jobs.model.body_analysis import OutputMode
from jetsql.jobs.model.job import Cause
from jetsql.jobs.model.job_options import Trigger
from jetsql.jobs.store.metrics import BatchMetrics

_EVENTS_SECONDS = 5.0
_GROUP_SECONDS: Final = 3.0
"""The time for which the end of a run waits for the last offsets of its consumer group."""
_INTERRUPTED: Final = "java.lang.InterruptedException"
"""The class of the error with which Spark ends a batch that it plans while the query is stopped."""
_REPLACED: Final = ("JETSQL.SOURCE_CHANGED", "JETSQL.SINK_CHANGED")
_MAY_BE_REPLACED: Final = ("JETSQL.SOURCE_CHANGED", "JETSQL.EXTERNAL_SYSTEM_ERROR")
"""Conditions of the errors of Spark's connector for a topic that has fewer messages, or none."""


class StreamingRun:
    """A streaming query that writes through `foreachBatch`, or natively. once: whether it ends after one batch."""

    def __init__(self, context: RunContext, once: bool = False) -> None:
        self._context = context
        self._once = once
        self._stopping = threading.Event()
        self._query: StreamingQuery | None = None
        self._started = threading.Event()
        self._ended = threading.Event()
        self._failure_reported = threading.Lock()
        self._failure: tuple[BaseException, int | None] | None = None
        self._next_batch = context.progress.next_batch
        self._progress: dict[str, Any] = {}
        self._written: dict[int, int | None] = {}
        self._listener: Any = None
        self._lag_tracker = LagTracker()
        self._has_progress = True
        self._begun_after = 0
        self._watches_sources = False
        self._has_committed = False
        self._was_idle = False
        self._is_writing = False

    def start(self) -> None:
        context = self._context
        sc = context.session.sparkContext
        self._listener = java(context.session).stream.Queries.listen(context.session._jsparkSession, self)
        writer = self._stream(context.rows()).queryName(context.job.name)
        writer = writer.option("checkpointLocation", context.checkpoint)
        writer = writer.outputMode((context.job.plan.output_mode or OutputMode.APPEND).value)
        writer = writer.trigger(**self._trigger())
        tag_thread(sc, context.job)
        try:
            self._query = writer.start()
            if context.group is not None:
                context.group.start()
        finally:
            tag_thread(sc, None)
            self._started.set()

    def _stream(self, rows: DataFrame) -> DataStreamWriter:
        writer = self._context.writer
        if isinstance(writer, StreamWriter):
            return writer.attach(rows, self._once)
        return rows.writeStream.foreachBatch(partial(self._write, writer))

    def _trigger(self) -> dict[str, Any]:
        plan = self._context.job.plan
        if self._once:
            return {"once": True}
        if plan.options.trigger is Trigger.AVAILABLE_NOW:
            return {"availableNow": True}
        if isinstance(self._context.writer, StreamWriter):
            # The job's interval applies to its asynchronous progress tracking, not to its batches.
            return {"processingTime": "0 milliseconds"}
        return {"processingTime": f"{plan.interval_millis} milliseconds"}

    def stop(self, deadline_seconds: float) -> bool:
        self._stopping.set()
        self._started.wait()
        query = self._query
        if query is None:
            return True
        try:
            graceful = bool(java(self._context.session).stream.Queries.stop(query._jsq, int(deadline_seconds * 1000)))
        except Exception:
            if self._ended.is_set():
                self._close_group(0.0)
                return False
            self._stopping.clear()  # the run continues, so its end will be reported
            raise
        # Events arrive in order, so all batches have been reported before the end. A stopped Spark sends no events.
        if not is_stopped(self._context.session):
            self._ended.wait(_EVENTS_SECONDS)
            self._close_group()
            if graceful:
                self._report_failure(query)
        return graceful

    def watch(self, wait: int) -> None:
        self._started.wait()
        query, listener = self._query, self._listener
        if query is not None and listener is not None:
            listener.watch(query._jsq, wait)

    @property
    def activity(self) -> Activity:
        if self._has_committed:
            return Activity.BATCH if self._is_writing else Activity.IDLE
        return Activity.FIRST_BATCH if self._is_writing or not self._was_idle else Activity.IDLE

    def is_stalled(self) -> bool:
        """Return whether the run is starting or has an active trigger, without progress since the last call."""
        had_progress, self._has_progress = self._has_progress, False
        query = self._query
        return not had_progress and (query is None or bool(query._jsq.status().isTriggerActive()))

    def accept(self, kind: str, detail: str) -> None:
        """Handle an event of Spark's listener; called from Java (java.util.function.BiConsumer)."""
        self._has_progress = self._has_progress or kind in ("progress", "idle")
        self._has_committed = self._has_committed or kind == "progress"
        self._was_idle = self._was_idle or kind == "idle"
        if self._context.group is not None and kind in ("progress", "idle"):
            self._context.group.note_progress()
        if kind == "wait":
            self._begun_after = int(detail)
        elif kind == "progress":
            earlier, self._progress = self._progress, json.loads(detail)
            batch = self._progress["batchId"]
            self._next_batch = batch + 1
            is_replay = batch == self._context.progress.replayed_batch
            names = tuple(source.name for source in self._context.job.plan.analysis.sources)
            measure = measure_batch(
                self._context.id,
                self._progress,
                self._written.pop(batch, None),
                names,
                self._lag_tracker,
                self._context.sink_rows.pop(batch, {}),
            )
            self._report_batch(measure, is_replay)
            if self._context.job.plan.options.state_ttl_millis is not None and changes_nothing(earlier, self._progress):
                self._handle_idle_batch(measure.time)
        elif kind == "idle":
            self._report_idle(RunIdle(self._context.id, parse_timestamp(detail), begun_after=self._begun_after))
        else:
            self._ended.set()
            # The listener's thread must not wait for the thread that starts the query.
            threading.Thread(target=self._end, name=f"end-{self._context.id}", daemon=True).start()

    def _handle_idle_batch(self, began: float) -> None:
        """Report a batch that changes nothing as idle, or end a run that has read all available rows.

        Spark runs a batch at each trigger, also without rows, to remove state whose time to live is over. Its query
        sends no idle event then, and never ends with the trigger availableNow.
        """
        query = self._query
        if self._context.job.plan.options.trigger is not Trigger.AVAILABLE_NOW:
            self._report_idle(RunIdle(self._context.id, began, begun_after=self._begun_after))
        elif query is not None:
            java(self._context.session).stream.Queries.finish(query._jsq)

    def _report_idle(self, event: RunIdle) -> None:
        """Report a trigger without rows, unless its offsets belong to a topic that was replaced."""
        query = self._query
        if query is not None and not self._check_topics(
            lambda: self._context.topics.check_idle(query._jsq, self._next_batch)
        ):
            return
        self._context.report(event)

    def check_topics(self) -> None:
        """End the run if a topic was replaced. Raises StatementError when a broker does not answer."""
        query = self._query
        if query is not None:
            self._check_topics(lambda: self._context.topics.check_interval(query._jsq, self._next_batch))

    def _check_topics(self, check: Callable[[], None]) -> bool:
        """Return whether no topic was replaced; otherwise end the run."""
        try:
            check()
        except StatementError as error:
            if error.condition not in _REPLACED:
                raise
            self._fail(error)
            return False
        return True

    def end_batch(self, outage: Cause, stalled_seconds: float) -> None:
        """End the run if tasks of its batch have waited for too long for a system that is away.

        A run that waits in the driver continues, since it occupies no task slot.
        """
        session = self._context.session
        timeout = java(session).common.Outages.timeoutMillis(session._jsparkSession.sessionState().conf())
        context, pool = session.sparkContext._jsc.sc(), self._context.job.id
        if stalled_seconds * 1000 >= timeout and java(session).scheduling.RunningTasks.awaitEnd(context, pool, 0):
            self._fail(outage_error(outage), 0.0)

    def _fail(self, error: StatementError, deadline_seconds: float = _EVENTS_SECONDS) -> None:
        """End the run with an error that no batch has raised. deadline_seconds: for the running batch"""
        query = self._query
        if query is None or self._failure is not None or self._stopping.is_set():
            return
        self._failure = (error, None)
        # Spark's listener must not wait for the end of the query.
        millis = int(deadline_seconds * 1000)
        stop = partial(java(self._context.session).stream.Queries.stop, query._jsq, millis)
        threading.Thread(target=stop, name=f"fail-{self._context.id}", daemon=True).start()

    def _report_batch(self, measure: BatchMetrics, is_replay: bool) -> None:
        self._context.report(batch_committed(self._context.id, measure, is_replay, self._begun_after))

    def _end(self) -> None:
        self._started.wait()
        if is_stopped(self._context.session):
            self._close_group(0.0)
            return  # another program has stopped Spark; the job continues with the engine's next start
        java(self._context.session).stream.Queries.release(self._context.session._jsparkSession, self._listener)
        query = self._query
        # Java's query refers to this run as its listener and vice versa. No garbage collector would free the cycle.
        self._query = self._listener = None
        if query is not None and not self._stopping.is_set():
            self._report_end(query)
        if not self._stopping.is_set():  # `stop` closes it after it has completed the log of commits
            self._close_group()
        self._context.topics.close()
        self._context.writer.close()

    def _report_end(self, query: StreamingQuery) -> None:
        if not self._report_failure(query):
            self._close_group()  # a completed job has shown all offsets
            self._context.report(self._end_without_error())

    def _close_group(self, seconds: float = _GROUP_SECONDS) -> None:
        if self._context.group is not None:
            self._context.group.close(seconds)

    def _report_failure(self, query: StreamingQuery) -> bool:
        """Report the error that ended the query, once, and return whether there is one.

        `stop` and the end of the query both call this method.
        """
        throwable = java(self._context.session).stream.Queries.failure(query._jsq)
        cause = None if throwable is None else self._find_cause(throwable)
        if cause is None or (self._stopping.is_set() and cause.error_class == _INTERRUPTED):
            return False
        if self._failure_reported.acquire(blocking=False):
            self._context.report(end_event(self._context, cause))
        return True

    def _find_cause(self, throwable: object) -> Cause:
        paths = self._context.paths
        if self._failure is not None:
            return cause_of(*self._failure, paths)
        cause = cause_of_throwable(throwable, self._next_batch, paths)
        replaced = self._context.topics.find_replaced_sources() if cause.condition in _MAY_BE_REPLACED else ()
        return cause_of(self._context.topics.explain(replaced), cause.batch) if replaced else cause

    def _end_without_error(self) -> RunCompleted | RunFailed:
        if self._failure is not None:
            return RunFailed(self._context.id, cause_of(*self._failure, self._context.paths))
        if self._once or self._context.job.plan.options.trigger is Trigger.AVAILABLE_NOW:
            return RunCompleted(self._context.id, describe_kept_rows(self._progress))
        return RunFailed(self._context.id, Cause("Another program stopped the query."))

    def _write(self, writer: BatchWriter, rows: DataFrame, batch: int) -> None:
        self._context.pins.wait_for_copies(self._context.job.id, batch, self._stopping)
        self._is_writing = True
        try:
            self._context.lease.check(self._stopping)
            self._check_files(batch)
            if self._query is not None:
                self._context.topics.check_batch(self._query._jsq, batch)
            self._watch_sources()
            context = self._context
            with context.gate.writing(context.job.name), batch_rows(rows, context.body, context.writer) as complete:
                self._written[batch] = writer.write(complete, batch)
            failpoint("sink-written", self._context.job.name)
        except BaseException as error:
            # If it passed through Java, the error would lose its condition, and Spark would search its whole text.
            self._failure = self._failure or (error, batch)
            raise RuntimeError(f"Batch {batch} was not written.") from None
        self._is_writing = False

    def _check_files(self, batch: int) -> None:
        """Raise StatementError SOURCE_CHANGED when files of the batch were deleted after it was planned.

        Spark would silently skip their rows. The setting `spark.sql.files.ignoreMissingFiles` allows that.
        """
        self._started.wait()
        query, session = self._query, self._context.session
        if query is None or session.conf.get("spark.sql.files.ignoreMissingFiles") == "true":
            return
        paths = json.loads(java(session).stream.Batches.missingFiles(query._jsq))
        missing = [path for path in paths if path not in self._context.body.static_locations]
        if missing:
            count = f" ({len(missing)} files in all)" if len(missing) > 1 else ""
            raise StatementError(
                "SOURCE_CHANGED",
                f"Batch {batch} cannot read {missing[0]}, which was deleted or moved{count}. Nothing was written.",
                hint=GONE_HINT,
                where=missing[0],
            )

    def _watch_sources(self) -> None:
        """Make Spark leave idle sources out of the watermark, once, when the options of the job say so."""
        millis = self._context.job.plan.options.idle_timeout_millis
        if millis is None or self._watches_sources or self._query is None:
            return
        java(self._context.session).stream.IdleSources.watch(self._query._jsq, millis)
        self._watches_sources = True

    class Java:
        implements = ("java.util.function.BiConsumer",)


def describe_kept_rows(progress: dict[str, Any]) -> str:
    """Return a message about rows of state that wait for the watermark at the end of a run; empty without any."""
    if not progress.get("eventTime", {}).get("watermark"):
        return ""
    kept = sum(operator.get("numRowsTotal", 0) for operator in progress.get("stateOperators", ()))
    if not kept:
        return ""
    rows = "1 row of state waits" if kept == 1 else f"{kept} rows of state wait"
    return f"{rows} until the watermark ({progress['eventTime']['watermark']}) has passed."
