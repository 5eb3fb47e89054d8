"""A schema registry for tests, with the part of Confluent's API that JetSQL uses, and with faults."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

USER_INFO = "ann:s3cr3t-of-registry"


class Registry:
    """Subjects with their versions. A test sets the faults."""

    def __init__(self) -> None:
        self.schemas: dict[int, str] = {}
        self.subjects: dict[str, list[int]] = {}
        self.requests: list[str] = []
        self.status = 0  # the status of all answers; 0 for none in particular
        self.user_info = ""  # the user and password to require
        self.refusal = ""  # the reason to refuse new versions
        self.url = ""

    def add(self, subject: str, schema: dict[str, Any] | str) -> int:
        """Register a schema as the newest version of a subject and return its id."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        id_ = next((id_ for id_, known in self.schemas.items() if known == text), len(self.schemas) + 1)
        self.schemas[id_] = text
        versions = self.subjects.setdefault(subject, [])
        if id_ not in versions:
            versions.append(id_)
        return id_

    def answer(self, path: str, body: dict[str, Any] | None, authorization: str | None) -> tuple[int, dict[str, Any]]:
        """Return the status and the JSON for a request."""
        self.requests.append(path)
        if self.status:
            return self.status, {"message": "out of order"}
        if self.user_info and authorization != f"Basic {base64.b64encode(self.user_info.encode()).decode()}":
            return 401, {"message": "Unauthorized"}
        match [unquote(part) for part in path.partition("?")[0].strip("/").split("/")]:
            case ["schemas", "ids", id_] if int(id_) in self.schemas:
                return 200, {"schema": self.schemas[int(id_)]}
            case ["subjects", subject, "versions"] if body is not None:
                if self.refusal:
                    return 409, {"error_code": 409, "message": self.refusal}
                return 200, {"id": self.add(subject, body["schema"])}
            case ["subjects", subject, "versions", version] if subject in self.subjects:
                versions = self.subjects[subject]
                number = len(versions) if version == "latest" else int(version)
                if number <= len(versions):
                    found = versions[number - 1]
                    return 200, {"subject": subject, "version": number, "id": found, "schema": self.schemas[found]}
            case ["config", *_]:
                return 200, {"compatibilityLevel": "BACKWARD"}
        return 404, {"error_code": 40403, "message": "not found"}


@contextmanager
def running_registry() -> Iterator[Registry]:
    """Serve a registry without subjects."""
    registry = Registry()

    class Handler(BaseHTTPRequestHandler):
        def _respond(self, body: dict[str, Any] | None) -> None:
            status, answer = registry.answer(self.path, body, self.headers.get("Authorization"))
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self) -> None:
            self._respond(None)

        def do_POST(self) -> None:
            self._respond(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        registry.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield registry
        finally:
            server.shutdown()
            thread.join(30)
