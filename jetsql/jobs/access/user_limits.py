"""Fair use: how much one user may take of an engine at a time. Users with ADMIN have no limits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Any, Final, NamedTuple

from jetsql.errors import StatementError
from jetsql.jobs.access.access_state import AccessState
from jetsql.jobs.access.token_accounts import TokenAccounts
from jetsql.jobs.model.job_settings import LIMIT_NAMES, LimitSettings
from jetsql.request import Cancellation

LIMIT_EXCEEDED: Final = "LIMIT_EXCEEDED"


class Limits(NamedTuple):
    """The limits of one user; 0 for none."""

    statements_most: int = 0
    rows_most: int = 0
    statement_seconds: float = 0.0


def limits_of(state: AccessState, user: str, settings: LimitSettings) -> Limits:
    """Return the limits that apply to a user: own ones, otherwise those of the settings, and none for an admin."""
    if state.is_admin(user):
        return Limits()
    record = state.user(user)

    def limit(name: str) -> Any:
        own = None if record is None else getattr(record, name)
        return getattr(settings, f"user_{name}") if own is None else own

    return Limits(*map(limit, LIMIT_NAMES))


class UserLimits:
    """The limits of the caller."""

    def __init__(self, settings: LimitSettings, accounts: TokenAccounts | None) -> None:
        """Create it. accounts: None if there are no users but the built-in one."""
        self._settings = settings
        self._accounts = accounts

    @property
    def _own(self) -> Limits:
        accounts = self._accounts
        return Limits() if accounts is None else limits_of(accounts.state, accounts.user, self._settings)

    @property
    def rows_most(self) -> int:
        """Return the limit of rows of a statement; 0 for none."""
        return self._own.rows_most

    def are_reached(self, running: int) -> bool:
        """Return whether the caller runs as many statements as it may. running: by now"""
        most = self._own.statements_most
        return most != 0 and running >= most

    def check_statements(self, running: int) -> None:
        """Raise StatementError LIMIT_EXCEEDED if the caller runs as many statements as it may. running: by now"""
        if self.are_reached(running):
            raise StatementError(
                LIMIT_EXCEEDED,
                f"The user runs {running} statements, and may run {self._own.statements_most} at a time.",
                hint="Wait for the end of one, or cancel one. An admin can raise statements_most with ALTER USER.",
            )

    @contextmanager
    def limited_time(self, cancellation: Cancellation) -> Iterator[None]:
        """Cancel the statement of the caller inside the context when it has run for too long."""
        seconds = self._own.statement_seconds
        if not seconds:
            yield
            return
        timer = Timer(seconds, cancellation.cancel, (f"The statement was ended after {seconds:g} s.", LIMIT_EXCEEDED))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


def check_rows(rows: int, most: int) -> None:
    """Raise StatementError LIMIT_EXCEEDED for more rows than the limit. most: 0 for none"""
    if most and rows > most:
        raise StatementError(
            LIMIT_EXCEEDED,
            f"The result has more than {most} rows, which is the limit of a user. Its first rows were sent.",
            hint="Use LIMIT or an aggregate, or write the rows into a table. An admin can raise rows_most with"
            " ALTER USER.",
        )
