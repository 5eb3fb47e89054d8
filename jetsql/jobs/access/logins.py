"""Logins at the endpoints of an engine: the user of a token, and when a failed login is answered."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from threading import Thread
from typing import Any, Final, Protocol

from jetsql.home.discovery import TOKEN
from jetsql.home.token_form import token_id
from jetsql.jobs.access.failed_logins import FailedLogins
from jetsql.jobs.audit.audit_log import NO_AUDIT, AuditLog
from jetsql.jobs.audit.audited_logins import AuditedLogins
from jetsql.jobs.model.job import name_key
from jetsql.request import OWNER, Caller, Endpoint

_OLD_OWNER: Final = "engine"
"""The name of the built-in user in the profiles of older clients."""

_INVALID: Final = {
    Endpoint.CONNECT: "The token is missing or wrong.",
    Endpoint.THRIFT: "The password must be a valid token, and the name that of its user.",
}
"""The answer to a token that is not valid."""


@dataclass(frozen=True)
class Identity:
    """The user of a login, and what the login depends on."""

    user: str
    token: str = ""  # the id of the user's token; empty for the token of the home
    issuer: str = ""  # who has vouched for the user, see `IssuerTokens`; empty for a token of JetSQL
    expires: float | None = None  # seconds since the epoch, of a JWT


BY_HOME_TOKEN: Final = Identity(OWNER)
"""A login with the token of the home."""


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

    def admits(self, identity: Identity) -> bool:
        """Return whether a login is still valid: its user is not disabled, and its token neither expired nor gone."""

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

    def admits(self, identity: Identity) -> bool:
        """Return whether a login of this issuer is still valid."""


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

    def user_of(self, text: str) -> str | None:
        """Return the name of the user with a token, as `identity_of`."""
        identity = self.identity_of(text)
        return None if identity is None else identity.user

    def admits(self, identity: Identity) -> bool:
        """Return whether a login is still valid, see `TokenUsers` and `IssuerTokens`."""
        if identity.issuer:
            return self._issuer is not None and self._issuer.admits(identity)
        return identity.user == OWNER if self._users is None else self._users.admits(identity)

    def named_user_of(self, name: str, text: str) -> str | None:
        """Return the user with a token; None if the client names another user. Any name fits if there are no users."""
        user = self.user_of(text)
        if user is None or self._users is None or not self._users.has_users:
            return user
        names = (OWNER, _OLD_OWNER) if user == OWNER else (user,)
        return user if name_key(name) in names else None

    def log_in(self, endpoint: str, name: str | None, token: str, address: str) -> dict[str, Any]:
        """Check the token of a client of Spark's endpoints, see `LOG_IN` of `EngineCallback.java`."""
        self.check(token)
        user = self.user_of(token) if name is None else self.named_user_of(name, token)
        caller = Caller(user or name or "", Endpoint(endpoint), address, shown_token(user, token))
        delay = 0.0
        if user is None:
            refusal, delay = _INVALID[Endpoint(endpoint)], self.failure_delay(caller)
        else:
            refusal = self._admit(user, token, caller)
        return {
            "user": user or "",
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


def shown_token(user: str | None, text: str) -> str:
    """Return the id of a token, which does not help to log in; the name of the file for that of the home."""
    return TOKEN if user == OWNER else token_id(text)
