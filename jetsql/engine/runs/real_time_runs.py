"""Runs in Spark's real-time mode: rows go through at once, and a batch is a long time of it, at whose end Spark notes
how far it is.

So little can wait for a batch: that the run works, and how many rows go through, is told while it lasts. A run that is
stopped has its batch end early. What has not ended by the deadline is interrupted: the rows of that batch are written
again by the next run.
"""

from __future__ import annotations

import json
from dataclasses import replace
from time import monotonic
from typing import Any

from pyspark.sql import SparkSession

from jetsql.engine.jvm.java_classes import java
from jetsql.engine.runs.spark_runs import RunContext, StreamingRun
from jetsql.engine.session.startup import is_stopped
from jetsql.errors import RetryableError
from jetsql.jobs.lifecycle.engine_api import RunIdle, RunProgressed
from jetsql.jobs.planning.real_time_rules import WAY_OUT, not_possible
from jetsql.jobs.store.metrics import Measure


def check_query(session: SparkSession, query: Any, taken: int) -> None:
    """Whether Spark could run a query in real-time mode now. taken: cores that other jobs never give free.

    Raises StatementError TRIGGER_NOT_POSSIBLE, without a place; RetryableError where it is only cores that are missing.
    """
    verdict = json.loads(java(session).stream.RealTimeCheck.check(session._jsparkSession, query))
    if "refused" in verdict:
        raise not_possible(f"can't run this query: {verdict['refused']}", None)
    needed, cores = verdict["tasks"], java(session).stream.RealTimeCheck.cores(session._jsparkSession)
    if cores and needed > cores - taken:  # without any it waits for members, and is asked about again then
        others = f", of which other jobs with this trigger hold {taken} for good" if taken else ""
        raise RetryableError(
            "TRIGGER_NOT_POSSIBLE",
            f"The trigger realTime needs a core for each task all the time: {needed} for this query (one for each"
            f" partition of its topics and of each shuffle), and the engine has {cores}{others}.",
            hint="Give the engine more cores (--master, or jetsql join), or read topics with fewer partitions."
            f" {WAY_OUT}",
        )


class RealTimeRun(StreamingRun):
    """A query with the trigger realTime."""

    def __init__(self, parts: RunContext) -> None:
        super().__init__(parts)
        self._java = java(parts.session)
        self._flow: Any = None
        self._read = (0, monotonic())

    @property
    def tasks(self) -> int:
        """The cores that it holds; 0 before its first batch."""
        return int(self._flow.tasks()) if self._flow is not None else 0

    def start(self) -> None:
        parts, name = self._parts, str(self._parts.id)
        query = self._java.stream.EarlyEndingSources.wrap(parts.query, name)
        self._parts = replace(parts, query=query)
        self._flow = self._java.stream.RealTimeProgress.watch(parts.session._jsparkSession, parts.job.id, name, self)
        try:
            super().start()
        except BaseException:
            self._unwatch()
            raise

    def stop(self, deadline_seconds: float) -> bool:
        self._started.wait()  # before that there is no batch to end
        flow = self._flow
        if flow is not None and not is_stopped(self._parts.session):
            flow.endBatches()
        return super().stop(deadline_seconds)

    def accept(self, kind: str, detail: str) -> None:
        if kind == "flow":
            self._tell_flow(int(detail))
        else:
            super().accept(kind, detail)

    def _trigger(self) -> dict[str, Any]:
        return {"realTime": f"{self._parts.job.plan.interval_millis} milliseconds"}

    def _tell_flow(self, rows: int) -> None:
        """rows: of the batch so far; fewer than before when it is another batch. Every few seconds, as long as all of
        its tasks run, whether rows come or not."""
        now, (before, then) = monotonic(), self._read
        came, took = (rows - before if rows >= before else rows), max(now - then, 0.001)
        self._read = (rows, now)
        self._moved = self._moved or came > 0
        self._parts.report(RunProgressed(self._parts.id, came, came / took))

    def _tell_batch(self, measure: Measure, again: bool) -> None:
        super()._tell_batch(measure, again)
        if measure.lag and not any(measure.lag.values()):
            self._parts.report(RunIdle(self._parts.id, measure.time, measure.processed_rows_per_second or 0.0))

    def _end(self) -> None:
        super()._end()
        self._unwatch()

    def _unwatch(self) -> None:
        flow, self._flow = self._flow, None
        if flow is not None and not is_stopped(self._parts.session):
            self._java.stream.RealTimeProgress.unwatch(self._parts.session._jsparkSession, flow)
