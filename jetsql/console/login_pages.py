"""Getting into the console and out of it: which session a request belongs to, and what ends a session.

GET  /console/login, POST       log in with the token of the engine or of a user
GET  /console/enter?code=...    log in with a one-time link, POST after a question if the engine has users
POST /console/links             make a one-time link; needs the header `Authorization` with the token
GET  /console/session           answer whether the user is still logged in
POST /console/logout            end the session
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.requests import Request, cookie_parser
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from jetsql.console.web.login_sessions import ListedLogin, Login, LoginSessions
from jetsql.console.web.page_templates import PREFIX, render
from jetsql.console.web.request_checks import REFRESH_HEADER, check_form, check_origin, read_form
from jetsql.console.web.user_handlers import Handler
from jetsql.console.web.viewers import Viewer
from jetsql.errors import StatementError
from jetsql.request import Identity, acting_for, current, log_in
from jetsql.server.app import HttpServer
from jetsql.server.auth import TokenAuth
from jetsql.server.client_user import client_user
from jetsql.server.statement_response import error_response

_LOG: Final = logging.getLogger(__name__)
_LINK_ENDED: Final = "The link was used already, or is too old. Run `jetsql console` again, or enter the token."


class LoginPages:
    """The sessions of the console, and the pages that open and end them."""

    def __init__(self, http_server: HttpServer, access: TokenAuth, logins: LoginSessions) -> None:
        self._http_server = http_server
        self._access = access
        self._logins = logins
        self._cookie = f"jetsql_console_{access.name}"
        self.has_oidc = False
        """The login page offers a login with OpenID Connect."""
        access.on_change(self._end_invalid)

    def routes(self) -> list[Route]:
        """Return the routes of the pages."""
        return [
            Route("/login", self._login_page),
            Route("/login", self._log_in, methods=["POST"]),
            Route("/enter", self._enter),
            Route("/enter", self._enter_after_question, methods=["POST"]),
            Route("/links", self._make_link, methods=["POST"]),
            Route("/session", self.required(self._session, is_use=False)),
            Route("/logout", self.required(self._log_out), methods=["POST"]),
        ]

    # --- the session of a request ------------------------------------------------------------------------------------

    def required(self, handler: Handler, *, is_use: bool = True) -> Callable[[Request], Awaitable[Response]]:
        """Return the handler for users who are logged in; others get the login page.

        is_use: whether a request is one of the user, and not of the page's script.
        """

        async def checked(http: Request) -> Response:
            login = await self.own_login(http)
            if login is not None and is_use and REFRESH_HEADER not in http.headers:
                self._logins.note_use(login)
            await self._note_logins()
            if login is None:
                return self._without_login(http)
            check_origin(http)
            return await handler(http, login)

        return checked

    async def own_login(self, http: Request) -> Login | None:
        """Return the session of a request, which acts for its user from now on; None if it has none.

        A browser sends its cookie to any program that listens at the port of an engine that has ended. Only the user
        who has logged in can use it; if another user of the machine does, the session ends.
        """
        login = self._logins.find(http.cookies.get(self._cookie, ""))
        if login is None:
            return None
        if not self._access.admits(login.identity):
            await self.end(login)
            return None
        user = client_user(http.scope)
        if user == login.user:
            log_in(login.identity)
            http.state.viewer = Viewer(login.account if self._access.has_users else "", self._access.is_admin)
            return login
        if user is not None:
            _LOG.warning("The user %d has sent the cookie of a login of %s to the web console", user, login.user)
            await self.end(login)
        return None

    def has_session(self, headers: Headers) -> bool:
        """Return whether the headers of a request belong to a session."""
        return self._is_open(cookie_parser(headers.get("cookie", "")).get(self._cookie, ""))

    def all(self) -> list[ListedLogin]:
        """Return the sessions of all users that can be used, the newest first."""
        return [each for each in self._logins.all() if self._access.admits(each.login.identity)]

    def still_open(self, http: Request) -> Callable[[], bool]:
        """Return a function that returns whether the session of a request is still open."""
        value = http.cookies.get(self._cookie, "")
        return lambda: self._is_open(value)

    def _is_open(self, cookie: str) -> bool:
        login = self._logins.find(cookie)
        return login is not None and self._access.admits(login.identity)

    def _without_login(self, http: Request) -> Response:
        """Return the way to the login page, from which the user gets back to the page."""
        target = http.url.path if http.method == "GET" else f"{PREFIX}/"
        login = f"{PREFIX}/login?next={quote(target)}"
        if http.headers.get("hx-request") or "text/html" not in http.headers.get("accept", ""):
            return Response(status_code=401, headers={"HX-Redirect": login})
        return RedirectResponse(login, 303)

    # --- the pages ---------------------------------------------------------------------------------------------------

    async def _login_page(self, http: Request) -> Response:
        return self.form(http, own_path(http.query_params.get("next", "")))

    def form(self, http: Request, target: str = f"{PREFIX}/", error: str = "", status: int = 200) -> Response:
        """Return the login page. target: the page for the user afterwards"""
        has_users = self._access.has_users
        values = {"next": target, "error": error, "has_users": has_users, "has_oidc": has_users and self.has_oidc}
        values["label"] = http.state.label
        return HTMLResponse(render("login.html", **values), status)

    async def _log_in(self, http: Request) -> Response:
        check_origin(http)
        form = await read_form(http)
        target = own_path(form.one("next"))
        token = form.one("token").strip()
        await self._access.check_token(token)
        identity = self._access.identity_of(token)
        if identity is None:
            await self._access.delay_failure(current().caller.address)
            return self.form(http, target, "The token is wrong.", 401)
        self._access.note_use(token)
        return await self.with_cookie(http, RedirectResponse(target, 303), identity)

    async def _enter(self, http: Request) -> Response:
        """Log in with a link, after a question if the engine has users: the link may be that of another user.

        The page that follows is loaded by a page of the console, so it gets the cookie. Browsers do not send a cookie
        with SameSite=Strict after a link from a page of another site, also not after its redirects.
        """
        code = http.query_params.get("code", "")
        user = self._logins.user_of_link(code)
        if user is not None and self._access.has_users:
            return HTMLResponse(render("enter_question.html", user=user, code=code, label=http.state.label))
        return await self._redeem(http, code)

    async def _enter_after_question(self, http: Request) -> Response:
        check_origin(http)
        return await self._redeem(http, (await read_form(http)).one("code"))

    async def _redeem(self, http: Request, code: str) -> Response:
        identity = self._logins.redeem(code)
        if identity is None or not self._access.admits(identity):
            return self.form(http, error=_LINK_ENDED, status=401)
        return await self.with_cookie(http, HTMLResponse(render("enter.html", target=f"{PREFIX}/")), identity)

    async def _make_link(self, http: Request) -> Response:
        identity = self._access.identity_of_request(http.headers)
        if identity is None:
            # For programs, so in the form of the endpoint's errors.
            return error_response(StatementError("NOT_AUTHORIZED", "The token is missing or wrong.").report())
        return JSONResponse({"path": f"{PREFIX}/enter?code={self._logins.make_link(identity)}"}, 201)

    async def _session(self, http: Request, login: Login) -> Response:
        return JSONResponse({})

    async def _log_out(self, http: Request, login: Login) -> Response:
        check_form(login, http, await read_form(http))
        await self.end(login)
        return self.without_cookie(RedirectResponse(f"{PREFIX}/login", 303))

    # --- the begin and the end of sessions ---------------------------------------------------------------------------

    async def with_cookie(self, http: Request, response: Response, identity: Identity) -> Response:
        """Open a new session in any case: the value that the browser has may have been planted."""
        before = await self.own_login(http)
        if before is not None:
            await self.end(before)
        value, _ = self._logins.open(client_user(http.scope), identity, current().caller.address)
        await self._note_logins()
        self._access.note_login(replace(current().caller, user=identity.user, token=identity.token))
        secure = http.url.scheme == "https"
        response.set_cookie(self._cookie, value, path=PREFIX, secure=secure, httponly=True, samesite="strict")
        return response

    def without_cookie(self, response: Response) -> Response:
        """Return a response that removes the cookie of a session that has ended."""
        response.delete_cookie(self._cookie, path=PREFIX, httponly=True, samesite="strict")
        return response

    async def end(self, login: Login) -> None:
        """End a session, with the streaming selects of its SQL page."""
        self._logins.close(login)
        await self._note_logins()
        if login.client_session:
            with acting_for(replace(current().caller, user=login.account)):
                self._http_server.sessions.close(login.client_session)
                self._http_server.running.cancel_streaming_selects(login.client_session)

    def _end_invalid(self) -> None:
        """End the sessions whose user or token was taken away by a change, or has expired."""
        for each in self._logins.all():
            login = each.login
            if self._access.admits(login.identity):
                continue
            self._logins.close(login)
            if login.client_session:
                with acting_for(replace(current().caller, user=login.account)):
                    self._http_server.sessions.close(login.client_session)
                    self._http_server.running.cancel_session(login.client_session)
        if self._logins.is_changed:
            self._logins.save()

    async def _note_logins(self) -> None:
        if self._logins.is_changed:
            await self._http_server.on_thread(self._logins.save)


def own_path(path: str) -> str:
    """Return the path of a page of the console; that of the jobs for any other text."""
    # A path that begins with one slash has no host.
    own = path.startswith(f"{PREFIX}/") and "\\" not in path and path.isprintable()
    return path if own else f"{PREFIX}/"
