"""A user reads streams with SELECT over HTTP: within its rights, and only as long as it has them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from jetsql.client.engine_client import EngineClient
from jetsql.embedded.engine_instance import EngineInstance
from jetsql.errors import ReportedError
from tests.support.rights.restricted_session import HIDDEN, Restricted
from tests.support.servers.http_server import run_server
from tests.support.servers.thrift_server import NEVER, thrift

pytestmark = pytest.mark.spark
Run = Callable[[str], tuple[str, str]]
"""Runs a statement of ann, and returns the condition of its error and its whole text, or the text of the rows."""


@pytest.fixture(scope="module", params=["HTTP", "Thrift"])
def run(request: pytest.FixtureRequest, engine: EngineInstance, ann: Restricted) -> Iterator[Run]:
    if request.param == "HTTP":
        with run_server(engine) as server, closing(EngineClient(server.url, ann.tokens["ann"])) as client:
            yield lambda text: _over_http(client, ann.filled(text))
        return
    with thrift(engine, NEVER) as endpoint, closing(endpoint.client("ann", ann.tokens["ann"])) as client:
        yield lambda text: _over_thrift(*client.outcome(ann.filled(text)))


def _over_http(client: EngineClient, text: str) -> tuple[str, str]:
    try:
        return "", repr(list(client.run(text).rows))
    except ReportedError as error:
        return error.report.condition or "failed", str(error)


def _over_thrift(is_error: bool, text: str) -> tuple[str, str]:
    found = re.search(r"\[([A-Z_.0-9]+)\]", text)
    return ("", text) if not is_error else (found[1] if found else "failed", text)


def test_stream_within_the_rights_is_read(engine: EngineInstance, ann: Restricted) -> None:
    for text in (
        "SELECT id, current_user() AS who FROM STREAM s.orders LIMIT 2",
        "SELECT o.id, name, current_user() AS who FROM STREAM s.orders o JOIN s.items i ON o.id = i.id LIMIT 2",
        "SELECT s.twice(id) AS id, current_user() AS who FROM STREAM s.orders LIMIT 2",
        "WITH read AS (SELECT id FROM STREAM s.orders) SELECT *, current_user() AS who FROM read LIMIT 2",
    ):
        with run_server(engine) as server, closing(EngineClient(server.url, ann.tokens["ann"])) as client:
            condition, shown = _over_http(client, text)
        assert not condition, shown
        assert shown.count("ann") == 2, shown


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM STREAM hr.pay LIMIT 1",
        "SELECT * FROM STREAM s.hidden LIMIT 1",
        "SELECT id FROM STREAM s.orders WHERE id IN (SELECT id FROM hr.pay) LIMIT 1",
        "SELECT * FROM STREAM s.orders JOIN hr.pay USING (id) LIMIT 1",
        "SELECT id FROM STREAM s.orders UNION ALL SELECT id FROM STREAM hr.pay LIMIT 1",
        "SELECT s.leak() FROM STREAM s.orders LIMIT 1",
        "SELECT * FROM STREAM s.orders, LATERAL (SELECT * FROM s.leaked_rows()) LIMIT 1",
        "SELECT reflect('java.lang.System', 'setProperty', 'jetsql.canary', 'x') FROM STREAM s.orders LIMIT 1",
        "SELECT _metadata.file_path FROM STREAM s.orders LIMIT 1",
        "SELECT * FROM STREAM text.`{file}` LIMIT 1",
        "SELECT * FROM STREAM s.orders WITH ('path' = '{folder}') LIMIT 1",
        "SELECT * FROM STREAM IDENTIFIER('hr.pay') LIMIT 1",
        "SELECT y FROM s.broken, STREAM s.orders LIMIT 1",
    ],
)
def test_stream_reaches_nothing(run: Run, ann: Restricted, text: str) -> None:
    condition, shown = run(text)
    assert condition, shown
    assert not [word for word in HIDDEN if word in shown and word not in text], shown
    assert ann.effects() == []


@pytest.mark.parametrize(
    "text", ["REVOKE SELECT ON TABLE s.orders FROM ann", "ALTER USER ann DISABLE"], ids=["revoked", "disabled"]
)
def test_lost_right_ends_a_running_select(engine: EngineInstance, ann: Restricted, text: str) -> None:
    with run_server(engine) as server, closing(EngineClient(server.url, ann.tokens["ann"])) as client:
        batches = client.run("SELECT id FROM STREAM s.orders", live=True).batches
        assert list(next(batches).rows)
        ann.run_as_owner(text)
        try:
            with pytest.raises(ReportedError, match=r"cannot be found|was closed"):
                for batch in batches:
                    list(batch.rows)
        finally:
            ann.run_as_owner("ALTER USER ann ENABLE")
            ann.run_as_owner("GRANT SELECT ON TABLE s.orders TO ann")
