"""Resources that declare jobs: the controller on a manager in memory, against an API server of the test."""

from __future__ import annotations

from typing import Any

import pytest

from jetsql.job_resources.resource import FINALIZER
from jetsql.jobs.model.job import Cause, Status
from jetsql.request import ENGINE, Caller, Endpoint
from tests.conftest import until
from tests.job_resources.conftest import CREATE, JOBS, USER, Cluster, codes, condition
from tests.support.engines.in_memory_runtime import analysis, source
from tests.support.servers.kubernetes_api import NAMESPACE


def test_resource_creates_suspends_resumes_and_drops_its_job(cluster: Cluster) -> None:
    cluster.api.create(JOBS, "shop", sql=CREATE, state="Running")
    status = cluster.wait("shop", "Running")
    job = cluster.job()
    assert job.plan.options.apply_group == f"kubernetes/{NAMESPACE}/shop"
    assert (status["job"], status["jobId"], status["state"]) == ("orders", job.id, "RUNNING")
    assert status["observedGeneration"] == 1
    assert condition(status)["status"] == "True" and not condition(status, "Stalled")
    found = cluster.api.get(JOBS, "shop")
    assert found is not None and found["metadata"]["finalizers"] == [FINALIZER]
    cluster.api.change(JOBS, "shop", state="Suspended")
    assert cluster.wait("shop", "Suspended")["state"] == "SUSPENDED"
    cluster.api.change(JOBS, "shop", state="Running")
    assert cluster.wait("shop", "Running", 3)["jobId"] == job.id
    cluster.api.delete(JOBS, "shop")
    cluster.api.wait_gone(JOBS, "shop")
    assert cluster.jobs() == []
    authors = {row.by for row in cluster.engine.store.history(job.id) if row.by != ENGINE}
    assert authors == {Caller(USER, Endpoint.KUBERNETES)}


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE out",
        "DROP JOB orders",
        f"{CREATE}; DROP TABLE out",
        "CREATE TABLE t (a INT)",
        "GRANT ADMIN TO deployer",
    ],
)
def test_statement_that_creates_no_job_never_runs(cluster: Cluster, sql: str) -> None:
    ran: list[str] = []
    run = cluster.engine.run
    cluster.engine.session = lambda: _Recording(ran, run)  # type: ignore[method-assign, assignment, return-value]
    cluster.api.create(JOBS, "attack", sql=sql, state="Running")
    status = cluster.wait("attack", "InvalidStatement")
    assert condition(status, "Stalled")["status"] == "True"
    assert codes(status) == ("JETSQL.NOT_A_JOB_STATEMENT", "0A000")
    assert ran == [] and cluster.jobs() == []


class _Recording:
    """A session that notes its statements."""

    def __init__(self, ran: list[str], run: Any) -> None:
        self._ran, self._run = ran, run

    def run(self, text: str) -> Any:
        self._ran.append(text)
        return self._run(text)


def test_job_created_by_hand_is_left_alone(cluster: Cluster) -> None:
    cluster.engine.run("CREATE JOB orders AS INSERT INTO out SELECT 1 FROM STREAM src")
    before = cluster.job()
    cluster.api.create(JOBS, "shop", sql=CREATE, state="Suspended")
    status = cluster.wait("shop", "JobExists")
    assert "DROP JOB orders" in condition(status)["message"]
    assert codes(status) == ("JETSQL.JOB_ALREADY_EXISTS", "42710")
    cluster.api.delete(JOBS, "shop")
    cluster.api.wait_gone(JOBS, "shop")
    assert cluster.job() == before
    cluster.engine.run("DROP JOB orders")
    cluster.api.create(JOBS, "shop", sql=CREATE, state="Running")
    cluster.wait("shop", "Running")


@pytest.mark.parametrize("state", ["Running", "Suspended"])
def test_second_resource_with_the_same_job_is_refused(cluster: Cluster, state: str) -> None:
    cluster.api.create(JOBS, "first", sql=CREATE, state=state)
    cluster.wait("first", state)
    cluster.api.create(JOBS, "second", sql=CREATE.replace("orders", "ORDERS"), state="Running")
    status = cluster.wait("second", "JobOfAnotherGroup")
    assert "another name" in condition(status)["message"]
    assert codes(status) == ("JETSQL.JOB_OF_ANOTHER_GROUP", "42710")
    cluster.api.delete(JOBS, "first")
    cluster.api.wait_gone(JOBS, "first")
    cluster.api.change(JOBS, "second", onIncompatibleState="Restart")
    cluster.wait("second", "Running")
    assert cluster.job().plan.options.apply_group == f"kubernetes/{NAMESPACE}/second"


