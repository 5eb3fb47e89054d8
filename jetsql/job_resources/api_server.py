"""The resources at the API server of Kubernetes: list, watch and change them.

It uses `http.client`, as all of JetSQL that talks HTTP. The official client of Kubernetes is 126 MB in the image of the
engine for these three requests, and its informer neither knows custom resources nor pauses while the server is away.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from jetsql.engine.spark.kubernetes_api import PodAccount
from jetsql.job_resources.resource import API_GROUP, API_VERSION, CustomResource, ResourceKind

_PAGE: Final = 500
_MANAGER: Final = "jetsql"
"""The name under which the API server notes the fields that the controller has set."""
_WATCH_SECONDS: Final = 300
# The server sends a bookmark each minute, so a watch without one has lost its connection.
_SILENCE_SECONDS: Final = 150.0
_TEXT_MOST: Final = 300  # characters of the server's message in an error


class ApiFailure(Exception):
    """The API server has refused a request."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status  # of HTTP
        super().__init__(f"the API server answers {status}: {message}")


@dataclass(frozen=True)
class ResourceList:
    """All resources of a kind, and the version from which a watch shows what has changed since."""

    items: tuple[CustomResource, ...]
    version: str


@dataclass(frozen=True)
class WatchEvent:
    """A change of a resource."""

    type: str  # ADDED, MODIFIED or DELETED; BOOKMARK for a resource with a version alone
    resource: CustomResource


class ApiServer:
    """The API server, for the resources of one namespace. Any thread can use it; each has a connection.

    The methods raise ApiFailure, and OSError while the server is out of reach.
    """

    def __init__(self, account: PodAccount) -> None:
        self._account = account
        self._local = threading.local()
        self._watches: set[socket.socket] = set()
        self._kept: set[HTTPSConnection] = set()
        self._is_ended = False

    @property
    def namespace(self) -> str:
        """Return the namespace of the resources."""
        return self._account.namespace

    def list(self, kind: ResourceKind) -> ResourceList:
        """Return all resources of a kind."""
        found: list[CustomResource] = []
        more: dict[str, str] = {}
        while True:
            page = self._request("GET", self._path(kind), {"limit": str(_PAGE), **more})
            found += [CustomResource(kind, item) for item in page["items"]]
            metadata = page["metadata"]
            if not metadata.get("continue"):
                return ResourceList(tuple(found), str(metadata["resourceVersion"]))
            more = {"continue": metadata["continue"]}

    def watch(self, kind: ResourceKind, version: str) -> Iterator[WatchEvent]:
        """Open a watch, and return the changes since a version, until the server ends it after some minutes.

        Raises ApiFailure with the status GONE, also while changes are read, if the server does not know them any
        more.
        """
        query = {
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(_WATCH_SECONDS),
        }
        connection = self._connect(_SILENCE_SECONDS)
        connection.connect()
        watching: socket.socket = connection.sock  # the connection may give it to the response
        self._watches.add(watching)
        if self._is_ended:
            _end(watching)
        try:
            connection.request("GET", f"{self._path(kind)}?{urlencode(query)}", headers=self._account.headers())
            response = connection.getresponse()
            if response.status >= 400:
                raise _failure(response.status, response.read())
        except BaseException as error:
            self._watches.discard(watching)
            connection.close()
            if isinstance(error, HTTPException):
                raise OSError(f"the watch was refused: {type(error).__name__}") from error
            raise
        return self._events(kind, connection, watching, response)

    def _events(
        self, kind: ResourceKind, connection: HTTPSConnection, watching: socket.socket, response: HTTPResponse
    ) -> Iterator[WatchEvent]:
        try:
            yield from _events(kind, response)
        except HTTPException as error:
            raise OSError(f"the watch was cut: {type(error).__name__}") from error
        finally:
            self._watches.discard(watching)
            response.close()
            connection.close()

    def patch(self, resource: CustomResource, change: Mapping[str, Any], subresource: str = "") -> CustomResource:
        """Merge a change into a resource, and return it as it is then; None removes a value."""
        path = f"{self._path(resource.kind)}/{quote(resource.key.name)}"
        path = f"{path}/{subresource}" if subresource else path
        return CustomResource(resource.kind, self._request("PATCH", path, {"fieldManager": _MANAGER}, change))

    def end_watches(self) -> None:
        """End the watches of other threads, also those that they open now."""
        self._is_ended = True
        for watching in tuple(self._watches):
            _end(watching)

    def close(self) -> None:
        """Close the connections. The threads that have used them have ended."""
        for connection in self._kept:
            connection.close()

    def _path(self, kind: ResourceKind) -> str:
        return f"/apis/{API_GROUP}/{API_VERSION}/namespaces/{quote(self.namespace)}/{kind.value}"

    def _request(
        self, method: str, path: str, query: Mapping[str, str], body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        target = f"{path}?{urlencode(query)}"
        content = None if body is None else json.dumps(body).encode()
        headers = self._account.headers(has_change=body is not None)
        status, answer = self._exchange(method, target, content, headers)
        if status >= 400:
            raise _failure(status, answer)
        try:
            return dict(json.loads(answer))
        except ValueError as error:
            raise OSError("the API server has not answered with JSON") from error

    def _exchange(self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """Send a request, and return the status and the body of the answer.

        A connection that the server has closed meanwhile is opened again: the requests can be repeated.
        """
        while True:
            kept: HTTPSConnection | None = getattr(self._local, "connection", None)
            connection = kept or self._connect(self._account.seconds)
            try:
                connection.request(method, target, body, dict(headers))
                response = connection.getresponse()
                answer = response.status, response.read()
            except (HTTPException, OSError) as error:
                self._local.connection = None
                self._kept.discard(connection)
                connection.close()
                if kept is None:
                    raise OSError(f"the API server is out of reach: {error or type(error).__name__}") from error
                continue
            self._local.connection = connection
            self._kept.add(connection)
            return answer

    def _connect(self, seconds: float) -> HTTPSConnection:
        address = urlsplit(self._account.url)
        return HTTPSConnection(address.hostname or "", address.port, timeout=seconds, context=self._account.tls())


def _end(watching: socket.socket) -> None:
    with suppress(OSError):  # the watch ends by itself meanwhile
        watching.shutdown(socket.SHUT_RDWR)


def _events(kind: ResourceKind, response: HTTPResponse) -> Iterator[WatchEvent]:
    for line in response:
        try:
            event = json.loads(line)
        except ValueError as error:
            raise OSError("the watch was cut in the middle of an event") from error
        if event["type"] == "ERROR":
            raise ApiFailure(
                int(event["object"].get("code", 500)), str(event["object"].get("message", ""))[:_TEXT_MOST]
            )
        yield WatchEvent(event["type"], CustomResource(kind, event["object"]))


def _failure(status: int, answer: bytes) -> ApiFailure:
    try:
        message = str(json.loads(answer).get("message", ""))
    except (ValueError, AttributeError):
        message = answer.decode("utf-8", errors="replace")
    return ApiFailure(status, message[:_TEXT_MOST])
