"""One row of a job's history."""

from __future__ import annotations

from dataclasses import dataclass

from jetsql.jobs.model.job import DROPPED, Status
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

    def shown_before(self, is_dropped: bool) -> str | None:
        """Return the status before the event as users see it. is_dropped: see `Job.is_dropped`, of its job"""
        return None if self.from_status is None else _shown(self.from_status, is_dropped)

    def shown_status(self, is_dropped: bool) -> str:
        """Return the status after the event as users see it. is_dropped: see `Job.is_dropped`, of its job"""
        return _shown(self.to_status, is_dropped)


def _shown(status: Status, is_dropped: bool) -> str:
    # FAILED is final, so a dropped job has not failed before.
    return DROPPED if is_dropped and status is Status.FAILED else status.value
