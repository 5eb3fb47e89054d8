"""Failed logins by address: after too many, the next ones of the address are answered slowly.

A limit that refused them would lock out the users behind the same proxy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock
from time import monotonic
from typing import Final

_MOST: Final = 20
_SECONDS: Final = 60.0
_DELAY: Final = 1.0
_ADDRESSES_MOST: Final = 10_000


class FailedLogins:
    """The failed logins of the last minute. Any thread can use it."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._times: dict[str, deque[float]] = {}
        self._lock = Lock()

    def note(self, address: str) -> float:
        """Note a failed login from an address, and return the seconds before it is answered."""
        now = self._clock()
        with self._lock:
            times = self._times.pop(address, deque(maxlen=_MOST + 1))
            times.append(now)
            self._times[address] = times  # as the newest
            while len(self._times) > _ADDRESSES_MOST:
                del self._times[next(iter(self._times))]
            return _DELAY if sum(now - time < _SECONDS for time in times) > _MOST else 0.0
