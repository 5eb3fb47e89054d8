"""The turns of starts of runs: a start plans its query, so more of them than cores only delay each other.

An engine that starts begins the runs of all its jobs. With one start for each core, half of them have begun after half
of the time; all in parallel, hardly any has before its end. But a start can also wait for an external system, which
needs no core. So a start that takes long keeps no other one waiting.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Condition
from time import monotonic
from typing import Final

from jetsql.jobs.model.job import Job

_LEAST: Final = 2
_TURN_SECONDS: Final = 3.0


def start_order(jobs: Iterable[Job]) -> list[Job]:
    """Return the jobs in the order in which an engine starts their runs: the shorter the interval, the earlier."""
    return sorted(jobs, key=lambda job: job.plan.interval_millis)


class StartTurns:
    """The turns of one engine."""

    def __init__(self, cores: int | None = None, seconds: float = _TURN_SECONDS) -> None:
        """Create it. cores: None for those of the machine. seconds: how long a start keeps others waiting."""
        self._most = cores or max(_LEAST, os.cpu_count() or _LEAST)
        self._seconds = seconds
        self._waiting: deque[object] = deque()
        self._begun: list[float] = []
        self._changed = Condition()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn, in the order of the calls, and have it inside the context."""
        begun = self._begin()
        try:
            yield
        finally:
            with self._changed:
                self._begun.remove(begun)
                self._changed.notify_all()

    def _begin(self) -> float:
        """Wait for a turn, and return its beginning, a time of the monotonic clock."""
        ticket = object()
        with self._changed:
            self._waiting.append(ticket)
            self._changed.wait_for(lambda: self._waiting[0] is ticket)
            while (left := self._seconds_left()) > 0:
                self._changed.wait(left)
            self._waiting.popleft()
            begun = monotonic()
            self._begun.append(begun)
            self._changed.notify_all()
        return begun

    def _seconds_left(self) -> float:
        """Return the seconds until the next turn, unless a start ends before."""
        if len(self._begun) < self._most:
            return 0.0
        return self._begun[-self._most] + self._seconds - monotonic()
