"""Statements that users send to a manager with the in-memory engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from jetsql.errors import StatementError
from jetsql.jobs.statements.statement_table import execute
from jetsql.language import parse
from jetsql.request import OWNER, Caller, Endpoint, acting_for
from tests.support.engines.in_memory_runtime import Session
from tests.support.engines.jobs_harness import JobsHarness
from tests.support.golden_reports import raises

Rows = list[dict[str, Any]]


@dataclass
class Users:
    """A manager whose statements are sent by users."""

    jobs: JobsHarness

    def run(self, text: str, user: str = OWNER) -> Rows:
        statement = parse(text)
        assert statement is not None, text
        with acting_for(Caller(user, Endpoint.HTTP, "10.0.0.7")):
            table = execute(self.jobs.manager, statement, Session)
        return [dict(zip((column.name for column in table.columns), row, strict=True)) for row in table.rows]

    def message(self, text: str, user: str = OWNER) -> str:
        [row] = self.run(text, user)
        return str(row["message"])

    def refusal(self, text: str, user: str = OWNER) -> StatementError:
        with raises(StatementError) as caught:
            self.run(text, user)
        return caught.value

    def condition(self, text: str, user: str = OWNER) -> str:
        """Return the condition of a refusal whose message differs in each run: it names a token."""
        with pytest.raises(StatementError) as caught:
            self.run(text, user)
        return caught.value.condition

    def names(self, text: str, user: str, column: str = "name") -> list[Any]:
        return [row[column] for row in self.run(text, user)]
