"""The HTTP endpoint with an engine without Spark, over real sockets: with JetSQL's client and with plain requests."""

from __future__ import annotations

import base64
import json
import re
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from unittest.mock import Mock
from urllib.parse import parse_qs, urlsplit

import pytest

from jetsql.client.engine_client import EngineClient
from jetsql.client.http_client import HttpClient, RequestNotSent
from jetsql.errors import EngineError, ReportedError, StatementError
from jetsql.home.discovery import proof, unbound_proof
from jetsql.server import app
from jetsql.server.auth import TokenAuth
from tests.conftest import until
from tests.support.engines.server_engine import ServedEngine
from tests.support.golden_reports import compare
from tests.support.servers.http_server import TOKEN, RunningServer, run_server


@pytest.fixture
def engine() -> ServedEngine:
    return ServedEngine()


@pytest.fixture(scope="module")
def shared() -> Iterator[RunningServer]:
    """Return a server for requests that change nothing."""
    with run_server(ServedEngine()) as server:
        yield server


@dataclass(frozen=True)
class Response:
    status: int
    content: bytes

    @property
    def error(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.content)
        return dict(content["error"])


def request(server: RunningServer, method: str, path: str, body: str = "", **headers: str) -> Response:
    """Send a request as a common HTTP library does, and return the response."""
    with closing(HTTPConnection(urlsplit(server.url).netloc, timeout=30)) as connection:
        connection.request(method, path, body, {"Authorization": f"Bearer {TOKEN}", **headers})
        response = connection.getresponse()
        return Response(response.status, response.read())


def test_rows_come_with_columns_and_types(remote: EngineClient) -> None:
    result = remote.run("COUNT 3")
    assert [(column.name, column.type) for column in result.columns] == [("n", "int")]
    assert list(result.rows) == [(0,), (1,), (2,)]


def test_many_rows_come_whole(remote: EngineClient) -> None:
    assert [n for (n,) in remote.run("COUNT 50000").rows] == list(range(50000))


def test_a_statement_without_columns(remote: EngineClient) -> None:
    result = remote.run("NOTHING")
    assert (result.columns, list(result.rows)) == ((), [])


def test_an_error_has_its_place_and_its_status(remote: EngineClient, server: RunningServer) -> None:
    with pytest.raises(ReportedError) as caught:
        remote.run("\n FAIL job")
    report = caught.value.report
    assert (report.condition, report.sqlstate, report.line, report.column) == ("JETSQL.JOB_NOT_FOUND", "42704", 2, 7)
    response = request(server, "POST", "/v1/sql", json.dumps({"statement": "FAIL job"}))
    assert response.status == 404
    assert response.error["hint"] == "See SHOW JOBS."


def test_error_after_the_first_rows(remote: EngineClient) -> None:
    rows = remote.run("LATE").rows
    assert next(rows) == (1,)
    with pytest.raises(ReportedError, match="the second row is broken"):
        next(rows)
    assert list(remote.run("COUNT 1").rows) == [(0,)]


def test_trace_is_returned_on_request(server: RunningServer) -> None:
    for asked in (False, True):
        body = json.dumps({"statement": "FAIL job", "trace": asked})
        trace = request(server, "POST", "/v1/sql", body).error["trace"]
        assert ("Traceback" in trace) is asked


def test_sessions_keep_their_schema(server: RunningServer) -> None:
    one, other = EngineClient(server.url, TOKEN), EngineClient(server.url, TOKEN)
    list(one.run("USE sales").rows)
    assert (one.current_schema(), other.current_schema()) == ("sales", "default")
    one.close()
    other.close()
    assert len(server.http_server.sessions) == 0


def test_session_is_closed_by_its_owner(server: RunningServer) -> None:
    first = EngineClient(server.url, TOKEN)
    list(first.run("COUNT 1").rows)
    with closing(EngineClient(server.url, TOKEN, session=first.session_id)) as second:
        list(second.run("COUNT 1").rows)
    assert len(server.http_server.sessions) == 1
    first.close()
    assert len(server.http_server.sessions) == 0


def test_lost_session(remote: EngineClient, server: RunningServer) -> None:
    list(remote.run("COUNT 1").rows)
    for session in list(server.http_server.sessions._sessions):
        server.http_server.sessions.close(session)
    with pytest.raises(ReportedError) as caught:
        remote.run("COUNT 1")
    assert caught.value.report.condition == "JETSQL.SESSION_NOT_FOUND"


