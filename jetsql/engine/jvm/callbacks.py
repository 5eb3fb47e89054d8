"""Authenticate Py4J's callback server, through which Java calls Python functions.

PySpark sets a token for Java's gateway but none for the callback server, so every process of the machine could call the
objects that Python passes to Java. Py4J can authenticate the callback server, too: the Python side takes the token as a
parameter, and the Java client only as a private field (`copyWith` in Py4J's Java drops the token).

A Unix socket would need no token, but Py4J's Java side connects through `java.net.Socket`, which supports none.
"""

from __future__ import annotations

import logging
import secrets
import threading
from time import monotonic
from typing import Any, Final

import pyspark.java_gateway
from py4j.java_gateway import JavaObject, quiet_shutdown
from py4j.protocol import Py4JAuthenticationError

from jetsql.engine.jvm.callback_logins import limit_logins
from jetsql.errors import EngineError

_TOKEN_BYTES: Final = 32
_starting = threading.Lock()


def start_callback_server(gateway: Any) -> None:
    """Start the callback server of a gateway with a token, or set the token of a running server.

    A second call does nothing. Raises EngineError ENGINE_NOT_STARTED while streaming queries run that a new token could
    interrupt.
    """
    launcher: Any = pyspark.java_gateway
    parameters = gateway.callback_server_parameters
    with _starting:
        # Read __dict__: for a missing attribute, a gateway returns a Java package.
        running = gateway.__dict__.get("_callback_server")
        if running is not None and parameters.auth_token is not None:
            return
        if running is not None:
            _check_idle(gateway)
        parameters.auth_token = secrets.token_urlsafe(_TOKEN_BYTES)  # new connections need it from now on
        if running is None:
            launcher.ensure_callback_server_started(gateway)
        else:
            _end_connections(gateway, running)
        _set_java_token(gateway, parameters.auth_token)
        limit_logins(gateway._callback_server)


def _end_connections(gateway: Any, running: Any) -> None:
    """Close the connections to a server that had no token: any user of the machine may have opened them."""
    java = JavaObject("GATEWAY_SERVER", gateway._gateway_client)
    java.resetCallbackClient(java.getCallbackClient().getAddress(), running.port)
    with running.lock:
        for connection in list(running.connections):
            quiet_shutdown(connection.socket)


def _check_idle(gateway: Any) -> None:
    session = gateway.jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession()
    running = session.get().sharedState().activeStreamingQueries().size() if session.isDefined() else 0
    if running:
        raise EngineError(
            "ENGINE_NOT_STARTED",
            "Every user of the machine can use the port through which Java calls Python in this session. JetSQL has to"
            f" protect it with a token, which could interrupt the session's streaming queries ({running} running).",
            hint="Call jetsql.enable(spark) before the first streaming query, or stop all queries and call it again.",
        )


def _set_java_token(gateway: Any, token: str) -> None:
    client: Any = JavaObject("GATEWAY_SERVER", gateway._gateway_client).getCallbackClient()
    kind = client.getClass()
    while str(kind.getName()) != "py4j.CallbackClient":
        kind = kind.getSuperclass()
    field = kind.getDeclaredField("authToken")
    field.setAccessible(True)
    field.set(client, token)


class RefusedConnections(logging.Filter):
    """Limit the log of connections to Py4J's port without its token to one line a minute: strangers could fill it."""

    _SECONDS: Final = 60.0

    def __init__(self) -> None:
        super().__init__()
        self._count = 0
        self._next = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        if not record.exc_info or not isinstance(record.exc_info[1], Py4JAuthenticationError):
            return True
        self._count += 1
        if monotonic() < self._next:
            return False
        record.msg, record.args = "Connections to Py4J without its token were refused: %d", (self._count,)
        record.exc_info = record.exc_text = None
        self._count, self._next = 0, monotonic() + self._SECONDS
        return True
