"""Who is in the cluster, for the manager: it tells the jobs when that changes, and when it has not for a while.

The second is what growth waits for (`scale_up_delay_seconds`, from the last change), so that several members that join
one after the other are one restart. Everything here runs on the manager's writer thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from jetsql.jobs.lifecycle.events import MembersChanged, MembersSettled
from jetsql.jobs.manager.job_registry import JobView


class Membership:
    """members: those that are there now. cores: of all of them, as Spark counts.

    at: runs something at a time (seconds since the epoch). live: the jobs that have not ended. apply: gives one an
    event.
    """

    def __init__(
        self,
        delay_seconds: float,
        clock: Callable[[], float],
        at: Callable[[float, Callable[[], None]], None],
        live: Callable[[], Iterable[JobView]],
        apply: Callable[[str, MembersChanged | MembersSettled], object],
    ) -> None:
        self.members: frozenset[str] = frozenset()
        self.cores = 0
        self._delay_seconds = delay_seconds
        self._clock = clock
        self._at = at
        self._live = live
        self._apply = apply
        self._changes = 0

    def update(self, members: frozenset[str], cores: int) -> None:
        """These are there now."""
        self.cores = cores
        if members == self.members:
            return
        self.members = members
        self._changes += 1
        change = self._changes
        self._tell(MembersChanged())
        self._at(self._clock() + self._delay_seconds, lambda: self._settle(change))

    def _settle(self, change: int) -> None:
        if change == self._changes:
            self._tell(MembersSettled())

    def _tell(self, event: MembersChanged | MembersSettled) -> None:
        for view in self._live():
            self._apply(view.job.id, event)
