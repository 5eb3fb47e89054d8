"""The jobs whose owners lose rights: they are checked again within the statement, and suspended if they may not run.

A job that starts meanwhile is checked by its start. So only jobs that run, or wait to run, are checked here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from time import monotonic
from typing import Final

from jetsql.errors import JetSQLError
from jetsql.jobs.access.access_state import AccessState
from jetsql.jobs.access.job_rights import weakened_owners
from jetsql.jobs.lifecycle.events import RightsLost, Step
from jetsql.jobs.lifecycle.runtime import RightsGates
from jetsql.jobs.lifecycle.step_context import join_sentences
from jetsql.jobs.manager.job_registry import JobRegistry, JobView
from jetsql.jobs.model.job import Cause, Job, Status
from jetsql.output.counts import counted

_LOG: Final = logging.getLogger(__name__)
_NOT_RUNNING: Final = (Status.SUSPENDED, Status.SUSPENDED_EXPORTING_SNAPSHOT)


class OwnerRights:
    """The check of live jobs after a change of rights."""

    def __init__(
        self,
        gates: RightsGates,
        registry: JobRegistry,
        apply: Callable[[Job, RightsLost], Step],
        cause_of: Callable[[Exception], Cause],
        wait_seconds: float,
    ) -> None:
        """Create it. wait_seconds: the time to wait for the end of runs."""
        self._gates = gates
        self._registry = registry
        self._apply = apply
        self._cause_of = cause_of
        self._wait_seconds = wait_seconds

    def enforce(self, before: AccessState, after: AccessState) -> str:
        """Suspend the jobs that a change of rights concerns and that may not run now, see `suspend_refused`."""
        owners = weakened_owners(before, after)
        live = (view.job for view in self._registry.live())
        return self.suspend_refused(job for job in live if owners is None or job.owner in owners)

    def suspend_refused(self, jobs: Iterable[Job]) -> str:
        """Suspend those jobs that their owners may not run, and return how many as a sentence; empty for none.

        Waits until their runs have ended.
        """
        stopped = list(self._suspend(job for job in jobs if job.is_live and job.status not in _NOT_RUNNING))
        if not stopped:
            return ""
        until = monotonic() + self._wait_seconds
        views = [self._registry.wait(JobView(job), _has_stopped, max(0.0, until - monotonic())) for job in stopped]
        running = [view.job for view in views if not _has_stopped(view)]
        was = "was" if len(stopped) == 1 else "were"
        suspended = f"{counted(len(stopped), 'job')} {was} suspended, because the owner lacks a right now."
        still = f"{counted(len(running), 'job')} of them still stops." if running else ""
        return join_sentences(suspended, still)

    def _suspend(self, jobs: Iterable[Job]) -> Iterator[Job]:
        """Suspend those jobs that are not allowed, and return them."""
        for job in jobs:
            error = self._refusal(job)
            if error is not None:
                step = self._apply(job, RightsLost(self._cause_of(error)))
                if step.history_event:
                    yield step.job

    def _refusal(self, job: Job) -> JetSQLError | None:
        """Return why a job is not allowed; None if it is, or if this cannot be determined, so that its start does."""
        try:
            self._gates.check_owner(job)
        except JetSQLError as error:
            if error.condition == "JETSQL.NOT_ALLOWED":
                return error
            _LOG.info("Job %s cannot be checked now: %s", job.id, error)
        except Exception as error:  # of Spark: the engine itself cannot analyse the body, as its next start reports
            _LOG.info("Job %s cannot be checked now: %s", job.id, type(error).__name__)
        return None


def _has_stopped(view: JobView) -> bool:
    return view.job.status is not Status.COMPLETING
