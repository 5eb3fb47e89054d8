"""Two engines on one store with resources of Kubernetes: each is killed at work on them, and the other continues."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import until
from tests.stories.test_standby import EXACTLY_ONCE, Pair, add, has_reached, ids, make_pair
from tests.support.engines.service_engine import ServiceEngine
from tests.support.servers.api_server import (
    RealApiServer,
    job_resource,
    missing_programs,
    running_api_server,
    snapshot_resource,
)
from tests.support.servers.postgres import Postgres

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing_programs()), reason=missing_programs()),
    pytest.mark.skipif(os.geteuid() != 0, reason="The files of a pod's service account are mounted as root."),
]
KILLED_AT = (
    {"updated": "update-prepared", "created": "stored-submitted"},
    {"dropped": "staging-discarded", "snapped": "stored-snapshot"},
)
"""The points at which the first leader, and its successor, are killed at work on resources, by the job. The last one of
each is on the thread that stores events: the job or the snapshot exists, and the resource does not say so."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RealApiServer]:
    with running_api_server(tmp_path / "kubernetes") as server:
        yield server


@pytest.fixture
def pair(postgres: Postgres, server: RealApiServer, tmp_path: Path) -> Iterator[Pair]:
    """Return a leader and a standby in pods."""
    host, port = server.url.removeprefix("https://").split(":")
    with make_pair(postgres, tmp_path, "resources") as engines:
        for engine, points in zip(engines, KILLED_AT, strict=True):
            engine.wrapper = server.in_pod
            engine.set("KUBERNETES_SERVICE_HOST", host)
            engine.set("KUBERNETES_SERVICE_PORT", port)
            engine.set("JETSQL_KUBERNETES_JOBS_USER", "owner")
            engine.set("JETSQL_FAILPOINT", ",".join(f"{point}:{job}" for job, point in points.items()))
            engine("start")
        yield engines


def resource(job: str, column: str = "id", **spec: str) -> dict[str, Any]:
    sql = f"CREATE JOB {job} {EXACTLY_ONCE} AS INSERT INTO {job} SELECT {column} FROM STREAM src"
    return job_resource(job, sql, **spec)


def is_ready(server: RealApiServer, name: str, reason: str, kind: str = "jetsqljob") -> bool:
    """Return whether a resource is ready for a reason, as its newest spec declares."""
    found = server.get(name, kind)
    conditions = {each["type"]: each for each in found.get("status", {}).get("conditions", [])}
    ready = conditions.get("Ready", {})
    is_current = ready.get("observedGeneration") == found["metadata"]["generation"]
    return is_current and (ready["status"], ready["reason"]) == ("True", reason) and "Stalled" not in conditions


def jobs(engine: ServiceEngine) -> list[tuple[object, object]]:
    """Return the names and states of all jobs, also of those that have ended."""
    return sorted((row[1], row[2]) for row in engine.rows("SHOW ALL JOBS"))


def events(engine: ServiceEngine, job: str) -> list[object]:
    return [row[0] for row in engine.rows(f"SELECT event FROM jetsql.job_history WHERE job = '{job}'")]


@pytest.mark.timeout(900)
def test_next_leader_finishes_the_work_on_resources(pair: Pair, server: RealApiServer, tmp_path: Path) -> None:
    first, second = pair
    source = tmp_path / "src"
    source.mkdir()
    first("-e", f"CREATE TABLE src (id BIGINT) USING json LOCATION '{source}'")
    for job in ("updated", "created", "dropped", "snapped"):
        first("-e", f"CREATE TABLE {job} (id BIGINT) USING parquet")
    add(source, 1)
    server.apply(*(resource(job) for job in ("updated", "dropped", "snapped")))
    until(lambda: all(ids(first, job) == [1] for job in ("updated", "dropped", "snapped")))
    until(lambda: all(is_ready(server, job, "Running") for job in ("updated", "dropped", "snapped")))
    job_id = server.get("updated")["status"]["jobId"]

    server.apply(resource("updated", "id + 0"))
    until(lambda: has_reached(first, "failpoint update-prepared:updated"))
    second.signal(signal.SIGSTOP)  # it must not lead before the status was read
    server.apply(resource("created"))
    until(lambda: not first.processes())
    assert "status" not in server.get("created"), "the job exists, and its resource does not say so"
    second.signal(signal.SIGCONT)
    until(lambda: second.role == "leader")
    until(lambda: all(is_ready(server, job, "Running") for job in ("updated", "created")))
    assert server.get("updated")["status"]["jobId"] == job_id
    until(lambda: jobs(second) == [(job, "RUNNING") for job in ("created", "dropped", "snapped", "updated")])
    assert events(second, "updated").count("updated") == 1
    add(source, 2)
    until(lambda: all(ids(second, job) == [1, 2] for job in ("updated", "created", "dropped", "snapped")))

    first.set("JETSQL_FAILPOINT", "")
    first("start")
    server.kubectl("delete", "jetsqljob", "dropped", "--wait=false")
    until(lambda: has_reached(second, "failpoint staging-discarded:dropped"))
    first.signal(signal.SIGSTOP)
    server.apply(snapshot_resource("state", "snapped"))
    until(lambda: not second.processes())
    assert "status" not in server.get("state", "jetsqlsnapshot")
    first.signal(signal.SIGCONT)
    until(lambda: first.role == "leader")
    server.kubectl("wait", "--for=delete", "jetsqljob/dropped", "--timeout=60s")
    until(lambda: is_ready(server, "state", "Created", "jetsqlsnapshot"))
    [[name, *_]] = first.rows("SHOW SNAPSHOTS")
    assert name == "state" == server.get("state", "jetsqlsnapshot")["status"]["snapshot"]
    assert [name for name, _ in jobs(first)] == ["created", "dropped", "snapped", "updated"]
