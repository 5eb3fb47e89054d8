"""A user reads streams with SELECT: within its rights, and only as long as it has them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from jetsql.client.engine_client import EngineClient
from jetsql.embedded.engine_instance import EngineInstance
from jetsql.errors import ReportedError
from tests.support.rights.restricted_session import HIDDEN, Restricted
from tests.support.rights.user_logins import ENDPOINTS, Run, logged_in
from tests.support.servers.http_server import run_server

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", params=ENDPOINTS)
def run(request: pytest.FixtureRequest, ann: Restricted) -> Iterator[Run]:
    with logged_in(request.param, ann) as run:
        yield run


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id, current_user() AS who FROM STREAM s.orders LIMIT 2",
        "SELECT o.id, name, current_user() AS who FROM STREAM s.orders o JOIN s.items i ON o.id = i.id LIMIT 2",
        "SELECT s.twice(id) AS id, current_user() AS who FROM STREAM s.orders LIMIT 2",
        "WITH read AS (SELECT id FROM STREAM s.orders) SELECT *, current_user() AS who FROM read LIMIT 2",
        "SELECT id % 2 AS half, max(current_user()) AS who FROM STREAM s.orders GROUP BY id % 2 ORDER BY 1 LIMIT 2",
    ],
)
def test_stream_within_the_rights_is_read(run: Run, text: str) -> None:
    condition, shown = run(text)
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
            with pytest.raises(ReportedError, match=r"cannot be found|was disabled"):
                for batch in batches:
                    list(batch.rows)
        finally:
            ann.run_as_owner("ALTER USER ann ENABLE")
            ann.run_as_owner("GRANT SELECT ON TABLE s.orders TO ann")
