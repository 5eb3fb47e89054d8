"""Fair use: how much one user may take of an engine at a time. Users with ADMIN have no limits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Final

from jetsql.errors import StatementError
from jetsql.jobs.access.token_accounts import TokenAccounts
from jetsql.jobs.model.job_settings import LimitSettings
from jetsql.request import Cancellation

LIMIT_EXCEEDED: Final = "LIMIT_EXCEEDED"


class UserLimits:
    """The limits of the caller."""

    def __init__(self, settings: LimitSettings, accounts: TokenAccounts | None) -> None:
        """Create it. accounts: None if there are no users but the built-in one."""
        self._settings = settings
        self._accounts = accounts

    @property
    def rows_most(self) -> int:
        """Return the limit of rows of a statement; 0 for none."""
        return self._settings.user_rows_most if self._apply else 0

    def check_statements(self, running: int) -> None:
        """Raise StatementError LIMIT_EXCEEDED if the caller runs as many statements as it may. running: by now"""
        most = self._settings.user_statements_most
        if most and self._apply and running >= most:
            raise StatementError(
                LIMIT_EXCEEDED,
                f"The user runs {running} statements, and may run {most} at a time.",
                hint="Wait for the end of one, or cancel one. An admin can raise user_statements_most.",
            )

    @contextmanager
    def limited_time(self, cancellation: Cancellation) -> Iterator[None]:
        """Cancel the statement of the caller inside the context when it has run for too long."""
        seconds = self._settings.user_statement_seconds
        if not seconds or not self._apply:
            yield
            return
        timer = Timer(seconds, cancellation.cancel, (f"The statement was ended after {seconds:g} s.", LIMIT_EXCEEDED))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    @property
    def _apply(self) -> bool:
        return self._accounts is not None and not self._accounts.is_admin


def check_rows(rows: int, most: int) -> None:
    """Raise StatementError LIMIT_EXCEEDED for more rows than the limit. most: 0 for none"""
    if most and rows > most:
        raise StatementError(
            LIMIT_EXCEEDED,
            f"The result has more than {most} rows, which is the limit of a user. Its first rows were sent.",
            hint="Use LIMIT or an aggregate, or write the rows into a table. An admin can raise user_rows_most.",
        )
