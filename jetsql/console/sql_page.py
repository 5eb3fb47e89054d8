"""The SQL page: its statements run in a session of the user, as those of other clients of the HTTP endpoint do.

    GET  /console/sql               the page
    POST /console/sql/read          the statements of a text, and their mistakes
    POST /console/sql/complete      what can be written at the cursor
    POST /console/sql/run           run a statement; the response is that of `POST /v1/sql`
    POST /console/sql/parquet       run a statement; the response is a Parquet file
    POST /console/sql/cancel        cancel a statement
    POST /console/sql/graph         the graph of a text of EXPLAIN CREATE JOB, as a part of a page

The requests are JSON, with the header `X-CSRF-Token`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final
from weakref import WeakKeyDictionary, WeakSet

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from jetsql.console.jobs.job_graph import explained_graph
from jetsql.console.parquet_export import export_parquet, has_parquet
from jetsql.console.sql_reading import Completion, read_statements
from jetsql.console.web.login_sessions import Login
from jetsql.console.web.page_templates import page, render
from jetsql.console.web.request_checks import CSRF_HEADER, check_csrf
from jetsql.console.web.user_handlers import LoginRequired
from jetsql.errors import StatementError
from jetsql.language.keywords import KEYWORDS
from jetsql.server import wire
from jetsql.server.app import HttpServer, read_json
from jetsql.server.client_sessions import Session
from jetsql.server.running_statements import StatementRequest

SESSION_HEADER: Final = "x-jetsql-session"
"""Says `new` when a statement runs in a new session, because the last one was closed."""


class SqlPage:
    """The page and its requests."""

    def __init__(self, http_server: HttpServer) -> None:
        self._http_server = http_server
        self._completions: WeakKeyDictionary[Login, Completion] = WeakKeyDictionary()
        self._renewed: WeakSet[Login] = WeakSet()
        """The users whose session was closed. The next statement reports it; completion may open a session before."""
        self._opening = asyncio.Lock()

    def routes(self, login_required: LoginRequired) -> list[Route]:
        """Return the routes. login_required: see `WebConsole`."""
        return [
            Route("/sql", login_required(self._page)),
            Route("/sql/read", login_required(self._read), methods=["POST"]),
            Route("/sql/complete", login_required(self._complete), methods=["POST"]),
            Route("/sql/run", login_required(self._run), methods=["POST"]),
            Route("/sql/parquet", login_required(self._parquet), methods=["POST"]),
            Route("/sql/cancel", login_required(self._cancel), methods=["POST"]),
            Route("/sql/graph", login_required(self._graph), methods=["POST"]),
        ]

    async def _page(self, http: Request, login: Login) -> Response:
        text = http.query_params.get("text", "")
        values = {"text": text, "keywords": " ".join(sorted(KEYWORDS)).lower(), "has_parquet": has_parquet()}
        return page(http, login, "sql.html", **values)

    async def _read(self, http: Request, login: Login) -> Response:
        text = _text(await self._message(http, login), "text")
        return JSONResponse({"statements": await self._http_server.on_thread(read_statements, text)})

    async def _complete(self, http: Request, login: Login) -> Response:
        message = await self._message(http, login)
        text, cursor = _text(message, "text"), message.get("cursor")
        if not isinstance(cursor, int) or not 0 <= cursor <= len(text):
            raise StatementError("REQUEST_NOT_READABLE", "The field 'cursor' is no offset in the text.")
        await self._session(login)
        completion = self._completions.setdefault(login, Completion())
        using: Callable[[], AbstractContextManager[Session]]
        using = partial(self._http_server.sessions.using, login.client_session)
        # Not on a thread for short requests: it may query Spark for names.
        found = await asyncio.to_thread(completion.candidates, text, cursor, using)
        return JSONResponse({"candidates": found})

    async def _run(self, http: Request, login: Login) -> Response:
        message = await self._message(http, login)
        await self._session(login)
        completion = self._completions.get(login)
        if completion is not None:
            completion.expire()
        request = StatementRequest(
            id=_text(message, "id"),
            text=_text(message, "statement"),
            session=login.client_session,
            arrow=wire.ARROW_TYPE in http.headers.get("accept", ""),
            live=message.get("live") is True,
        )
        response = self._http_server.respond_to_statement(request)
        if login in self._renewed:
            self._renewed.discard(login)
            response.headers[SESSION_HEADER] = "new"
        return response

    async def _parquet(self, http: Request, login: Login) -> Response:
        message = await self._message(http, login)
        await self._session(login)
        request = StatementRequest(
            id=_text(message, "id"), text=_text(message, "statement"), session=login.client_session, arrow=True
        )
        return await export_parquet(self._http_server, request)

    async def _cancel(self, http: Request, login: Login) -> Response:
        statement = _text(await self._message(http, login), "id")
        await self._http_server.on_thread(self._http_server.running.cancel, statement, login.client_session)
        return Response(status_code=202)

    async def _graph(self, http: Request, login: Login) -> Response:
        graph = explained_graph(_text(await self._message(http, login), "text"))
        return Response(status_code=204) if graph is None else HTMLResponse(render("graph.html", graph=graph))

    @staticmethod
    async def _message(http: Request, login: Login) -> Mapping[str, Any]:
        """Return the JSON of a request, after its checks."""
        check_csrf(login, http.headers.get(CSRF_HEADER, ""))
        return await read_json(http)

    async def _session(self, login: Login) -> None:
        """Open the user's session unless it is open. Note if another one was there before, for the next statement."""
        sessions = self._http_server.sessions
        async with self._opening:
            if login.client_session is not None and login.client_session in sessions:
                return
            if login.client_session is not None:
                self._renewed.add(login)
            login.client_session = (await self._http_server.on_thread(sessions.open)).id


def _text(message: Mapping[str, Any], name: str) -> str:
    """Return a text of a request. Raises StatementError REQUEST_NOT_READABLE."""
    value = message.get(name)
    if not isinstance(value, str):
        raise StatementError("REQUEST_NOT_READABLE", f"The field {name!r} is no text.")
    return value