def test_idle_sessions_are_closed_and_used_ones_stay(engine: ServedEngine) -> None:
    with run_server(engine, idle_seconds=2.0) as server:
        used, idle = EngineClient(server.url, TOKEN), EngineClient(server.url, TOKEN)
        rows = used.run("ENDLESS").rows
        next(rows)
        list(idle.run("COUNT 1").rows)
        until(lambda: len(server.http_server.sessions) == 1)
        assert next(rows)
        with pytest.raises(ReportedError, match="SESSION_NOT_FOUND"):
            idle.run("COUNT 1")
        used.close()
        idle.close()
        assert engine.ended.wait(30)


def test_too_many_sessions_are_refused(engine: ServedEngine) -> None:
    with run_server(engine, sessions_most=1) as server:
        first, second = EngineClient(server.url, TOKEN), EngineClient(server.url, TOKEN)
        list(first.run("COUNT 1").rows)
        with pytest.raises(EngineError, match="sessions"):
            second.run("COUNT 1")
        first.close()
        list(second.run("COUNT 1").rows)
        second.close()


def test_slow_reader_throttles_the_rows(remote: EngineClient, engine: ServedEngine) -> None:
    rows = remote.run("ENDLESS").rows
    next(rows)
    before = -1
    while engine.fetched != before:  # until nothing is fetched any more
        before = engine.fetched
        threading.Event().wait(0.2)
    assert engine.fetched < 20_000  # a kilobyte each: the buffers of the system and a few lines
    rows.close()  # type: ignore[attr-defined]
    assert engine.ended.wait(30)


def test_a_statement_can_be_cancelled(remote: EngineClient, engine: ServedEngine) -> None:
    failed: list[ReportedError] = []

    def wait() -> None:
        with pytest.raises(ReportedError) as caught:
            remote.run("WAIT")
        failed.append(caught.value)

    thread = threading.Thread(target=wait)
    thread.start()
    assert engine.waiting.wait(30)
    remote.cancel()
    thread.join(30)
    assert [caught.report.condition for caught in failed] == ["JETSQL.STATEMENT_CANCELLED"]


def test_a_client_that_leaves_cancels_its_statement(server: RunningServer, engine: ServedEngine) -> None:
    connection = HTTPConnection(urlsplit(server.url).netloc, timeout=30)
    body = json.dumps({"statement": "WAIT"})
    connection.request("POST", "/v1/sql", body, {"Authorization": f"Bearer {TOKEN}"})
    assert engine.waiting.wait(30)
    connection.close()
    assert engine.woken.wait(30)


def test_cancelling_an_ended_statement(server: RunningServer) -> None:
    response = request(server, "DELETE", "/v1/statements/none")
    assert (response.status, response.error["condition"]) == (404, "JETSQL.STATEMENT_NOT_FOUND")


@contextmanager
def waiting(
    server: RunningServer, engine: ServedEngine, session: str | None, statement_id: str
) -> Iterator[HTTPConnection]:
    """Run a statement that waits for its cancellation, and yield the connection whose response is to be read."""
    with closing(HTTPConnection(urlsplit(server.url).netloc, timeout=30)) as connection:
        body = json.dumps({"statement": "WAIT", "session": session, "id": statement_id})
        engine.waiting.clear()
        connection.request("POST", "/v1/sql", body, {"Authorization": f"Bearer {TOKEN}"})
        assert engine.waiting.wait(30)
        yield connection


def opened_session(server: RunningServer) -> str:
    return str(json.loads(request(server, "POST", "/v1/sessions").content)["session"])


def test_statement_is_cancelled_by_clients_with_its_session(server: RunningServer, engine: ServedEngine) -> None:
    mine, others = opened_session(server), opened_session(server)
    with waiting(server, engine, mine, "1") as connection:
        missing = request(server, "DELETE", f"/v1/sessions/{others}/statements/2")
        assert missing.status == 404
        for attack in ("/v1/statements/1", f"/v1/sessions/{others}/statements/1", "/v1/sessions/none/statements/1"):
            assert request(server, "DELETE", attack) == missing
        assert not engine.woken.is_set()
        assert request(server, "DELETE", f"/v1/sessions/{mine}/statements/1").status == 202
        assert b"STATEMENT_CANCELLED" in connection.getresponse().read()


