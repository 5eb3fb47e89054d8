"""Who may use the HTTP endpoint: whoever knows the token, under a name that this engine is known by.

The token alone would do against people; the Host header is checked against web pages, which can make a browser on this
machine send requests here under a name of their own (DNS rebinding).
"""

from __future__ import annotations

import hmac
from collections.abc import Collection
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from jetsql.errors import StatementError
from jetsql.home.discovery import proof
from jetsql.server.statement_response import error_response

LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")
OPEN_PATHS: Final = ("/healthz",)


class Access:
    """token: what every request has to show. names: hosts that requests may be addressed to, beside loopback's."""

    def __init__(self, token: str, names: Collection[str] = ()) -> None:
        self._token = token.encode()
        self._names = {name.casefold() for name in (*LOOPBACK_NAMES, *names)}

    def guard(self, app: ASGIApp) -> ASGIApp:
        """Return the application, for those who may use it."""

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            headers = Headers(scope=scope)
            refusal = _unclear_length(headers) or self._refusal(headers, scope["path"])
            await (app if refusal is None else refusal)(scope, receive, send)

        return guarded

    def proof(self, nonce: str) -> str:
        """Shows a client that this is the engine whose token it has, before it sends that."""
        return proof(self._token.decode(), nonce)

    def _refusal(self, headers: Headers, path: str) -> Response | None:
        host = _without_port(headers.get("host", ""))
        if host.casefold() not in self._names:
            hint = "Use localhost, or name it in http_hosts."
            refusal = StatementError("NOT_AUTHORIZED", f"This engine is not known as {host!r}.", hint=hint)
            return error_response(refusal.report(), 403)
        if path in OPEN_PATHS or self.has_token(headers):
            return None
        hint = "Send the header `Authorization: Bearer TOKEN`; the token stands in engine.token in the engine's home."
        refusal = StatementError("NOT_AUTHORIZED", "The token is missing or wrong.", hint=hint)
        return error_response(refusal.report(), 401, {"WWW-Authenticate": "Bearer"})

    def has_token(self, headers: Headers) -> bool:
        """Return whether a request with these headers shows the token."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        return scheme.casefold() == "bearer" and hmac.compare_digest(token.strip().encode(), self._token)


def _unclear_length(headers: Headers) -> Response | None:
    """Refuse a request with two lengths: a proxy that goes by the other one would see another request in its body."""
    if "transfer-encoding" not in headers or "content-length" not in headers:
        return None
    words = "The request has both Content-Length and Transfer-Encoding."
    return error_response(StatementError("REQUEST_NOT_READABLE", words).report(), 400, {"Connection": "close"})


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host
