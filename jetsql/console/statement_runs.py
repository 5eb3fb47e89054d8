"""Run the statements of pages as `POST /v1/sql` runs those of other clients."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from starlette.requests import Request

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
    return await _run(http_server, StatementRequest(secrets.token_urlsafe(16), text))


async def run_for_page(http_server: HttpServer, text: str, http: Request) -> RunOutcome:
    """Run a statement as `run_statement` does, until the user leaves the page that shows it.

    http: the request, whose body has been read.
    """
    request = StatementRequest(secrets.token_urlsafe(16), text)
    running = asyncio.create_task(_run(http_server, request))
    leaving = asyncio.create_task(_disconnect(http))
    try:
        await asyncio.wait({running, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        leaving.cancel()
        if not running.done():
            await http_server.on_thread(request.cancellation.cancel)
    return await running


async def _disconnect(http: Request) -> None:
    while (await http.receive())["type"] != "http.disconnect":
        continue


async def _run(http_server: HttpServer, request: StatementRequest) -> RunOutcome:
    lines = await http_server.run_statement(request)
    names: list[str] = []
    rows: list[dict[str, Any]] = []
    for line in lines:
        if isinstance(line, ErrorReport):
            return RunOutcome(request.text, error=line)
        message = json.loads(line, parse_float=Decimal)  # with all digits
        names = [column["name"] for column in message.get("columns", ())] or names
        rows += (dict(zip(names, row, strict=True)) for row in message.get("rows", ()))
    return RunOutcome(request.text, rows)
