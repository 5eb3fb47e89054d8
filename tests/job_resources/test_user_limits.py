"""The limits of the user with whose rights the statements of resources run."""

from __future__ import annotations

from threading import Event, Lock
from typing import Any

import pytest

from jetsql.errors import EngineError
from tests.conftest import until
from tests.job_resources.conftest import CREATE, JOBS, USER, Cluster, condition
from tests.support.engines.managed_engine import Managed, ManagedSession

RESOURCES = 6


class ParallelStatements:
    """The sessions of an engine, which note how many of their statements run in parallel."""

    def __init__(self, engine: Managed, wanted: int) -> None:
        self.most = 0
        self._session = engine.session
        self._running = 0
        self._wanted, self._reached = wanted, Event()
        self._lock = Lock()

    def session(self) -> Any:
        return _Noted(self, self._session())

    def begin(self) -> None:
        with self._lock:
            self._running += 1
            self.most = max(self.most, self._running)
        if self._running == self._wanted:
            self._reached.set()
        self._reached.wait(0.05)

    def end(self) -> None:
        with self._lock:
            self._running -= 1


class _Noted:
    def __init__(self, noted: ParallelStatements, session: ManagedSession) -> None:
        self._noted, self._session = noted, session

    def run(self, text: str) -> Any:
        self._noted.begin()
        try:
            return self._session.run(text)
        finally:
            self._noted.end()


@pytest.mark.parametrize("limit", [0, 1])
def test_statements_beyond_the_limit_wait(cluster: Cluster, limit: int) -> None:
    cluster.engine.run(f"CREATE USER {USER}")
    cluster.engine.run(f"ALTER USER {USER} SET (statements_most = {limit})")
    statements = ParallelStatements(cluster.engine, wanted=2)
    cluster.engine.session = statements.session  # type: ignore[method-assign]
    for number in range(RESOURCES):
        cluster.api.create(JOBS, f"r{number}", sql=CREATE.replace("orders", f"j{number}"), state="Running")
    for number in range(RESOURCES):
        cluster.wait(f"r{number}", "Running")
    assert statements.most == (limit or 2)
    reasons = {condition(body["status"])["reason"] for path, body in cluster.api.patches if path.endswith("/status")}
    assert reasons <= {"Starting", "Running"}


def test_statement_that_takes_too_long_is_ended(cluster: Cluster) -> None:
    cluster.engine.run(f"CREATE USER {USER}")
    cluster.engine.run(f"ALTER USER {USER} SET (statement_seconds = 1)")
    with cluster.engine.runtime.gate("start"):
        cluster.api.create(JOBS, "shop", sql=CREATE, state="Running")
        status = cluster.wait("shop", "StatementFailed")
        assert (status["error"]["condition"], status["error"]["sqlstate"]) == ("JETSQL.LIMIT_EXCEEDED", "53400")
        job_id = cluster.job().id
    assert cluster.wait("shop", "Running")["jobId"] == job_id, "what the statement has begun continues"


def test_end_of_the_engine_is_no_error_of_a_statement(cluster: Cluster) -> None:
    with cluster.engine.runtime.gate("start"):
        cluster.api.create(JOBS, "shop", sql=CREATE, state="Running")
        until(lambda: cluster.jobs() == ["orders"])
        cluster.controller.stop()
    assert [path for path, _ in cluster.api.patches] == [f"{JOBS}/shop"], "the finalizer alone was written"
    with pytest.raises(EngineError):
        cluster.controller._statements.run("SUSPEND JOB orders")
    cluster.restart()
    cluster.wait("shop", "Running")
