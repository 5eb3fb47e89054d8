"""The controller of resources in an engine that leads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import enumerate as threads

import pytest

from jetsql.embedded.declared_jobs import declared_jobs
from jetsql.errors import EngineError
from tests.support.engines.managed_engine import Managed
from tests.support.golden_reports import raises
from tests.support.servers.resource_api import ResourceApi, running_resource_api

JOBS = "jetsqljobs"
CREATE = "CREATE JOB orders AS INSERT INTO out SELECT * FROM STREAM src"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Managed]:
    engine = Managed(tmp_path / "home")
    yield engine
    engine.close()


@pytest.fixture
def api(tmp_path: Path) -> Iterator[ResourceApi]:
    folder = tmp_path / "account"
    folder.mkdir()
    with running_resource_api(folder) as api:
        yield api


def test_resources_are_read_while_the_engine_leads(engine: Managed, api: ResourceApi) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(api.port)}
    api.create(JOBS, "shop", sql=CREATE, state="Running")
    before = set(threads())
    with declared_jobs(engine, "deployer", environ, api.folder):
        api.wait(JOBS, "shop", lambda body: body.get("status", {}).get("state") == "RUNNING")
    own = ("watch-", "resource")
    assert not [each.name for each in set(threads()) - before if each.name.startswith(own)]
    api.create(JOBS, "more", sql=CREATE, state="Running")
    assert [view.job.name for view in engine.queries.live()] == ["orders"]


def test_resources_are_off_by_default(engine: Managed, api: ResourceApi) -> None:
    with declared_jobs(engine, None, {}, api.folder):
        assert api.requests == []


def test_engine_without_a_pod_is_refused(engine: Managed, tmp_path: Path) -> None:
    with raises(EngineError), declared_jobs(engine, "deployer", {}, tmp_path):
        pass
