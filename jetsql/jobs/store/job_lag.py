"""The lag of a job: the one definition for SHOW JOBS, `.top`, the console, alerts, Kubernetes and the metrics.

The lag is the number of rows in the job's sources that its newest batch has not read, and how long the oldest of them
has waited. Only sources that report their newest offset have one (Kafka does, files do not); the event times in the
rows have no part in it. While a job does not run, its unread rows wait on: the time grows, and the number is the least
that it can be, because rows that arrive meanwhile are not counted before the next batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from jetsql.jobs.model.job import RUNNING_STATUSES, Job
from jetsql.jobs.store.metrics import BatchMetrics
from jetsql.output.counts import counted
from jetsql.output.short_numbers import format_count, format_seconds


@dataclass(frozen=True)
class JobLag:
    """The lag of a job. At least one of its sources has one."""

    by_source: Mapping[str, int]  # unread rows, in the units of the source
    seconds_by_source: Mapping[str, float]  # about how long the oldest of them waits; only where it is known
    is_least: bool = False  # the job does not run: more rows may have arrived
    unread_seconds: float = 0.0  # since the sources were read last

    @property
    def rows(self) -> int:
        """Return the unread rows of all sources."""
        return sum(self.by_source.values())

    @property
    def seconds(self) -> float | None:
        """Return how long the oldest unread row of all sources waits; None if it is unknown."""
        return max(self.seconds_by_source.values(), default=None)

    def part(self, rows: float, seconds: float | None) -> JobLag:
        """Return the lag of one source."""
        return replace(self, by_source={"": int(rows)}, seconds_by_source={} if seconds is None else {"": seconds})


def lag_of_batch(measure: BatchMetrics | None) -> JobLag | None:
    """Return the lag after a batch; None if no source reports it."""
    return JobLag(measure.lag, measure.lag_seconds) if measure is not None and measure.lag else None


def current_lag(job: Job, newest: BatchMetrics | None, now: float) -> JobLag | None:
    """Return the lag of a job now; None for an ended job, and if it is unknown.

    newest: the newest batch of the job. now: seconds since the epoch.
    """
    lag = lag_of_batch(newest) if job.is_live else None
    if lag is None or newest is None or job.status in RUNNING_STATUSES:
        return lag
    unread = max(0.0, now - newest.committed)
    waiting = {source: seconds + unread for source, seconds in lag.seconds_by_source.items() if lag.by_source[source]}
    return JobLag(lag.by_source, waiting, True, unread)


def describe_lag(lag: JobLag | None) -> str | None:
    """Return a lag as text, by source if there is more than one; None for None."""
    if lag is None:
        return None
    if lag.is_least and not lag.rows:
        return f"not read for {format_seconds(lag.unread_seconds)}"
    several = len(lag.by_source) > 1
    texts = []
    for source, number in lag.by_source.items():
        seconds = lag.seconds_by_source.get(source)
        rows = counted(number, "row", f"{'at least ' if lag.is_least else ''}{number}")
        text = f"{rows}, {_duration(seconds, lag.is_least)}" if number and seconds is not None else rows
        texts.append(f"{source}: {text}" if several else text)
    return "; ".join(texts)


def short_lag(lag: JobLag | None) -> str:
    """Return the lag of all sources as a short text; empty for None."""
    if lag is None:
        return ""
    if lag.is_least and not lag.rows:
        return f"not read for {format_seconds(lag.unread_seconds)}"
    rows = counted(lag.rows, "row", f"{'≥ ' if lag.is_least else ''}{format_count(lag.rows)}")
    return f"{rows}, {format_seconds(lag.seconds)}" if lag.rows and lag.seconds else rows


def _duration(seconds: float, is_coarse: bool) -> str:
    return format_seconds(seconds) if is_coarse else f"{seconds:.1f} s"
