"""A timer for the ends of logins: each token has a time after which it is not valid any more."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Lock, Timer
from typing import Final

_LOG: Final = logging.getLogger(__name__)
_WAIT_MOST: Final = 3600.0
"""The limit of one wait in seconds: the clock can be set, and the machine can sleep."""


class ExpiryTimer:
    """A timer with many times. Any thread can use it."""

    def __init__(self, clock: Callable[[], float], on_expiry: Callable[[], None]) -> None:
        """Create it. clock: returns seconds since the epoch. on_expiry: called on a thread of its own after a time."""
        self._clock = clock
        self._on_expiry = on_expiry
        self._times: set[float] = set()
        self._timer: Timer | None = None
        self._next = 0.0  # the time that the timer waits for, if there is one
        self._lock = Lock()
        self._is_closed = False

    def expect(self, time: float | None) -> None:
        """Call the function at a time, in seconds since the epoch, unless it is past. None for no time."""
        if time is None or time <= self._clock():
            return
        with self._lock:
            self._times.add(time)
            if self._timer is None or time < self._next:
                self._wait()

    def close(self) -> None:
        """Stop the timer."""
        with self._lock:
            self._is_closed = True
            self._times.clear()
            self._wait()

    def _wait(self) -> None:
        """Wait for the next time. The caller has the lock."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._is_closed or not self._times:
            return
        self._next = min(self._times)
        self._timer = Timer(min(max(self._next - self._clock(), 0.0), _WAIT_MOST), self._ring)
        self._timer.name, self._timer.daemon = "login-expiry", True
        self._timer.start()

    def _ring(self) -> None:
        now = self._clock()
        with self._lock:
            due = {time for time in self._times if time <= now}
            self._times -= due
            self._wait()
        if not due:
            return
        try:
            self._on_expiry()
        except Exception:
            _LOG.exception("What depends on an expired token could not be ended")
