"""The members of the cluster for the manager: it sends events to the jobs when members change, and when they settle.

Jobs restart on new members when no member has joined or left for `scale_up_delay_seconds`, so several members that join
in a row cause one restart. All of it runs on the manager's writer thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from jetsql.jobs.lifecycle.events import MembersChanged, MembersSettled
from jetsql.jobs.manager.job_registry import JobView


class Membership:
    """The available members, and their number of cores according to Spark."""

    def __init__(
        self,
        delay_seconds: float,
        clock: Callable[[], float],
        at: Callable[[float, Callable[[], None]], None],
        live: Callable[[], Iterable[JobView]],
        apply: Callable[[str, MembersChanged | MembersSettled], object],
    ) -> None:
        """Create it without members.

        at: runs a function at a time (seconds since the epoch). live: returns the jobs that have not ended. apply:
        applies an event to a job.
        """
        self.members: frozenset[str] = frozenset()
        self.cores = 0
        self._delay_seconds = delay_seconds
        self._clock = clock
        self._at = at
        self._live = live
        self._apply = apply
        self._changes = 0

    def update(self, members: frozenset[str], cores: int) -> None:
        """Set the available members, and send events to the jobs if they changed."""
        self.cores = cores
        if members == self.members:
            return
        self.members = members
        self._changes += 1
        change = self._changes
        self._send(MembersChanged())
        self._at(self._clock() + self._delay_seconds, lambda: self._settle(change))

    def _settle(self, change: int) -> None:
        if change == self._changes:
            self._send(MembersSettled())

    def _send(self, event: MembersChanged | MembersSettled) -> None:
        for view in self._live():
            self._apply(view.job.id, event)
