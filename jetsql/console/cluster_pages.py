"""The pages about what jobs run on: members, snapshots, and the engine with its settings and log.

GET  /console/members           the rows of SHOW MEMBERS and SHOW ENGINES
GET  /console/snapshots         the rows of SHOW SNAPSHOTS
GET  /console/engine            versions, settings without secrets, and the newest lines of the log
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from jetsql.console.statement_runs import run_statement
from jetsql.console.web.login_sessions import Login
from jetsql.console.web.page_templates import page
from jetsql.console.web.user_handlers import ForUser
from jetsql.home.log_reader import LOG
from jetsql.server.app import HttpServer

LOG_LINES: Final = 300
_LOG_BYTES: Final = 4 * 1024 * 1024
"""The part of the log that is searched, at its end."""


class DescribedEngine(Protocol):
    """An engine that describes itself without a call of Spark."""

    @property
    def home(self) -> Path: ...

    @property
    def facts(self) -> Mapping[str, str]:
        """Return versions and settings by name, without secrets."""


class ClusterPages:
    """The pages."""

    def __init__(self, engine: DescribedEngine, http_server: HttpServer) -> None:
        self._engine = engine
        self._http_server = http_server

    def routes(self, for_user: ForUser) -> list[Route]:
        """Return the routes. for_user: see `WebConsole`."""
        return [
            Route("/members", for_user(self._members)),
            Route("/snapshots", for_user(self._snapshots)),
            Route("/engine", for_user(self._about)),
        ]

    async def _members(self, http: Request, login: Login) -> Response:
        texts = ("SHOW MEMBERS", "SHOW ENGINES")
        members, engines = await asyncio.gather(*(run_statement(self._http_server, text) for text in texts))
        return page(http, login, "members.html", members=members, engines=engines)

    async def _snapshots(self, http: Request, login: Login) -> Response:
        outcome = await run_statement(self._http_server, "SHOW SNAPSHOTS")
        return page(http, login, "snapshots.html", outcome=outcome)

    async def _about(self, http: Request, login: Login) -> Response:
        pattern = http.query_params.get("q", "")
        facts = await self._http_server.on_thread(lambda: self._engine.facts)
        lines = await self._http_server.on_thread(log_tail, self._engine.home, pattern)
        return page(http, login, "engine.html", facts=facts, lines=lines, pattern=pattern)


def log_tail(home: Path, pattern: str) -> list[str]:
    """Return the newest lines of the engine's log that contain a text, the newest last. pattern: without case."""
    file = home / LOG
    if not file.exists():
        return []
    with file.open("rb") as log:
        log.seek(max(file.stat().st_size - _LOG_BYTES, 0))
        read = log.read(_LOG_BYTES).decode(errors="replace").splitlines()
    return [line for line in read if pattern.casefold() in line.casefold()][-LOG_LINES:]
