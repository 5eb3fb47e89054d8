"""uvicorn in an engine's process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from jetsql.server.auth import TokenAuth
from jetsql.server.login_limits import http_config, raise_file_limit
from jetsql.server.server_certificate import ServerCertificate
from jetsql.settings.engine_settings import EndpointSettings


class Server(uvicorn.Server):
    """A server without signal handlers: the process handles signals, also before the server exists."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def create_server(
    app: ASGIApp, access: TokenAuth, settings: EndpointSettings, certificate: ServerCertificate | None
) -> Server:
    """Return a server of an application with the limits of the settings. certificate: None for HTTP without TLS."""
    return Server(http_config(app, access, settings, raise_file_limit(), certificate))
