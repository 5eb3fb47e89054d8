"""One row of a job's history."""

from __future__ import annotations

from dataclasses import dataclass

from jetsql.jobs.model.job import Status


@dataclass(frozen=True)
class HistoryRow:
    """time: seconds since the epoch. title: the event in a few words. before: None for the job's first row."""

    job: str
    time: float
    title: str
    before: Status | None
    after: Status
    run: int
    words: str
