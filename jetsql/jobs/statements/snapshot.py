"""CREATE SNAPSHOT and DROP SNAPSHOT, and the lookup of snapshots by name.

A snapshot exists when its row is in the store. The row is written when the copy is complete and readable, and deleted
before the copy, so a name always refers to a complete snapshot. The engine's start deletes folders without a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from jetsql.errors import ErrorPlace, JetSQLError, Span, StatementError
from jetsql.jobs.lifecycle.events import SnapshotWritten, TakeSnapshot
from jetsql.jobs.lifecycle.step_context import describe_cause
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.manager.job_registry import JobView
from jetsql.jobs.manager.snapshot_users import PendingSnapshot, being_written_error, check_unused, find_starting_job
from jetsql.jobs.model.job import Job, Snapshot, SnapshotRequest, name_key
from jetsql.jobs.model.redaction import redact
from jetsql.jobs.statements.command_result import CommandResult, no_job_result
from jetsql.jobs.statements.lookup import find_job, meant_name, visible_snapshot, visible_snapshots
from jetsql.language.statement import CreateSnapshot, DropSnapshot, Name
from jetsql.resultset import Table

_NO_TIMEOUT_SECONDS: Final = 86_400.0 * 365  # the end of the wait would not stop the copy


def create_snapshot(manager: Manager, statement: CreateSnapshot) -> Table:
    """Create a snapshot and wait until it is complete.

    Raises StatementError JOB_NOT_FOUND, SNAPSHOT_ALREADY_EXISTS, SNAPSHOT_FAILED, WRONG_STATUS.
    """
    job = find_job(manager, statement.job).job
    check_has_state(job, statement.job.place)
    with manager.snapshot_names.reserve(statement.snapshot) as pending:
        request = new_snapshot_request(manager, statement.snapshot, or_replace=statement.or_replace)
        with ErrorPlace(statement.job.place):
            step = manager.apply(job, TakeSnapshot(request))
        if step.job.snapshot_request == request:
            snapshot = await_snapshot(manager, step.job, pending, statement.snapshot).snapshot
        else:
            snapshot = _write_from_running_job(manager, step.job, request, statement.snapshot)
        _delete_replaced(manager, request)
    return CommandResult(manager.view(job).job, describe_snapshot(snapshot)).table()


def check_has_state(job: Job, place: Span | None) -> None:
    """Raise StatementError NOT_SUPPORTED for a batch job, SNAPSHOT_FAILED for a job without a committed batch."""
    if not job.plan.analysis.streaming:
        message = f"Cannot create a snapshot of job {job.name}: it is a batch job, which keeps no state."
        raise StatementError("NOT_SUPPORTED", message, place=place)
    if job.batch is None:
        message = f"Cannot create a snapshot of job {job.name}: it has not committed a batch yet."
        hint = "Use WAIT FOR JOB to wait for its first batch."
        raise StatementError("SNAPSHOT_FAILED", message, place=place, hint=hint)


def new_snapshot_request(
    manager: Manager, name: Name, *, or_replace: bool, then_cancel: bool = False
) -> SnapshotRequest:
    """Return a request for a new snapshot.

    or_replace: replace a snapshot with this name. then_cancel: drop the job after the snapshot.
    Raises StatementError SNAPSHOT_ALREADY_EXISTS, WRONG_STATUS at the name.
    """
    existing = manager.store.snapshot_named(name.text)
    is_visible = visible_snapshot(manager, manager.store.snapshot_named(name.text)) is not None
    if existing is not None and not (or_replace and is_visible):
        of_job = f", of job {existing.job_name}" if is_visible else ""
        raise StatementError(
            "SNAPSHOT_ALREADY_EXISTS",
            f"A snapshot named {existing.name} already exists{of_job}.",
            place=name.place,
            hint="Use another name, DROP SNAPSHOT first, or CREATE OR REPLACE SNAPSHOT.",
        )
    live = manager.registry.live()
    if any(
        view.job.snapshot_request is not None and name_key(view.job.snapshot_request.name) == name_key(name.text)
        for view in live
    ):
        raise being_written_error(name)
    if existing is not None:
        with ErrorPlace(name.place):
            check_unused(existing, live, manager.access.sees_job)
    return SnapshotRequest(manager.new_id(), name.text, existing.id if existing is not None else None, then_cancel)


@dataclass(frozen=True)
class SnapshotResult:
    """A snapshot, and the job after it was complete."""

    snapshot: Snapshot
    view: JobView


def await_snapshot(manager: Manager, job: Job, pending: PendingSnapshot, name: Name) -> SnapshotResult:
    """Wait for the snapshot of a job that does not run. Raises StatementError SNAPSHOT_FAILED."""

    def finished(now: JobView) -> bool:  # the outcome is set before the job without its request is published
        return pending.outcome is not None and now.job.snapshot_request != job.snapshot_request

    after = manager.registry.wait(JobView(job), finished, _NO_TIMEOUT_SECONDS)
    outcome = pending.outcome
    assert outcome is not None, "the outcome is set before the wait ends"
    if isinstance(outcome, Snapshot):
        return SnapshotResult(outcome, after)
    raise _failure(after.job, name, outcome)


def _write_from_running_job(manager: Manager, job: Job, request: SnapshotRequest, name: Name) -> Snapshot:
    """Write a snapshot of the newest committed batch while the job continues."""
    try:
        with ErrorPlace(name.place):
            copied = manager.workers.call(lambda: manager.runtime.copy_state(job, request.id, manager.report)).result()
    except JetSQLError:
        raise
    except Exception as error:  # any error of the engine, which `cause_of` translates
        reason = redact(describe_cause(manager.workers.cause_of(error)), job.plan.options.given)
        raise _failure(manager.view(job).job, name, reason) from error
    try:
        step = manager.apply(job, SnapshotWritten(request, job.version, copied.batch, copied.size_bytes))
    except BaseException:
        manager.workers.call(lambda: manager.runtime.delete_snapshot(request.id)).result()
        raise
    assert step.snapshot is not None, "the step stores the snapshot"
    return step.snapshot


def _failure(job: Job, name: Name, reason: str) -> StatementError:
    message = f"The snapshot {name} was not created; job {job.name} is {job.shown_status}. {reason}"
    return StatementError("SNAPSHOT_FAILED", message, place=name.place)


def _delete_replaced(manager: Manager, request: SnapshotRequest) -> None:
    """Delete the replaced snapshot. If a new job is copying it, the engine's next start deletes it."""
    replaced = request.replaces
    if replaced is not None and find_starting_job(replaced, manager.registry.live()) is None:
        manager.workers.call(lambda: manager.runtime.delete_snapshot(replaced)).result()


