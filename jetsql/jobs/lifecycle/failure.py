"""Cells of the life cycle for errors: try again, suspend or fail.

Before the first trigger has gone through an error is final. What was replaced or deleted under a job
always suspends it, whatever its options say: its state is good or can be mended, and a person has to decide.

The words of a history row say what happened and where, what is tried next and when, and what a person can do.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from jetsql.jobs.lifecycle.engine_api import RunBlocked, RunFailed
from jetsql.jobs.lifecycle.events import Action, Outcome, RecoverSink, ScheduleRetry, StartFailed, Step, TrialJudged
from jetsql.jobs.lifecycle.step_context import StepContext, end_failed, joined, noted, run_of, sentence, what_to_do, why
from jetsql.jobs.lifecycle.update import adopted, forget_previous, trial_failed, undone, unjudged
from jetsql.jobs.model.job import Cause, Job, Status

_FOR_PEOPLE: Final = (
    "JETSQL.JOB_CHANGED",
    "JETSQL.SINK_CHANGED",
    "JETSQL.SOURCE_CHANGED",
    "JETSQL.CHECKPOINT_DAMAGED",
    "JETSQL.JOB_IN_USE",
    "JETSQL.FORMAT_NOT_READABLE",
)
_AWAY_DELAY: Final = 3  # as after so many restarts: whatever asks has waited by itself before it gave up


def run_failed(job: Job, event: RunFailed, moment: StepContext) -> Step:
    return _fail(job, event.cause, _what(event.cause), moment)


def start_failed(job: Job, event: StartFailed, moment: StepContext) -> Step:
    return _fail(job, event.cause, _what(event.cause, "It was not started"), moment)


def judged(job: Job, event: TrialJudged, moment: StepContext) -> Step:
    """A new version failed before its first commit, and it is known now whether its rows are in the sink."""
    if job.previous is None or job.cause is None or moment.closing:
        return Step(job, Outcome.LATE)  # with the next engine the new version is tried again, and judged again
    if event.held is None:
        return unjudged(job, event)
    if not event.held:
        return undone(job, moment)
    failed = _fail(adopted(job), job.cause, _what(job.cause), moment)
    return replace(failed, actions=(*forget_previous(job), *failed.actions))


def _fail(job: Job, cause: Cause, what: str, moment: StepContext) -> Step:
    if job.previous is not None:
        return trial_failed(job, cause)
    hurt = replace(job, cause=cause)
    if cause.away and job.plan.restart_attempts:
        return _wait_for_what_is_away(hurt, what, moment)
    if not job.established:
        words = f"Failed before anything was committed: {why(cause)}"
        return end_failed(hurt, moment, words)
    if cause.condition in _FOR_PEOPLE:
        return _suspend_for(hurt, joined(what, _KEPT, cause.hint), ())
    if cause.heals and job.attempts < job.plan.restart_attempts:
        return _wait_for_retry(hurt, what, moment)
    spent = _spent(job) if cause.heals else "Trying again can't help."
    if job.plan.suspend_on_failure:
        return _suspend_for(hurt, joined(what, spent, _KEPT, what_to_do(cause)), (RecoverSink(hurt),))
    return end_failed(hurt, moment, joined(what, spent, "So the job failed.", cause.hint))


_KEPT: Final = "The job is suspended with its state."


def _what(cause: Cause, outside_batches: str = "It failed") -> str:
    """What happened, in which batch and where, as far as the message itself does not say so."""
    at = f" at {cause.where}" if cause.where and cause.where not in cause.message else ""
    if cause.batch is not None:
        return f"Batch {cause.batch} failed{at}: {sentence(cause.message)}"
    return f"{outside_batches}{at}: {sentence(cause.message)}"


def _spent(job: Job) -> str:
    if not job.attempts:
        return "No restarts are allowed."
    return "1 restart did not help." if job.attempts == 1 else f"{job.attempts} restarts did not help."


def _suspend_for(job: Job, words: str, actions: tuple[Action, ...]) -> Step:
    suspended = replace(job, status=Status.SUSPENDED, stop_goal=None, attempts=0)
    return Step(suspended, Outcome.MOVED, actions, title="suspended by an error", words=words)


def _wait_for_retry(job: Job, what: str, moment: StepContext) -> Step:
    at = moment.retry_at(job.attempts)
    waiting = replace(job, status=Status.NOT_RUNNING, attempts=job.attempts + 1)
    next_try = f"Trying again in {at - moment.now:g} s (restart {waiting.attempts} of {job.plan.restart_attempts})."
    words = joined(what, next_try)
    return Step(waiting, Outcome.MOVED, (ScheduleRetry(run_of(job), at),), title="error", words=words)


def _wait_for_what_is_away(job: Job, what: str, moment: StepContext) -> Step:
    """Nothing is wrong with the job, so this may last, and uses up none of its restarts."""
    at = moment.retry_at(_AWAY_DELAY)
    words = joined(what, f"Trying again in {at - moment.now:g} s, until that is over; it counts as no restart.")
    waiting = replace(job, status=Status.NOT_RUNNING)
    return Step(waiting, Outcome.MOVED, (ScheduleRetry(run_of(job), at),), title="error", words=words)


def hindered(job: Job, event: RunBlocked, moment: StepContext) -> Step:
    """The run goes on; people are told why nothing comes of it."""
    if event.cause == job.cause:
        return Step(job, Outcome.KEPT)
    words = "What it waited for is over." if event.cause is None else f"It gets no further: {why(event.cause)}"
    title = "recovered" if event.cause is None else "waiting"
    return Step(replace(job, cause=event.cause), Outcome.MOVED, title=title, words=words)


def failed_while_stopping(job: Job, event: RunFailed | StartFailed, moment: StepContext) -> Step:
    """The stop that is under way finds no run and ends as it was to; the error stays visible."""
    return Step(replace(job, cause=event.cause, over=True), Outcome.MOVED, title="error", words=_what(event.cause))


def failed_after_run(job: Job, event: RunFailed | StartFailed, moment: StepContext) -> Step:
    return noted(job, "error", f"Told after the run had ended: {why(event.cause)}")
