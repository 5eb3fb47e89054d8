"""Count jobs: the only place that decides which jobs count, and as what.

The console, `.top`, the status bar and the metrics call it. It depends on the statuses that users see, not on `Job`, so
that clients can count the rows that an engine sends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Final, TypeVar

from jetsql.jobs.model.job import DROPPED, Status, name_key

T = TypeVar("T")


class JobGroup(StrEnum):
    """The groups of jobs by their state, those that need attention first."""

    FAILED = "failed"
    SUSPENDED_BY_ERROR = "suspended_by_error"
    SUSPENDED = "suspended"  # by a statement
    IN_TRANSITION = "in_transition"  # starting, stopping, or waiting for executors
    RUNNING = "running"
    COMPLETED = "completed"
    DROPPED = "dropped"

    @property
    def rank(self) -> int:
        """Return the place of the group in a list of jobs."""
        return _ORDER.index(self)


_ORDER: Final = tuple(JobGroup)
_GROUPS: Final = {
    Status.RUNNING: JobGroup.RUNNING,
    Status.FAILED: JobGroup.FAILED,
    Status.COMPLETED: JobGroup.COMPLETED,
    DROPPED: JobGroup.DROPPED,
}
_SUSPENDED: Final = (Status.SUSPENDED, Status.SUSPENDED_EXPORTING_SNAPSHOT)
_ENDED: Final = (JobGroup.FAILED, JobGroup.COMPLETED, JobGroup.DROPPED)


def group_of(status: str, has_error: bool) -> JobGroup:
    """Return the group of a job. status: see `Job.shown_status`; has_error: whether it has a last error"""
    if status in _SUSPENDED:
        return JobGroup.SUSPENDED_BY_ERROR if has_error else JobGroup.SUSPENDED
    return _GROUPS.get(status, JobGroup.IN_TRANSITION)


def has_ended(status: str) -> bool:
    """Return whether a job with a status, as users see it, has ended."""
    return group_of(status, False) in _ENDED


def needs_attention(status: str, has_error: bool) -> bool:
    """Return whether a job is in trouble: it has failed, or has an error that it did not get over."""
    group = group_of(status, has_error)
    return group is JobGroup.FAILED or (has_error and group not in _ENDED)


@dataclass(frozen=True)
class JobCounts:
    """The number of jobs by their group."""

    running: int = 0
    suspended: int = 0
    suspended_by_error: int = 0
    failed: int = 0
    in_transition: int = 0
    completed: int = 0
    dropped: int = 0


def count_jobs(jobs: Iterable[tuple[str, bool]]) -> JobCounts:
    """Count jobs, each with its status and whether it has an error, see `group_of`."""
    counts = {each.name: 0 for each in fields(JobCounts)}
    for status, has_error in jobs:
        counts[group_of(status, has_error)] += 1
    return JobCounts(**counts)


def describe_counts(counts: JobCounts) -> Iterator[tuple[JobGroup, str]]:
    """Yield the number of jobs of each group that has some as a phrase, that of running jobs in any case."""
    yield JobGroup.RUNNING, f"{counts.running} running"
    if counts.in_transition:
        yield JobGroup.IN_TRANSITION, f"{counts.in_transition} in transition"
    stopped = counts.suspended + counts.suspended_by_error
    if counts.suspended_by_error:
        yield JobGroup.SUSPENDED_BY_ERROR, f"{stopped} suspended ({counts.suspended_by_error} by an error)"
    elif stopped:
        yield JobGroup.SUSPENDED, f"{stopped} suspended"
    for group, count in (
        (JobGroup.FAILED, counts.failed),
        (JobGroup.COMPLETED, counts.completed),
        (JobGroup.DROPPED, counts.dropped),
    ):
        if count:
            yield group, f"{count} {group}"


def newest_of_names(jobs: Iterable[T], name: Callable[[T], str], taken: Iterable[str] = ()) -> Iterator[T]:
    """Yield the newest job of each name: an ended job counts until its name is used again.

    jobs: newest first. name: returns the name of one. taken: names of further, newer jobs
    """
    names = {name_key(each) for each in taken}
    for job in jobs:
        key = name_key(name(job))
        if key not in names:
            names.add(key)
            yield job
