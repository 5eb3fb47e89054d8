"""Live results of the HTTP endpoint, with an engine without Spark: from its batches to those of the client."""

from __future__ import annotations

import json
import threading
from typing import Any
from urllib.request import Request, urlopen

import pytest

from jetsql.client.engine_client import EngineClient
from jetsql.errors import EngineError, ReportedError
from jetsql.live_rows import LiveMode
from jetsql.server.statement_result import StatementResult
from tests.support.engines.server_engine import ServedEngine
from tests.support.servers.http_server import TOKEN, RunningServer


@pytest.fixture
def engine() -> ServedEngine:
    return ServedEngine()


def test_batches_come_with_their_rows(remote: EngineClient) -> None:
    answer = remote.run("LOOK 2 0 1", live=True)
    assert answer.live is not None and answer.live.mode is LiveMode.APPEND
    found = [(batch.number, list(batch.rows)) for batch in answer.batches]
    assert found == [(0, [(0,), (1,)]), (1, []), (2, [(200,)])]


def test_rows_are_those_of_all_batches(remote: EngineClient) -> None:
    assert list(remote.run("LOOK 2 0 1", live=True).rows) == [(0,), (1,), (200,)]
    assert list(remote.run("LOOK", live=True).rows) == []


def test_unread_rows_of_a_batch_are_skipped(remote: EngineClient) -> None:
    batches = remote.run("LOOK 3 100 1", live=True).batches
    first = next(batches)
    assert next(first.rows) == (0,)
    assert next(batches).number == 1
    assert list(next(batches).rows) == [(200,)]
    assert list(first.rows) == []


def test_live_response_needs_a_request(remote: EngineClient) -> None:
    assert remote.run("COUNT 2").live is None
    assert remote.run("COUNT 2", live=True).live is None
    with pytest.raises(ReportedError):
        remote.run("LOOK 1")


def test_lines_of_a_live_response(server: RunningServer) -> None:
    body = json.dumps({"statement": "LOOK 2 0", "live": True}).encode()
    with urlopen(Request(f"{server.url}/v1/sql", body, {"Authorization": f"Bearer {TOKEN}"})) as response:
        lines = [json.loads(line) for line in response]
    assert lines == [
        {"columns": [{"name": "n", "type": "bigint"}], "live": "append"},
        {"rows": [[0], [1]]},
        {"batch": {"number": 0, "rows": 2}},
        {"batch": {"number": 1, "rows": 0}},
        {"end": {"rows": 2}},
    ]


def test_slow_reader_throttles_the_select(remote: EngineClient, engine: ServedEngine) -> None:
    batches = remote.run("LOOK ENDLESS", live=True).batches
    next(next(batches).rows)
    before = -1
    while engine.fetched != before:  # until nothing is fetched any more
        before = engine.fetched
        threading.Event().wait(0.2)
    remote.abandon_response()
    assert engine.ended.wait(30)


def test_leaving_ends_the_select_and_the_next_statement_runs(remote: EngineClient, engine: ServedEngine) -> None:
    answer = remote.run("LOOK 1 ENDLESS", live=True)
    assert list(next(answer.batches).rows) == [(0,)]
    remote.abandon_response()
    assert engine.ended.wait(30)
    assert list(remote.run("COUNT 1").rows)


def test_an_engine_that_ends_in_the_middle_of_a_batch(remote: EngineClient, server: RunningServer) -> None:
    answer = remote.run("LOOK ENDLESS", live=True)
    next(answer.rows)
    server.http_server.running.cancel_all()
    with pytest.raises((ReportedError, EngineError)):
        for _ in answer.rows:
            pass


def test_a_session_that_is_closed_ends_its_selects(remote: EngineClient, engine: ServedEngine) -> None:
    answer = remote.run("LOOK ENDLESS", live=True)
    other = remote.open_parallel()
    next(answer.rows)
    other.request("DELETE", f"/v1/sessions/{remote.session_id}")
    with pytest.raises(ReportedError, match="session was closed"):
        for _ in answer.rows:
            pass
    assert engine.ended.wait(30)
    other.close()


def test_a_session_that_is_closed_while_its_select_is_planned(remote: EngineClient, server: RunningServer) -> None:
    sessions, session = server.http_server.sessions, remote.session_id
    planned, other = sessions._sessions[session].session, remote.open_parallel()

    class Planning:
        """A session whose client disconnects while the streaming select is planned."""

        def run(self, *arguments: Any) -> StatementResult:
            other.request("DELETE", f"/v1/sessions/{session}")
            return planned.run(*arguments)

    sessions._sessions[session].session = Planning()  # type: ignore[assignment]
    with pytest.raises(ReportedError, match="session was closed"):
        remote.run("LOOK ENDLESS", live=True)
    other.close()


def test_error_after_the_first_batch(remote: EngineClient) -> None:
    batches = remote.run("LOOK 1 BROKEN", live=True).batches
    assert list(next(batches).rows) == [(0,)]
    with pytest.raises(ReportedError, match="BROKEN"):
        next(batches)
