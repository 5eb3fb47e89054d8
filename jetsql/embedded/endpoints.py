"""The endpoints of an engine other than HTTP: checks, opening and addresses.

A port that is in use is reported before Spark starts, which takes seconds. Another process can take the port meanwhile,
so opening the endpoint reports the same error.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jetsql.engine.spark.spark_endpoints import EndpointPlan, cannot_open, open_connect, open_thrift, read_certificate
from jetsql.engine.spark.startup import Session
from jetsql.errors import EngineError
from jetsql.loopback import is_loopback
from jetsql.server.auth import without_port
from jetsql.settings.engine_settings import EndpointSettings

_LOOPBACK: Final = ("127.0.0.1", "::1", "0.0.0.0", "::")
_EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}
# These variables override the settings of the Thrift server.
_OVERRIDES: Final = ("HIVE_SERVER2_THRIFT_BIND_HOST", "HIVE_SERVER2_THRIFT_PORT")


@dataclass(frozen=True)
class Addresses:
    """The addresses of the endpoints for clients; empty for one that is not open."""

    connect: str = ""
    thrift: str = ""


def listen(host: str, port: int, endpoint: str, setting: str) -> socket.socket:
    """Return a listening socket. Raises EngineError ENGINE_NOT_STARTED, which names the settings of the endpoint."""
    with ExitStack() as undo:
        try:
            family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
            # An explicit protocol: asyncio sends small responses without delay only if it knows that it is TCP.
            listening = undo.enter_context(socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP))
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            _keep_alive(listening)
            listening.bind((host, port))
            listening.listen(128)
        except OSError as error:
            raise cannot_open(endpoint, setting, host, port, error.strerror or str(error)) from error
        undo.pop_all()
        return listening


def _keep_alive(listening: socket.socket) -> None:
    """Detect clients whose machine is lost within about a minute, even if nothing is sent.

    Otherwise a streaming select without rows would never end. Connections inherit this from the listening socket.
    """
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):  # macOS lacks the first one before Python 3.13, and uses two hours
            listening.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def check_ports(settings: EndpointSettings) -> None:
    """Raise EngineError ENGINE_NOT_STARTED for endpoints that could not be opened."""
    if settings.connect:
        listen(settings.connect_host, settings.connect_port, "Spark Connect", "connect").close()
    if not settings.thrift:
        return
    listen(settings.thrift_host, settings.thrift_port, "The Thrift endpoint", "thrift").close()
    overrides = [name for name in _OVERRIDES if os.environ.get(name)]
    if overrides:
        raise EngineError(
            "ENGINE_NOT_STARTED",
            f"{' and '.join(overrides)} in the environment would override the settings of the Thrift endpoint.",
            hint="Unset it, and use the settings thrift_host and thrift_port.",
        )


@contextmanager
def open_endpoints(spark: Session, home: Path, settings: EndpointSettings) -> Iterator[Addresses]:
    """Open the endpoints of the settings inside the context. Raises EngineError ENGINE_NOT_STARTED."""
    connect = thrift = ""
    limits = (settings.session_idle_seconds, settings.login_seconds, settings.logins_most)
    certificate, key = settings.tls_cert, settings.tls_key
    with ExitStack() as stack:
        tls = None
        if certificate is not None and key is not None and (settings.connect or settings.thrift):
            tls = read_certificate(spark, certificate, key)
        if settings.connect:
            plan = EndpointPlan(settings.connect_host, settings.connect_port, *limits, tls)
            endpoint = open_connect(spark, plan)
            stack.callback(endpoint.close)
            connect = connect_address(settings.connect_host, endpoint.port, tls_name(settings, settings.connect_host))
        if settings.thrift:
            plan = EndpointPlan(settings.thrift_host, settings.thrift_port, *limits, tls)
            endpoint = open_thrift(spark, plan, home / "thrift")
            stack.callback(endpoint.close)
            thrift = thrift_address(settings.thrift_host, endpoint.port, tls_name(settings, settings.thrift_host))
        yield Addresses(connect, thrift)


def tls_name(settings: EndpointSettings, host: str) -> str:
    """Return the name under which clients check the certificate of an endpoint; empty without TLS."""
    if not settings.uses_tls:
        return ""
    if is_loopback(host) or not settings.http_hosts:
        return "localhost" if host in _LOOPBACK else url_host(host)
    return without_port(settings.http_hosts[0])


def connect_address(host: str, port: int, tls_name: str = "") -> str:
    """Return the URL of Spark Connect. Its clients send a token without TLS only to the name `localhost`."""
    if tls_name:
        return f"sc://{tls_name}:{port}/;use_ssl=true"
    return f"sc://{'localhost' if host in _LOOPBACK else url_host(host)}:{port}"


def thrift_address(host: str, port: int, tls_name: str = "") -> str:
    """Return the JDBC URL of the Thrift endpoint."""
    if tls_name:
        return f"jdbc:hive2://{tls_name}:{port}/;ssl=true"
    return f"jdbc:hive2://{url_host(host)}:{port}"


def url_host(host: str) -> str:
    """Return a host in the form of URLs; the loopback address for a wildcard address."""
    host = _EVERYWHERE.get(host, host)
    return f"[{host}]" if ":" in host else host
