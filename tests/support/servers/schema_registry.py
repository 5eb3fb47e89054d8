"""A schema registry for tests, with the part of Confluent's API that JetSQL uses, and with faults."""

from __future__ import annotations

import base64
import json
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

USER_INFO = "ann:s3cr3t-of-registry"


class Registry:
    """Subjects with their versions. A test sets the faults."""

    def __init__(self) -> None:
        self.schemas: dict[int, str] = {}  # of Protobuf: the descriptors of a file in Base64
        self.types: dict[int, str] = {}
        self.references: dict[int, list[dict[str, Any]]] = {}
        self.subjects: dict[str, list[int]] = {}
        self.requests: list[str] = []
        self.status = 0  # the status of all answers; 0 for none in particular
        self.user_info = ""  # the user and password to require
        self.refusal = ""  # the reason to refuse new versions
        self.has_descriptors = True  # whether `?format=serialized` returns Protobuf schemas as descriptors
        self.holds = ""  # `before` or `after`: a registration stops there, sets `held`, and is never answered
        self.is_stalled = False  # whether a response stops after its head, until `released`
        self.held = threading.Event()
        self.released = threading.Event()  # ends the registration that is held
        self.url = ""

    def add(
        self,
        subject: str,
        schema: dict[str, Any] | str,
        schema_type: str = "AVRO",
        references: list[dict[str, Any]] | None = None,
    ) -> int:
        """Register a schema as the newest version of a subject and return its id."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        id_ = next((id_ for id_, known in self.schemas.items() if known == text), len(self.schemas) + 1)
        self.schemas[id_] = text
        self.types[id_] = schema_type
        self.references[id_] = references or []
        versions = self.subjects.setdefault(subject, [])
        if id_ not in versions:
            versions.append(id_)
        return id_

    def add_file(self, subject: str, file: Any, **references: int) -> int:
        """Register a Protobuf file. references: the versions of subjects that have the names of imported files."""
        named = [{"name": name, "subject": name, "version": version} for name, version in references.items()]
        return self.add(subject, base64.b64encode(file.SerializeToString()).decode(), "PROTOBUF", named)

    def _found(self, id_: int, query: str) -> dict[str, Any]:
        """Return a schema as the registry answers it; the type AVRO goes without saying."""
        type_ = self.types[id_]
        is_text = type_ == "PROTOBUF" and not (self.has_descriptors and query == "format=serialized")
        found: dict[str, Any] = {"schema": 'syntax = "proto3"; // the source' if is_text else self.schemas[id_]}
        if type_ != "AVRO":
            found["schemaType"] = type_
        if self.references[id_]:
            found["references"] = self.references[id_]
        return found

    def _hold(self, moment: str) -> None:
        if self.holds == moment:
            self.held.set()
            self.released.wait(60)
            raise ConnectionAbortedError

    def answer(self, path: str, body: dict[str, Any] | None, authorization: str | None) -> tuple[int, dict[str, Any]]:
        """Return the status and the JSON for a request."""
        self.requests.append(path)
        if self.status:
            return self.status, {"message": "out of order"}
        if self.user_info and authorization != f"Basic {base64.b64encode(self.user_info.encode()).decode()}":
            return 401, {"message": "Unauthorized"}
        place, _, query = path.partition("?")
        match [unquote(part) for part in place.strip("/").split("/")]:
            case ["schemas", "ids", id_] if int(id_) in self.schemas:
                return 200, self._found(int(id_), query)
            case ["subjects", subject, "versions"] if body is not None:
                if self.refusal:
                    return 409, {"error_code": 409, "message": self.refusal}
                self._hold("before")
                added = self.add(subject, body["schema"], body.get("schemaType", "AVRO"), body.get("references"))
                self._hold("after")
                return 200, {"id": added}
            case ["subjects", subject, "versions", version] if subject in self.subjects:
                versions = self.subjects[subject]
                number = len(versions) if version == "latest" else int(version)
                if number <= len(versions):
                    found = versions[number - 1]
                    return 200, {"subject": subject, "version": number, "id": found} | self._found(found, query)
            case ["config", *_]:
                return 200, {"compatibilityLevel": "BACKWARD"}
        return 404, {"error_code": 40403, "message": "not found"}


def create_certificates(folder: Path) -> ssl.SSLContext:
    """Create an authority, `ca.pem`, and a certificate for 127.0.0.1; return the context of a server that has it."""
    request = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2")
    authority = ("-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem")
    signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-addext", "subjectAltName=IP:127.0.0.1")
    server = ("-subj", "/CN=registry", "-keyout", "server.key", "-out", "server.pem")
    for command in ((*request, *authority), (*request, *signed, *server, "-addext", "basicConstraints=CA:FALSE")):
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    return context


@contextmanager
def running_registry(tls: ssl.SSLContext | None = None) -> Iterator[Registry]:
    """Serve a registry without subjects. tls: the context of a server, for https."""
    registry = Registry()

    class Handler(BaseHTTPRequestHandler):
        def _respond(self, body: dict[str, Any] | None) -> None:
            try:
                status, answer = registry.answer(self.path, body, self.headers.get("Authorization"))
            except ConnectionAbortedError:
                return  # the client is dead
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if registry.is_stalled:
                self.wfile.flush()
                registry.released.wait(60)
            with suppress(ConnectionError):  # the client has closed the connection
                self.wfile.write(content)

        def do_GET(self) -> None:
            self._respond(None)

        def do_POST(self) -> None:
            self._respond(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        registry.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield registry
        finally:
            server.shutdown()
            thread.join(30)
