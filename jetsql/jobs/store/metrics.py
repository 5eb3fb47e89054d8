"""What the batches of jobs took and moved: the newest ones in full, older ones put together, never more than so many.

A batch is a `BatchMetrics`. A job's metrics are a `Series` of levels: the first holds single batches; what has no room
there is put together into measures that stand for 10 s, those into ones of a minute and those into ones of 10 minutes,
and what is too old for these is forgotten. So a job that runs for months takes no more room than one that runs for
days, and a chart of the last minutes has every batch. No clock, no thread of its own, no file (see `metrics_file`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Final

from jetsql.jobs.model.job import Job


@dataclass(frozen=True, slots=True)
class BatchMetrics:
    """One batch, or the batches of `span` seconds together. None: not known, or there is no such thing in the job.

    run, batch: of the newest batch. time: when its trigger began, or the span does; seconds since the epoch. span: 0
    for one batch. batches: how many. late_rows: dropped because they came behind the watermark. input_rows_per_second:
    as rows came in; processed_rows_per_second: while they were worked on. *_ms: durations by phase, trigger_ms of all.
    watermark: seconds since the epoch. event_time_lag: seconds from the newest event to the trigger. state_rows,
    state_bytes: kept from batch to batch, bytes of memory. lag: by source, how far it is behind, in the source's units;
    lag_seconds: about how long the oldest of that had waited.
    """

    run: int
    batch: int
    time: float
    span: int = 0
    batches: int = 1
    input_rows: int | None = None
    output_rows: int | None = None
    late_rows: int | None = None
    input_rows_per_second: float | None = None
    processed_rows_per_second: float | None = None
    trigger_ms: int | None = None
    add_batch_ms: int | None = None
    query_planning_ms: int | None = None
    wal_commit_ms: int | None = None
    commit_offsets_ms: int | None = None
    get_batch_ms: int | None = None
    latest_offset_ms: int | None = None
    watermark: float | None = None
    event_time_lag: float | None = None
    state_rows: int | None = None
    state_bytes: int | None = None
    lag: Mapping[str, int] = field(default_factory=dict)
    lag_seconds: Mapping[str, float] = field(default_factory=dict)


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
    """span: seconds that a measure stands for. most: how many of them are kept."""

    span: int
    most: int


LEVELS: Final = (Level(0, 100), Level(10, 60), Level(60, 120), Level(600, 288))


@dataclass(frozen=True)
class Changes:
    """What a file has to do to hold a series as it is: by level, the number of the oldest measure that is left, and
    those that are new or were added to, by number."""

    job: str
    oldest: tuple[int, ...]
    written: tuple[tuple[tuple[int, BatchMetrics], ...], ...]


def keeps_metrics(job: Job) -> bool:
    """Return whether a job's measures are kept: until its end, and longer by its option."""
    return job.is_live or job.plan.store_metrics_after_completion


class Series:
    """The measures of one job. Each has a number within its level, one more than the one before it."""

    def __init__(self, levels: tuple[Level, ...] = LEVELS) -> None:
        self._levels = levels
        self._measures: tuple[deque[BatchMetrics], ...] = tuple(deque() for _ in levels)
        self._oldest = [0] * len(levels)
        self._unwritten = [0] * len(levels)

    def add(self, measure: BatchMetrics) -> None:
        """The newest batch."""
        self._append(0, measure)

    def restore(self, level: int, number: int, measure: BatchMetrics) -> None:
        """A measure as it was written, in the order of the numbers."""
        kept = self._measures[level]
        if not kept:
            self._oldest[level] = number
        kept.append(measure)
        self._unwritten[level] = self._oldest[level] + len(kept)

    def rows(self) -> tuple[BatchMetrics, ...]:
        """Oldest first."""
        return tuple(measure for kept in reversed(self._measures) for measure in kept)

    @property
    def newest(self) -> BatchMetrics | None:
        return self._measures[0][-1] if self._measures[0] else None

    def mark_unwritten(self) -> None:
        """Nothing of it is in the file."""
        self._unwritten = list(self._oldest)

    def take_changes(self, job: str) -> Changes | None:
        """What changed since the last time; None when nothing did."""
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
        if len(kept) > self._levels[level].most:
            self._oldest[level] += 1
            self._fold(level + 1, kept.popleft())

    def _fold(self, level: int, measure: BatchMetrics) -> None:
        """What has no room at the level before. At the last one it is forgotten."""
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
    """Both in one; time and span are the older one's."""
    values: dict[str, Any] = {name: _sum(getattr(older, name), getattr(newer, name)) for name in _SUMS}
    values |= {name: getattr(newer if getattr(newer, name) is not None else older, name) for name in _NEWEST}
    values |= {"lag": {**older.lag, **newer.lag}, "lag_seconds": {**older.lag_seconds, **newer.lag_seconds}}
    return replace(older, run=newer.run, batch=newer.batch, **values)


