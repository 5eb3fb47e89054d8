"""Runs in Spark's real-time mode, in which Spark processes rows immediately and a batch is a long interval.

Spark reports progress only at the end of a batch. So the run reports its row rate while the batch runs. When a run is
stopped, its batch ends early. A batch that has not ended by the deadline is interrupted, and the next run writes its
rows again.
"""

from __future__ import annotations

import json
from dataclasses import replace
from time import monotonic
from typing import Any, Final

from pyspark.sql import SparkSession

from jetsql.engine.jvm.java_classes import java
from jetsql.engine.jvm.spark_version import spark_version
from jetsql.engine.runs.run_context import RunContext
from jetsql.engine.runs.streaming_runs import StreamingRun
from jetsql.engine.spark.startup import is_stopped
from jetsql.errors import RetryableError
from jetsql.jobs.lifecycle.runtime import RunIdle, RunProgressed
from jetsql.jobs.model.job import Cause
from jetsql.jobs.planning.option_rules import ALTERNATIVE, not_possible
from jetsql.jobs.store.metrics import BatchMetrics

_STATE_SINCE: Final = (4, 3)
"""The first Spark whose real-time mode runs operators with state."""
_STATEFUL: Final = ("StateStore", "Deduplicate", "TransformWithState")
_REMEDIES: Final = {
    "StreamingSymmetricHashJoin": (
        "Give the job OPTIONS ('stateTtlMillis' = '...'), with which an inner join ON equal columns runs."
    ),
    "SortMergeJoin": "Let Spark broadcast the table, which must fit into memory: SELECT /*+ BROADCAST(t) */ ....",
    "BroadcastNestedLoopJoin": "Compare columns of both sides by = in the condition of the join.",
    "LookupJoin": "Keep the rows of the table in a table of files, or in a topic that a job updates.",
    "EvalPython": "Write the function in SQL.",
}
"""Remedies by a part of the name of an operator that Spark does not support in real-time mode."""


def _remedy(refused: str) -> str:
    """Return what would help when Spark refuses operators, a sentence; empty if nothing is known."""
    if spark_version() < _STATE_SINCE and any(part in refused for part in (*_STATEFUL, "StreamingSymmetricHashJoin")):
        return "Spark 4.3 also runs queries with state in real-time mode."
    return next((remedy for part, remedy in _REMEDIES.items() if part in refused), "")


def check_real_time_query(session: SparkSession, query: Any, held_cores: int) -> int:
    """Check that Spark can run a query in real-time mode now, and return the number of cores that it occupies.

    Raises StatementError TRIGGER_NOT_POSSIBLE without a span, as RetryableError when only cores are missing.
    held_cores: the number of cores that other jobs with this trigger occupy permanently.
    """
    verdict = json.loads(java(session).stream.RealTimeCheck.check(session._jsparkSession, query))
    if "refused" in verdict:
        raise not_possible(f"cannot run this query: {verdict['refused']}", None, _remedy(verdict["refused"]))
    needed, cores = verdict["tasks"], java(session).stream.RealTimeCheck.cores(session._jsparkSession)
    if cores and needed > cores - held_cores:  # without cores, the run waits for executors and is then checked again
        others = f", {held_cores} of which other jobs with this trigger occupy" if held_cores else ""
        raise RetryableError(
            "TRIGGER_NOT_POSSIBLE",
            f"The trigger realTime permanently needs a core for each task: {needed} for this query (one for each"
            f" partition of its topics and of each shuffle). The engine has {cores}{others}.",
            hint="Give the engine more cores (--master, or jetsql join), or read topics with fewer partitions."
            f" {ALTERNATIVE}",
        )
    return int(needed)


class RealTimeRun(StreamingRun):
    """A query with the trigger realTime."""

    def __init__(self, context: RunContext) -> None:
        super().__init__(context)
        self._java = java(context.session)
        self._flow: Any = None
        self._read = (0, monotonic())

    @property
    def held_cores(self) -> int:
        """Return the number of cores that the run occupies; 0 before its first batch."""
        return int(self._flow.tasks()) if self._flow is not None else 0

    def start(self) -> None:
        context, name = self._context, str(self._context.id)
        query = self._java.stream.EarlyEndingSources.wrap(context.body.query, name)
        self._context = replace(context, body=replace(context.body, query=query))
        self._flow = self._java.stream.RealTimeProgress.watch(
            context.session._jsparkSession, context.job.id, name, self
        )
        try:
            super().start()
        except BaseException:
            self._unwatch()
            raise

    def stop(self, deadline_seconds: float) -> bool:
        self._started.wait()  # before the start, there is no batch to end
        flow = self._flow
        if flow is not None and not is_stopped(self._context.session):
            flow.endBatches()
        return super().stop(deadline_seconds)

    def accept(self, kind: str, detail: str) -> None:
        if kind == "flow":
            self._report_rows(int(detail))
        else:
            super().accept(kind, detail)

    def end_batch(self, outage: Cause, stalled_seconds: float) -> None:
        """Do nothing: the tasks of the run always occupy their cores, which other jobs do without."""

    def _trigger(self) -> dict[str, Any]:
        return {"realTime": f"{self._context.job.plan.interval_millis} milliseconds"}

    def _report_rows(self, rows: int) -> None:
        """Report the progress of a batch. Called every few seconds while all of its tasks run.

        rows: the rows of the current batch so far, which are fewer than in the last call after a new batch has begun.
        """
        now, (last_rows, last_time) = monotonic(), self._read
        new_rows, elapsed = (rows - last_rows if rows >= last_rows else rows), max(now - last_time, 0.001)
        self._read = (rows, now)
        self._has_progress = self._has_progress or new_rows > 0
        self._context.report(RunProgressed(self._context.id, new_rows, new_rows / elapsed))

    def _report_batch(self, measure: BatchMetrics, is_replay: bool) -> None:
        super()._report_batch(measure, is_replay)
        if measure.lag and not any(measure.lag.values()):
            rate = measure.processed_rows_per_second or 0.0
            self._context.report(RunIdle(self._context.id, measure.time, rate, self._begun_after))

    def _end(self) -> None:
        super()._end()
        self._unwatch()

    def _unwatch(self) -> None:
        flow, self._flow = self._flow, None
        if flow is not None and not is_stopped(self._context.session):
            self._java.stream.RealTimeProgress.unwatch(self._context.session._jsparkSession, flow)
