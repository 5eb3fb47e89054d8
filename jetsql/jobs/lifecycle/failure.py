"""Handlers of the life cycle for errors and crashes: retry, suspend or fail.

Before the first trigger is done, an error is final, unless it belongs to an outage. A table that was replaced, or a
file that was deleted, always suspends the job, regardless of its options: its state is good or can be repaired, and the
user has to decide.

A history message has the error and its place, the next attempt and its time, and what the user can do.

A job that has ended the engine's Spark is counted in its record, so that the next engine, which can be a standby, knows
it: `step_context.start` does not start a job that was counted too often in a row. Progress after some minutes ends the
row, and so does a start by a user. The next engine starts suspects after the other jobs, one after the other, so that a
further crash shows which one it was.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from jetsql.jobs.lifecycle.events import (
    Action,
    EngineCrashed,
    Outcome,
    RecoverSink,
    ScheduleRetry,
    StartFailed,
    Step,
    TrialProbed,
)
from jetsql.jobs.lifecycle.runtime import RunBlocked, RunFailed
from jetsql.jobs.lifecycle.step_context import (
    CRASHES_MOST,
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
    "JETSQL.STATE_NOT_COMPATIBLE",
)
_NOT_ALLOWED: Final = "JETSQL.NOT_ALLOWED"
"""The condition of a start whose job the owner may not run. It suspends also a job that has committed nothing yet."""
_OUTAGE_DELAY_ATTEMPTS: Final = 3  # the delay of the third restart: the client has waited before it reported the outage


def run_failed(job: Job, event: RunFailed, context: StepContext) -> Step:
    """Retry, suspend or fail the job after an error of its run."""
    return _fail(job, event.cause, _describe_failure(event.cause), context)


def start_failed(job: Job, event: StartFailed, context: StepContext) -> Step:
    """Retry, suspend or fail the job after its run could not start."""
    return _fail(job, event.cause, _describe_failure(event.cause, "The run could not start"), context)


def engine_crashed(job: Job, event: EngineCrashed, context: StepContext) -> Step:
    """Record the crash, and count it if the job is the culprit. The next engine continues or suspends the job."""
    delayed = replace(job, start_delay=event.start_delay)
    if not event.is_culprit:
        outcome = Outcome.CHANGED if delayed != job else Outcome.UNCHANGED
        return Step(delayed, outcome, history_event="engine crashed", history_message=event.message)
    counted = replace(delayed, crashes=job.crashes + 1, crash_reason=event.message)
    times = f"This is crash {counted.crashes} in a row because of this job; after {CRASHES_MOST}, it is not started."
    message = join_sentences(event.message, times)
    return Step(counted, Outcome.CHANGED, history_event="engine crashed", history_message=message)


def trial_probed(job: Job, event: TrialProbed, context: StepContext) -> Step:
    """Roll back a version that failed before its first commit, or keep it if its rows are in the sink."""
    if job.rollback_version is None or job.cause is None or context.closing:
        return Step(job, Outcome.STALE)  # the next engine starts the new version again and probes it again
    if event.batch_in_sink is None:
        return probe_failed(job, event)
    if not event.batch_in_sink:
        return roll_back(job, context)
    failed = _fail(commit_version(job), job.cause, _describe_failure(job.cause), context)
    return replace(failed, actions=(*discard_rollback_version(job), *failed.actions))


def _fail(job: Job, cause: Cause, failure: str, context: StepContext) -> Step:
    """Retry, suspend or fail the job. failure: the error as a sentence."""
    if job.rollback_version is not None and cause.condition != _NOT_ALLOWED:
        return trial_failed(job, cause)
    failing = replace(job, cause=cause)
    if cause.condition == _NOT_ALLOWED:
        return _suspend(failing, join_sentences(failure, _STATE_KEPT, cause.hint), ())
    if _is_in_outage(job, cause) and job.plan.options.restart_attempts:
        return _wait_for_outage(failing, failure, context)
    if not job.version.first_trigger_done and not cause.external_outage:
        return fail(failing, context, f"Failed before the first commit: {describe_cause(cause)}")
    if cause.condition in _NEEDS_USER:
        return _suspend(failing, join_sentences(failure, _STATE_KEPT, cause.hint), ())
    if cause.retryable and job.attempts < job.plan.options.restart_attempts:
        return _wait_for_retry(failing, failure, context)
    attempts = _describe_attempts(job) if cause.retryable else "A restart cannot fix this error."
    if job.plan.suspend_on_failure:
        message = join_sentences(failure, attempts, _STATE_KEPT, remedy(cause))
        return _suspend(failing, message, (RecoverSink(failing),))
    return fail(failing, context, join_sentences(failure, attempts, "The job failed.", cause.hint))


def _is_in_outage(job: Job, cause: Cause) -> bool:
    """Return whether an outage explains the error, or may explain it: the run was waiting for a system that is away.

    Only one unknown error in a row counts to the outage, since the job then has another cause.
    """
    if cause.external_outage:
        return True
    was_away = job.cause is not None and job.cause.external_outage
    return was_away and cause.retryable and cause.condition not in _NEEDS_USER


_STATE_KEPT: Final = "The job is suspended and keeps its state."


def _describe_failure(cause: Cause, outside_batches: str = "The run failed") -> str:
    """Return the error, its batch and its place as a sentence; the place only if the message does not have it."""
    at = f" at {cause.where}" if cause.where and cause.where not in cause.message else ""
    if cause.batch is not None:
        return f"Batch {cause.batch} failed{at}: {as_sentence(cause.message)}"
    return f"{outside_batches}{at}: {as_sentence(cause.message)}"


def _describe_attempts(job: Job) -> str:
    if not job.attempts:
        return "The option restartAttempts allows no restarts."
    return "1 restart did not help." if job.attempts == 1 else f"{job.attempts} restarts did not help."


def _suspend(job: Job, message: str, actions: tuple[Action, ...]) -> Step:
    suspended = replace(job, status=Status.SUSPENDED, stop_goal=None, attempts=0)
    return Step(suspended, Outcome.CHANGED, actions, history_event="suspended by an error", history_message=message)


def _wait_for_retry(job: Job, failure: str, context: StepContext) -> Step:
    at = context.retry_time(job.attempts)
    waiting = replace(job, status=Status.NOT_RUNNING, attempts=job.attempts + 1)
    next_try = (
        f"Trying again in {at - context.now:g} s (restart {waiting.attempts} of {job.plan.options.restart_attempts})."
    )
    message = join_sentences(failure, next_try)
    actions = (ScheduleRetry(job.run_id, at),)
    return Step(waiting, Outcome.CHANGED, actions, history_event="error", history_message=message)


def _wait_for_outage(job: Job, failure: str, context: StepContext) -> Step:
    """Retry without limit: the job is not at fault, so the restart does not count as an attempt."""
    at = context.retry_time(_OUTAGE_DELAY_ATTEMPTS)
    next_try = f"Trying again in {at - context.now:g} s, until the outage ends; this does not count as a restart."
    message = join_sentences(failure, next_try)
    waiting = replace(job, status=Status.NOT_RUNNING)
    actions = (ScheduleRetry(job.run_id, at),)
    return Step(waiting, Outcome.CHANGED, actions, history_event="error", history_message=message)


def run_blocked(job: Job, event: RunBlocked, context: StepContext) -> Step:
    """Record why a run makes no progress, or that it makes progress again."""
    if event.cause == job.cause:
        return Step(job, Outcome.UNCHANGED)
    message = (
        "The run is not blocked any more."
        if event.cause is None
        else f"The run makes no progress: {describe_cause(event.cause)}"
    )
    history_event = "recovered" if event.cause is None else "blocked"
    return Step(replace(job, cause=event.cause), Outcome.CHANGED, history_event=history_event, history_message=message)


def failed_while_stopping(job: Job, event: RunFailed | StartFailed, context: StepContext) -> Step:
    """Record the error; the stop finds no run and reaches its goal."""
    return Step(
        replace(job, cause=event.cause, run_ended=True),
        Outcome.CHANGED,
        history_event="error",
        history_message=_describe_failure(event.cause),
    )


def failed_after_run(job: Job, event: RunFailed | StartFailed, context: StepContext) -> Step:
    """Record an error that was reported after the run had ended."""
    return note(job, "error", f"Reported after the run had ended: {describe_cause(event.cause)}")
