"""Handlers of the life cycle for snapshots.

A snapshot of a running job does not change the job: it only adds a history row. A suspended job cannot start while its
snapshot is written. DROP ... WITH SNAPSHOT ends the job only when the snapshot is complete.
"""

from __future__ import annotations

from dataclasses import replace

from jetsql.jobs.lifecycle.events import (
    Outcome,
    SnapshotFailed,
    SnapshotFinished,
    SnapshotWritten,
    Step,
    TakeSnapshot,
    WriteSnapshot,
)
from jetsql.jobs.lifecycle.step_context import StepContext, describe_cause, fail, refuse
from jetsql.jobs.model.job import CANCELLED, Job, Snapshot, SnapshotRequest, Status


def snapshot_suspended(job: Job, event: TakeSnapshot, context: StepContext) -> Step:
    """Write a snapshot of a suspended job."""
    return write_snapshot(job, event.request, "")


def write_snapshot(job: Job, request: SnapshotRequest, how: str) -> Step:
    """Write a snapshot of a job that does not run. how: how its run ended, as a sentence; empty for none."""
    stopped = replace(job, stop_goal=None, stop_cause=None, attempts=0, waiting_for_members=False)
    exporting = replace(stopped, status=Status.SUSPENDED_EXPORTING_SNAPSHOT, snapshot_request=request)
    message = how or f"The snapshot {request.name} is being written."
    actions = (WriteSnapshot(exporting),)
    return Step(exporting, Outcome.CHANGED, actions, history_event="writing snapshot", history_message=message)


def snapshot_running(job: Job, event: TakeSnapshot, context: StepContext) -> Step:
    """Leave the job unchanged: the statement writes the snapshot while the job runs."""
    return Step(job, Outcome.UNCHANGED)


def snapshot_of(job: Job, event: SnapshotWritten, context: StepContext) -> Snapshot:
    """Return the snapshot to store."""
    return Snapshot(
        id=event.request.id,
        name=event.request.name,
        job_id=job.id,
        job_name=job.name,
        statement=event.version.body.text,
        plan=event.version.plan,
        batch=event.batch,
        size_bytes=event.size_bytes,
        created=context.now,
        software_versions=event.version.software_versions,
        session_defaults=event.version.session_defaults,
        owner=job.owner,
    )


def snapshot_written(job: Job, event: SnapshotWritten, context: StepContext) -> Step:
    """Store the snapshot of a running job."""
    step = Step(job, Outcome.UNCHANGED, history_event="snapshot", history_message=_message(event))
    return _with_snapshot(step, event, context)


def snapshot_finished(job: Job, event: SnapshotFinished, context: StepContext) -> Step:
    """Store the snapshot of a job that does not run, and end the job if DROP JOB requested it."""
    written = event.written
    message = _message(written)
    if written.request.then_cancel:
        cancelled = replace(job, cause=CANCELLED, snapshot_request=None)
        return _with_snapshot(fail(cancelled, context, f"Cancelled by user. {message}", "dropped"), written, context)
    suspended = replace(job, status=Status.SUSPENDED, snapshot_request=None)
    step = Step(suspended, Outcome.CHANGED, history_event="snapshot", history_message=message)
    return _with_snapshot(step, written, context)


def _message(event: SnapshotWritten) -> str:
    return f"The snapshot {event.request.name} has the state as of batch {event.batch}."


def _with_snapshot(step: Step, event: SnapshotWritten, context: StepContext) -> Step:
    return replace(step, snapshot=snapshot_of(step.job, event, context), replaced_snapshot_id=event.request.replaces)


def snapshot_failed(job: Job, event: SnapshotFailed, context: StepContext) -> Step:
    """Suspend the job with its state, even if it was to be dropped after the snapshot."""
    suspended = replace(job, status=Status.SUSPENDED, snapshot_request=None, cause=job.cause or event.cause)
    return Step(
        suspended, Outcome.CHANGED, history_event="snapshot failed", history_message=describe_cause(event.cause)
    )


def abandon_snapshot(job: Job, event: object, context: StepContext) -> Step:
    """Suspend a job whose snapshot was not complete when the engine ended."""
    message = "The engine ended while a snapshot was being written; the snapshot was not created."
    suspended = replace(job, status=Status.SUSPENDED, snapshot_request=None)
    return Step(suspended, Outcome.CHANGED, history_event="suspended", history_message=message)


def refuse_ended(job: Job, event: object, context: StepContext) -> Step:
    """Refuse a snapshot of a job without state."""
    return refuse(job, f"has ended with status {job.shown_status}, and its state is deleted", "")
