"""Statements that are cancelled while they run: actions that they have begun are completed, others do not happen."""

import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from jetsql.client.engine_client import EngineClient
from jetsql.errors import ReportedError
from tests.support.engines.managed_engine import Managed
from tests.support.servers.http_server import TOKEN, RunningServer, run_server

CREATE = "CREATE JOB j AS INSERT INTO out SELECT * FROM STREAM src"
NEW = "CREATE OR REPLACE JOB j AS INSERT INTO out SELECT * FROM STREAM src WHERE id > 0"


@dataclass
class Bench:
    engine: Managed
    server: RunningServer
    remote: EngineClient

    def cancelled(self, text: str, at: str) -> None:
        """Run a statement, and cancel it while the engine is busy with this call."""
        conditions: list[str] = []

        def run() -> None:
            with pytest.raises(ReportedError) as error:
                list(self.remote.run(text).rows)
            conditions.append(error.value.report.condition)

        with self.engine.runtime.gate(at) as opened:
            thread = threading.Thread(target=run)
            thread.start()
            self.engine.runtime.wait_entered(at)
            self.remote.cancel()
            opened.set()
            thread.join(30)
        assert conditions == ["JETSQL.STATEMENT_CANCELLED"]

    def value(self, text: str, column: str) -> object:
        """Return a column of the first row, or None without rows."""
        with closing(EngineClient(self.server.url, TOKEN)) as remote:
            result = remote.run(text)
            rows = [dict(zip((each.name for each in result.columns), row, strict=True)) for row in result.rows]
        return rows[0][column] if rows else None


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    engine = Managed(tmp_path)
    with run_server(engine) as server:
        remote = EngineClient(server.url, TOKEN)
        yield Bench(engine, server, remote)
        remote.close()
    engine.close()


@pytest.mark.parametrize("at", ["analyse", "check_reachable"])
def test_cancel_before_the_job_exists_creates_none(bench: Bench, at: str) -> None:
    bench.cancelled(CREATE, at)
    assert bench.value("SHOW ALL JOBS", "name") is None


def test_cancel_after_creation_leaves_the_job_running(bench: Bench) -> None:
    bench.cancelled(CREATE, "start")
    assert bench.value("WAIT FOR JOB j", "status") == "RUNNING"


@pytest.mark.parametrize(
    ("text", "at", "again", "status"),
    [
        ("SUSPEND JOB j", "stop", "SUSPEND JOB j", "SUSPENDED"),
        ("RESTART JOB j", "stop", "RESUME JOB j", "RUNNING"),
        ("DROP JOB j", "stop", "DROP JOB j", "DROPPED"),
        (NEW, "prepare_update", "WAIT FOR JOB j UNTIL BATCH 1", "RUNNING"),
    ],
)
def test_cancel_does_not_undo_a_requested_change(bench: Bench, text: str, at: str, again: str, status: str) -> None:
    list(bench.remote.run(CREATE).rows)
    bench.cancelled(text, at)
    assert bench.value(again, "status") == status


def test_cancel_before_the_update_keeps_the_version(bench: Bench) -> None:
    list(bench.remote.run(CREATE).rows)
    bench.cancelled(NEW, "analyse")
    assert "WHERE" not in str(bench.value("SHOW CREATE JOB j", "create_statement"))
    list(bench.remote.run(NEW).rows)
    assert "WHERE" in str(bench.value("SHOW CREATE JOB j", "create_statement"))


@pytest.mark.parametrize("suspended", [False, True])
def test_cancel_during_a_snapshot_completes_it(bench: Bench, suspended: bool) -> None:
    list(bench.remote.run(CREATE).rows)
    if suspended:
        list(bench.remote.run("SUSPEND JOB j").rows)
    bench.cancelled("CREATE SNAPSHOT s FOR JOB j", "copy_state")
    status = bench.value("SUSPEND JOB j", "status")
    while status == "SUSPENDED_EXPORTING_SNAPSHOT":
        status = bench.value("SHOW JOBS", "status")
    assert status == "SUSPENDED"
    assert bench.value("SHOW SNAPSHOTS", "name") == "s"


def test_cancel_during_drop_with_snapshot_drops_the_job(bench: Bench) -> None:
    list(bench.remote.run(CREATE).rows)
    bench.cancelled("DROP JOB j WITH SNAPSHOT s", "copy_state")
    while bench.value("SHOW JOBS", "status") is not None:
        pass
    assert bench.value("SHOW SNAPSHOTS", "name") == "s"
    assert bench.value("SHOW ALL JOBS", "last_error") == "cancelled by user"
