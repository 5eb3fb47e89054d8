"""Logins at the endpoints of an engine: the user of a token, and when a failed login is answered."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from threading import Lock, Thread
from typing import Any, Final, Protocol

from jetsql.home.discovery import TOKEN
from jetsql.home.token_form import token_id
from jetsql.jobs.access.failed_logins import FailedLogins
from jetsql.jobs.audit.audit_log import NO_AUDIT, AuditLog
from jetsql.jobs.audit.audited_logins import AuditedLogins
from jetsql.jobs.model.job import name_key
from jetsql.request import BY_HOME_TOKEN, OWNER, Caller, Endpoint, Identity

_OLD_OWNER: Final = "engine"
"""The name of the built-in user in the profiles of older clients."""

_INVALID: Final = {
    Endpoint.CONNECT: "The token is missing or wrong.",
    Endpoint.THRIFT: "The password must be a valid token, and the name that of its user.",
}
"""The answer to a token that is not valid."""


LOGIN_ENDED: Final = "LOGIN_ENDED"
"""The condition of what ends with its login."""


class TokenUsers(Protocol):
    """The users of an engine, with their tokens."""

    @property
    def has_users(self) -> bool:
        """Return whether there are users other than the built-in one."""

    @property
    def is_token_disabled(self) -> bool:
        """Return whether the engine's own token is refused."""

    def is_active_admin(self, user: str) -> bool:
        """Return whether a user has all rights, and can log in."""

    def identity_of(self, text: str) -> Identity | None:
        """Return the user with a token; None for a text that is no valid token."""

    def end_of(self, identity: Identity) -> str:
        """Return why a login is not valid any more, a sentence; empty while it is valid."""

    def is_note_due(self, text: str) -> bool:
        """Return whether `note_use` would store the use of a token. It does not wait for the store."""

    def note_use(self, text: str) -> None:
        """Note that a token was used."""


class IssuerTokens(Protocol):
    """The JWTs of an issuer outside of JetSQL: an `IssuerUsers`."""

    def needs_check(self, text: str) -> bool:
        """Return whether a text may be a JWT that `check` has not seen."""

    def check(self, text: str) -> None:
        """Check a JWT, which may wait for the issuer. `identity_of` returns its user from then on."""

    def identity_of(self, text: str) -> Identity | None:
        """Return the user of a JWT that `check` has accepted, and that is still valid; None for any other text."""

    def end_of(self, identity: Identity) -> str:
        """Return why a login of this issuer is not valid any more, a sentence; empty while it is valid."""


