"""Handlers of the life cycle for CREATE OR REPLACE JOB on a live job, and for rescaling its state to more partitions.

    1. The old version stops at a batch boundary, and the engine copies its checkpoint (`pending_version`).
    2. The new version starts on the copy, on trial. The job keeps the old version (`rollback_version`).
    3. The new version commits a batch: the old checkpoint is deleted. Or it fails before that: the job rolls back.

When a version on trial is itself replaced, its rollback version is kept until the next version starts. A rollback would
lose or duplicate rows if the new version's first batch was already in the sink without Spark's commit. The engine
therefore probes the sink first, and keeps the new version in that case.

Rescaling is an update to the same statement with another number of partitions. So whatever fails, and whenever the
engine dies, the state is complete: either as before or rescaled.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from jetsql.jobs.lifecycle.events import (
    Action,
    DiscardVersion,
    Event,
    Outcome,
    PrepareUpdate,
    ProbeTrial,
    Step,
    StopRun,
    TrialProbed,
    Update,
    UpdateFailed,
)
from jetsql.jobs.lifecycle.step_context import (
    StepContext,
    as_sentence,
    describe_cause,
    join_sentences,
    refuse,
    refuse_stale_plan,
    start,
    without_crashes,
)
from jetsql.jobs.model.job import Cause, Job, Status, StopGoal, Version
from jetsql.jobs.planning.compatibility import SHUFFLE_PARTITIONS

_ABANDONED: Final = "update abandoned"
_ROLLED_BACK: Final = "update rolled back"
ROLLED_BACK: Final = (_ABANDONED, _ROLLED_BACK)
_REQUESTED: Final = "update requested"


def rescale(job: Job, partitions: int, history_event: str, cause: Cause | None) -> Step:
    """Stop a job to restart it with its state repartitioned into this number of partitions.

    cause: why, when no statement requested it.
    """
    defaults = {**job.version.session_defaults, SHUFFLE_PARTITIONS: str(partitions)}
    rescaling = _request_update(job, replace(job.version, session_defaults=defaults))
    next_steps = f"The running batch is finished first; then the state is repartitioned into {partitions} partitions."
    message = join_sentences(as_sentence(cause.message) if cause is not None else "", next_steps)
    return _change(rescaling, history_event, message, (StopRun(rescaling),))


def is_rescaling(job: Job) -> bool:
    """Return whether the pending version only rescales the state."""
    return job.pending_version is not None and is_rescale(job.version, job.pending_version)


def is_rescale(old: Version, new: Version) -> bool:
    """Return whether the new version is the same statement with another number of partitions."""
    before, after = (each.session_defaults.get(SHUFFLE_PARTITIONS) for each in (old, new))
    same = (old.statement, old.plan, old.comment) == (new.statement, new.plan, new.comment)
    return same and before is not None and after is not None and before != after


def is_rescale_on_trial(job: Job) -> bool:
    """Return whether the version on trial only rescaled the state."""
    return job.rollback_version is not None and is_rescale(job.rollback_version, job.version)


def update_running(job: Job, event: Update, context: StepContext) -> Step:
    """Stop the run of the old version."""
    if not _is_based_on(job, event):
        return refuse_stale_plan(job)
    updating = _request_update(job, event.version)
    message = "CREATE OR REPLACE JOB: the running batch of the old version is finished first."
    return _change(updating, _REQUESTED, message, (StopRun(updating),))


def update_waiting(job: Job, event: Update, context: StepContext) -> Step:
    """Prepare the update of a job that waits to start."""
    if job.rollback_version is not None and not job.waiting_for_members:
        return update_refused(job, event, context)
    return _prepare(job, event, event.version, "CREATE OR REPLACE JOB while the job was waiting to start.")


def update_stopping(job: Job, event: Update, context: StepContext) -> Step:
    """Update a job that restarts because members have joined or left; refuse others."""
    if job.stop_goal is not StopGoal.RESTART or job.stop_cause is None:
        return update_refused(job, event, context)
    if not _is_based_on(job, event):
        return refuse_stale_plan(job)
    message = "CREATE OR REPLACE JOB while the job was being restarted."
    return _change(_request_update(job, event.version), _REQUESTED, message)


def update_suspended(job: Job, event: Update, context: StepContext) -> Step:
    """Prepare the update of a suspended job."""
    version = replace(event.version, was_suspended=True)
    return _prepare(job, event, version, "CREATE OR REPLACE JOB while the job was suspended.")


def _prepare(job: Job, event: Update, version: Version, message: str) -> Step:
    """Copy the state of a job that does not run, unless its first run still has to copy a snapshot."""
    if job.run == 0 and job.source_snapshot_id is not None:
        hint = "Wait until it runs, or use DROP JOB and create it with the new statement."
        return refuse(job, "is waiting for its first start from a snapshot", hint)
    if not _is_based_on(job, event):
        return refuse_stale_plan(job)
    updating = _request_update(job, version)
    return _change(updating, "update", message, (PrepareUpdate(updating),))


def _is_based_on(job: Job, event: Update) -> bool:
    """Return whether the job still has the plan with which the new version was compared."""
    return event.expected_plan == job.plan


def _request_update(job: Job, version: Version) -> Job:
    """Give the new version a checkpoint number that no abandoned version had: that one may still be being copied."""
    number = max(job.version.checkpoint, job.highest_checkpoint) + 1
    return replace(
        job,
        status=Status.COMPLETING,
        stop_goal=StopGoal.UPDATE,
        stop_cause=None,
        pending_version=replace(version, checkpoint=number),
        highest_checkpoint=number,
        has_files=True,
        waiting_for_members=False,
    )


def copy_state(job: Job, how: str, before: tuple[Action, ...]) -> Step:
    """Copy the state: the old version has stopped. how: the way in which it stopped, as a sentence."""
    rescaling = is_rescaling(job)
    message = f"{how} The state is copied {'and repartitioned' if rescaling else 'for the new version'}."
    return _change(job, "stopped" if rescaling else "old version stopped", message, (*before, PrepareUpdate(job)))


def update_refused(job: Job, event: Event, context: StepContext) -> Step:
    """Refuse an update while another one, or a stop, is in progress."""
    if is_rescaling(job):
        return refuse(job, "is being restarted with repartitioned state", "Try again when it runs.")
    return refuse(job, "is being stopped or replaced by another statement", "Try again when that statement is done.")


def start_trial(job: Job, context: StepContext) -> Step:
    """Start the pending version, and keep the current one as `rollback_version`."""
    pending = job.pending_version
    assert pending is not None, "only a job that is being updated has been prepared"
    # A job with a committed batch keeps its state if the old version fails after a rollback.
    first_trigger_done = job.version.first_trigger_done or job.batch is not None
    old = replace(job.version, was_suspended=pending.was_suspended, first_trigger_done=first_trigger_done)
    new = replace(pending, was_suspended=False)
    trial = replace(job, version=new, rollback_version=old, pending_version=None, cause=None, attempts=0)
    actions = discard_rollback_version(job)
    if is_rescaling(job):
        message = f"The state is repartitioned into {new.session_defaults[SHUFFLE_PARTITIONS]} partitions."
        return start(replace(trial, attempts=job.attempts), "restarted", message, context, actions)
    return start(
        without_crashes(trial), "updated", "The new version starts with a copy of the state.", context, actions
    )


def keep_old_version(job: Job, event: UpdateFailed, context: StepContext) -> Step:
    """Abandon an update whose preparation failed."""
    cause = describe_cause(event.cause)
    if is_rescaling(job):
        message = f"Repartitioning the state failed, and the state is unchanged: {cause}"
        return abandon_update(job, message, context)
    assert job.pending_version is not None, "only a job that is being updated can abandon the update"
    message = f"The update is abandoned and {_old_version_goes_on(job.pending_version)}: {cause}"
    return abandon_update(replace(job, cause=job.cause or event.cause), message, context)


def abandon_update(job: Job, message: str, context: StepContext, before: tuple[Action, ...] = ()) -> Step:
    """Discard the pending version, which has not started."""
    assert job.pending_version is not None, "only a job that is being updated can abandon the update"
    actions = (*before, *discard_pending_version(job))
    old = replace(job, pending_version=None)
    if job.pending_version.was_suspended:
        return _change(replace(old, status=Status.SUSPENDED, stop_goal=None), _ABANDONED, message, actions)
    return start(replace(old, attempts=0), "restarted" if is_rescaling(job) else _ABANDONED, message, context, actions)


def trial_failed(job: Job, cause: Cause) -> Step:
    """Probe the sink: the new version failed before its first commit."""
    waiting = replace(job, status=Status.NOT_RUNNING, cause=cause)
    subject = "The run with the repartitioned state" if is_rescale_on_trial(job) else "The new version"
    message = f"{subject} failed before it committed a batch: {describe_cause(cause)}"
    return _change(waiting, "new version failed", message, (ProbeTrial(waiting),))


def roll_back(job: Job, context: StepContext) -> Step:
    """Return to the old version: the sink has no batch of the new one."""
    previous = job.rollback_version
    assert previous is not None, "only a version on trial can be rolled back"
    version = replace(previous, was_suspended=False)
    old = replace(job, version=version, rollback_version=None, waiting_for_members=False)
    actions = (DiscardVersion(job, job.version),)
    cause = describe_cause(job.cause) if job.cause is not None else ""
    message = f"The new version failed, so the update is rolled back and {_old_version_goes_on(previous)}: {cause}"
    if is_rescale_on_trial(job):
        message = f"The run with the repartitioned state failed, so the job continues with the old state: {cause}"
    if previous.was_suspended:
        return _change(replace(old, status=Status.SUSPENDED, stop_goal=None), _ROLLED_BACK, message, actions)
    return start(old, "restarted" if is_rescale_on_trial(job) else _ROLLED_BACK, message, context, actions)


def _old_version_goes_on(version: Version) -> str:
    return "the job is suspended again" if version.was_suspended else "the old version continues"


def probe_failed(job: Job, event: TrialProbed) -> Step:
    """Suspend the job: the engine could not determine whether the sink has the batch."""
    cause = describe_cause(event.cause) if event.cause is not None else ""
    suspended = replace(job, status=Status.SUSPENDED, waiting_for_members=False)
    message = (
        f"It is unknown whether the first batch of the new version is in {job.plan.analysis.sink_names}: {cause}"
        " RESUME JOB starts the new version again."
    )
    return _change(suspended, "suspended by an error", message)


def commit_version(job: Job) -> Job:
    """Return the job without its rollback version: the new version has committed a batch."""
    return replace(job, rollback_version=None, version=replace(job.version, first_trigger_done=True))


def discard_rollback_version(job: Job) -> tuple[Action, ...]:
    """Return the actions that follow when the version on trial stays."""
    return () if job.rollback_version is None else (DiscardVersion(job, job.rollback_version),)


def discard_pending_version(job: Job) -> tuple[Action, ...]:
    """Return the actions that follow when an update is abandoned."""
    return () if job.pending_version is None else (DiscardVersion(job, job.pending_version),)


def _change(job: Job, history_event: str, message: str, actions: tuple[Action, ...] = ()) -> Step:
    return Step(job, Outcome.CHANGED, actions, history_event=history_event, history_message=message)
