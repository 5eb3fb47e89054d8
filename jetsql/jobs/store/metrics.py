"""Metrics of the batches of jobs: single new batches, older ones aggregated, with a fixed limit.

The metrics of a batch are a `BatchMetrics`. The metrics of a job are a `Series` of levels: the first has single
batches, the next ones have measures of 10 s, one minute and 10 minutes. A full level passes its oldest measure to the
next level, and the last level drops it. So the memory of a job is bounded, and a chart of the last minutes has every
batch. `metrics_file` stores the metrics.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Final

from jetsql.jobs.model.job import Job


@dataclass(frozen=True, slots=True)
class BatchMetrics:
    """Metrics of one batch, or of all batches in a span of time; None for a value that is unknown or does not apply."""

    run: int  # of the newest batch
    batch: int  # the number of the newest batch
    time: float  # when the trigger or the span began, seconds since the epoch
    span: int = 0  # seconds; 0 for one batch
    batches: int = 1  # the number of batches
    input_rows: int | None = None
    output_rows: int | None = None
    late_rows: int | None = None  # rows that were dropped because they were older than the watermark
    input_rows_per_second: float | None = None  # the rate of arrival
    processed_rows_per_second: float | None = None  # the rate of processing
    trigger_ms: int | None = None  # duration of the whole trigger; the following ones are parts of it
    add_batch_ms: int | None = None
    query_planning_ms: int | None = None
    wal_commit_ms: int | None = None
    commit_offsets_ms: int | None = None
    get_batch_ms: int | None = None
    latest_offset_ms: int | None = None
    watermark: float | None = None  # seconds since the epoch
    event_time_lag: float | None = None  # seconds from the newest event to the trigger
    state_rows: int | None = None
    state_bytes: int | None = None  # memory of the state
    lag: Mapping[str, int] = field(default_factory=dict)  # by source, the rows not read yet, in the source's units
    lag_seconds: Mapping[str, float] = field(default_factory=dict)  # by source, about how long the oldest has waited
    sink_rows: Mapping[str, int] = field(default_factory=dict)  # by sink, the rows written, of a job with several

    @property
    def committed(self) -> float:
        """Return when the batch was committed, in seconds since the epoch."""
        return self.time + (self.trigger_ms or 0) / 1000


_SUMS: Final = (
    "batches",
    "input_rows",
    "output_rows",
    "late_rows",
    "trigger_ms",
    "add_batch_ms",
    "query_planning_ms",
    "wal_commit_ms",
    "commit_offsets_ms",
    "get_batch_ms",
    "latest_offset_ms",
)
_NEWEST: Final = ("watermark", "event_time_lag", "state_rows", "state_bytes")


@dataclass(frozen=True)
class Level:
    """A level of a series."""

    span: int  # seconds of a measure; 0 for single batches
    limit: int  # the number of measures that are kept


LEVELS: Final = (Level(0, 100), Level(10, 60), Level(60, 120), Level(600, 288))


@dataclass(frozen=True)
class Changes:
    """The changes of a series since they were last written to the file."""

    job: str
    oldest: tuple[int, ...]  # by level, the number of the oldest measure that is kept
    written: tuple[tuple[tuple[int, BatchMetrics], ...], ...]  # by level, new and changed measures with their numbers


def keeps_metrics(job: Job) -> bool:
    """Return whether a job's measures are kept: until its end, or longer with storeMetricsAfterJobCompletion."""
    return job.is_live or job.plan.options.store_metrics_after_completion


class Series:
    """The measures of one job. In each level they have consecutive numbers."""

    def __init__(self, levels: tuple[Level, ...] = LEVELS) -> None:
        self._levels = levels
        self._measures: tuple[deque[BatchMetrics], ...] = tuple(deque() for _ in levels)
        self._oldest = [0] * len(levels)
        self._unwritten = [0] * len(levels)

    def add(self, measure: BatchMetrics) -> None:
        """Add the newest batch."""
        self._append(0, measure)

    def restore(self, level: int, number: int, measure: BatchMetrics) -> None:
        """Add a measure from the file; call it in the order of the numbers."""
        kept = self._measures[level]
        if not kept:
            self._oldest[level] = number
        kept.append(measure)
        self._unwritten[level] = self._oldest[level] + len(kept)

    def rows(self) -> tuple[BatchMetrics, ...]:
        """Return all measures, oldest first."""
        return tuple(measure for kept in reversed(self._measures) for measure in kept)

    def since(self, time: float) -> tuple[BatchMetrics, ...]:
        """Return the measures that end after a time, and the newest one before it, oldest first."""
        found: list[BatchMetrics] = []
        for measure in (measure for kept in self._measures for measure in reversed(kept)):
            found.append(measure)
            if measure.time + measure.span < time:
                break
        return tuple(reversed(found))

    @property
    def newest(self) -> BatchMetrics | None:
        """Return the newest batch, or None."""
        return self._measures[0][-1] if self._measures[0] else None

    def mark_unwritten(self) -> None:
        """Mark all measures as not written to the file."""
        self._unwritten = list(self._oldest)

    def take_changes(self, job: str) -> Changes | None:
        """Return the changes since the last call, or None."""
        written = tuple(self._since(level) for level in range(len(self._levels)))
        self._unwritten = [oldest + len(kept) for oldest, kept in zip(self._oldest, self._measures, strict=True)]
        return Changes(job, tuple(self._oldest), written) if any(written) else None

    def _since(self, level: int) -> tuple[tuple[int, BatchMetrics], ...]:
        oldest, kept = self._oldest[level], self._measures[level]
        first = max(self._unwritten[level], oldest)
        return tuple((number, kept[number - oldest]) for number in range(first, oldest + len(kept)))

    def _append(self, level: int, measure: BatchMetrics) -> None:
        kept = self._measures[level]
        kept.append(measure)
        if len(kept) > self._levels[level].limit:
            self._oldest[level] += 1
            self._fold(level + 1, kept.popleft())

    def _fold(self, level: int, measure: BatchMetrics) -> None:
        """Add a measure of the previous level to the measure of its span; drop it after the last level."""
        if level == len(self._levels):
            return
        kept, span = self._measures[level], self._levels[level].span
        time = measure.time // span * span
        if not kept or kept[-1].time != time:
            self._append(level, _with_rates(replace(measure, time=time, span=span)))
            return
        kept[-1] = _with_rates(_merge(kept[-1], measure))
        last = self._oldest[level] + len(kept) - 1
        self._unwritten[level] = min(self._unwritten[level], last)


