"""Cells of the life cycle that stop a run: by a user, with the engine, and what comes after the stop.

A stop goes on once begun; other statements only change what comes after it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from jetsql.jobs.lifecycle import scaling
from jetsql.jobs.lifecycle.engine_api import RestartRequested, RunCompleted
from jetsql.jobs.lifecycle.events import (
    AbandonUpdate,
    Action,
    Cancel,
    DiscardFiles,
    Event,
    Outcome,
    RecoverSink,
    Step,
    StopFailed,
    Stopped,
    StopRun,
    UpdateFailed,
    UpdatePrepared,
)
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
from jetsql.jobs.model.job import CANCELLED, Cause, Job, Status, StopGoal, Trigger

_GOAL_PHRASES: Final = {
    StopGoal.SUSPEND: "suspended",
    StopGoal.RESTART: "restarted",
    StopGoal.CANCEL: "dropped",
    StopGoal.EXPORT: "dropped",
    StopGoal.UPDATE: "replaced",
    StopGoal.FAIL: "ended",
}


_ENDING_GOALS: Final = (StopGoal.CANCEL, StopGoal.EXPORT)


def stop(job: Job, goal: StopGoal, title: str, cause: Cause | None = None) -> Step:
    """cause: why, when nobody has asked for it."""
    stopping = replace(job, status=Status.COMPLETING, stop_goal=goal, stop_cause=cause)
    how = "The running batch is finished first." if job.plan.analysis.streaming else "Its query is ended."
    words = join_sentences(as_sentence(cause.message), how) if cause is not None else how
    return Step(stopping, Outcome.CHANGED, (StopRun(stopping),), history_event=title, history_message=words)


def restart_rescaled(job: Job, title: str, context: StepContext, cause: Cause | None = None) -> Step:
    """Stop it to start it again with all cores: with its state spread over them where that helps. cause: why, when
    nobody has asked for it."""
    over = scaling.rescaled_partitions(job, context.cores)
    if over is not None:
        return rescale(job, over, title, cause)
    stopping = stop(job, StopGoal.RESTART, title, cause)
    return replace(
        stopping,
        history_message=join_sentences(stopping.history_message, scaling.describe_fixed_partitions(job, context.cores)),
    )


def _change_goal(job: Job, goal: StopGoal) -> Step:
    words = f"The job was to be {_goal_phrase(job)}; now it will be {_GOAL_PHRASES[goal]}."
    actions = (AbandonUpdate(job),) if _goal(job) is StopGoal.UPDATE else ()
    other = replace(job, stop_goal=goal, stop_cause=None)
    return Step(other, Outcome.CHANGED, actions, history_event=f"to be {_GOAL_PHRASES[goal]}", history_message=words)


def _goal_phrase(job: Job) -> str:
    return _GOAL_PHRASES[StopGoal.RESTART if is_rescaling(job) else _goal(job)]


def _goal(job: Job) -> StopGoal:
    """A COMPLETING job's goal; suspending is what loses nothing should a record lack it."""
    return job.stop_goal or StopGoal.SUSPEND


def _refuse_being_dropped(job: Job) -> Step:
    return refuse(job, "is being dropped", "Create it again with CREATE JOB when it has ended.")


def suspend(job: Job, event: Event, context: StepContext) -> Step:
    return stop(job, StopGoal.SUSPEND, "suspend requested")


def restart(job: Job, event: Event, context: StepContext) -> Step:
    return restart_rescaled(job, "restart requested", context)


def cancel(job: Job, event: Cancel, context: StepContext) -> Step:
    if event.snapshot_request is not None:
        return stop(
            replace(job, snapshot_request=event.snapshot_request), StopGoal.EXPORT, "drop with snapshot requested"
        )
    return stop(job, StopGoal.CANCEL, "drop requested")


def suspend_now(job: Job, event: Event, context: StepContext) -> Step:
    words = join_sentences("Suspended by user while it was waiting to start.", restart_note(job))
    suspended = replace(job, status=Status.SUSPENDED, attempts=0, waiting_for_members=False)
    return Step(suspended, Outcome.CHANGED, history_event="suspended", history_message=words)


def cancel_now(job: Job, event: Cancel, context: StepContext) -> Step:
    if event.snapshot_request is not None:
        return write_snapshot(job, event.snapshot_request, "DROP JOB WITH SNAPSHOT: the job does not run.")
    return fail(replace(job, cause=CANCELLED), context, "Cancelled by user; its state is deleted.", "dropped")


