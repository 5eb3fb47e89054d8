"""Statements that are cancelled while they run: actions that they have begun are completed, others do not happen."""

import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from jetsql.client.remote_engine import RemoteEngine
from jetsql.errors import ReportedError
from tests.support.engines.managed_engine import Managed
from tests.support.servers.http_server import TOKEN, RunningServer, run_server

MAKE = "CREATE JOB j AS INSERT INTO out SELECT * FROM STREAM src"
NEW = "CREATE OR REPLACE JOB j AS INSERT INTO out SELECT * FROM STREAM src WHERE id > 0"


@dataclass
class Bench:
    engine: Managed
    server: RunningServer
    remote: RemoteEngine

    def cancelled(self, text: str, at: str) -> None:
        """Run a statement, and cancel it while the engine is busy with this call."""
        told: list[str] = []

        def run() -> None:
            with pytest.raises(ReportedError) as error:
                list(self.remote.run(text).rows)
            told.append(error.value.report.condition)

        with self.engine.engine.gate(at) as opened:
            thread = threading.Thread(target=run)
            thread.start()
            self.engine.engine.wait_entered(at)
            self.remote.cancel()
            opened.set()
            thread.join(30)
        assert told == ["JETSQL.STATEMENT_CANCELLED"]

    def value(self, text: str, column: str) -> object:
        """Return a column of the first row, or None without rows."""
        with closing(RemoteEngine(self.server.url, TOKEN)) as remote:
            result = remote.run(text)
            rows = [dict(zip((each.name for each in result.columns), row, strict=True)) for row in result.rows]
        return rows[0][column] if rows else None


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    engine = Managed(tmp_path)
    with run_server(engine) as server:
        remote = RemoteEngine(server.url, TOKEN)
        yield Bench(engine, server, remote)
        remote.close()
    engine.close()


@pytest.mark.parametrize("at", ["analyse", "check_reachable"])
def test_a_job_that_was_not_made_yet_is_not_made(bench: Bench, at: str) -> None:
    bench.cancelled(MAKE, at)
    assert bench.value("SHOW ALL JOBS", "name") is None


def test_a_job_that_was_made_runs(bench: Bench) -> None:
    bench.cancelled(MAKE, "start")
    assert bench.value("WAIT FOR JOB j", "status") == "RUNNING"


@pytest.mark.parametrize(
    ("text", "at", "again", "status"),
    [
        ("SUSPEND JOB j", "stop", "SUSPEND JOB j", "SUSPENDED"),
        ("RESTART JOB j", "stop", "RESUME JOB j", "RUNNING"),
        ("DROP JOB j", "stop", "DROP JOB j", "FAILED"),
        (NEW, "prepare_update", "WAIT FOR JOB j UNTIL BATCH 1", "RUNNING"),
    ],
)
def test_what_was_asked_of_a_job_is_carried_out(bench: Bench, text: str, at: str, again: str, status: str) -> None:
    list(bench.remote.run(MAKE).rows)
    bench.cancelled(text, at)
    assert bench.value(again, "status") == status


def test_a_version_that_was_not_asked_for_yet_does_not_come(bench: Bench) -> None:
    list(bench.remote.run(MAKE).rows)
    bench.cancelled(NEW, "analyse")
    assert "WHERE" not in str(bench.value("SHOW CREATE JOB j", "create_statement"))
    list(bench.remote.run(NEW).rows)
    assert "WHERE" in str(bench.value("SHOW CREATE JOB j", "create_statement"))


@pytest.mark.parametrize("suspended", [False, True])
def test_a_snapshot_that_was_begun_is_whole(bench: Bench, suspended: bool) -> None:
    list(bench.remote.run(MAKE).rows)
    if suspended:
        list(bench.remote.run("SUSPEND JOB j").rows)
    bench.cancelled("CREATE SNAPSHOT s FOR JOB j", "copy_state")
    status = bench.value("SUSPEND JOB j", "status")
    while status == "SUSPENDED_EXPORTING_SNAPSHOT":
        status = bench.value("SHOW JOBS", "status")
    assert status == "SUSPENDED"
    assert bench.value("SHOW SNAPSHOTS", "name") == "s"


def test_a_job_is_dropped_when_its_snapshot_is_whole(bench: Bench) -> None:
    list(bench.remote.run(MAKE).rows)
    bench.cancelled("DROP JOB j WITH SNAPSHOT s", "copy_state")
    while bench.value("SHOW JOBS", "status") is not None:
        pass
    assert bench.value("SHOW SNAPSHOTS", "name") == "s"
    assert bench.value("SHOW ALL JOBS", "last_error") == "cancelled by user"
