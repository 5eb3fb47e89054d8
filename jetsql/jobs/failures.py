"""Cells of the life cycle for errors: try again, suspend or fail.

Before the first trigger has gone through an error is final (design 2.2). What was replaced under a job (JOB_CHANGED,
SINK_CHANGED) always suspends it: its state is good, and a person has to decide.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from jetsql.jobs.engine import RunFailed
from jetsql.jobs.events import (
    Action,
    Outcome,
    RecoverSink,
    ScheduleRetry,
    StartFailed,
    Step,
    TrialJudged,
)
from jetsql.jobs.model import Cause, Job, Status
from jetsql.jobs.moves import (
    Moment,
    end_failed,
    noted,
    run_of,
)
from jetsql.jobs.updates import adopted, forget_previous, trial_failed, undone, unjudged

_CHANGED: Final = (
    "JETSQL.JOB_CHANGED",
    "JETSQL.SINK_CHANGED",
    "JETSQL.JOB_IN_USE",
    "JETSQL.FORMAT_NOT_READABLE",
)


def run_failed(job: Job, event: RunFailed, moment: Moment) -> Step:
    return _fail(job, event.cause, moment)


def start_failed(job: Job, event: StartFailed, moment: Moment) -> Step:
    return _fail(job, event.cause, moment)


def judged(job: Job, event: TrialJudged, moment: Moment) -> Step:
    """A new version failed before its first commit, and it is known now whether its rows are in the sink."""
    if job.previous is None or job.cause is None:
        return Step(job, Outcome.LATE)
    if event.held is None:
        return unjudged(job, event)
    if not event.held:
        return undone(job)
    failed = _fail(adopted(job), job.cause, moment)
    return replace(failed, actions=(*forget_previous(job), *failed.actions))


def _fail(job: Job, cause: Cause, moment: Moment) -> Step:
    if job.previous is not None:
        return trial_failed(job, cause)
    hurt = replace(job, cause=cause)
    if not job.established:
        return end_failed(hurt, moment, f"Failed before anything was committed: {cause.message}")
    if cause.condition in _CHANGED:
        return _suspend_for(hurt, cause.message, ())
    if cause.heals and job.attempts < job.plan.restart_attempts:
        return _wait_for_retry(hurt, cause, moment)
    spent = "Trying again can't help" if not cause.heals else f"{job.attempts} restarts did not help"
    words = f"{spent}: {cause.message}"
    if job.plan.suspend_on_failure:
        return _suspend_for(hurt, words, (RecoverSink(hurt),))
    return end_failed(hurt, moment, words)


def _suspend_for(job: Job, words: str, actions: tuple[Action, ...]) -> Step:
    suspended = replace(job, status=Status.SUSPENDED, stop_goal=None, attempts=0)
    return Step(suspended, Outcome.MOVED, actions, title="suspended by an error", words=words)


def _wait_for_retry(job: Job, cause: Cause, moment: Moment) -> Step:
    at = moment.retry_at(job.attempts)
    waiting = replace(job, status=Status.NOT_RUNNING, attempts=job.attempts + 1)
    words = f"Trying again in {at - moment.now:g} s: {cause.message}"
    return Step(waiting, Outcome.MOVED, (ScheduleRetry(run_of(job), at),), title="error", words=words)


def failed_while_stopping(job: Job, event: RunFailed | StartFailed, moment: Moment) -> Step:
    """The stop that is under way finds no run and ends as it was to; the error stays visible."""
    return Step(replace(job, cause=event.cause), Outcome.MOVED, title="error", words=event.cause.message)


def failed_after_run(job: Job, event: RunFailed | StartFailed, moment: Moment) -> Step:
    return noted(job, "error", f"Told after the run had ended: {event.cause.message}")
