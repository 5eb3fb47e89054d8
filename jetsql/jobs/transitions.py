"""The cells of the life cycle's table: each a small pure function (job, event, moment) -> Step.

Messages to users begin with the job as subject ("is suspended already"): who shows them puts the name in front.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from jetsql.jobs.engine import BatchCommitted, RestartWanted, RunCompleted, RunFailed, RunIdle, SinkNoticed
from jetsql.jobs.events import (
    Action,
    AlterOptions,
    CleanupFailed,
    DiscardFiles,
    Event,
    Outcome,
    RecoverSink,
    ScheduleRetry,
    StartFailed,
    StartRun,
    Step,
    StopFailed,
    Stopped,
    StopRun,
)
from jetsql.jobs.model import Cause, Guarantee, Job, RunId, Status, StopGoal, Trigger

CANCELLED: Final = Cause("cancelled by user", heals=False)
_CHANGED: Final = ("JETSQL.JOB_CHANGED", "JETSQL.SINK_CHANGED")
_GOAL_WORDS: Final = {
    StopGoal.SUSPEND: "suspended",
    StopGoal.RESTART: "restarted",
    StopGoal.CANCEL: "dropped",
}


@dataclass(frozen=True)
class Moment:
    """now: seconds since the epoch. retry_first, retry_most: delays before a restart, seconds."""

    now: float
    retry_first: float = 1.0
    retry_most: float = 60.0

    def retry_at(self, attempts: int) -> float:
        """When to try again after so many restarts without progress."""
        return self.now + min(self.retry_first * 2.0 ** min(attempts, 60), self.retry_most)


def run_of(job: Job) -> RunId:
    return RunId(job.id, job.run)


def runs_again(job: Job) -> bool:
    """Whether a COMPLETED job can run again over what is new: it read a stream, and its state is still there."""
    return (
        job.status is Status.COMPLETED
        and job.files
        and job.plan.analysis.streaming
        and job.plan.trigger is Trigger.AVAILABLE_NOW
    )


def restart_words(job: Job) -> str:
    """What people should know before the job starts the next time; empty when it just goes on."""
    if not job.plan.analysis.streaming:
        return "A batch job starts over when it is resumed."
    if job.plan.guarantee is Guarantee.NONE:
        return "With processingGuarantee 'none' every start is from scratch."
    return ""


def joined(*sentences: str) -> str:
    """Sentences of which some may be empty."""
    return " ".join(sentence for sentence in sentences if sentence)


# --- nothing moves ---------------------------------------------------------------------------------------------------


def keep(job: Job, event: Event, moment: Moment) -> Step:
    return Step(job, Outcome.KEPT)


def late(job: Job, event: Event, moment: Moment) -> Step:
    return Step(job, Outcome.LATE)


def _kept(job: Job, message: str) -> Step:
    return Step(job, Outcome.KEPT, message=message)


def _refused(job: Job, message: str, hint: str) -> Step:
    return Step(job, Outcome.REFUSED, message=message, hint=hint)


def _noted(job: Job, title: str, words: str) -> Step:
    return Step(job, Outcome.KEPT, title=title, words=words)


def submitted_before(job: Job, event: Event, moment: Moment) -> Step:
    return _refused(job, "has been submitted before", "")


def suspended_already(job: Job, event: Event, moment: Moment) -> Step:
    return _kept(job, joined("is suspended already.", restart_words(job)))


def starting_already(job: Job, event: Event, moment: Moment) -> Step:
    return _kept(job, "is starting already.")


def running_already(job: Job, event: Event, moment: Moment) -> Step:
    return _kept(job, "is running already.")


def ended_already(job: Job, event: Event, moment: Moment) -> Step:
    return _kept(job, f"has ended already, with status {job.status.value}.")


def ended(job: Job, event: Event, moment: Moment) -> Step:
    return _refused(job, f"has ended with status {job.status.value}", "Create it again with CREATE JOB.")


def wait_for_snapshot(job: Job, event: Event, moment: Moment) -> Step:
    return _refused(
        job, f"has status {job.status.value}: a snapshot of it is being written", "Try again when that is done."
    )


def restart_of_suspended(job: Job, event: Event, moment: Moment) -> Step:
    return _refused(job, "is suspended, so there is nothing to restart", "Start it with RESUME JOB.")


def alter_refused(job: Job, event: Event, moment: Moment) -> Step:
    return _refused(
        job, f"has status {job.status.value}, and options change only while it is suspended", "Use SUSPEND JOB first."
    )


def sink_noticed(job: Job, event: SinkNoticed, moment: Moment) -> Step:
    return _noted(job, "sink noticed", event.message)


def cleanup_failed(job: Job, event: CleanupFailed, moment: Moment) -> Step:
    return _noted(job, "clean-up failed", f"{event.doing} failed: {event.cause.message}")


# --- starting --------------------------------------------------------------------------------------------------------


def _start(job: Job, title: str, words: str, before: tuple[Action, ...] = ()) -> Step:
    """The job's next run; what went wrong before stays known until progress is made."""
    next_job = replace(job, status=Status.STARTING, stop_goal=None, run=job.run + 1, files=True, ended=None)
    return Step(next_job, Outcome.MOVED, (*before, StartRun(next_job)), title=title, words=words)


