"""Ended jobs are forgotten after a while: those that ended too many days ago, and the oldest of too many.

First their files go, then, when those are gone for certain, job and history in one transaction: whatever dies in
between, no file is left that no job knows of. A job that a statement may be about to ask for (it has just ended) or
waits for is left for the next time. There is no polling: it is looked after when the engine starts, when a job has
ended or its files are gone, and once a day. Everything here runs on the manager's writer thread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from jetsql.errors import EngineError
from jetsql.jobs.lifecycle.events import Superseded
from jetsql.jobs.lifecycle.step_context import can_run_again
from jetsql.jobs.model.job import Job
from jetsql.jobs.model.job_settings import JobSettings

if TYPE_CHECKING:  # the store brings SQLAlchemy, which is slow to import
    from jetsql.jobs.store.job_store import Store

DAY: Final = 86400.0
_LOG: Final = logging.getLogger(__name__)


class Retention:
    """Keeps the store's ended jobs within the settings.

    at: runs something at a time (seconds since the epoch). in_use: whether a statement waits for a job or something is
    still to be done for it. apply: gives a job an event. forget_metrics: of jobs by their ids.
    """

    def __init__(
        self,
        store: Store,
        settings: JobSettings,
        clock: Callable[[], float],
        at: Callable[[float, Callable[[], None]], None],
        in_use: Callable[[str], bool],
        apply: Callable[[str, Superseded], object],
        forget_metrics: Callable[[list[str]], object],
    ) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._at = at
        self._in_use = in_use
        self._apply = apply
        self._forget_metrics = forget_metrics
        self._settled_after = max(1.0, settings.statement_wait_seconds)

    def start(self) -> None:
        """Look after it now and every day."""
        self._at(self._clock() + DAY, self.start)
        self.run()

    def on_step(self, before: Job, after: Job) -> None:
        """A job has taken a step: come back when it has ended, or its files are gone, for some time."""
        if not after.is_live and (before.is_live or before.has_files is not after.has_files):
            self._later()

    def _later(self) -> None:
        self._at(self._clock() + self._settled_after, self.run)

    def run(self) -> None:
        """Forget what is beyond the settings. What can't be done now is left for the next time."""
        try:
            self._forget(self._due())
        except EngineError as error:
            _LOG.error("Ended jobs could not be forgotten: %s", error)

    def _due(self) -> list[Job]:
        now, settings = self._clock(), self._settings
        since, settled = now - settings.ended_jobs_days * DAY, now - self._settled_after
        return expired_jobs(self._store.ended_jobs(), settings.ended_jobs_most, since, settled)

    def _forget(self, due: list[Job]) -> None:
        free = [job for job in due if not self._in_use(job.id)]
        if len(free) < len(due):
            self._later()
        for job in free:
            if can_run_again(job):
                self._apply(job.id, Superseded("It ended a while ago and is kept no longer."))
        gone = [job.id for job in free if not job.has_files]
        self._store.forget(gone)
        self._forget_metrics(gone)


def expired_jobs(ended: Iterable[Job], most: int, since: float, settled: float) -> list[Job]:
    """Those of the ended jobs that are kept no longer, oldest end first.

    Kept are the `most` that ended last, as far as they ended after `since`, and whatever ended after `settled`; both
    are seconds since the epoch.
    """
    by_end = sorted(ended, key=_end)
    kept = by_end[-most:] if most else []
    staying = {job.id for job in kept if _end(job) > since}
    return [job for job in by_end if job.id not in staying and _end(job) <= settled]


def _end(job: Job) -> float:
    return job.submission_time if job.end_time is None else job.end_time
