"""Runs: one execution of a job on Spark, a streaming query or a batch insert, and the events that it reports.

Events of a streaming query come from Spark's listener, so nothing polls. A run reports its end once. A run that is
being stopped does not report its end, because the caller of `stop` knows.
"""

from __future__ import annotations

import json
import tempfile
import threading
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Protocol
from urllib.parse import unquote

from pyspark import InheritableThread, SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from jetsql.engine.checkpoints.checkpoint_copies import CheckpointPins
from jetsql.engine.checkpoints.checkpoint_reader import Progress
from jetsql.engine.checkpoints.job_lease import JobLease
from jetsql.engine.errors.remedies import GONE_HINT, RunPaths
from jetsql.engine.errors.run_failures import cause_of, cause_of_throwable
from jetsql.engine.jvm.java_classes import java
from jetsql.engine.runs.lag import LagTracker
from jetsql.engine.runs.progress import batch_committed, measure_batch, measure_batch_job, parse_timestamp
from jetsql.engine.session.startup import is_stopped
from jetsql.engine.sinks import BatchWriter, SinkWriter, StreamWriter, encode_rows
from jetsql.errors import StatementError
from jetsql.failpoints import failpoint
from jetsql.jobs.lifecycle.engine_api import EngineEvent, Report, RestartRequested, RunCompleted, RunFailed, RunIdle
from jetsql.jobs.lifecycle.step_context import describe_cause
from jetsql.jobs.model.job import Cause, Job, OutputMode, RunId, Trigger
from jetsql.jobs.store.metrics import BatchMetrics

_EVENTS_SECONDS = 5.0


class Run(Protocol):
    """A run that can be stopped."""

    def start(self) -> None:
        """Start the run and return when it runs. Raises the error that keeps it from starting."""

    def stop(self, deadline_seconds: float) -> bool:
        """Block until the run has ended. Return whether it ended at a batch boundary."""

    def watch_idle(self) -> None:
        """Report the next idle trigger."""


@dataclass(frozen=True)
class RunContext:
    """What a run works with."""

    job: Job
    session: SparkSession
    query: Any
    writer: SinkWriter
    checkpoint: str
    report: Report
    pins: CheckpointPins
    """The copies of the job's checkpoint that are being made."""
    lease: JobLease
    """The run's right to write."""
    static_locations: tuple[str, ...]
    """The locations of the tables that the query reads in addition to its streams."""
    progress: Progress
    """How far the checkpoint was before the run."""

    @property
    def id(self) -> RunId:
        return RunId(self.job.id, self.job.run)

    @property
    def paths(self) -> RunPaths:
        sink = self.job.plan.analysis.sink
        temporary = self.session.sparkContext.getConf().get("spark.local.dir", tempfile.gettempdir())
        return RunPaths(sink.system or sink.table, sink.location, self.checkpoint, str(temporary))

    def rows(self) -> DataFrame:
        """Return the rows of the query as the sink takes them."""
        rows = DataFrame(java(self.session).sql.Sessions.dataset(self.session._jsparkSession, self.query), self.session)
        return encode_rows(rows, self.writer)


