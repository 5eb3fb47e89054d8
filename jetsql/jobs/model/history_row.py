"""One row of a job's history."""

from __future__ import annotations

from dataclasses import dataclass

from jetsql.jobs.model.job import Status
from jetsql.request import Caller


@dataclass(frozen=True)
class HistoryRow:
    """One event in the life of a job."""

    job_id: str
    time: float  # seconds since the epoch
    event: str  # a few words, such as "suspend requested"
    from_status: Status | None  # None for the job's first row
    to_status: Status
    run: int
    message: str
    by: Caller | None = None  # the author of the event; None for a row of an earlier release
