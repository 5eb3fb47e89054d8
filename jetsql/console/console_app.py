"""The application of the web console below the path /console of the HTTP endpoint.

    GET  /console/jobs              the jobs
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

The other pages are in `overview_page`, `alerts_page`, `login_pages`, `oidc_pages`, `account_pages`, `sql_page`,
`catalog_page` and `cluster_pages`.
Requests with an effect are checked by `request_checks`. The event loop never waits: the store is read on threads.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final, Protocol

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route

from jetsql.console.account_pages import AccountPages
from jetsql.console.alerts_page import AlertsPage
from jetsql.console.catalog_page import CatalogPages
from jetsql.console.cluster_pages import ClusterPages, log_messages
from jetsql.console.engine_facts import EngineFacts
from jetsql.console.jobs.job_actions import (
    ACTIONS,
    JobAction,
    PlannedStatement,
    may_act,
    plan_actions,
    plan_snapshot,
    plan_snapshot_drop,
)
from jetsql.console.jobs.job_feed import JobFeed, state_of
from jetsql.console.jobs.job_page import HISTORY_ROWS, job_page
from jetsql.console.jobs.job_plots import plot_columns
from jetsql.console.jobs.job_rows import ended_rows
from jetsql.console.jobs.jobs_feed import PING_SECONDS, TICK_SECONDS, JobsFeed
from jetsql.console.login_pages import LoginPages
from jetsql.console.oidc_pages import OidcPages
from jetsql.console.overview_page import OverviewPage
from jetsql.console.sql_page import SqlPage
from jetsql.console.statement_runs import RunOutcome, run_statement
from jetsql.console.web.assets_served import serve_asset
from jetsql.console.web.engine_label import EngineLabel
from jetsql.console.web.event_streams import EventStreams
from jetsql.console.web.login_sessions import Login, LoginSessions
from jetsql.console.web.page_templates import PREFIX, page, render
from jetsql.console.web.request_checks import (
    Form,
    check_form,
    for_browsers,
    read_form,
)
from jetsql.errors import JetSQLError, StatementError
from jetsql.identity.oidc_logins import OidcLogins
from jetsql.jobs.access.access_records import Right
from jetsql.jobs.model.job import SHOWN_STATUSES
from jetsql.jobs.statements.job_queries import JobQueries
from jetsql.server.app import HttpServer
from jetsql.server.auth import TokenAuth
from jetsql.server.statement_response import http_status

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
        self,
        engine: ConsoleEngine,
        http_server: HttpServer,
        access: TokenAuth,
        logins: LoginSessions | None = None,
        provider: OidcLogins | None = None,
        label: EngineLabel = EngineLabel(),  # noqa: B008  # it is frozen
    ) -> None:
        """Create the console, and mount it on the HTTP endpoint.

        logins: the sessions; None for new ones. provider: of OpenID Connect; None without one. label: of the engine
        """
        self._queries = engine.queries
        self._home = engine.home
        self._http_server = http_server
        self._access = access
        self._logins = LoginPages(http_server, access, logins or LoginSessions())
        self._oidc = None if provider is None else OidcPages(access, self._logins, provider)
        self._logins.has_oidc = provider is not None
        self._feed = JobsFeed(self._queries, http_server.on_thread)
        self._job_feed = JobFeed(self._queries, http_server.on_thread)
        self._pages = (
            SqlPage(http_server),
            OverviewPage(engine, self._queries, self._feed, http_server, access),
            AlertsPage(self._queries, self._feed, http_server),
            CatalogPages(self._queries, http_server, access, engine.catalogs),
            ClusterPages(engine, self._queries, http_server, access),
            AccountPages(http_server, access, self._logins),
        )
        self._streams = EventStreams()
        self._stopped = False
        self._parallel = asyncio.Semaphore(_RUN_IN_PARALLEL)
        app = Starlette(
            routes=self._routes(), exception_handlers={JetSQLError: self._failed, HTTPException: self._refused}
        )
        app.router.redirect_slashes = False
        access.admit_sessions(PREFIX, self._logins.has_session)
        routes = [Route("/", _to_console), Route(PREFIX, _to_console), Mount(PREFIX, for_browsers(app, label))]
        http_server.add_routes(routes, self._stop)

    def _stop(self) -> None:
        self._stopped = True
        self._feed.stop()
        self._job_feed.stop()

    def _routes(self) -> list[Route]:
        required = self._logins.required
        return [
            *self._logins.routes(),
            *(() if self._oidc is None else self._oidc.routes()),
            Route("/jobs", required(self._jobs)),
            Route("/events/alive", required(self._events_of_life, is_use=False)),
            Route("/events/log", required(self._events_of_log, is_use=False)),
            Route("/events/jobs", required(self._events_of_jobs, is_use=False)),
            Route("/events/jobs/{id}", required(self._events_of_job, is_use=False)),
            Route("/jobs/confirm", required(self._confirm), methods=["POST"]),
            Route("/jobs/{id}", required(self._job)),
            Route("/jobs/{id}/measures", required(self._measures, is_use=False)),
            Route("/snapshots/confirm", required(self._confirm_snapshot), methods=["POST"]),
            Route("/run", required(self._run), methods=["POST"]),
            Route("/assets/{version}/{name}", serve_asset),
            *(route for pages in self._pages for route in pages.routes(required)),
        ]

    # --- jobs --------------------------------------------------------------------------------------------------------

    async def _jobs(self, http: Request, login: Login) -> Response:
        version, rows = await self._http_server.on_thread(self._feed.rows)
        ended = await self._http_server.on_thread(lambda: list(ended_rows(self._queries, rows)))
        shown = [*rows.values(), *ended]
        actions = await self._http_server.on_thread(self._offered_actions)
        values = {"rows": shown, "version_shown": version, "statuses": SHOWN_STATUSES, "actions": actions}
        return page(http, login, "jobs.html", **values)

    def _offered_actions(self) -> list[JobAction]:
        """Return the actions on selected jobs: those that the user may do with at least one of them."""
        if self._queries.sees_all:
            return list(ACTIONS.values())
        jobs = [view.job for view in self._queries.live()]
        return [action for action in ACTIONS.values() if any(may_act(self._queries, action, job) for job in jobs)]

    async def _events_of_jobs(self, http: Request, login: Login) -> Response:
        after = http.headers.get("last-event-id") or http.query_params.get("after", "")
        return self._streams.respond(login, self._feed.messages(after, self._logins.still_open(http)))

    async def _events_of_job(self, http: Request, login: Login) -> Response:
        state, after = http.query_params.get("state", ""), _number(http.query_params.get("after", ""))
        messages = self._job_feed.messages(http.path_params["id"], state, after, self._logins.still_open(http))
        return self._streams.respond(login, messages)

    async def _events_of_log(self, http: Request, login: Login) -> Response:
        self._access.require(Right.ADMIN, "the log")
        pattern, is_open = http.query_params.get("q", ""), self._logins.still_open(http)
        messages = self._log_messages(pattern, lambda: is_open() and self._access.is_admin)
        return self._streams.respond(login, messages)

    async def _log_messages(self, pattern: str, is_open: Callable[[], bool]) -> AsyncIterator[bytes]:
        on_thread = self._http_server.on_thread
        async for message in log_messages(self._home, pattern, on_thread, lambda: not self._stopped and is_open()):
            yield message
        if not self._stopped:
            yield b"event: logout\ndata: \n\n"

    async def _events_of_life(self, http: Request, login: Login) -> Response:
        return self._streams.respond(login, self._signs_of_life(self._logins.still_open(http)))

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
        login = await self._logins.own_login(http)
        if login is None:
            return HTMLResponse(render("error.html", **values, label=http.state.label), status)
        return page(http, login, "error.html", status, **values)


def _number(text: str) -> float:
    """Return a number in the address of a request; 0 for another text."""
    return float(text) if text.replace(".", "", 1).isdecimal() else 0.0


async def _to_console(http: Request) -> Response:
    return RedirectResponse(f"{PREFIX}/", 307)


def _action(form: Form) -> JobAction:
    action = ACTIONS.get(form.one("action"))
    if action is None:
        raise StatementError("REQUEST_NOT_READABLE", f"There is no action {form.one('action')!r}.")
    return action
