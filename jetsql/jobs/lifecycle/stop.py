"""Handlers of the life cycle that stop a run, for a user or with the engine, and those for the end of the stop.

A stop that has begun always completes; other statements only change its goal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from jetsql.jobs.lifecycle import scaling
from jetsql.jobs.lifecycle.events import (
    AbandonUpdate,
    Action,
    Cancel,
    DiscardFiles,
    Event,
    Outcome,
    RecoverSink,
    RightsLost,
    Step,
    StopFailed,
    Stopped,
    StopRun,
    UpdateFailed,
    UpdatePrepared,
)
from jetsql.jobs.lifecycle.runtime import ResourceExhausted, RestartRequested, RunCompleted
from jetsql.jobs.lifecycle.snapshot_steps import write_snapshot
from jetsql.jobs.lifecycle.start import complete
from jetsql.jobs.lifecycle.step_context import (
    StepContext,
    as_sentence,
    can_run_again,
    describe_cause,
    fail,
    join_sentences,
    note,
    refuse,
    restart_note,
    start,
    unchanged,
)
from jetsql.jobs.lifecycle.steps import keep
from jetsql.jobs.lifecycle.update import (
    abandon_update,
    copy_state,
    discard_pending_version,
    is_rescaling,
    keep_old_version,
    rescale,
    start_trial,
)
from jetsql.jobs.model.job import CANCELLED, Cause, Job, Status, StopGoal
from jetsql.jobs.model.job_options import Trigger

_GOAL_PHRASES: Final = {
    StopGoal.SUSPEND: "suspended",
    StopGoal.RESTART: "restarted",
    StopGoal.CANCEL: "dropped",
    StopGoal.EXPORT: "dropped",
    StopGoal.UPDATE: "replaced",
    StopGoal.FAIL: "ended",
}

_HISTORY: Final[Mapping[type, str]] = {ResourceExhausted: "engine in danger", RightsLost: "rights lost"}
_IMMEDIATE: Final = ("JETSQL.ENGINE_ENDANGERED", "JETSQL.NOT_ALLOWED")
_ENDING_GOALS: Final = (StopGoal.CANCEL, StopGoal.EXPORT)


def stop(job: Job, goal: StopGoal, history_event: str, cause: Cause | None = None) -> Step:
    """Stop the run. cause: why, when no statement requested it."""
    stopping = replace(job, status=Status.COMPLETING, stop_goal=goal, stop_cause=cause)
    how = "The running batch is finished first." if job.plan.analysis.streaming else "The query is stopped."
    message = join_sentences(as_sentence(cause.message), how) if cause is not None else how
    actions = (StopRun(stopping),)
    return Step(stopping, Outcome.CHANGED, actions, history_event=history_event, history_message=message)


def stop_immediately(job: Job, event: ResourceExhausted | RightsLost, context: StepContext) -> Step:
    """Stop a run that must not continue, without waiting for its batch, to suspend the job."""
    stopping = replace(job, status=Status.COMPLETING, stop_goal=StopGoal.SUSPEND, stop_cause=event.cause)
    message = join_sentences(as_sentence(event.cause.message), "The run is stopped.")
    actions = (StopRun(stopping, immediately=True),)
    return Step(stopping, Outcome.CHANGED, actions, history_event=_HISTORY[type(event)], history_message=message)


def suspend_waiting(job: Job, event: RightsLost, context: StepContext) -> Step:
    """Suspend a job that waits to start, and must not."""
    return end_waiting_job(job, StopGoal.SUSPEND, event.cause, context)


def suspend_instead(job: Job, event: ResourceExhausted | RightsLost, context: StepContext) -> Step:
    """Suspend a job whose run must not continue while it is being stopped, instead of starting it again.

    The run may be that of a pending batch, which an update finishes first.
    """
    goal = _goal(job)
    if goal not in (StopGoal.SUSPEND, StopGoal.RESTART, StopGoal.UPDATE) or _is_immediate(job):
        return keep(job, event, context)
    actions = (AbandonUpdate(job),) if goal is StopGoal.UPDATE else ()
    other = replace(job, stop_goal=StopGoal.SUSPEND, stop_cause=event.cause)
    message = as_sentence(event.cause.message)
    return Step(other, Outcome.CHANGED, actions, history_event=_HISTORY[type(event)], history_message=message)


def _is_immediate(job: Job) -> bool:
    """Return whether the run is stopped because it must not continue."""
    return job.stop_cause is not None and job.stop_cause.condition in _IMMEDIATE


def restart_rescaled(job: Job, history_event: str, context: StepContext, cause: Cause | None = None) -> Step:
    """Stop the run to restart the job on all cores, with repartitioned state where that helps.

    cause: why, when no statement requested it.
    """
    partitions = scaling.rescaled_partitions(job, context.cluster.cores, context.fixed_partitions)
    if partitions is not None:
        return rescale(job, partitions, history_event, cause)
    stopping = stop(job, StopGoal.RESTART, history_event, cause)
    fixed = scaling.describe_fixed_partitions(job, context.cluster.cores, context.fixed_partitions)
    return replace(stopping, history_message=join_sentences(stopping.history_message, fixed))


def _change_goal(job: Job, goal: StopGoal) -> Step:
    message = f"The job was to be {_goal_phrase(job)}; now it will be {_GOAL_PHRASES[goal]}."
    actions = (AbandonUpdate(job),) if _goal(job) is StopGoal.UPDATE else ()
    other = replace(job, stop_goal=goal, stop_cause=None)
    return Step(other, Outcome.CHANGED, actions, history_event=f"to be {_GOAL_PHRASES[goal]}", history_message=message)


def _goal_phrase(job: Job) -> str:
    return _GOAL_PHRASES[StopGoal.RESTART if is_rescaling(job) else _goal(job)]


def _goal(job: Job) -> StopGoal:
    """Return the goal of a COMPLETING job; SUSPEND, which loses nothing, when a record lacks it."""
    return job.stop_goal or StopGoal.SUSPEND


def _refuse_being_dropped(job: Job) -> Step:
    return refuse(job, "is being dropped", "Create it again with CREATE JOB when it has ended.")


def suspend(job: Job, event: Event, context: StepContext) -> Step:
    """Stop the run to suspend the job."""
    return stop(job, StopGoal.SUSPEND, "suspend requested")


def restart(job: Job, event: Event, context: StepContext) -> Step:
    """Stop the run to restart the job."""
    return restart_rescaled(job, "restart requested", context)


def cancel(job: Job, event: Cancel, context: StepContext) -> Step:
    """Stop the run to drop the job, after a snapshot if requested."""
    if event.snapshot_request is not None:
        return stop(
            replace(job, snapshot_request=event.snapshot_request), StopGoal.EXPORT, "drop with snapshot requested"
        )
    return stop(job, StopGoal.CANCEL, "drop requested")


def suspend_now(job: Job, event: Event, context: StepContext) -> Step:
    """Suspend a job that waits to start."""
    message = join_sentences("Suspended by user while the job was waiting to start.", restart_note(job))
    suspended = replace(job, status=Status.SUSPENDED, attempts=0, waiting_for_members=False)
    return Step(suspended, Outcome.CHANGED, history_event="suspended", history_message=message)


def cancel_now(job: Job, event: Cancel, context: StepContext) -> Step:
    """Drop a job that does not run, after a snapshot if requested."""
    if event.snapshot_request is not None:
        return write_snapshot(job, event.snapshot_request, "DROP JOB WITH SNAPSHOT while the job was not running.")
    return fail(replace(job, cause=CANCELLED), context, "Cancelled by user; its state is deleted.", "dropped")


def drop_ended(job: Job, event: Cancel, context: StepContext) -> Step:
    """Delete the state of an ended job that could run again; keep its history."""
    if event.snapshot_request is not None:
        hint = "If the job is COMPLETED and still has state, use CREATE SNAPSHOT first, then DROP JOB."
        return refuse(job, f"has ended with status {job.shown_status}", hint)
    if not can_run_again(job):
        return unchanged(job, f"has already ended with status {job.shown_status}.")
    message = "Its state is deleted, so it cannot run again."
    expired = replace(job, expired=True)
    return Step(expired, Outcome.CHANGED, (DiscardFiles(expired),), history_event="dropped", history_message=message)


def suspend_while_stopping(job: Job, event: Event, context: StepContext) -> Step:
    """Change the goal of a stop to suspend the job."""
    goal = _goal(job)
    if goal in _ENDING_GOALS:
        return _refuse_being_dropped(job)
    if goal is StopGoal.SUSPEND:
        return unchanged(job, "is already being suspended.")
    return _change_goal(job, StopGoal.SUSPEND)


def start_after_stop(job: Job, event: Event, context: StepContext) -> Step:
    """Change the goal of a stop to start the job again: if RESUME were refused, users would poll for SUSPENDED."""
    goal = _goal(job)
    if goal in _ENDING_GOALS:
        return _refuse_being_dropped(job)
    if goal in (StopGoal.RESTART, StopGoal.UPDATE):
        return unchanged(job, f"is already being {_goal_phrase(job)}.")
    return _change_goal(job, StopGoal.RESTART)


def cancel_while_stopping(job: Job, event: Cancel, context: StepContext) -> Step:
    """Change the goal of a stop to drop the job."""
    if event.snapshot_request is not None and job.stop_cause is not None:
        return _change_goal(replace(job, snapshot_request=event.snapshot_request), StopGoal.EXPORT)
    if event.snapshot_request is not None:
        return refuse(job, "is being stopped by another statement", "Try again when that statement is done.")
    if _goal(job) in _ENDING_GOALS:
        return unchanged(job, "is already being dropped.")
    return _change_goal(job, StopGoal.CANCEL)


def stopped(job: Job, event: Stopped, context: StepContext) -> Step:
    """Continue with the goal of the stop after the run has ended."""
    return _after_run(job, context, _stop_message(job, event.graceful), () if event.graceful else (RecoverSink(job),))


def _after_run(job: Job, context: StepContext, how: str, recover: tuple[Action, ...]) -> Step:
    """Continue with the goal of the stop. how: how the run ended, as a sentence."""
    if _goal(job) is StopGoal.UPDATE:
        return copy_state(job, how, recover)
    return _reach_goal(job, context, how, recover)


def update_prepared(job: Job, event: UpdatePrepared, context: StepContext) -> Step:
    """Start the new version, unless another statement has changed the goal."""
    if _goal(job) is StopGoal.UPDATE:
        return start_trial(job, context)
    return _reach_goal(job, context, "The requested update was abandoned.", ())


def update_failed(job: Job, event: UpdateFailed, context: StepContext) -> Step:
    """Keep the old version, unless another statement has changed the goal."""
    if _goal(job) is StopGoal.UPDATE:
        return keep_old_version(job, event, context)
    return _reach_goal(job, context, f"The requested update failed: {describe_cause(event.cause)}", ())


def _update_phrase(job: Job) -> str:
    return "repartitioning of the state" if is_rescaling(job) else "the update"


def finish_stop(job: Job, event: Event, context: StepContext) -> Step:
    """Reach the goal of a stop that was in progress when the engine ended: the run ended with the engine."""
    recover = (RecoverSink(job),)
    if _goal(job) is StopGoal.UPDATE:
        message = f"The engine ended during {_update_phrase(job)}; the job is unchanged."
        return abandon_update(job, message, context, recover)
    return _reach_goal(job, context, "The engine ended while the job was being stopped.", recover)


def _reach_goal(job: Job, context: StepContext, how: str, recover: tuple[Action, ...]) -> Step:
    """Suspend, restart, drop or fail a job whose run has ended. how: how it ended, as a sentence."""
    goal = _goal(job)
    if goal is StopGoal.CANCEL:
        return fail(
            replace(job, cause=CANCELLED, pending_version=None), context, f"Cancelled by user. {how}", "dropped"
        )
    if goal is StopGoal.FAIL:
        failed = replace(job, cause=job.stop_cause or job.cause, pending_version=None)
        return fail(failed, context, join_sentences(_describe_stop_cause(job), how))
    if goal is StopGoal.EXPORT and job.snapshot_request is not None:
        exporting = write_snapshot(job, job.snapshot_request, how)
        return replace(exporting, actions=(*recover, *exporting.actions))
    before = (*recover, *discard_pending_version(job))
    old = replace(job, pending_version=None, snapshot_request=None)
    if goal is StopGoal.RESTART:
        # Without this, changes of the cluster would reset the attempts of a job that fails after each start.
        attempts = 0 if job.stop_cause is None else job.attempts
        return start(
            replace(old, attempts=attempts),
            "restarted",
            join_sentences(_describe_stop_cause(job), how),
            context,
            before,
        )
    stopped = replace(old, status=Status.SUSPENDED, stop_goal=None, stop_cause=None, attempts=0)
    suspended = replace(stopped, cause=job.stop_cause or job.cause)
    message = join_sentences(_describe_stop_cause(job), how, restart_note(job))
    return Step(suspended, Outcome.CHANGED, before, history_event="suspended", history_message=message)


def end_waiting_job(job: Job, goal: StopGoal, cause: Cause, context: StepContext) -> Step:
    """Suspend or fail a job that waits for a retry, without a request of a statement."""
    stopping = replace(job, stop_goal=goal, stop_cause=cause)
    return _reach_goal(stopping, context, "The job was waiting for a retry.", (RecoverSink(job),))


def _describe_stop_cause(job: Job) -> str:
    return describe_cause(job.stop_cause) if job.stop_cause is not None else ""


def _stop_message(job: Job, graceful: bool) -> str:
    if not job.plan.analysis.streaming:
        return "The query was stopped."
    if graceful and job.cause is not None and job.cause.batch is not None:
        return "The running batch failed; the next start repeats it."
    if graceful:
        return "The running batch was finished first."
    if _goal(job) in (StopGoal.CANCEL, StopGoal.FAIL):
        return "Stopped by force after the deadline."
    how = "Stopped immediately" if _is_immediate(job) else "Stopped by force after the deadline"
    return f"{how}; the next start repeats a batch that was not committed."


def stop_failed(job: Job, event: StopFailed, context: StepContext) -> Step:
    """Return the job to RUNNING: its run can still be active, so the goal of the stop cannot follow.

    If the engine is closing, the run ends with it. A run that has reported its end needs no stop.
    """
    if job.run_ended:
        return _after_run(job, context, "The run had already ended.", (RecoverSink(job),))
    status = Status.NOT_RUNNING if context.closing else Status.RUNNING
    without_goal = replace(job, stop_goal=None, stop_cause=None, pending_version=None, snapshot_request=None)
    continuing = replace(without_goal, status=status, cause=event.cause)
    when = "continues with the engine's next start" if context.closing else "continues"
    message = f"The job could not be stopped and {when}: {describe_cause(event.cause)}"
    return Step(continuing, Outcome.CHANGED, history_event="stop failed", history_message=message)


def completed_while_stopping(job: Job, event: RunCompleted, context: StepContext) -> Step:
    """Complete the job, unless the goal of the stop is to drop or update it, or to start it again for new rows."""
    goal = _goal(job)
    user_restart = goal is StopGoal.RESTART and job.stop_cause is None
    reads_new_rows = user_restart and job.plan.options.trigger is Trigger.AVAILABLE_NOW and job.plan.analysis.streaming
    if goal in (*_ENDING_GOALS, StopGoal.UPDATE) or reads_new_rows:
        message = "All rows are committed; the requested stop continues."
        return note(replace(job, run_ended=True), "completed", message)
    return complete(job, event, context)


def restart_while_stopping(job: Job, event: RestartRequested, context: StepContext) -> Step:
    """Record that the run has ended by itself."""
    return Step(replace(job, run_ended=True), Outcome.UNCHANGED)


def stop_with_engine(job: Job, event: Event, context: StepContext) -> Step:
    """Stop the run because the engine is closing."""
    waiting = replace(job, status=Status.NOT_RUNNING)
    message = "The engine stopped; the job continues with the engine's next start."
    return Step(waiting, Outcome.CHANGED, (StopRun(waiting),), history_event="engine stopped", history_message=message)


def stopping_with_engine(job: Job, event: Event, context: StepContext) -> Step:
    """Finish suspending and dropping, and leave a restart to the next engine; abandon an update."""
    if _goal(job) is StopGoal.UPDATE:
        return _abandon_update_with_engine(job)
    if _goal(job) is not StopGoal.RESTART:
        return keep(job, event, context)
    message = "The engine stopped; the job restarts with the engine's next start."
    waiting = replace(job, status=Status.NOT_RUNNING, stop_goal=None, stop_cause=None, pending_version=None)
    return Step(
        waiting, Outcome.CHANGED, discard_pending_version(job), history_event="engine stopped", history_message=message
    )


def _abandon_update_with_engine(job: Job) -> Step:
    status = (
        Status.SUSPENDED
        if job.pending_version is not None and job.pending_version.was_suspended
        else Status.NOT_RUNNING
    )
    message = f"The engine stopped during {_update_phrase(job)}, which is abandoned; the job is unchanged."
    old = replace(job, status=status, stop_goal=None, pending_version=None)
    return Step(
        old,
        Outcome.CHANGED,
        (AbandonUpdate(job), *discard_pending_version(job)),
        history_event="engine stopped",
        history_message=message,
    )


def stopped_with_engine(job: Job, event: Stopped, context: StepContext) -> Step:
    """Record a forced stop; a graceful stop needs no history row."""
    return keep(job, event, context) if event.graceful else note(job, "stopped", _stop_message(job, False))


def stop_failed_with_engine(job: Job, event: StopFailed, context: StepContext) -> Step:
    """Record that the run could not be stopped when the engine closed."""
    return note(job, "stop failed", f"The job could not be stopped with the engine: {describe_cause(event.cause)}")
