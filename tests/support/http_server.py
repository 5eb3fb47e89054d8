"""The HTTP door on a real socket, over any engine, in a thread of this process."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import uvicorn

from jetsql.server.app import HttpServer, ServedEngine
from jetsql.server.auth import Access
from jetsql.server.login_limits import http_config
from jetsql.settings import EndpointSettings

TOKEN = "open sesame"


@dataclass(frozen=True)
class Server:
    """A door that answers. stop_asked: set when a client wanted the engine to end."""

    url: str
    door: HttpServer
    stop_asked: threading.Event


@contextmanager
def serving(
    engine: ServedEngine,
    idle_seconds: float = 60.0,
    sessions_most: int = 100,
    settings: EndpointSettings = EndpointSettings(),  # noqa: B008  # it is frozen
) -> Iterator[Server]:
    stop_asked = threading.Event()
    access = Access(TOKEN)
    door = HttpServer(engine, access, stop_asked.set, idle_seconds, sessions_most)
    server = uvicorn.Server(http_config(door.app, access, settings, connections_most=4096))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield Server(f"http://127.0.0.1:{listening.getsockname()[1]}", door, stop_asked)
        finally:
            door.running.cancel_all()
            server.should_exit = True
            thread.join(30)
            door.close()
    assert not thread.is_alive()
