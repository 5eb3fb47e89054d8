"""Connections of HTTPS: the TLS handshake, which counts as a part of the login, and the header of strict transport.

asyncio's own TLS servers report a connection after its handshake only. Until then, nothing would limit their number.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, Protocol

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jetsql.server.auth import LOOPBACK_NAMES, without_port
from jetsql.server.server_certificate import ServerCertificate

_STRICT_TRANSPORT: Final = "max-age=31536000"  # a year
_SHUTDOWN_SECONDS: Final = 5.0


class PendingConnection(Protocol):
    """A connection that has not shown the token."""

    loop: asyncio.AbstractEventLoop
    transport: Any


class PendingConnections(Protocol):
    """The connections that have not shown the token."""

    def add(self, connection: PendingConnection) -> None:
        """Add a connection as the newest."""

    def remove(self, connection: PendingConnection) -> None:
        """Remove a connection if it is among them."""


class TlsConnection(asyncio.Protocol):
    """A connection until the end of its TLS handshake. Then its protocol of HTTP has it."""

    def __init__(
        self,
        certificate: ServerCertificate,
        make_protocol: Callable[[], asyncio.Protocol],
        pending: PendingConnections,
        opened: set[Any],
        seconds: float,
    ) -> None:
        """Create it.

        make_protocol: makes the protocol of HTTP. opened: the connections of the server, which it closes at its end.
        seconds: the time for the handshake.
        """
        self.loop = asyncio.get_running_loop()
        self.transport: Any = None
        self._certificate = certificate
        self._make_protocol = make_protocol
        self._pending = pending
        self._opened = opened
        self._seconds = seconds
        self._received: list[bytes] = []
        self._has_ended = False
        self._handshake: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.transport.pause_reading()  # `start_tls` resumes it
        self._opened.add(self)
        self._pending.add(self)
        self._handshake = self.loop.create_task(self._begin())

    def data_received(self, data: bytes) -> None:
        """Keep what a client has sent together with the end of the handshake."""
        self._received.append(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._has_ended = True
        self._leave()

    def shutdown(self) -> None:
        """Close the connection, because the server ends."""
        self.transport.abort()

    async def _begin(self) -> None:
        try:
            encrypted = await self.loop.start_tls(
                self.transport,
                self,
                self._certificate.context(),
                server_side=True,
                ssl_handshake_timeout=self._seconds,
                ssl_shutdown_timeout=_SHUTDOWN_SECONDS,
            )
        except OSError:  # the client sends no TLS, does not trust the certificate, or has gone
            encrypted = None
        finally:
            self._leave()
        if encrypted is None or self._has_ended:
            self.transport.abort()
            return
        protocol = self._make_protocol()
        encrypted.set_protocol(protocol)
        protocol.connection_made(encrypted)
        for data in self._received:
            protocol.data_received(data)

    def _leave(self) -> None:
        self._opened.discard(self)
        self._pending.remove(self)


def with_strict_transport(app: ASGIApp) -> ASGIApp:
    """Return the application with the header that keeps browsers from HTTP, in each response to a host by its name.

    The name `localhost` belongs to all programs of a machine, so the header is not sent for it.
    """

    async def strict(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_header(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["Strict-Transport-Security"] = _STRICT_TRANSPORT
            await send(message)

        is_loopback = scope["type"] != "http" or without_port(Headers(scope=scope).get("host", "")) in LOOPBACK_NAMES
        await app(scope, receive, send if is_loopback else send_with_header)

    return strict
