"""Logins of the console at a provider of OpenID Connect.

GET  /console/oidc/login        go to the provider
GET  /console/oidc/callback     come back from it
"""

from __future__ import annotations

import logging
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from jetsql.console.login_pages import LoginPages, own_path
from jetsql.console.web.page_templates import PREFIX, render
from jetsql.identity.oidc_logins import LOGIN_SECONDS, LoginFailed, OidcLogins
from jetsql.request import current
from jetsql.server.auth import TokenAuth

_LOG: Final = logging.getLogger(__name__)
_PATH: Final = f"{PREFIX}/oidc"
_FAILED: Final = "The login at the provider did not succeed. The log of the engine has the reason."


class OidcPages:
    """The two requests of a login."""

    def __init__(self, access: TokenAuth, logins: LoginPages, provider: OidcLogins) -> None:
        self._access = access
        self._logins = logins
        self._provider = provider
        self._cookie = f"jetsql_oidc_{access.name}"

    def routes(self) -> list[Route]:
        """Return the routes, which need no session."""
        return [Route("/oidc/login", self._begin), Route("/oidc/callback", self._finish)]

    async def _begin(self, http: Request) -> Response:
        target = own_path(http.query_params.get("next", ""))
        callback = f"{http.url.scheme}://{http.headers.get('host', '')}{_PATH}/callback"  # of a known host
        try:
            url, cookie = await self._access.on_issuer_thread(self._provider.begin, callback, target)
        except LoginFailed as error:
            return self._failed(http, error)
        response = RedirectResponse(url, 303)
        # Lax, because the way back begins at the provider, and a strict cookie would not be sent then.
        response.set_cookie(
            self._cookie,
            cookie,
            path=_PATH,
            max_age=int(LOGIN_SECONDS),
            secure=http.url.scheme == "https",
            httponly=True,
            samesite="lax",
        )
        return response

    async def _finish(self, http: Request) -> Response:
        cookie, answer = http.cookies.get(self._cookie, ""), dict(http.query_params)
        try:
            identity, target = await self._access.on_issuer_thread(self._provider.finish, cookie, answer)
        except LoginFailed as error:
            await self._access.delay_failure(current().caller.address)
            return self._failed(http, error)
        # The next page is loaded by one of the console, so it gets the cookie, see `LoginPages`.
        response = await self._logins.with_cookie(http, HTMLResponse(render("enter.html", target=target)), identity)
        response.delete_cookie(self._cookie, path=_PATH, httponly=True, samesite="lax")
        return response

    def _failed(self, http: Request, error: LoginFailed) -> Response:
        _LOG.warning("A login with OpenID Connect failed: %s", error)
        return self._logins.form(http, error=_FAILED, status=401)