def describe_snapshot(snapshot: Snapshot) -> str:
    """Return the contents of a snapshot as a sentence."""
    return f"Snapshot {snapshot.name} has the state as of batch {snapshot.batch} ({snapshot.size_bytes} bytes)."


def drop_snapshot(manager: Manager, statement: DropSnapshot) -> Table:
    """Drop a snapshot. Jobs that were started from it have their own copy.

    Raises StatementError SNAPSHOT_NOT_FOUND, and WRONG_STATUS while a new job is copying it.
    """
    name, removed = statement.snapshot, False
    while not removed:  # again only when another statement drops or replaces it in the meantime
        existing = visible_snapshot(manager, manager.store.snapshot_named(name.text))
        if existing is None and statement.if_exists:
            return no_job_result(name.text, f"There is no snapshot named {name}; nothing to drop.")
        snapshot = existing or find_snapshot(manager, name.text, name.place)
        with ErrorPlace(name.place):
            removed = manager.remove_snapshot(snapshot)
    manager.workers.call(lambda: manager.runtime.delete_snapshot(snapshot.id)).result()
    return no_job_result(snapshot.name, "Dropped.")


def find_snapshot(manager: Manager, name: str, place: Span | None) -> Snapshot:
    """Return the snapshot with this name. Raises StatementError SNAPSHOT_NOT_FOUND at `place`."""
    snapshot = visible_snapshot(manager, manager.store.snapshot_named(name))
    if snapshot is not None:
        return snapshot
    meant = meant_name(name, (each.name for each in visible_snapshots(manager)))
    hint = meant or "SHOW SNAPSHOTS lists the snapshots."
    raise StatementError("SNAPSHOT_NOT_FOUND", f"There is no snapshot '{name}'.", place=place, hint=hint)
