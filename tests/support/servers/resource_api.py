"""An API server of Kubernetes for custom resources, as a controller needs it: lists, watches and merge patches."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.servers.kubernetes_api import NAMESPACE, merge, write_account

_PATH = re.compile(rf"/apis/jetsql\.io/v1alpha1/namespaces/{NAMESPACE}/(\w+)(?:/([a-z0-9.-]+))?(?:/(status))?")
_SECONDS = 20.0
Body = dict[str, Any]


@dataclass(frozen=True)
class Refusal(Exception):
    status: int
    message: str


class ResourceApi:
    """The resources, and what clients have done with them. Tests call its methods as `kubectl` would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        """The folder of the service account of a pod."""
        self.port = 0
        self.patches: list[tuple[str, Body]] = []
        """The path and the body of each change by a client."""
        self.requests: list[str] = []
        self.refusal: Refusal | None = None
        """The answer to all requests; None to answer them."""
        self.page = 3
        """The limit of resources in an answer."""
        self.first_version = 0
        """The oldest version from which a watch can begin."""
        self.conflicts = 0
        """So many of the next changes to `metadata` meet one by another client."""
        self.created = "2026-01-01T00:00:00Z"
        """The time at which new resources are created, by the clock of the server."""
        self._version = 100
        self._objects: dict[tuple[str, str], Body] = {}
        self._events: list[tuple[int, str, str, Body]] = []
        self._connections = 0
        self._changed = threading.Condition()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    # --- as kubectl ---------------------------------------------------------------------------------------------------

    def create(self, kind: str, name: str, /, **spec: Any) -> None:
        with self._changed:
            metadata = {"name": name, "namespace": NAMESPACE, "generation": 1, "uid": f"{name}-{self._version}"}
            metadata |= {"creationTimestamp": self.created}
            self._objects[kind, name] = {"metadata": metadata, "spec": spec}
            self._note("ADDED", kind, name)

    def change(self, kind: str, name: str, /, **spec: Any) -> None:
        with self._changed:
            found = self._objects[kind, name]
            found["spec"] |= spec
            found["metadata"]["generation"] += 1
            self._note("MODIFIED", kind, name)

    def delete(self, kind: str, name: str) -> None:
        with self._changed:
            found = self._objects[kind, name]
            if found["metadata"].get("finalizers"):
                found["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
                found["metadata"]["generation"] += 1
                self._note("MODIFIED", kind, name)
            else:
                self._note("DELETED", kind, name)

    def write_status(self, kind: str, name: str, status: Body) -> None:
        """Write a status, as another engine does."""
        with self._changed:
            self._objects[kind, name]["status"] = status
            self._note("MODIFIED", kind, name)

    def remove(self, kind: str, name: str) -> None:
        """Remove a resource with its finalizers."""
        with self._changed:
            self._note("DELETED", kind, name)

    def get(self, kind: str, name: str) -> Body | None:
        with self._changed:
            return deepcopy(self._objects.get((kind, name)))

    def wait(self, kind: str, name: str, reached: Callable[[Body], bool]) -> Body:
        """Wait until a resource is as expected, and return it."""

        def found() -> bool:
            body = self._objects.get((kind, name))
            return body is not None and reached(body)

        with self._changed:
            assert self._changed.wait_for(found, _SECONDS), self._objects.get((kind, name))
            return deepcopy(self._objects[kind, name])

    def wait_gone(self, kind: str, name: str) -> None:
        with self._changed:
            gone = self._changed.wait_for(lambda: (kind, name) not in self._objects, _SECONDS)
            assert gone, self._objects[kind, name]

    def wait_requests(self, pattern: str, count: int) -> None:
        """Wait until so many requests that contain a text have come."""
        with self._changed:
            assert self._changed.wait_for(lambda: sum(pattern in each for each in self.requests) >= count, _SECONDS)

    def expire(self) -> None:
        """Forget all changes: each watch ends, and has to list the resources again."""
        with self._changed:
            self._version += 1
            self.first_version = self._version
            self._changed.notify_all()

    def send_bookmarks(self) -> None:
        with self._changed:
            self._version += 1
            for kind in {kind for kind, _ in self._objects}:
                self._events.append((self._version, "BOOKMARK", kind, {"metadata": {"resourceVersion": self.version}}))
            self._changed.notify_all()

    def refuse(self, status: int | None) -> None:
        """Answer all requests with a status, and end the watches; None to answer again."""
        with self._changed:
            self.refusal = None if status is None else Refusal(status, "no")
            self._connections += 1
            self._changed.notify_all()

    @property
    def version(self) -> str:
        return str(self._version)

    # --- as the server ------------------------------------------------------------------------------------------------

    def answer(self, method: str, target: str, body: Body | None) -> Body:
        address = urlsplit(target)
        query = {key: values[0] for key, values in parse_qs(address.query).items()}
        path = _PATH.fullmatch(address.path)
        with self._changed:
            self.requests.append(f"{method} {target}")
            self._changed.notify_all()
            if self.refusal is not None:
                raise self.refusal
            if path is None:
                raise Refusal(404, "the path is unknown")
            kind, name, subresource = path.groups()
            if method == "PATCH":
                assert body is not None
                return self._patch(kind, name, subresource, body)
            return self._list(kind, int(query["limit"]), int(query.get("continue", 0)))

    def _list(self, kind: str, limit: int, start: int) -> Body:
        items = [deepcopy(each) for (its_kind, _), each in self._objects.items() if its_kind == kind]
        stop = start + min(limit, self.page)
        more = {"continue": str(stop)} if stop < len(items) else {}
        return {"items": items[start:stop], "metadata": {"resourceVersion": self.version, **more}}

    def _patch(self, kind: str, name: str, subresource: str | None, body: Body) -> Body:
        found = self._objects.get((kind, name))
        if found is None:
            raise Refusal(404, f"{kind} {name} not found")
        version = body.get("metadata", {}).pop("resourceVersion", None)
        if subresource:
            assert body.pop("metadata") == {} and version is not None, "a status is written over one that is known"
        if self.conflicts and not subresource:
            self.conflicts -= 1
            self._note("MODIFIED", kind, name)
        if version not in (None, found["metadata"]["resourceVersion"]):
            raise Refusal(409, "the object has been modified")
        assert set(body) == ({"status"} if subresource else {"metadata"}), "a controller changes nothing else"
        self.patches.append((f"{kind}/{name}{f'/{subresource}' if subresource else ''}", deepcopy(body)))
        merge(found, body)
        is_over = "deletionTimestamp" in found["metadata"] and not found["metadata"].get("finalizers")
        return self._note("DELETED" if is_over else "MODIFIED", kind, name)

    def _note(self, event: str, kind: str, name: str) -> Body:
        self._version += 1
        found = self._objects[kind, name]
        found["metadata"]["resourceVersion"] = self.version
        self._events.append((self._version, event, kind, deepcopy(found)))
        if event == "DELETED":
            del self._objects[kind, name]
        self._changed.notify_all()
        return deepcopy(found)

    def watch(self, target: str) -> Iterator[Body]:
        """Yield events without an end, until the server refuses requests or has forgotten them."""
        address = urlsplit(target)
        query = {key: values[0] for key, values in parse_qs(address.query).items()}
        path = _PATH.fullmatch(address.path)
        assert path is not None and query["allowWatchBookmarks"] == "true"
        seen = int(query["resourceVersion"])
        with self._changed:
            self.requests.append(f"WATCH {target}")
            self._changed.notify_all()
            if self.refusal is not None:
                raise self.refusal
            connections = self._connections
        while True:
            with self._changed:
                if connections != self._connections:
                    return
                if seen < self.first_version:
                    yield {"type": "ERROR", "object": {"code": 410, "message": "too old resource version"}}
                    return
                new = [each for each in self._events if each[0] > seen and each[2] == path[1]]
                if not new:
                    self._changed.wait(0.5)
            for version, event, _, body in new:
                seen = version
                yield {"type": event, "object": body}


@contextmanager
def running_resource_api(folder: Path) -> Iterator[ResourceApi]:
    """Run a server inside the context. folder: gets the files of a service account."""
    context = write_account(folder)
    api = ResourceApi(folder)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if "watch=true" not in self.path:
                self._answer("GET", None)
                return
            try:
                self._watch()
            except Refusal as refusal:
                self._send(refusal.status, {"message": refusal.message})
            except OSError:
                return  # the client has ended the watch

        def _watch(self) -> None:
            events = api.watch(self.path)
            self.close_connection = True
            is_begun = False
            for event in events:
                if not is_begun:
                    self.send_response(200)
                    self.end_headers()
                    is_begun = True
                self.wfile.write(json.dumps(event).encode() + b"\n")
                self.wfile.flush()

        def do_PATCH(self) -> None:
            assert self.headers["Content-Type"] == "application/merge-patch+json"
            self._answer("PATCH", json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _answer(self, method: str, body: Body | None) -> None:
            if self.headers["Authorization"] != f"Bearer {(folder / 'token').read_text().strip()}":
                self._send(401, {"message": "Unauthorized"})
                return
            try:
                self._send(200, api.answer(method, self.path, body))
            except Refusal as refusal:
                self._send(refusal.status, {"message": refusal.message})

        def _send(self, status: int, body: Body) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.socket = context.wrap_socket(server.socket, server_side=True)
        api.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield api
        finally:
            api.refuse(503)
            server.shutdown()
            thread.join()
