"""Measure how long an engine takes for many JetSQLJob resources, against a real API server of Kubernetes on loopback.

    python -m benchmarks.resources --resources 1000 --with-jobs

The programs of Kubernetes have to be built before: `python -m tools.kubernetes programs`.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click

import jetsql
from benchmarks.reporting import introduce, say
from jetsql.embedded.engine_instance import EngineInstance
from jetsql.engine.spark.kubernetes_api import PodAccount
from jetsql.job_resources.api_server import ApiServer
from jetsql.job_resources.controller import ResourceController
from tests.support.servers.api_server import (
    NAMESPACE,
    RealApiServer,
    job_resource,
    missing_programs,
    running_api_server,
)

_SETUP: Final = (
    "CREATE TABLE src (a BIGINT) USING parquet",
    "CREATE TABLE out (a BIGINT) USING parquet",
)
_PAGE: Final = 100
_PART: Final = 10  # jobs that run in parallel


@click.command(help=__doc__)
@click.option("--resources", default=1000, show_default=True, help="The number of resources.")
@click.option("--with-jobs", is_flag=True, help="Create and suspend the jobs as well.")
def main(resources: int, with_jobs: bool) -> None:
    reason = missing_programs()
    if reason:
        raise click.ClickException(reason)
    introduce("JetSQLJob resources", "local[2], driver memory 1g; etcd and the API server on loopback")
    with tempfile.TemporaryDirectory() as folder, running_api_server(Path(folder) / "server") as server:
        conf = {"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "1g"}
        with jetsql.open(Path(folder) / "home", master="local[2]", conf=conf) as engine:
            for text in _SETUP:
                engine.run(text)
            _measure(server, engine, resources, with_jobs)


def _measure(server: RealApiServer, engine: EngineInstance, count: int, with_jobs: bool) -> None:
    started = time.monotonic()
    _apply(server, range(count), state="Suspended")
    say(f"{count} resources applied with kubectl: {time.monotonic() - started:.1f} s")
    with _controlling(server, engine) as begun:
        _wait(server, lambda each: _reason(each) == "Suspended")
        say(f"reconciled, new and suspended, each statement checked by Spark: {time.monotonic() - begun:.1f} s")
    if with_jobs:
        started = time.monotonic()
        with _controlling(server, engine):
            for first in range(0, count, _PART):
                for state in ("Running", "Suspended"):
                    _apply(server, range(first, min(first + _PART, count)), state=state)
                    _wait(server, _is_current)
        say(f"jobs created and suspended: {time.monotonic() - started:.1f} s")
    versions = _versions(server)
    with _controlling(server, engine):
        time.sleep(10)
    say(f"resources that the next leader has changed without need: {len(versions ^ _versions(server)) // 2}")
    _apply(server, range(count), state="Suspended", onIncompatibleState="Restart")
    with _controlling(server, engine) as begun:
        _wait(server, _is_current)
        say(f"listed and reconciled, with another spec for the same jobs: {time.monotonic() - begun:.1f} s")


def _apply(server: RealApiServer, numbers: range, **spec: str) -> None:
    for first in range(0, len(numbers), _PAGE):
        names = [f"job-{number}" for number in numbers[first : first + _PAGE]]
        server.apply(*(job_resource(name, _sql(name), **spec) for name in names))


def _sql(name: str) -> str:
    return f"CREATE JOB `{name}` AS INSERT INTO out SELECT a FROM STREAM src WHERE a > 1"


@contextmanager
def _controlling(server: RealApiServer, engine: EngineInstance) -> Iterator[float]:
    """Run the controller inside the context, and yield the time of its start."""
    controller = ResourceController(engine, "owner", ApiServer(PodAccount(server.url, NAMESPACE, server.account)))
    started = time.monotonic()
    controller.start()
    try:
        yield started
    finally:
        controller.stop()


def _reason(resource: Mapping[str, Any]) -> str:
    conditions = resource.get("status", {}).get("conditions", [])
    return next((str(each["reason"]) for each in conditions if each["type"] == "Ready"), "")


def _is_current(resource: Mapping[str, Any]) -> bool:
    is_observed = resource.get("status", {}).get("observedGeneration") == resource["metadata"]["generation"]
    return bool(is_observed and _reason(resource) == resource["spec"]["state"])


def _versions(server: RealApiServer) -> set[tuple[str, str]]:
    return {(each["metadata"]["name"], each["metadata"]["resourceVersion"]) for each in server.resources()}


def _wait(server: RealApiServer, reached: Callable[[Mapping[str, Any]], bool]) -> None:
    until = time.monotonic() + 1800
    while not all(reached(each) for each in server.resources()):
        assert time.monotonic() < until
        time.sleep(0.5)


if __name__ == "__main__":
    main()
