"""A connection to an engine's HTTP endpoint.

It uses `http.client`, which takes 30 ms to import; the popular libraries take 200 ms. `jetsql list-jobs` has to finish
within half a second, including the start of Python.
"""

from __future__ import annotations

import json
import select
import ssl
from collections.abc import Generator, Mapping
from hmac import compare_digest
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, NotConnected, RemoteDisconnected
from time import monotonic, sleep
from typing import Any, Final
from urllib.parse import quote, urlsplit

from jetsql.client.server_trust import CA_FILE, ServerTrust
from jetsql.errors import SQLSTATES, EngineError, ErrorReport, ReportedError
from jetsql.home.discovery import address_of, new_nonce, proof, unbound_proof
from jetsql.home.token_form import is_jwt, proof_key, token_id
from jetsql.jobs.model.redaction import redact_url

RESPONSE_SECONDS: Final = 10.0
"""The time limit of a request that needs no Spark."""

_CHECK_ENGINE: Final = "Run `jetsql status` on the engine's machine: it shows whether the engine runs, and its address."

# The engine closes a connection after five idle seconds. The client would not know whether the engine had run a request
# that was sent at the same time.
_KEEP_ALIVE_SECONDS: Final = 3.0

# Limit how much is read from a server that has not been authenticated.
_HEALTH_BYTES: Final = 4096

# The HTTP status for a host name that the engine does not accept.
_FORBIDDEN: Final = 403

# The HTTP status of an engine that has too many connections.
_UNAVAILABLE: Final = 503

_NOT_REACHABLE: Final = "JETSQL.ENGINE_NOT_REACHABLE"
_NOT_LEADER: Final = "JETSQL.NOT_LEADER"

# Conditions with which every statement on this engine would fail.
_ENGINE_CONDITIONS: Final = frozenset(
    f"JETSQL.{condition}"
    for condition in ("CONNECTION_LOST", "ENGINE_NOT_STARTED", "ENGINE_NOT_REACHABLE", "NOT_AUTHORIZED")
)


# The time for which a client searches for the leader of several engines.
_FOLLOW_SECONDS: Final = 15.0
_FOLLOW_PAUSE: Final = 0.2


class RequestNotSent(EngineError):
    """The request was not sent, because there was no connection to an engine."""


class NotLeader(ReportedError):
    """An engine that does not lead refused the request. leader: the URL of the leader, empty if it knows none."""

    def __init__(self, report: ErrorReport, leader: str) -> None:
        super().__init__(report)
        self.leader = leader