def test_group_of_another_resource_cannot_be_declared(cluster: Cluster) -> None:
    cluster.api.create(JOBS, "first", sql=CREATE, state="Running")
    cluster.wait("first", "Running")
    before = cluster.job()
    option = f"OPTIONS ('applyGroup' = 'kubernetes/{NAMESPACE}/first')"
    cluster.api.create(JOBS, "second", sql=CREATE.replace("AS INSERT", f"{option} AS INSERT"), state="Suspended")
    cluster.wait("second", "JobOfAnotherGroup")
    other = CREATE.replace("orders", "others").replace("AS INSERT", f"{option} AS INSERT")
    cluster.api.create(JOBS, "third", sql=other, state="Running")
    assert cluster.wait("third", "StatementFailed")["error"]["condition"] == "JETSQL.JOB_OF_ANOTHER_GROUP"
    assert cluster.jobs() == ["orders"] and cluster.job() == before


def test_suspended_resource_creates_no_job_before_it_runs(cluster: Cluster) -> None:
    cluster.api.create(JOBS, "shop", sql=CREATE, state="Suspended")
    status = cluster.wait("shop", "Suspended")
    assert condition(status)["status"] == "True" and "created when" in condition(status)["message"]
    assert cluster.jobs() == [] and "job" not in status
    cluster.api.change(JOBS, "shop", state="Running")
    cluster.wait("shop", "Running")
    assert cluster.jobs() == ["orders"]


def test_changed_statement_updates_the_job_when_it_runs(cluster: Cluster) -> None:
    cluster.api.create(JOBS, "shop", sql=CREATE, state="Running")
    job_id = cluster.wait("shop", "Running")["jobId"]
    cluster.api.change(JOBS, "shop", sql=f"{CREATE} WHERE a > 1")
    cluster.wait("shop", "Running", 2)
    assert cluster.job().body.text.endswith("a > 1") and cluster.job().id == job_id
    cluster.api.change(JOBS, "shop", sql=f"{CREATE} WHERE a > 2", state="Suspended")
    assert "changed statement applies when" in condition(cluster.wait("shop", "Suspended", 3))["message"]
    assert cluster.job().body.text.endswith("a > 1")
    cluster.api.change(JOBS, "shop", state="Running")
    cluster.wait("shop", "Running", 4)
    assert cluster.job().body.text.endswith("a > 2") and cluster.job().id == job_id


def test_incompatible_state_fails_or_restarts_as_declared(cluster: Cluster) -> None:
    cluster.api.create(JOBS, "shop", sql=CREATE, state="Running")
    before = cluster.wait("shop", "Running")["jobId"]
    cluster.engine.runtime.analysis = analysis(sources=(source("other"),))
    cluster.api.change(JOBS, "shop", sql=f"{CREATE} WHERE a > 1")
    status = cluster.wait("shop", "StateNotCompatible", 2)
    assert status["error"]["condition"] == "JETSQL.STATE_NOT_COMPATIBLE"
    assert status["error"]["sqlstate"] and status["error"]["line"] == 1
    assert (status["state"], status["jobId"]) == ("RUNNING", before)
    cluster.api.change(JOBS, "shop", onIncompatibleState="Restart")
    assert cluster.wait("shop", "Running", 3)["jobId"] != before
    assert cluster.jobs() == ["orders"]


def test_name_of_the_job_cannot_change(cluster: Cluster) -> None:
    cluster.api.create(JOBS, "shop", sql=CREATE, state="Running")
    before = cluster.wait("shop", "Running")["jobId"]
    cluster.api.change(JOBS, "shop", sql=CREATE.replace("orders", "others"))
    assert codes(cluster.wait("shop", "NameChanged")) == ("JETSQL.NOT_SUPPORTED", "0A000")
    assert cluster.jobs() == ["orders"] and cluster.job().id == before


