"""The members of the cluster for the manager: it sends events to the jobs when members change, and when they settle.

Jobs use new members when no member has joined, left or begun to leave for `scale_up_delay_seconds`, so several members
that join in a row cause one restart, and a member that another one replaces causes none. All of it runs on the
manager's writer thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from jetsql.jobs.lifecycle.events import MembersChanged, MembersSettled
from jetsql.jobs.manager.job_registry import JobView
from jetsql.jobs.model.cluster_member import ClusterState


class Membership:
    """The members according to Spark."""

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
        self.cluster = ClusterState()
        self._delay_seconds = delay_seconds
        self._clock = clock
        self._at = at
        self._live = live
        self._apply = apply
        self._changes = 0

    def update(self, cluster: ClusterState) -> None:
        """Set the members, and send events to the jobs if members have joined, left or begun to leave."""
        before, self.cluster = self.cluster, cluster
        if (cluster.members, cluster.leaving) == (before.members, before.leaving):
            return
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
