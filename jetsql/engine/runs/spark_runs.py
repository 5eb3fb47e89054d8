"""Runs: one execution of a job on Spark, a streaming query or a batch insert, and what it reports.

Everything a streaming query tells comes as events of Spark's listener, so nothing polls. A run reports its end once;
a run that is being stopped reports nothing, the one who stops it knows.
"""

from __future__ import annotations

import json
import tempfile
import threading
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Protocol
from urllib.parse import unquote

from pyspark import InheritableThread, SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from jetsql.engine.checkpoints.checkpoint_folders import Progress
from jetsql.engine.checkpoints.checkpoint_pins import CheckpointPins
from jetsql.engine.checkpoints.job_lease import JobLease
from jetsql.engine.errors.remedies import GONE_HINT, Scene
from jetsql.engine.errors.run_failures import cause_of, of_throwable
from jetsql.engine.jvm.java_classes import java
from jetsql.engine.runs.lag import Lateness
from jetsql.engine.runs.progress import committed, measure_of, of_batch, seconds
from jetsql.engine.session.startup import is_stopped
from jetsql.engine.sinks import BatchWriter, SinkWriter, StreamWriter, encoded
from jetsql.errors import StatementError
from jetsql.failpoints import failpoint
from jetsql.jobs.lifecycle.engine_api import Report, RestartRequested, RunCompleted, RunFailed, RunIdle
from jetsql.jobs.model.job import Cause, Job, OutputMode, RunId, Trigger
from jetsql.jobs.store.metrics import Measure

_EVENTS_SECONDS = 5.0


class Run(Protocol):
    """A run that can be stopped."""

    def start(self) -> None:
        """Return when it runs. Raises what keeps it from starting."""

    def stop(self, deadline_seconds: float) -> bool:
        """Block until it ended; whether at a boundary."""

    def watch_idle(self) -> None:
        """Report the next idle trigger."""


@dataclass(frozen=True)
class RunContext:
    """What a run is made of. holds: the copies of its checkpoint. lease: its right to write. static_locations: where
    the tables beside its streams are. reached: how far the checkpoint had come before the run.
    """

    job: Job
    session: SparkSession
    query: Any
    writer: SinkWriter
    checkpoint: str
    report: Report
    holds: CheckpointPins
    lease: JobLease
    static_locations: tuple[str, ...]
    reached: Progress

    @property
    def id(self) -> RunId:
        return RunId(self.job.id, self.job.run)

    @property
    def scene(self) -> Scene:
        sink = self.job.plan.analysis.sink
        temporary = self.session.sparkContext.getConf().get("spark.local.dir", tempfile.gettempdir())
        return Scene(sink.system or sink.table, sink.location, self.checkpoint, str(temporary))

    def rows(self) -> DataFrame:
        """As the writer takes them."""
        rows = DataFrame(java(self.session).sql.Sessions.dataset(self.session._jsparkSession, self.query), self.session)
        return encoded(rows, self.writer)


