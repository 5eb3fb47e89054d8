"""Cells of the life cycle for errors: try again, suspend or fail.

Before the first trigger has gone through an error is final. What was replaced or deleted under a job
always suspends it, whatever its options say: its state is good or can be mended, and a person has to decide.

The words of a history row say what happened and where, what is tried next and when, and what a person can do.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from jetsql.jobs.lifecycle.engine_api import RunBlocked, RunFailed
from jetsql.jobs.lifecycle.events import Action, Outcome, RecoverSink, ScheduleRetry, StartFailed, Step, TrialProbed
from jetsql.jobs.lifecycle.step_context import (
    StepContext,
    as_sentence,
    describe_cause,
    fail,
    join_sentences,
    note,
    remedy,
)
from jetsql.jobs.lifecycle.update import commit_version, discard_rollback_version, probe_failed, roll_back, trial_failed
from jetsql.jobs.model.job import Cause, Job, Status

_NEEDS_USER: Final = (
    "JETSQL.JOB_CHANGED",
    "JETSQL.SINK_CHANGED",
    "JETSQL.SOURCE_CHANGED",
    "JETSQL.CHECKPOINT_DAMAGED",
    "JETSQL.JOB_IN_USE",
    "JETSQL.FORMAT_NOT_READABLE",
)
_OUTAGE_DELAY_ATTEMPTS: Final = 3  # as after so many restarts: whatever asks has waited by itself before it gave up


def run_failed(job: Job, event: RunFailed, context: StepContext) -> Step:
    return _fail(job, event.cause, _describe_failure(event.cause), context)


def start_failed(job: Job, event: StartFailed, context: StepContext) -> Step:
    return _fail(job, event.cause, _describe_failure(event.cause, "It was not started"), context)


def trial_probed(job: Job, event: TrialProbed, context: StepContext) -> Step:
    """A new version failed before its first commit, and it is known now whether its rows are in the sink."""
    if job.rollback_version is None or job.cause is None or context.closing:
        return Step(job, Outcome.STALE)  # with the next engine the new version is tried again, and judged again
    if event.batch_in_sink is None:
        return probe_failed(job, event)
    if not event.batch_in_sink:
        return roll_back(job, context)
    failed = _fail(commit_version(job), job.cause, _describe_failure(job.cause), context)
    return replace(failed, actions=(*discard_rollback_version(job), *failed.actions))


def _fail(job: Job, cause: Cause, what: str, context: StepContext) -> Step:
    if job.rollback_version is not None:
        return trial_failed(job, cause)
    failing = replace(job, cause=cause)
    if cause.external_outage and job.plan.restart_attempts:
        return _wait_for_outage(failing, what, context)
    if not job.version.first_trigger_done:
        words = f"Failed before anything was committed: {describe_cause(cause)}"
        return fail(failing, context, words)
    if cause.condition in _NEEDS_USER:
        return _suspend(failing, join_sentences(what, _STATE_KEPT, cause.hint), ())
    if cause.retryable and job.attempts < job.plan.restart_attempts:
        return _wait_for_retry(failing, what, context)
    spent = _describe_attempts(job) if cause.retryable else "Trying again can't help."
    if job.plan.suspend_on_failure:
        return _suspend(failing, join_sentences(what, spent, _STATE_KEPT, remedy(cause)), (RecoverSink(failing),))
    return fail(failing, context, join_sentences(what, spent, "So the job failed.", cause.hint))


_STATE_KEPT: Final = "The job is suspended with its state."


def _describe_failure(cause: Cause, outside_batches: str = "It failed") -> str:
    """What happened, in which batch and where, as far as the message itself does not say so."""
    at = f" at {cause.where}" if cause.where and cause.where not in cause.message else ""
    if cause.batch is not None:
        return f"Batch {cause.batch} failed{at}: {as_sentence(cause.message)}"
    return f"{outside_batches}{at}: {as_sentence(cause.message)}"


def _describe_attempts(job: Job) -> str:
    if not job.attempts:
        return "No restarts are allowed."
    return "1 restart did not help." if job.attempts == 1 else f"{job.attempts} restarts did not help."


def _suspend(job: Job, words: str, actions: tuple[Action, ...]) -> Step:
    suspended = replace(job, status=Status.SUSPENDED, stop_goal=None, attempts=0)
    return Step(suspended, Outcome.CHANGED, actions, history_event="suspended by an error", history_message=words)


def _wait_for_retry(job: Job, what: str, context: StepContext) -> Step:
    at = context.retry_time(job.attempts)
    waiting = replace(job, status=Status.NOT_RUNNING, attempts=job.attempts + 1)
    next_try = f"Trying again in {at - context.now:g} s (restart {waiting.attempts} of {job.plan.restart_attempts})."
    words = join_sentences(what, next_try)
    return Step(
        waiting, Outcome.CHANGED, (ScheduleRetry(job.run_id, at),), history_event="error", history_message=words
    )


def _wait_for_outage(job: Job, what: str, context: StepContext) -> Step:
    """Nothing is wrong with the job, so this may last, and uses up none of its restarts."""
    at = context.retry_time(_OUTAGE_DELAY_ATTEMPTS)
    words = join_sentences(
        what, f"Trying again in {at - context.now:g} s, until that is over; it counts as no restart."
    )
    waiting = replace(job, status=Status.NOT_RUNNING)
    return Step(
        waiting, Outcome.CHANGED, (ScheduleRetry(job.run_id, at),), history_event="error", history_message=words
    )


def run_blocked(job: Job, event: RunBlocked, context: StepContext) -> Step:
    """The run goes on; people are told why nothing comes of it."""
    if event.cause == job.cause:
        return Step(job, Outcome.UNCHANGED)
    words = (
        "What it waited for is over." if event.cause is None else f"It gets no further: {describe_cause(event.cause)}"
    )
    title = "recovered" if event.cause is None else "blocked"
    return Step(replace(job, cause=event.cause), Outcome.CHANGED, history_event=title, history_message=words)


def failed_while_stopping(job: Job, event: RunFailed | StartFailed, context: StepContext) -> Step:
    """The stop that is under way finds no run and ends as it was to; the error stays visible."""
    return Step(
        replace(job, cause=event.cause, run_ended=True),
        Outcome.CHANGED,
        history_event="error",
        history_message=_describe_failure(event.cause),
    )


def failed_after_run(job: Job, event: RunFailed | StartFailed, context: StepContext) -> Step:
    return note(job, "error", f"Told after the run had ended: {describe_cause(event.cause)}")
