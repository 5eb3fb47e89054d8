"""The sessions of browsers at the console, and the one-time links that open them.

A session is a random value in a cookie; the server has only its hash. It ends after some time without a request of the
user, after a fixed time, and with a logout. It is kept in memory, so it also ends with the engine.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import Final

IDLE_SECONDS: Final = 3600.0
ABSOLUTE_SECONDS: Final = 12 * 3600.0
LINK_SECONDS: Final = 60.0
_SESSIONS_MOST: Final = 200
_LINKS_MOST: Final = 20


@dataclass(eq=False)
class Login:
    """The session of a browser."""

    key: str  # the hash of the cookie's value
    opened: float  # seconds of the monotonic clock
    last_used: float
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    """A value that each request with an effect has to repeat. Pages of other origins cannot read it."""
    client_session: str | None = None  # the id of the session in which its SQL page runs statements


class LoginSessions:
    """All sessions and unused links. Any thread can use it."""

    def __init__(
        self,
        clock: Callable[[], float] = monotonic,
        idle_seconds: float = IDLE_SECONDS,
        absolute_seconds: float = ABSOLUTE_SECONDS,
        link_seconds: float = LINK_SECONDS,
    ) -> None:
        """Create it without sessions.

        idle_seconds: a session ends after this time without use. absolute_seconds: it ends after this time in any case.
        link_seconds: the time for which a link can be used.
        """
        self._clock = clock
        self._idle_seconds = idle_seconds
        self._absolute_seconds = absolute_seconds
        self._link_seconds = link_seconds
        self._logins: dict[str, Login] = {}
        self._links: dict[str, float] = {}
        self._lock = Lock()

    def open(self) -> tuple[str, Login]:
        """Open a session; return the cookie's value and the session. The oldest one ends if there are too many."""
        value = secrets.token_urlsafe(32)
        now = self._clock()
        login = Login(_hash(value), now, now)
        with self._lock:
            self._remove_ended(now)
            self._logins[login.key] = login
            while len(self._logins) > _SESSIONS_MOST:
                del self._logins[next(iter(self._logins))]
        return value, login

    def use(self, value: str) -> Login | None:
        """Return the session of a cookie's value and count this as use; None if there is none, or it has ended."""
        login = self.find(value)
        if login is not None:
            login.last_used = self._clock()
        return login

    def find(self, value: str) -> Login | None:
        """Return the session of a cookie's value as `use` does, without counting this as use."""
        with self._lock:
            login = self._logins.get(_hash(value))
            return None if login is None or self._has_ended(login, self._clock()) else login

    def is_open(self, value: str) -> bool:
        """Return whether there is a session for a cookie's value."""
        return self.find(value) is not None

    def close(self, login: Login) -> None:
        """End a session."""
        with self._lock:
            self._logins.pop(login.key, None)

    def make_link(self) -> str:
        """Return a code that opens one session, within a short time."""
        code = secrets.token_urlsafe(32)
        with self._lock:
            self._links[_hash(code)] = self._clock() + self._link_seconds
            while len(self._links) > _LINKS_MOST:
                del self._links[next(iter(self._links))]
        return code

    def redeem(self, code: str) -> bool:
        """Use up a code. Return whether it was valid."""
        with self._lock:
            until = self._links.pop(_hash(code), None)
        return until is not None and self._clock() < until

    def _has_ended(self, login: Login, now: float) -> bool:
        return now - login.last_used > self._idle_seconds or now - login.opened > self._absolute_seconds

    def _remove_ended(self, now: float) -> None:
        for key in [key for key, login in self._logins.items() if self._has_ended(login, now)]:
            del self._logins[key]


def _hash(value: str) -> str:
    return hashlib.sha256(value.encode(errors="replace")).hexdigest()