def submit(job: Job, event: Event, moment: Moment) -> Step:
    return _start(job, "submitted", f"Delivery: {job.plan.guarantee_reason}.")


def resume(job: Job, event: Event, moment: Moment) -> Step:
    return _start(replace(job, cause=None, attempts=0), "resumed", joined("Resumed by user.", restart_words(job)))


def start_at_once(job: Job, event: Event, moment: Moment) -> Step:
    return _start(replace(job, attempts=0), "started by user", "Started at once, without waiting for the next retry.")


def run_again(job: Job, event: Event, moment: Moment) -> Step:
    if not runs_again(job):
        return ended(job, event, moment)
    return _start(replace(job, cause=None, attempts=0), "run again", "Started again by user, to read what is new.")


def alter(job: Job, event: AlterOptions, moment: Moment) -> Step:
    changed = replace(job, plan=event.plan)
    words = f"Options changed by user: {', '.join(event.changed)}."
    if event.resume:
        return _start(replace(changed, cause=None, attempts=0), "options changed, resumed", words)
    return Step(changed, Outcome.MOVED, title="options changed", words=words)


def retry(job: Job, event: Event, moment: Moment) -> Step:
    return _start(job, "retry", f"Restart {job.attempts} of {job.plan.restart_attempts} after the error.")


def restart_wanted(job: Job, event: RestartWanted, moment: Moment) -> Step:
    return _start(job, "restarted", event.message)


def continue_run(job: Job, event: Event, moment: Moment) -> Step:
    before: tuple[Action, ...] = (RecoverSink(job),) if job.run else ()
    return _start(replace(job, attempts=0), "continued", "The engine has started; the job continues.", before)


def started(job: Job, event: Event, moment: Moment) -> Step:
    running = replace(job, status=Status.RUNNING)
    return Step(running, Outcome.MOVED, title="running", words=f"Run {job.run} has started.")


# --- progress --------------------------------------------------------------------------------------------------------


def batch(job: Job, event: BatchCommitted, moment: Moment) -> Step:
    words = f"Batch {event.batch} is committed."
    return _progress(replace(job, batch=event.batch, attempts=0, cause=_after_progress(job)), job, words)


def idle(job: Job, event: RunIdle, moment: Moment) -> Step:
    return _progress(job, job, "There was nothing to read yet.")


def _after_progress(job: Job) -> Cause | None:
    """A job that is being stopped keeps what it is stopped for."""
    return job.cause if job.status is Status.COMPLETING else None


def _progress(job: Job, before: Job, words: str) -> Step:
    """Only what matters to a later start gets a history row: the first progress, and the way out of an error."""
    running = Status.RUNNING if job.status is Status.STARTING else job.status
    after = replace(job, status=running, established=True)
    if not before.established:
        return Step(after, Outcome.MOVED, title="first trigger", words=words)
    if before.cause is not None and after.cause is None:
        return Step(after, Outcome.MOVED, title="recovered", words=words)
    if running is not before.status:
        return Step(after, Outcome.MOVED, title="running", words=words)
    return Step(after, Outcome.KEPT)


def complete(job: Job, event: RunCompleted, moment: Moment) -> Step:
    done = replace(
        job, status=Status.COMPLETED, stop_goal=None, established=True, attempts=0, cause=None, ended=moment.now
    )
    actions: tuple[Action, ...] = () if runs_again(done) else (DiscardFiles(done),)
    return Step(done, Outcome.MOVED, actions, title="completed", words=event.message or "Everything is committed.")


# --- errors ----------------------------------------------------------------------------------------------------------


def run_failed(job: Job, event: RunFailed, moment: Moment) -> Step:
    return _fail(job, event.cause, moment)


def start_failed(job: Job, event: StartFailed, moment: Moment) -> Step:
    return _fail(job, event.cause, moment)


def _fail(job: Job, cause: Cause, moment: Moment) -> Step:
    hurt = replace(job, cause=cause)
    if not job.established:
        return _end_failed(hurt, moment, f"Failed before anything was committed: {cause.message}")
    if cause.condition in _CHANGED:
        return _suspend_for(hurt, cause.message, ())
    if cause.heals and job.attempts < job.plan.restart_attempts:
        return _wait_for_retry(hurt, cause, moment)
    spent = "Trying again can't help" if not cause.heals else f"{job.attempts} restarts did not help"
    words = f"{spent}: {cause.message}"
    if job.plan.suspend_on_failure:
        return _suspend_for(hurt, words, (RecoverSink(hurt),))
    return _end_failed(hurt, moment, words)


