"""An engine in memory for `jetsql apply`, whose statements are executed by a manager."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from jetsql.errors import ErrorReport, JetSQLError
from tests.support.engines.declared_engine import Result, rows
from tests.support.engines.user_statements import Users


@dataclass
class UsersEngine:
    """The engine. A subclass answers the statements that the manager does not have."""

    users: Users
    ran: list[str] = field(default_factory=list)  # statements that change something

    def open_session(self) -> Self:
        return self

    def close(self) -> None:
        pass

    def error(self, exc: Exception, text: str) -> ErrorReport:
        assert isinstance(exc, JetSQLError)
        return exc.report(text)

    def run(self, text: str) -> Result:
        if text.startswith("SET "):
            return rows((), [])
        if not text.startswith("SHOW"):
            self.ran.append(" ".join(text.split()))
        found = self.users.run(text)
        return rows(tuple(found[0]) if found else (), [tuple(row.values()) for row in found])
