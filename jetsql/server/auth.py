"""Check that a request to the HTTP endpoint has the token and addresses a known host name.

The check of the Host header protects against web pages that make a browser on this machine send requests to the
endpoint under a host name of their own (DNS rebinding).
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
OPEN_PATHS: Final = ("/healthz", "/readyz")


class Access:
    """The check of requests.

    token: required in every request.
    names: allowed host names, in addition to those of the loopback interface.
    """

    def __init__(self, token: str, names: Collection[str] = ()) -> None:
        self._token = token.encode()
        self._names = {name.casefold() for name in (*LOOPBACK_NAMES, *names)}

    def guard(self, app: ASGIApp) -> ASGIApp:
        """Return the application with the check before it."""

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            headers = Headers(scope=scope)
            refusal = _unclear_length(headers) or self._refusal(headers, scope["path"])
            await (app if refusal is None else refusal)(scope, receive, send)

        return guarded

    def proof(self, nonce: str) -> str:
        """Return the proof for a client that this engine knows the token, before the client sends it."""
        return proof(self._token.decode(), nonce)

    def _refusal(self, headers: Headers, path: str) -> Response | None:
        host = _without_port(headers.get("host", ""))
        if host.casefold() not in self._names:
            hint = "Use localhost, or add the host name to http_hosts."
            message = f"The host name {host!r} is not allowed for this engine."
            refusal = StatementError("NOT_AUTHORIZED", message, hint=hint)
            return error_response(refusal.report(), 403)
        if path in OPEN_PATHS or self.has_token(headers):
            return None
        hint = "Send the header `Authorization: Bearer TOKEN`; the token is in the file engine.token of the home."
        refusal = StatementError("NOT_AUTHORIZED", "The token is missing or wrong.", hint=hint)
        return error_response(refusal.report(), 401, {"WWW-Authenticate": "Bearer"})

    def has_token(self, headers: Headers) -> bool:
        """Return whether a request with these headers has the token."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        return scheme.casefold() == "bearer" and hmac.compare_digest(token.strip().encode(), self._token)


def _unclear_length(headers: Headers) -> Response | None:
    """Return the refusal of a request with two lengths, otherwise None.

    A proxy that uses the other length would read another request from the body (request smuggling).
    """
    if "transfer-encoding" not in headers or "content-length" not in headers:
        return None
    message = "The request has both Content-Length and Transfer-Encoding."
    return error_response(StatementError("REQUEST_NOT_READABLE", message).report(), 400, {"Connection": "close"})


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host
