"""An engine in memory, an API server of the test, and the controller of resources between them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jetsql.engine.spark.kubernetes_api import PodAccount
from jetsql.job_resources.api_server import ApiServer
from jetsql.job_resources.controller import ResourceController
from jetsql.jobs.model.job import Job
from tests.support.engines.managed_engine import Managed
from tests.support.servers.kubernetes_api import NAMESPACE
from tests.support.servers.resource_api import ResourceApi, running_resource_api

JOBS, SNAPSHOTS = "jetsqljobs", "jetsqlsnapshots"
USER = "deployer"
CREATE = "CREATE JOB orders AS INSERT INTO out SELECT * FROM STREAM src"


class Cluster:
    """An engine, the API server, and the controller between them."""

    def __init__(self, engine: Managed, api: ResourceApi) -> None:
        self.engine = engine
        self.api = api
        self.controller = self._controller(USER)

    def _controller(self, user: str) -> ResourceController:
        account = PodAccount(self.api.url, NAMESPACE, self.api.folder)
        return ResourceController(self.engine, user, ApiServer(account))

    def restart(self, user: str = USER) -> None:
        """Start another controller, as after a change of the leader, or of the user of the setting."""
        self.controller.stop()
        self.controller = self._controller(user)
        self.controller.start()

    def job(self, name: str = "orders") -> Job:
        view = self.engine.queries.live_named(name)
        assert view is not None
        return view.job

    def jobs(self) -> list[str]:
        return sorted(view.job.name for view in self.engine.queries.live())

    def wait(self, name: str, reason: str, generation: int | None = None) -> dict[str, Any]:
        """Wait until a resource has a reason for its condition Ready, and return its status."""

        def reached(body: dict[str, Any]) -> bool:
            ready = condition(body.get("status", {}))
            is_new = generation in (None, ready.get("observedGeneration"))
            return ready.get("reason") == reason and is_new

        status: dict[str, Any] = self.api.wait(JOBS, name, reached)["status"]
        return status


def condition(status: dict[str, Any], kind: str = "Ready") -> dict[str, Any]:
    found: list[dict[str, Any]] = status.get("conditions", [])
    return next((each for each in found if each["type"] == kind), {})


def codes(status: dict[str, Any]) -> tuple[str, str]:
    """Return the condition and the SQLSTATE of the error in a status."""
    error = status["error"]
    return error["condition"], error["sqlstate"]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    account = tmp_path / "account"
    account.mkdir()
    engine = Managed(tmp_path / "home")
    with running_resource_api(account) as api:
        cluster = Cluster(engine, api)
        cluster.controller.start()
        try:
            yield cluster
        finally:
            cluster.controller.stop()
            engine.close()
