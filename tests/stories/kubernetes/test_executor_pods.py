"""Executors as pods: which departures restart jobs, and which do not."""

from __future__ import annotations

import pytest

from tests.support.engines.chart_jobs import JOBS, ChartJobs
from tests.support.engines.chart_release import EXECUTORS, USER, ChartRelease
from tests.support.servers.kubernetes_processes import kill_java, use_up_memory

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_executors_are_pods_that_members_name(release: ChartRelease, jobs: ChartJobs) -> None:
    jobs.check(jobs.send())
    members = release.members()
    pods = release.pods(EXECUTORS)
    assert {row["pod"] for row in members.values()} <= set(pods)
    assert {row["node"] for row in members.values()} == set(release.cluster.nodes)
    for row in members.values():
        pod = pods[row["pod"]]
        assert (row["host"], row["node"]) == (pod["status"]["podIP"], pod["spec"]["nodeName"])
        assert "KubernetesExecutorBackend" in release.kubectl("logs", row["pod"])


def test_containers_run_without_rights(release: ChartRelease) -> None:
    for name in (*release.pods(), *release.pods(EXECUTORS)):
        rights = release.kubectl("exec", name, "--", "grep", "-E", "^(Uid|CapEff|NoNewPrivs)", "/proc/1/status")
        assert rights.split() == ["Uid:", *[str(USER)] * 4, "CapEff:", "0" * 16, "NoNewPrivs:", "1"]
        assert "Read-only" in release.kubectl("exec", name, "--", "sh", "-c", "touch /opt/jetsql/x 2>&1 || true")


def test_deleted_executor_pod_leaves_without_a_restart(release: ChartRelease, jobs: ChartJobs) -> None:
    runs = release.runs()
    id_, member = next(iter(release.members().items()))
    release.kubectl("delete", "pod", member["pod"], "--wait=false")
    total = jobs.send()
    release.wait_until(lambda: id_ in release.members("LEAVING") | release.members("GONE"), "no executor is leaving")
    check_gone(release, id_, is_planned=True)
    jobs.check(total)
    release.wait_members(2)
    jobs.check(jobs.send())
    assert release.runs() == runs


def check_gone(release: ChartRelease, id_: str, is_planned: bool) -> None:
    """Wait until an executor is gone, and check whether it has left as planned."""
    release.wait_until(lambda: id_ in release.members("GONE"), f"executor {id_} is not gone")
    assert release.members("GONE")[id_]["reason"].startswith("It left as planned.") == is_planned


def check_restarts_after_a_loss(release: ChartRelease, jobs: ChartJobs, runs: dict[str, int]) -> None:
    """Check that all jobs restart after a loss, and again when the executor has been replaced, with all rows."""
    total = jobs.send()
    release.wait_restarts(runs, 1)
    jobs.check(total)
    release.wait_members(2)
    release.wait_restarts(runs, 2)
    jobs.check(jobs.send())


def test_killed_executor_is_a_loss(release: ChartRelease, jobs: ChartJobs) -> None:
    runs = release.runs()
    id_, member = next(iter(release.members().items()))
    kill_java(release, member["pod"])
    check_gone(release, id_, is_planned=False)
    check_restarts_after_a_loss(release, jobs, runs)
    [event] = release.sql(
        f"SELECT count(*) AS n FROM jetsql.job_history WHERE job = '{JOBS[0]}' AND event = 'member lost'"
    )
    assert event["n"] >= 1


def test_executor_without_memory_is_a_loss(release: ChartRelease, jobs: ChartJobs) -> None:
    runs = release.runs()
    id_, member = next(iter(release.members().items()))
    use_up_memory(release, member["pod"])
    check_gone(release, id_, is_planned=False)
    check_restarts_after_a_loss(release, jobs, runs)


def test_unreachable_executor_is_a_loss(release: ChartRelease, jobs: ChartJobs) -> None:
    runs = release.runs()
    id_, member = next(iter(release.members().items()))
    leader = release.address(release.leader())
    with release.cluster.cut(member["host"], leader):
        check_gone(release, id_, is_planned=False)
    check_restarts_after_a_loss(release, jobs, runs)


def check_without_replacement(release: ChartRelease, jobs: ChartJobs, message: str) -> None:
    """Delete the pod of an executor that cannot be replaced, and check that the jobs continue on the other one.

    message: what SHOW MEMBERS says, and the log at each attempt, more often than Spark's own limit of failures.
    """
    id_, member = next(iter(release.members().items()))
    release.kubectl("delete", "pod", member["pod"], "--wait=false")
    check_gone(release, id_, is_planned=True)
    release.wait_until(lambda: release.log().count(message) > 10, f"the log does not have '{message}'")
    jobs.check(jobs.send())
    assert len(release.members()) == 1
    [missing] = release.members("STARTING").values()
    assert message in missing["reason"]


def test_exceeded_quota_is_logged_and_harms_no_job(release: ChartRelease, jobs: ChartJobs) -> None:
    runs = release.runs()
    limits = {"pods": str(len(release.pods()) + len(release.pods(EXECUTORS)) - 1)}
    release.cluster.apply(release.resource("v1", "ResourceQuota", "few", spec={"hard": limits}))
    try:
        check_without_replacement(release, jobs, "exceeded quota: few, requested: pods=1")
    finally:
        release.kubectl("delete", "resourcequota", "few")
    release.wait_members(2)
    assert release.members("STARTING") == {}
    jobs.check(jobs.send())
    assert release.runs() == runs


def test_missing_right_is_logged_and_harms_no_job(release: ChartRelease, jobs: ChartJobs) -> None:
    runs = release.runs()
    with release.without_right("create"):
        check_without_replacement(release, jobs, 'cannot create resource "pods"')
    release.wait_members(2)
    jobs.check(jobs.send())
    assert release.runs() == runs
