"""The HTTP endpoint closes connections that do not show the token, and no others, and limits all connections."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from jetsql.client.engine_client import EngineClient
from jetsql.errors import EngineError, ReportedError
from jetsql.server import login_limits
from jetsql.settings.engine_settings import EndpointSettings
from tests.support.engines.server_engine import ServedEngine
from tests.support.servers.http_server import TOKEN, RunningServer, run_server
from tests.support.servers.strangers import connect, half_open, is_closed

NEVER = EndpointSettings(login_seconds=3600.0)
SOON = EndpointSettings(login_seconds=0.3)

SILENT = b""
HALF_A_HEAD = b"GET /v1/engine HTTP/1.1\r\nHost: localhost\r\nX-Filler: "
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
REFUSED_WITH_BODY = b"POST /v1/sql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n{"
HEALTH_WITH_BODY = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
UPGRADE = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
WRONG_TOKEN = b"POST /v1/sql HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer no\r\nContent-Length: 9\r\n\r\n"
BEGINNINGS = [SILENT, HALF_A_HEAD, HEALTH, REFUSED_WITH_BODY, HEALTH_WITH_BODY, UPGRADE, WRONG_TOKEN]


def port_of(server: RunningServer) -> int:
    port = urlsplit(server.url).port
    assert port is not None
    return port


def counts(server: RunningServer) -> list[tuple[int]]:
    """Return the rows that a client with the token gets."""
    with closing(EngineClient(server.url, TOKEN)) as client:
        return list(client.run("COUNT 2").rows)


def post(statement: str, session: str = "") -> tuple[bytes, bytes]:
    """Return the head and the body of a request with the token."""
    body = json.dumps({"statement": statement, "session": session or None}).encode()
    head = f"POST /v1/sql HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode(), body


def test_1500_half_open_connections_do_not_block_a_client() -> None:
    with (
        run_server(ServedEngine(), settings=NEVER) as server,
        half_open(port_of(server), 1500, *BEGINNINGS) as strangers,
    ):
        assert counts(server) == [(0,), (1,)]
        surplus = strangers[: len(strangers) - NEVER.logins_most]
        assert all(is_closed(stranger) for stranger in surplus)
        assert counts(server) == [(0,), (1,)]


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_a_connection_without_the_token_is_closed(beginning: bytes) -> None:
    with run_server(ServedEngine(), settings=SOON) as server, connect(port_of(server)) as stranger:
        stranger.sendall(beginning)
        assert is_closed(stranger)


@pytest.mark.parametrize("drop", [b"x", b"1\r\nx\r\n", HEALTH])
@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_bytes_that_trickle_do_not_keep_a_connection_open(beginning: bytes, drop: bytes) -> None:
    with run_server(ServedEngine(), settings=SOON) as server, connect(port_of(server)) as stranger:
        stranger.sendall(beginning)
        assert trickles_until_closed(stranger, drop)


def trickles_until_closed(connection: socket.socket, drop: bytes) -> bool:
    connection.settimeout(0.02)
    for _ in range(3000):
        with suppress(TimeoutError):
            try:
                connection.sendall(drop)
                if not connection.recv(65536):
                    return True
            except ConnectionError:
                return True
    return False


def test_a_client_that_reads_no_responses_is_closed() -> None:
    with run_server(ServedEngine(), settings=SOON) as server, connect(port_of(server)) as stranger:
        with pytest.raises(ConnectionError):
            while True:
                stranger.sendall(HEALTH * 1000)


def test_a_client_that_reads_no_rows_ends_its_statement() -> None:
    engine = ServedEngine()
    settings = EndpointSettings(session_idle_seconds=0.3)
    with run_server(engine, settings=settings) as server, connect(port_of(server)) as reader:
        reader.sendall(b"".join(post("ENDLESS")))
        assert engine.ended.wait(60)
        assert is_closed(reader)


def test_clients_that_read_no_rows_leave_threads_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login_limits, "UNREAD_MOST", 4)
    engine = ServedEngine()
    with run_server(engine) as server, ExitStack() as stack:
        for _ in range(5):
            stack.enter_context(connect(port_of(server))).sendall(b"".join(post("ENDLESS")))
        assert engine.ended.wait(60)  # the oldest was closed
        assert counts(server) == [(0,), (1,)]


def test_used_connection_needs_the_token_again() -> None:
    """Use the connection again, as a proxy does for another client."""
    with run_server(ServedEngine(), settings=SOON) as server, connect(port_of(server)) as connection:
        head, body = post("NOTHING")
        connection.sendall(head + body)
        assert connection.recv(1)
        connection.sendall(b"G")
        assert trickles_until_closed(connection, b"x")


def test_endless_body_is_aborted() -> None:
    with run_server(ServedEngine(), settings=SOON) as server, connect(port_of(server)) as connection:
        head, body = post("NOTHING")
        connection.sendall(head + body[:-1])
        assert is_closed(connection)


def wait_for_deadline(server: RunningServer, meanwhile: Callable[[], None] = lambda: None) -> None:
    """Connect without the token, and return when the connection was closed."""
    with connect(port_of(server)) as stranger:
        stranger.settimeout(0.05)
        while True:
            meanwhile()
            with suppress(TimeoutError):
                if not stranger.recv(1):
                    return


def test_a_body_that_is_slow_with_the_token_arrives() -> None:
    with run_server(ServedEngine(), settings=SOON) as server, connect(port_of(server)) as connection:
        body = json.dumps({"statement": "COUNT 1"}).encode()
        head = f"POST /v1/sql HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n"
        connection.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        wait_for_deadline(server, lambda: connection.sendall(b"1\r\n \r\n"))
        connection.sendall(f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
        assert answer.startswith(b"HTTP/1.1 200 ") and b'{"end":{"rows":1}}' in answer


def test_statement_longer_than_the_deadline_continues() -> None:
    engine = ServedEngine()
    with run_server(engine, settings=EndpointSettings(login_seconds=0.3, logins_most=1)) as server:
        with closing(EngineClient(server.url, TOKEN)) as client:
            failed: list[str] = []

            def wait() -> None:
                with pytest.raises(ReportedError) as caught:
                    client.run("WAIT")
                failed.append(caught.value.report.condition)

            waiting = threading.Thread(target=wait)
            waiting.start()
            assert engine.waiting.wait(30)
            wait_for_deadline(server)
            with half_open(port_of(server), 10):
                assert counts(server) == [(0,), (1,)]
            assert not engine.woken.is_set()
            client.cancel()
            waiting.join(30)
            assert failed == ["JETSQL.STATEMENT_CANCELLED"]


def test_every_statement_thread_and_more_have_a_connection() -> None:
    """Run 256 statements in parallel; the ones after them wait, and none of them is refused."""
    with run_server(ServedEngine(), settings=SOON) as server:
        clients = [HTTPConnection(urlsplit(server.url).netloc, timeout=60) for _ in range(600)]
        for client in clients:
            client.request("POST", "/v1/sql", json.dumps({"statement": "WAIT"}), {"Authorization": f"Bearer {TOKEN}"})
        wait_for_deadline(server)
        assert status_of_engine(server) == 200
        server.http_server.running.cancel_all()
        assert {client.getresponse().status for client in clients} == {503}
        for client in clients:
            client.close()


def test_requests_above_the_connection_limit_get_an_error() -> None:
    with run_server(ServedEngine(), settings=NEVER, connections_most=8) as server, ExitStack() as stack:
        for _ in range(7):
            client = stack.enter_context(closing(HTTPConnection(urlsplit(server.url).netloc, timeout=60)))
            client.request("POST", "/v1/sql", json.dumps({"statement": "WAIT"}), {"Authorization": f"Bearer {TOKEN}"})
        while len(server.http_server.running) < 7:
            time.sleep(0.01)
        surplus = stack.enter_context(closing(HTTPConnection(urlsplit(server.url).netloc, timeout=60)))
        surplus.request("GET", "/v1/engine", headers={"Authorization": f"Bearer {TOKEN}"})
        response = surplus.getresponse()
        assert response.status == 503
        assert (response.headers["Retry-After"], response.headers["Connection"]) == ("10", "close")
        error = json.loads(response.read())["error"]
        assert error["condition"] == "JETSQL.ENGINE_NOT_REACHABLE"
        assert error["message"] == "The engine refused the request: it has 8 HTTP connections, which is the limit."
        with pytest.raises(EngineError, match="refused the connection with HTTP status 503"):
            counts(server)


def status_of_engine(server: RunningServer) -> int:
    """Return the status of a request that needs no statement thread."""
    with closing(HTTPConnection(urlsplit(server.url).netloc, timeout=60)) as client:
        client.request("GET", "/v1/engine", headers={"Authorization": f"Bearer {TOKEN}"})
        return client.getresponse().status