class StreamingRun:
    """A Structured Streaming query that writes through a batch sink, or natively. once: it ends after one batch."""

    def __init__(self, parts: RunContext, once: bool = False) -> None:
        self._parts = parts
        self._once = once
        self._stopping = threading.Event()
        self._query: StreamingQuery | None = None
        self._started = threading.Event()
        self._ended = threading.Event()
        self._failure_reported = threading.Lock()
        self._failure: tuple[BaseException, int] | None = None
        self._next_batch = parts.progress.next_batch
        self._progress: dict[str, Any] = {}
        self._written: dict[int, int | None] = {}
        self._listener: Any = None
        self._lag_tracker = LagTracker()
        self._has_progress = True

    def start(self) -> None:
        parts = self._parts
        sc = parts.session.sparkContext
        self._listener = java(parts.session).stream.Queries.listen(parts.session._jsparkSession, self)
        writer = self._stream(parts.rows()).queryName(parts.job.name)
        writer = writer.option("checkpointLocation", parts.checkpoint)
        writer = writer.outputMode((parts.job.plan.output_mode or OutputMode.APPEND).value)
        writer = writer.trigger(**self._trigger())
        _tag_thread(sc, parts.job)
        try:
            self._query = writer.start()
        finally:
            _tag_thread(sc, None)
            self._started.set()

    def _stream(self, rows: DataFrame) -> DataStreamWriter:
        writer = self._parts.writer
        if isinstance(writer, StreamWriter):
            return writer.attach(rows, self._once)
        return rows.writeStream.foreachBatch(partial(self._write, writer))

    def _trigger(self) -> dict[str, Any]:
        plan = self._parts.job.plan
        if self._once:
            return {"once": True}
        if plan.trigger is Trigger.AVAILABLE_NOW:
            return {"availableNow": True}
        if isinstance(self._parts.writer, StreamWriter):
            return {
                "processingTime": "0 milliseconds"
            }  # the job's interval is that of its progress tracking, not of its batches
        return {"processingTime": f"{plan.interval_millis} milliseconds"}

    def stop(self, deadline_seconds: float) -> bool:
        self._stopping.set()
        self._started.wait()
        query = self._query
        if query is None:
            return True
        try:
            graceful = bool(java(self._parts.session).stream.Queries.stop(query._jsq, int(deadline_seconds * 1000)))
        except Exception:
            if self._ended.is_set():
                return False
            self._stopping.clear()  # the run continues, so its end will be reported
            raise
        # Events come in order, so all batches have been reported before the end. A stopped Spark reports none.
        if not is_stopped(self._parts.session):
            self._ended.wait(_EVENTS_SECONDS)
            if graceful:
                self._report_failure(query)
        return graceful

    def watch_idle(self) -> None:
        listener = self._listener
        if listener is not None:
            listener.watchIdle()

    def is_stalled(self) -> bool:
        """Return whether the run is starting or has an active trigger, and has reported none since the last call."""
        had_progress, self._has_progress = self._has_progress, False
        query = self._query
        return not had_progress and (query is None or bool(query._jsq.status().isTriggerActive()))

    def accept(self, kind: str, detail: str) -> None:
        """Handle an event of Spark's listener; called from Java (java.util.function.BiConsumer)."""
        self._has_progress = self._has_progress or kind in ("progress", "idle")
        if kind == "progress":
            self._progress = json.loads(detail)
            batch = self._progress["batchId"]
            self._next_batch = batch + 1
            again = batch == self._parts.progress.replayed_batch
            names = tuple(source.name for source in self._parts.job.plan.analysis.sources)
            measure = measure_batch(
                self._parts.id, self._progress, self._written.pop(batch, None), names, self._lag_tracker
            )
            self._report_batch(measure, again)
        elif kind == "idle":
            self._parts.report(RunIdle(self._parts.id, parse_timestamp(detail)))
        else:
            self._ended.set()
            # The listener's thread must not wait for the thread that is starting the query.
            threading.Thread(target=self._end, name=f"end-{self._parts.id}", daemon=True).start()

    def _report_batch(self, measure: BatchMetrics, again: bool) -> None:
        self._parts.report(batch_committed(self._parts.id, measure, again))

    def _end(self) -> None:
        self._started.wait()
        if is_stopped(self._parts.session):
            return  # Spark was stopped under the engine: the job continues with the next start
        java(self._parts.session).stream.Queries.release(self._parts.session._jsparkSession, self._listener)
        query = self._query
        # Java refers to this run as its listener, and the run to Java's query: the cycle would never be collected.
        self._query = self._listener = None
        if query is not None and not self._stopping.is_set():
            self._report_end(query)
        self._parts.writer.close()

    def _report_end(self, query: StreamingQuery) -> None:
        if not self._report_failure(query):
            self._parts.report(self._ended_without_error())

    def _report_failure(self, query: StreamingQuery) -> bool:
        """Report the error that ended the query, once, and return whether there is one.

        Both `stop` and the end of the query call this.
        """
        throwable = java(self._parts.session).stream.Queries.failure(query._jsq)
        if throwable is not None and self._failure_reported.acquire(blocking=False):
            self._parts.report(_ended(self._parts, self._cause(throwable)))
        return throwable is not None

    def _cause(self, throwable: object) -> Cause:
        paths = self._parts.paths
        if self._failure is not None:
            return cause_of(*self._failure, paths)
        return cause_of_throwable(throwable, self._next_batch, paths)

    def _ended_without_error(self) -> RunCompleted | RunFailed:
        if self._once or self._parts.job.plan.trigger is Trigger.AVAILABLE_NOW:
            return RunCompleted(self._parts.id, describe_kept_rows(self._progress))
        return RunFailed(self._parts.id, Cause("The query was stopped from outside JetSQL."))

    def _write(self, writer: BatchWriter, rows: DataFrame, batch: int) -> None:
        self._parts.pins.wait_for_copies(self._parts.job.id, batch, self._stopping)
        try:
            self._parts.lease.check()
            self._check_files(batch)
            self._written[batch] = writer.write(rows, batch)
            failpoint("sink-written", self._parts.job.name)
        except BaseException as error:
            # Through Java, the error would lose its condition, and Spark would search its text, however long.
            self._failure = (error, batch)
            raise RuntimeError(f"Batch {batch} was not written.") from None

    def _check_files(self, batch: int) -> None:
        """Raise StatementError SOURCE_CHANGED when files of the batch were deleted after it was planned.

        Spark would silently leave out their rows for ever, unless the user has allowed that.
        """
        self._started.wait()
        query, session = self._query, self._parts.session
        if query is None or session.conf.get("spark.sql.files.ignoreMissingFiles") == "true":
            return
        found = json.loads(java(session).stream.Batches.missingFiles(query._jsq))
        missing = [path for path in found if path not in self._parts.static_locations]
        if missing:
            more = f" and {len(missing) - 1} other files" if len(missing) > 1 else ""
            raise StatementError(
                "SOURCE_CHANGED",
                f"{missing[0]}{more}, which batch {batch} is to read, was deleted or moved. Nothing was written.",
                hint=GONE_HINT,
                where=missing[0],
            )

    class Java:
        implements = ("java.util.function.BiConsumer",)