def _suspend_for(job: Job, words: str, actions: tuple[Action, ...]) -> Step:
    suspended = replace(job, status=Status.SUSPENDED, stop_goal=None, attempts=0)
    return Step(suspended, Outcome.MOVED, actions, title="suspended by an error", words=words)


def _wait_for_retry(job: Job, cause: Cause, moment: Moment) -> Step:
    at = moment.retry_at(job.attempts)
    waiting = replace(job, status=Status.NOT_RUNNING, attempts=job.attempts + 1)
    words = f"Trying again in {at - moment.now:g} s: {cause.message}"
    return Step(waiting, Outcome.MOVED, (ScheduleRetry(run_of(job), at),), title="error", words=words)


def _end_failed(job: Job, moment: Moment, words: str, title: str = "failed") -> Step:
    failed = replace(job, status=Status.FAILED, stop_goal=None, ended=moment.now)
    return Step(failed, Outcome.MOVED, _clean(failed), title=title, words=words)


def _clean(job: Job) -> tuple[Action, ...]:
    """Finish what is half moved into the sink before its files go."""
    return (RecoverSink(job), DiscardFiles(job)) if job.files else ()


def failed_while_stopping(job: Job, event: RunFailed | StartFailed, moment: Moment) -> Step:
    """The stop that is under way finds no run and ends as it was to; the error stays visible."""
    return Step(replace(job, cause=event.cause), Outcome.MOVED, title="error", words=event.cause.message)


def failed_while_engine_stops(job: Job, event: RunFailed | StartFailed, moment: Moment) -> Step:
    return _noted(job, "error", f"While the engine was stopping: {event.cause.message}")


# --- stopping --------------------------------------------------------------------------------------------------------


def _stop(job: Job, goal: StopGoal, title: str) -> Step:
    stopping = replace(job, status=Status.COMPLETING, stop_goal=goal)
    words = "The running batch is finished first."
    return Step(stopping, Outcome.MOVED, (StopRun(stopping),), title=title, words=words)


def _other_goal(job: Job, goal: StopGoal) -> Step:
    words = f"The job was to be {_GOAL_WORDS[_goal(job)]}; now it will be {_GOAL_WORDS[goal]}."
    return Step(replace(job, stop_goal=goal), Outcome.MOVED, title=f"to be {_GOAL_WORDS[goal]}", words=words)


def _goal(job: Job) -> StopGoal:
    """A COMPLETING job's goal; suspending is what loses nothing should a record lack it."""
    return job.stop_goal or StopGoal.SUSPEND


def _being_dropped(job: Job) -> Step:
    return _refused(job, "is being dropped", "Create it again with CREATE JOB when it has ended.")


def suspend(job: Job, event: Event, moment: Moment) -> Step:
    return _stop(job, StopGoal.SUSPEND, "suspend asked for")


def restart(job: Job, event: Event, moment: Moment) -> Step:
    return _stop(job, StopGoal.RESTART, "restart asked for")


def cancel(job: Job, event: Event, moment: Moment) -> Step:
    return _stop(job, StopGoal.CANCEL, "drop asked for")


def suspend_at_once(job: Job, event: Event, moment: Moment) -> Step:
    words = joined("Suspended by user while it was waiting to start.", restart_words(job))
    return Step(replace(job, status=Status.SUSPENDED, attempts=0), Outcome.MOVED, title="suspended", words=words)


def cancel_at_once(job: Job, event: Event, moment: Moment) -> Step:
    return _end_failed(replace(job, cause=CANCELLED), moment, "Cancelled by user; its state is deleted.", "dropped")


def forget(job: Job, event: Event, moment: Moment) -> Step:
    """DROP of a completed job that could run again: its state goes, its history stays."""
    if not runs_again(job):
        return ended_already(job, event, moment)
    words = "Dropped by user: its state is deleted, so it can't run again."
    return Step(job, Outcome.MOVED, (DiscardFiles(job),), title="dropped", words=words)


def suspend_while_stopping(job: Job, event: Event, moment: Moment) -> Step:
    goal = _goal(job)
    if goal is StopGoal.CANCEL:
        return _being_dropped(job)
    if goal is StopGoal.SUSPEND:
        return _kept(job, "is being suspended already.")
    return _other_goal(job, StopGoal.SUSPEND)


def start_after_stop(job: Job, event: Event, moment: Moment) -> Step:
    """RESUME or RESTART while a stop is under way: the stop ends cleanly, then the job starts. Refusing a RESUME would
    only make people poll for SUSPENDED."""
    goal = _goal(job)
    if goal is StopGoal.CANCEL:
        return _being_dropped(job)
    if goal is StopGoal.RESTART:
        return _kept(job, "is being restarted already.")
    return _other_goal(job, StopGoal.RESTART)


