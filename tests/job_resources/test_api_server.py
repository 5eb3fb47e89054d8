"""The client of the API server."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest

from jetsql.engine.spark.kubernetes_api import PodAccount
from jetsql.job_resources.api_server import ApiFailure, ApiServer
from jetsql.job_resources.resource import ResourceKind
from tests.support.servers.certificates import Authority
from tests.support.servers.kubernetes_api import NAMESPACE
from tests.support.servers.resource_api import ResourceApi, running_resource_api

JOBS = ResourceKind.JOB.value


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ResourceApi]:
    with running_resource_api(tmp_path) as server:
        yield server


@pytest.fixture
def api(server: ResourceApi) -> Iterator[ApiServer]:
    api = ApiServer(PodAccount(server.url, NAMESPACE, server.folder))
    yield api
    api.close()


def test_list_reads_all_pages(server: ResourceApi, api: ApiServer) -> None:
    for number in range(8):
        server.create(JOBS, f"r{number}", sql="x")
    found = api.list(ResourceKind.JOB)
    assert [each.key.name for each in found.items] == [f"r{number}" for number in range(8)]
    assert found.version == server.version and len(server.requests) == 3


def test_watch_begins_at_a_version(server: ResourceApi, api: ApiServer) -> None:
    server.create(JOBS, "a", sql="x")
    version = api.list(ResourceKind.JOB).version
    server.create(JOBS, "b", sql="x")
    server.change(JOBS, "a", sql="y")
    server.send_bookmarks()
    events = api.watch(ResourceKind.JOB, version)
    found = [next(events) for _ in range(3)]
    assert [each.type for each in found] == ["ADDED", "MODIFIED", "BOOKMARK"]
    assert [each.resource.key.name for each in found[:2]] == ["b", "a"]
    assert found[2].resource.version == server.version
    server.expire()
    with pytest.raises(ApiFailure) as caught:
        next(events)
    assert caught.value.status == HTTPStatus.GONE


def test_change_of_an_outdated_resource_fails(server: ResourceApi, api: ApiServer) -> None:
    server.create(JOBS, "a", sql="x")
    [resource] = api.list(ResourceKind.JOB).items
    change = {"metadata": {"finalizers": ["f"], "resourceVersion": resource.version}}
    assert api.patch(resource, change).finalizers == ("f",)
    with pytest.raises(ApiFailure) as caught:
        api.patch(resource, change)
    assert caught.value.status == HTTPStatus.CONFLICT


def test_token_is_read_for_each_request(server: ResourceApi, api: ApiServer) -> None:
    api.list(ResourceKind.JOB)
    (server.folder / "token").write_text("renewed")
    api.list(ResourceKind.JOB)
    assert len(server.requests) == 2


def test_server_of_another_authority_gets_no_token(server: ResourceApi, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    Authority(folder).file.rename(folder / "ca.crt")
    (folder / "token").write_text("s3cr3t")
    with pytest.raises(OSError, match="certificate"):
        ApiServer(PodAccount(server.url, NAMESPACE, folder)).list(ResourceKind.JOB)
    assert server.requests == []


def test_server_out_of_reach_is_an_error_of_the_system(server: ResourceApi) -> None:
    api = ApiServer(PodAccount("https://127.0.0.1:1", NAMESPACE, server.folder))
    with pytest.raises(OSError, match="out of reach"):
        api.list(ResourceKind.JOB)
    with pytest.raises(OSError, match="refused"):
        api.watch(ResourceKind.JOB, "1")
