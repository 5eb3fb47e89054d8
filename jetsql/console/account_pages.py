"""The pages about users: one's own rights, tokens and sessions, and for an admin those of all.

GET  /console/account           the user: rights, tokens, and sessions of the console
GET  /console/users             for an admin: users, roles, tokens, rights, and sessions of all
POST /console/users/confirm     ask whether a change of a user or a token is wanted, as a part of a page
POST /console/sessions/end      end a session of the console: an own one, or as an admin any
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from jetsql.console.login_pages import LoginPages
from jetsql.console.statement_runs import RunOutcome, run_statement
from jetsql.console.web.login_sessions import ListedLogin, Login
from jetsql.console.web.page_templates import PREFIX, page, render
from jetsql.console.web.request_checks import check_form, read_form
from jetsql.console.web.user_handlers import LoginRequired
from jetsql.errors import StatementError
from jetsql.jobs.access.access_records import Right
from jetsql.jobs.model.job import quoted_text
from jetsql.language.tokens import quoted_name
from jetsql.server.app import HttpServer
from jetsql.server.auth import TokenAuth

_SIGNED_OUT: Final = "Open pages of the user lead to the login page."


class AccountPages:
    """The pages and their requests."""

    def __init__(self, http_server: HttpServer, access: TokenAuth, logins: LoginPages) -> None:
        self._http_server = http_server
        self._access = access
        self._logins = logins

    def routes(self, login_required: LoginRequired) -> list[Route]:
        """Return the routes. login_required: see `WebConsole`."""
        return [
            Route("/account", login_required(self._account)),
            Route("/users", login_required(self._users)),
            Route("/users/confirm", login_required(self._confirm), methods=["POST"]),
            Route("/sessions/end", login_required(self._end_session), methods=["POST"]),
        ]

    async def _account(self, http: Request, login: Login) -> Response:
        name = quoted_name(login.account)
        grants, tokens = await self._run(f"SHOW GRANTS FOR {name}", f"SHOW TOKENS FOR {name}")
        sessions = [each for each in self._logins.all() if each.login.account == login.account]
        values = {"user": login.account, "grants": grants, "tokens": tokens, "sessions": sessions, "own": login}
        return page(http, login, "account.html", **values)

    async def _users(self, http: Request, login: Login) -> Response:
        self._access.require(Right.ADMIN, "the page of all users")
        users, roles, tokens, grants = await self._run("SHOW USERS", "SHOW ROLES", "SHOW TOKENS", "SHOW GRANTS")
        values: dict[str, RunOutcome | Sequence[ListedLogin] | Login]
        values = {"users": users, "roles": roles, "tokens": tokens, "grants": grants}
        return page(http, login, "users.html", **values, sessions=self._logins.all(), own=login)

    async def _run(self, *statements: str) -> list[RunOutcome]:
        return await asyncio.gather(*(run_statement(self._http_server, text) for text in statements))

    async def _confirm(self, http: Request, login: Login) -> Response:
        form = await read_form(http)
        check_form(login, http, form)
        change, name = _CHANGES.get(form.one("action")), form.one("name")
        if change is None:
            raise StatementError("REQUEST_NOT_READABLE", f"There is no action {form.one('action')!r}.")
        title, statement, loss = change
        planned = [{"name": name, "statement": statement(name), "loss": loss}]
        values = {"title": title, "planned": planned, "is_dangerous": True, "csrf": login.csrf}
        return HTMLResponse(render("confirm.html", **values))

    async def _end_session(self, http: Request, login: Login) -> Response:
        form = await read_form(http)
        check_form(login, http, form)
        ended = next((each.login for each in self._logins.all() if each.login.id == form.one("id")), None)
        if ended is None or not (ended.account == login.account or self._access.is_admin):
            # The same for a session of another user, so that its id is no secret.
            raise StatementError("OBJECT_NOT_FOUND", "There is no such session of the console; it may have ended.")
        await self._logins.end(ended)
        if ended is login:
            return self._logins.without_cookie(RedirectResponse(f"{PREFIX}/login", 303))
        target = "users" if form.one("page") == "users" else "account"
        return RedirectResponse(f"{PREFIX}/{target}", 303)


_CHANGES: Final[Mapping[str, tuple[str, Callable[[str], str], str]]] = {
    "disable": (
        "Disable user",
        lambda name: f"ALTER USER {quoted_name(name)} DISABLE",
        f"The tokens of the user are refused until ENABLE, and running jobs of the user are suspended. {_SIGNED_OUT}",
    ),
    "enable": (
        "Enable user",
        lambda name: f"ALTER USER {quoted_name(name)} ENABLE",
        "The tokens of the user are accepted again. RESUME starts the jobs that were suspended.",
    ),
    "drop": (
        "Drop user",
        lambda name: f"DROP USER {quoted_name(name)}",
        f"The user is deleted, with tokens and rights. {_SIGNED_OUT}",
    ),
    "drop-token": (
        "Drop token",
        lambda name: f"DROP TOKEN {quoted_text(name)}",
        "Whatever uses this token is refused from then on, and sessions of the console that it has opened end.",
    ),
}
"""The changes by their names: the title, the statement with the name of a user or a token, and what is lost."""