class HttpClient:
    """A client that sends one request at a time. A response has to be read to its end, or closed, before the next.

    With the URLs of several engines, or that of a standby, it follows the leader.
    """

    def __init__(
        self,
        url: str,
        token: str,
        connect_seconds: float = RESPONSE_SECONDS,
        binds_proof: bool = True,
        trust: ServerTrust | None = None,
    ) -> None:
        """Create a client.

        url: one or several, separated by commas.
        trust: the certificates that it trusts; None for those of the environment.
        binds_proof: False for an engine of an earlier release, as its note shows, see `EngineNote`.
        """
        self._urls = [each.rstrip("/") for each in url.split(",")]
        self.url = self._urls[0]
        """The engine that the last request was sent to."""
        self._token = token
        self._connect_seconds = connect_seconds
        self.binds_proof = binds_proof
        self.trust = trust or ServerTrust()
        self._connection: HTTPConnection | None = None
        self._last_used = 0.0

    def request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Return the JSON of a short response, or None if it is empty.

        Raises EngineError ENGINE_NOT_REACHABLE, CONNECTION_LOST, NOT_AUTHORIZED (as RequestNotSent if the request was
        not sent), and ReportedError for an error that the engine reports.
        """
        response = self._send(method, path, body, self._connect_seconds)
        with _translate_errors(self.url, "CONNECTION_LOST"):
            content = response.read()
        try:
            return json.loads(content) if content else None
        except ValueError as error:
            raise _not_an_engine(self.url, response.status) from error

    def stream_lines(self, path: str, body: Mapping[str, Any]) -> Generator[bytes, None, None]:
        """Yield the lines of a long response when they arrive, without a time limit. Raises as `request`."""
        return self._lines(self._send("POST", path, body, None))

    def open_response(self, path: str, body: Mapping[str, Any], accept: str) -> HTTPResponse:
        """Return a long response in another format, which the caller reads and closes. Raises as `request`."""
        return self._send("POST", path, body, None, accept)

    def close(self) -> None:
        """Close the connection; the engine ends a response that is not read to its end."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _lines(self, response: HTTPResponse) -> Generator[bytes, None, None]:
        try:
            with _translate_errors(self.url, "CONNECTION_LOST"):
                yield from iter(response.readline, b"")
        finally:
            if not response.isclosed():
                response.close()
                self.close()

    def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None, seconds: float | None, accept: str = "*/*"
    ) -> HTTPResponse:
        """Send a request to the leader. A request that an engine may have executed is not sent again."""
        until = monotonic() + _FOLLOW_SECONDS
        while True:
            try:
                return self._send_once(method, path, body, seconds, accept)
            except NotLeader as error:
                if monotonic() > until:
                    raise
                self._turn_to(error.leader)
            except RequestNotSent as error:
                if error.condition != _NOT_REACHABLE or len(self._urls) == 1 or monotonic() > until:
                    raise
                self._turn_to("")

    def _turn_to(self, leader: str) -> None:
        """Send the next request to the leader, or to the next engine if the leader is not known."""
        self.close()
        if leader and leader != self.url:
            self.url = leader
            if leader not in self._urls:
                self._urls.append(leader)
            return
        if self.url == self._urls[-1]:  # each was asked
            sleep(_FOLLOW_PAUSE)
        self.url = self._urls[(self._urls.index(self.url) + 1) % len(self._urls)]

    def _send_once(
        self, method: str, path: str, body: Mapping[str, Any] | None, seconds: float | None, accept: str
    ) -> HTTPResponse:
        connection = self._connected()
        content = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json", "Accept": accept}
        with self._closing_on_failure(), _translate_errors(self.url, "CONNECTION_LOST"):
            connection.request(method, self.url_path + path, content, headers)
            if connection.sock is not None:
                connection.sock.settimeout(seconds)
            response = connection.getresponse()
        self._last_used = monotonic()
        if response.status >= 400:
            raise _response_error(response, self.url)
        return response

    @property
    def url_path(self) -> str:
        """Return the path prefix of the URL."""
        return urlsplit(self.url).path

    def _connected(self) -> HTTPConnection:
        open_connection = self._connection if monotonic() - self._last_used < _KEEP_ALIVE_SECONDS else None
        if open_connection is None or not _is_alive(open_connection):
            self.close()
            open_connection = self.trust.connection(self.url, self._connect_seconds)
            self._connection = open_connection
            with self._closing_on_failure(), _translate_errors(self.url, "ENGINE_NOT_REACHABLE"):
                open_connection.connect()
                self._check_engine(open_connection)
        return open_connection

    def _check_engine(self, connection: HTTPConnection) -> None:
        """Request a proof that the engine knows the token, before the token is sent to it.

        Another program may use the address of an engine that was killed. It cannot forward the request to an engine at
        another address, because the proof is for the address of the URL.
        No engine can prove that it knows a JWT, so this is sent only to one whose certificate was checked.
        Raises RequestNotSent NOT_AUTHORIZED, and ENGINE_NOT_REACHABLE for an engine with too many connections.
        """
        if is_jwt(self._token):
            if not isinstance(connection, HTTPSConnection):
                raise _plain_jwt(self.url)
            connection.auto_open = 0
            return
        nonce, address = new_nonce(), address_of(self.url)
        bound = proof(proof_key(self._token), nonce, address)
        known = bound if self.binds_proof else unbound_proof(self._token, nonce)
        query = f"nonce={nonce}&address={quote(address, safe='')}"
        if token_id(self._token):
            query += f"&token={token_id(self._token)}"
        connection.request("GET", f"{self.url_path}/healthz?{query}")
        connection.auto_open = 0  # `http.client` must not reconnect, because another program may listen there by then
        response = connection.getresponse()
        content = response.read(_HEALTH_BYTES)
        if not compare_digest(_proof_in(content).encode(errors="replace"), known.encode()):
            raise _check_error(self.url, response.status)

    def _closing_on_failure(self) -> _CloseOnFailure:
        return _CloseOnFailure(self)


class _CloseOnFailure:
    """Close the connection after a failure: its state is unknown."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is not None:
            self._client.close()


class _translate_errors:
    """Raise errors of the system as EngineError with the engine's URL."""

    def __init__(self, url: str, condition: str) -> None:
        self._url = redact_url(url)
        self._condition = condition

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError | HTTPException):
            raise _connection_error(self._url, self._condition, error) from error


def _proof_in(content: bytes) -> str:
    try:
        payload = json.loads(content)
        return str(payload["proof"]) if isinstance(payload, dict) else ""
    except (ValueError, KeyError, RecursionError):
        return ""


def _plain_jwt(url: str) -> RequestNotSent:
    message = f"The engine at {redact_url(url)} has no TLS, so the JWT was not sent to it."
    hint = "Use an address with https://, or a token of CREATE TOKEN, which the engine proves to know."
    return RequestNotSent("NOT_AUTHORIZED", message, hint=hint)


