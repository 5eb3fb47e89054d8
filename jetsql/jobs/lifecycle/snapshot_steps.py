"""Cells of the life cycle for snapshots.

A snapshot of a job that runs does not change the job: it only becomes a row of its history. One of a suspended job
keeps it from starting meanwhile, and DROP ... WITH SNAPSHOT ends the job only when the snapshot is whole.
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
    return write_snapshot(job, event.request, "")


def write_snapshot(job: Job, export: SnapshotRequest, how: str) -> Step:
    """The job does not run: its snapshot is written now. how: what came before, as a sentence."""
    at_rest = replace(job, stop_goal=None, stop_cause=None, attempts=0, waiting_for_members=False)
    exporting = replace(at_rest, status=Status.SUSPENDED_EXPORTING_SNAPSHOT, snapshot_request=export)
    words = how or f"The snapshot {export.name} is being written."
    return Step(
        exporting, Outcome.CHANGED, (WriteSnapshot(exporting),), history_event="writing snapshot", history_message=words
    )


def snapshot_running(job: Job, event: TakeSnapshot, context: StepContext) -> Step:
    """It needs no change of the job: who asks writes the snapshot beside the run."""
    return Step(job, Outcome.UNCHANGED)


def snapshot_of(job: Job, event: SnapshotWritten, context: StepContext) -> Snapshot:
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
    )


def snapshot_written(job: Job, event: SnapshotWritten, context: StepContext) -> Step:
    return _with_snapshot(
        Step(job, Outcome.UNCHANGED, history_event="snapshot", history_message=_message(event)), event, context
    )


def snapshot_finished(job: Job, event: SnapshotFinished, context: StepContext) -> Step:
    written = event.written
    words = _message(written)
    if written.request.then_cancel:
        refuse_ended = fail(
            replace(job, cause=CANCELLED, snapshot_request=None), context, f"Cancelled by user. {words}", "dropped"
        )
        return _with_snapshot(refuse_ended, written, context)
    suspended = replace(job, status=Status.SUSPENDED, snapshot_request=None)
    return _with_snapshot(
        Step(suspended, Outcome.CHANGED, history_event="snapshot", history_message=words), written, context
    )


def _message(event: SnapshotWritten) -> str:
    return f"The snapshot {event.request.name} holds the state as of batch {event.batch}."


def _with_snapshot(taken: Step, event: SnapshotWritten, context: StepContext) -> Step:
    return replace(taken, snapshot=snapshot_of(taken.job, event, context), replaced_snapshot_id=event.request.replaces)


def snapshot_failed(job: Job, event: SnapshotFailed, context: StepContext) -> Step:
    """Whoever wanted to keep the state must not lose it: the job stays, also when it was to be dropped."""
    suspended = replace(job, status=Status.SUSPENDED, snapshot_request=None, cause=job.cause or event.cause)
    return Step(
        suspended, Outcome.CHANGED, history_event="snapshot failed", history_message=describe_cause(event.cause)
    )


def abandon_snapshot(job: Job, event: object, context: StepContext) -> Step:
    words = "The engine ended while a snapshot was being written; there is no such snapshot."
    suspended = replace(job, status=Status.SUSPENDED, snapshot_request=None)
    return Step(suspended, Outcome.CHANGED, history_event="suspended", history_message=words)


def refuse_ended(job: Job, event: object, context: StepContext) -> Step:
    return refuse(job, f"has ended with status {job.status.value}, and its state is gone", "")
