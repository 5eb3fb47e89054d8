"""Job ids: 64 bits as four groups of four hex digits, `0401-9f77-b9c0-0001`, ascending in time.

An id consists of the microsecond of its creation and a 12-bit counter. Each id is greater than the one before, even
when the clock is set back; after a restart, ids continue from the newest id in the store.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from threading import Lock
from typing import Final

_COUNT_BITS: Final = 12
_ID: Final = re.compile(r"[0-9a-f]{4}(-[0-9a-f]{4}){3}")


class IdMaker:
    """A thread-safe generator of ids."""

    def __init__(self, clock: Callable[[], float], after: str | None = None) -> None:
        """Create the generator.

        clock: returns seconds since the epoch. after: the newest id that was ever generated, if there is one.
        """
        self._clock = clock
        self._last = id_number(after) if after is not None else 0
        self._lock = Lock()

    def __call__(self) -> str:
        """Return a new id, greater than all previous ones."""
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
    """Return an id that a user wrote, in canonical spelling; None for a text that is not an id."""
    lowered = text.strip().lower()
    return lowered if _ID.fullmatch(lowered) else None
