"""Cells of the life cycle for CREATE OR REPLACE JOB on a live job, and for state that is spread over more partitions.

The old version stops at a batch boundary, its checkpoint is copied, and the new version is on trial with the copy until
it has committed a batch; then the old checkpoint goes. Until then the way back is open: the old version with its
checkpoint stands in the job, and starts again by itself when the new one fails. When a version on trial is itself
replaced, its own way back stays open until the next one starts. There is one case in which going back
would lose rows or double them: the new version's first batch is in the sink already, though Spark has not noted its
commit. So that is looked for first, and then the new version stays.

A job whose state is to be spread over more cores goes the same way: its new version is the same statement. So whatever
goes wrong, and whenever the engine dies, the state is whole: as it was, or spread.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from jetsql.jobs.lifecycle.events import (
    Action,
    DiscardVersion,
    Event,
    JudgeTrial,
    Outcome,
    PrepareUpdate,
    Step,
    StopRun,
    TrialJudged,
    Update,
    UpdateFailed,
)
from jetsql.jobs.lifecycle.step_context import StepContext, changed_meanwhile, joined, refused, sentence, start, why
from jetsql.jobs.model.job import Cause, Job, Status, StopGoal, Version
from jetsql.jobs.planning.compatibility import SHUFFLE_PARTITIONS

_GIVEN_UP: Final = "update given up"
_UNDONE: Final = "update undone"
UNDONE: Final = (_GIVEN_UP, _UNDONE)


def version_of(job: Job) -> Version:
    """What a job runs at present."""
    return Version(
        text=job.text,
        body=job.body,
        plan=job.plan,
        comment=job.comment,
        checkpoint=job.checkpoint,
        established=job.established,
        versions=job.versions,
        defaults=job.defaults,
    )


def with_version(job: Job, version: Version) -> Job:
    """The job as it runs another version."""
    return replace(
        job,
        text=version.text,
        body=version.body,
        plan=version.plan,
        comment=version.comment,
        checkpoint=version.checkpoint,
        established=version.established,
        versions=version.versions,
        defaults=version.defaults,
    )


def widen(job: Job, over: int, title: str, cause: Cause | None) -> Step:
    """Stop a job to start it again with its state spread over so many partitions. cause: why, when nobody has asked."""
    version = replace(version_of(job), defaults={**job.defaults, SHUFFLE_PARTITIONS: str(over)})
    widening = _updating(job, version)
    how = f"The running batch is finished first; then its state is spread over {over} partitions, on a copy."
    words = joined(sentence(cause.message) if cause is not None else "", how)
    return Step(widening, Outcome.MOVED, (StopRun(widening),), title=title, words=words)


def widens(job: Job) -> bool:
    """Whether the version that is being prepared is the same statement with its state spread over more partitions."""
    return job.proposed is not None and is_wider(version_of(job), job.proposed)


def is_wider(old: Version, new: Version) -> bool:
    """Whether a version is the same statement as another one, with its state spread over more partitions."""
    was, now = (each.defaults.get(SHUFFLE_PARTITIONS) for each in (old, new))
    same = (old.text, old.plan, old.comment) == (new.text, new.plan, new.comment)
    return same and was is not None and now is not None and was != now


def is_widened(job: Job) -> bool:
    """Whether the version on trial is the same statement with its state spread over more partitions."""
    return job.previous is not None and is_wider(job.previous, version_of(job))


def update_running(job: Job, event: Update, moment: StepContext) -> Step:
    if not _judged_by(job, event):
        return changed_meanwhile(job)
    updating = _updating(job, event.version)
    words = "CREATE OR REPLACE JOB: the running batch is finished first, under the old version."
    return Step(updating, Outcome.MOVED, (StopRun(updating),), title="update asked for", words=words)


def update_waiting(job: Job, event: Update, moment: StepContext) -> Step:
    if job.previous is not None and not job.waiting:
        return update_refused(job, event, moment)
    if _unseeded(job):
        return _begin_first(job)
    if not _judged_by(job, event):
        return changed_meanwhile(job)
    return _prepare(_updating(job, event.version), "CREATE OR REPLACE JOB while the job was waiting to start.")


def update_stopping(job: Job, event: Update, moment: StepContext) -> Step:
    """What stops by itself (members have come or gone) would start again: it does so with the new version."""
    if job.stop_goal is not StopGoal.RESTART or job.stop_cause is None:
        return update_refused(job, event, moment)
    if not _judged_by(job, event):
        return changed_meanwhile(job)
    words = "CREATE OR REPLACE JOB while the job was being restarted."
    return Step(_updating(job, event.version), Outcome.MOVED, title="update asked for", words=words)


def _unseeded(job: Job) -> bool:
    """Whether the state that the job is to begin with is not there yet: its first run copies it."""
    return job.run == 0 and job.origin is not None


def _begin_first(job: Job) -> Step:
    hint = "Wait until it runs; or DROP JOB, and create it with the other statement."
    return refused(job, "waits to start from a snapshot for the first time", hint)


def update_suspended(job: Job, event: Update, moment: StepContext) -> Step:
    if _unseeded(job):
        return _begin_first(job)
    if not _judged_by(job, event):
        return changed_meanwhile(job)
    version = replace(event.version, suspended=True)
    return _prepare(_updating(job, version), "CREATE OR REPLACE JOB while the job was suspended.")


def _judged_by(job: Job, event: Update) -> bool:
    """Whether the job is still what the new version was judged by: else nobody knows whether its state can go on."""
    return event.instead_of == job.plan


def _updating(job: Job, version: Version) -> Job:
    """The new version gets a checkpoint of its own, which is never that of a version that was given up: somebody may
    still be copying that one.
    """
    number = max(job.checkpoint, job.newest_checkpoint) + 1
    proposed = replace(version, checkpoint=number)
    return replace(
        job,
        status=Status.COMPLETING,
        stop_goal=StopGoal.UPDATE,
        stop_cause=None,
        proposed=proposed,
        newest_checkpoint=number,
        files=True,
        waiting=False,
    )


def _prepare(job: Job, words: str) -> Step:
    return Step(job, Outcome.MOVED, (PrepareUpdate(job),), title="update", words=words)


def copy_state(job: Job, how: str, before: tuple[Action, ...]) -> Step:
    """The old version has stopped. how: in which way, as a sentence."""
    wide = widens(job)
    words = f"{how} The state is copied{', to be spread' if wide else ' for the new version'}."
    title = "stopped" if wide else "old version stopped"
    return Step(job, Outcome.MOVED, (*before, PrepareUpdate(job)), title=title, words=words)


def update_refused(job: Job, event: Event, moment: StepContext) -> Step:
    doing = "restarted with its state spread over more cores" if widens(job) else "stopped or replaced"
    by = "" if widens(job) else " by another statement"
    return refused(job, f"is being {doing}{by}", "Try again when that is done.")


def try_version(job: Job, moment: StepContext) -> Step:
    """The proposed version becomes the job's, with the way back in `previous`."""
    assert job.proposed is not None, "only a job that is being updated has been prepared"
    # A state with a committed batch is worth keeping: should the old version fail after all, that is no failed CREATE.
    established = job.established or job.batch is not None
    previous = replace(version_of(job), suspended=job.proposed.suspended, established=established)
    tried = replace(with_version(job, job.proposed), previous=previous, proposed=None, cause=None, attempts=0)
    if widens(job):
        words = f"Its state is spread over {job.proposed.defaults[SHUFFLE_PARTITIONS]} partitions."
        return start(replace(tried, attempts=job.attempts), "restarted", words, moment, forget_previous(job))
    return start(tried, "updated", "The new version starts with a copy of the state.", moment, forget_previous(job))