def _merge(older: BatchMetrics, newer: BatchMetrics) -> BatchMetrics:
    """Return both measures as one, with time and span of the older one."""
    values: dict[str, Any] = {name: _sum(getattr(older, name), getattr(newer, name)) for name in _SUMS}
    values |= {name: getattr(newer if getattr(newer, name) is not None else older, name) for name in _NEWEST}
    values |= {"lag": {**older.lag, **newer.lag}, "lag_seconds": {**older.lag_seconds, **newer.lag_seconds}}
    sink_rows = Counter(older.sink_rows)
    sink_rows.update(newer.sink_rows)
    return replace(older, run=newer.run, batch=newer.batch, sink_rows=dict(sink_rows), **values)


def _sum(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other


def _with_rates(measure: BatchMetrics) -> BatchMetrics:
    """Return the measure with the rates of its whole span."""
    rows, worked = measure.input_rows, measure.trigger_ms
    return replace(
        measure,
        input_rows_per_second=None if rows is None else rows / measure.span,
        processed_rows_per_second=None if rows is None or not worked else rows * 1000 / worked,
    )


@dataclass(frozen=True)
class Totals:
    """Sums over all batches of a job since the engine started."""

    batches: int = 0
    input_rows: int = 0
    output_rows: int = 0
    late_rows: int = 0
    seconds: float = 0.0  # the duration of the triggers

    def plus(self, measure: BatchMetrics) -> Totals:
        """Return the sums including another batch."""
        return Totals(
            self.batches + 1,
            self.input_rows + (measure.input_rows or 0),
            self.output_rows + (measure.output_rows or 0),
            self.late_rows + (measure.late_rows or 0),
            self.seconds + (measure.trigger_ms or 0) / 1000,
        )


class Metrics:
    """The measures and totals of all jobs by id. Any thread can read; only the manager's writer thread adds."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._series: dict[str, Series] = {}
        self._totals: dict[str, Totals] = {}
        self._forgotten: set[str] = set()

    def add(self, job: str, measure: BatchMetrics, *, keep: bool = True) -> None:
        """Add a committed batch. keep: whether to keep its measure, or only count it in the totals."""
        with self._lock:
            self._totals[job] = self._totals.get(job, Totals()).plus(measure)
            if keep:
                self._series.setdefault(job, Series()).add(measure)

    def forget(self, jobs: Iterable[str]) -> None:
        """Delete the metrics of these jobs."""
        with self._lock:
            for job in jobs:
                self._totals.pop(job, None)
                self._series.pop(job, None)
                self._forgotten.add(job)

    def jobs(self) -> tuple[str, ...]:
        """Return the ids of the jobs that have measures, oldest first."""
        with self._lock:
            return tuple(sorted(self._series))

    def rows(self, job: str) -> tuple[BatchMetrics, ...]:
        """Return the measures of a job, oldest first."""
        with self._lock:
            series = self._series.get(job)
            return () if series is None else series.rows()

    def since(self, job: str, time: float) -> tuple[BatchMetrics, ...]:
        """Return the measures of a job that end after a time, and the newest one before it, oldest first."""
        with self._lock:
            series = self._series.get(job)
            return () if series is None else series.since(time)

    def latest(self, job: str) -> BatchMetrics | None:
        """Return the newest batch of a job; None before the first batch, or when its metrics are not kept."""
        with self._lock:
            series = self._series.get(job)
            return None if series is None else series.newest

    def totals(self, job: str) -> Totals:
        """Return the totals of a job; zeros when it has none."""
        with self._lock:
            return self._totals.get(job, Totals())

    # --- for the file ------------------------------------------------------------------------------------------------

    def restore(self, saved: Mapping[str, Series]) -> None:
        """Restore the measures from the file; call it before any measure is added."""
        with self._lock:
            self._series.update(saved)

    def take_changes(self) -> tuple[tuple[Changes, ...], Collection[str]]:
        """Return the changes since the last call, and the ids of the jobs to delete."""
        with self._lock:
            forgotten, self._forgotten = self._forgotten, set()
            by_job = (series.take_changes(job) for job, series in self._series.items())
            return tuple(changes for changes in by_job if changes is not None), forgotten

    def mark_unwritten(self) -> None:
        """Mark all measures of all jobs as not written to the file."""
        with self._lock:
            for series in self._series.values():
                series.mark_unwritten()
