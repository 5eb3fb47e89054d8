"""A leader and a standby as pods: which of them leads, and that no row is lost or written twice when one is lost."""

from __future__ import annotations

import errno
import logging
import socket
import ssl
import urllib.error
import urllib.request
from statistics import median
from time import monotonic

import psutil
import pytest

from tests.support.engines.chart_jobs import JOBS, ChartJobs, Servers, longest_gap, silence
from tests.support.engines.chart_release import EXECUTORS, NAME, NEXT_IMAGE, OBJECTS, ChartRelease
from tests.support.servers.kubernetes_processes import list_processes, use_up_memory
from tools.kubernetes.cache import BuildFailed
from tools.kubernetes.configuration import API_PORT
from tools.kubernetes.local_cluster import LocalCluster

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
DELETIONS = 3
_LOG = logging.getLogger(__name__)


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


def test_installed_files_have_created_the_jobs(release: ChartRelease, jobs: ChartJobs) -> None:
    plan = release.kubectl("logs", f"job/{OBJECTS}-apply")
    assert all(f"job {job}" in plan for job in JOBS)
    jobs.check(jobs.send())
    release.helm("test", NAME)


def test_deleted_leader_is_replaced(release: ChartRelease, jobs: ChartJobs) -> None:
    silences, delays = [], []
    for _ in range(DELETIONS):
        release.wait_until_warm(release.standby())
        leader = release.leader()
        processes = list_processes(leader)
        with jobs.ticking() as arrivals:
            release.wait_until(lambda arrivals=arrivals: len(arrivals) > 5, "no tick has arrived")
            release.kubectl("delete", "pod", leader, "--grace-period=0", "--force")
            _, left = psutil.wait_procs(processes, timeout=60)
            ended = monotonic()
            assert processes and not left
            release.wait_until(lambda leader=leader: release.leader() != leader, "the lead has not changed")
            before = len(arrivals)
            release.wait_until(lambda a=arrivals, b=before: len(a) > b + 5, "no tick has arrived since")
        silences.append(silence(arrivals))
        delays.append(longest_gap(arrivals)[1] - ended)
        jobs.check(jobs.send())
    _LOG.info("Leader deleted: silence of a job %s s, median %.1f s", seconds(silences), median(silences))
    _LOG.info("From the end of its processes to the next commit: %s s, median %.1f s", seconds(delays), median(delays))


def seconds(numbers: list[float]) -> str:
    return ", ".join(f"{each:.1f}" for each in numbers)


def test_deleted_standby_restarts_no_job(release: ChartRelease, jobs: ChartJobs) -> None:
    runs, leader, standby = release.runs(), release.leader(), release.standby()
    release.kubectl("delete", "pod", standby, "--grace-period=0", "--force")
    jobs.check(jobs.send())
    assert release.standby() != standby
    jobs.check(jobs.send())
    assert (release.runs(), release.leader()) == (runs, leader)


def test_drained_node_changes_the_lead_once(release: ChartRelease, jobs: ChartJobs, servers: Servers) -> None:
    leader, standby = release.leader(), release.standby()
    release.wait_until_warm(standby)
    node = release.node(leader)
    leads = servers.lease_number()
    total = jobs.send()
    with jobs.ticking() as arrivals, release.cluster.drained(node):
        assert release.leader() == standby
        jobs.check(total)
        jobs.check(jobs.send())
        release.wait_members(2)
    _LOG.info("Leader's node drained: silence of a job %.1f s", silence(arrivals))
    assert servers.lease_number() == leads + 1


def test_drained_executors_restart_no_job(release: ChartRelease, jobs: ChartJobs) -> None:
    [node] = {*release.cluster.nodes} - {release.node(release.leader())}
    runs = release.runs()
    gone = {id_ for id_, row in release.members().items() if row["node"] == node}
    assert gone
    total = jobs.send()
    with release.cluster.drained(node):
        release.wait_until(lambda: gone <= set(release.members("GONE")), f"the executors {gone} are not gone")
        jobs.check(total)
        members = release.wait_members(2)
        assert node not in {row["node"] for row in members.values()}
        jobs.check(jobs.send())
    assert release.runs() == runs
    _LOG.info("Executor's node drained: 0 restarts of %d jobs", len(runs))


