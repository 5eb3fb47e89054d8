"""Cells of the life cycle that start a run, and those of its progress and its good end."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from jetsql.jobs.lifecycle import scaling
from jetsql.jobs.lifecycle.engine_api import BatchCommitted, RestartRequested, RunCompleted, RunIdle, RunProgressed
from jetsql.jobs.lifecycle.events import (
    Action,
    AlterOptions,
    DiscardFiles,
    Event,
    Outcome,
    RecoverSink,
    Step,
    Superseded,
)
from jetsql.jobs.lifecycle.step_context import (
    StepContext,
    can_run_again,
    cleanup_actions,
    join_sentences,
    refuse_stale_plan,
    restart_note,
    start,
    unchanged,
)
from jetsql.jobs.lifecycle.steps import keep, refuse_ended
from jetsql.jobs.lifecycle.update import (
    commit_version,
    discard_pending_version,
    discard_rollback_version,
    is_rescale_on_trial,
)
from jetsql.jobs.model.job import Cause, Job, Status

_AGAIN: Final = "Started again by user, to read what is new."


def submit(job: Job, event: Event, context: StepContext) -> Step:
    return start(
        job, "submitted", join_sentences(f"Delivery: {job.plan.guarantee_reason}.", describe_beginning(job)), context
    )


def describe_beginning(job: Job) -> str:
    """Where a new job begins, when that is not at the beginning."""
    return (
        ""
        if job.source_snapshot_id is None
        else f"It starts from the snapshot {job.plan.initial_snapshot}, batch {job.batch}."
    )


def resume(job: Job, event: Event, context: StepContext) -> Step:
    words = join_sentences("Resumed by user.", restart_note(job))
    return start(replace(job, cause=None, attempts=0), "resumed", words, context)


def start_now(job: Job, event: Event, context: StepContext) -> Step:
    lacks = scaling.describe_missing_members(job, len(context.members)) if job.waiting_for_members else ""
    if lacks:
        return unchanged(job, f"can't start yet. {lacks}")
    words = "Started at once, without waiting for the next retry."
    return start(replace(job, attempts=0), "started by user", words, context)


def run_again(job: Job, event: Event, context: StepContext) -> Step:
    if not can_run_again(job):
        return refuse_ended(job, event, context)
    return start(replace(job, cause=None, attempts=0), "run again", _AGAIN, context)


def alter(job: Job, event: AlterOptions, context: StepContext) -> Step:
    if event.expected_plan != job.plan:
        return refuse_stale_plan(job)
    changed = replace(job.with_plan(event.plan), quorum=scaling.initial_quorum(event.plan, len(context.members)))
    words = f"Options changed by user: {', '.join(event.changed_options)}."
    if event.resume:
        return start(replace(changed, cause=None, attempts=0), "options changed, resumed", words, context)
    return Step(changed, Outcome.CHANGED, history_event="options changed", history_message=words)


def retry(job: Job, event: Event, context: StepContext) -> Step:
    if job.waiting_for_members:
        return keep(job, event, context)
    words = f"Restart {job.attempts} of {job.plan.restart_attempts} after the error."
    if job.cause is not None and job.cause.external_outage:
        words = "Trying again."
    return start(job, "retry", words, context)


def restart_requested(job: Job, event: RestartRequested, context: StepContext) -> Step:
    return start(job, "restarted", event.message, context)


def continue_run(job: Job, event: Event, context: StepContext) -> Step:
    before: tuple[Action, ...] = (RecoverSink(job),) if job.run else ()
    words = "The engine has started; the job continues."
    return start(replace(job, attempts=0), "continued", words, context, before)


def started(job: Job, event: Event, context: StepContext) -> Step:
    running = replace(job, status=Status.RUNNING)
    return Step(running, Outcome.CHANGED, history_event="running", history_message=f"Run {job.run} has started.")


def batch_committed(job: Job, event: BatchCommitted, context: StepContext) -> Step:
    words = f"Batch {event.batch} is committed."
    after = replace(job, batch=event.batch, attempts=0, cause=_after_progress(job))
    if job.rollback_version is None:
        return _progress(after, job, words)
    taken = _progress(commit_version(after), job, words)
    title, done = "update committed", "The update is done, and the old version's checkpoint is deleted."
    if is_rescale_on_trial(job):
        title, done = "state rescaled", "Its state stays spread, and the copy from before that is deleted."
    return replace(
        taken,
        outcome=Outcome.CHANGED,
        actions=discard_rollback_version(job),
        history_event=title,
        history_message=f"{words} {done}",
    )


def run_idle(job: Job, event: RunIdle, context: StepContext) -> Step:
    return _progress(job, job, "There was nothing to read yet.")


def run_progressed(job: Job, event: RunProgressed, context: StepContext) -> Step:
    """Rows that go through are the way out of an error, and none of the attempts is forgotten before they are
    committed: what they stumble over may come later in the batch."""
    cause = _after_progress(job) if event.rows else job.cause
    return _progress(replace(job, cause=cause), job, "All its tasks run; rows are written as they come.")


def _after_progress(job: Job) -> Cause | None:
    """Progress ends an error; a job that does not run any more keeps what it was stopped for."""
    return None if job.status in (Status.STARTING, Status.RUNNING, Status.COMPLETING) else job.cause


def _progress(job: Job, before: Job, words: str) -> Step:
    """Only what matters to a later start gets a history row: the first progress, and the way out of an error."""
    running = Status.RUNNING if job.status is Status.STARTING else job.status
    after = replace(job, status=running, version=replace(job.version, first_trigger_done=True))
    if not before.version.first_trigger_done:
        return Step(after, Outcome.CHANGED, history_event="first trigger", history_message=words)
    if before.cause is not None and after.cause is None:
        return Step(after, Outcome.CHANGED, history_event="recovered", history_message=words)
    if running is not before.status:
        return Step(after, Outcome.CHANGED, history_event="running", history_message=words)
    return Step(after, Outcome.UNCHANGED)


def complete(job: Job, event: RunCompleted, context: StepContext) -> Step:
    ended = replace(commit_version(job), status=Status.COMPLETED, attempts=0, cause=None, end_time=context.now)
    done = replace(ended, pending_version=None, stop_goal=None, stop_cause=None, waiting_for_members=False)
    forgotten = (*discard_rollback_version(job), *discard_pending_version(job))
    actions: tuple[Action, ...] = forgotten if can_run_again(done) else (DiscardFiles(done),)
    return Step(
        done,
        Outcome.CHANGED,
        actions,
        history_event="completed",
        history_message=event.message or "Everything is committed.",
    )


def clean_up(job: Job, event: Event, context: StepContext) -> Step:
    """An ended job whose files outlived an engine."""
    if can_run_again(job) or not job.has_files:
        return keep(job, event, context)
    actions = (DiscardFiles(job),) if job.status is Status.COMPLETED else cleanup_actions(job)
    return Step(job, Outcome.UNCHANGED, actions)


def files_discarded(job: Job, event: Event, context: StepContext) -> Step:
    cleaned = replace(job, has_files=False)
    return Step(
        cleaned, Outcome.CHANGED, history_event="cleaned up", history_message="Checkpoint and staged rows are deleted."
    )


def superseded(job: Job, event: Superseded, context: StepContext) -> Step:
    """That it can't run again is stored before its state is touched: half a checkpoint would read everything anew."""
    if not can_run_again(job):
        return keep(job, event, context)
    expired = replace(job, expired=True)
    words = f"{event.reason} Its state is deleted, so it can't run again."
    return Step(expired, Outcome.CHANGED, (DiscardFiles(expired),), history_event="expired", history_message=words)
