"""Handlers of the life cycle that start a run, and those for its progress and its completion."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from jetsql.jobs.lifecycle import scaling
from jetsql.jobs.lifecycle.events import (
    Action,
    AlterOptions,
    DiscardFiles,
    Event,
    Outcome,
    RecoverSink,
    Resume,
    ScheduleRetry,
    Step,
    Superseded,
)
from jetsql.jobs.lifecycle.runtime import BatchCommitted, RestartRequested, RunCompleted, RunIdle, RunProgressed
from jetsql.jobs.lifecycle.step_context import (
    CRASHES_MOST,
    StepContext,
    can_run_again,
    cleanup_actions,
    join_sentences,
    refuse_stale_plan,
    restart_note,
    start,
    unchanged,
    without_crashes,
)
from jetsql.jobs.lifecycle.steps import keep, refuse_ended
from jetsql.jobs.lifecycle.update import (
    commit_version,
    discard_pending_version,
    discard_rollback_version,
    is_rescale_on_trial,
)
from jetsql.jobs.model.job import Cause, Job, Status

_AGAIN: Final = "Run again by user, to process new rows."


def submit(job: Job, event: Event, context: StepContext) -> Step:
    """Start a new job."""
    message = join_sentences(f"Delivery: {job.plan.guarantee_reason}.", describe_beginning(job))
    return start(job, "submitted", message, context)


def describe_beginning(job: Job) -> str:
    """Return where a new job starts, as a sentence; empty when it starts where the options of its sources say."""
    if job.source_snapshot_id is not None:
        return f"It starts from the snapshot {job.plan.options.initial_snapshot}, batch {job.batch}."
    if not job.version.starts:
        return ""
    return f"It begins at {'; '.join(f'{start.text} of {start.source}' for start in job.version.starts)}."


def resume(job: Job, event: Resume, context: StepContext) -> Step:
    """Start a suspended job."""
    replaced = ""
    if event.plan is not None and event.plan != job.plan:
        if event.expected_plan != job.plan:
            return refuse_stale_plan(job)
        job = job.with_plan(event.plan)
        replaced = f"It continues with {job.plan.analysis.sink_names}, which was replaced."
    message = join_sentences("Resumed by user.", replaced, restart_note(job))
    return start(replace(without_crashes(job), cause=None, attempts=0), "resumed", message, context)


def start_now(job: Job, event: Event, context: StepContext) -> Step:
    """Start a job that waits for its next retry."""
    missing_members = (
        scaling.describe_missing_members(job, len(context.cluster.staying)) if job.waiting_for_members else ""
    )
    if missing_members:
        return unchanged(job, f"cannot start yet. {missing_members}")
    message = "Started immediately by user, without waiting for the next retry."
    return start(replace(without_crashes(job), attempts=0), "started by user", message, context)


def run_again(job: Job, event: Event, context: StepContext) -> Step:
    """Start a COMPLETED job again, to process new rows."""
    if not can_run_again(job):
        return refuse_ended(job, event, context)
    return start(replace(without_crashes(job), cause=None, attempts=0), "run again", _AGAIN, context)


def alter(job: Job, event: AlterOptions, context: StepContext) -> Step:
    """Change the options of a suspended job, and start it if requested."""
    if event.expected_plan != job.plan:
        return refuse_stale_plan(job)
    changed = replace(
        job.with_plan(event.plan), quorum=scaling.initial_quorum(event.plan, len(context.cluster.staying))
    )
    message = f"Options changed by user: {', '.join(event.changed_options)}."
    if event.resume:
        return start(
            replace(without_crashes(changed), cause=None, attempts=0), "options changed, resumed", message, context
        )
    return Step(changed, Outcome.CHANGED, history_event="options changed", history_message=message)


def retry(job: Job, event: Event, context: StepContext) -> Step:
    """Start the job after the delay that followed an error."""
    if job.waiting_for_members:
        return keep(job, event, context)
    message = f"Restart {job.attempts} of {job.plan.options.restart_attempts} after the error."
    if job.cause is None:
        message = "The other jobs have started."
    elif job.cause.external_outage or not job.attempts:
        message = "Trying again."
    return start(job, "retry", message, context)


def restart_requested(job: Job, event: RestartRequested, context: StepContext) -> Step:
    """Start the job again after its run requested a restart."""
    return start(job, "restarted", event.message, context)


def continue_run(job: Job, event: Event, context: StepContext) -> Step:
    """Start a live job after the engine has started."""
    before: tuple[Action, ...] = (RecoverSink(job),) if job.run else ()
    message = "The engine has started; the job continues."
    continued = replace(job, attempts=0, start_delay=0.0)
    if not job.start_delay or job.crashes >= CRASHES_MOST:
        return start(continued, "continued", message, context, before)
    at = context.now + job.start_delay
    waiting = replace(continued, status=Status.NOT_RUNNING)
    message = f"The job starts {job.start_delay:g} s after the others, since it may have ended the engine."
    actions = (*before, ScheduleRetry(job.run_id, at))
    return Step(waiting, Outcome.CHANGED, actions, history_event="continued", history_message=message)


def started(job: Job, event: Event, context: StepContext) -> Step:
    """Set the job to RUNNING."""
    running = replace(job, status=Status.RUNNING)
    return Step(running, Outcome.CHANGED, history_event="running", history_message=f"Run {job.run} has started.")


def batch_committed(job: Job, event: BatchCommitted, context: StepContext) -> Step:
    """Record a committed batch; the first one of a version on trial commits the update."""
    message = f"Batch {event.batch} is committed."
    after = replace(job, batch=event.batch, attempts=0, cause=_cause_after_progress(job))
    if job.rollback_version is None:
        return _progress(after, job, message, context)
    step = _progress(commit_version(after), job, message, context)
    history_event, result = "update committed", "The update is complete; the old version's checkpoint is deleted."
    if is_rescale_on_trial(job):
        history_event, result = "state rescaled", "The repartitioned state is kept; the old copy is deleted."
    return replace(
        step,
        outcome=Outcome.CHANGED,
        actions=discard_rollback_version(job),
        history_event=history_event,
        history_message=f"{message} {result}",
    )


def run_idle(job: Job, event: RunIdle, context: StepContext) -> Step:
    """Record a trigger without rows."""
    return _progress(job, job, "No rows are available yet.", context)


def run_progressed(job: Job, event: RunProgressed, context: StepContext) -> Step:
    """Record rows written in an uncommitted batch. They end an error but do not reset the restart attempts, because a
    later row of the batch can fail again."""
    cause = _cause_after_progress(job) if event.rows else job.cause
    message = "All tasks are running; rows are written as they arrive."
    return _progress(replace(job, cause=cause), job, message, context)


def _cause_after_progress(job: Job) -> Cause | None:
    """Return None, since progress ends an error; the cause of a job that does not run stays."""
    return None if job.status in (Status.STARTING, Status.RUNNING, Status.COMPLETING) else job.cause


def _progress(job: Job, before: Job, message: str, context: StepContext) -> Step:
    """Write a history row only for the first progress, for the end of an error or of crashes, and for a new status."""
    running = Status.RUNNING if job.status is Status.STARTING else job.status
    after = replace(job, status=running, version=replace(job.version, first_trigger_done=True))
    if not before.version.first_trigger_done:
        return Step(after, Outcome.CHANGED, history_event="first trigger", history_message=message)
    if before.cause is not None and after.cause is None:
        return Step(after, Outcome.CHANGED, history_event="recovered", history_message=message)
    if running is not before.status:
        return Step(after, Outcome.CHANGED, history_event="running", history_message=message)
    if after.stable_after is not None and context.now >= after.stable_after:
        message = f"{message} The job runs well, so earlier crashes of the engine are not counted any more."
        return Step(without_crashes(after), Outcome.CHANGED, history_event="stable", history_message=message)
    return Step(after, Outcome.UNCHANGED)


def complete(job: Job, event: RunCompleted, context: StepContext) -> Step:
    """End the job as COMPLETED; keep its state when it can run again."""
    ended = replace(commit_version(job), status=Status.COMPLETED, attempts=0, cause=None, end_time=context.now)
    completed = replace(ended, pending_version=None, stop_goal=None, stop_cause=None, waiting_for_members=False)
    discard_versions = (*discard_rollback_version(job), *discard_pending_version(job))
    actions: tuple[Action, ...] = discard_versions if can_run_again(completed) else (DiscardFiles(completed),)
    return Step(
        completed,
        Outcome.CHANGED,
        actions,
        history_event="completed",
        history_message=event.message or "All rows are committed.",
    )


def clean_up(job: Job, event: Event, context: StepContext) -> Step:
    """Delete the files of an ended job that the previous engine did not delete."""
    if can_run_again(job) or not job.has_files:
        return keep(job, event, context)
    actions = (DiscardFiles(job),) if job.status is Status.COMPLETED else cleanup_actions(job)
    return Step(job, Outcome.UNCHANGED, actions)


def files_discarded(job: Job, event: Event, context: StepContext) -> Step:
    """Record that the files of an ended job are deleted."""
    cleaned = replace(job, has_files=False)
    return Step(
        cleaned, Outcome.CHANGED, history_event="cleaned up", history_message="Checkpoint and staged rows are deleted."
    )


def superseded(job: Job, event: Superseded, context: StepContext) -> Step:
    """Delete the state of a COMPLETED job. `expired` is stored first: a partly deleted checkpoint would read all rows
    again."""
    if not can_run_again(job):
        return keep(job, event, context)
    expired = replace(job, expired=True)
    message = f"{event.reason} Its state is deleted, so it cannot run again."
    return Step(expired, Outcome.CHANGED, (DiscardFiles(expired),), history_event="expired", history_message=message)
