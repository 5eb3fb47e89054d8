"""The measures of a job as columns of numbers, for the plots of its page. Unknown values are None."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from jetsql.jobs.store.job_lag import lag_of_batch
from jetsql.jobs.store.metrics import BatchMetrics

_Number = float | int | None


def _rate(rows: int | None, measure: BatchMetrics) -> _Number:
    """Return the rows per second of a measure: over its span, or of a batch over the time that its trigger took."""
    seconds = measure.span or (measure.trigger_ms or 0) / 1000
    return None if rows is None or not seconds else round(rows / seconds, 3)


def _input_rate(measure: BatchMetrics) -> _Number:
    rate = measure.input_rows_per_second
    return _rate(measure.input_rows, measure) if rate is None else round(rate, 3)


def _per_batch(milliseconds: int | None, measure: BatchMetrics) -> _Number:
    """Return the mean duration of a batch in seconds."""
    return None if milliseconds is None else round(milliseconds / 1000 / measure.batches, 4)


def _watermark_delay(measure: BatchMetrics) -> _Number:
    return None if measure.watermark is None else round(measure.time + measure.span - measure.watermark, 3)


_COLUMNS: Final[dict[str, Callable[[BatchMetrics], _Number]]] = {
    "time": lambda measure: measure.time + measure.span / 2,
    "span": lambda measure: measure.span,
    "batch": lambda measure: measure.batch,
    "input_rate": _input_rate,
    "output_rate": lambda measure: _rate(measure.output_rows, measure),
    "trigger": lambda measure: _per_batch(measure.trigger_ms, measure),
    "add_batch": lambda measure: _per_batch(measure.add_batch_ms, measure),
    "query_planning": lambda measure: _per_batch(measure.query_planning_ms, measure),
    "latest_offset": lambda measure: _per_batch(measure.latest_offset_ms, measure),
    "get_batch": lambda measure: _per_batch(measure.get_batch_ms, measure),
    "wal_commit": lambda measure: _per_batch(measure.wal_commit_ms, measure),
    "commit_offsets": lambda measure: _per_batch(measure.commit_offsets_ms, measure),
    "lag_rows": lambda measure: None if (lag := lag_of_batch(measure)) is None else lag.rows,
    "lag_seconds": lambda measure: None if (lag := lag_of_batch(measure)) is None else lag.seconds,
    "watermark_delay": _watermark_delay,
    "state_rows": lambda measure: measure.state_rows,
    "state_bytes": lambda measure: measure.state_bytes,
    "late_rows": lambda measure: None if measure.late_rows is None else round(measure.late_rows / measure.batches, 3),
}


def plot_columns(measures: Sequence[BatchMetrics]) -> dict[str, list[_Number]]:
    """Return the columns of measures, oldest first, by name."""
    return {name: [value(measure) for measure in measures] for name, value in _COLUMNS.items()}