def drop_ended(job: Job, event: Cancel, context: StepContext) -> Step:
    """DROP of an ended job: if it could run again its state goes, its history stays."""
    if event.snapshot_request is not None:
        hint = "CREATE SNAPSHOT takes one of a completed job whose state is still there; then DROP it."
        return refuse(job, f"has ended with status {job.status.value}", hint)
    if not can_run_again(job):
        return unchanged(job, f"has ended already, with status {job.status.value}.")
    words = "Its state is deleted, so it can't run again."
    expired = replace(job, expired=True)
    return Step(expired, Outcome.CHANGED, (DiscardFiles(expired),), history_event="dropped", history_message=words)


def suspend_while_stopping(job: Job, event: Event, context: StepContext) -> Step:
    goal = _goal(job)
    if goal in _ENDING_GOALS:
        return _refuse_being_dropped(job)
    if goal is StopGoal.SUSPEND:
        return unchanged(job, "is being suspended already.")
    return _change_goal(job, StopGoal.SUSPEND)


def start_after_stop(job: Job, event: Event, context: StepContext) -> Step:
    """RESUME or RESTART while a stop is under way: the stop ends cleanly, then the job starts. Refusing a RESUME would
    only make people poll for SUSPENDED."""
    goal = _goal(job)
    if goal in _ENDING_GOALS:
        return _refuse_being_dropped(job)
    if goal in (StopGoal.RESTART, StopGoal.UPDATE):
        return unchanged(job, f"is being {_goal_phrase(job)} already.")
    return _change_goal(job, StopGoal.RESTART)


def cancel_while_stopping(job: Job, event: Cancel, context: StepContext) -> Step:
    if event.snapshot_request is not None and job.stop_cause is not None:
        return _change_goal(replace(job, snapshot_request=event.snapshot_request), StopGoal.EXPORT)
    if event.snapshot_request is not None:
        return refuse(job, "is being stopped by another statement", "Try again when that is done.")
    if _goal(job) in _ENDING_GOALS:
        return unchanged(job, "is being dropped already.")
    return _change_goal(job, StopGoal.CANCEL)


def stopped(job: Job, event: Stopped, context: StepContext) -> Step:
    return _after_run(job, context, _stop_message(job, event.graceful), () if event.graceful else (RecoverSink(job),))


def _after_run(job: Job, context: StepContext, how: str, recover: tuple[Action, ...]) -> Step:
    """Nothing runs any more."""
    if _goal(job) is StopGoal.UPDATE:
        return copy_state(job, how, recover)
    return _reach_goal(job, context, how, recover)


def update_prepared(job: Job, event: UpdatePrepared, context: StepContext) -> Step:
    """The new version starts, unless another statement has come between."""
    if _goal(job) is StopGoal.UPDATE:
        return start_trial(job, context)
    return _reach_goal(job, context, "What it was stopped for at first was given up.", ())


def update_failed(job: Job, event: UpdateFailed, context: StepContext) -> Step:
    if _goal(job) is StopGoal.UPDATE:
        return keep_old_version(job, event, context)
    return _reach_goal(job, context, f"What it was stopped for failed: {describe_cause(event.cause)}", ())


def _update_phrase(job: Job) -> str:
    return "the spreading of its state" if is_rescaling(job) else "the update"


def finish_stop(job: Job, event: Event, context: StepContext) -> Step:
    """The engine ended in the middle of a stop: its run is gone, so the goal is reached now."""
    recover = (RecoverSink(job),)
    if _goal(job) is StopGoal.UPDATE:
        return abandon_update(
            job, f"The engine ended during {_update_phrase(job)}; the job is what it was.", context, recover
        )
    return _reach_goal(job, context, "The engine ended while the job was being stopped.", recover)


def _reach_goal(job: Job, context: StepContext, how: str, recover: tuple[Action, ...]) -> Step:
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
        # Members that come and go must not make a job try for ever that fails each time.
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
    words = join_sentences(_describe_stop_cause(job), how, restart_note(job))
    return Step(suspended, Outcome.CHANGED, before, history_event="suspended", history_message=words)


def end_waiting_job(job: Job, goal: StopGoal, cause: Cause, context: StepContext) -> Step:
    """Of a job that has failed and waits to be tried again: nobody has asked for this."""
    stopping = replace(job, stop_goal=goal, stop_cause=cause)
    return _reach_goal(stopping, context, "It was waiting to be tried again.", (RecoverSink(job),))


