"""A TCP proxy on loopback that records what clients send."""

from __future__ import annotations

import re
import socket
from contextlib import suppress
from threading import Thread


class RecordingProxy:
    """A proxy for a port on loopback."""

    def __init__(self, port: int) -> None:
        self._server_port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._sent = bytearray()
        Thread(target=self._accept, daemon=True).start()

    def take_sent(self) -> bytes:
        """Return what clients have sent since the last call."""
        sent = bytes(self._sent)
        self._sent.clear()
        return sent

    def take_logins(self) -> set[str]:
        """Return the ids of the access keys of S3 in the requests since the last call."""
        return {found.decode() for found in re.findall(rb"Credential=([^/]+)/", self.take_sent())}

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self._server_port)) as server:
            back = Thread(target=self._copy, args=(server, client, bytearray()), daemon=True)
            back.start()
            self._copy(client, server, self._sent)
            back.join()

    @staticmethod
    def _copy(source: socket.socket, target: socket.socket, record: bytearray) -> None:
        with suppress(OSError):
            while chunk := source.recv(65536):
                record += chunk
                target.sendall(chunk)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)
