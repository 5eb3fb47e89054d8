"""The users and rights of an engine: in memory for each check, and in the store.

A change is stored first, then it holds for each check from then on, and then Spark's gates get it. So a user never has
a right that the store does not have.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from jetsql import request
from jetsql.errors import JetSQLError, StatementError
from jetsql.home.token_form import token_id
from jetsql.jobs.access import access_changes
from jetsql.jobs.access.access_records import ENGINE_ITSELF, Right, Securable, SecurableKind, UserToken
from jetsql.jobs.access.access_state import BUILT_IN, AccessState
from jetsql.jobs.access.effective_rights import published_rights
from jetsql.jobs.access.user_tokens import is_token
from jetsql.jobs.lifecycle.runtime import RightsGates
from jetsql.jobs.model.job import Job, name_key
from jetsql.request import OWNER

if TYPE_CHECKING:  # the store brings SQLAlchemy, which is slow to import
    from jetsql.jobs.store.job_store import Store

_LOG: Final = logging.getLogger(__name__)
_EMPTY: Final = AccessState()
_NOTED_SECONDS: Final = 60.0
"""The use of a token is noted in the store when this time has passed since the last note."""


class AccessChange(NamedTuple):
    """What a change of users and rights has done."""

    state: AccessState  # after the change
    note: str  # the jobs that it has suspended, as a sentence; empty for none


class AccessRegistry:
    """The users and rights of one store. Any thread can use it."""

    def __init__(
        self,
        store: Store,
        gates: RightsGates,
        submit: Callable[[Callable[[], None]], Future[None]],
        clock: Callable[[], float],
        enforce: Callable[[AccessState, AccessState], str],
    ) -> None:
        """Create it without users.

        submit: runs an operation on the only thread that writes to the store. enforce: see `OwnerRights.enforce`.
        """
        self._store = store
        self._gates = gates
        self._submit = submit
        self._clock = clock
        self._enforce = enforce
        self._state = AccessState()
        self._changes = Lock()
        self.readable_on_network: tuple[str, ...] = ()
        """The settings of open endpoints whose traffic others can read, see `EndpointSettings`."""

    def load(self) -> None:
        """Read the users and rights of the store, and publish them before the jobs start."""
        self._state = self._store.access()
        self._publish()  # also for an engine without users: an earlier one of this Spark can have had some

    @property
    def state(self) -> AccessState:
        """Return the users and rights as they are now."""
        return self._state

    def change(self, change: Callable[[AccessState], AccessState]) -> AccessChange:
        """Apply a change, store and publish it, and suspend the jobs whose owners may not run them any more.

        Raises the errors of the change, and those of the store.
        """
        with self._changes:
            before = self._state
            after = self._save(change)
            if after != before:
                self._publish()
        return AccessChange(after, self._enforce(before, after))

    def _publish(self) -> None:
        self._gates.publish_rights(published_rights(self._state))

    def note_object_change(self, change: str, kind: str, name: Sequence[str], new_name: Sequence[str] | None) -> None:
        """Note the new owner of an object, move its rights to its new name, or remove them with it.

        change: as in `EngineCallback.java`; "created" comes before the object exists. Raises the errors of the store.
        """
        thing = Securable(SecurableKind(kind), tuple(name))
        match change:
            case "created":
                self.note_created(thing)
            case "renamed":
                assert new_name is not None
                renamed = Securable(thing.kind, tuple(new_name))
                self._note(lambda state: access_changes.rename_object(state, thing, renamed))
            case "dropped":
                self.note_dropped(thing)
            case _:
                raise ValueError(change)

    def note_created(self, thing: Securable) -> None:
        """Make the caller the owner of an object that is created next. Raises the errors of the store."""
        owner = self.new_owner
        self._note(lambda state: access_changes.create_object(state, thing, owner))

    def note_dropped(self, thing: Securable) -> None:
        """Remove the rights on an object that does not exist any more. Raises the errors of the store."""
        self._note(lambda state: access_changes.drop_object(state, thing))

    def _note(self, change: Callable[[AccessState], AccessState]) -> None:
        if self._state != _EMPTY:
            self.change(change)

    def _save(self, change: Callable[[AccessState], AccessState]) -> AccessState:
        before = self._state
        after = change(before)
        if after != before:
            self._submit(lambda: self._store.save_access(before, after)).result()
            self._state = after
        return after

    # --- logins ------------------------------------------------------------------------------------------------------

    @property
    def is_token_disabled(self) -> bool:
        """Return whether the token of the home is refused."""
        built_in = self._state.user(OWNER)
        return built_in is not None and built_in.disabled

    def is_active_admin(self, user: str) -> bool:
        """Return whether a user has all rights, and can log in."""
        if user == OWNER:
            return not self.is_token_disabled
        return self._state.is_active(user) and self._state.is_admin(user)

    def user_of(self, text: str) -> str | None:
        """Return the key of the user with a token; None for a text that is none, or for one that is not valid."""
        token = self._token(text)
        return None if token is None else token.user

    def is_note_due(self, text: str) -> bool:
        """Return whether `note_use` would store the use of a token. It does not wait for the store."""
        token = self._token(text)
        return token is not None and self._is_due(token, self._clock())

    def note_use(self, text: str) -> None:
        """Note that a token was used, at most once a minute. The login does not depend on it."""
        token, now = self._token(text), self._clock()
        if token is None or not self._is_due(token, now):
            return
        try:
            with self._changes:
                self._save(lambda state: access_changes.note_use(state, token, now))
        except JetSQLError as error:
            _LOG.warning("The use of the token %s could not be noted: %s", token.id, error)

    def _is_due(self, token: UserToken, now: float) -> bool:
        return token.last_used is None or now - token.last_used >= _NOTED_SECONDS

    def _token(self, text: str) -> UserToken | None:
        state = self._state
        token = state.token(token_id(text))
        return token if is_token(text, token) and token is not None and self._is_accepted(token) else None

    def _is_accepted(self, token: UserToken) -> bool:
        return token.is_valid(self._clock()) and self._state.is_active(token.user)

    def proof_key(self, token_id: str) -> str | None:
        """Return what is stored of a valid token, for the proof that this engine knows it; None without one."""
        token = self._state.token(token_id)
        return token.digest if token is not None and self._is_accepted(token) else None

    # --- rights of the caller ----------------------------------------------------------------------------------------

    @property
    def has_users(self) -> bool:
        """Return whether the engine has users, so that rights apply."""
        return self._state.has_users

    @property
    def user(self) -> str:
        """Return the key of the user of this thread's request."""
        return name_key(request.current().caller.user)

    @property
    def new_owner(self) -> str:
        """Return the key of the owner of what the caller creates. An unknown user has no rights."""
        return self.user if self.has_users and self.user not in BUILT_IN else OWNER

    @property
    def is_admin(self) -> bool:
        """Return whether the caller has all rights."""
        return self._state.is_admin(self.user)

    def has_right(self, right: Right) -> bool:
        """Return whether the caller has a right on the engine."""
        return self._state.allowed(self.user, right, ENGINE_ITSELF)

    def require(self, right: Right, what: str) -> None:
        """Raise StatementError NOT_ALLOWED if the caller lacks a right on the engine. what: what needs it"""
        if not self.has_right(right):
            raise refused(self.user, what, right)

    def sees(self, thing: Securable) -> bool:
        """Return whether the caller has any right on an object other than a job."""
        return self._state.sees(self.user, thing)

    def owns(self, thing: Securable) -> bool:
        """Return whether the caller owns an object other than a job, or is an admin."""
        return self.is_admin or self._state.owner_of(thing) == self.user

    def sees_job(self, job: Job) -> bool:
        """Return whether the caller has any right on a job."""
        return self._state.sees_job(self.user, job)

    def has_right_on_job(self, right: Right, job: Job) -> bool:
        """Return whether the caller has a right on a job."""
        return self._state.allowed_on_job(self.user, right, job)

    def require_on(self, right: Right, thing: Securable, what: str) -> None:
        """Raise StatementError NOT_ALLOWED if the caller lacks a right on an object other than a job."""
        if not self._state.allowed(self.user, right, thing):
            raise refused(self.user, what, right, f" on the {thing.kind.value.lower()} {thing.text}")

    def require_on_job(self, right: Right, job: Job, what: str) -> None:
        """Raise StatementError NOT_ALLOWED if the caller lacks a right on a job that is visible."""
        if not self.has_right_on_job(right, job):
            raise refused(self.user, what, right, f" on the job {job.name}")


def refused(user: str, what: str, right: Right, on: str = "") -> StatementError:
    """Return the error for a user without a right. what: what needs it; on: the object, as ` on the job j`"""
    if right is Right.OWNER:
        lacks, hint = f"does not own{on.removeprefix(' on')}", "Ask its owner, or an admin."
    else:
        lacks, hint = f"lacks the right {right.value}{on}", "Ask an admin to grant it."
    return StatementError("NOT_ALLOWED", f"The user {user} {lacks}, which {what} needs.", hint=hint)
