"""Limits on HTTP connections, above all on those that have not shown the token.

A connection is pending until the head of a request with the token has arrived, and again after the response to it; the
session of a browser at the web console is as good as the token. A
pending connection is closed after a deadline, which bytes that arrive do not extend. When too many connections are
pending, the oldest are closed. This limit applies to all addresses together: a limit for each address would lock out a
client that shares its address with an attacker, whereas a client that shows the token is among the newest until then.

A client that stops to read a response keeps a thread of its statement, and a part of the result on the disk. So such
connections are closed, too: after `session_idle_seconds`, and the oldest if there are too many.

uvicorn itself only limits how long a connection is silent between two requests.
"""

from __future__ import annotations

import asyncio
import resource
from typing import Any, Final

import uvicorn
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from jetsql.errors import EngineError
from jetsql.server.auth import TokenAuth
from jetsql.server.server_certificate import ServerCertificate
from jetsql.server.statement_response import error_response
from jetsql.server.tls_connections import PendingConnection, TlsConnection, with_strict_transport
from jetsql.settings.engine_settings import EndpointSettings

# The common soft limit of 1,024 is too low for 256 statements, each with an HTTP connection and a connection to Spark.
_OPEN_FILES: Final = 8192

UNREAD_MOST: Final = 128
"""The limit of connections whose clients do not read: half of the threads of statements are left for the others."""

_RETRY_SECONDS: Final = 10
"""The `Retry-After` of a request that is refused because there are too many connections."""


def http_config(
    app: ASGIApp,
    access: TokenAuth,
    settings: EndpointSettings,
    connections_most: int,
    certificate: ServerCertificate | None = None,
) -> uvicorn.Config:
    """Return the configuration of uvicorn for the application.

    connections_most: the limit of connections; when it is reached, requests are refused with status 503.
    certificate: for HTTPS; None for HTTP.
    """
    # Pending connections alone must never reach the limit of connections.
    pending = _Pending(min(settings.logins_most, connections_most // 4))

    unread = _Unread(settings.session_idle_seconds)

    def plain(*arguments: Any, **named: Any) -> asyncio.Protocol:
        return _Connection(access, pending, unread, settings.login_seconds, connections_most, *arguments, **named)

    def protocol(*arguments: Any, **named: Any) -> asyncio.Protocol:
        if certificate is None:
            return plain(*arguments, **named)
        opened = named["server_state"].connections
        return TlsConnection(certificate, lambda: plain(*arguments, **named), pending, opened, settings.login_seconds)

    return uvicorn.Config(
        app if certificate is None else with_strict_transport(app),
        http=protocol,  # type: ignore[arg-type]  # uvicorn only calls it
        ws="none",
        log_config=None,
        access_log=False,
        lifespan="off",
        limit_concurrency=None,  # `_Connection` limits it, because uvicorn's response is not the endpoint's JSON error
        timeout_graceful_shutdown=5,
    )


def raise_file_limit() -> int:
    """Raise the limit of open files of this process, and return half of it as the limit of connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted // 2
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted // 2


def _too_many_connections(limit: int) -> Response:
    message = f"The engine refused the request: it has {limit} HTTP connections, which is the limit."
    refusal = EngineError("ENGINE_NOT_REACHABLE", message, hint="Close connections, or try again later.")
    return error_response(refusal.report(), 503, {"Retry-After": str(_RETRY_SECONDS), "Connection": "close"})


class _Pending:
    """The connections that have not shown the token, oldest first. Only the event loop's thread uses them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._connections: dict[PendingConnection, None] = {}
        self._sweeping = False

    def add(self, connection: PendingConnection) -> None:
        """Add a connection as the newest, and schedule closing the oldest if there are too many."""
        self.remove(connection)
        self._connections[connection] = None
        if len(self._connections) > self._most and not self._sweeping:
            self._sweeping = True
            # Two rounds later, the loop has read the first bytes of the connections that it accepted in this round.
            connection.loop.call_soon(connection.loop.call_soon, self._sweep)

    def remove(self, connection: PendingConnection) -> None:
        self._connections.pop(connection, None)

    def _sweep(self) -> None:
        self._sweeping = False
        for oldest in list(self._connections)[: -self._most]:
            self.remove(oldest)
            oldest.transport.abort()


class _Unread:
    """The connections whose clients do not read, oldest first. Only the event loop's thread uses them."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._deadlines: dict[_Connection, asyncio.TimerHandle] = {}

    def add(self, connection: _Connection) -> None:
        """Add a connection with a full buffer, and close the oldest if there are too many."""
        self.remove(connection)
        self._deadlines[connection] = connection.loop.call_later(self._seconds, connection.transport.abort)
        if len(self._deadlines) > UNREAD_MOST:
            oldest = next(iter(self._deadlines))
            self.remove(oldest)
            oldest.transport.abort()

    def remove(self, connection: _Connection) -> None:
        deadline = self._deadlines.pop(connection, None)
        if deadline is not None:
            deadline.cancel()


class _Connection(H11Protocol):
    """uvicorn's connection with a deadline for each request, and with a limit of connections."""

    def __init__(
        self,
        access: TokenAuth,
        pending: _Pending,
        unread: _Unread,
        seconds: float,
        connections_most: int,
        *arguments: Any,
        **named: Any,
    ) -> None:
        super().__init__(*arguments, **named)
        self._app: ASGIApp = self.app
        self.app = self._serve
        self._connections_most = connections_most
        self._access = access
        self._pending = pending
        self._unread = unread
        self._seconds = seconds
        self._deadline: asyncio.TimerHandle | None = None

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application, or refuse the request if the limit of connections is reached."""
        full = len(self.connections) >= self._connections_most
        if not full and not self._admitted:
            await self._admit_after_check(Headers(scope=scope))
        await (_too_many_connections(self._connections_most) if full else self._app)(scope, receive, send)

    async def _admit_after_check(self, headers: Headers) -> None:
        """Admit a request whose token was not known when its head arrived, as one of an issuer outside of JetSQL."""
        cycle = self.cycle
        await self._access.check_request(headers)
        if self.cycle is cycle and not self._admitted and self._access.is_known(headers):
            self._admit()

    def _admit(self) -> None:
        self._admitted = True
        self._pending.remove(self)
        self._await_body()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._await_token()

    def connection_lost(self, exc: Exception | None) -> None:
        self._pending.remove(self)
        self._unread.remove(self)
        self._set_deadline(None)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread.add(self)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread.remove(self)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._admitted:
            self._await_body()

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before and self._access.is_known(Headers(raw=self.headers)):
            self._admit()

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing: any program could fill the log with requests for a WebSocket, which get status 404 or 401."""

    def on_response_complete(self) -> None:
        if self._admitted:
            self._await_token()
        super().on_response_complete()  # which may begin with the next request

    def _await_token(self) -> None:
        self._admitted = False
        self._pending.add(self)
        self._set_deadline(self._seconds)

    def _await_body(self) -> None:
        """Set the deadline for the next bytes of a body, which may be slow but not silent. A statement has none."""
        self._set_deadline(self._seconds if self.cycle.more_body else None)

    def _set_deadline(self, seconds: float | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        # Abort, because `close` would wait for a client that does not read its response.
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self.transport.abort)
