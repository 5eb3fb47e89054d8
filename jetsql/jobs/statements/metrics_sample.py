"""What the jobs do at this moment, for screens that show it live: their newest batch, and how rows came lately.

From memory, but for the jobs that have ended: whoever looks may ask every second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.statements.job_metrics import JobMetrics, job_metrics
from jetsql.jobs.store.metrics import BatchMetrics

RATES: Final = 30
RATE_SECONDS: Final = 2.0
"""A rate stands for so many seconds."""

# Rows of a batch came since the one before; behind a pause they came lately.
_SPREAD_MOST: Final = 10.0


@dataclass(frozen=True)
class JobSample:
    """rows_per_second: of the newest batch; 0 when it found nothing, None when the job does not run. rates: rows a
    second, `RATES` of them, the newest last."""

    metrics: JobMetrics
    rows_per_second: float | None
    rates: tuple[float, ...]


def sample_jobs(manager: Manager) -> tuple[JobSample, ...]:
    """Of the jobs that `job_metrics` has, in its order."""
    return tuple(_sample(manager, metrics) for metrics in job_metrics(manager))


def _sample(manager: Manager, metrics: JobMetrics) -> JobSample:
    view = manager.registry.get(metrics.id)
    rate = None if view is None else view.stats.rows_per_second
    return JobSample(metrics, rate, rates(manager.metrics.rows(metrics.id), manager.clock()))


def rates(measures: Sequence[BatchMetrics], now: float) -> tuple[float, ...]:
    """Rows a second as they came in up to now. measures: of one job, oldest first."""
    began = now - RATES * RATE_SECONDS
    rows = [0.0] * RATES
    for start, stop, count in _arrivals(measures):
        if stop > began:
            _spread(rows, start - began, stop - began, count)
    return tuple(each / RATE_SECONDS for each in rows)


def _arrivals(measures: Sequence[BatchMetrics]) -> Iterator[tuple[float, float, int]]:
    """From when to when how many rows came in."""
    before: float | None = None
    for measure in measures:
        stop = measure.time + measure.span
        since = _SPREAD_MOST if before is None else min(max(stop - before, 0.0), _SPREAD_MOST)
        start = measure.time if measure.span else stop - since
        before = stop
        if measure.input_rows:
            yield start, stop, measure.input_rows


def _spread(rows: list[float], start: float, stop: float, count: int) -> None:
    """Share rows out among the spans of time that they came in. start, stop: seconds from the first span."""
    if stop - start < RATE_SECONDS / 100:
        rows[min(max(int(stop / RATE_SECONDS), 0), RATES - 1)] += count
        return
    for index in range(max(int(start // RATE_SECONDS), 0), RATES):
        low, high = max(start, index * RATE_SECONDS), min(stop, (index + 1) * RATE_SECONDS)
        if high <= low:
            return
        rows[index] += count * (high - low) / (stop - start)
