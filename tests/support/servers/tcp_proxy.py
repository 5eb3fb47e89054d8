"""A TCP proxy that cuts connections, so that a client loses an answer that the server has sent, or is slow."""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from enum import Enum
from threading import Thread


class Cut(Enum):
    """The moment at which the proxy cuts a connection."""

    BEFORE = "before the request reaches the server"
    AFTER = "before the answer reaches the client"


class TcpProxy:
    """A proxy on loopback for a port on loopback."""

    def __init__(self, port: int) -> None:
        self._server_port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._armed: tuple[bytes, Cut] | None = None
        self._clients: list[socket.socket] = []
        self.cuts = 0
        self.delay_seconds = 0.0
        """The time before a request is sent to the server."""
        self._threads = [Thread(target=self._accept)]
        self._threads[0].start()

    def cut_at(self, request: bytes, moment: Cut) -> None:
        """Cut the next connection with a request that has these bytes."""
        self._armed = request, moment

    def cut_clients(self) -> None:
        """Cut the connections of all clients, whose requests the server executes to the end. They can connect again."""
        for client in self._clients:
            _end(client, socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the port, and wait for the end of all connections, which client or server close."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(20)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._clients.append(client)
                thread = Thread(target=self._serve, args=(client,))
                self._threads.append(thread)
                thread.start()

    def _serve(self, client: socket.socket) -> None:
        with (
            suppress(ConnectionRefusedError),
            client,
            socket.create_connection(("127.0.0.1", self._server_port)) as server,
        ):
            answers = Thread(target=_pump, args=(server, client))
            answers.start()
            self._forward(client, server)
            answers.join(20)

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                time.sleep(self.delay_seconds)
                if self._armed is not None and self._armed[0] in data:
                    _, moment = self._armed
                    self._armed, self.cuts = None, self.cuts + 1
                    _end(client, socket.SHUT_RDWR)
                    if moment is Cut.AFTER:
                        server.sendall(data)  # the server executes the request, and reads the end after it
                    break
                server.sendall(data)
        _end(server, socket.SHUT_WR)


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            with suppress(OSError):  # the client is gone; the server's answers are read to the end
                target.sendall(data)
    _end(target, socket.SHUT_RDWR)


def _end(connection: socket.socket, how: int) -> None:
    with suppress(OSError):
        connection.shutdown(how)