def back_to_old(job: Job, event: UpdateFailed, moment: StepContext) -> Step:
    """Nothing of the new version has run."""
    if widens(job):
        words = f"Its state could not be spread over more partitions and stays as it is: {why(event.cause)}"
        return give_up(job, words, moment)
    words = f"The update is given up and the old version goes on: {why(event.cause)}"
    return give_up(replace(job, cause=job.cause or event.cause), words, moment)


def give_up(job: Job, words: str, moment: StepContext, before: tuple[Action, ...] = ()) -> Step:
    """Before the new version has started: what was prepared for it goes, the job is what it was."""
    assert job.proposed is not None, "only a job that is being updated can give it up"
    actions = (*before, *forget_proposed(job))
    old = replace(job, proposed=None)
    if job.proposed.suspended:
        suspended = replace(old, status=Status.SUSPENDED, stop_goal=None)
        return Step(suspended, Outcome.MOVED, actions, title=_GIVEN_UP, words=words)
    return start(replace(old, attempts=0), "restarted" if widens(job) else _GIVEN_UP, words, moment, actions)


def trial_failed(job: Job, cause: Cause) -> Step:
    """The new version ended with an error before its first commit."""
    waiting = replace(job, status=Status.NOT_RUNNING, cause=cause)
    what = "It failed with its spread state" if is_widened(job) else "The new version failed"
    words = f"{what} before it committed a batch: {why(cause)}"
    return Step(waiting, Outcome.MOVED, (JudgeTrial(waiting),), title="new version failed", words=words)


def undone(job: Job, moment: StepContext) -> Step:
    """Nothing of the new version is in the sink: the old one goes on where it stopped."""
    assert job.previous is not None, "only a version on trial can be undone"
    old = replace(with_version(job, job.previous), previous=None, waiting=False)
    actions = (DiscardVersion(job, version_of(job)),)
    because = why(job.cause) if job.cause is not None else ""
    words = f"The update is undone and the old version goes on where it stopped, because the new one failed: {because}"
    if is_widened(job):
        words = f"It goes on where it stopped, with its state as it was, because it failed with that spread: {because}"
    if job.previous.suspended:
        suspended = replace(old, status=Status.SUSPENDED, stop_goal=None)
        return Step(suspended, Outcome.MOVED, actions, title=_UNDONE, words=words)
    return start(old, "restarted" if is_widened(job) else _UNDONE, words, moment, actions)


def unjudged(job: Job, event: TrialJudged) -> Step:
    because = why(event.cause) if event.cause is not None else ""
    suspended = replace(job, status=Status.SUSPENDED, waiting=False)
    words = (
        f"Whether the first batch of the new version is in {job.plan.analysis.sink.table} can't be told: {because}"
        " RESUME JOB tries the new version again."
    )
    return Step(suspended, Outcome.MOVED, title="suspended by an error", words=words)


def adopted(job: Job) -> Job:
    """The new version has proved itself: there is no way back any more."""
    return replace(job, previous=None, established=True)


def forget_previous(job: Job) -> tuple[Action, ...]:
    """What is to be done when the version on trial is adopted."""
    return () if job.previous is None else (DiscardVersion(job, job.previous),)


def forget_proposed(job: Job) -> tuple[Action, ...]:
    """What is to be done when an update is given up."""
    return () if job.proposed is None else (DiscardVersion(job, job.proposed),)
