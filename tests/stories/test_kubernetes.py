"""An engine and its executors as pods of a real Kubernetes with two nodes: `make test-kubernetes`.

The stories share the cluster and the engine, and each first waits until both executors are there.
"""

from __future__ import annotations

import errno
import itertools
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from tests.support.engines.pod_engine import STORAGE, USER, PodEngine, write_rows
from tools.kubernetes.cache import NotAvailable
from tools.kubernetes.image import build_image
from tools.kubernetes.local_cluster import LocalCluster, running_cluster
from tools.kubernetes.programs import are_programs_built
from tools.kubernetes.system_packages import check_cluster_machine

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

JOBS = ("copied", "counted")
FILE_ROWS = 40
_files = itertools.count()


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    try:
        check_cluster_machine()
    except NotAvailable as error:
        pytest.skip(str(error))
    if not are_programs_built():
        pytest.skip("Kubernetes was not built: make test-kubernetes")
    with running_cluster([build_image()]) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def started(cluster: LocalCluster) -> Iterator[PodEngine]:
    """Yield an engine with two jobs over files, one with state."""
    engine = PodEngine(cluster, "streams")
    engine.start()
    incoming = engine.storage / "incoming"
    incoming.mkdir()
    for text in (
        f"CREATE TABLE incoming (id BIGINT, word STRING) USING json LOCATION '{STORAGE}/incoming'",
        "CREATE TABLE copied (id BIGINT, word STRING) USING parquet",
        "CREATE TABLE counted (word STRING, n BIGINT) USING parquet",
        "CREATE JOB copied OPTIONS ('snapshotIntervalMillis' = '500')"
        " AS INSERT INTO copied SELECT id, word FROM STREAM incoming",
        "CREATE JOB counted OPTIONS ('snapshotIntervalMillis' = '500')"
        " AS INSERT OVERWRITE counted SELECT word, count(*) FROM STREAM incoming GROUP BY word",
    ):
        engine.sql(text)
    yield engine
    engine.close()


@pytest.fixture
def engine(started: PodEngine) -> PodEngine:
    started.wait_members(2)
    return started


def send(engine: PodEngine) -> int:
    """Write a file of rows, and return the number of all rows until now."""
    number = next(_files)
    first = number * FILE_ROWS
    rows = [{"id": id_, "word": f"word {id_ % 4}"} for id_ in range(first, first + FILE_ROWS)]
    write_rows(engine.storage / "incoming", f"{number:04}", rows)
    return first + FILE_ROWS


