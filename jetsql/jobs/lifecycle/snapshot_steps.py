"""Cells of the life cycle for snapshots.

A snapshot of a job that runs does not change the job: it only becomes a row of its history. One of a suspended job
keeps it from starting meanwhile, and DROP ... WITH SNAPSHOT ends the job only when the snapshot is whole.
"""

from __future__ import annotations

from dataclasses import replace

from jetsql.jobs.lifecycle.events import (
    Exported,
    ExportFailed,
    ExportState,
    Outcome,
    SnapshotWritten,
    Step,
    WriteSnapshot,
)
from jetsql.jobs.lifecycle.step_context import StepContext, end_failed, refused, why
from jetsql.jobs.model.job import CANCELLED, Export, Job, Snapshot, Status


def export_suspended(job: Job, event: ExportState, moment: StepContext) -> Step:
    return write(job, event.export, "")


def write(job: Job, export: Export, how: str) -> Step:
    """The job does not run: its snapshot is written now. how: what came before, as a sentence."""
    at_rest = replace(job, stop_goal=None, stop_cause=None, attempts=0, waiting=False)
    exporting = replace(at_rest, status=Status.SUSPENDED_EXPORTING_SNAPSHOT, export=export)
    words = how or f"The snapshot {export.name} is being written."
    return Step(exporting, Outcome.MOVED, (WriteSnapshot(exporting),), title="writing snapshot", words=words)


def export_running(job: Job, event: ExportState, moment: StepContext) -> Step:
    """It needs no change of the job: who asks writes the snapshot beside the run."""
    return Step(job, Outcome.KEPT)


def snapshot_of(job: Job, event: SnapshotWritten, moment: StepContext) -> Snapshot:
    return Snapshot(
        id=event.export.id,
        name=event.export.name,
        job=job.id,
        job_name=job.name,
        text=event.of.body.text,
        plan=event.of.plan,
        batch=event.batch,
        size_bytes=event.size_bytes,
        created=moment.now,
        versions=event.of.versions,
        defaults=event.of.defaults,
    )


def snapshot_written(job: Job, event: SnapshotWritten, moment: StepContext) -> Step:
    return _with_snapshot(Step(job, Outcome.KEPT, title="snapshot", words=_words(event)), event, moment)


def exported(job: Job, event: Exported, moment: StepContext) -> Step:
    written = event.written
    words = _words(written)
    if written.export.then_cancel:
        ended = end_failed(replace(job, cause=CANCELLED, export=None), moment, f"Cancelled by user. {words}", "dropped")
        return _with_snapshot(ended, written, moment)
    suspended = replace(job, status=Status.SUSPENDED, export=None)
    return _with_snapshot(Step(suspended, Outcome.MOVED, title="snapshot", words=words), written, moment)


def _words(event: SnapshotWritten) -> str:
    return f"The snapshot {event.export.name} holds the state as of batch {event.batch}."


def _with_snapshot(taken: Step, event: SnapshotWritten, moment: StepContext) -> Step:
    return replace(taken, snapshot=snapshot_of(taken.job, event, moment), replaces=event.export.replaces)


def export_failed(job: Job, event: ExportFailed, moment: StepContext) -> Step:
    """Whoever wanted to keep the state must not lose it: the job stays, also when it was to be dropped."""
    suspended = replace(job, status=Status.SUSPENDED, export=None, cause=job.cause or event.cause)
    return Step(suspended, Outcome.MOVED, title="snapshot failed", words=why(event.cause))


def give_up_snapshot(job: Job, event: object, moment: StepContext) -> Step:
    words = "The engine ended while a snapshot was being written; there is no such snapshot."
    suspended = replace(job, status=Status.SUSPENDED, export=None)
    return Step(suspended, Outcome.MOVED, title="suspended", words=words)


def ended(job: Job, event: object, moment: StepContext) -> Step:
    return refused(job, f"has ended with status {job.status.value}, and its state is gone", "")
