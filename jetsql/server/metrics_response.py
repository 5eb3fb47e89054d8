"""The response of `GET /v1/metrics`: current metrics of the jobs. Times are in seconds; unknown values are None."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jetsql.jobs.statements.metrics_sample import RATE_SECONDS, JobSample


def as_object(samples: Iterable[JobSample]) -> dict[str, Any]:
    """Return the samples as one object of JSON values."""
    return {"rate_seconds": RATE_SECONDS, "jobs": [_job(sample) for sample in samples]}


def _job(sample: JobSample) -> dict[str, Any]:
    reading, latest, lag = sample.metrics, sample.metrics.latest, sample.metrics.lag
    took = None if latest is None else latest.trigger_ms
    return {
        "id": reading.id,
        "name": reading.name,
        "status": reading.status,
        "runs": reading.runs,
        "attempts": reading.attempts,
        "rows_per_second": sample.rows_per_second,
        "rates": [round(rate, 3) for rate in sample.rates],
        "input_rows": reading.totals.input_rows,
        "late_rows": reading.totals.late_rows,
        "batch": None if latest is None else latest.batch,
        "batch_seconds": None if took is None else took / 1000,
        "lag": {} if lag is None else dict(lag.by_source),
        "lag_seconds": {} if lag is None else dict(lag.seconds_by_source),
        "lag_is_least": lag is not None and lag.is_least,
        "unread_seconds": lag.unread_seconds if lag is not None and lag.is_least else None,
        "event_time_lag": None if latest is None else latest.event_time_lag,
        "watermark_delay": reading.watermark_delay,
        "state_rows": None if latest is None else latest.state_rows,
        "state_bytes": None if latest is None else latest.state_bytes,
        "last_error": reading.last_error,
    }