def test_ids_of_other_sessions_are_free_and_hidden(server: RunningServer, engine: ServedEngine) -> None:
    mine, others = opened_session(server), opened_session(server)
    with waiting(server, engine, mine, "1") as connection:
        again = json.dumps({"statement": "COUNT 1", "session": others, "id": "1"})
        assert request(server, "POST", "/v1/sql", again).status == 200
        same = json.dumps({"statement": "COUNT 1", "session": mine, "id": "1"})
        assert request(server, "POST", "/v1/sql", same).status == 400
        request(server, "DELETE", f"/v1/sessions/{mine}/statements/1")
        connection.getresponse().read()


@pytest.mark.parametrize("statement_id", ["1", "x" * 21, "0" * 129, "a statement with a long name", "\u00e4" * 30])
def test_ids_of_statements_without_session_are_random(shared: RunningServer, statement_id: str) -> None:
    body = json.dumps({"statement": "COUNT 1", "id": statement_id})
    response = request(shared, "POST", "/v1/sql", body)
    assert (response.status, response.error["condition"]) == (400, "JETSQL.REQUEST_NOT_READABLE")
    assert "random UUID" in response.error["hint"]


def test_a_statement_without_a_session_is_cancelled_by_its_id(server: RunningServer, engine: ServedEngine) -> None:
    statement_id = str(uuid.uuid4())
    with waiting(server, engine, None, statement_id) as connection:
        assert request(server, "DELETE", f"/v1/sessions/None/statements/{statement_id}").status == 404
        assert request(server, "DELETE", f"/v1/statements/{statement_id}").status == 202
        assert b"STATEMENT_CANCELLED" in connection.getresponse().read()


def test_the_id_of_a_session_has_128_random_bits(server: RunningServer) -> None:
    sessions = {opened_session(server) for _ in range(20)}
    assert len(sessions) == 20
    assert min(len(base64.urlsafe_b64decode(session + "==")) for session in sessions) >= 16


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", "Bearer \u00e4"])
@pytest.mark.parametrize("path", ["/v1/engine", "/v1/sql", "/nowhere"])
def test_without_token_nothing_is_revealed(shared: RunningServer, header: str, path: str) -> None:
    response = request(shared, "GET", path, Authorization=header)
    assert (response.status, response.error["condition"]) == (401, "JETSQL.NOT_AUTHORIZED")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "localhost.evil.example", ""])
def test_unknown_host_name_is_refused(shared: RunningServer, host: str) -> None:
    assert request(shared, "GET", "/v1/engine", Host=host).status == 403


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:99", "[::1]:80", "[::1]"])
def test_loopback_has_several_names(shared: RunningServer, host: str) -> None:
    assert request(shared, "GET", "/v1/engine", Host=host).status == 200


def test_health_needs_no_token(server: RunningServer, engine: ServedEngine) -> None:
    up = request(server, "GET", "/healthz", Authorization="")
    assert (up.status, json.loads(up.content)) == (200, {"status": "up", "role": "leader"})
    for path in ("/readyz", "/leader"):
        engine.leads = True
        assert request(server, "GET", path, Authorization="").status == 200
        engine.leads = False
        unsure = request(server, "GET", path, Authorization="")
        assert (unsure.status, json.loads(unsure.content)) == (503, {"status": "unconfirmed"})
    assert request(server, "GET", "/healthz", Authorization="").status == 200
    engine.closed = True
    down = request(server, "GET", "/healthz", Authorization="")
    assert (down.status, json.loads(down.content)) == (503, {"status": "down", "role": "leader"})
    for path in ("/readyz", "/leader"):
        assert request(server, "GET", path, Authorization="").status == 503


def test_leader_without_its_store_refuses_statements(server: RunningServer, engine: ServedEngine) -> None:
    engine.leads = False
    for path, body in (("/v1/sql", '{"statement": "SELECT 1"}'), ("/v1/sessions", "{}")):
        answer = request(server, "POST", path, body)
        assert (answer.status, answer.error["condition"]) == (503, "JETSQL.NOT_LEADER")
        assert "cannot reach its store" in answer.error["message"]
    engine.leads = True
    assert request(server, "POST", "/v1/sessions", "{}").status == 201


