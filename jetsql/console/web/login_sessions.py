"""The sessions of browsers at the console, and the one-time links that open them.

A session is a random value in a cookie; the server has only its hash. It ends after some time without a request of the
user, after a fixed time, with a logout, and with the token of its user. A file in the home has the sessions, so that
open pages continue when the engine starts again. Like the server, the file has only hashes; they belong to the engine's
token.
"""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from time import monotonic, time
from typing import Any, Final

from jetsql.home.private_files import write_private
from jetsql.request import BY_HOME_TOKEN, OWNER, Identity

_LOG: Final = logging.getLogger(__name__)
FILE: Final = "engine.logins"
"""The name of the file in the home."""
IDLE_SECONDS: Final = 3600.0
ABSOLUTE_SECONDS: Final = 12 * 3600.0
LINK_SECONDS: Final = 60.0
_USER_SESSIONS_MOST: Final = 200
"""The limit of a user's sessions, so that no user can end those of the others."""
_SESSIONS_MOST: Final = 2000
_LINKS_MOST: Final = 20
"""The limit of a user's unused links."""
_NOTED_SECONDS: Final = 30.0
"""The use of a session is noted in the file when this time has passed since the last note."""


@dataclass(eq=False)
class Login:
    """The session of a browser."""

    key: str  # the hash of the cookie's value
    opened: float  # seconds of the monotonic clock
    last_used: float
    user: int | None = None
    """The user of this machine who has logged in, see `client_user`; only this user can use the cookie."""
    identity: Identity = BY_HOME_TOKEN
    """The user of the engine who has logged in, and the token that the session depends on."""
    address: str = ""  # the IP address from which the user has logged in
    id: str = field(default_factory=lambda: secrets.token_hex(8))  # names the session in lists; no secret
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    """A value that each request with an effect has to repeat. Pages of other origins cannot read it."""
    client_session: str | None = None  # the id of the session in which its SQL page runs statements; may be closed
    noted: float = 0.0  # its last use in the file, as `last_used`

    @property
    def account(self) -> str:
        """Return the user of the engine."""
        return self.identity.user


@dataclass(frozen=True)
class ListedLogin:
    """A session in a list."""

    login: Login
    opened: float  # seconds since the epoch
    last_used: float  # as `opened`