def test_upgrade_changes_the_lead_once(release: ChartRelease, jobs: ChartJobs, servers: Servers) -> None:
    leads = servers.lease_number()
    pods = set(release.pods())
    release.values["image"] = {**release.values["image"], "tag": NEXT_IMAGE.rpartition(":")[2]}
    with jobs.ticking() as arrivals:
        release.install()
        release.standby()
        assert pods.isdisjoint(release.pods())
        jobs.check(jobs.send())
    _LOG.info("Both engines replaced by an upgrade: silence of a job %.1f s", silence(arrivals))
    assert servers.lease_number() == leads + 1
    images = {container["image"] for pod in release.pods().values() for container in pod["spec"]["containers"]}
    assert images == {NEXT_IMAGE}


def test_lost_node_of_the_leader(release: ChartRelease, jobs: ChartJobs) -> None:
    leader, standby = release.leader(), release.standby()
    node = release.node(leader)
    assert release.node(standby) != node
    executors = {row["pod"] for row in release.members().values()}
    total = jobs.send()
    with release.cluster.lost_node(node):
        release.wait_until(lambda: release.leader() == standby, "the standby does not lead")
        jobs.check(total)
        jobs.check(jobs.send())
    jobs.check(jobs.send())
    release.wait_until(lambda: executors.isdisjoint(release.pods(EXECUTORS)), "an executor has not noticed the loss")


def test_lost_node_of_an_executor(release: ChartRelease, jobs: ChartJobs) -> None:
    runs, leader = release.runs(), release.leader()
    [node] = {*release.cluster.nodes} - {release.node(leader)}
    gone = {id_ for id_, row in release.members().items() if row["node"] == node}
    assert gone
    total = jobs.send()
    with release.cluster.lost_node(node):
        release.wait_until(lambda: gone <= set(release.members("GONE")), f"the executors {gone} are not gone")
        jobs.check(total)
        jobs.check(jobs.send())
        assert release.leader() == leader
    release.wait_restarts(runs, 2)
    release.wait_settled()
    jobs.check(jobs.send())


def test_leader_without_the_api_server_continues(release: ChartRelease, jobs: ChartJobs) -> None:
    runs, leader = release.runs(), release.leader()
    server = str(release.cluster.addresses.node(0))
    with release.cluster.cut(release.address(leader), server, API_PORT):
        jobs.check(jobs.send())
    jobs.check(jobs.send())
    assert (release.runs(), release.leader()) == (runs, leader)


def test_jobs_continue_while_the_api_server_is_killed(release: ChartRelease, jobs: ChartJobs) -> None:
    runs = release.runs()
    with release.cluster.killed_api_server():
        jobs.check(jobs.send())
    member = next(iter(release.members().values()))
    release.kubectl("delete", "pod", member["pod"], "--wait=false")
    release.wait_until(lambda: len(release.members("GONE")) > 0, "no executor is gone")
    release.wait_members(2)  # Spark watches the new API server
    jobs.check(jobs.send())
    assert release.runs() == runs


def test_leader_without_the_store_loses_the_lead(release: ChartRelease, jobs: ChartJobs, servers: Servers) -> None:
    leader, standby = release.leader(), release.standby()
    total = jobs.send()
    with release.cluster.cut(release.address(leader), servers.host, servers.postgres.port):
        release.wait_until(lambda: release.leader() == standby, "the standby does not lead")
        jobs.check(total)
        jobs.check(jobs.send())
    jobs.check(jobs.send())
    assert release.leader() == standby


def test_leader_without_memory_is_replaced(release: ChartRelease, jobs: ChartJobs) -> None:
    leader = release.leader()
    use_up_memory(release, leader)
    release.wait_until(lambda: release.leader() != leader, "the lead has not changed")
    release.wait_until(lambda: release.end_reason(leader) == "OOMKilled", "no lack of memory is reported")
    jobs.check(jobs.send())


def test_evicted_pods_are_replaced(release: ChartRelease, jobs: ChartJobs) -> None:
    node = release.node(release.leader())
    total = jobs.send()
    with release.cluster.memory_pressure(node):
        release.wait_until(lambda: release.evicted(), "no pod was evicted")
    jobs.check(total)
    release.standby()
    jobs.check(jobs.send())


def test_failing_file_fails_the_upgrade(release: ChartRelease, jobs: ChartJobs) -> None:
    runs = release.runs()
    apply = release.values["apply"]
    release.values["apply"] = {
        **apply,
        "files": {**apply["files"], "wrong.sql": "CREATE JOB wrong AS INSERT INTO x;\n"},
    }
    try:
        with pytest.raises(BuildFailed, match="post-upgrade hooks failed"):
            release.install()
        assert "wrong.sql" in release.kubectl("logs", f"job/{OBJECTS}-apply")
    finally:
        release.values["apply"] = apply
        release.install()
    jobs.check(jobs.send())
    assert release.runs() == runs
