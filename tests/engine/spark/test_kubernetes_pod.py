"""The master `k8s`: the settings of Spark that an engine finds out in its pod, against an API server of the test."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from jetsql.engine.jvm.launch import SparkStart
from jetsql.engine.spark.kubernetes_pod import with_pod_settings
from jetsql.errors import EngineError
from tests.support.golden_reports import raises
from tests.support.servers.certificates import Authority, Files

ENGINE = {"name": "engine", "image": "registry.example.com/jetsql:1", "imagePullPolicy": "IfNotPresent"}


@dataclass
class ApiServer:
    """An API server that shows one pod to one service account."""

    folder: Path
    """The folder of the account's files."""
    pod: dict[str, Any] = field(default_factory=dict)
    status: int = 200
    paths: list[str] = field(default_factory=list)
    """The paths that were asked for with the right token."""
    port: int = 0

    @property
    def environ(self) -> dict[str, str]:
        host = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(self.port)}
        return {**host, "HOSTNAME": "engine-0"}

    def find(self, **conf: str) -> SparkStart:
        given = {f"spark.{key.replace('_', '.')}": value for key, value in conf.items()}
        return with_pod_settings(SparkStart(self.folder, "w", "k8s", conf=given), self.environ, self.folder)


@pytest.fixture
def api_server(tmp_path: Path) -> Iterator[ApiServer]:
    authority = Authority(tmp_path)
    authority.file.rename(tmp_path / "ca.crt")
    files = authority.issue(Files(tmp_path / "server.pem", tmp_path / "server.key"))
    (tmp_path / "token").write_text("s3cr3t\n")
    (tmp_path / "namespace").write_text("streams")
    api = ApiServer(tmp_path)
    api.pod = {
        "metadata": {"name": "engine-0"},
        "spec": {"containers": [ENGINE, {"name": "proxy", "image": "proxy", "imagePullPolicy": "Always"}]},
        "status": {"podIP": "10.88.0.7"},
    }

    class Handler(BaseHTTPRequestHandler):
        """Answers with the pod."""

        def do_GET(self) -> None:
            assert self.headers["Authorization"] == "Bearer s3cr3t"
            api.paths.append(self.path)
            self.send_response(api.status)
            self.end_headers()
            self.wfile.write(json.dumps(api.pod).encode())

        def log_message(self, format: str, *args: Any) -> None: ...

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        api.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield api
        server.shutdown()
        thread.join()


def test_pod_has_all_settings_of_its_executors(api_server: ApiServer) -> None:
    start = api_server.find()
    assert start.master == f"k8s://https://127.0.0.1:{api_server.port}"
    assert start.conf == {
        "spark.kubernetes.namespace": "streams",
        "spark.kubernetes.driver.pod.name": "engine-0",
        "spark.kubernetes.container.image": "registry.example.com/jetsql:1",
        "spark.kubernetes.container.image.pullPolicy": "IfNotPresent",
        "spark.driver.host": "10.88.0.7",
    }
    assert api_server.paths == ["/api/v1/namespaces/streams/pods/engine-0"]


def test_settings_of_the_user_win(api_server: ApiServer) -> None:
    api_server.pod["metadata"]["annotations"] = {"kubectl.kubernetes.io/default-container": "proxy"}
    api_server.pod["spec"]["imagePullSecrets"] = [{"name": "one"}, {"name": "two"}]
    start = api_server.find(kubernetes_driver_pod_name="other", kubernetes_namespace="executors")
    assert api_server.paths == ["/api/v1/namespaces/streams/pods/other"]
    assert start.conf["spark.kubernetes.namespace"] == "executors"
    assert start.conf["spark.kubernetes.container.image"] == "proxy"
    assert start.conf["spark.kubernetes.container.image.pullSecrets"] == "one,two"


def test_other_masters_are_left_alone(tmp_path: Path) -> None:
    for master in ("local[*]", "k8s://https://10.0.0.7:6443", "spark://10.0.0.7:7077"):
        start = SparkStart(tmp_path, "w", master)
        assert with_pod_settings(start, {}, tmp_path) is start


@pytest.mark.parametrize("status", [403, 404, 500])
def test_refusals_of_the_api_server_are_explained(api_server: ApiServer, status: int) -> None:
    api_server.status = status
    with raises(EngineError):
        api_server.find()


def test_api_server_out_of_reach_is_reported(api_server: ApiServer) -> None:
    api_server.port = 1
    with raises(EngineError):
        api_server.find()


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
    assert with_pod_settings(other, {}, tmp_path) is other