def test_an_engine_whose_spark_does_not_answer_is_down(
    server: RunningServer, engine: ServedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "_SPARK_SECONDS", 0.1)
    answered, calls = threading.Event(), []

    def closed(engine: ServedEngine) -> bool:
        calls.append(engine)
        return not answered.wait(20)

    monkeypatch.setattr(type(engine), "closed", property(closed), raising=False)
    for _ in range(3):
        down = request(server, "GET", "/healthz", Authorization="")
        assert (down.status, json.loads(down.content)["status"]) == (503, "down")
    assert len(calls) == 1
    answered.set()
    until(lambda: request(server, "GET", "/healthz", Authorization="").status == 200)


def test_metrics_count_the_sessions_and_the_running_statements(server: RunningServer, remote: EngineClient) -> None:
    list(remote.run("COUNT 1").rows)
    shown = request(server, "GET", "/metrics")
    assert (shown.status, shown.content) == (200, b"jetsql_sessions 1\njetsql_statements 0\n")


def test_token_is_sent_only_after_proof_of_the_server() -> None:
    """Listen on the address of a killed engine, as any other program can."""
    received: list[bytes] = []

    def listen(listening: socket.socket) -> None:
        for _ in range(2):
            connection, _ = listening.accept()
            with connection:
                received.append(connection.recv(65536))
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 27\r\n\r\n" + b'{"proof": "0", "schema": 1}')
                received.append(connection.recv(65536))

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=listen, args=(listening,))
        thread.start()
        remote = EngineClient(f"http://127.0.0.1:{listening.getsockname()[1]}", TOKEN)
        for _ in range(2):
            with pytest.raises(EngineError, match=r"NOT_AUTHORIZED.*does not know the token"):
                remote.run("COUNT 1")
        thread.join(30)
    assert [part.split()[0] if part else part for part in received] == [b"GET", b"", b"GET", b""]
    assert TOKEN.encode() not in b"".join(received)


def asked_proof(path: str) -> str:
    """Return the proof that a request for /healthz asks for."""
    asked = parse_qs(urlsplit(path).query)
    return proof(TOKEN, *asked["nonce"], *asked["address"])