class LoginSessions:
    """All sessions and unused links. Any thread can use it."""

    def __init__(
        self,
        clock: Callable[[], float] = monotonic,
        idle_seconds: float = IDLE_SECONDS,
        absolute_seconds: float = ABSOLUTE_SECONDS,
        link_seconds: float = LINK_SECONDS,
        wall_clock: Callable[[], float] = time,
        file: Path | None = None,
        engine: str = "",
    ) -> None:
        """Create it with the sessions of the file.

        idle_seconds: a session ends after this time without use. absolute_seconds: it ends after this time in any case.
        link_seconds: the time for which a link can be used. file: has the sessions; None for none. engine: the name of
        the token, see `TokenAuth.name`; sessions of another one are dropped.
        """
        self._clock = clock
        self._wall_clock = wall_clock
        self._idle_seconds = idle_seconds
        self._absolute_seconds = absolute_seconds
        self._link_seconds = link_seconds
        self._logins: dict[str, Login] = {}
        self._links: dict[str, tuple[Identity, float]] = {}
        self._lock = Lock()
        self._file = file
        self._engine = engine
        self._is_changed = False
        self._read()

    def open(self, user: int | None = None, identity: Identity = BY_HOME_TOKEN, address: str = "") -> tuple[str, Login]:
        """Open a session of a user; return the cookie's value and the session.

        user: of this machine. identity: the user of the engine. address: the client's.

        If a user has too many, the oldest one of this user ends; if all users together have, the oldest one of all.
        """
        value = secrets.token_urlsafe(32)
        now = self._clock()
        login = Login(_hash(value), now, now, user, identity, address)
        with self._lock:
            self._remove_ended(now)
            self._logins[login.key] = login
            self._is_changed = True
            own = [key for key, each in self._logins.items() if each.account == login.account]
            for key in own[:-_USER_SESSIONS_MOST]:
                del self._logins[key]
            while len(self._logins) > _SESSIONS_MOST:
                del self._logins[next(iter(self._logins))]
        return value, login

    def all(self) -> list[ListedLogin]:
        """Return the sessions of all users, the newest first."""
        now = self._clock()
        elapsed = self._wall_clock() - now
        with self._lock:
            self._remove_ended(now)
            logins = list(self._logins.values())[::-1]
        return [ListedLogin(each, each.opened + elapsed, each.last_used + elapsed) for each in logins]

    def find(self, value: str) -> Login | None:
        """Return the session of a cookie's value; None if there is none, or it has ended."""
        with self._lock:
            login = self._logins.get(_hash(value))
            return None if login is None or self._has_ended(login, self._clock()) else login

    def note_use(self, login: Login) -> None:
        """Prolong a session that its user has used."""
        login.last_used = self._clock()
        self._is_changed |= login.last_used - login.noted > _NOTED_SECONDS

    def is_open(self, value: str) -> bool:
        """Return whether there is a session for a cookie's value."""
        return self.find(value) is not None

    def close(self, login: Login) -> None:
        """End a session."""
        with self._lock:
            self._logins.pop(login.key, None)
            self._is_changed = True

    def make_link(self, identity: Identity = BY_HOME_TOKEN) -> str:
        """Return a code that opens one session of a user of the engine, within a short time."""
        code = secrets.token_urlsafe(32)
        with self._lock:
            self._links[_hash(code)] = identity, self._clock() + self._link_seconds
            own = [key for key, (each, _) in self._links.items() if each.user == identity.user]
            for key in own[:-_LINKS_MOST]:
                del self._links[key]
        return code

    def user_of_link(self, code: str) -> str | None:
        """Return the user of the engine for whom a code was made, and leave it valid; None if it is not."""
        with self._lock:
            identity, until = self._links.get(_hash(code), (None, 0.0))
        return identity.user if identity is not None and self._clock() < until else None

    def redeem(self, code: str) -> Identity | None:
        """Use up a code. Return the user of the engine for whom it was made; None if it was not valid."""
        with self._lock:
            identity, until = self._links.pop(_hash(code), (None, 0.0))
        return identity if self._clock() < until else None

    @property
    def is_changed(self) -> bool:
        """Return whether `save` has something to write."""
        return self._is_changed and self._file is not None

    def save(self) -> None:
        """Write the sessions to the file. Without space on the disk, they end with the engine."""
        if self._file is None:
            return
        with self._lock:
            self._is_changed = False
            now = self._clock()
            self._remove_ended(now)
            try:
                write_private(self._file, json.dumps({"engine": self._engine, "logins": self._notes(now)}))
            except OSError as error:
                _LOG.warning("Logins of the web console end with the engine: %s cannot be written: %s", FILE, error)

    def _notes(self, now: float) -> list[dict[str, Any]]:
        """Return the sessions as JSON values, with times that a later process can read."""
        elapsed = self._wall_clock() - now
        notes = []
        for login in self._logins.values():
            login.noted = login.last_used
            times = {"opened": login.opened + elapsed, "last_used": login.last_used + elapsed}
            who: dict[str, Any] = {"user": login.user, "account": login.account, "token": login.identity.token}
            who |= {"issuer": login.identity.issuer, "expires": login.identity.expires}
            values = {"key": login.key, "csrf": login.csrf, "id": login.id, "address": login.address}
            notes.append({**values, **who, **times})
        return notes

    def _read(self) -> None:
        """Read the sessions of the engine's last process. A file that is damaged has none."""
        if self._file is None or not self._file.exists():
            return
        now = self._clock()
        elapsed = self._wall_clock() - now
        try:
            content = json.loads(self._file.read_text(encoding="utf-8"))
            notes = content["logins"] if content["engine"] == self._engine else ()
            for note in notes:
                # A clock that was set back must not prolong a session.
                opened, used = (min(float(note[name]) - elapsed, now) for name in ("opened", "last_used"))
                # The page reports that its session for statements has ended.
                login = Login(
                    key=str(note["key"]),
                    opened=opened,
                    last_used=used,
                    user=note.get("user"),
                    identity=_identity(note),
                    address=str(note.get("address", "")),
                    id=str(note.get("id") or secrets.token_hex(8)),
                    csrf=str(note["csrf"]),
                    client_session="",
                    noted=used,
                )
                self._logins[login.key] = login
        except (OSError, ValueError, KeyError, TypeError) as error:
            _LOG.warning("Users of the web console have to log in again: %s cannot be read: %s", FILE, error)

    def _has_ended(self, login: Login, now: float) -> bool:
        return now - login.last_used > self._idle_seconds or now - login.opened > self._absolute_seconds

    def _remove_ended(self, now: float) -> None:
        for key in [key for key, login in self._logins.items() if self._has_ended(login, now)]:
            del self._logins[key]


def _identity(note: dict[str, Any]) -> Identity:
    """Return the user of a session in the file, also of an earlier release. Raises ValueError, TypeError."""
    expires = note.get("expires")
    return Identity(
        user=str(note.get("account", OWNER)),
        token=str(note.get("token", "")),
        issuer=str(note.get("issuer", "")),
        expires=None if expires is None else float(expires),
    )


def _hash(value: str) -> str:
    return hashlib.sha256(value.encode(errors="replace")).hexdigest()