class BatchRun:
    """A batch job: its whole query is one batch, number 0, through the same writers."""

    def __init__(self, parts: RunContext) -> None:
        assert not isinstance(parts.writer, StreamWriter), "there is no stream to lead anywhere"
        self._parts = parts
        self._writer = parts.writer
        self._stopping = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = InheritableThread(target=self._execute, session=self._parts.session)
        self._thread.daemon = True
        self._thread.start()

    def stop(self, deadline_seconds: float) -> bool:
        self._stopping = True
        java(self._parts.session).stream.CancelledJobGroups.cancel(
            self._parts.session._jsparkSession, str(self._parts.id)
        )
        if self._thread is not None:
            self._thread.join()
        return True

    def watch_idle(self) -> None:
        """Do nothing: a batch job is never idle."""

    def _execute(self) -> None:
        parts = self._parts
        sc = parts.session.sparkContext
        sc.setJobGroup(str(parts.id), parts.job.name, interruptOnCancel=True)
        _tag_thread(sc, parts.job)
        began = datetime.now()
        try:
            parts.lease.check()
            count = self._writer.write(parts.rows(), 0)
            self._writer.close()
            failpoint("sink-written", parts.job.name)
        except Exception as error:  # any error ends the job and is reported as its failure
            if not self._stopping:
                parts.report(_ended(parts, cause_of(error, 0, parts.paths)))
            return
        parts.report(
            batch_committed(parts.id, measure_batch_job(parts.id, began.timestamp(), datetime.now().timestamp(), count))
        )
        parts.report(RunCompleted(parts.id))


def _tag_thread(context: SparkContext, job: Job | None) -> None:
    """Assign the Spark work of this thread and its children to a job: its scheduler pool, its name in the log."""
    context.setLocalProperty("spark.scheduler.pool", None if job is None else job.id)  # type: ignore[arg-type]
    context.setLocalProperty("mdc.job", None if job is None else job.name)  # type: ignore[arg-type]


def describe_kept_rows(progress: dict[str, Any]) -> str:
    """Return how many rows wait in the state for the watermark when an available-now run ends; else empty."""
    if not progress.get("eventTime", {}).get("watermark"):
        return ""
    kept = sum(operator.get("numRowsTotal", 0) for operator in progress.get("stateOperators", ()))
    if not kept:
        return ""
    return f"{kept} rows of state wait for the watermark ({progress['eventTime']['watermark']}) to pass them."


def _ended(parts: RunContext, cause: Cause) -> RunFailed | RestartRequested:
    """Return the event for the end of a run. A replaced side table is a reason to restart with its new rows."""
    missing = cause.condition == "FAILED_READ_FILE.FILE_NOT_EXIST" and any(
        _is_within(cause.where, location) for location in parts.static_locations
    )
    if missing or cause.condition == "JETSQL.SIDE_TABLE_REPLACED":
        return RestartRequested(parts.id, cause.message)
    return RunFailed(parts.id, cause)


def _is_within(file: str, folder: str) -> bool:
    """Return whether a file is in a folder. file: a URL, encoded. folder: a Hadoop path, plain."""
    return _path(unquote(file)).startswith(f"{_path(folder)}/")


def _path(url: str) -> str:
    """Return the path of a URL with one slash or with three after its scheme."""
    return url.partition(":")[2].strip("/")


class PendingBatchRun:
    """Passes on the events of a run that only finishes a pending batch, except its end, for which it waits.

    The job itself does not run, so the end of this run is no event of the job.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._end: SimpleQueue[RunCompleted | RunFailed | RestartRequested | None] = SimpleQueue()

    def report(self, event: EngineEvent) -> None:
        """Take the end of the run, and pass every other event on."""
        if isinstance(event, RunCompleted | RunFailed | RestartRequested):
            self._end.put(event)
        else:
            self._report(event)

    def cancel(self) -> None:
        """Stop waiting: the batch is not wanted any more."""
        self._end.put(None)

    def wait(self, seconds: float) -> None:
        """Wait until the batch is committed. Raises StatementError PENDING_BATCH_FAILED otherwise."""
        try:
            end = self._end.get(timeout=seconds)
        except Empty:
            raise pending_batch_failed(f"it did not end within {seconds:g} s") from None
        if end is None:
            raise pending_batch_failed("another statement came between")
        if not isinstance(end, RunCompleted):
            raise pending_batch_failed(describe_cause(end.cause) if isinstance(end, RunFailed) else end.message)


def pending_batch_failed(reason: str) -> StatementError:
    """Return the error to raise when a pending batch cannot be finished."""
    return StatementError(
        "PENDING_BATCH_FAILED",
        f"The job's newest batch was planned and is not committed, and it could not be finished: {reason}",
        hint="Mend that, RESUME the job until the batch is committed, and try again.",
    )
