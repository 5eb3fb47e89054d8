"""Requests of attackers to the HTTP endpoint: malformed bytes, and requests of web pages in a local browser."""

from __future__ import annotations

import gzip
import hmac
import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.datastructures import Headers

from jetsql.server.auth import TokenAuth
from tests.support.engines.server_engine import ServedEngine
from tests.support.servers.http_server import TOKEN, RunningServer, run_server

AUTHORIZED = f"Authorization: Bearer {TOKEN}"
BODY = '{"statement": "COUNT 1"}'
TWO = f"GET /v1/engine HTTP/1.1\r\nHost: localhost\r\n{AUTHORIZED}\r\nConnection: close\r\n\r\n"


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with run_server(ServedEngine()) as server:
        yield server


@dataclass(frozen=True)
class Answer:
    """A response as received. headers: by names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


def answers(server: RunningServer, request: str | bytes) -> list[Answer]:
    """Return all responses to these bytes, until the engine closes the connection."""
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        connection.sendall(request if isinstance(request, bytes) else request.encode("latin-1"))
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    return list(_parsed(received))


def _parsed(received: bytes) -> Iterator[Answer]:
    while received:
        head, _, received = received.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        size = int(headers.get("content-length", len(received)))
        yield Answer(int(first.split()[1]), headers, received[:size])
        received = received[size:]


def ask(server: RunningServer, line: str, *headers: str, body: str = "") -> Answer:
    """Return the only response to a request."""
    length = [f"Content-Length: {len(body)}"] if body else []
    head = "\r\n".join([f"{line} HTTP/1.1", "Host: localhost", "Connection: close", *headers, *length])
    [answer] = answers(server, f"{head}\r\n\r\n{body}")
    return answer


def condition(answer: Answer) -> Any:
    return json.loads(answer.body)["error"]["condition"]


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip, gzip", "deflate", "zstd"])
def test_compressed_bodies_are_not_expanded(server: RunningServer, encoding: str) -> None:
    """Refuse compressed bodies: a megabyte could become a gigabyte."""
    content = gzip.compress(BODY.encode())
    head = f"{AUTHORIZED}\r\nConnection: close\r\nContent-Encoding: {encoding}\r\nContent-Length: {len(content)}"
    [response] = answers(server, f"POST /v1/sql HTTP/1.1\r\nHost: localhost\r\n{head}\r\n\r\n".encode() + content)
    assert (response.status, condition(response)) == (400, "JETSQL.REQUEST_NOT_READABLE")


# Which name the engine is addressed by


@pytest.mark.parametrize(
    "lines",
    [
        "",
        "Host: evil.example\r\n",
        "Host: localhost@evil.example\r\n",
        "Host: evil.example, localhost\r\n",
        "Host: localhost.\r\n",
        "Host: 127.0.0.1.evil.example\r\n",
        "Host: [::1].evil.example\r\n",
        "Host: localhost:80:80\r\n",
        "Host: localhost/\r\n",
        "Host: 2130706433\r\n",
        "Host: evil.example\r\nHost: localhost\r\n",
    ],
)
def test_a_request_under_another_name_gets_nothing(server: RunningServer, lines: str) -> None:
    [answer] = answers(server, f"GET /v1/engine HTTP/1.1\r\n{lines}{AUTHORIZED}\r\nConnection: close\r\n\r\n")
    assert answer.status in (400, 403)
    assert b"version" not in answer.body


def test_repeated_host_headers_are_all_checked(server: RunningServer) -> None:
    head = f"GET /v1/engine HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n{AUTHORIZED}\r\n"
    [answer] = answers(server, f"{head}Connection: close\r\n\r\n")
    assert answer.status in (400, 403)


def test_forwarding_headers_are_no_host_name(server: RunningServer) -> None:
    head = f"GET /v1/engine HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: localhost\r\n{AUTHORIZED}\r\n"
    [answer] = answers(server, f"{head}Connection: close\r\n\r\n")
    assert answer.status == 403


# One request that another server would take for two


@pytest.mark.parametrize(
    "framing",
    [
        f"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{TWO}",
        f"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n{TWO}",
        f"Content-Length: 0\r\nContent-Length: 9\r\n\r\n{TWO}",
        f"Content-Length: 0, 9\r\n\r\n{TWO}",
        f"Content-Length: +0\r\n\r\n{TWO}",
        f"Content-Length: -1\r\n\r\n{TWO}",
        f"Content-Length : 0\r\n\r\n{TWO}",
        f"Content-Length: 0x0\r\n\r\n{TWO}",
        f"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n{TWO}",
        f"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{TWO}",
        f"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n{TWO}",
        f"Transfer-Encoding: chunked\r\n\r\nZ\r\n{TWO}",
        f"Transfer-Encoding: chunked\r\n\r\n-1\r\n{TWO}",
        f"Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n{TWO}",
        f"Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n{TWO}",
        f"Transfer-Encoding:\r\n chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n{TWO}",
        f"No colon\r\nContent-Length: 0\r\n\r\n{TWO}",
        f"X: a\0b\r\nContent-Length: 0\r\n\r\n{TWO}",
    ],
)
def test_ambiguous_requests_are_refused(server: RunningServer, framing: str) -> None:
    """Refuse the request: after a proxy, its second half would be a request of another client."""
    found = answers(server, f"POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\n{AUTHORIZED}\r\n{framing}")
    assert [answer.status for answer in found] == [400]


def test_one_request_after_the_other_is_fine(server: RunningServer) -> None:
    head = f"POST /v1/sql HTTP/1.1\r\nHost: localhost\r\n{AUTHORIZED}\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunked = f"{len(BODY):x}\r\n{BODY}\r\n0\r\n\r\n"
    found = answers(server, f"{TWO.replace('close', 'keep-alive')}{TWO}")
    assert [answer.status for answer in found] == [200, 200]
    found = answers(server, f"{head}{chunked}{TWO}")
    assert found[0].status == 200 and b'"end":{"rows":1}' in found[0].body


def test_a_folded_line_belongs_to_the_header_before_it(server: RunningServer) -> None:
    """Treat the line as RFC 9112 demands: it contains no header of its own."""
    head = (
        f"POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\n{AUTHORIZED}\r\nX-Folded: a\r\n Content-Length: {len(TWO)}"
    )
    found = answers(server, f"{head}\r\nContent-Length: 0\r\n\r\n{TWO}")
    assert [answer.status for answer in found] in ([400], [201, 200])


# Pages in a browser


@pytest.mark.parametrize("path", ["/v1/sql", "/v1/sessions", "/v1/engine/stop"])
@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=a"])
def test_requests_of_pages_have_no_effect(server: RunningServer, path: str, kind: str) -> None:
    """Send the requests that a browser sends to other sites without a preflight request."""
    foreign = ("Origin: https://evil.example", f"Content-Type: {kind}", "Sec-Fetch-Site: cross-site")
    before = len(server.http_server.sessions)
    answer = ask(server, f"POST {path}", *foreign, body=BODY)
    assert (answer.status, condition(answer)) == (401, "JETSQL.NOT_AUTHORIZED")
    assert len(server.http_server.sessions) == before
    assert not server.stop_requested.is_set()


@pytest.mark.parametrize("cookie", [f"Cookie: token={TOKEN}", f"Cookie: Authorization=Bearer {TOKEN}"])
def test_no_cookie_is_a_token(server: RunningServer, cookie: str) -> None:
    assert ask(server, "GET /v1/engine", cookie).status == 401


@pytest.mark.parametrize("token", [f"?token={TOKEN}", f"?access_token={TOKEN}"])
def test_no_parameter_is_a_token(server: RunningServer, token: str) -> None:
    assert ask(server, f"GET /v1/engine{token.replace(' ', '%20')}").status == 401


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "HEAD"])
@pytest.mark.parametrize("path", ["/healthz", "/v1/sql", "/v1/engine", "/openapi.json"])
@pytest.mark.parametrize("token", [(), (AUTHORIZED,)])
def test_pages_get_no_access(server: RunningServer, method: str, path: str, token: tuple[str, ...]) -> None:
    asked = ("Origin: https://evil.example", "Access-Control-Request-Method: POST")
    answer = ask(server, f"{method} {path}", *asked, "Access-Control-Request-Headers: authorization", *token)
    assert [name for name in answer.headers if name.startswith("access-control")] == []


# Paths


PATHS = [
    "//v1/jobs",
    "/v1//jobs",
    "/healthz/../v1/jobs",
    "/healthz/..%2fv1/jobs",
    "/healthz/%2e%2e/v1/jobs",
    "/%2e%2e/v1/jobs",
    "/healthz%2f..%2fv1%2fjobs",
    "/healthz;x",
    "/healthz;/../v1/jobs",
    "/healthz/",
    "/healthz%00",
    "/healthz%0a",
    "/HEALTHZ",
    "/./healthz",
    "/healthz/v1/jobs",
    "/healthz%3f/v1/jobs",
    "\\v1\\jobs",
    "/v1/jobs#/healthz",
    "/v1/jobs?/healthz",
    "/v1/jobs;/healthz",
    "http://localhost/v1/jobs",
    "http://evil.example/v1/jobs",
    "http://localhost/healthz/../v1/jobs",
    "*",
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_no_spelling_of_a_path_bypasses_the_token(server: RunningServer, method: str, path: str) -> None:
    answer = ask(server, f"{method} {path}")
    assert answer.status in (400, 401, 404, 405)
    assert b"jobs" not in answer.body.replace(path.encode(), b"")


@pytest.mark.parametrize("path", [path for path in PATHS if not path.startswith(("/v1/jobs", "http:", "/healthz%0a"))])
def test_paths_are_not_normalized(server: RunningServer, path: str) -> None:
    """Refuse other spellings of a path, even with the token."""
    assert ask(server, f"GET {path}", AUTHORIZED).status in (400, 404)


@pytest.mark.parametrize("path", ["/healthz", "/healthz?nonce=%ff%00", "/healthz?nonce=" + "a" * 10_000])
def test_health_answers_every_request(server: RunningServer, path: str) -> None:
    assert ask(server, f"GET {path}").status == 200


# The token


@pytest.mark.parametrize(
    "header",
    [
        f"Authorization: {TOKEN}",
        f"Authorization: Bearer {TOKEN}x",
        f"Authorization: Bearer {TOKEN[:-1]}",
        f"Authorization: Bearer {TOKEN.upper()}",
        "Authorization: Bearer ",
        f"Authorization: Bearer wrong\r\nAuthorization: Bearer {TOKEN}",
        f"X-Authorization: Bearer {TOKEN}",
        f"Proxy-Authorization: Bearer {TOKEN}",
        "Authorization: Bearer \xff\xfe",
    ],
)
def test_similar_tokens_are_refused(server: RunningServer, header: str) -> None:
    assert ask(server, "GET /v1/engine", header).status == 401


def test_token_comparison_takes_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that every token is compared by `hmac.compare_digest`, before any answer."""
    compared: list[bytes] = []
    real = hmac.compare_digest

    def compare(given: bytes, known: bytes) -> bool:
        compared.append(given)
        return real(given, known)

    monkeypatch.setattr("jetsql.jobs.access.logins.hmac.compare_digest", compare)
    access = TokenAuth(TOKEN)
    tokens = ["", "wrong", TOKEN[:-1], f"{TOKEN}x", TOKEN]
    shown = [Headers({"authorization": f"Bearer {token}"}) for token in tokens]
    assert [access.has_token(headers) for headers in shown] == [False, False, False, False, True]
    assert compared == [token.encode() for token in tokens]
