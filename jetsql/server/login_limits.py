"""Limits on HTTP connections that have not shown the token.

A connection is pending until the head of a request with the token has arrived, and again after the response to that. A
pending connection is closed after a deadline that no byte extends. When there are too many, the oldest are closed. This
limit is on all addresses together: a limit for each would lock out a client that shares its address with an attacker,
whereas a client that shows the token is one of the newest until it does.

uvicorn itself only limits how long a connection is silent between two requests.
"""

from __future__ import annotations

import asyncio
import resource
from typing import Any, Final

import uvicorn
from starlette.datastructures import Headers
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from jetsql.server.auth import Access
from jetsql.settings import EndpointSettings

# The common soft limit of 1,024 is too low for 256 statements, which take a connection and one to Spark each.
_FILES: Final = 8192


def http_config(app: ASGIApp, access: Access, settings: EndpointSettings, connections_most: int) -> uvicorn.Config:
    """Return how uvicorn serves the application. connections_most: more connections than these get status 503."""
    # Pending connections must never be what makes uvicorn refuse requests.
    pending = _Pending(min(settings.logins_most, connections_most // 4))

    def protocol(*arguments: Any, **named: Any) -> asyncio.Protocol:
        return _Connection(access, pending, settings.login_seconds, *arguments, **named)

    return uvicorn.Config(
        app,
        http=protocol,  # type: ignore[arg-type]  # uvicorn only calls it
        ws="none",
        log_config=None,
        access_log=False,
        lifespan="off",
        limit_concurrency=connections_most,
        timeout_graceful_shutdown=5,
    )


def raise_file_limit() -> int:
    """Let this process open more files, and return how many connections leave enough of them for everything else."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted // 2
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted // 2


class _Pending:
    """The connections that have not shown the token, oldest first. Used by the event loop's thread alone."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._connections: dict[_Connection, None] = {}
        self._sweeping = False

    def add(self, connection: _Connection) -> None:
        """Count a connection as the newest, and have the oldest closed when there are too many."""
        self.remove(connection)
        self._connections[connection] = None
        if len(self._connections) > self._most and not self._sweeping:
            self._sweeping = True
            # Two rounds later, the loop has read what connections sent that it accepted in this round.
            connection.loop.call_soon(connection.loop.call_soon, self._sweep)

    def remove(self, connection: _Connection) -> None:
        self._connections.pop(connection, None)

    def _sweep(self) -> None:
        self._sweeping = False
        for oldest in list(self._connections)[: -self._most]:
            self.remove(oldest)
            oldest.transport.abort()


class _Connection(H11Protocol):
    """uvicorn's connection with a deadline for each request."""

    def __init__(self, access: Access, pending: _Pending, seconds: float, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._access = access
        self._pending = pending
        self._seconds = seconds
        self._deadline: asyncio.TimerHandle | None = None
        self._admitted = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._await_token()

    def connection_lost(self, exc: Exception | None) -> None:
        self._pending.remove(self)
        self._set_deadline(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._admitted:
            self._await_body()

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before and self._access.has_token(Headers(raw=self.headers)):
            self._admitted = True
            self._pending.remove(self)
            self._await_body()

    def on_response_complete(self) -> None:
        if self._admitted:
            self._await_token()
        super().on_response_complete()  # which may begin with the next request

    def _await_token(self) -> None:
        self._admitted = False
        self._pending.add(self)
        self._set_deadline(self._seconds)

    def _await_body(self) -> None:
        """The client has shown the token: its body may be slow, but not silent. Its statement has no deadline."""
        self._set_deadline(self._seconds if self.cycle.more_body else None)

    def _set_deadline(self, seconds: float | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        # `close` would wait for a client that does not read its response.
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self.transport.abort)
