"""Cells of the life cycle that stop a run: by a user, with the engine, and what comes after the stop.

A stop goes on once begun; other statements only change what comes after it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from jetsql.jobs.lifecycle import scaling
from jetsql.jobs.lifecycle.engine_api import RestartRequested, RunCompleted
from jetsql.jobs.lifecycle.events import (
    Action,
    Cancel,
    DiscardFiles,
    Event,
    GiveUpUpdate,
    Outcome,
    RecoverSink,
    Step,
    StopFailed,
    Stopped,
    StopRun,
    UpdateFailed,
    UpdatePrepared,
)
from jetsql.jobs.lifecycle.snapshot_steps import write
from jetsql.jobs.lifecycle.start import complete
from jetsql.jobs.lifecycle.step_context import (
    StepContext,
    end_failed,
    joined,
    kept,
    noted,
    refused,
    restart_words,
    runs_again,
    sentence,
    start,
    why,
)
from jetsql.jobs.lifecycle.steps import keep
from jetsql.jobs.lifecycle.update import back_to_old, copy_state, forget_proposed, give_up, try_version, widen, widens
from jetsql.jobs.model.job import CANCELLED, Cause, Job, Status, StopGoal, Trigger

_GOAL_WORDS: Final = {
    StopGoal.SUSPEND: "suspended",
    StopGoal.RESTART: "restarted",
    StopGoal.CANCEL: "dropped",
    StopGoal.EXPORT: "dropped",
    StopGoal.UPDATE: "replaced",
    StopGoal.FAIL: "ended",
}


_TO_THE_END: Final = (StopGoal.CANCEL, StopGoal.EXPORT)


def stop(job: Job, goal: StopGoal, title: str, cause: Cause | None = None) -> Step:
    """cause: why, when nobody has asked for it."""
    stopping = replace(job, status=Status.COMPLETING, stop_goal=goal, stop_cause=cause)
    how = "The running batch is finished first." if job.plan.analysis.streaming else "Its query is ended."
    words = joined(sentence(cause.message), how) if cause is not None else how
    return Step(stopping, Outcome.MOVED, (StopRun(stopping),), title=title, words=words)


def restart_wider(job: Job, title: str, moment: StepContext, cause: Cause | None = None) -> Step:
    """Stop it to start it again with all cores: with its state spread over them where that helps. cause: why, when
    nobody has asked for it."""
    over = scaling.wider(job, moment.cores)
    if over is not None:
        return widen(job, over, title, cause)
    stopping = stop(job, StopGoal.RESTART, title, cause)
    return replace(stopping, words=joined(stopping.words, scaling.uncut_words(job, moment.cores)))


def _other_goal(job: Job, goal: StopGoal) -> Step:
    words = f"The job was to be {_stopped_for(job)}; now it will be {_GOAL_WORDS[goal]}."
    actions = (GiveUpUpdate(job),) if _goal(job) is StopGoal.UPDATE else ()
    other = replace(job, stop_goal=goal, stop_cause=None)
    return Step(other, Outcome.MOVED, actions, title=f"to be {_GOAL_WORDS[goal]}", words=words)


def _stopped_for(job: Job) -> str:
    return _GOAL_WORDS[StopGoal.RESTART if widens(job) else _goal(job)]


def _goal(job: Job) -> StopGoal:
    """A COMPLETING job's goal; suspending is what loses nothing should a record lack it."""
    return job.stop_goal or StopGoal.SUSPEND


def _being_dropped(job: Job) -> Step:
    return refused(job, "is being dropped", "Create it again with CREATE JOB when it has ended.")


def suspend(job: Job, event: Event, moment: StepContext) -> Step:
    return stop(job, StopGoal.SUSPEND, "suspend asked for")


def restart(job: Job, event: Event, moment: StepContext) -> Step:
    return restart_wider(job, "restart asked for", moment)


def cancel(job: Job, event: Cancel, moment: StepContext) -> Step:
    if event.export is not None:
        return stop(replace(job, export=event.export), StopGoal.EXPORT, "drop with snapshot asked for")
    return stop(job, StopGoal.CANCEL, "drop asked for")


def suspend_at_once(job: Job, event: Event, moment: StepContext) -> Step:
    words = joined("Suspended by user while it was waiting to start.", restart_words(job))
    suspended = replace(job, status=Status.SUSPENDED, attempts=0, waiting=False)
    return Step(suspended, Outcome.MOVED, title="suspended", words=words)


def cancel_at_once(job: Job, event: Cancel, moment: StepContext) -> Step:
    if event.export is not None:
        return write(job, event.export, "DROP JOB WITH SNAPSHOT: the job does not run.")
    return end_failed(replace(job, cause=CANCELLED), moment, "Cancelled by user; its state is deleted.", "dropped")


