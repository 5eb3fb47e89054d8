"""Create the snapshot that a resource declares, once, and drop it with the resource."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from jetsql.job_resources.engine_statements import CommandFailed, EngineStatements, ResourceError
from jetsql.job_resources.reconcile_job import Reconciliation
from jetsql.job_resources.resource import CustomResource, job_group
from jetsql.job_resources.resource_status import common_status
from jetsql.jobs.model.job import Job, Snapshot
from jetsql.language.tokens import quoted_name

_CREATED: Final = Reconciliation("Created", "The snapshot exists.", is_ready=True)


class SnapshotReconciler:
    """The reconciliation of the snapshots of one namespace."""

    def __init__(self, statements: EngineStatements) -> None:
        self._statements = statements

    def reconcile(self, resource: CustomResource) -> tuple[Reconciliation, dict[str, Any]]:
        """Run the statements that the resource needs, and return its status. Raises EngineError."""
        snapshot = self._own(resource)
        outcome = _CREATED if snapshot is not None else self._create(resource)
        if snapshot is None and outcome.is_ready:
            snapshot = self._named(resource)
        return outcome, _status(resource, outcome, snapshot)

    def drop(self, resource: CustomResource) -> Reconciliation | None:
        """Drop the snapshot of a deleted resource; return None when it is dropped. Raises EngineError."""
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

    def _create(self, resource: CustomResource) -> Reconciliation:
        if resource.status.get("snapshotId"):
            error = ResourceError.of("SNAPSHOT_NOT_FOUND", "The snapshot was dropped by a statement.")
            return Reconciliation("SnapshotDropped", error.message, is_stalled=True, error=error)
        with self._statements.for_user():
            job = self._job(resource)
            if job is None:
                message = f"The resource {resource.spec.get('job')} of the kind JetSQLJob has no job now."
                error = ResourceError.of("JOB_NOT_FOUND", message)
                return Reconciliation("JobNotFound", message, error=error, has_failed=True)
            name, of_job = quoted_name(_name(resource)), quoted_name(job.name)
            try:
                self._statements.command(f"CREATE SNAPSHOT {name} FOR JOB {of_job}")
            except CommandFailed as failed:
                return Reconciliation("StatementFailed", failed.error.message, error=failed.error, has_failed=True)
        return _CREATED

    def _job(self, resource: CustomResource) -> Job | None:
        group = _job_group(resource)
        views = self._statements.queries.live(lambda job: job.plan.options.apply_group == group)
        return next((view.job for view in views), None)

    def _own(self, resource: CustomResource) -> Snapshot | None:
        """Return the snapshot that the status names, or that was created before the status could be written."""
        snapshot_id = resource.status.get("snapshotId")
        if snapshot_id:
            with self._statements.for_engine():  # the user of an earlier setting may own it
                return self._statements.queries.snapshot(str(snapshot_id))
        named = self._named(resource)
        if named is None or named.created < datetime.fromisoformat(resource.created).timestamp():
            return None
        return named

    def _named(self, resource: CustomResource) -> Snapshot | None:
        """Return the snapshot with the name in the resource, if it is of a job of its JetSQLJob."""
        with self._statements.for_engine():
            named = self._statements.queries.snapshot_named(_name(resource))
        return named if named is not None and named.plan.options.apply_group == _job_group(resource) else None


def _job_group(resource: CustomResource) -> str:
    return job_group(resource.key.namespace, str(resource.spec.get("job", "")))


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