def _check_error(url: str, status: int) -> RequestNotSent:
    """Return the error for a server that did not prove that it knows the token. status: of its response."""
    server = f"The server at {redact_url(url)}"
    if status == _UNAVAILABLE:
        message = f"{server} refused the connection with HTTP status {status}, so the token was not sent to it."
        return RequestNotSent(
            "ENGINE_NOT_REACHABLE", message, hint="It may have too many connections. Try again later."
        )
    if status == _FORBIDDEN:
        name = urlsplit(url).hostname
        message = f"{server} does not accept the address {address_of(url)}, so the token was not sent to it."
        hint = (
            f"If it is your engine, use localhost and its own port, or add {name} to its setting http_hosts:"
            f" {address_of(url)} if it listens on another port."
        )
        return RequestNotSent("NOT_AUTHORIZED", message, hint=hint)
    message = f"{server} does not know the token, so the token was not sent to it."
    hint = (
        "Check the token and the address: another program may use the address that the engine had. An engine of an"
        " earlier release needs a client of its own release."
    )
    return RequestNotSent("NOT_AUTHORIZED", message, hint=hint)


def _connection_error(url: str, condition: str, error: BaseException) -> EngineError:
    if condition == "ENGINE_NOT_REACHABLE":
        if isinstance(error, ssl.SSLError):
            return _tls_error(url, error)
        message, hint = f"No engine answers at {url}: {_reason(error)}.", _CHECK_ENGINE
        if isinstance(error, ConnectionResetError | RemoteDisconnected) and url.startswith("http:"):
            hint += " If the engine uses TLS, write https:// instead of http://."
        return RequestNotSent(condition, message, hint=hint)
    if isinstance(error, NotConnected):  # see `auto_open`
        message = f"The connection to the engine at {url} ended before the request was sent."
        return RequestNotSent("ENGINE_NOT_REACHABLE", message, hint=_CHECK_ENGINE)
    if isinstance(error, TimeoutError):
        return EngineError(condition, f"The engine at {url} did not answer in time.")
    return EngineError(
        condition,
        f"The connection to the engine at {url} was lost: {_reason(error)}. The statement may have been executed.",
        hint="Check its effect before you repeat it.",
    )


def _tls_error(url: str, error: ssl.SSLError) -> RequestNotSent:
    """Return the error for a server whose certificate is not trusted, or that speaks another protocol."""
    if isinstance(error, ssl.SSLCertVerificationError):
        message = (
            f"The certificate of the server at {url} is not trusted, so the token was not sent to it:"
            f" {error.verify_message.rstrip('.')}."
        )
        if "mismatch" in error.verify_message:
            hint = "Use a host name that the certificate has. The engine needs it in its setting http_hosts."
        else:
            hint = f"Set ca_file, or {CA_FILE} in the environment, to a file with the certificate of its authority."
        return RequestNotSent("ENGINE_NOT_REACHABLE", message, hint=hint)
    message = f"The server at {url} makes no TLS connection: {error.reason or _reason(error)}."
    return RequestNotSent("ENGINE_NOT_REACHABLE", message, hint="If the engine has no TLS, write http://.")


def _reason(error: BaseException) -> str:
    reason = error.strerror if isinstance(error, OSError) else None
    return reason or str(error) or type(error).__name__


def _is_alive(connection: HTTPConnection) -> bool:
    """Return whether a kept connection can take another request: idle, and not closed by the engine."""
    if connection.sock is None:
        return False
    connection.sock.settimeout(RESPONSE_SECONDS)
    # Something to read is the end of the connection, or unexpected data. TLS cannot show data without reading it.
    poll = select.poll()
    poll.register(connection.sock, select.POLLIN)
    return not poll.poll(0)


def _response_error(response: HTTPResponse, url: str) -> Exception:
    with _translate_errors(url, "CONNECTION_LOST"):  # the engine may end while it reports the error
        content = response.read()
    try:
        payload = json.loads(content)
        error = to_exception(payload["error"])
        if isinstance(error, ReportedError) and error.report.condition == _NOT_LEADER:
            return NotLeader(error.report, str(payload.get("leader", "")))
        return error
    except (ValueError, KeyError, TypeError):
        return _not_an_engine(url, response.status)


def _not_an_engine(url: str, status: int) -> EngineError:
    server = f"The server at {redact_url(url)}"
    message = f"{server} is not a JetSQL engine, or has another version: it answered with HTTP status {status}."
    return EngineError("ENGINE_NOT_REACHABLE", message)


def to_exception(payload: Mapping[str, Any]) -> Exception:
    """Return the engine's error as a ReportedError, or as an EngineError if the statement is not at fault."""
    report = ErrorReport(**{name: payload[name] for name in ErrorReport.__dataclass_fields__ if name in payload})
    if report.condition in _ENGINE_CONDITIONS and report.condition.removeprefix("JETSQL.") in SQLSTATES:
        return EngineError(report.condition.removeprefix("JETSQL."), report.message, hint=report.hint)
    return ReportedError(report)
