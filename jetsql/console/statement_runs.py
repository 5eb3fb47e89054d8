"""Run the statements of pages as `POST /v1/sql` runs those of other clients."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jetsql.errors import ErrorReport
from jetsql.server.app import HttpServer
from jetsql.server.running_statements import StatementRequest


@dataclass(frozen=True)
class RunOutcome:
    """The result of a statement: rows by column name, or its error."""

    statement: str
    rows: Sequence[dict[str, Any]] = ()
    error: ErrorReport | None = None

    @property
    def message(self) -> str:
        """Return the message of a command's only row; empty without one."""
        return str(self.rows[0].get("message") or "") if self.rows else ""


async def run_statement(http_server: HttpServer, text: str) -> RunOutcome:
    """Run a statement with a short result, in a session of its own."""
    lines = await http_server.run_statement(StatementRequest(secrets.token_urlsafe(16), text))
    names: list[str] = []
    rows: list[dict[str, Any]] = []
    for line in lines:
        if isinstance(line, ErrorReport):
            return RunOutcome(text, error=line)
        message = json.loads(line)
        names = [column["name"] for column in message.get("columns", ())] or names
        rows += (dict(zip(names, row, strict=True)) for row in message.get("rows", ()))
    return RunOutcome(text, rows)
