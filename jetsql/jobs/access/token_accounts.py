"""The logins of users by their tokens, and the rights of the caller on the engine, by a state of users and rights.

The leader has this state in memory, and a standby reads it from the store.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from jetsql import request
from jetsql.errors import StatementError
from jetsql.home.token_form import token_id
from jetsql.jobs.access.access_records import ENGINE_ITSELF, Right, Securable, UserToken
from jetsql.jobs.access.access_state import AccessState
from jetsql.jobs.access.user_tokens import is_token
from jetsql.jobs.audit.audit_log import note_object
from jetsql.jobs.model.job import name_key
from jetsql.request import OWNER, Identity


class TokenAccounts(ABC):
    """The users with their tokens and rights."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Create it. clock: returns seconds since the epoch."""
        self._clock = clock

    @property
    @abstractmethod
    def state(self) -> AccessState:
        """Return the users and rights as they are now."""

    @property
    def has_users(self) -> bool:
        """Return whether there are users, so that rights apply."""
        return self.state.has_users

    @property
    def is_token_disabled(self) -> bool:
        """Return whether the token of the home is refused."""
        built_in = self.state.user(OWNER)
        return built_in is not None and built_in.disabled

    def has_account(self, user: str) -> bool:
        """Return whether a user exists and is not disabled."""
        return not self.is_token_disabled if user == OWNER else self.state.is_active(user)

    def is_active_admin(self, user: str) -> bool:
        """Return whether a user has all rights, and can log in."""
        return self.has_account(user) and self.state.is_admin(user)

    def identity_of(self, text: str) -> Identity | None:
        """Return the user with a token; None for a text that is none, or for one that is not valid."""
        token = self._token(text)
        return None if token is None else Identity(token.user, token.id)

    def end_of(self, identity: Identity) -> str:
        """Return why a login is not valid any more, a sentence; empty while it is valid."""
        if identity.user == OWNER:
            return "The token of the home was disabled." if self.is_token_disabled else ""
        token = self.state.token(identity.token)
        if inactive := inactive_user(self.state, identity.user):
            return inactive
        if token is None or token.user != identity.user:
            return f"The token {identity.token} was dropped."
        return "" if token.is_valid(self._clock()) else f"The token {token.id} has expired."

    def _token(self, text: str) -> UserToken | None:
        state = self.state
        token = state.token(token_id(text))
        return token if is_token(text, token) and token is not None and self._is_accepted(token) else None

    def _is_accepted(self, token: UserToken) -> bool:
        return token.is_valid(self._clock()) and self.state.is_active(token.user)

    def proof_key(self, token_id: str) -> str | None:
        """Return what is stored of a valid token, for the proof that this engine knows it; None without one."""
        token = self.state.token(token_id)
        return token.digest if token is not None and self._is_accepted(token) else None

    @property
    def user(self) -> str:
        """Return the key of the user of this thread's request."""
        return name_key(request.current().caller.user)

    @property
    def is_admin(self) -> bool:
        """Return whether the caller has all rights."""
        return self.state.is_admin(self.user)

    def has_right(self, right: Right) -> bool:
        """Return whether the caller has a right on the engine."""
        return self.state.allowed(self.user, right, ENGINE_ITSELF)

    def sees(self, thing: Securable) -> bool:
        """Return whether the caller has any right on an object other than a job."""
        return self.state.sees(self.user, thing)

    def require(self, right: Right, what: str) -> None:
        """Raise StatementError NOT_ALLOWED if the caller lacks a right on the engine. what: what needs it"""
        is_allowed = self.has_right(right)
        note_object(right.value, "ENGINE", is_allowed)
        if not is_allowed:
            raise refused(self.user, what, right)


class StoredAccounts(TokenAccounts):
    """The users as they were read from a store last."""

    def __init__(self, read: Callable[[], AccessState], clock: Callable[[], float]) -> None:
        """Create it. read: returns what was read last."""
        super().__init__(clock)
        self._read = read

    @property
    def state(self) -> AccessState:
        return self._read()

    def is_note_due(self, text: str) -> bool:
        """Return False: only a leader writes to the store."""
        return False

    def note_use(self, text: str) -> None:
        """Do nothing, see `is_note_due`."""

    def expect_expiry(self, time: float | None) -> None:
        """Do nothing, see `on_change`."""

    def on_change(self, listener: Callable[[], None]) -> None:
        """Do nothing: a standby has no logins that a change could end."""


def inactive_user(state: AccessState, user: str) -> str:
    """Return why a user cannot log in, a sentence; empty for a user who can."""
    if state.is_active(user):
        return ""
    return f"The user {user} was dropped." if state.user(user) is None else f"The user {user} was disabled."


def refused(user: str, what: str, right: Right, on: str = "") -> StatementError:
    """Return the error for a user without a right. what: what needs it; on: the object, as ` on the job j`"""
    if right is Right.OWNER:
        lacks, hint = f"does not own{on.removeprefix(' on')}", "Ask its owner, or an admin."
    else:
        lacks, hint = f"lacks the right {right.value}{on}", "Ask an admin to grant it."
    return StatementError("NOT_ALLOWED", f"The user {user} {lacks}, which {what} needs.", hint=hint)
