"""Turn Spark's progress report of a batch into an event and metrics. The functions depend only on its JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from jetsql.engine.runs.lag import LagTracker, count_lag
from jetsql.jobs.lifecycle.runtime import BatchCommitted
from jetsql.jobs.model.job import RunId
from jetsql.jobs.store.metrics import BatchMetrics

_PHASES: Final = {
    "trigger_ms": "triggerExecution",
    "add_batch_ms": "addBatch",
    "query_planning_ms": "queryPlanning",
    "wal_commit_ms": "walCommit",
    "commit_offsets_ms": "commitOffsets",
    "get_batch_ms": "getBatch",
    "latest_offset_ms": "latestOffset",
}


def batch_committed(run: RunId, measure: BatchMetrics, is_replay: bool = False, begun_after: int = 0) -> BatchCommitted:
    """Return the event for a committed batch.

    is_replay: whether an earlier run planned the batch.
    begun_after: see `BatchCommitted`.
    """
    return BatchCommitted(
        run=run,
        batch=measure.batch,
        trigger_time=measure.time,
        input_rows=measure.input_rows or 0,
        rows_per_second=measure.processed_rows_per_second or 0.0,
        late_rows=measure.late_rows or 0,
        is_replay=is_replay,
        metrics=measure,
        begun_after=begun_after,
    )


def measure_batch_job(run: RunId, began: float, ended: float, rows: int | None) -> BatchMetrics:
    """Return the metrics of a batch job as one batch.

    began, ended: seconds since the epoch.
    rows: the sink's row count, which is also used as the input row count; None if it is unknown.
    """
    seconds = max(ended - began, 0.001)
    rate = None if rows is None else rows / seconds
    return BatchMetrics(run.run, 0, began, 0, 1, rows, rows, None, rate, rate, int(seconds * 1000))


def measure_batch(
    run: RunId,
    progress: Mapping[str, Any],
    output_rows: int | None,
    sources: Sequence[str],
    lag_tracker: LagTracker,
    sink_rows: Mapping[str, int] = MappingProxyType({}),
) -> BatchMetrics:
    """Return the metrics of a progress event of Structured Streaming.

    output_rows: the sink's row count; None if it is unknown.
    sources: the names of the sources.
    lag_tracker: the history of the run's sources.
    sink_rows: the row count of each of several sinks.
    """
    time, durations = parse_timestamp(progress["timestamp"]), progress.get("durationMs", {})
    events, states = progress.get("eventTime", {}), progress.get("stateOperators", ())
    return BatchMetrics(
        run=run.run,
        batch=progress["batchId"],
        time=time,
        input_rows=progress.get("numInputRows", 0),
        output_rows=output_rows,
        late_rows=_sum(states, "numRowsDroppedByWatermark"),
        input_rows_per_second=_rate(progress, "inputRowsPerSecond"),
        processed_rows_per_second=_rate(progress, "processedRowsPerSecond"),
        watermark=_watermark(events),
        event_time_lag=time - parse_timestamp(events["max"]) if "max" in events else None,
        state_rows=_sum(states, "numRowsTotal"),
        state_bytes=_sum(states, "memoryUsedBytes"),
        lag=count_lag(progress.get("sources", ()), sources),
        lag_seconds=lag_tracker.measure_seconds(time, progress.get("sources", ()), sources),
        sink_rows=sink_rows,
        **{name: durations.get(phase) for name, phase in _PHASES.items()},
    )


def changes_nothing(earlier: Mapping[str, Any], progress: Mapping[str, Any]) -> bool:
    """Return whether a batch read no rows, and no watermark had moved since the one before it in the same run."""
    if not earlier or any(each.get("startOffset") != each.get("endOffset") for each in progress.get("sources", ())):
        return False
    return bool(_watermark(earlier.get("eventTime", {})) == _watermark(progress.get("eventTime", {})))


def parse_timestamp(timestamp: str) -> float:
    """Return one of Spark's timestamps as seconds since the epoch."""
    return datetime.fromisoformat(timestamp).timestamp()


def _sum(states: Any, name: str) -> int | None:
    """Return a metric's sum over the stateful operators; None without operators."""
    return sum(state.get(name, 0) for state in states) if states else None


def _rate(progress: Mapping[str, Any], name: str) -> float | None:
    """Return a rate, or None when the batch's duration is 0, for which Spark reports NaN or nothing."""
    value = progress.get(name)
    return float(value) if isinstance(value, int | float) and value == value else None


def _watermark(events: Mapping[str, str]) -> float | None:
    """Return the watermark, or None before the first event, while Spark reports the epoch."""
    watermark = parse_timestamp(events["watermark"]) if "watermark" in events else 0.0
    return watermark or None
