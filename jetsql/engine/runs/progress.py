"""What Spark tells of a batch that is committed, as an event and a measure. Pure: from its JSON alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from jetsql.engine.runs.lag import Lateness, lags
from jetsql.jobs.lifecycle.engine_api import BatchCommitted
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


def committed(run: RunId, measure: BatchMetrics, again: bool = False) -> BatchCommitted:
    """again: the batch was planned by an earlier run."""
    return BatchCommitted(
        run=run,
        batch=measure.batch,
        trigger_time=measure.time,
        input_rows=measure.input_rows or 0,
        rows_per_second=measure.processed_rows_per_second or 0.0,
        late_rows=measure.late_rows or 0,
        is_replay=again,
        metrics=measure,
    )


def of_batch(run: RunId, began: float, ended: float, rows: int | None) -> BatchMetrics:
    """A batch job as one batch. rows: that the sink has counted; as many are taken to have been read."""
    taken = max(ended - began, 0.001)
    rate = None if rows is None else rows / taken
    return BatchMetrics(run.run, 0, began, 0, 1, rows, rows, None, rate, rate, int(taken * 1000))


def measure_of(
    run: RunId, progress: Mapping[str, Any], output_rows: int | None, sources: Sequence[str], lateness: Lateness
) -> BatchMetrics:
    """Of a progress event of Structured Streaming. output_rows: that the sink has counted. sources: their names.
    lateness: what the run's earlier events have told."""
    time, durations = seconds(progress["timestamp"]), progress.get("durationMs", {})
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
        event_time_lag=time - seconds(events["max"]) if "max" in events else None,
        state_rows=_sum(states, "numRowsTotal"),
        state_bytes=_sum(states, "memoryUsedBytes"),
        lag=lags(progress.get("sources", ()), sources),
        lag_seconds=lateness.seconds(time, progress.get("sources", ()), sources),
        **{name: durations.get(phase) for name, phase in _PHASES.items()},
    )


def seconds(timestamp: str) -> float:
    """Of one of Spark's timestamps, since the epoch."""
    return datetime.fromisoformat(timestamp).timestamp()


def _sum(states: Any, name: str) -> int | None:
    """Over the operators that keep state; None where there is none."""
    return sum(state.get(name, 0) for state in states) if states else None


def _rate(progress: Mapping[str, Any], name: str) -> float | None:
    """A batch that took no time has no rate; Spark then says NaN or nothing."""
    value = progress.get(name)
    return float(value) if isinstance(value, int | float) and value == value else None


def _watermark(events: Mapping[str, str]) -> float | None:
    """None before the first event: Spark's watermark then is the epoch."""
    told = seconds(events["watermark"]) if "watermark" in events else 0.0
    return told or None
