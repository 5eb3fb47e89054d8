"""The HTTP endpoint of a standby, and clients that follow the leader."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from jetsql.client import dbapi
from jetsql.client.engine_address import parse_address
from jetsql.client.http_client import HttpClient
from jetsql.errors import EngineError
from jetsql.jobs.access.access_records import ENGINE_ITSELF, Grant, Right, User, UserToken
from jetsql.jobs.access.access_state import AccessState
from jetsql.jobs.access.token_accounts import StoredAccounts
from jetsql.jobs.access.user_tokens import make_token
from jetsql.server.standby_app import StandbyStatus
from tests.support.engines.server_engine import ServedEngine
from tests.support.servers.http_server import TOKEN, RunningServer, run_server
from tests.support.servers.standby_http import run_standby


@pytest.fixture
def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@pytest.fixture
def server() -> Iterator[RunningServer]:
    with run_server(ServedEngine()) as running:
        yield running


def get(url: str, path: str, token: str = "", method: str = "GET") -> tuple[int, dict[str, object]]:
    connection = HTTPConnection(urlsplit(url).netloc)
    connection.request(method, path, headers={"Authorization": f"Bearer {token}"} if token else {})
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, json.loads(content) if content else {}


def test_standby_reports_its_role_and_the_leader() -> None:
    stopped: list[bool] = []
    states: list[StandbyStatus] = ["standby"]
    with run_standby(lambda: "http://leader:1", lambda: stopped.append(True), status=lambda: states[-1]) as url:
        assert get(url, "/healthz") == (200, {"status": "up", "role": "standby"})
        assert get(url, "/readyz") == (200, {"status": "standby"})
        assert get(url, "/leader") == (503, {"status": "standby"})
        states.append("rehearsing")
        assert get(url, "/readyz") == (503, {"status": "rehearsing"})
        states.append("unconfirmed")
        assert get(url, "/readyz") == (503, {"status": "unconfirmed"})
        assert get(url, "/v1/engine", TOKEN)[1]["leader"] == "http://leader:1"
        status, body = get(url, "/v1/sql", TOKEN, "POST")
        assert (status, body["leader"]) == (503, "http://leader:1") and "JETSQL.NOT_LEADER" in str(body["error"])
        for path in ("/v1/engine", "/v1/sql", "/metrics", "/nowhere"):
            assert get(url, path)[0] == 401, path
        assert get(url, "/v1/engine/stop", "wrong", "POST")[0] == 401 and not stopped
        assert get(url, "/v1/engine/stop", TOKEN, "POST")[0] == 202 and stopped


def test_standby_knows_the_users_of_the_store() -> None:
    stopped: list[bool] = []
    created = make_token()
    state = AccessState(
        users=(User("ann", 0.0), User("boss", 0.0)),
        tokens=(UserToken(created.id, "ann", created.digest, 0.0),),
        grants=(Grant("boss", Right.ADMIN, ENGINE_ITSELF),),
    )
    accounts = StoredAccounts(lambda: state, time.time)
    with run_standby(lambda: "http://leader:1", lambda: stopped.append(True), accounts=accounts) as url:
        assert get(url, "/v1/sql", created.text, "POST")[1]["leader"] == "http://leader:1"
        assert "home" not in get(url, "/v1/engine", created.text)[1] and "home" in get(url, "/v1/engine", TOKEN)[1]
        assert get(url, "/v1/engine/stop", created.text, "POST")[0] == 403 and not stopped
        state = replace(state, tokens=())
        assert get(url, "/v1/engine", created.text)[0] == 401
        assert get(url, "/v1/engine/stop", TOKEN, "POST")[0] == 202 and stopped


def test_a_client_follows_the_leader(server: RunningServer, free_port: int) -> None:
    leaders = ["", server.url]
    with run_standby(lambda: leaders.pop(0) if len(leaders) > 1 else leaders[0]) as standby:
        client = HttpClient(f"http://127.0.0.1:{free_port},{standby}", TOKEN)
        assert client.request("POST", "/v1/sessions", {})["schema"]
        assert client.url == server.url
        client.close()


def test_db_api_connection_continues_with_the_next_leader() -> None:
    """Replace the leader. The session ended with it, and had nothing that a statement could miss."""
    with ExitStack() as servers:
        first = servers.enter_context(run_server(ServedEngine()))
        with run_server(ServedEngine()) as second:
            connection = dbapi.connect(f"{first.url},{second.url}", token=TOKEN, schema="sales")
            servers.close()
            for number in (1, 2):
                cursor = connection.cursor()
                cursor.execute(f"COUNT {number}")
                assert len(cursor.fetchall()) == number
            assert connection.schema == "`sales`"
            connection.close()


def test_single_unreachable_address_is_reported_immediately(free_port: int) -> None:
    started = time.monotonic()
    with pytest.raises(EngineError, match="No engine answers"):
        HttpClient(f"http://127.0.0.1:{free_port}", TOKEN).request("GET", "/v1/engine")
    assert time.monotonic() < started + 10.0


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("jetsql://:t@a:1,b:2/s", "http://a:1,http://b:2"),
        ("jetsql://:t@a:1/s?host=b:2&host=[::1]:3", "http://a:1,http://b:2,http://[::1]:3"),
        ("jetsql://:t@a:1,b:2/s?tls=true", "https://a:1,https://b:2"),
        ("http://:t@a:1,b:2/prefix", "http://a:1/prefix,http://b:2/prefix"),
        ("http://:t@a:1,http://b:2/prefix", "http://a:1/prefix,http://b:2/prefix"),
        ("http://a", "http://a"),
    ],
)
def test_addresses_of_several_engines(url: str, expected: str) -> None:
    assert parse_address(None, url, None, None, False).url == expected


@pytest.mark.parametrize("url", ["jetsql://:t@a:1,b:x/s", "jetsql://:t@a:1,,b:2", "jetsql://:t@a:1?host=u@b:1"])
def test_addresses_that_cannot_be_read(url: str) -> None:
    with pytest.raises(ValueError, match="Write"):
        parse_address(None, url, None, None, False)