def test_deleted_resource_waits_for_an_engine(cluster: Cluster) -> None:
    cluster.api.create(JOBS, "shop", sql=CREATE, state="Running")
    cluster.wait("shop", "Running")
    cluster.controller.stop()
    cluster.api.delete(JOBS, "shop")
    assert cluster.jobs() == ["orders"] and cluster.api.get(JOBS, "shop") is not None
    cluster.restart()
    cluster.api.wait_gone(JOBS, "shop")
    assert cluster.jobs() == []


def test_next_leader_repeats_nothing(cluster: Cluster) -> None:
    for number in range(7):
        state = "Suspended" if number % 2 else "Running"
        cluster.api.create(JOBS, f"r{number}", sql=CREATE.replace("orders", f"j{number}"), state=state)
    for number in range(7):
        cluster.wait(f"r{number}", "Suspended" if number % 2 else "Running")
    jobs = [cluster.job(f"j{number}").id for number in range(0, 7, 2)]
    histories = [len(cluster.engine.store.history(job)) for job in jobs]
    cluster.controller.stop()
    cluster.api.patches.clear()
    cluster.restart()
    cluster.api.create(JOBS, "last", sql=CREATE, state="Running")
    cluster.wait("last", "Running")
    assert {path for path, _ in cluster.api.patches} == {f"{JOBS}/last", f"{JOBS}/last/status"}
    assert [len(cluster.engine.store.history(job)) for job in jobs] == histories


