"""The logins in the audit log: clients send their tokens with each request, and attackers many wrong ones.

A successful login is recorded again when its client has sent nothing for some time. Of the failed logins of an address,
the first ones of each minute are recorded, and the number of the others; otherwise they could fill the log, and push
out what it had recorded before.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from time import monotonic
from typing import Final, NamedTuple

from jetsql.jobs.audit.audit_event import DENIED
from jetsql.jobs.audit.audit_log import AuditLog
from jetsql.request import Caller

_IDLE_SECONDS: Final = 600.0
_FAILED_MOST: Final = 20
_FAILED_SECONDS: Final = 60.0
_KEYS_MOST: Final = 10_000


class _Failures(NamedTuple):
    """The failed logins of an address since a time."""

    since: float
    number: int


class AuditedLogins:
    """The logins of one endpoint or more. Any thread can use it."""

    def __init__(self, audit: AuditLog, clock: Callable[[], float] = monotonic) -> None:
        self._audit = audit
        self._clock = clock
        self._used: dict[tuple[str, ...], float] = {}
        self._failures: dict[str, _Failures] = {}
        self._lock = Lock()

    def succeeded(self, caller: Caller) -> None:
        """Record a login, unless its client has sent a request a short time ago."""
        if not self._audit.is_on:
            return
        key = (caller.user, caller.endpoint, caller.address, caller.token)
        now = self._clock()
        with self._lock:
            before = self._used.pop(key, None)
            self._used[key] = now  # as the newest
            _limit(self._used)
        if before is None or now - before >= _IDLE_SECONDS:
            self._audit.note("login", caller)

    def ended(self, caller: Caller, reason: str) -> None:
        """Record that a login has ended, with its sessions and statements. reason: a sentence"""
        self._audit.note("login ended", caller, detail=reason)

    def failed(self, caller: Caller, reason: str = "the token is missing or wrong") -> None:
        """Record a failed login, or count it. reason: a phrase"""
        if not self._audit.is_on:
            return
        now = self._clock()
        with self._lock:
            since, count = self._failures.pop(caller.address, _Failures(now, 0))
            left_out = 0
            if now - since >= _FAILED_SECONDS:
                left_out, since, count = max(0, count - _FAILED_MOST), now, 0
            count += 1
            self._failures[caller.address] = _Failures(since, count)  # as the newest
            _limit(self._failures)
        if count > _FAILED_MOST:
            return
        detail = f"Refused: {reason}."
        if left_out:
            detail += f" Before, {left_out} failed logins of this address were counted and not recorded."
        elif count == _FAILED_MOST:
            detail += " Further ones of this address in this minute are counted and not recorded."
        self._audit.note("login", caller, outcome=DENIED, detail=detail)


def _limit(entries: dict[str, _Failures] | dict[tuple[str, ...], float]) -> None:
    while len(entries) > _KEYS_MOST:
        del entries[next(iter(entries))]  # type: ignore[arg-type]
