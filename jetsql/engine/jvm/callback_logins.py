"""Limit the connections to Py4J's callback server that have not sent its token.

Py4J keeps each of them, with a thread, for ever, and stops listening when the process may open no more files. So any
user of the machine could end the calls from Java to Python.
"""

from __future__ import annotations

import errno
import socket
import threading
import time
from typing import Any, Final

from py4j.java_gateway import quiet_shutdown

_MAX_LOGINS: Final = 256
_LOGIN_SECONDS: Final = 10.0  # both as at the other ports between Spark's processes, see `SparkLogins.java`
_PAUSE_SECONDS: Final = 0.1
_SCARCE: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.ECONNABORTED)
"""The errors of `accept` that end when other connections or files are closed."""


def limit_logins(server: Any) -> None:
    """Limit the connections to a callback server from now on."""
    server.server_socket = _LimitedListener(server.server_socket, _MAX_LOGINS, _LOGIN_SECONDS)


class _LimitedListener:
    """The listening socket of a callback server."""

    def __init__(self, listening: socket.socket, most: int, seconds: float) -> None:
        self._listening = listening
        self._most = most
        self._seconds = seconds
        self._pending: dict[_Connection, None] = {}  # oldest first
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._listening, name)

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection. Its reads end with an error unless it logs in within the time."""
        accepted, address = self._accept()
        connection = _Connection(self, accepted)
        connection.settimeout(self._seconds)
        with self._lock:
            self._pending[connection] = None
            too_old = list(self._pending)[: -self._most]
            for each in too_old:
                del self._pending[each]
        for each in too_old:
            quiet_shutdown(each)  # wakes the thread that reads from it
        return connection, address

    def _accept(self) -> tuple[socket.socket, Any]:
        while True:
            try:
                return self._listening.accept()
            except OSError as error:
                if error.errno not in _SCARCE:
                    raise
            time.sleep(_PAUSE_SECONDS)

    def end_login(self, connection: _Connection) -> None:
        with self._lock:
            self._pending.pop(connection, None)


class _Connection(socket.socket):
    """A connection whose first message to the client ends its login: a failed one closes it."""

    def __init__(self, listener: _LimitedListener, accepted: socket.socket) -> None:
        super().__init__(accepted.family, accepted.type, accepted.proto, accepted.detach())
        self._listener: _LimitedListener | None = listener

    def sendall(self, *arguments: Any) -> None:
        if self._listener is not None:
            self._listener.end_login(self)
            self._listener = None
            self.settimeout(None)
        super().sendall(*arguments)

    def close(self) -> None:
        if self._listener is not None:
            self._listener.end_login(self)
            self._listener = None
        super().close()