def check_rows(engine: PodEngine, total: int) -> None:
    """Wait until the jobs have read all rows, and check that each row was written once."""

    def reached() -> bool:
        [copied] = engine.sql("SELECT count(*) AS n FROM copied")
        [counted] = engine.sql("SELECT coalesce(sum(n), 0) AS n FROM counted")
        return bool(copied["n"] >= total and counted["n"] >= total)

    engine.wait_until(reached, f"{total} rows have not arrived")
    [row] = engine.sql("SELECT count(*) AS n, count(DISTINCT id) AS ids, min(id) AS first, max(id) AS last FROM copied")
    assert row == {"n": total, "ids": total, "first": 0, "last": total - 1}
    counts = {row["word"]: row["n"] for row in engine.sql("SELECT word, n FROM counted")}
    assert counts == {f"word {digit}": total // 4 for digit in range(4)}


def test_strangers_get_nothing_from_the_cluster(cluster: LocalCluster) -> None:
    nodes = [str(cluster.addresses.node(number)) for number in range(len(cluster.nodes))]
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for url in (f"{cluster.addresses.api_server}/api/v1/pods", *(f"https://{node}:10250/pods" for node in nodes)):
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(url, timeout=10, context=context)
        with caught.value as error:
            assert error.code in (401, 403), url
    for port in (2379, 2380, 10249, 10256, 10257, 10259):  # etcd, proxy, controllers, scheduler
        for node in nodes:
            with socket.socket() as client:
                assert client.connect_ex((node, port)) == errno.ECONNREFUSED, port


def test_executors_are_pods_that_members_name(engine: PodEngine) -> None:
    check_rows(engine, send(engine))
    pods = {pod["metadata"]["name"]: pod for pod in engine.executor_pods()}
    members = engine.members()
    assert {row["pod"] for row in members.values()} == set(pods)
    assert {row["node"] for row in members.values()} == set(engine.cluster.nodes)
    for row in members.values():
        pod = pods[row["pod"]]
        assert (row["host"], row["node"]) == (pod["status"]["podIP"], pod["spec"]["nodeName"])
        assert "KubernetesExecutorBackend" in engine.kubectl("logs", row["pod"])


def test_containers_run_without_rights(engine: PodEngine) -> None:
    for name in ("engine", *(pod["metadata"]["name"] for pod in engine.executor_pods())):
        rights = engine.kubectl("exec", name, "--", "grep", "-E", "^(Uid|CapEff|NoNewPrivs)", "/proc/1/status")
        assert rights.split() == ["Uid:", *[str(USER)] * 4, "CapEff:", "0" * 16, "NoNewPrivs:", "1"]
        assert "Read-only" in engine.kubectl("exec", name, "--", "sh", "-c", "touch /opt/jetsql/x 2>&1 || true")


def test_deleted_executor_pod_leaves_without_a_restart(engine: PodEngine) -> None:
    runs = {job: engine.runs(job) for job in JOBS}
    [id_, *_] = engine.members()
    pod = engine.members()[id_]["pod"]
    engine.kubectl("delete", "pod", pod, "--wait=false")
    total = send(engine)
    engine.wait_until(lambda: id_ in engine.members("LEAVING") | engine.members("GONE"), "no executor is leaving")
    engine.wait_until(lambda: id_ in engine.members("GONE"), f"executor {id_} is not gone")
    assert engine.members("GONE")[id_]["reason"].startswith("It left as planned.")
    check_rows(engine, total)
    engine.wait_members(2)
    check_rows(engine, send(engine))
    assert {job: engine.runs(job) for job in JOBS} == runs


def test_drained_node_restarts_no_job(engine: PodEngine) -> None:
    node = engine.cluster.nodes[1]
    runs = {job: engine.runs(job) for job in JOBS}
    gone = {id_ for id_, row in engine.members().items() if row["node"] == node}
    assert gone
    total = send(engine)
    engine.cluster.kubectl("drain", node, "--delete-emptydir-data", "--ignore-daemonsets", "--timeout=120s")
    try:
        engine.wait_until(lambda: gone <= set(engine.members("GONE")), f"the executors {gone} are not gone")
        check_rows(engine, send(engine))
        members = engine.wait_members(2)
        assert {row["node"] for row in members.values()} == {engine.cluster.nodes[0]}
        check_rows(engine, send(engine))
    finally:
        engine.cluster.kubectl("uncordon", node)
    assert total > 0 and {job: engine.runs(job) for job in JOBS} == runs


def test_killed_executor_is_a_loss(engine: PodEngine) -> None:
    runs = {job: engine.runs(job) for job in JOBS}
    [id_, *_] = engine.members()
    total = send(engine)
    engine.kubectl("exec", engine.members()[id_]["pod"], "--", "sh", "-c", "kill -9 $(cat /proc/1/task/1/children)")
    engine.wait_until(lambda: id_ in engine.members("GONE"), f"executor {id_} is not gone")
    assert not engine.members("GONE")[id_]["reason"].startswith("It left as planned.")
    for job in JOBS:
        engine.wait_until(lambda job=job: engine.runs(job) > runs[job], f"{job} has not restarted")
        assert "member lost" in engine.events(job)
    check_rows(engine, total)
    engine.wait_members(2)
    for job in JOBS:  # to use the new executor, by the rules of autoScaling
        engine.wait_until(lambda job=job: engine.runs(job) > runs[job] + 1, f"{job} has not restarted again")
    check_rows(engine, send(engine))


def check_without_replacement(engine: PodEngine, message: str) -> None:
    """Delete the pod of an executor that cannot be replaced, and check that the jobs continue on the other one.

    message: what the log says at each attempt, more often than Spark's own limit of failures.
    """
    [id_, *_] = engine.members()
    engine.kubectl("delete", "pod", engine.members()[id_]["pod"], "--wait=false")
    engine.wait_until(lambda: id_ in engine.members("GONE"), f"executor {id_} is not gone")
    engine.wait_until(lambda: engine.log().count(message) > 10, f"the log does not have '{message}'")
    check_rows(engine, send(engine))
    assert len(engine.members()) == 1


def test_exceeded_quota_is_logged_and_harms_no_job(engine: PodEngine) -> None:
    runs = {job: engine.runs(job) for job in JOBS}
    quota = {"kind": "ResourceQuota", "metadata": {"name": "few", "namespace": engine.namespace}}
    engine.cluster.apply({"apiVersion": "v1", **quota, "spec": {"hard": {"pods": "2"}}})
    try:
        check_without_replacement(engine, "exceeded quota: few, requested: pods=1")
    finally:
        engine.kubectl("delete", "resourcequota", "few")
    engine.wait_members(2)
    check_rows(engine, send(engine))
    assert {job: engine.runs(job) for job in JOBS} == runs


def test_missing_right_is_logged_and_harms_no_job(engine: PodEngine) -> None:
    runs = {job: engine.runs(job) for job in JOBS}
    engine.give_rights([{"apiGroups": [""], "resources": ["pods", "configmaps"], "verbs": ["get", "list", "watch"]}])
    try:
        check_without_replacement(engine, 'cannot create resource "pods"')
    finally:
        engine.give_rights()
    engine.wait_members(2)
    check_rows(engine, send(engine))
    assert {job: engine.runs(job) for job in JOBS} == runs


def test_jobs_continue_while_the_api_server_is_killed(engine: PodEngine) -> None:
    runs = {job: engine.runs(job) for job in JOBS}
    with engine.cluster.killed_api_server():
        check_rows(engine, send(engine))
    [id_, *_] = engine.members()
    engine.kubectl("delete", "pod", engine.members()[id_]["pod"], "--wait=false")
    engine.wait_until(lambda: id_ in engine.members("GONE"), f"executor {id_} is not gone")
    engine.wait_members(2)  # Spark watches the new API server
    check_rows(engine, send(engine))
    assert {job: engine.runs(job) for job in JOBS} == runs


def test_members_name_an_image_that_is_missing(cluster: LocalCluster) -> None:
    engine = PodEngine(cluster, "wrong-image")
    image = "spark.kubernetes.container.image"
    try:
        engine.start({image: "localhost/none:1", f"{image}.pullPolicy": "Never", "spark.executor.instances": "1"})
        engine.wait_until(
            lambda: any(row["reason"] for row in engine.members("STARTING").values()), "no executor has a reason"
        )
        [row] = engine.members("STARTING").values()
        assert row["reason"].startswith('ErrImageNeverPull: Container image "localhost/none:1" is not present')
        assert row["pod"].endswith("-exec-1")
    finally:
        engine.close()
