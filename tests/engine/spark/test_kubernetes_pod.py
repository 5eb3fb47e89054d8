"""The master `k8s`: the settings of Spark that an engine finds out in its pod, against an API server of the test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jetsql.engine.jvm.launch import SparkStart
from jetsql.engine.spark.kubernetes_pod import with_pod_settings
from jetsql.errors import EngineError
from tests.support.golden_reports import raises
from tests.support.servers.kubernetes_api import PODS, KubernetesApi, run_kubernetes_api

ALLOCATION = {
    "spark.kubernetes.allocation.batch.delay": "5s",
    "spark.kubernetes.allocation.pods.allocator": "dev.jetsql.stream.ExecutorPodAllocator",
    "spark.kubernetes.driver.service.deleteOnTermination": "false",
}
ENGINE = {"name": "engine", "image": "registry.example.com/jetsql:1", "imagePullPolicy": "IfNotPresent"}


@pytest.fixture
def api_server(tmp_path: Path) -> Iterator[KubernetesApi]:
    with run_kubernetes_api(tmp_path) as api:
        api.pods["engine-0"] = {
            "metadata": {"name": "engine-0"},
            "spec": {"containers": [ENGINE, {"name": "proxy", "image": "proxy", "imagePullPolicy": "Always"}]},
            "status": {"podIP": "10.88.0.7"},
        }
        yield api


def find(api: KubernetesApi, **conf: str) -> SparkStart:
    given = {f"spark.{key.replace('_', '.')}": value for key, value in conf.items()}
    return with_pod_settings(SparkStart(api.folder, "w", "k8s", conf=given), api.environ, api.folder)


def test_pod_has_all_settings_of_its_executors(api_server: KubernetesApi) -> None:
    start = find(api_server)
    assert start.master == f"k8s://https://127.0.0.1:{api_server.port}"
    assert start.conf == {
        "spark.kubernetes.namespace": "streams",
        "spark.kubernetes.driver.pod.name": "engine-0",
        "spark.kubernetes.container.image": "registry.example.com/jetsql:1",
        "spark.kubernetes.container.image.pullPolicy": "IfNotPresent",
        "spark.driver.host": "10.88.0.7",
        **ALLOCATION,
        "spark.kubernetes.executor.pod.featureSteps": "dev.jetsql.stream.ExecutorPodNames",
    }
    assert api_server.requests == [f"GET {PODS}/engine-0"]


def test_settings_of_the_user_win(api_server: KubernetesApi) -> None:
    pod = api_server.pods["other"] = api_server.pods.pop("engine-0")
    pod["metadata"]["annotations"] = {"kubectl.kubernetes.io/default-container": "proxy"}
    pod["spec"]["imagePullSecrets"] = [{"name": "one"}, {"name": "two"}]
    start = find(api_server, kubernetes_driver_pod_name="other", kubernetes_namespace="executors")
    assert api_server.requests == [f"GET {PODS}/other"]
    assert start.conf["spark.kubernetes.namespace"] == "executors"
    assert start.conf["spark.kubernetes.container.image"] == "proxy"
    assert start.conf["spark.kubernetes.container.image.pullSecrets"] == "one,two"


def test_other_masters_are_left_alone(tmp_path: Path) -> None:
    for master in ("local[*]", "spark://10.0.0.7:7077"):
        start = SparkStart(tmp_path, "w", master)
        assert with_pod_settings(start, {}, tmp_path) is start


def test_executors_of_any_engine_know_their_pods(tmp_path: Path) -> None:
    steps = "spark.kubernetes.executor.pod.featureSteps"
    given = {steps: "com.example.Step"}
    found = with_pod_settings(SparkStart(tmp_path, "w", "k8s://https://10.0.0.7:6443", conf=given), {}, tmp_path)
    assert found.conf == {**ALLOCATION, **given, steps: "com.example.Step,dev.jetsql.stream.ExecutorPodNames"}


@pytest.mark.parametrize("status", [403, 404, 500])
def test_refusals_of_the_api_server_are_explained(api_server: KubernetesApi, status: int) -> None:
    api_server.status = status
    with raises(EngineError):
        find(api_server)


def test_api_server_out_of_reach_is_reported(api_server: KubernetesApi) -> None:
    api_server.port = 1
    with raises(EngineError):
        find(api_server)


def test_process_without_a_pod_is_refused(tmp_path: Path) -> None:
    start = SparkStart(tmp_path, "w", "k8s")
    with raises(EngineError):
        with_pod_settings(start, {}, tmp_path)
    service = {"KUBERNETES_SERVICE_HOST": "::1", "KUBERNETES_SERVICE_PORT": "443"}
    with raises(EngineError):
        with_pod_settings(start, service, tmp_path / "none")


@pytest.mark.parametrize("address", ["0.0.0.0", "::"])
def test_executors_do_not_connect_to_all_addresses(tmp_path: Path, address: str) -> None:
    conf = {"spark.driver.bindAddress": address}
    start = SparkStart(tmp_path, "w", "k8s://https://10.0.0.7:6443", conf=conf)
    with raises(EngineError):
        with_pod_settings(start, {}, tmp_path)
    other = SparkStart(tmp_path, "w", "k8s://x", conf={**conf, "spark.kubernetes.executor.useDriverPodIP": "false"})
    assert with_pod_settings(other, {}, tmp_path).conf["spark.driver.bindAddress"] == address