class Relay:
    """A program that forwards the request for a proof to an engine, and that any address makes its own."""

    def __init__(self, engine: str, rewrite: Callable[[str], str] = str) -> None:
        self.requests: list[str] = []
        relay = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                relay.requests.append(str(self.headers))
                with closing(HTTPConnection(urlsplit(engine).netloc, timeout=30)) as connection:
                    connection.request("GET", rewrite(self.path))
                    response = connection.getresponse()
                    content = response.read()
                self.send_response(response.status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_POST = do_GET

            def log_message(self, *_: object) -> None: ...

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> str:
        self._thread.start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join(30)
        self._server.server_close()


@pytest.mark.parametrize("attack", ["forward", "own address", "earlier release"])
def test_a_program_that_forwards_the_proof_gets_no_token(server: RunningServer, attack: str) -> None:
    def rewrite(path: str) -> str:
        bare, _, _ = path.partition("&address=")
        own = {"forward": path, "own address": f"{bare}&address={urlsplit(server.url).netloc}", "earlier release": bare}
        return own[attack]

    relay = Relay(server.url, rewrite)
    with relay as url, pytest.raises(RequestNotSent, match="NOT_AUTHORIZED") as caught:
        HttpClient(url, TOKEN).request("GET", "/v1/engine")
    assert "the token was not sent" in caught.value.message
    assert len(relay.requests) == 1 and TOKEN not in "".join(relay.requests)


def test_forwarded_address_is_accepted_by_setting() -> None:
    access = TokenAuth(TOKEN, ("engine.example.com", "localhost:8080"))
    for address in ("localhost:7000", "engine.example.com:7000", "ENGINE.example.com:443", "localhost:8080"):
        assert access.proof("n", address, 7000) == proof(TOKEN, "n", address)
    for address in ("localhost:8081", "engine.example.com:8080", "other.example.com:7000", "7000", ""):
        with pytest.raises(StatementError, match="NOT_AUTHORIZED"):
            access.proof("n", address, 7000)


def test_engine_of_an_earlier_release_is_trusted_by_its_note() -> None:
    """Trust the address in the private note of a home, so that an updated client can stop the engine."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            [nonce] = parse_qs(urlsplit(self.path).query).get("nonce", [""])
            content = json.dumps({"proof": unbound_proof(TOKEN, nonce), "home": "h"}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        url = f"http://127.0.0.1:{listening.server_port}"
        try:
            with closing(HttpClient(url, TOKEN, binds_proof=False)) as known:
                assert known.request("GET", "/v1/engine")["home"] == "h"
            with pytest.raises(RequestNotSent, match=r"NOT_AUTHORIZED.*does not know the token"):
                HttpClient(url, TOKEN).request("GET", "/v1/engine")
        finally:
            listening.shutdown()
            thread.join(30)


def test_the_token_stays_on_the_connection_that_was_proved() -> None:
    """Close the connection after the proof: the address of an engine that ends may go to another program."""
    requests: list[tuple[str, str | None]] = []

    class Handler(BaseHTTPRequestHandler):  # closes each connection after its response
        def do_GET(self) -> None:
            requests.append((self.command, self.headers["Authorization"]))
            content = json.dumps({"proof": asked_proof(self.path)}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self) -> None:
            requests.append((self.command, self.headers["Authorization"]))

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            with pytest.raises(RequestNotSent, match=r"ENGINE_NOT_REACHABLE.*before the request was sent"):
                EngineClient(f"http://127.0.0.1:{listening.server_port}", TOKEN).run("COUNT 1")
        finally:
            listening.shutdown()
            thread.join(30)
    assert requests == [("GET", None)]


def read_request(connection: socket.socket) -> bytes:
    """Return the head of a request after its body was read: a close with unread bytes would reset the connection."""
    length = 0
    with connection.makefile("rb") as stream:
        head = b""
        while (line := stream.readline()) not in (b"\r\n", b""):
            head += line
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        stream.read(length)
    return head


@contextmanager
def dying(answer: bytes) -> Iterator[str]:
    """Serve one connection as an engine that proves itself, and that ends during its next response."""

    def serve(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            path = read_request(connection).split()[1].decode()
            shown = json.dumps({"proof": asked_proof(path)}).encode()
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(shown), shown))
            read_request(connection)
            connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,))
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread.join(30)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{",
        b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 99\r\n\r\n{",
    ],
    ids=["before the answer", "in the answer", "in an error"],
)
def test_lost_connection_leaves_the_outcome_unknown(answer: bytes) -> None:
    with dying(answer) as url, closing(HttpClient(url, TOKEN)) as client, pytest.raises(EngineError) as lost:
        client.request("GET", "/v1/engine")
    assert lost.value.condition == "JETSQL.CONNECTION_LOST"
    assert not isinstance(lost.value, RequestNotSent)


def test_a_connection_that_ends_in_the_rows_is_lost() -> None:
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{}\n\r\nff\r\n["
    with dying(answer) as url, closing(HttpClient(url, TOKEN)) as client:
        lines = client.stream_lines("/v1/sql", {})
        assert next(lines) == b"{}\n"
        with pytest.raises(EngineError) as lost:
            list(lines)
    assert lost.value.condition == "JETSQL.CONNECTION_LOST"


def test_response_without_length_ends_with_the_connection() -> None:
    with dying(b"HTTP/1.1 200 OK\r\n\r\n{}\n") as url, closing(HttpClient(url, TOKEN)) as client:
        assert list(client.stream_lines("/v1/sql", {})) == [b"{}\n"]


def test_unknown_host_name_is_reported_to_the_client(shared: RunningServer) -> None:
    remote = EngineClient(f"http://127.1:{urlsplit(shared.url).port}", TOKEN)
    with pytest.raises(RequestNotSent, match=r"does not accept the address 127\.1.*http_hosts"):
        remote.run("COUNT 1")


BAD_BODIES = [
    ("", "not JSON"),
    ("{", "not JSON"),
    ("[]", "not a JSON object"),
    ("{}", "'statement' is missing"),
    ('{"statement": ""}', "'statement' is missing"),
    ('{"statement": 1}', "the wrong type"),
    ('{"statement": "COUNT 1", "sql": 1}', "no field 'sql'"),
    ('{"statement": "COUNT 1", "parameters": 1}', "the wrong type"),
    ("[" * 100_000, "not JSON"),
    (r'{"statement": "COUNT 1 \ud800"}', "an unpaired surrogate"),
    (r'{"statement": "COUNT 1", "parameters": ["\udfff"]}', "an unpaired surrogate"),
    (r'{"statement": "COUNT 1", "parameters": {"\udfff": 1}}', "an unpaired surrogate"),
    (r'{"statement": "COUNT 1", "id": "\ud800"}', "an unpaired surrogate"),
    ('{"statement": "ARGS ?", "parameters": ' + "[" * 101 + "]" * 101 + "}", "more than 100 levels"),
    ('{"statement": "ARGS ?", "parameters": ' + "[" * 500 + "]" * 500 + "}", "more than 100 levels"),
    ('{"statement": "ARGS ?", "parameters": ' + "[" * 10_000 + "]" * 10_000 + "}", "not JSON"),
    ('{"statement": "ARGS ?", "parameters": ' + '{"a": ' * 500 + "1" + "}" * 501, "more than 100 levels"),
    ('{"statement": "ARGS ?", "parameters": [' + "9" * 5000 + "]}", "not JSON"),
    ('{"statement": "' + "x" * 33 * 2**20 + '"}', "larger than 32 MiB"),
    ('{"statement": "ARGS ?", "parameters": [' + "0," * 250_000 + "0]}", "more than 250000 values"),
    ('{"statement": "ARGS ?", "parameters": [' + '{"":0},' * 130_000 + "0]}", "more than 250000 values"),
    ('{"statement": "' + r"\"" * 300_000 + '"' + ",[" * 150_000, "more than 250000 values"),
    ('{"statement": "' + r"[\"" * 300_000, "not JSON"),
]


@pytest.mark.parametrize(("body", "words"), BAD_BODIES, ids=[f"{body[:60]} {words}" for body, words in BAD_BODIES])
def test_invalid_requests(shared: RunningServer, body: str, words: str) -> None:
    response = request(shared, "POST", "/v1/sql", body)
    error = response.error
    assert (response.status, error["condition"]) == (400, "JETSQL.REQUEST_NOT_READABLE")
    assert words in error["message"]


def test_marks_in_a_text_are_no_parameters(shared: RunningServer) -> None:
    body = json.dumps({"statement": "ARGS ?", "parameters": ['[{,"' * 100_000]})
    assert request(shared, "POST", "/v1/sql", body).status == 200


def test_unknown_paths_and_methods(shared: RunningServer) -> None:
    assert request(shared, "GET", "/nowhere").status == 404
    assert request(shared, "GET", "/v1/sql").status == 405


REQUESTS: list[tuple[str, str, dict[str, Any] | None, dict[str, str]]] = [
    ("GET", "/healthz", None, {}),
    ("GET", "/healthz", None, {"Authorization": ""}),
    ("GET", "/v1/engine", None, {"Authorization": ""}),
    ("GET", "/v1/engine", None, {"Host": "evil.example"}),
    ("GET", "/nowhere", None, {}),
    ("GET", "/v1/sql", None, {}),
    ("GET", "/v1/jobs", None, {}),
    ("GET", "/v1/jobs?all=true", None, {}),
    ("GET", "/v1/jobs?all=1", None, {}),
    ("GET", "/v1/jobs?all=true&some=1", None, {}),
    ("GET", "/v1/metrics", None, {}),
    ("DELETE", "/v1/sessions/none", None, {}),
    ("DELETE", "/v1/sessions/none/statements/none", None, {}),
    ("DELETE", "/v1/statements/none", None, {}),
    ("POST", "/v1/sql", {}, {}),
    ("POST", "/v1/sql", {"statement": "COUNT 2"}, {}),
    ("POST", "/v1/sql", {"statement": "COUNT 2", "sql": 1}, {}),
    ("POST", "/v1/sql", {"statement": 1}, {}),
    ("POST", "/v1/sql", {"statement": "COUNT 2", "id": "1"}, {}),
    ("POST", "/v1/sql", {"statement": "COUNT 2", "session": "none"}, {}),
    ("POST", "/v1/sql", {"statement": "ARGS ?", "parameters": [[1, "a"]]}, {}),
    ("POST", "/v1/sql", {"statement": "ARGS ?", "parameters": [{"type": "INT", "value": "a"}]}, {}),
    ("POST", "/v1/sql", {"statement": "FAIL"}, {}),
    ("POST", "/v1/sessions", {"a": 1}, {}),
]


@pytest.mark.parametrize("case", REQUESTS, ids=lambda case: " ".join(map(str, case)))
def test_complete_responses(
    shared: RunningServer, case: tuple[str, str, dict[str, Any] | None, dict[str, str]]
) -> None:
    method, path, body, headers = case
    with closing(HTTPConnection(urlsplit(shared.url).netloc, timeout=30)) as connection:
        content = None if body is None else json.dumps(body)
        connection.request(method, path, content, {"Authorization": f"Bearer {TOKEN}", **headers})
        response = connection.getresponse()
        answered = sorted(f"{name}: {value}" for name, value in response.getheaders() if name != "date")
        text = re.sub(r'"(id|session)":\s*"[^"]+"', r'"\1": "*"', response.read().decode())
        compare([str(response.status), *(each for each in answered if "content-length" not in each), text])


def test_stop_is_requested(server: RunningServer) -> None:
    assert request(server, "POST", "/v1/engine/stop", "{}").status == 202
    assert server.stop_requested.is_set()


def test_engine_not_reachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    with pytest.raises(RequestNotSent) as caught:
        HttpClient(url, TOKEN).request("GET", "/v1/engine")
    assert caught.value.condition == "JETSQL.ENGINE_NOT_REACHABLE"


def test_an_error_without_a_message_is_reported_by_its_type(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(connection: HTTPConnection) -> None:
        raise HTTPException

    monkeypatch.setattr(HTTPConnection, "connect", refuse)
    with pytest.raises(RequestNotSent, match=r"No engine answers at http://localhost:1: HTTPException\."):
        HttpClient("http://localhost:1", TOKEN).request("GET", "/v1/engine")


def test_server_without_the_token_gets_no_statement(shared: RunningServer) -> None:
    with pytest.raises(RequestNotSent) as caught:
        HttpClient(shared.url, "another").request("GET", "/v1/engine")
    assert caught.value.condition == "JETSQL.NOT_AUTHORIZED"


def test_statement_sent_to_an_ending_engine_is_reported(remote: EngineClient) -> None:
    with pytest.raises(EngineError) as caught:
        remote.run("DIE")
    assert caught.value.condition == "JETSQL.ENGINE_NOT_REACHABLE"
    assert not isinstance(caught.value, RequestNotSent)


def test_cancelling_without_engine_is_no_error(engine: ServedEngine) -> None:
    with run_server(engine) as server:
        remote = EngineClient(server.url, TOKEN)
        rows = remote.run("ENDLESS").rows
        next(rows)
    remote.cancel()
    remote.close()
    with pytest.raises(RequestNotSent):
        remote.run("COUNT 1")


def test_an_engine_that_ends_in_the_middle_of_the_rows(engine: ServedEngine) -> None:
    with run_server(engine) as server:
        remote = EngineClient(server.url, TOKEN)
        rows = remote.run("ENDLESS").rows
        next(rows)
        server.http_server.running.cancel_all()
        with pytest.raises((ReportedError, EngineError)):
            for _ in rows:
                pass
        remote.close()


def test_a_backup_is_written_by_the_engine(server: RunningServer) -> None:
    written = request(server, "POST", "/v1/backup", '{"folder": "/backup/monday"}')
    assert written.status == 200
    message = json.loads(written.content)
    assert (message["home"], message["snapshots"], message["jobs"][0]["committed"]) == ("/backup/monday", ["s"], 6)
    failed = request(server, "POST", "/v1/backup", '{"folder": "/backup/full"}')
    assert (failed.status, failed.error["condition"]) == (500, "JETSQL.BACKUP_FAILED")
    for body in ("{}", '{"folder": "a"}', '{"folder": 1}', '{"folder": "/a\\u0000"}', '{"folder": "/a", "b": 1}'):
        assert request(server, "POST", "/v1/backup", body).status == 400


def test_a_stop_ends_a_backup(engine: ServedEngine, server: RunningServer) -> None:
    with ThreadPoolExecutor() as threads:
        written = threads.submit(request, server, "POST", "/v1/backup", '{"folder": "/backup/slow"}')
        assert engine.waiting.wait(60)
        server.http_server.cancel_running()
        assert written.result().error["message"] == "The engine is stopping."


@pytest.mark.parametrize("accept", ["*/*", "application/vnd.apache.arrow.stream"])
def test_a_response_whose_statement_dies_has_no_end(
    server: RunningServer, engine: ServedEngine, monkeypatch: pytest.MonkeyPatch, accept: str
) -> None:
    """Break the response off: a reader of Arrow would take its end for the end of the rows."""
    monkeypatch.setattr(engine, "error", Mock(side_effect=MemoryError))
    with pytest.raises(HTTPException):
        request(server, "POST", "/v1/sql", json.dumps({"statement": "LATE"}), Accept=accept)