def forget(job: Job, event: Cancel, moment: StepContext) -> Step:
    """DROP of an ended job: if it could run again its state goes, its history stays."""
    if event.export is not None:
        hint = "CREATE SNAPSHOT takes one of a completed job whose state is still there; then DROP it."
        return refused(job, f"has ended with status {job.status.value}", hint)
    if not runs_again(job):
        return kept(job, f"has ended already, with status {job.status.value}.")
    words = "Its state is deleted, so it can't run again."
    expired = replace(job, expired=True)
    return Step(expired, Outcome.MOVED, (DiscardFiles(expired),), title="dropped", words=words)


def suspend_while_stopping(job: Job, event: Event, moment: StepContext) -> Step:
    goal = _goal(job)
    if goal in _TO_THE_END:
        return _being_dropped(job)
    if goal is StopGoal.SUSPEND:
        return kept(job, "is being suspended already.")
    return _other_goal(job, StopGoal.SUSPEND)


def start_after_stop(job: Job, event: Event, moment: StepContext) -> Step:
    """RESUME or RESTART while a stop is under way: the stop ends cleanly, then the job starts. Refusing a RESUME would
    only make people poll for SUSPENDED."""
    goal = _goal(job)
    if goal in _TO_THE_END:
        return _being_dropped(job)
    if goal in (StopGoal.RESTART, StopGoal.UPDATE):
        return kept(job, f"is being {_stopped_for(job)} already.")
    return _other_goal(job, StopGoal.RESTART)


def cancel_while_stopping(job: Job, event: Cancel, moment: StepContext) -> Step:
    if event.export is not None and job.stop_cause is not None:
        return _other_goal(replace(job, export=event.export), StopGoal.EXPORT)
    if event.export is not None:
        return refused(job, "is being stopped by another statement", "Try again when that is done.")
    if _goal(job) in _TO_THE_END:
        return kept(job, "is being dropped already.")
    return _other_goal(job, StopGoal.CANCEL)


def stopped(job: Job, event: Stopped, moment: StepContext) -> Step:
    return _ended(job, moment, _stop_words(job, event.graceful), () if event.graceful else (RecoverSink(job),))


def _ended(job: Job, moment: StepContext, how: str, recover: tuple[Action, ...]) -> Step:
    """Nothing runs any more."""
    if _goal(job) is StopGoal.UPDATE:
        return copy_state(job, how, recover)
    return _reach_goal(job, moment, how, recover)


def prepared(job: Job, event: UpdatePrepared, moment: StepContext) -> Step:
    """The new version starts, unless another statement has come between."""
    if _goal(job) is StopGoal.UPDATE:
        return try_version(job, moment)
    return _reach_goal(job, moment, "What it was stopped for at first was given up.", ())


def not_prepared(job: Job, event: UpdateFailed, moment: StepContext) -> Step:
    if _goal(job) is StopGoal.UPDATE:
        return back_to_old(job, event, moment)
    return _reach_goal(job, moment, f"What it was stopped for failed: {why(event.cause)}", ())


def _replacing(job: Job) -> str:
    return "the spreading of its state" if widens(job) else "the update"


def finish_stop(job: Job, event: Event, moment: StepContext) -> Step:
    """The engine ended in the middle of a stop: its run is gone, so the goal is reached now."""
    recover = (RecoverSink(job),)
    if _goal(job) is StopGoal.UPDATE:
        return give_up(job, f"The engine ended during {_replacing(job)}; the job is what it was.", moment, recover)
    return _reach_goal(job, moment, "The engine ended while the job was being stopped.", recover)


def _reach_goal(job: Job, moment: StepContext, how: str, recover: tuple[Action, ...]) -> Step:
    goal = _goal(job)
    if goal is StopGoal.CANCEL:
        return end_failed(replace(job, cause=CANCELLED, proposed=None), moment, f"Cancelled by user. {how}", "dropped")
    if goal is StopGoal.FAIL:
        failed = replace(job, cause=job.stop_cause or job.cause, proposed=None)
        return end_failed(failed, moment, joined(_why_stopped(job), how))
    if goal is StopGoal.EXPORT and job.export is not None:
        exporting = write(job, job.export, how)
        return replace(exporting, actions=(*recover, *exporting.actions))
    before = (*recover, *forget_proposed(job))
    old = replace(job, proposed=None, export=None)
    if goal is StopGoal.RESTART:
        # Members that come and go must not make a job try for ever that fails each time.
        attempts = 0 if job.stop_cause is None else job.attempts
        return start(replace(old, attempts=attempts), "restarted", joined(_why_stopped(job), how), moment, before)
    stopped = replace(old, status=Status.SUSPENDED, stop_goal=None, stop_cause=None, attempts=0)
    suspended = replace(stopped, cause=job.stop_cause or job.cause)
    words = joined(_why_stopped(job), how, restart_words(job))
    return Step(suspended, Outcome.MOVED, before, title="suspended", words=words)


