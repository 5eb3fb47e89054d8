"""Clients without the token that keep connections open."""

from __future__ import annotations

import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

CLOSED_SECONDS = 60.0
_RETRY_SECONDS = 0.5
FILES = 8192


@contextmanager
def half_open(port: int, count: int, *beginnings: bytes) -> Iterator[list[socket.socket]]:
    """Open connections, oldest first. Each sends the next of the beginnings, in turn, and then nothing."""
    _allow_files()
    with ExitStack() as stack:
        opened = []
        for number in range(count):
            connection = stack.enter_context(connect(port))
            with suppress(OSError):  # closed already, when the endpoint limits them
                connection.sendall(beginnings[number % len(beginnings)] if beginnings else b"")
            opened.append(connection)
        yield opened


def connect(port: int) -> socket.socket:
    """Connect. The system itself asks an endpoint that accepts slowly again after 1, 2, 4, 8 and 16 s."""
    deadline = time.monotonic() + CLOSED_SECONDS
    while True:
        try:
            connection = socket.create_connection(("127.0.0.1", port), timeout=_RETRY_SECONDS)
        except TimeoutError:
            if time.monotonic() > deadline:
                raise
            continue
        connection.settimeout(CLOSED_SECONDS)
        return connection


def is_closed(connection: socket.socket) -> bool:
    """Wait until the endpoint closes the connection, and ignore the bytes before that. Raises TimeoutError."""
    with suppress(ConnectionError):  # a reset closes the connection as well
        while connection.recv(65536):
            pass
    return True


def _allow_files() -> None:
    """Raise the limit of open files for so many connections, and for their other ends if they are in this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < FILES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, hard))
