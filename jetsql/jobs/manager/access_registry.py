"""The users and rights of an engine: in memory for each check, and in the store.

A change is stored first, then it holds for each check from then on, and then Spark's gates get it. So a user never has
a right that the store does not have.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from jetsql.errors import JetSQLError
from jetsql.jobs.access import access_changes
from jetsql.jobs.access.access_differences import differences
from jetsql.jobs.access.access_records import Right, Securable, SecurableKind, UserToken
from jetsql.jobs.access.access_state import BUILT_IN, AccessState
from jetsql.jobs.access.effective_rights import published_rights
from jetsql.jobs.access.expiry_timer import ExpiryTimer
from jetsql.jobs.access.token_accounts import TokenAccounts, refused
from jetsql.jobs.audit.audit_log import NO_AUDIT, AuditLog, note_object
from jetsql.jobs.lifecycle.runtime import RightsGates
from jetsql.jobs.model.job import Job, Snapshot, name_key
from jetsql.jobs.model.job_settings import LimitSettings
from jetsql.request import OWNER, Caller

if TYPE_CHECKING:  # the store brings SQLAlchemy, which is slow to import
    from jetsql.jobs.store.job_store import Store

_LOG: Final = logging.getLogger(__name__)
_EMPTY: Final = AccessState()
_NOTED_SECONDS: Final = 60.0
"""The use of a token is noted in the store when this time has passed since the last note."""


class AccessChange(NamedTuple):
    """The effect of a change of users and rights."""

    state: AccessState  # after the change
    note: str  # the jobs that it has suspended, as a sentence; empty for none


class AccessRegistry(TokenAccounts):
    """The users and rights of one store. Any thread can use it."""

    def __init__(
        self,
        store: Store,
        gates: RightsGates,
        submit: Callable[[Callable[[], None]], Future[None]],
        clock: Callable[[], float],
        enforce: Callable[[AccessState, AccessState], str],
        audit: AuditLog = NO_AUDIT,
        limits: LimitSettings = LimitSettings(),  # noqa: B008  # it is frozen
    ) -> None:
        """Create it without users.

        submit: runs an operation on the only thread that writes to the store. enforce: see `OwnerRights.enforce`.
        limits: of users without own ones
        """
        super().__init__(clock)
        self._store = store
        self._gates = gates
        self._submit = submit
        self._enforce = enforce
        self.audit = audit
        self.limits = limits
        self._state = AccessState()
        self._changes = Lock()
        self._listeners: list[Callable[[], None]] = []
        self._expiry = ExpiryTimer(clock, self._notify)
        self.readable_on_network: tuple[str, ...] = ()
        """The settings of open endpoints whose traffic others can read, see `EndpointSettings`."""

    def load(self) -> None:
        """Read the users and rights of the store, and publish them before the jobs start."""
        self._state = self._store.access()
        self._expect_expiries()
        self._publish()  # also for an engine without users: an earlier one of this Spark can have had some

    @property
    def state(self) -> AccessState:
        """Return the users and rights as they are now."""
        return self._state

    def change(self, change: Callable[[AccessState], AccessState]) -> AccessChange:
        """Apply a change, store and publish it, and suspend the jobs whose owners may not run them any more.

        Raises the errors of the change, and those of the store.
        """
        before, after = self._apply(change)
        return AccessChange(after, self._enforce(before, after))

    def _apply(self, change: Callable[[AccessState], AccessState]) -> tuple[AccessState, AccessState]:
        """Apply a change, store and publish it. Returns the states before and after it."""
        with self._changes:
            before = self._state
            after = self._save(change)
            if after != before:
                self._publish()
        if after != before:
            self._audit_changes(before, after)
            self._expect_expiries()
            self._notify()
        return before, after

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call a function after each change, on its thread, and when a login expires, on another one.

        Before that, the change holds for each check.
        """
        self._listeners.append(listener)

    def expect_expiry(self, time: float | None) -> None:
        """Call the listeners of changes at a time, when a login expires. time: None for one without an end"""
        self._expiry.expect(time)

    def close(self) -> None:
        """Stop to wait for logins that expire."""
        self._expiry.close()

    def _expect_expiries(self) -> None:
        for token in self._state.tokens:
            self._expiry.expect(token.expires)

    def _notify(self) -> None:
        for listener in self._listeners:
            listener()

    def _audit_changes(self, before: AccessState, after: AccessState) -> None:
        for change in differences(before, after) if self.audit.is_on else ():
            self.audit.note("rights", detail=change)

    def _publish(self) -> None:
        self._gates.publish_rights(published_rights(self._state, self.limits))

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
        """Apply a change that follows from one of an object. Jobs are not checked: what they use cannot be dropped."""
        if self._state != _EMPTY:
            self._apply(change)

    def _save(self, change: Callable[[AccessState], AccessState]) -> AccessState:
        before = self._state
        after = change(before)
        if after != before:
            self._submit(lambda: self._store.save_access(before, after)).result()
            self._state = after
        return after

    # --- the use of tokens -------------------------------------------------------------------------------------------

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

    # --- rights of the caller ----------------------------------------------------------------------------------------

    @property
    def new_owner(self) -> str:
        """Return the key of the owner of what the caller creates. An unknown user has no rights."""
        return self.user if self.has_users and self.user not in BUILT_IN else OWNER

    def owns(self, thing: Securable) -> bool:
        """Return whether the caller owns an object other than a job, or is an admin."""
        return self.is_admin or self._state.owner_of(thing) == self.user

    def sees_job(self, job: Job) -> bool:
        """Return whether the caller has any right on a job."""
        return self._state.sees_job(self.user, job)

    def owns_snapshot(self, snapshot: Snapshot) -> bool:
        """Return whether the caller owns a snapshot, or is an admin."""
        return self.is_admin or self._state.owns_snapshot(self.user, snapshot)

    def jobs_seen_by(self, caller: Caller) -> Callable[[Job], bool]:
        """Return the function whether a caller has any right on a job, for a thread that works for several callers."""
        return partial(self._state.sees_job, name_key(caller.user))

    def has_right_on_job(self, right: Right, job: Job) -> bool:
        """Return whether the caller has a right on a job."""
        return self._state.allowed_on_job(self.user, right, job)

    def require_on(self, right: Right, thing: Securable, what: str) -> None:
        """Raise StatementError NOT_ALLOWED if the caller lacks a right on an object other than a job."""
        is_allowed = self._state.allowed(self.user, right, thing)
        note_object(right.value, f"{thing.kind.value} {thing.text}", is_allowed)
        if not is_allowed:
            raise refused(self.user, what, right, f" on the {thing.kind.value.lower()} {thing.text}")

    def require_on_job(self, right: Right, job: Job, what: str) -> None:
        """Raise StatementError NOT_ALLOWED if the caller lacks a right on a job that is visible."""
        is_allowed = self.has_right_on_job(right, job)
        note_object(right.value, f"JOB {job.name}", is_allowed)
        if not is_allowed:
            raise refused(self.user, what, right, f" on the job {job.name}")
