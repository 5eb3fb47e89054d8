"""One connection to an engine's HTTP door, with nothing but the standard library.

`http.client` takes 30 ms to import where the popular libraries take 200, and `jetsql list-jobs` is to answer in half a
second with all of Python's start in it.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Generator, Mapping
from contextlib import suppress
from hmac import compare_digest
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, NotConnected
from time import monotonic
from typing import Any, Final
from urllib.parse import urlsplit

from jetsql.errors import SQLSTATES, EngineError, ErrorReport, ReportedError
from jetsql.home.discovery import new_nonce, proof
from jetsql.jobs.model.redaction import redact_url

ANSWER_SECONDS: Final = 10.0
"""How long an engine may take to answer what needs no Spark."""

# The engine closes a connection that nobody used for five seconds. A request on its way just then would be lost, and
# nobody could tell whether it was done.
_KEPT_SECONDS: Final = 3.0

# What nobody vouches for yet is not read further.
_HEALTH_BYTES: Final = 4096

# What an engine answers to a request under a name that it is not known by.
_FORBIDDEN: Final = 403

# Not the statement's fault: the next one would meet the same.
_OF_THE_ENGINE: Final = frozenset(
    f"JETSQL.{condition}" for condition in ("ENGINE_NOT_STARTED", "ENGINE_NOT_REACHABLE", "NOT_AUTHORIZED")
)


class NothingSent(EngineError):
    """There was no connection to an engine: it never got what was to be asked of it."""


class HttpClient:
    """Requests one after the other; an answer has to be read to its end, or given up, before the next."""

    def __init__(self, url: str, token: str, connect_seconds: float = ANSWER_SECONDS) -> None:
        self.url = url.rstrip("/")
        self._token = token
        self._connect_seconds = connect_seconds
        self._connection: HTTPConnection | None = None
        self._used = 0.0

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The JSON of a short answer; None where there is none.

        Raises EngineError ENGINE_NOT_REACHABLE, CONNECTION_LOST, NOT_AUTHORIZED (as NothingSent when the engine never
        got it), and ReportedError for what the engine refuses.
        """
        response = self._send(method, path, body, self._connect_seconds)
        with _told(self.url, "CONNECTION_LOST"):
            content = response.read()
        try:
            return json.loads(content) if content else None
        except ValueError as error:
            raise _stranger(self.url, response.status) from error

    def stream(self, path: str, body: Mapping[str, Any]) -> Generator[bytes, None, None]:
        """The lines of a long answer, as they come. Waits for the first without a limit. Raises as `ask`."""
        return self._lines(self._send("POST", path, body, None))

    def read(self, path: str, body: Mapping[str, Any], accept: str) -> HTTPResponse:
        """A long answer of another kind, to be read by whoever knows it; then `close`. Raises as `ask`."""
        return self._send("POST", path, body, None, accept)

    def close(self) -> None:
        """Leave; an answer that is still under way is given up, and the engine notices."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _lines(self, response: HTTPResponse) -> Generator[bytes, None, None]:
        try:
            with _told(self.url, "CONNECTION_LOST"):
                yield from iter(response.readline, b"")
        finally:
            if not response.isclosed():
                response.close()
                self.close()

    def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None, seconds: float | None, accept: str = "*/*"
    ) -> HTTPResponse:
        connection = self._open()
        content = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json", "Accept": accept}
        with self._closing_on_failure(), _told(self.url, "CONNECTION_LOST"):
            connection.request(method, self.url_path + path, content, headers)
            if connection.sock is not None:
                connection.sock.settimeout(seconds)
            response = connection.getresponse()
        self._used = monotonic()
        if response.status >= 400:
            raise _error(response, self.url)
        return response

    @property
    def url_path(self) -> str:
        return urlsplit(self.url).path

    def _open(self) -> HTTPConnection:
        kept = self._connection if monotonic() - self._used < _KEPT_SECONDS else None
        if kept is None or not _is_alive(kept):
            self.close()
            parts = urlsplit(self.url)
            kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
            connection = kind(parts.hostname or "localhost", parts.port, timeout=self._connect_seconds)
            with _told(self.url, "ENGINE_NOT_REACHABLE"):
                connection.connect()
                self._check_engine(connection)
            self._connection = kept = connection
        return kept

    def _check_engine(self, connection: HTTPConnection) -> None:
        """The token is for the engine alone: who listens has to know it, and to show that, before it is told.

        An engine that was killed leaves its address to whoever takes it. Raises NothingSent NOT_AUTHORIZED.
        """
        nonce = new_nonce()
        connection.request("GET", f"{self.url_path}/healthz?nonce={nonce}")
        connection.auto_open = 0  # `http.client` must not open another one, behind which another program may listen
        answer = connection.getresponse()
        told = answer.read(_HEALTH_BYTES)
        if not compare_digest(_shown_proof(told).encode(errors="replace"), proof(self._token, nonce).encode()):
            connection.close()
            raise _unknown_name(self.url) if answer.status == _FORBIDDEN else _unknown_engine(self.url)

    def _closing_on_failure(self) -> _Closing:
        return _Closing(self)


class _Closing:
    """After a failure the connection is in no known state."""

    def __init__(self, door: HttpClient) -> None:
        self._door = door

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is not None:
            self._door.close()


class _told:
    """The system's errors as ours: what happened to which engine."""

    def __init__(self, url: str, condition: str) -> None:
        self._url = redact_url(url)
        self._condition = condition

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError | HTTPException):
            raise _lost(self._url, self._condition, error) from error


