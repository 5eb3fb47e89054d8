"""The judgement of a standby on whether the leader has ended, from what it sees of the lease."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Observation:
    """The lease as a standby sees it."""

    number: int
    engine: str  # the id of the leader; empty after a clean stop
    holder: str  # the leader as a phrase
    beat: int
    address: str  # of the leader's HTTP endpoint, if it has one
    is_locked: bool
    server_seconds: float  # since PostgreSQL was started


class Watch:
    """The judgement of a standby on whether the leader has ended. Times are those of its monotonic clock."""

    def __init__(self, lease_seconds: float) -> None:
        self._lease_seconds = lease_seconds
        self._seen: tuple[int, str, int] | None = None
        self._since = 0.0
        self._was_locked = False

    def interrupt(self) -> None:
        """Measure the time from now on: the store was out of reach, so the leader may have missed heartbeats, too."""
        self._seen, self._was_locked = None, False

    def is_free(self, seen: Observation, now: float) -> bool:
        """Return whether this engine may lead.

        The lock of a leader whose process has ended is released immediately. A restart of PostgreSQL releases it as
        well, and then its leader gets the time of a lease to take it again.
        """
        beat = (seen.number, seen.engine, seen.beat)
        if beat != self._seen:
            self._seen, self._since = beat, now
        if not seen.engine:
            return not seen.is_locked  # otherwise an engine begins to lead, or the store is being copied
        if seen.is_locked:
            self._was_locked = True
        elif self._was_locked and seen.server_seconds > self._lease_seconds:
            return True
        return now - self._since >= self._lease_seconds
