"""Create the snapshot that a resource declares, once, and drop it with the resource."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from jetsql.job_resources.engine_statements import CommandFailed, EngineStatements
from jetsql.job_resources.reconcile_job import Reconciliation
from jetsql.job_resources.resource import CustomResource, job_group
from jetsql.job_resources.resource_status import common_status
from jetsql.jobs.model.job import Job, Snapshot, name_key
from jetsql.language.tokens import quoted_name


class SnapshotReconciler:
    """The reconciliation of the snapshots of one namespace."""

    def __init__(self, statements: EngineStatements) -> None:
        self._statements = statements

    def reconcile(self, resource: CustomResource) -> tuple[Reconciliation, dict[str, Any]]:
        """Run the statements that the resource needs, and return its status. Raises EngineError."""
        with self._statements.for_user():
            outcome = self._reconcile(resource)
            snapshot = self._own(resource) if outcome.is_ready else None
        return outcome, _status(resource, outcome, snapshot)

    def drop(self, resource: CustomResource) -> Reconciliation | None:
        """Drop the snapshot of a deleted resource; return None when it is dropped. Raises EngineError."""
        with self._statements.for_engine():
            snapshot = self._own(resource)
        if snapshot is None or resource.spec.get("deletionPolicy") == "Keep":
            return None
        try:
            with self._statements.for_user():
                self._statements.command(f"DROP SNAPSHOT {quoted_name(snapshot.name)}")
        except CommandFailed as failed:
            return Reconciliation("DropFailed", failed.error.message, error=failed.error, has_failed=True)
        return None

    def status_of(self, resource: CustomResource, outcome: Reconciliation) -> dict[str, Any]:
        """Return the status of a resource whose snapshot cannot be dropped."""
        return {**resource.status, **common_status(resource, outcome)}

    def _reconcile(self, resource: CustomResource) -> Reconciliation:
        if self._own(resource) is not None:
            return Reconciliation("Created", "The snapshot exists.", is_ready=True)
        if resource.status.get("snapshotId"):
            return Reconciliation("SnapshotDropped", "The snapshot was dropped by a statement.", is_stalled=True)
        job = self._job(resource)
        if job is None:
            message = f"The resource {resource.spec.get('job')} of the kind JetSQLJob has no job now."
            return Reconciliation("JobNotFound", message, has_failed=True)
        existing = self._named(resource, job)
        if existing is not None:
            return Reconciliation("Created", "The snapshot exists.", is_ready=True)
        try:
            self._statements.command(f"CREATE SNAPSHOT {quoted_name(_name(resource))} FOR JOB {quoted_name(job.name)}")
        except CommandFailed as failed:
            return Reconciliation("StatementFailed", failed.error.message, error=failed.error, has_failed=True)
        return Reconciliation("Created", "The snapshot exists.", is_ready=True)

    def _job(self, resource: CustomResource) -> Job | None:
        group = job_group(resource.key.namespace, str(resource.spec.get("job", "")))
        views = self._statements.queries.live(lambda job: job.plan.options.apply_group == group)
        return next((view.job for view in views), None)

    def _own(self, resource: CustomResource) -> Snapshot | None:
        """Return the snapshot that the status names, or that was created before the status could be written."""
        snapshot_id = resource.status.get("snapshotId")
        if snapshot_id:
            snapshots = self._statements.queries.snapshots()
            return next((each for each in snapshots if each.id == snapshot_id), None)
        job = self._job(resource)
        return None if job is None else self._named(resource, job)

    def _named(self, resource: CustomResource, job: Job) -> Snapshot | None:
        """Return the snapshot of a job with the name of the resource that was created after the resource."""
        since = datetime.fromisoformat(resource.created).timestamp()
        return next(
            (
                each
                for each in self._statements.queries.snapshots(job.id)
                if name_key(each.name) == name_key(_name(resource)) and each.created >= since
            ),
            None,
        )


def _name(resource: CustomResource) -> str:
    return str(resource.spec.get("name") or resource.key.name)


def _status(resource: CustomResource, outcome: Reconciliation, snapshot: Snapshot | None) -> dict[str, Any]:
    facts = {name: resource.status.get(name) for name in ("snapshot", "snapshotId", "job", "batch", "sizeBytes")}
    if snapshot is not None:
        facts = {
            "snapshot": snapshot.name,
            "snapshotId": snapshot.id,
            "job": snapshot.job_name,
            "batch": snapshot.batch,
            "sizeBytes": snapshot.size_bytes,
        }
    return {**facts, **common_status(resource, outcome)}
