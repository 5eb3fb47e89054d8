"""The page of alerts: those of the user with their state, and the messages that they have sent.

GET  /console/alerts            the alerts and their newest messages; `alert` names one, `all` shows all messages
POST /console/alerts/confirm    ask whether a change of an alert is wanted, as a part of a page
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from jetsql.console.jobs.jobs_feed import JobsFeed
from jetsql.console.web.login_sessions import Login
from jetsql.console.web.page_templates import page, render
from jetsql.console.web.request_checks import check_form, read_form
from jetsql.console.web.user_handlers import LoginRequired
from jetsql.errors import StatementError
from jetsql.jobs.statements.job_queries import JobQueries
from jetsql.language.tokens import quoted_name
from jetsql.server.app import HttpServer

MESSAGES_MOST: Final = 100


class AlertsPage:
    """The page and its requests. The statements check the rights: an alert is for its owner and for admins."""

    def __init__(self, jobs: JobQueries, feed: JobsFeed, http_server: HttpServer) -> None:
        self._jobs = jobs
        self._feed = feed
        self._http_server = http_server

    def routes(self, login_required: LoginRequired) -> list[Route]:
        """Return the routes. login_required: see `WebConsole`."""
        return [
            Route("/alerts", login_required(self._alerts)),
            Route("/alerts/confirm", login_required(self._confirm), methods=["POST"]),
        ]

    async def _alerts(self, http: Request, login: Login) -> Response:
        chosen, shows_all = http.query_params.get("alert", ""), http.query_params.get("messages") == "all"
        most = None if shows_all else MESSAGES_MOST
        version, _ = await self._http_server.on_thread(self._feed.rows)
        alerts = await self._http_server.on_thread(self._jobs.alerts)
        messages, count = await self._http_server.on_thread(self._jobs.alert_messages, chosen, most)
        values = {"alerts": alerts, "messages": messages, "count": count, "chosen": chosen, "version_shown": version}
        return page(http, login, "alerts.html", **values)

    async def _confirm(self, http: Request, login: Login) -> Response:
        form = await read_form(http)
        check_form(login, http, form)
        change, name = _CHANGES.get(form.one("action")), form.one("name")
        if change is None:
            raise StatementError("REQUEST_NOT_READABLE", f"There is no action {form.one('action')!r}.")
        title, statement, loss, is_dangerous = change
        planned = [{"name": name, "statement": statement(quoted_name(name)), "loss": loss}]
        values = {"title": title, "planned": planned, "is_dangerous": is_dangerous, "csrf": login.csrf}
        return HTMLResponse(render("confirm.html", **values))


_CHANGES: Final[Mapping[str, tuple[str, Callable[[str], str], str, bool]]] = {
    "disable": (
        "Disable alert",
        lambda name: f"ALTER ALERT {name} DISABLE",
        "It sends no messages until it is enabled. What it was waiting for is forgotten; its messages stay.",
        False,
    ),
    "enable": (
        "Enable alert",
        lambda name: f"ALTER ALERT {name} ENABLE",
        "It begins without a state: a job that meets the condition now causes a message.",
        False,
    ),
    "drop": (
        "Drop alert",
        lambda name: f"DROP ALERT {name}",
        "The alert is deleted, and messages that are not delivered are not sent. Only admins see its earlier messages.",
        True,
    ),
}
"""The changes by their names: the title, the statement, what is lost, and whether it cannot be undone."""
