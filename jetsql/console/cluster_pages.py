"""The pages about what jobs run on: members, snapshots, and the engine with its settings and log.

GET  /console/members           the rows of SHOW MEMBERS and SHOW ENGINES
GET  /console/snapshots         the snapshots of all jobs, and their actions
GET  /console/engine            versions, settings without secrets, and the newest lines of the log
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from jetsql.console.engine_facts import EngineFacts
from jetsql.console.jobs.jobs_feed import PING_SECONDS, TICK_SECONDS, OnThread
from jetsql.console.jobs.shown_snapshots import shown_snapshots
from jetsql.console.statement_runs import run_statement
from jetsql.console.web.login_sessions import Login
from jetsql.console.web.page_templates import page
from jetsql.console.web.user_handlers import LoginRequired
from jetsql.home.log_reader import LOG, LogReader
from jetsql.jobs.statements.job_queries import JobQueries
from jetsql.server.app import HttpServer
from jetsql.server.auth import TokenAuth

LOG_LINES: Final = 300
_FACTS_FOR_ALL: Final = ("version", "spark")
"""The facts that are not only for admins: the others describe the machine and its systems."""
_LOG_BYTES: Final = 4 * 1024 * 1024
"""The part of the log that is searched, at its end."""


class ClusterPages:
    """The pages."""

    def __init__(self, engine: EngineFacts, jobs: JobQueries, http_server: HttpServer, access: TokenAuth) -> None:
        self._engine = engine
        self._access = access
        self._jobs = jobs
        self._http_server = http_server

    def routes(self, login_required: LoginRequired) -> list[Route]:
        """Return the routes. login_required: see `WebConsole`."""
        return [
            Route("/members", login_required(self._members)),
            Route("/snapshots", login_required(self._snapshots)),
            Route("/engine", login_required(self._about)),
        ]

    async def _members(self, http: Request, login: Login) -> Response:
        texts = ("SHOW MEMBERS", "SHOW ENGINES")
        members, engines = await asyncio.gather(*(run_statement(self._http_server, text) for text in texts))
        return page(http, login, "members.html", members=members, engines=engines)

    async def _snapshots(self, http: Request, login: Login) -> Response:
        snapshots = await self._http_server.on_thread(shown_snapshots, self._jobs)
        return page(http, login, "snapshots.html", snapshots=snapshots)

    async def _about(self, http: Request, login: Login) -> Response:
        pattern = http.query_params.get("q", "")
        facts = await self._http_server.on_thread(lambda: self._engine.facts)
        if not self._access.is_admin:
            facts = {name: facts[name] for name in _FACTS_FOR_ALL if name in facts}
        shows_log = self._access.is_admin  # it has the errors of jobs, which can quote rows
        lines = await self._http_server.on_thread(log_tail, self._engine.home, pattern) if shows_log else []
        return page(http, login, "engine.html", facts=facts, lines=lines, pattern=pattern, shows_log=shows_log)


async def log_messages(
    home: Path, pattern: str, on_thread: OnThread, is_open: Callable[[], bool]
) -> AsyncIterator[bytes]:
    """Yield messages for a page: the end of the log, and new lines. pattern, is_open: see `log_tail`, `JobsFeed`."""
    reader = LogReader(home)
    try:
        size = await on_thread(reader.skip)
        yield _message("end", await on_thread(log_tail, home, pattern, size))
        silent = 0.0
        while is_open():
            await asyncio.sleep(TICK_SECONDS)
            silent += TICK_SECONDS
            lines = await on_thread(lambda: _matching(reader.lines(), pattern))
            if lines:
                yield _message("lines", lines)
            elif silent >= PING_SECONDS:
                yield b"event: ping\ndata: \n\n"
            silent = 0.0 if lines or silent >= PING_SECONDS else silent
    finally:
        reader.close()


def _message(name: str, lines: Sequence[str]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), json.dumps(lines).encode())


def _matching(lines: Iterable[str], pattern: str) -> list[str]:
    """Return the newest lines with a text."""
    return [line for line in lines if pattern.casefold() in line.casefold()][-LOG_LINES:]


def log_tail(home: Path, pattern: str, size: int | None = None) -> list[str]:
    """Return the newest lines of the engine's log that contain a text, the newest last.

    pattern: without case. size: the bytes of the file before which lines are new; None for all.
    """
    file = home / LOG
    if not file.exists():
        return []
    with file.open("rb") as log:
        end = file.stat().st_size if size is None else size
        start = max(end - _LOG_BYTES, 0)
        log.seek(start)
        read = log.read(end - start).decode(errors="replace").splitlines()
    return _matching(read, pattern)
