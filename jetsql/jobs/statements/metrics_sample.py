"""The current state of all jobs for live displays: their newest batch and their recent rates.

Live jobs are read from memory only, so clients can poll every second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.statements.job_metrics import JobMetrics, job_metrics, rate_of
from jetsql.jobs.store.metrics import BatchMetrics

RATES: Final = 30
RATE_SECONDS: Final = 2.0
"""The length of the interval of a rate, in seconds."""

# The rows of a batch arrived since the previous batch, but after a pause at most this many seconds ago.
_MAX_SPREAD: Final = 10.0


@dataclass(frozen=True)
class JobSample:
    """The current state of a job."""

    metrics: JobMetrics
    rows_per_second: float | None  # of the newest batch; 0 without rows, None when the job does not run
    rates: tuple[float, ...]  # rows per second in the last `RATES` intervals, newest last; empty when it does not run


def sample_jobs(manager: Manager) -> tuple[JobSample, ...]:
    """Return a sample of each job of `job_metrics`, in the same order."""
    return tuple(sample_job(manager, metrics) for metrics in job_metrics(manager))


def sample_job(manager: Manager, metrics: JobMetrics) -> JobSample:
    """Return a sample of one job, from memory only."""
    rate = rate_of(manager.registry.get(metrics.id))
    now = manager.clock()
    if not metrics.runs_now:
        return JobSample(metrics, None, ())
    return JobSample(metrics, rate, rates(manager.metrics.since(metrics.id, now - RATES * RATE_SECONDS), now))


def rates(measures: Sequence[BatchMetrics], now: float) -> tuple[float, ...]:
    """Return the arrival rates in rows per second up to now. measures: of one job, oldest first."""
    began = now - RATES * RATE_SECONDS
    rows = [0.0] * RATES
    for start, stop, count in _arrivals(measures):
        if stop > began:
            _spread(rows, start - began, stop - began, count)
    return tuple(each / RATE_SECONDS for each in rows)


def _arrivals(measures: Sequence[BatchMetrics]) -> Iterator[tuple[float, float, int]]:
    """Return the arrivals as start, end and number of rows."""
    before: float | None = None
    for measure in measures:
        stop = measure.time + measure.span
        since = _MAX_SPREAD if before is None else min(max(stop - before, 0.0), _MAX_SPREAD)
        start = measure.time if measure.span else stop - since
        before = stop
        if measure.input_rows:
            yield start, stop, measure.input_rows


def _spread(rows: list[float], start: float, stop: float, count: int) -> None:
    """Distribute rows over the intervals in which they arrived. start, stop: seconds from the first interval."""
    if stop - start < RATE_SECONDS / 100:
        rows[min(max(int(stop / RATE_SECONDS), 0), RATES - 1)] += count
        return
    for index in range(max(int(start // RATE_SECONDS), 0), RATES):
        low, high = max(start, index * RATE_SECONDS), min(stop, (index + 1) * RATE_SECONDS)
        if high <= low:
            return
        rows[index] += count * (high - low) / (stop - start)