def end_waiting(job: Job, goal: StopGoal, cause: Cause, moment: StepContext) -> Step:
    """Of a job that has failed and waits to be tried again: nobody has asked for this."""
    stopping = replace(job, stop_goal=goal, stop_cause=cause)
    return _reach_goal(stopping, moment, "It was waiting to be tried again.", (RecoverSink(job),))


def _why_stopped(job: Job) -> str:
    return why(job.stop_cause) if job.stop_cause is not None else ""


def _stop_words(job: Job, graceful: bool) -> str:
    if not job.plan.analysis.streaming:
        return "Its query was ended."
    if graceful and job.cause is not None and job.cause.batch is not None:
        return "Its batch failed; it is repeated with the next start."
    if graceful:
        return "The running batch was finished first."
    if _goal(job) in (StopGoal.CANCEL, StopGoal.FAIL):
        return "Stopped by force after the deadline."
    return "Stopped by force after the deadline; a batch that was not committed by then will be repeated."


def stop_failed(job: Job, event: StopFailed, moment: StepContext) -> Step:
    """The run may be alive still, so nothing that needs its end may follow: it counts as running again. When the engine
    is going to end, it ends with it, and nothing may follow either. A run that has told its end needs no stop.
    """
    if job.over:
        return _ended(job, moment, "Its run had ended by itself.", (RecoverSink(job),))
    status = Status.NOT_RUNNING if moment.closing else Status.RUNNING
    left = replace(job, stop_goal=None, stop_cause=None, proposed=None, export=None)
    going_on = replace(left, status=status, cause=event.cause)
    when = "continues with the engine's next start" if moment.closing else "goes on"
    words = f"The job could not be stopped and {when}: {why(event.cause)}"
    return Step(going_on, Outcome.MOVED, title="stop failed", words=words)


def completed_while_stopping(job: Job, event: RunCompleted, moment: StepContext) -> Step:
    """The end came first. It stands, except where the stop's goal goes beyond it: to drop, or to read what is new."""
    goal = _goal(job)
    asked = goal is StopGoal.RESTART and job.stop_cause is None
    reads_on = asked and job.plan.trigger is Trigger.AVAILABLE_NOW and job.plan.analysis.streaming
    if goal in (*_TO_THE_END, StopGoal.UPDATE) or reads_on:
        words = "Everything is committed; the stop that was asked for goes on."
        return noted(replace(job, over=True), "completed", words)
    return complete(job, event, moment)


def restart_while_stopping(job: Job, event: RestartRequested, moment: StepContext) -> Step:
    return Step(replace(job, over=True), Outcome.KEPT)


def stop_with_engine(job: Job, event: Event, moment: StepContext) -> Step:
    waiting = replace(job, status=Status.NOT_RUNNING)
    words = "The engine stopped; the job continues with its next start."
    return Step(waiting, Outcome.MOVED, (StopRun(waiting),), title="engine stopped", words=words)


def stopping_with_engine(job: Job, event: Event, moment: StepContext) -> Step:
    """Suspending and dropping end as asked for; a restart waits for the next engine, and so does the job that was to be
    replaced.
    """
    if _goal(job) is StopGoal.UPDATE:
        return _not_updated(job)
    if _goal(job) is not StopGoal.RESTART:
        return keep(job, event, moment)
    words = "The engine stopped; the job restarts with its next start."
    waiting = replace(job, status=Status.NOT_RUNNING, stop_goal=None, stop_cause=None, proposed=None)
    return Step(waiting, Outcome.MOVED, forget_proposed(job), title="engine stopped", words=words)


def _not_updated(job: Job) -> Step:
    status = Status.SUSPENDED if job.proposed is not None and job.proposed.suspended else Status.NOT_RUNNING
    words = f"The engine stopped during {_replacing(job)}, which is given up; the job is what it was."
    old = replace(job, status=status, stop_goal=None, proposed=None)
    return Step(old, Outcome.MOVED, (GiveUpUpdate(job), *forget_proposed(job)), title="engine stopped", words=words)


def stopped_with_engine(job: Job, event: Stopped, moment: StepContext) -> Step:
    return keep(job, event, moment) if event.graceful else noted(job, "stopped", _stop_words(job, False))


def stop_failed_with_engine(job: Job, event: StopFailed, moment: StepContext) -> Step:
    return noted(job, "stop failed", f"The job could not be stopped with the engine: {why(event.cause)}")