def test_leader_that_was_paused_changes_no_status_back(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with cluster.engine.runtime.gate("start"):
        cluster.api.create(JOBS, "shop", sql=CREATE, state="Running")
        until(lambda: cluster.jobs() == ["orders"])
        cluster.api.write_status(JOBS, "shop", {"job": "of the next leader"})
        monkeypatch.setattr(type(cluster.engine), "leads", False)
    cluster.api.wait_requests(f"{JOBS}/shop/status", 1)
    cluster.controller.stop()
    found = cluster.api.get(JOBS, "shop")
    assert found is not None and found["status"] == {"job": "of the next leader"}


def test_expired_watch_lists_all_resources_again(cluster: Cluster) -> None:
    cluster.api.create(JOBS, "shop", sql=CREATE, state="Running")
    cluster.wait("shop", "Running")
    listed = f"GET /apis/jetsql.io/v1alpha1/namespaces/{NAMESPACE}/{JOBS}?"
    lists = sum(listed in each for each in cluster.api.requests)
    cluster.api.send_bookmarks()
    cluster.api.expire()
    cluster.api.wait_requests(listed, lists + 1)
    cluster.api.change(JOBS, "shop", state="Suspended")
    cluster.wait("shop", "Suspended")


def test_jobs_continue_while_the_server_is_away(cluster: Cluster) -> None:
    cluster.api.create(JOBS, "shop", sql=CREATE, state="Running")
    cluster.wait("shop", "Running")
    cluster.api.refuse(503)
    cluster.api.create(JOBS, "more", sql=CREATE.replace("orders", "others"), state="Running")
    assert cluster.job().status is Status.RUNNING and cluster.jobs() == ["orders"]
    cluster.api.refuse(None)
    cluster.wait("more", "Running")
    assert cluster.jobs() == ["orders", "others"]


def test_failed_job_is_created_again_with_a_new_spec_only(cluster: Cluster) -> None:
    sql = CREATE.replace("AS INSERT", "OPTIONS ('suspendOnFailure' = 'false') AS INSERT")
    cluster.api.create(JOBS, "shop", sql=sql, state="Running")
    before = cluster.wait("shop", "Running")["jobId"]
    cause = Cause("Division by zero.", "DIVIDE_BY_ZERO", "22012", retryable=False, hint="Use try_divide.")
    cluster.engine.runtime.fail(before, cause)
    status = cluster.wait("shop", "JobFailed")
    assert status["error"] == {
        "condition": "DIVIDE_BY_ZERO",
        "sqlstate": "22012",
        "message": "Division by zero.",
        "hint": "Use try_divide.",
    }
    for part in ("DIVIDE_BY_ZERO", "Division by zero.", "Use try_divide.", "SQLSTATE: 22012"):
        assert part in condition(status)["message"]
    assert condition(status, "Stalled")["reason"] == "JobFailed"
    cluster.restart()
    cluster.api.create(JOBS, "more", sql=CREATE.replace("orders", "others"), state="Running")
    cluster.wait("more", "Running")
    assert cluster.jobs() == ["others"]
    cluster.api.change(JOBS, "shop", onIncompatibleState="Restart")
    assert cluster.wait("shop", "Running", 2)["jobId"] != before


def test_job_suspended_by_hand_is_resumed(cluster: Cluster) -> None:
    cluster.api.create(JOBS, "shop", sql=CREATE, state="Running")
    job_id = cluster.wait("shop", "Running")["jobId"]
    runs = cluster.job().run
    cluster.engine.run("SUSPEND JOB orders")
    until(lambda: cluster.job().run > runs and cluster.job().status is Status.RUNNING)
    assert cluster.job().id == job_id


def test_job_suspended_by_the_engine_stays_suspended(cluster: Cluster) -> None:
    cluster.api.create(JOBS, "shop", sql=CREATE, state="Running")
    job_id = cluster.wait("shop", "Running")["jobId"]
    cluster.engine.runtime.fail(job_id, Cause("No.", "WRONG", "22000", retryable=False))
    status = cluster.wait("shop", "SuspendedByEngine")
    assert status["state"] == "SUSPENDED" and condition(status)["status"] == "False"
    runs = cluster.job().run
    cluster.api.change(JOBS, "shop", onIncompatibleState="Restart")
    cluster.wait("shop", "Running", 2)
    assert cluster.job().run == runs + 1


def test_statements_need_the_rights_of_their_user(cluster: Cluster) -> None:
    cluster.engine.run("CREATE USER ann")
    cluster.api.create(JOBS, "shop", sql=CREATE, state="Running")
    status = cluster.wait("shop", "StatementFailed")
    assert status["error"]["condition"] == "JETSQL.NOT_ALLOWED" and status["error"]["sqlstate"] == "42501"
    assert cluster.jobs() == []
    cluster.engine.run(f"CREATE USER {USER}")
    cluster.api.change(JOBS, "shop", onIncompatibleState="Restart")
    cluster.wait("shop", "Running", 2)
    assert cluster.job().owner == USER
    cluster.engine.run("CREATE JOB others AS INSERT INTO out SELECT * FROM STREAM src")
    cluster.api.create(JOBS, "others", sql=CREATE.replace("orders", "others"), state="Running")
    assert cluster.wait("others", "StatementFailed")["error"]["condition"] == "JETSQL.JOB_ALREADY_EXISTS"


def test_drop_writes_the_snapshot_that_is_declared(cluster: Cluster) -> None:
    cluster.api.create(JOBS, "shop", sql=CREATE, state="Running", snapshotOnDelete="last state")
    job_id = cluster.wait("shop", "Running")["jobId"]
    cluster.engine.runtime.commit(job_id)
    until(lambda: cluster.job().batch is not None)
    cluster.api.delete(JOBS, "shop")
    cluster.api.wait_gone(JOBS, "shop")
    assert [each.name for each in cluster.engine.queries.snapshots()] == ["last state"]
    assert cluster.jobs() == []


def test_texts_of_a_status_are_short(cluster: Cluster) -> None:
    cluster.api.create(JOBS, "shop", sql=CREATE, state="Running")
    job_id = cluster.wait("shop", "Running")["jobId"]
    cluster.engine.runtime.fail(job_id, Cause("x" * 100_000, "LONG", "22000", retryable=False, hint="y" * 100_000))
    assert len(str(cluster.wait("shop", "SuspendedByEngine"))) < 6000


def test_conflict_with_another_client_is_tried_again(cluster: Cluster) -> None:
    cluster.controller.stop()
    cluster.api.conflicts = 2
    cluster.restart()
    cluster.api.create(JOBS, "shop", sql=CREATE, state="Running")
    cluster.wait("shop", "Running")
    assert cluster.api.conflicts == 0 and cluster.jobs() == ["orders"]


def test_removed_finalizer_leaves_the_job(cluster: Cluster) -> None:
    cluster.api.create(JOBS, "shop", sql=CREATE, state="Running")
    before = cluster.wait("shop", "Running")["jobId"]
    cluster.controller.stop()
    cluster.api.remove(JOBS, "shop")
    cluster.restart()
    cluster.api.create(JOBS, "shop", sql=CREATE, state="Running")
    assert cluster.wait("shop", "Running")["jobId"] == before