def _shown_proof(content: bytes) -> str:
    try:
        told = json.loads(content)
        return str(told["proof"]) if isinstance(told, dict) else ""
    except (ValueError, KeyError, RecursionError):
        return ""


def _unknown_engine(url: str) -> NothingSent:
    return NothingSent(
        "NOT_AUTHORIZED",
        f"What answers at {redact_url(url)} does not know the token, so nothing was sent to it.",
        hint="Either the token is wrong, or another program has the address that the engine had.",
    )


def _unknown_name(url: str) -> NothingSent:
    """An engine answers under the names alone that it is known by."""
    name = urlsplit(url).hostname
    return NothingSent(
        "NOT_AUTHORIZED",
        f"What answers at {redact_url(url)} does not want to be addressed as {name}, so the token was not sent to it.",
        hint=f"For an engine of yours, use localhost, or name {name} in its setting http_hosts.",
    )


def _lost(url: str, condition: str, error: BaseException) -> EngineError:
    if condition == "ENGINE_NOT_REACHABLE":
        return NothingSent(condition, f"No engine answers at {url}: {_words(error)}.", hint="Is it running?")
    if isinstance(error, NotConnected):  # see `auto_open`
        words = f"The connection to the engine at {url} ended before the request was sent."
        return NothingSent("ENGINE_NOT_REACHABLE", words, hint="Is it running?")
    if isinstance(error, TimeoutError):
        return EngineError(condition, f"The engine at {url} took too long to answer.")
    return EngineError(
        condition,
        f"The connection to the engine at {url} broke: {_words(error)}.",
        hint="The engine may have ended. Whether the statement was done is not known: look before you repeat it.",
    )


def _words(error: BaseException) -> str:
    reason = error.strerror if isinstance(error, OSError) else None
    return reason or str(error) or type(error).__name__


def _is_alive(connection: HTTPConnection) -> bool:
    """Whether a kept connection can take another request: not while an answer is under way, nor when it was closed."""
    if connection.sock is None:
        return False
    connection.sock.settimeout(0)
    with suppress(BlockingIOError):
        connection.sock.recv(1, socket.MSG_PEEK)
        return False  # closed by the engine, or holding what nobody asked for
    connection.sock.settimeout(ANSWER_SECONDS)
    return True


def _error(response: HTTPResponse, url: str) -> Exception:
    with _told(url, "CONNECTION_LOST"):  # the engine may end while it says what is wrong
        content = response.read()
    try:
        return error_of(json.loads(content)["error"])
    except (ValueError, KeyError, TypeError):
        return _stranger(url, response.status)


def _stranger(url: str, status: int) -> EngineError:
    words = (
        f"What answers at {redact_url(url)} is no engine of JetSQL, or one of another version: HTTP status {status}."
    )
    return EngineError("ENGINE_NOT_REACHABLE", words)


def error_of(told: Mapping[str, Any]) -> Exception:
    """The engine's error as an exception: ReportedError, or EngineError where the statement is not at fault."""
    report = ErrorReport(**{name: told[name] for name in ErrorReport.__dataclass_fields__ if name in told})
    if report.condition in _OF_THE_ENGINE and report.condition.removeprefix("JETSQL.") in SQLSTATES:
        return EngineError(report.condition.removeprefix("JETSQL."), report.message, hint=report.hint)
    return ReportedError(report)
