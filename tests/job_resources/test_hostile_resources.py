"""Resources of users who mean no good, or who are hasty: each ends in a condition with an SQLSTATE."""

from __future__ import annotations

import pytest

from jetsql.jobs.model.job import Status
from jetsql.request import Caller, Endpoint, acting_for
from tests.conftest import until
from tests.job_resources.conftest import CREATE, JOBS, USER, Cluster, codes, condition
from tests.support.servers.kubernetes_api import NAMESPACE

FORGED = f"OPTIONS ('applyGroup' = 'kubernetes/{NAMESPACE}/shop') AS INSERT"
LACKS = "The user deployer lacks the right SELECT on hr.pay."


def run_as_ann(cluster: Cluster, text: str) -> None:
    with acting_for(Caller("ann", Endpoint.HTTP)):
        cluster.engine.run(text)


def test_very_long_statement_is_refused(cluster: Cluster) -> None:
    cluster.api.create(JOBS, "long", sql=f"{CREATE} WHERE a = '{'x' * 1_000_000}'", state="Running")
    status = cluster.wait("long", "InvalidStatement")
    assert codes(status) == ("JETSQL.NOT_A_JOB_STATEMENT", "0A000") and len(str(status)) < 3000
    assert cluster.jobs() == []


@pytest.mark.parametrize("right", ["", "MONITOR", "OPERATE ON ALL SCHEMAS"])
def test_other_users_cannot_keep_a_resource_by_its_group(cluster: Cluster, right: str) -> None:
    for user in (USER, "ann"):
        cluster.engine.run(f"CREATE USER {user}")
    if right:
        cluster.engine.run(f"GRANT {right} TO {USER}")
    run_as_ann(cluster, CREATE.replace("orders", "forged").replace("AS INSERT", FORGED))
    cluster.api.create(JOBS, "shop", sql=CREATE, state="Running")
    cluster.wait("shop", "Running")
    cluster.api.delete(JOBS, "shop")
    cluster.api.wait_gone(JOBS, "shop")
    assert cluster.jobs() == ["forged"]


@pytest.mark.parametrize(
    ("right", "reason"), [("", "StatementFailed"), ("MONITOR", "JobExists"), ("OPERATE ON ALL SCHEMAS", "JobExists")]
)
def test_job_of_another_user_is_left_alone(cluster: Cluster, right: str, reason: str) -> None:
    for user in (USER, "ann"):
        cluster.engine.run(f"CREATE USER {user}")
    if right:
        cluster.engine.run(f"GRANT {right} TO {USER}")
    run_as_ann(cluster, CREATE.replace("AS INSERT", FORGED))
    before = cluster.job()
    cluster.api.create(JOBS, "shop", sql=CREATE, state="Suspended")
    if right:
        assert codes(cluster.wait("shop", reason)) == ("JETSQL.JOB_ALREADY_EXISTS", "42710")
    cluster.api.change(JOBS, "shop", state="Running")
    assert codes(cluster.wait("shop", reason, 2)) == ("JETSQL.JOB_ALREADY_EXISTS", "42710")
    cluster.api.delete(JOBS, "shop")
    cluster.api.wait_gone(JOBS, "shop")
    assert cluster.job() == before and before.status is Status.RUNNING


def test_job_of_an_earlier_user_waits_for_its_owner(cluster: Cluster) -> None:
    for user in (USER, "ann"):
        cluster.engine.run(f"CREATE USER {user}")
    cluster.api.create(JOBS, "shop", sql=CREATE, state="Running")
    cluster.wait("shop", "Running")
    cluster.restart(user="ann")
    cluster.api.delete(JOBS, "shop")
    assert codes(cluster.wait("shop", "DropFailed")) == ("JETSQL.JOB_NOT_FOUND", "42704")
    assert cluster.jobs() == ["orders"]
    cluster.engine.run(f"REASSIGN OWNED BY {USER} TO ann")
    cluster.api.wait_gone(JOBS, "shop")
    assert cluster.jobs() == []


