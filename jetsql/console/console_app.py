"""The application of the web console below the path /console of the HTTP endpoint.

    GET  /console/                  the jobs; without a session, the login page
    GET  /console/login, POST       log in with the engine's token
    GET  /console/enter?code=...    log in with a one-time link
    POST /console/links             make a one-time link; needs the header `Authorization` with the token
    GET  /console/session           answer whether the user is still logged in
    POST /console/logout            end the session
    GET  /console/events/alive      signs of life, as server-sent events
    GET  /console/events/log?q=...  the end of the log, and new lines, as server-sent events
    GET  /console/events/jobs       changes of the jobs, as server-sent events
    GET  /console/jobs/{id}         the page of a job
    GET  /console/jobs/{id}/measures
                                    the measures of a job for its plots, as JSON
    GET  /console/events/jobs/{id}  changes of a job, as server-sent events
    POST /console/jobs/confirm, /console/snapshots/confirm
                                    ask whether an action is wanted, as a part of a page
    POST /console/run               run the statements of a question

Requests with an effect are checked by `request_checks`. The event loop never waits: the store is read on threads.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final, Protocol
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request, cookie_parser
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route

from jetsql.console.catalog_page import CatalogPages
from jetsql.console.cluster_pages import ClusterPages, EngineFacts, log_messages
from jetsql.console.jobs.job_actions import (
    ACTIONS,
    JobAction,
    PlannedStatement,
    plan_actions,
    plan_snapshot,
    plan_snapshot_drop,
)
from jetsql.console.jobs.job_feed import JobFeed, state_of
from jetsql.console.jobs.job_page import HISTORY_ROWS, job_page
from jetsql.console.jobs.job_plots import plot_columns
from jetsql.console.jobs.job_rows import ended_rows
from jetsql.console.jobs.jobs_feed import PING_SECONDS, TICK_SECONDS, JobsFeed
from jetsql.console.sql_page import SqlPage
from jetsql.console.statement_runs import RunOutcome, run_statement
from jetsql.console.web.assets_served import serve_asset
from jetsql.console.web.event_streams import EventStreams
from jetsql.console.web.login_sessions import Login, LoginSessions
from jetsql.console.web.page_templates import PREFIX, page, render
from jetsql.console.web.request_checks import (
    REFRESH_HEADER,
    Form,
    check_form,
    check_origin,
    read_form,
    with_headers,
)
from jetsql.console.web.user_handlers import Handler
from jetsql.errors import JetSQLError, StatementError
from jetsql.jobs.access.access_records import Right
from jetsql.jobs.model.job import Status
from jetsql.jobs.statements.job_queries import JobQueries
from jetsql.request import acting_for, current, log_in
from jetsql.server.app import HttpServer
from jetsql.server.auth import TokenAuth
from jetsql.server.client_user import client_user
from jetsql.server.statement_response import error_response, http_status

_LOG: Final = logging.getLogger(__name__)
_RUN_IN_PARALLEL: Final = 8


class ConsoleEngine(EngineFacts, Protocol):
    """The engine of the pages: an `EngineInstance`."""

    @property
    def queries(self) -> JobQueries:
        """Return the queries by which pages read the jobs."""

    @property
    def catalogs(self) -> Sequence[str]:
        """Return the names of all catalogues that statements can use."""


class WebConsole:
    """The web console of an engine."""

    def __init__(
        self, engine: ConsoleEngine, http_server: HttpServer, access: TokenAuth, logins: LoginSessions | None = None
    ) -> None:
        """Create the console, and mount it on the HTTP endpoint. logins: the sessions; None for new ones."""
        self._queries = engine.queries
        self._home = engine.home
        self._http_server = http_server
        self._access = access
        self._logins = logins or LoginSessions()
        self._cookie = f"jetsql_console_{access.name}"
        self._feed = JobsFeed(self._queries, http_server.on_thread)
        self._job_feed = JobFeed(self._queries, http_server.on_thread)
        self._pages = (
            SqlPage(http_server),
            CatalogPages(self._queries, http_server, engine.catalogs),
            ClusterPages(engine, self._queries, http_server),
        )
        self._streams = EventStreams()
        self._stopped = False
        self._parallel = asyncio.Semaphore(_RUN_IN_PARALLEL)
        app = Starlette(
            routes=self._routes(), exception_handlers={JetSQLError: self._failed, HTTPException: self._refused}
        )
        app.router.redirect_slashes = False
        access.admit_sessions(PREFIX, self._has_session)
        routes = [Route("/", _to_console), Route(PREFIX, _to_console), Mount(PREFIX, with_headers(app))]
        http_server.add_routes(routes, self._stop)

    def _stop(self) -> None:
        self._stopped = True
        self._feed.stop()
        self._job_feed.stop()

    def _routes(self) -> list[Route]:
        return [
            Route("/", self._login_required(self._jobs)),
            Route("/login", self._login_page),
            Route("/login", self._log_in, methods=["POST"]),
            Route("/enter", self._enter),
            Route("/links", self._make_link, methods=["POST"]),
            Route("/session", self._login_required(self._session, is_use=False)),
            Route("/logout", self._login_required(self._log_out), methods=["POST"]),
            Route("/events/alive", self._login_required(self._events_of_life, is_use=False)),
            Route("/events/log", self._login_required(self._events_of_log, is_use=False)),
            Route("/events/jobs", self._login_required(self._events_of_jobs, is_use=False)),
            Route("/events/jobs/{id}", self._login_required(self._events_of_job, is_use=False)),
            Route("/jobs/confirm", self._login_required(self._confirm), methods=["POST"]),
            Route("/jobs/{id}", self._login_required(self._job)),
            Route("/jobs/{id}/measures", self._login_required(self._measures, is_use=False)),
            Route("/snapshots/confirm", self._login_required(self._confirm_snapshot), methods=["POST"]),
            Route("/run", self._login_required(self._run), methods=["POST"]),
            Route("/assets/{version}/{name}", serve_asset),
            *(route for pages in self._pages for route in pages.routes(self._login_required)),
        ]

    # --- sessions ----------------------------------------------------------------------------------------------------

    def _has_session(self, headers: Headers) -> bool:
        return self._logins.is_open(cookie_parser(headers.get("cookie", "")).get(self._cookie, ""))

    def _login_required(self, handler: Handler, *, is_use: bool = True) -> Callable[[Request], Awaitable[Response]]:
        """Return the handler for users who are logged in; others get the login page.

        is_use: whether a request is one of the user, and not of the page's script.
        """

        async def checked(http: Request) -> Response:
            login = await self._own_login(http)
            if login is not None and is_use and REFRESH_HEADER not in http.headers:
                self._logins.note_use(login)
            await self._note_logins()
            if login is None:
                return self._without_login(http)
            check_origin(http)
            log_in(login.account)
            return await handler(http, login)

        return checked

    async def _own_login(self, http: Request) -> Login | None:
        """Return the session of a request; None if it has none.

        A browser sends its cookie to any program that listens at the port of an engine that has ended. Only the user
        who has logged in can use it; if another user of the machine does, the session ends.
        """
        login = self._logins.find(http.cookies.get(self._cookie, ""))
        if login is None:
            return None
        if not self._access.admits_to_console(login.account):  # not any more
            await self._end(login)
            return None
        user = client_user(http.scope)
        if user == login.user:
            return login
        if user is not None:
            _LOG.warning("The user %d has sent the cookie of a login of %s to the web console", user, login.user)
            await self._end(login)
        return None

    def _without_login(self, http: Request) -> Response:
        """Return the way to the login page, from which the user gets back to the page."""
        target = http.url.path if http.method == "GET" else f"{PREFIX}/"
        login = f"{PREFIX}/login?next={quote(target)}"
        if http.headers.get("hx-request") or "text/html" not in http.headers.get("accept", ""):
            return Response(status_code=401, headers={"HX-Redirect": login})
        return RedirectResponse(login, 303)

    async def _login_page(self, http: Request) -> Response:
        return HTMLResponse(render("login.html", next=_own_path(http.query_params.get("next", "")), error=""))

    async def _log_in(self, http: Request) -> Response:
        check_origin(http)
        form = await read_form(http)
        target = _own_path(form.one("next"))
        account = self._access.user_of(form.one("token").strip())
        if account is None:
            await self._access.delay_failure(current().caller.address)
            return HTMLResponse(render("login.html", next=target, error="The token is wrong."), 401)
        return await self._with_cookie(http, RedirectResponse(target, 303), account)

    async def _enter(self, http: Request) -> Response:
        """Log in with a link. The page that follows is loaded by a page of the console, so it gets the cookie.

        Browsers do not send a cookie with SameSite=Strict after a link from a page of another site, also not after its
        redirects.
        """
        account = self._logins.redeem(http.query_params.get("code", ""))
        if account is None:
            error = "The link was used already, or is too old. Run `jetsql console` again, or enter the token."
            return HTMLResponse(render("login.html", next=f"{PREFIX}/", error=error), 401)
        return await self._with_cookie(http, HTMLResponse(render("enter.html")), account)

    async def _make_link(self, http: Request) -> Response:
        account = self._access.user_of_request(http.headers)
        if account is None:
            # For programs, so in the form of the endpoint's errors.
            return error_response(StatementError("NOT_AUTHORIZED", "The token is missing or wrong.").report())
        self._access.require(Right.ADMIN, "the web console")
        return JSONResponse({"path": f"{PREFIX}/enter?code={self._logins.make_link(account)}"}, 201)

    async def _session(self, http: Request, login: Login) -> Response:
        return JSONResponse({})

    async def _log_out(self, http: Request, login: Login) -> Response:
        check_form(login, http, await read_form(http))
        await self._end(login)
        response = RedirectResponse(f"{PREFIX}/login", 303)
        response.delete_cookie(self._cookie, path=PREFIX, httponly=True, samesite="strict")
        return response

    async def _end(self, login: Login) -> None:
        """End a session, with the statements of its SQL page."""
        self._logins.close(login)
        await self._note_logins()
        if login.client_session:
            with acting_for(replace(current().caller, user=login.account)):
                self._http_server.sessions.close(login.client_session)
                self._http_server.running.cancel_streaming_selects(login.client_session)

    async def _note_logins(self) -> None:
        if self._logins.is_changed:
            await self._http_server.on_thread(self._logins.save)

    async def _with_cookie(self, http: Request, response: Response, account: str) -> Response:
        """Open a new session in any case: the value that the browser has may have been planted."""
        if not self._access.admits_to_console(account):
            error = f"The web console is for users with the right ADMIN, which {account} lacks."
            return HTMLResponse(render("login.html", next=f"{PREFIX}/", error=error), 403)
        before = await self._own_login(http)
        if before is not None:
            await self._end(before)
        value, _ = self._logins.open(client_user(http.scope), account)
        await self._note_logins()
        secure = http.url.scheme == "https"
        response.set_cookie(self._cookie, value, path=PREFIX, secure=secure, httponly=True, samesite="strict")
        return response

    # --- jobs --------------------------------------------------------------------------------------------------------

    async def _jobs(self, http: Request, login: Login) -> Response:
        version, rows = await self._http_server.on_thread(self._feed.rows)
        ended = await self._http_server.on_thread(lambda: list(ended_rows(self._queries, rows)))
        shown = [*rows.values(), *ended]
        statuses = [status.value for status in Status]
        values = {"rows": shown, "version_shown": version, "statuses": statuses, "actions": list(ACTIONS.values())}
        return page(http, login, "jobs.html", **values)

    async def _events_of_jobs(self, http: Request, login: Login) -> Response:
        after = http.headers.get("last-event-id") or http.query_params.get("after", "")
        return self._streams.respond(login, self._feed.messages(after, self._is_open(http)))

    async def _events_of_job(self, http: Request, login: Login) -> Response:
        state, after = http.query_params.get("state", ""), _number(http.query_params.get("after", ""))
        messages = self._job_feed.messages(http.path_params["id"], state, after, self._is_open(http))
        return self._streams.respond(login, messages)

    async def _events_of_log(self, http: Request, login: Login) -> Response:
        pattern, is_open = http.query_params.get("q", ""), self._is_open(http)
        return self._streams.respond(login, self._log_messages(pattern, is_open))

    async def _log_messages(self, pattern: str, is_open: Callable[[], bool]) -> AsyncIterator[bytes]:
        on_thread = self._http_server.on_thread
        async for message in log_messages(self._home, pattern, on_thread, lambda: not self._stopped and is_open()):
            yield message
        if not self._stopped:
            yield b"event: logout\ndata: \n\n"

    async def _events_of_life(self, http: Request, login: Login) -> Response:
        return self._streams.respond(login, self._signs_of_life(self._is_open(http)))

    async def _signs_of_life(self, is_open: Callable[[], bool]) -> AsyncIterator[bytes]:
        """Yield messages by which a page without other events recognizes a lost engine, and the end of the session."""
        silent = PING_SECONDS
        while not self._stopped and is_open():
            if silent >= PING_SECONDS:
                yield b"event: ping\ndata: \n\n"
                silent = 0.0
            await asyncio.sleep(TICK_SECONDS)
            silent += TICK_SECONDS
        if not self._stopped:
            yield b"event: logout\ndata: \n\n"

    def _is_open(self, http: Request) -> Callable[[], bool]:
        """Return a function that returns whether the session of a request is still open."""
        value = http.cookies.get(self._cookie, "")
        return lambda: self._logins.is_open(value)

    async def _job(self, http: Request, login: Login) -> Response:
        rows = None if http.query_params.get("history") == "all" else HISTORY_ROWS
        shown = await self._http_server.on_thread(job_page, self._queries, http.path_params["id"], rows)
        return page(http, login, "job.html", page=shown, job=shown.job, state=state_of(shown.job))

    async def _measures(self, http: Request, login: Login) -> Response:
        measures = await self._http_server.on_thread(self._queries.batches, http.path_params["id"])
        return JSONResponse(plot_columns(measures))

    async def _confirm(self, http: Request, login: Login) -> Response:
        form = await read_form(http)
        check_form(login, http, form)
        action = _action(form)
        planned = await self._http_server.on_thread(plan_actions, self._queries, action, form.many("job"))
        return self._question(login, action.title, planned, action.is_dangerous)

    async def _confirm_snapshot(self, http: Request, login: Login) -> Response:
        form = await read_form(http)
        check_form(login, http, form)
        name = form.one("name").strip()
        if form.one("action") == "drop":
            return self._question(login, "Drop snapshot", [plan_snapshot_drop(name)], is_dangerous=True)
        planned = await self._http_server.on_thread(plan_snapshot, self._queries, form.one("job"), name)
        return self._question(login, "Take snapshot", [planned])

    @staticmethod
    def _question(
        login: Login, title: str, planned: Sequence[PlannedStatement], is_dangerous: bool = False
    ) -> HTMLResponse:
        values = {"title": title, "planned": planned, "is_dangerous": is_dangerous, "csrf": login.csrf}
        return HTMLResponse(render("confirm.html", **values))

    async def _run(self, http: Request, login: Login) -> Response:
        """Run the statements of a question."""
        form = await read_form(http)
        check_form(login, http, form)
        outcomes = await asyncio.gather(*map(self._run_statement, form.many("statement")))
        return HTMLResponse(render("outcomes.html", title=form.one("title"), outcomes=outcomes))

    async def _run_statement(self, text: str) -> RunOutcome:
        async with self._parallel:
            return await run_statement(self._http_server, text)

    # --- errors ------------------------------------------------------------------------------------------------------

    async def _failed(self, http: Request, error: Exception) -> Response:
        assert isinstance(error, JetSQLError)
        report = error.report()
        status = 403 if report.condition == "JETSQL.NOT_AUTHORIZED" else http_status(report)
        return await self._error_page(http, status, report=report, title=report.message)

    async def _refused(self, http: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        title = "There is no such page." if error.status_code == 404 else f"{error.detail}."
        return await self._error_page(http, error.status_code, report=None, title=title)

    async def _error_page(self, http: Request, status: int, **values: object) -> Response:
        if http.headers.get("hx-request"):
            return HTMLResponse(render("error_part.html", **values), status)
        login = await self._own_login(http)
        if login is None:
            return HTMLResponse(render("error.html", **values), status)
        return page(http, login, "error.html", status, **values)


def _number(text: str) -> float:
    """Return a number in the address of a request; 0 for another text."""
    return float(text) if text.replace(".", "", 1).isdecimal() else 0.0


async def _to_console(http: Request) -> Response:
    return RedirectResponse(f"{PREFIX}/", 307)


def _own_path(path: str) -> str:
    """Return the path of a page of the console; that of the jobs for any other text."""
    # A path that begins with one slash has no host.
    own = path.startswith(f"{PREFIX}/") and "\\" not in path and path.isprintable()
    return path if own else f"{PREFIX}/"


def _action(form: Form) -> JobAction:
    action = ACTIONS.get(form.one("action"))
    if action is None:
        raise StatementError("REQUEST_NOT_READABLE", f"There is no action {form.one('action')!r}.")
    return action
