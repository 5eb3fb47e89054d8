"""Retention of ended jobs: jobs are deleted by age, and the oldest ones by number.

The files of a job are deleted first, then job and history in one transaction, so a crash never leaves files without a
job. A job that has just ended, or that a statement waits for, is left for the next time. Retention runs when the engine
starts, after a job has ended or its files are deleted, and once a day. All of it runs on the manager's writer thread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from jetsql.errors import EngineError
from jetsql.jobs.lifecycle.events import Superseded
from jetsql.jobs.lifecycle.step_context import can_run_again
from jetsql.jobs.model.job import Job, name_key
from jetsql.jobs.model.job_settings import JobSettings
from jetsql.language.statement import TableKind

if TYPE_CHECKING:  # the store brings SQLAlchemy, which is slow to import
    from jetsql.jobs.store.job_store import Store

DAY: Final = 86400.0
_LOG: Final = logging.getLogger(__name__)


class Retention:
    """The deletion of ended jobs according to the settings."""

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
        """Create the retention; `start` runs it.

        at: runs a function at a time (seconds since the epoch). in_use: returns whether a statement or an action uses a
        job. apply: applies an event to a job. forget_metrics: deletes the metrics of jobs by their ids.
        """
        self._store = store
        self._settings = settings
        self._clock = clock
        self._at = at
        self._in_use = in_use
        self._apply = apply
        self._forget_metrics = forget_metrics
        self._settled_after = max(1.0, settings.statement_wait_seconds)

    def start(self) -> None:
        """Run now and every day."""
        self._at(self._clock() + DAY, self.start)
        self.run()

    def on_step(self, before: Job, after: Job) -> None:
        """Schedule a run after a step in which a job has ended or its files were deleted."""
        if not after.is_live and (before.is_live or before.has_files is not after.has_files):
            self._schedule()

    def _schedule(self) -> None:
        self._at(self._clock() + self._settled_after, self.run)

    def run(self) -> None:
        """Delete expired jobs; log an error of the store and try again at the next run."""
        try:
            self._forget(self._due())
        except EngineError as error:
            _LOG.error("Ended jobs could not be deleted: %s", error)

    def _due(self) -> list[Job]:
        now, settings = self._clock(), self._settings
        since, settled = now - settings.ended_jobs_days * DAY, now - self._settled_after
        return expired_jobs(self._store.ended_jobs(), settings.ended_jobs_most, since, settled)

    def _forget(self, due: list[Job]) -> None:
        free = [job for job in due if not self._in_use(job.id)]
        if len(free) < len(due):
            self._schedule()
        for job in free:
            if can_run_again(job):
                self._apply(job.id, Superseded("Its retention period is over."))
        deletable = [job.id for job in free if not job.has_files]
        self._store.forget(deletable)
        self._forget_metrics(deletable)


def expired_jobs(ended: Iterable[Job], limit: int, since: float, settled: float) -> list[Job]:
    """Return the ended jobs to delete, oldest end first.

    The last `limit` jobs that ended after `since` are kept, and all jobs that ended after `settled`; both times are
    seconds since the epoch. The newest job of a materialized view is kept.
    """
    ended = sorted(ended, key=lambda job: job.id)
    newest = {name_key(job.name): job.id for job in ended}
    # The newest job of a materialized view is its definition, with which REFRESH computes it again.
    by_end = sorted((job for job in ended if not _is_view(job) or newest[name_key(job.name)] != job.id), key=_end)
    kept = by_end[-limit:] if limit else []
    staying = {job.id for job in kept if _end(job) > since}
    return [job for job in by_end if job.id not in staying and _end(job) <= settled]


def _is_view(job: Job) -> bool:
    return job.version.table_kind is TableKind.MATERIALIZED_VIEW and not job.plan.analysis.streaming


def _end(job: Job) -> float:
    return job.submission_time if job.end_time is None else job.end_time
