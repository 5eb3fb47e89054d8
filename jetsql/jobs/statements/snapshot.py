"""CREATE SNAPSHOT and DROP SNAPSHOT, and finding a snapshot by its name.

A snapshot is its row in the store. The row is written when the copy is whole and opens, and goes before the copy does,
so a name always stands for a whole snapshot; a folder without a row is deleted when the engine starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
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
from jetsql.jobs.statements.lookup import find_job
from jetsql.language.statement import CreateSnapshot, DropSnapshot, Name
from jetsql.resultset import Table

_NO_TIMEOUT_SECONDS: Final = (
    86_400.0 * 365
)  # a copy takes as long as it takes: ending the wait would not end the copying


def create_snapshot(manager: Manager, statement: CreateSnapshot) -> Table:
    """Returns when the snapshot is whole.

    Raises StatementError JOB_NOT_FOUND, SNAPSHOT_ALREADY_EXISTS, SNAPSHOT_FAILED, WRONG_STATUS.
    """
    job = find_job(manager, statement.job).job
    check_has_state(job, statement.job.place)
    with manager.snapshot_names.reserve(statement.snapshot) as writing:
        export = new_snapshot_request(manager, statement.snapshot, or_replace=statement.or_replace)
        with ErrorPlace(statement.job.place):
            asked = manager.apply(job, TakeSnapshot(export))
        if asked.job.snapshot_request == export:
            snapshot = await_snapshot(manager, asked.job, writing, statement.snapshot).snapshot
        else:
            snapshot = _write_from_running_job(manager, asked.job, export, statement.snapshot)
        _delete_replaced(manager, export)
    return CommandResult(manager.view(job).job, describe_snapshot(snapshot)).table()


def check_has_state(job: Job, place: Span | None) -> None:
    """Raise StatementError NOT_SUPPORTED for a job that keeps none, SNAPSHOT_FAILED for one that has none yet."""
    if not job.plan.analysis.streaming:
        message = f"Job {job.name} is a batch job, which keeps no state, so there is nothing to take a snapshot of."
        raise StatementError("NOT_SUPPORTED", message, place=place)
    if job.batch is None:
        message = f"Job {job.name} has not committed a batch yet, so there is nothing to take a snapshot of."
        hint = "WAIT FOR JOB waits for its first batch."
        raise StatementError("SNAPSHOT_FAILED", message, place=place, hint=hint)


def new_snapshot_request(
    manager: Manager, name: Name, *, or_replace: bool, then_cancel: bool = False
) -> SnapshotRequest:
    """Raise StatementError SNAPSHOT_ALREADY_EXISTS when the name is taken and may not be taken over."""
    there = manager.store.snapshot_named(name.text)
    if there is not None and not or_replace:
        raise StatementError(
            "SNAPSHOT_ALREADY_EXISTS",
            f"There is a snapshot named {there.name} already, of job {there.job_name}.",
            place=name.place,
            hint="Use another name, DROP SNAPSHOT first, or CREATE OR REPLACE SNAPSHOT.",
        )
    live = manager.registry.live()
    if any(
        view.job.snapshot_request is not None and name_key(view.job.snapshot_request.name) == name_key(name.text)
        for view in live
    ):
        raise being_written_error(name)
    if there is not None:
        with ErrorPlace(name.place):
            check_unused(there, live)
    return SnapshotRequest(manager.new_id(), name.text, there.id if there is not None else None, then_cancel)


@dataclass(frozen=True)
class SnapshotResult:
    """A snapshot, and the job when it was seen to be whole."""

    snapshot: Snapshot
    view: JobView


def await_snapshot(manager: Manager, job: Job, writing: PendingSnapshot, name: Name) -> SnapshotResult:
    """Wait for the snapshot of a job that does not run. Raises StatementError SNAPSHOT_FAILED."""

    def over(now: JobView) -> bool:  # the outcome is known a moment before the job is shown without its export
        return writing.outcome is not None and now.job.snapshot_request != job.snapshot_request

    after = manager.registry.wait(JobView(job), over, _NO_TIMEOUT_SECONDS)
    if isinstance(writing.outcome, Snapshot):
        return SnapshotResult(writing.outcome, after)
    raise _failed(after.job, name, writing.outcome or "")


def _write_from_running_job(manager: Manager, job: Job, export: SnapshotRequest, name: Name) -> Snapshot:
    """The job goes on. What it is to be a snapshot of is what it has committed when the copy begins."""
    try:
        with ErrorPlace(name.place):
            copied = manager.workers.call(lambda: manager.engine.copy_state(job, export.id, manager.report)).result()
    except JetSQLError:
        raise
    except Exception as error:  # the engine tells what any error of its own means
        words = redact(describe_cause(manager.workers.cause_of(error)), job.plan.options)
        raise _failed(manager.view(job).job, name, words) from error
    try:
        taken = manager.apply(job, SnapshotWritten(export, job.version, copied.batch, copied.size_bytes))
    except BaseException:
        manager.workers.call(lambda: manager.engine.delete_snapshot(export.id)).result()
        raise
    assert taken.snapshot is not None, "the step stores what was written"
    return taken.snapshot


def _failed(job: Job, name: Name, words: str) -> StatementError:
    message = f"Job {job.name} is {job.status.value}. There is no snapshot {name}: {words}"
    return StatementError("SNAPSHOT_FAILED", message, place=name.place)


def _delete_replaced(manager: Manager, export: SnapshotRequest) -> None:
    """Its folder stays for now when a new job has begun to copy it; then the engine's next start deletes it."""
    replaced = export.replaces
    if replaced is not None and find_starting_job(replaced, manager.registry.live()) is None:
        manager.workers.call(lambda: manager.engine.delete_snapshot(replaced)).result()


def describe_snapshot(snapshot: Snapshot) -> str:
    """What was kept, as a sentence."""
    return f"Snapshot {snapshot.name} holds the state as of batch {snapshot.batch} ({snapshot.size_bytes} bytes)."


def drop_snapshot(manager: Manager, statement: DropSnapshot) -> Table:
    """Jobs that were started from it have their own copy and don't notice.

    Raises StatementError SNAPSHOT_NOT_FOUND, and WRONG_STATUS while a new job is copying it.
    """
    name, removed = statement.snapshot, False
    while not removed:  # once, unless another statement drops or replaces it in the meantime
        found = manager.store.snapshot_named(name.text)
        if found is None and statement.if_exists:
            return no_job_result(name.text, f"There is no snapshot named {name}; nothing to drop.")
        snapshot = found or find_snapshot(manager, name.text, name.place)
        with ErrorPlace(name.place):
            removed = manager.remove_snapshot(snapshot)
    manager.workers.call(lambda: manager.engine.delete_snapshot(snapshot.id)).result()
    return no_job_result(snapshot.name, "Dropped.")


def find_snapshot(manager: Manager, name: str, place: Span | None) -> Snapshot:
    """Raise StatementError SNAPSHOT_NOT_FOUND at the place where it is named."""
    snapshot = manager.store.snapshot_named(name)
    if snapshot is not None:
        return snapshot
    names = {name_key(each.name): each.name for each in manager.store.snapshots()}
    close = get_close_matches(name_key(name), names, n=1)
    hint = f"Did you mean {names[close[0]]}?" if close else "SHOW SNAPSHOTS lists those that there are."
    raise StatementError("SNAPSHOT_NOT_FOUND", f"There is no snapshot '{name}'.", place=place, hint=hint)