def test_user_without_rights_on_a_table_creates_no_job(cluster: Cluster) -> None:
    cluster.engine.run(f"CREATE USER {USER}")
    cluster.engine.runtime.refused_owners[USER] = LACKS
    cluster.api.create(JOBS, "shop", sql=CREATE, state="Running")
    status = cluster.wait("shop", "StatementFailed")
    assert codes(status) == ("JETSQL.NOT_ALLOWED", "42501") and LACKS in condition(status)["message"]
    assert cluster.jobs() == []
    cluster.engine.runtime.refused_owners.clear()
    cluster.wait("shop", "Running")


def test_resource_deleted_during_its_creation_leaves_no_job(cluster: Cluster) -> None:
    with cluster.engine.runtime.gate("start"):
        cluster.api.create(JOBS, "shop", sql=CREATE, state="Running")
        until(lambda: cluster.jobs() == ["orders"])
        cluster.api.delete(JOBS, "shop")
        assert cluster.api.get(JOBS, "shop") is not None, "the finalizer holds it"
    cluster.api.wait_gone(JOBS, "shop")
    assert cluster.jobs() == []


def test_resource_created_again_meanwhile_declares_its_own_job(cluster: Cluster) -> None:
    with cluster.engine.runtime.gate("start"):
        cluster.api.create(JOBS, "shop", sql=CREATE, state="Running")
        until(lambda: cluster.jobs() == ["orders"])
        cluster.api.remove(JOBS, "shop")
        cluster.api.create(JOBS, "shop", sql=CREATE.replace("orders", "others"), state="Running")
    assert codes(cluster.wait("shop", "NameChanged")) == ("JETSQL.NOT_SUPPORTED", "0A000")
    cluster.engine.run("DROP JOB orders")
    cluster.wait("shop", "Running")
    assert cluster.jobs() == ["others"]


@pytest.mark.parametrize("last", ["Running", "Suspended"])
def test_last_of_many_states_wins(cluster: Cluster, last: str) -> None:
    cluster.api.create(JOBS, "shop", sql=CREATE, state="Running")
    job_id = cluster.wait("shop", "Running")["jobId"]
    for _ in range(20):
        for state in ("Suspended", "Running"):
            cluster.api.change(JOBS, "shop", state=state)
    cluster.api.change(JOBS, "shop", state=last)
    status = cluster.wait("shop", last, 42)
    assert (status["jobId"], status["state"]) == (job_id, last.upper())
    assert cluster.job().status is Status(last.upper()) and not condition(status, "Stalled")


def test_name_of_a_job_is_no_statement(cluster: Cluster) -> None:
    cluster.engine.run("CREATE JOB victim AS INSERT INTO out SELECT * FROM STREAM src")
    name = "x``; DROP JOB victim; --"
    cluster.api.create(JOBS, "shop", sql=CREATE.replace("orders", f"`{name}`"), state="Running")
    cluster.wait("shop", "Running")
    cluster.api.change(JOBS, "shop", state="Suspended")
    cluster.wait("shop", "Suspended")
    cluster.api.delete(JOBS, "shop")
    cluster.api.wait_gone(JOBS, "shop")
    assert cluster.jobs() == ["victim"]


def test_snapshot_with_a_taken_name_keeps_the_job(cluster: Cluster) -> None:
    cluster.api.create(JOBS, "shop", sql=CREATE, state="Running", snapshotOnDelete="taken")
    job_id = cluster.wait("shop", "Running")["jobId"]
    cluster.engine.runtime.commit(job_id)
    until(lambda: cluster.job().batch is not None)
    cluster.engine.run("CREATE SNAPSHOT taken FOR JOB orders")
    cluster.api.delete(JOBS, "shop")
    assert codes(cluster.wait("shop", "DropFailed")) == ("JETSQL.SNAPSHOT_ALREADY_EXISTS", "42710")
    assert cluster.jobs() == ["orders"]
    cluster.api.change(JOBS, "shop", snapshotOnDelete="free")
    cluster.api.wait_gone(JOBS, "shop")
    assert {each.name for each in cluster.engine.queries.snapshots()} == {"taken", "free"}


def test_dropped_job_has_an_error_with_an_sqlstate(cluster: Cluster) -> None:
    cluster.api.create(JOBS, "shop", sql=CREATE, state="Running")
    cluster.wait("shop", "Running")
    cluster.engine.run("DROP JOB orders")
    assert codes(cluster.wait("shop", "JobFailed")) == ("JETSQL.JOB_NOT_FOUND", "42704")