def _sum(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other


def _with_rates(measure: BatchMetrics) -> BatchMetrics:
    """With the rates of its whole span."""
    rows, worked = measure.input_rows, measure.trigger_ms
    return replace(
        measure,
        input_rows_per_second=None if rows is None else rows / measure.span,
        processed_rows_per_second=None if rows is None or not worked else rows * 1000 / worked,
    )


@dataclass(frozen=True)
class Totals:
    """Sums over all batches of a job since the engine started. seconds: that its triggers took."""

    batches: int = 0
    input_rows: int = 0
    output_rows: int = 0
    late_rows: int = 0
    seconds: float = 0.0

    def plus(self, measure: BatchMetrics) -> Totals:
        return Totals(
            self.batches + 1,
            self.input_rows + (measure.input_rows or 0),
            self.output_rows + (measure.output_rows or 0),
            self.late_rows + (measure.late_rows or 0),
            self.seconds + (measure.trigger_ms or 0) / 1000,
        )


class Metrics:
    """The measures and totals of all jobs, by the jobs' ids. Any thread may read; the manager's writer adds."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._series: dict[str, Series] = {}
        self._totals: dict[str, Totals] = {}
        self._forgotten: set[str] = set()

    def add(self, job: str, measure: BatchMetrics, *, keep: bool = True) -> None:
        """A batch is committed. keep: whether its measure is kept, or only counted in the totals."""
        with self._lock:
            self._totals[job] = self._totals.get(job, Totals()).plus(measure)
            if keep:
                self._series.setdefault(job, Series()).add(measure)

    def forget(self, jobs: Iterable[str]) -> None:
        """Nothing of these is kept any more."""
        with self._lock:
            for job in jobs:
                self._totals.pop(job, None)
                self._series.pop(job, None)
                self._forgotten.add(job)

    def jobs(self) -> tuple[str, ...]:
        """Those that there are measures of, oldest first."""
        with self._lock:
            return tuple(sorted(self._series))

    def rows(self, job: str) -> tuple[BatchMetrics, ...]:
        """Return the measures of a job, oldest first."""
        with self._lock:
            series = self._series.get(job)
            return () if series is None else series.rows()

    def latest(self, job: str) -> BatchMetrics | None:
        """Return the newest batch of a job; None when there is none, or its metrics are not kept."""
        with self._lock:
            series = self._series.get(job)
            return None if series is None else series.newest

    def totals(self, job: str) -> Totals:
        with self._lock:
            return self._totals.get(job, Totals())

    # --- for the file ------------------------------------------------------------------------------------------------

    def restore(self, saved: Mapping[str, Series]) -> None:
        """What an earlier engine has left; before anything is added."""
        with self._lock:
            self._series.update(saved)

    def take_changes(self) -> tuple[tuple[Changes, ...], Collection[str]]:
        """What changed since the last time, and the jobs that are to be forgotten."""
        with self._lock:
            forgotten, self._forgotten = self._forgotten, set()
            found = (series.take_changes(job) for job, series in self._series.items())
            return tuple(changes for changes in found if changes is not None), forgotten

    def mark_unwritten(self) -> None:
        """The file has nothing of what there is."""
        with self._lock:
            for series in self._series.values():
                series.mark_unwritten()
