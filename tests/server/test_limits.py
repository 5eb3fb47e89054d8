"""Fair use over HTTP: the limits of a user without ADMIN, which admins do not have."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pyarrow
import pytest

from jetsql.jobs.model.job_settings import LimitSettings
from jetsql.server.statement_rows import count_rows
from tests.conftest import until
from tests.server.test_users import Site
from tests.support.engines.managed_engine import Managed
from tests.support.screens.console_browser import run_console
from tests.support.servers.http_server import TOKEN

JOB = "CREATE JOB {} AS INSERT INTO totals SELECT * FROM STREAM orders"
WAIT = "WAIT FOR JOB j UNTIL BATCH 1000 TIMEOUT 60 SECONDS"


def open_site(folder: Path, limits: LimitSettings) -> Iterator[Site]:
    with closing(Managed(folder / "home", limits=limits)) as engine, run_console(engine) as server:
        site = Site(server, engine, {"owner": TOKEN})
        for job in ("j", "k"):
            site.rows("owner", JOB.format(job))
        site.rows("owner", "CREATE USER ann")
        site.tokens["ann"] = str(site.rows("owner", "CREATE TOKEN FOR ann")[0][1])
        for job in ("j", "k"):
            site.rows("owner", f"GRANT OPERATE ON JOB {job} TO ann")
        yield site


@pytest.fixture
def site(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    yield from open_site(tmp_path, request.param)


def limited(**limits: float) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("site", [LimitSettings(**limits)], indirect=True)  # type: ignore[arg-type]


@limited(user_statements_most=2)
def test_statements_that_run_at_a_time(site: Site) -> None:
    with ThreadPoolExecutor(3) as threads:
        waiting = [threads.submit(site.run, "ann", WAIT) for _ in range(2)]
        until(lambda: len(site.server.http_server.running) == 2)
        response = site.run("ann", "SHOW JOBS")
        error = json.loads(response.content)["error"]
        assert response.status == 429
        assert (error["condition"], error["sqlstate"]) == ("JETSQL.LIMIT_EXCEEDED", "53400")
        assert "2 statements" in error["message"] and "statements_most with ALTER USER" in error["hint"]
        assert len(site.rows("owner", "SHOW JOBS")) == 2
        site.rows("owner", "DROP JOB j")
        for each in waiting:
            each.result()
    assert len(site.rows("ann", "SHOW JOBS")) == 1


@limited(user_rows_most=1)
def test_rows_of_a_result(site: Site) -> None:
    assert site.condition("ann", "SHOW JOBS") == "JETSQL.LIMIT_EXCEEDED"
    assert len(site.rows("ann", "SHOW JOBS LIKE 'j'")) == 1
    assert len(site.rows("owner", "SHOW JOBS")) == 2
    events = [json.loads(line) for line in (site.engine.home / "audit.log").read_text().splitlines()]
    assert "failed: JETSQL.LIMIT_EXCEEDED" in [event.get("outcome") for event in events]


@limited(user_statement_seconds=0.2)
def test_time_of_a_statement(site: Site) -> None:
    assert site.condition("ann", WAIT) == "JETSQL.LIMIT_EXCEEDED"
    assert len(site.rows("ann", "SHOW JOBS")) == 2


@limited(user_rows_most=1, user_statements_most=3)
def test_limits_of_one_user(site: Site) -> None:
    def shown(user: str = "owner") -> list[object]:
        [row] = [row for row in site.rows(user, "SHOW USERS") if row[0] == "ann"]
        return row[7:]

    site.rows("owner", "CREATE USER bob")
    assert shown() == [3, 1, 0.0, None]
    [[_, message]] = site.rows("owner", "ALTER USER ann SET (ROWS_MOST = 10, statement_seconds = 7)")
    assert "statements_most = 3, rows_most = 10, statement_seconds = 7 (0 for none)" in str(message)
    assert shown() == shown("ann") == [3, 10, 7.0, "rows_most, statement_seconds"]
    assert len(site.rows("ann", "SHOW JOBS")) == 2
    site.rows("owner", "ALTER USER ann SET (rows_most = 0)")  # no limit
    assert len(site.rows("ann", "SHOW JOBS")) == 2
    site.rows("owner", "ALTER USER ann RESET (rows_most)")
    assert shown() == [3, 1, 7.0, "statement_seconds"] and site.condition("ann", "SHOW JOBS") == "JETSQL.LIMIT_EXCEEDED"
    site.rows("owner", "ALTER USER ann RESET ALL")
    assert shown() == [3, 1, 0.0, None]
    site.rows("owner", "ALTER USER ann SET (rows_most = 5)")
    site.rows("owner", "GRANT ADMIN TO ann")
    assert shown() == [0, 0, 0.0, "rows_most"]
    changes = [str(event.get("detail")) for event in site.engine.audit.newest() if event["event"] == "rights"]
    assert "The limit rows_most of the user ann was set to 10." in changes
    assert "The limit rows_most of the user ann was reset." in changes


@limited()
def test_limits_that_cannot_be_set(site: Site) -> None:
    for text, condition in (
        ("ALTER USER ann SET (rows = 1)", "UNKNOWN_OPTION"),
        ("ALTER USER ann RESET (rows)", "UNKNOWN_OPTION"),
        ("ALTER USER owner SET (rows_most = 1)", "INVALID_GRANT"),
        ("ALTER USER eve SET (rows_most = 1)", "OBJECT_NOT_FOUND"),
        ("ALTER USER ann SET (rows_most = 1, ROWS_MOST = 2)", "PARSE_SYNTAX_ERROR"),
        ("ALTER USER ann SET (rows_most = -1)", "PARSE_SYNTAX_ERROR"),
        ("ALTER USER ann SET ()", "PARSE_SYNTAX_ERROR"),
    ):
        assert site.condition("owner", text).removeprefix("JETSQL.") == condition, text
    assert site.condition("ann", "ALTER USER ann SET (rows_most = 1)") == "JETSQL.NOT_ALLOWED"


def test_limits_outlive_the_engine(tmp_path: Path) -> None:
    for is_first in (True, False):
        with closing(Managed(tmp_path / "home")) as engine:
            if is_first:
                list(engine.run("CREATE USER ann").rows)
                list(engine.run("ALTER USER ann SET (rows_most = 5)").rows)
            [_, ann] = list(engine.run("SHOW USERS").rows)
            assert ann[-4:] == (0, 5, 0.0, "rows_most")


def test_rows_of_an_arrow_stream_are_counted() -> None:
    schema = pyarrow.schema([("a", pyarrow.int64()), ("b", pyarrow.list_(pyarrow.string()))])
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, schema) as stream:
        for size in (0, 1, 70_000, 77):
            stream.write_batch(pyarrow.record_batch([list(range(size)), [["x"]] * size], schema=schema))
    assert count_rows(sink.getvalue()) == 70_078
    assert count_rows(b"") == 0
