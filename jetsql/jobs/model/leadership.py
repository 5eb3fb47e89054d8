"""The leadership of an engine, which its runs check before each batch.

An engine whose store is a file always leads. One whose store is on PostgreSQL leads while its heartbeats succeed: each
one allows writes until a time on the monotonic clock, which advances while the process is paused.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Condition, Event
from time import monotonic
from typing import Final

from jetsql.errors import StatementError

_PAUSE: Final = 0.2


@dataclass(frozen=True)
class LeaseTimes:
    """The times of a lease."""

    heartbeat_seconds: float = 1.0  # between two heartbeats of an engine
    lease_seconds: float = 3.0  # without a heartbeat, until a standby leads


class Leadership:
    """The leadership of one engine. Any thread can use it."""

    def __init__(self) -> None:
        self.number = 0
        """The number of the lease, which grows with each leader; 0 for a store without a lease."""
        self._until = float("inf")
        self._successor: str | None = None
        self._changed = Condition()

    @property
    def is_confirmed(self) -> bool:
        """Return whether this engine surely leads now."""
        return self._successor is None and monotonic() < self._until

    @property
    def is_lost(self) -> bool:
        """Return whether another engine leads."""
        return self._successor is not None

    def begin(self, number: int, until: float) -> None:
        """Lead with a new number until a time on the monotonic clock."""
        with self._changed:
            self.number, self._until = number, until
            self._changed.notify_all()

    def extend(self, until: float) -> None:
        """Lead until a later time."""
        with self._changed:
            self._until = max(self._until, until)
            self._changed.notify_all()

    def lose(self, successor: str) -> None:
        """Stop leading for ever. successor: the engine that leads now, as a phrase."""
        with self._changed:
            self._successor = successor
            self._changed.notify_all()

    def check(self, stopping: Event | None = None) -> None:
        """Wait until this engine surely leads. Raises StatementError JOB_IN_USE when another engine leads, and when
        `stopping` is set while it is unknown, as it is without a connection to the store."""
        while not self.is_confirmed:
            if self._successor is not None:
                raise _not_leading(f"{self._successor} leads now")
            if stopping is not None and stopping.is_set():
                raise _not_leading("this engine cannot reach its store, so another engine may lead")
            with self._changed:
                self._changed.wait(_PAUSE)


def _not_leading(reason: str) -> StatementError:
    return StatementError("JOB_IN_USE", f"Nothing was written: {reason}.")
