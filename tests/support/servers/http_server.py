"""Serve an engine over the HTTP endpoint on a real socket, in a thread of this process."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import uvicorn

from jetsql.jobs.access.logins import IssuerTokens
from jetsql.server.app import HttpServer, ServedEngine
from jetsql.server.auth import TokenAuth
from jetsql.server.login_limits import http_config
from jetsql.server.server_certificate import ServerCertificate
from jetsql.settings.engine_settings import EndpointSettings

TOKEN = "open sesame"


@dataclass(frozen=True)
class RunningServer:
    """A running server."""

    url: str
    http_server: HttpServer
    stop_requested: threading.Event  # set when a client requested the stop of the engine


@contextmanager
def run_server(
    engine: ServedEngine,
    idle_seconds: float = 60.0,
    sessions_most: int = 100,
    settings: EndpointSettings = EndpointSettings(),  # noqa: B008  # it is frozen
    connections_most: int = 4096,
    console: Callable[[HttpServer, TokenAuth], object] = lambda http_server, access: None,
    port: int = 0,
    certificate: ServerCertificate | None = None,
    issuer: IssuerTokens | None = None,
) -> Iterator[RunningServer]:
    """Serve an engine. console: mounts a console on the server. port: 0 for a free one. certificate: for HTTPS.

    issuer: whose JWTs are accepted.
    """
    stop_requested = threading.Event()
    access = TokenAuth(TOKEN, accounts=getattr(engine, "accounts", None), issuer=issuer, audit=engine.audit)
    http_server = HttpServer(engine, access, stop_requested.set, idle_seconds, sessions_most)
    console(http_server, access)
    server = uvicorn.Server(http_config(http_server.app, access, settings, connections_most, certificate))
    with socket.create_server(("127.0.0.1", port)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            scheme = "http" if certificate is None else "https"
            yield RunningServer(f"{scheme}://127.0.0.1:{listener.getsockname()[1]}", http_server, stop_requested)
        finally:
            http_server.cancel_running()
            server.should_exit = True
            thread.join(30)
            http_server.close()
    assert not thread.is_alive()