class StreamingRun:
    """A Structured Streaming query whose batches go through a sink writer, or whose rows go where the writer has led
    them. once: it ends after one batch."""

    def __init__(self, parts: RunContext, once: bool = False) -> None:
        self._parts = parts
        self._once = once
        self._stopping = threading.Event()
        self._query: StreamingQuery | None = None
        self._started = threading.Event()
        self._ended = threading.Event()
        self._told_end = threading.Lock()
        self._failure: tuple[BaseException, int] | None = None
        self._next_batch = parts.reached.next_batch
        self._progress: dict[str, Any] = {}
        self._written: dict[int, int | None] = {}
        self._listener: Any = None
        self._lateness = Lateness()
        self._moved = True

    def start(self) -> None:
        parts = self._parts
        sc = parts.session.sparkContext
        self._listener = java(parts.session).stream.Queries.listen(parts.session._jsparkSession, self)
        writer = self._stream(parts.rows()).queryName(parts.job.name)
        writer = writer.option("checkpointLocation", parts.checkpoint)
        writer = writer.outputMode((parts.job.plan.output_mode or OutputMode.APPEND).value)
        writer = writer.trigger(**self._trigger())
        _mark_work(sc, parts.job)
        try:
            self._query = writer.start()
        finally:
            _mark_work(sc, None)
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
            return {"processingTime": "0 milliseconds"}  # its notes have the job's interval, not its batches
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
            self._stopping.clear()  # it goes on for now, so its end will be told when it comes
            raise
        # Events come in their order, so behind the end there is no batch left to be told. A dead Spark tells none.
        if not is_stopped(self._parts.session):
            self._ended.wait(_EVENTS_SECONDS)
            if graceful:
                self._report_failure(query)
        return graceful

    def watch_idle(self) -> None:
        listener = self._listener
        if listener is not None:
            listener.watchIdle()

    def stalled(self) -> bool:
        """Whether it is starting or has a trigger under way, and has told of none since this was asked before."""
        moved, self._moved = self._moved, False
        query = self._query
        return not moved and (query is None or bool(query._jsq.status().isTriggerActive()))

    def accept(self, kind: str, detail: str) -> None:
        """What the listener tells (java.util.function.BiConsumer)."""
        self._moved = self._moved or kind in ("progress", "idle")
        if kind == "progress":
            self._progress = json.loads(detail)
            batch = self._progress["batchId"]
            self._next_batch = batch + 1
            again = batch == self._parts.reached.replayed
            names = tuple(source.name for source in self._parts.job.plan.analysis.sources)
            measure = measure_of(self._parts.id, self._progress, self._written.pop(batch, None), names, self._lateness)
            self._tell_batch(measure, again)
        elif kind == "idle":
            self._parts.report(RunIdle(self._parts.id, seconds(detail)))
        else:
            self._ended.set()
            # The listener's thread must not wait for the thread that is starting the query.
            threading.Thread(target=self._end, name=f"end-{self._parts.id}", daemon=True).start()

    def _tell_batch(self, measure: Measure, again: bool) -> None:
        self._parts.report(committed(self._parts.id, measure, again))

    def _end(self) -> None:
        self._started.wait()
        if is_stopped(self._parts.session):
            return  # Spark was taken away under the engine: the job goes on with the next start
        java(self._parts.session).stream.Queries.release(self._parts.session._jsparkSession, self._listener)
        query = self._query
        # Java holds this run as its listener, and the run Java's query: together they would never be let go.
        self._query = self._listener = None
        if query is not None and not self._stopping.is_set():
            self._report_end(query)
        self._parts.writer.close()

    def _report_end(self, query: StreamingQuery) -> None:
        if not self._report_failure(query):
            self._parts.report(self._ended_without_error())

    def _report_failure(self, query: StreamingQuery) -> bool:
        """Report the error that ended the query, once; whether there is one. A stop and the end may both come by."""
        throwable = java(self._parts.session).stream.Queries.failure(query._jsq)
        if throwable is not None and self._told_end.acquire(blocking=False):
            self._parts.report(_ended(self._parts, self._cause(throwable)))
        return throwable is not None

    def _cause(self, throwable: object) -> Cause:
        scene = self._parts.scene
        if self._failure is not None:
            return cause_of(*self._failure, scene)
        return of_throwable(throwable, self._next_batch, scene)

    def _ended_without_error(self) -> RunCompleted | RunFailed:
        if self._once or self._parts.job.plan.trigger is Trigger.AVAILABLE_NOW:
            return RunCompleted(self._parts.id, held_back(self._progress))
        return RunFailed(self._parts.id, Cause("The query was stopped from outside JetSQL."))

    def _write(self, writer: BatchWriter, rows: DataFrame, batch: int) -> None:
        self._parts.holds.before_batch(self._parts.job.id, batch, self._stopping)
        try:
            self._parts.lease.check()
            self._check_files(batch)
            self._written[batch] = writer.write(rows, batch)
            failpoint("sink-written", self._parts.job.name)
        except BaseException as error:
            # Across Java the error would lose its condition, and Spark searches through its text, however long.
            self._failure = (error, batch)
            raise RuntimeError(f"Batch {batch} was not written.") from None

    def _check_files(self, batch: int) -> None:
        """Raises StatementError SOURCE_CHANGED when files were deleted after the batch was planned and before now.

        Spark would leave their rows out for ever without a word, unless somebody said that this is fine.
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
        """A batch job is never idle."""

    def _execute(self) -> None:
        parts = self._parts
        sc = parts.session.sparkContext
        sc.setJobGroup(str(parts.id), parts.job.name, interruptOnCancel=True)
        _mark_work(sc, parts.job)
        began = datetime.now()
        try:
            parts.lease.check()
            count = self._writer.write(parts.rows(), 0)
            self._writer.close()
            failpoint("sink-written", parts.job.name)
        except Exception as error:  # whatever it is, it is the job's end and is told as such
            if not self._stopping:
                parts.report(_ended(parts, cause_of(error, 0, parts.scene)))
            return
        parts.report(committed(parts.id, of_batch(parts.id, began.timestamp(), datetime.now().timestamp(), count)))
        parts.report(RunCompleted(parts.id))


def _mark_work(context: SparkContext, job: Job | None) -> None:
    """What this thread and the threads that come from it have Spark do is the job's: in its pool, by its name in the
    log."""
    context.setLocalProperty("spark.scheduler.pool", None if job is None else job.id)  # type: ignore[arg-type]
    context.setLocalProperty("mdc.job", None if job is None else job.name)  # type: ignore[arg-type]


def held_back(progress: dict[str, Any]) -> str:
    """What a watermark still keeps in the state when a run over what was available has ended."""
    if not progress.get("eventTime", {}).get("watermark"):
        return ""
    kept = sum(operator.get("numRowsTotal", 0) for operator in progress.get("stateOperators", ()))
    if not kept:
        return ""
    return f"{kept} rows of state wait for the watermark ({progress['eventTime']['watermark']}) to pass them."


def _ended(parts: RunContext, cause: Cause) -> RunFailed | RestartRequested:
    """Report the end of a run; a side table that was overwritten is a reason to restart with its new rows."""
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
    """Return the path of a URL with one slash or with three behind its scheme."""
    return url.partition(":")[2].strip("/")