class Logins:
    """The check of tokens.

    token: the engine's own, of the built-in user. users: None if there are none but the built-in one. issuer: None
    without JWTs.
    """

    def __init__(
        self,
        token: str,
        users: TokenUsers | None,
        issuer: IssuerTokens | None = None,
        audit: AuditLog = NO_AUDIT,
    ) -> None:
        self._token = token.encode()
        self._users = users
        self._issuer = issuer
        self._audited = AuditedLogins(audit)
        self._failed = FailedLogins()
        self._open: dict[str, tuple[Endpoint, Identity]] = {}  # the logins at Spark's endpoints, by `login_key`
        self._lock = Lock()

    def needs_check(self, text: str) -> bool:
        """Return whether `check` has to be called before `identity_of`."""
        return self._issuer is not None and self._issuer.needs_check(text)

    def check(self, text: str) -> None:
        """Check a token of an issuer outside of JetSQL, which may wait for the issuer."""
        if self._issuer is not None:
            self._issuer.check(text)

    def identity_of(self, text: str) -> Identity | None:
        """Return the user with a token; None for a text that is no valid token, whatever the reason.

        A token that `needs_check` counts as one that is not valid.
        """
        users = self._users
        if hmac.compare_digest(text.encode(errors="replace"), self._token):
            return None if users is not None and users.is_token_disabled else BY_HOME_TOKEN
        if self._issuer is not None and (identity := self._issuer.identity_of(text)) is not None:
            return identity
        return None if users is None else users.identity_of(text)

    def end_of(self, identity: Identity) -> str:
        """Return why a login is not valid any more, a sentence; empty while it is valid."""
        if identity.issuer:
            return "The issuer is not known any more." if self._issuer is None else self._issuer.end_of(identity)
        return "" if self._users is None else self._users.end_of(identity)

    def admits(self, identity: Identity) -> bool:
        """Return whether a login is still valid."""
        return not self.end_of(identity)

    def take_ended(self) -> Mapping[str, str]:
        """Return the logins of `log_in` that have ended since the last call, by their keys, with the reasons."""
        with self._lock:
            ended = {key: self._end_at(*login) for key, login in self._open.items()}
            ended = {key: reason for key, reason in ended.items() if reason}
            gone = {key: self._open.pop(key) for key in ended}
        for key, (endpoint, identity) in gone.items():
            token = TOKEN if identity.user == OWNER else identity.token
            self._audited.ended(Caller(identity.user, endpoint, token=token), ended[key])
        return ended

    def _end_at(self, endpoint: Endpoint, identity: Identity) -> str:
        """Return why a login may not use one of Spark's endpoints any more, a sentence; empty while it may."""
        is_admin = self._users is None or self._users.is_active_admin(identity.user)
        if endpoint is Endpoint.CONNECT and not is_admin:
            return self.end_of(identity) or f"The user {identity.user} lacks the right ADMIN now."
        return self.end_of(identity)

    def _may_be(self, user: str, name: str | None) -> bool:
        """Return whether a client that names a user can have its token. Any name fits if there are no users."""
        if name is None or self._users is None or not self._users.has_users:
            return True
        return name_key(name) in ((OWNER, _OLD_OWNER) if user == OWNER else (user,))

    def log_in(self, endpoint: str, name: str | None, token: str, address: str) -> dict[str, Any]:
        """Check the token of a client of Spark's endpoints, see `LOG_IN` of `EngineCallback.java`."""
        self.check(token)
        identity = self.identity_of(token)
        user = None if identity is None or not self._may_be(identity.user, name) else identity.user
        caller = Caller(user or name or "", Endpoint(endpoint), address, shown_token(user, token))
        delay, key = 0.0, ""
        if user is None or identity is None:
            refusal, delay = _INVALID[Endpoint(endpoint)], self.failure_delay(caller)
        else:
            refusal = self._admit(user, token, caller)
            key = login_key(endpoint, identity)
            if not refusal:
                with self._lock:
                    self._open[key] = (Endpoint(endpoint), identity)
        return {
            "user": user or "",
            "login": key,
            "token": caller.token,
            "refusal": refusal,
            "millis": int(delay * 1000),
            "has_users": self._users is not None and self._users.has_users,
        }

    def _admit(self, user: str, token: str, caller: Caller) -> str:
        """Note the login of a user. Returns why the user may not use the endpoint; an empty text if it may."""
        self.note_use(token)
        if caller.endpoint != Endpoint.CONNECT or self._users is None or self._users.is_active_admin(user):
            self._audited.succeeded(caller)
            return ""
        self._audited.failed(caller, "the right ADMIN is missing")
        return (
            f"Spark Connect runs code in the engine, so it is for users with the right ADMIN, which {user} lacks."
            " Use the HTTP endpoint: jetsql.connect, SQLAlchemy, or jetsql --url. Or use Thrift."
        )

    def note_use(self, token: str) -> None:
        """Note the use of a user's token if that is due. The login does not wait for the store."""
        users = self._users
        if users is not None and users.is_note_due(token):
            Thread(target=users.note_use, args=(token,), daemon=True).start()

    def succeeded(self, caller: Caller) -> None:
        """Note that a client has logged in, which each of its requests does."""
        self._audited.succeeded(caller)

    def failure_delay(self, caller: Caller) -> float:
        """Note a failed login, and return the seconds before it is answered."""
        self._audited.failed(caller)
        return 0.0 if self._users is None else self._failed.note(caller.address)


def login_key(endpoint: str, login: Identity) -> str:
    """Return the name of a login at an endpoint, which no other login has."""
    return "\n".join((endpoint, login.user, login.token, login.issuer, str(login.expires)))


def is_of(key: str, caller: Caller) -> bool:
    """Return whether a `login_key` belongs to the user of a request at its endpoint."""
    return key.startswith(f"{caller.endpoint}\n{caller.user}\n")


def shown_token(user: str | None, text: str) -> str:
    """Return the id of a token, which does not help to log in; the name of the file for that of the home."""
    return TOKEN if user == OWNER else token_id(text)