def cancel_while_stopping(job: Job, event: Event, moment: Moment) -> Step:
    if _goal(job) is StopGoal.CANCEL:
        return _kept(job, "is being dropped already.")
    return _other_goal(job, StopGoal.CANCEL)


def stopped(job: Job, event: Stopped, moment: Moment) -> Step:
    how = _stop_words(event.graceful)
    recover: tuple[Action, ...] = () if event.graceful else (RecoverSink(job),)
    return _reach_goal(job, moment, how, recover)


def finish_stop(job: Job, event: Event, moment: Moment) -> Step:
    """The engine ended in the middle of a stop: its run is gone, so the goal is reached now."""
    words = "The engine ended while the job was being stopped."
    return _reach_goal(job, moment, words, (RecoverSink(job),))


def _reach_goal(job: Job, moment: Moment, how: str, recover: tuple[Action, ...]) -> Step:
    goal = _goal(job)
    if goal is StopGoal.CANCEL:
        return _end_failed(replace(job, cause=CANCELLED), moment, f"Cancelled by user. {how}", "dropped")
    if goal is StopGoal.RESTART:
        return _start(replace(job, attempts=0), "restarted", how, recover)
    suspended = replace(job, status=Status.SUSPENDED, stop_goal=None, attempts=0)
    return Step(suspended, Outcome.MOVED, recover, title="suspended", words=joined(how, restart_words(job)))


def _stop_words(graceful: bool) -> str:
    if graceful:
        return "The running batch was finished first."
    return "Stopped by force after the deadline; the batch that was running will be repeated."


def stop_failed(job: Job, event: StopFailed, moment: Moment) -> Step:
    """The run may be alive still, so nothing that needs its end may follow: it counts as running again."""
    running = replace(job, status=Status.RUNNING, stop_goal=None, cause=event.cause)
    words = f"The job could not be stopped and goes on: {event.cause.message}"
    return Step(running, Outcome.MOVED, title="stop failed", words=words)


def completed_while_stopping(job: Job, event: RunCompleted, moment: Moment) -> Step:
    """The end came first. It stands, except where the stop's goal goes beyond it: to drop, or to read what is new."""
    goal = _goal(job)
    reads_on = goal is StopGoal.RESTART and job.plan.trigger is Trigger.AVAILABLE_NOW and job.plan.analysis.streaming
    if goal is StopGoal.CANCEL or reads_on:
        return _noted(job, "completed", "Everything is committed; the stop that was asked for goes on.")
    return complete(job, event, moment)


# --- the engine's own life -------------------------------------------------------------------------------------------


def stop_with_engine(job: Job, event: Event, moment: Moment) -> Step:
    waiting = replace(job, status=Status.NOT_RUNNING)
    words = "The engine stopped; the job continues with its next start."
    return Step(waiting, Outcome.MOVED, (StopRun(waiting),), title="engine stopped", words=words)


def stopping_with_engine(job: Job, event: Event, moment: Moment) -> Step:
    """Suspending and dropping end as asked for; a restart waits for the next engine."""
    if _goal(job) is not StopGoal.RESTART:
        return keep(job, event, moment)
    words = "The engine stopped; the job restarts with its next start."
    waiting = replace(job, status=Status.NOT_RUNNING, stop_goal=None)
    return Step(waiting, Outcome.MOVED, title="engine stopped", words=words)


def stopped_with_engine(job: Job, event: Stopped, moment: Moment) -> Step:
    return keep(job, event, moment) if event.graceful else _noted(job, "stopped", _stop_words(False))


def stop_failed_with_engine(job: Job, event: StopFailed, moment: Moment) -> Step:
    return _noted(job, "stop failed", f"The job could not be stopped with the engine: {event.cause.message}")


def give_up_snapshot(job: Job, event: Event, moment: Moment) -> Step:
    words = "The engine ended while a snapshot was being written; there is no such snapshot."
    return Step(replace(job, status=Status.SUSPENDED), Outcome.MOVED, title="suspended", words=words)


def clean_up(job: Job, event: Event, moment: Moment) -> Step:
    """An ended job whose files outlived an engine."""
    if runs_again(job) or not job.files:
        return keep(job, event, moment)
    actions = (DiscardFiles(job),) if job.status is Status.COMPLETED else _clean(job)
    return Step(job, Outcome.KEPT, actions)


def files_discarded(job: Job, event: Event, moment: Moment) -> Step:
    cleaned = replace(job, files=False)
    return Step(cleaned, Outcome.MOVED, title="cleaned up", words="Checkpoint and staged rows are deleted.")
