"""The jobs whose owners lose rights: they are checked again within the statement, and suspended if they may not run.

A job that cannot be checked, because a system that it reads is out of reach, is suspended as well.

A job that starts meanwhile is checked by its start. So only jobs that run, or wait to run, are checked here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from time import monotonic
from typing import Final, NamedTuple

from jetsql.errors import JetSQLError
from jetsql.jobs.access.access_state import AccessState
from jetsql.jobs.access.job_rights import unchecked_rights, weakened_owners
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
        """Suspend those jobs that their owners may not run, and those that cannot be checked.

        Waits until their runs have ended. Returns how many there are, in sentences; empty for none.
        """
        stopped = list(self._suspend(job for job in jobs if job.is_live and job.status not in _NOT_RUNNING))
        if not stopped:
            return ""
        until = monotonic() + self._wait_seconds
        views = [self._registry.wait(JobView(job), _has_stopped, max(0.0, until - monotonic())) for job, _ in stopped]
        running = [view.job for view in views if not _has_stopped(view)]
        unchecked = sum(is_unchecked for _, is_unchecked in stopped)
        return join_sentences(
            _suspended(len(stopped) - unchecked, "the owner lacks a right now"),
            _suspended(unchecked, "the rights of the owner cannot be checked now"),
            f"{counted(len(running), 'job')} of them still stops." if running else "",
        )

    def _suspend(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, bool]]:
        """Suspend those jobs that are not allowed, and return each with whether it could not be checked."""
        for job in jobs:
            refusal = self._refusal(job)
            if refusal is not None:
                step = self._apply(job, RightsLost(self._cause_of(refusal.error)))
                if step.history_event:
                    yield step.job, refusal.is_unchecked

    def _refusal(self, job: Job) -> _Refusal | None:
        """Return why a job may not run on; None if it may."""
        try:
            self._gates.check_owner(job)
        except Exception as error:  # of Spark as well, if it cannot analyse the body
            if isinstance(error, JetSQLError) and error.condition == "JETSQL.NOT_ALLOWED":
                return _Refusal(error)
            _LOG.info("The rights of the owner of job %s cannot be checked now: %s", job.id, error)
            return _Refusal(unchecked_rights(job.owner), is_unchecked=True)
        return None


class _Refusal(NamedTuple):
    error: JetSQLError
    is_unchecked: bool = False


def _suspended(count: int, reason: str) -> str:
    verb = "was" if count == 1 else "were"
    return f"{counted(count, 'job')} {verb} suspended, because {reason}." if count else ""


def _has_stopped(view: JobView) -> bool:
    return view.job.status is not Status.COMPLETING
