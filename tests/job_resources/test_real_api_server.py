"""Resources at a real API server of Kubernetes, with jobs on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jetsql.embedded.engine_instance import EngineInstance
from jetsql.engine.spark.kubernetes_api import PodAccount
from jetsql.job_resources.api_server import ApiServer
from jetsql.job_resources.controller import ResourceController
from tests.conftest import until
from tests.support.servers.api_server import (
    NAMESPACE,
    RealApiServer,
    job_resource,
    missing_programs,
    running_api_server,
)

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing_programs()), reason=missing_programs()),
]
SQL = "CREATE JOB counted AS INSERT INTO resources.counted SELECT a FROM STREAM resources.counting WHERE a > 0"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealApiServer]:
    with running_api_server(tmp_path_factory.mktemp("kubernetes")) as server:
        yield server


@pytest.fixture
def controller(engine: EngineInstance, server: RealApiServer) -> Iterator[ResourceController]:
    engine.run("CREATE SCHEMA IF NOT EXISTS resources")
    for table in ("counting", "counted"):
        engine.run(f"CREATE TABLE IF NOT EXISTS resources.{table} (a BIGINT) USING parquet")
    controller = ResourceController(engine, "owner", ApiServer(PodAccount(server.url, NAMESPACE, server.account)))
    controller.start()
    yield controller
    controller.stop()


def ready(body: dict[str, Any]) -> dict[str, Any]:
    conditions = body.get("status", {}).get("conditions", [])
    return next((each for each in conditions if each["type"] == "Ready"), {})


def test_job_lives_as_its_resource_declares(
    engine: EngineInstance, server: RealApiServer, controller: ResourceController
) -> None:
    engine.run("INSERT INTO resources.counting VALUES (1), (2), (-1)")
    server.apply(job_resource("counted", SQL))
    server.kubectl("wait", "--for=condition=Ready", "jetsqljob/counted", "--timeout=60s")
    until(lambda: rows(engine) == [1, 2])
    row = server.kubectl("get", "jetsqljobs").splitlines()[1].split()
    assert row[:5] == ["counted", "counted", "RUNNING", "True", "Running"]
    server.apply(job_resource("counted", SQL, state="Suspended"))
    until(lambda: ready(server.get("counted")).get("reason") == "Suspended")
    engine.run("INSERT INTO resources.counting VALUES (3)")
    server.apply(job_resource("counted", SQL.replace("> 0", "> 0 AND a < 100"), state="Running"))
    until(lambda: rows(engine) == [1, 2, 3])
    server.kubectl("delete", "jetsqljob", "counted", "--timeout=60s")
    assert list(engine.run("SHOW JOBS LIKE 'counted'").rows) == []
    assert rows(engine) == [1, 2, 3]


def test_job_continues_while_the_server_restarts(
    engine: EngineInstance, server: RealApiServer, controller: ResourceController
) -> None:
    server.apply(job_resource("lasting", SQL.replace("counted AS", "lasting AS").replace("a > 0", "a > 1000")))
    server.kubectl("wait", "--for=condition=Ready", "jetsqljob/lasting", "--timeout=60s")
    server.close()
    engine.run("INSERT INTO resources.counting VALUES (1001)")
    until(lambda: 1001 in rows(engine))
    server.start()
    server.kubectl("patch", "jetsqljob", "lasting", "--type=merge", "-p", '{"spec": {"state": "Suspended"}}')
    until(lambda: ready(server.get("lasting")).get("reason") == "Suspended")
    server.kubectl("delete", "jetsqljob", "lasting", "--timeout=60s")


def rows(engine: EngineInstance) -> list[int]:
    return [row[0] for row in engine.run("SELECT a FROM resources.counted ORDER BY a").rows]


def test_server_refuses_what_the_definition_does_not_allow(server: RealApiServer, tmp_path: Path) -> None:
    for spec in ({"state": "Maybe"}, {"onIncompatibleState": "Drop"}, {"snapshotOnDelete": ""}):
        with pytest.raises(AssertionError, match=next(iter(spec))):
            server.apply(job_resource("wrong", SQL, **spec))
    for sql in ("", f"{SQL}{' ' * 1_000_000}"):
        with pytest.raises(AssertionError, match=r"spec\.sql"):
            server.apply(job_resource("wrong", sql))


def test_role_of_the_manual_allows_no_more(server: RealApiServer) -> None:
    account = f"--as=system:serviceaccount:{NAMESPACE}:engine"

    def may(*what: str) -> bool:
        try:
            return server.kubectl("auth", "can-i", *what, account).strip() == "yes"
        except AssertionError:
            return False

    for kind in ("jetsqljobs", "jetsqlsnapshots"):
        assert all(may(verb, kind) for verb in ("list", "watch", "patch"))
        assert may("patch", f"{kind}/status")
        assert not any(may(verb, kind) for verb in ("create", "delete", "update"))
    assert not may("get", "secrets") and not may("list", "pods")


def test_errors_of_spark_have_their_place(
    engine: EngineInstance, server: RealApiServer, controller: ResourceController
) -> None:
    sql = "CREATE JOB wrong\nAS INSERT INTO resources.counted SELECT nothing FROM STREAM resources.counting"
    server.apply(job_resource("wrong", sql, state="Suspended"))
    until(lambda: ready(server.get("wrong")).get("reason") == "StatementFailed")
    error = server.get("wrong")["status"]["error"]
    assert (error["condition"], error["sqlstate"]) == ("UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703")
    assert (error["line"], error["column"]) == (2, 41)
    server.apply(job_resource("wrong", sql.replace("nothing", "a"), state="Suspended"))
    until(lambda: ready(server.get("wrong")).get("reason") == "Suspended")
    server.kubectl("delete", "jetsqljob", "wrong", "--timeout=60s")
