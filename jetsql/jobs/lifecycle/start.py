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
    changed_meanwhile,
    clean,
    joined,
    kept,
    restart_words,
    runs_again,
    start,
)
from jetsql.jobs.lifecycle.steps import ended, keep
from jetsql.jobs.lifecycle.update import adopted, forget_previous, forget_proposed, is_widened
from jetsql.jobs.model.job import Cause, Job, Status

_AGAIN: Final = "Started again by user, to read what is new."


def submit(job: Job, event: Event, moment: StepContext) -> Step:
    return start(job, "submitted", joined(f"Delivery: {job.plan.guarantee_reason}.", beginning(job)), moment)


def beginning(job: Job) -> str:
    """Where a new job begins, when that is not at the beginning."""
    return "" if job.origin is None else f"It starts from the snapshot {job.plan.initial_snapshot}, batch {job.batch}."


def resume(job: Job, event: Event, moment: StepContext) -> Step:
    words = joined("Resumed by user.", restart_words(job))
    return start(replace(job, cause=None, attempts=0), "resumed", words, moment)


def start_at_once(job: Job, event: Event, moment: StepContext) -> Step:
    lacks = scaling.waiting_words(job, len(moment.members)) if job.waiting else ""
    if lacks:
        return kept(job, f"can't start yet. {lacks}")
    words = "Started at once, without waiting for the next retry."
    return start(replace(job, attempts=0), "started by user", words, moment)


def run_again(job: Job, event: Event, moment: StepContext) -> Step:
    if not runs_again(job):
        return ended(job, event, moment)
    return start(replace(job, cause=None, attempts=0), "run again", _AGAIN, moment)


def alter(job: Job, event: AlterOptions, moment: StepContext) -> Step:
    if event.instead_of != job.plan:
        return changed_meanwhile(job)
    changed = replace(job, plan=event.plan, quorum=scaling.quorum(event.plan, len(moment.members)))
    words = f"Options changed by user: {', '.join(event.changed)}."
    if event.resume:
        return start(replace(changed, cause=None, attempts=0), "options changed, resumed", words, moment)
    return Step(changed, Outcome.MOVED, title="options changed", words=words)


def retry(job: Job, event: Event, moment: StepContext) -> Step:
    if job.waiting:
        return keep(job, event, moment)
    words = f"Restart {job.attempts} of {job.plan.restart_attempts} after the error."
    if job.cause is not None and job.cause.away:
        words = "Trying again."
    return start(job, "retry", words, moment)


def restart_wanted(job: Job, event: RestartRequested, moment: StepContext) -> Step:
    return start(job, "restarted", event.message, moment)


def continue_run(job: Job, event: Event, moment: StepContext) -> Step:
    before: tuple[Action, ...] = (RecoverSink(job),) if job.run else ()
    words = "The engine has started; the job continues."
    return start(replace(job, attempts=0), "continued", words, moment, before)


def started(job: Job, event: Event, moment: StepContext) -> Step:
    running = replace(job, status=Status.RUNNING)
    return Step(running, Outcome.MOVED, title="running", words=f"Run {job.run} has started.")


def batch(job: Job, event: BatchCommitted, moment: StepContext) -> Step:
    words = f"Batch {event.batch} is committed."
    after = replace(job, batch=event.batch, attempts=0, cause=_after_progress(job))
    if job.previous is None:
        return _progress(after, job, words)
    taken = _progress(adopted(after), job, words)
    title, done = "updated for good", "The update is done, and the old version's checkpoint is deleted."
    if is_widened(job):
        title, done = "state spread", "Its state stays spread, and the copy from before that is deleted."
    return replace(taken, outcome=Outcome.MOVED, actions=forget_previous(job), title=title, words=f"{words} {done}")


def idle(job: Job, event: RunIdle, moment: StepContext) -> Step:
    return _progress(job, job, "There was nothing to read yet.")


def flowing(job: Job, event: RunProgressed, moment: StepContext) -> Step:
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
    after = replace(job, status=running, established=True)
    if not before.established:
        return Step(after, Outcome.MOVED, title="first trigger", words=words)
    if before.cause is not None and after.cause is None:
        return Step(after, Outcome.MOVED, title="recovered", words=words)
    if running is not before.status:
        return Step(after, Outcome.MOVED, title="running", words=words)
    return Step(after, Outcome.KEPT)


def complete(job: Job, event: RunCompleted, moment: StepContext) -> Step:
    ended = replace(adopted(job), status=Status.COMPLETED, attempts=0, cause=None, ended=moment.now)
    done = replace(ended, proposed=None, stop_goal=None, stop_cause=None, waiting=False)
    forgotten = (*forget_previous(job), *forget_proposed(job))
    actions: tuple[Action, ...] = forgotten if runs_again(done) else (DiscardFiles(done),)
    return Step(done, Outcome.MOVED, actions, title="completed", words=event.message or "Everything is committed.")


def clean_up(job: Job, event: Event, moment: StepContext) -> Step:
    """An ended job whose files outlived an engine."""
    if runs_again(job) or not job.files:
        return keep(job, event, moment)
    actions = (DiscardFiles(job),) if job.status is Status.COMPLETED else clean(job)
    return Step(job, Outcome.KEPT, actions)


def files_discarded(job: Job, event: Event, moment: StepContext) -> Step:
    cleaned = replace(job, files=False)
    return Step(cleaned, Outcome.MOVED, title="cleaned up", words="Checkpoint and staged rows are deleted.")


def superseded(job: Job, event: Superseded, moment: StepContext) -> Step:
    """That it can't run again is stored before its state is touched: half a checkpoint would read everything anew."""
    if not runs_again(job):
        return keep(job, event, moment)
    expired = replace(job, expired=True)
    words = f"{event.why} Its state is deleted, so it can't run again."
    return Step(expired, Outcome.MOVED, (DiscardFiles(expired),), title="expired", words=words)
