"""A receiver of webhooks on loopback, which records the requests and answers as a test wants."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Thread
from typing import Any


@dataclass(frozen=True)
class Received:
    """A request."""

    path: str
    headers: dict[str, str]  # by their names in small letters
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def data(self) -> dict[str, Any]:
        """Return the facts of a message in the format of webhooks."""
        facts: dict[str, Any] = json.loads(self.body)["data"]
        return facts

    @property
    def type(self) -> str:
        return str(json.loads(self.body)["type"])


@dataclass
class Webhook:
    """A running receiver."""

    port: int = 0
    requests: list[Received] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)  # of the next answers; then 200
    before_answer: Callable[[], None] = lambda: None
    changed: Condition = field(default_factory=Condition)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def wait(self, count: int, seconds: float = 20.0) -> list[Received]:
        """Wait until so many requests have arrived, and return all."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.requests) >= count, seconds), self.requests
            return list(self.requests)

    def receive(self, request: Received) -> int:
        """Record a request, and return the status of its answer."""
        with self.changed:
            self.requests.append(request)
            status = self.statuses.pop(0) if self.statuses else 200
            self.changed.notify_all()
        self.before_answer()
        return status


@contextmanager
def run_webhook() -> Iterator[Webhook]:
    """Run a receiver on a free port."""
    webhook = Webhook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status = webhook.receive(Received(self.path, headers, self.rfile.read(length)))
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", f"http://127.0.0.1:{webhook.port}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    webhook.port = server.server_address[1]
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield webhook
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
