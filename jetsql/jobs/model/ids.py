"""Job ids: 64 bits as four groups of four hex digits, `0401-9f77-b9c0-0001`, ascending in time.

An id is the microsecond of its making and a 12-bit count behind it. The maker never goes below what it gave before, so
ids ascend even when the clock jumps back; after a restart it goes on from the newest id in the store.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from threading import Lock
from typing import Final

_COUNT_BITS: Final = 12
_ID: Final = re.compile(r"[0-9a-f]{4}(-[0-9a-f]{4}){3}")


class IdMaker:
    """Makes ids; safe to use from many threads.

    clock: seconds since the epoch. after: the newest id ever given, if there is one.
    """

    def __init__(self, clock: Callable[[], float], after: str | None = None) -> None:
        self._clock = clock
        self._last = id_number(after) if after is not None else 0
        self._lock = Lock()

    def __call__(self) -> str:
        """Return a new id, greater than all before."""
        with self._lock:
            self._last = max(self._last + 1, int(self._clock() * 1_000_000) << _COUNT_BITS)
            return id_text(self._last)


def id_text(number: int) -> str:
    """Return the id of a 64-bit number."""
    digits = f"{number:016x}"
    return "-".join(digits[at : at + 4] for at in range(0, 16, 4))


def id_number(text: str) -> int:
    """Return the number of an id as written by `id_text`."""
    return int(text.replace("-", ""), 16)


def canonical_id(text: str) -> str | None:
    """Return an id as a user wrote it, in our spelling; None when it can't be one."""
    lowered = text.strip().lower()
    return lowered if _ID.fullmatch(lowered) else None
