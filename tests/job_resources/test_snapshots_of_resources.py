"""Resources that declare snapshots."""

from __future__ import annotations

from typing import Any

from tests.conftest import until
from tests.job_resources.conftest import CREATE, JOBS, SNAPSHOTS, USER, Cluster, codes, condition


def wait_reason(cluster: Cluster, reason: str, name: str = "state") -> dict[str, Any]:
    """Wait until the resource of a snapshot has a reason, and return its status."""
    body = cluster.api.wait(SNAPSHOTS, name, lambda body: condition(body.get("status", {})).get("reason") == reason)
    status: dict[str, Any] = body["status"]
    return status


def create_job(cluster: Cluster, name: str = "shop", sql: str = CREATE) -> str:
    """Create a job by a resource, wait for its first batch, and return its id."""
    cluster.api.create(JOBS, name, sql=sql, state="Running")
    job_id: str = cluster.wait(name, "Running")["jobId"]
    cluster.engine.runtime.commit(job_id)
    until(lambda: any(view.job.batch is not None for view in cluster.engine.queries.live()))
    return job_id


def snapshots(cluster: Cluster) -> list[str]:
    return [each.name for each in cluster.engine.queries.snapshots()]


def forget_job(cluster: Cluster, job_id: str) -> None:
    """Delete the resource of the job, and the job from the store as its retention does."""
    cluster.api.delete(JOBS, "shop")
    cluster.api.wait_gone(JOBS, "shop")
    cluster.engine.store.forget([job_id])


def test_snapshot_is_created_once_and_dropped_with_its_resource(cluster: Cluster) -> None:
    cluster.api.create(SNAPSHOTS, "state", job="shop")
    assert codes(wait_reason(cluster, "JobNotFound")) == ("JETSQL.JOB_NOT_FOUND", "42704")
    create_job(cluster)
    status = wait_reason(cluster, "Created")
    [snapshot] = cluster.engine.queries.snapshots()
    assert (status["snapshot"], status["snapshotId"], status["job"]) == ("state", snapshot.id, "orders")
    assert (status["batch"], status["sizeBytes"]) == (snapshot.batch, snapshot.size_bytes)
    cluster.restart()
    cluster.api.create(SNAPSHOTS, "more", job="shop", name="other", deletionPolicy="Keep")
    wait_reason(cluster, "Created", "more")
    assert snapshots(cluster) == ["other", "state"]
    for name in ("state", "more"):
        cluster.api.delete(SNAPSHOTS, name)
        cluster.api.wait_gone(SNAPSHOTS, name)
    assert snapshots(cluster) == ["other"]


def test_snapshot_belongs_to_its_resource_without_its_job(cluster: Cluster) -> None:
    cluster.engine.run(f"CREATE USER {USER}")
    job_id = create_job(cluster)
    cluster.api.create(SNAPSHOTS, "state", job="shop")
    snapshot_id = wait_reason(cluster, "Created")["snapshotId"]
    forget_job(cluster, job_id)
    cluster.restart()
    cluster.api.change(SNAPSHOTS, "state", deletionPolicy="Drop")
    cluster.api.wait(SNAPSHOTS, "state", lambda body: condition(body["status"])["observedGeneration"] == 2)
    assert wait_reason(cluster, "Created")["snapshotId"] == snapshot_id
    cluster.api.delete(SNAPSHOTS, "state")
    cluster.api.wait_gone(SNAPSHOTS, "state")
    assert snapshots(cluster) == []


def test_snapshot_of_an_earlier_user_is_not_dropped_by_another(cluster: Cluster) -> None:
    for user in (USER, "ann"):
        cluster.engine.run(f"CREATE USER {user}")
    create_job(cluster)
    cluster.api.create(SNAPSHOTS, "state", job="shop")
    wait_reason(cluster, "Created")
    cluster.restart(user="ann")
    cluster.api.delete(SNAPSHOTS, "state")
    assert codes(wait_reason(cluster, "DropFailed")) == ("JETSQL.SNAPSHOT_NOT_FOUND", "42704")
    assert snapshots(cluster) == ["state"]
    cluster.engine.run(f"REASSIGN OWNED BY {USER} TO ann")
    cluster.api.wait_gone(SNAPSHOTS, "state")
    assert snapshots(cluster) == []


def test_snapshot_of_another_statement_is_left_alone(cluster: Cluster) -> None:
    create_job(cluster)
    cluster.engine.run("CREATE SNAPSHOT state FOR JOB orders")
    cluster.api.created = "2099-01-01T00:00:00Z"
    cluster.api.create(SNAPSHOTS, "state", job="shop")
    assert codes(wait_reason(cluster, "StatementFailed")) == ("JETSQL.SNAPSHOT_ALREADY_EXISTS", "42710")
    cluster.api.delete(SNAPSHOTS, "state")
    cluster.api.wait_gone(SNAPSHOTS, "state")
    assert snapshots(cluster) == ["state"]


def test_clock_of_the_server_can_be_ahead(cluster: Cluster) -> None:
    create_job(cluster)
    cluster.api.created = "2099-01-01T00:00:00Z"
    cluster.api.create(SNAPSHOTS, "state", job="shop")
    assert wait_reason(cluster, "Created")["snapshot"] == "state"
    cluster.restart()
    cluster.api.delete(SNAPSHOTS, "state")
    cluster.api.wait_gone(SNAPSHOTS, "state")
    assert snapshots(cluster) == []


def test_snapshot_whose_status_was_not_written_is_found(cluster: Cluster) -> None:
    create_job(cluster)
    cluster.controller.stop()
    cluster.api.create(SNAPSHOTS, "state", job="shop")
    cluster.engine.run("CREATE SNAPSHOT state FOR JOB orders")
    [snapshot] = cluster.engine.queries.snapshots()
    cluster.restart()
    assert wait_reason(cluster, "Created")["snapshotId"] == snapshot.id


def test_dropped_snapshot_is_not_created_again(cluster: Cluster) -> None:
    create_job(cluster)
    cluster.api.create(SNAPSHOTS, "state", job="shop")
    wait_reason(cluster, "Created")
    cluster.engine.run("DROP SNAPSHOT state")
    cluster.api.change(SNAPSHOTS, "state", deletionPolicy="Drop")
    status = wait_reason(cluster, "SnapshotDropped")
    assert condition(status, "Stalled")["status"] == "True" and snapshots(cluster) == []
    assert codes(status) == ("JETSQL.SNAPSHOT_NOT_FOUND", "42704")
    cluster.api.delete(SNAPSHOTS, "state")
    cluster.api.wait_gone(SNAPSHOTS, "state")