def _describe_stop_cause(job: Job) -> str:
    return describe_cause(job.stop_cause) if job.stop_cause is not None else ""


def _stop_message(job: Job, graceful: bool) -> str:
    if not job.plan.analysis.streaming:
        return "Its query was ended."
    if graceful and job.cause is not None and job.cause.batch is not None:
        return "Its batch failed; it is repeated with the next start."
    if graceful:
        return "The running batch was finished first."
    if _goal(job) in (StopGoal.CANCEL, StopGoal.FAIL):
        return "Stopped by force after the deadline."
    return "Stopped by force after the deadline; a batch that was not committed by then will be repeated."


def stop_failed(job: Job, event: StopFailed, context: StepContext) -> Step:
    """The run may be alive still, so nothing that needs its end may follow: it counts as running again. When the engine
    is going to end, it ends with it, and nothing may follow either. A run that has told its end needs no stop.
    """
    if job.run_ended:
        return _after_run(job, context, "Its run had ended by itself.", (RecoverSink(job),))
    status = Status.NOT_RUNNING if context.closing else Status.RUNNING
    left = replace(job, stop_goal=None, stop_cause=None, pending_version=None, snapshot_request=None)
    going_on = replace(left, status=status, cause=event.cause)
    when = "continues with the engine's next start" if context.closing else "goes on"
    words = f"The job could not be stopped and {when}: {describe_cause(event.cause)}"
    return Step(going_on, Outcome.CHANGED, history_event="stop failed", history_message=words)


def completed_while_stopping(job: Job, event: RunCompleted, context: StepContext) -> Step:
    """The end came first. It stands, except where the stop's goal goes beyond it: to drop, or to read what is new."""
    goal = _goal(job)
    asked = goal is StopGoal.RESTART and job.stop_cause is None
    reads_on = asked and job.plan.trigger is Trigger.AVAILABLE_NOW and job.plan.analysis.streaming
    if goal in (*_ENDING_GOALS, StopGoal.UPDATE) or reads_on:
        words = "Everything is committed; the stop that was asked for goes on."
        return note(replace(job, run_ended=True), "completed", words)
    return complete(job, event, context)


def restart_while_stopping(job: Job, event: RestartRequested, context: StepContext) -> Step:
    return Step(replace(job, run_ended=True), Outcome.UNCHANGED)


def stop_with_engine(job: Job, event: Event, context: StepContext) -> Step:
    waiting = replace(job, status=Status.NOT_RUNNING)
    words = "The engine stopped; the job continues with its next start."
    return Step(waiting, Outcome.CHANGED, (StopRun(waiting),), history_event="engine stopped", history_message=words)


def stopping_with_engine(job: Job, event: Event, context: StepContext) -> Step:
    """Suspending and dropping end as asked for; a restart waits for the next engine, and so does the job that was to be
    replaced.
    """
    if _goal(job) is StopGoal.UPDATE:
        return _abandon_update_with_engine(job)
    if _goal(job) is not StopGoal.RESTART:
        return keep(job, event, context)
    words = "The engine stopped; the job restarts with its next start."
    waiting = replace(job, status=Status.NOT_RUNNING, stop_goal=None, stop_cause=None, pending_version=None)
    return Step(
        waiting, Outcome.CHANGED, discard_pending_version(job), history_event="engine stopped", history_message=words
    )


def _abandon_update_with_engine(job: Job) -> Step:
    status = (
        Status.SUSPENDED
        if job.pending_version is not None and job.pending_version.was_suspended
        else Status.NOT_RUNNING
    )
    words = f"The engine stopped during {_update_phrase(job)}, which is given up; the job is what it was."
    old = replace(job, status=status, stop_goal=None, pending_version=None)
    return Step(
        old,
        Outcome.CHANGED,
        (AbandonUpdate(job), *discard_pending_version(job)),
        history_event="engine stopped",
        history_message=words,
    )


def stopped_with_engine(job: Job, event: Stopped, context: StepContext) -> Step:
    return keep(job, event, context) if event.graceful else note(job, "stopped", _stop_message(job, False))


def stop_failed_with_engine(job: Job, event: StopFailed, context: StepContext) -> Step:
    return note(job, "stop failed", f"The job could not be stopped with the engine: {describe_cause(event.cause)}")
