"""The resources that wait for work: each is at one worker at a time, and waits longer after each failure."""

from __future__ import annotations

import random
from heapq import heappop, heappush
from threading import Condition
from time import monotonic
from typing import Final

from jetsql.job_resources.resource import ResourceKey

_FIRST_PAUSE: Final = 2.0
_LONGEST_PAUSE: Final = 300.0
_DOUBLINGS_MOST: Final = 10
_JITTER: Final = 0.2  # the part of a pause by which it may be longer


class WorkQueue:
    """The keys of resources. Any thread can use it."""

    def __init__(self) -> None:
        self._due: dict[ResourceKey, float] = {}
        self._heap: list[tuple[float, ResourceKey]] = []
        self._at_work: set[ResourceKey] = set()
        self._failures: dict[ResourceKey, int] = {}
        self._is_closed = False
        self._changed = Condition()

    def add(self, key: ResourceKey, seconds: float = 0.0) -> None:
        """Let a worker take a key after some time, or earlier if that was requested before."""
        when = monotonic() + seconds
        with self._changed:
            if self._due.get(key, float("inf")) <= when:
                return
            self._due[key] = when
            self._push(key)

    def retry(self, key: ResourceKey) -> None:
        """Let a worker take a key again after a pause, which grows with each failure."""
        with self._changed:
            failures = self._failures.get(key, 0)
            self._failures[key] = failures + 1
        pause = min(_FIRST_PAUSE * 2 ** min(failures, _DOUBLINGS_MOST), _LONGEST_PAUSE)
        self.add(key, pause * random.uniform(1.0, 1.0 + _JITTER))

    def forget_failures(self, key: ResourceKey) -> None:
        """Begin with the shortest pause at the next failure."""
        with self._changed:
            self._failures.pop(key, None)

    def take(self) -> ResourceKey | None:
        """Wait for a key that is due, and return it; None when the queue is closed.

        The worker calls `done` after its work.
        """
        with self._changed:
            while not self._is_closed:
                pause = self._skip_outdated()
                if pause is not None and pause <= 0:
                    key = heappop(self._heap)[1]
                    del self._due[key]
                    self._at_work.add(key)
                    return key
                self._changed.wait(pause)
            return None

    def done(self, key: ResourceKey) -> None:
        """Note that a worker has ended with a key."""
        with self._changed:
            self._at_work.discard(key)
            if key in self._due:
                self._push(key)

    def close(self) -> None:
        """Let all workers end."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _push(self, key: ResourceKey) -> None:
        if key not in self._at_work:  # otherwise `done` does it
            heappush(self._heap, (self._due[key], key))
            self._changed.notify()

    def _skip_outdated(self) -> float | None:
        """Remove entries that were replaced, and return the seconds until the next key is due; None without one."""
        while self._heap:
            when, key = self._heap[0]
            if self._due.get(key) == when and key not in self._at_work:
                return when - monotonic()
            heappop(self._heap)
        return None
