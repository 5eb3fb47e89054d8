"""Steps of the life cycle: new versions of a job, and snapshots."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jetsql.jobs.lifecycle.events import (
    AlterOptions,
    Cancel,
    DiscardVersion,
    EngineStarted,
    EngineStopping,
    Event,
    Outcome,
    Restart,
    SnapshotFailed,
    SnapshotFinished,
    SnapshotWritten,
    StartFailed,
    Step,
    StopFailed,
    Stopped,
    Suspend,
    TrialProbed,
    Update,
    UpdateFailed,
    UpdatePrepared,
)
from jetsql.jobs.lifecycle.runtime import BatchCommitted, RunCompleted, RunFailed, RunIdle
from jetsql.jobs.lifecycle.step_context import StepContext
from jetsql.jobs.lifecycle.update import start_trial
from jetsql.jobs.model.job import Job, RunId, Status, StopGoal
from jetsql.jobs.model.job_options import Options
from tests.support.engines.jobs_harness import changed
from tests.support.models.lifecycle_cases import (
    AVAILABLE_NOW,
    EXPORT,
    FATAL_ERROR,
    NOW,
    RETRYABLE_ERROR,
    RUN,
    after,
    job,
    kinds,
    version,
)


def on_trial(status: Status = Status.RUNNING, **changes: object) -> Job:
    """Return a job whose version of checkpoint 1 has not committed a batch; the one before it has checkpoint 0."""
    return changed(start_trial(replace(job(), pending_version=version()), NOW).job, status=status, run=3, **changes)


def test_an_update_runs_a_copy_until_it_has_committed() -> None:
    asked = after(Update(version(), job().plan), job())
    assert kinds(asked) == ["StopRun"]
    copying = after(Stopped(RUN, True), asked.job)
    assert (copying.job.status, kinds(copying)) == (Status.COMPLETING, ["PrepareUpdate"])
    tried = after(UpdatePrepared(RUN), copying.job)
    assert (tried.job.version.checkpoint, tried.job.body, tried.job.version.first_trigger_done) == (
        1,
        version().body,
        False,
    )
    assert (
        tried.job.rollback_version is not None
        and tried.job.rollback_version.checkpoint == 0
        and tried.job.pending_version is None
    )
    idle = after(RunIdle(RUN, 999.0), on_trial())
    assert idle.job.rollback_version is not None and idle.job.version.first_trigger_done
    done = after(BatchCommitted(RUN, 8, 999.0, 1, 1.0), on_trial())
    assert done.job.rollback_version is None
    assert [action.version.checkpoint for action in done.actions if isinstance(action, DiscardVersion)] == [0]


def test_a_forced_stop_is_recovered_before_the_state_is_copied() -> None:
    forced = after(Stopped(RUN, False), job(Status.COMPLETING, StopGoal.UPDATE))
    assert kinds(forced) == ["RecoverSink", "PrepareUpdate"]


@pytest.mark.parametrize("event", [RunFailed(RUN, RETRYABLE_ERROR), StartFailed(RUN, FATAL_ERROR)])
def test_failed_version_is_rolled_back_unless_its_batch_is_written(event: Event) -> None:
    failed = after(event, on_trial())
    assert (failed.job.status, kinds(failed)) == (Status.NOT_RUNNING, ["ProbeTrial"])
    undone = after(TrialProbed(RUN, False), failed.job)
    assert (undone.job.version.checkpoint, undone.job.body, undone.job.rollback_version) == (0, job().body, None)
    assert kinds(undone) == ["DiscardVersion", "StartRun"]
    held = after(TrialProbed(RUN, True), failed.job)
    assert (held.job.version.checkpoint, held.job.rollback_version, held.job.version.first_trigger_done) == (
        1,
        None,
        True,
    )
    assert kinds(held)[0] == "DiscardVersion"
    unknown = after(TrialProbed(RUN, None, RETRYABLE_ERROR), failed.job)
    assert unknown.job.status is Status.SUSPENDED and unknown.job.rollback_version is not None
    assert "It is unknown whether" in unknown.history_message


def test_a_suspended_job_whose_update_fails_is_suspended_as_before() -> None:
    asked = after(Update(version(), job().plan), job(Status.SUSPENDED))
    assert kinds(asked) == ["PrepareUpdate"]
    given_up = after(UpdateFailed(RUN, RETRYABLE_ERROR), asked.job)
    assert (given_up.job.status, given_up.job.version.checkpoint, kinds(given_up)) == (
        Status.SUSPENDED,
        0,
        ["DiscardVersion"],
    )
    assert after(EngineStarted(), asked.job).job.status is Status.SUSPENDED
    assert after(EngineStopping(), asked.job).job.status is Status.SUSPENDED
    tried = after(UpdatePrepared(RUN), asked.job).job
    failed = after(StartFailed(RunId("1", tried.run), RETRYABLE_ERROR), tried).job
    assert after(TrialProbed(RunId("1", tried.run), False), failed).job.status is Status.SUSPENDED


def test_update_overtaken_by_another_statement_is_discarded() -> None:
    updating = job(Status.COMPLETING, StopGoal.UPDATE)
    suspending = after(Suspend(), updating).job
    for event in (Stopped(RUN, True), UpdatePrepared(RUN), UpdateFailed(RUN, RETRYABLE_ERROR)):
        taken = after(event, suspending)
        assert (taken.job.status, taken.job.pending_version) == (Status.SUSPENDED, None)
        assert kinds(taken) == ["DiscardVersion"]


def test_new_version_continues_after_restart_and_keeps_its_rollback() -> None:
    again = after(EngineStarted(), on_trial())
    assert again.job.status is Status.STARTING and again.job.rollback_version is not None
    assert after(Update(version(2), job().plan), on_trial(Status.NOT_RUNNING)).outcome is Outcome.REFUSED


def test_rollback_stays_until_the_replacing_version_starts() -> None:
    once_more = after(Update(version(), job().plan), on_trial())
    assert once_more.job.rollback_version is not None and kinds(once_more) == ["StopRun"]
    given_up = after(UpdateFailed(RUN, RETRYABLE_ERROR), after(Stopped(RUN, True), once_more.job).job)
    assert (given_up.job.version.checkpoint, given_up.job.rollback_version) == (1, once_more.job.rollback_version)
    tried = after(UpdatePrepared(RUN), after(Stopped(RUN, True), once_more.job).job)
    assert (tried.job.version.checkpoint, kinds(tried)) == (2, ["DiscardVersion", "StartRun"])
    assert tried.job.rollback_version is not None and tried.job.rollback_version.checkpoint == 1


def test_state_survives_two_failed_versions() -> None:
    """Check that the first of them is no new job whose error is final, because its state has batches."""
    stopped = after(Stopped(RUN, True), after(Update(version(), job().plan), on_trial(batch=7)).job)
    tried = after(UpdatePrepared(RUN), stopped.job)
    failed = after(StartFailed(RunId("1", 4), FATAL_ERROR), tried.job)
    undone = after(TrialProbed(RunId("1", 4), False), failed.job)
    assert (undone.job.version.checkpoint, undone.job.rollback_version) == (1, None)
    assert after(RunFailed(RunId("1", 5), FATAL_ERROR), undone.job).job.status is Status.SUSPENDED


CHANGED_PLAN = replace(job().plan, options=Options(restart_attempts=7))


@pytest.mark.parametrize(
    ("event", "status"),
    [
        (Update(version(), CHANGED_PLAN), Status.RUNNING),
        (Update(version(), CHANGED_PLAN), Status.SUSPENDED),
        (Update(version(), CHANGED_PLAN), Status.NOT_RUNNING),
        (AlterOptions(job().plan, CHANGED_PLAN), Status.SUSPENDED),
    ],
    ids=["update running", "update suspended", "update not running", "alter suspended"],
)
def test_decision_on_an_outdated_view_is_refused(event: Event, status: Status) -> None:
    """Refuse the update after another statement: its verdict is about another plan, and would undo the other change."""
    taken = after(event, job(status))
    assert taken.outcome is Outcome.REFUSED and "in the meantime" in taken.message


def test_numbers_of_discarded_checkpoints_are_not_reused() -> None:
    asked = after(Update(version(), job().plan), job(Status.SUSPENDED))
    given_up = after(UpdateFailed(RUN, RETRYABLE_ERROR), asked.job)
    again = after(Update(version(), job().plan), given_up.job)
    assert asked.job.pending_version is not None and again.job.pending_version is not None
    assert (asked.job.pending_version.checkpoint, again.job.pending_version.checkpoint) == (1, 2)


def test_snapshot_has_the_version_that_ran_when_copied() -> None:
    """Take the version at the time of the copy, because the job may have continued with another one."""
    copied = replace(version(), body=replace(version().body, text="the old one"))
    taken = after(SnapshotWritten(EXPORT, copied, 7, 1000), job())
    assert taken.snapshot is not None and taken.snapshot.statement == "the old one"


def test_nothing_starts_while_the_engine_stops() -> None:
    closing = StepContext(1000.0, closing=True)
    failed = after(RunFailed(RUN, RETRYABLE_ERROR), on_trial()).job
    assert after(TrialProbed(RUN, False), failed, closing) == Step(failed, Outcome.STALE)
    stuck = after(StopFailed(RUN, RETRYABLE_ERROR), job(Status.COMPLETING, StopGoal.SUSPEND), closing)
    assert (stuck.job.status, stuck.actions) == (Status.NOT_RUNNING, ())


def test_overtaken_update_leaves_no_files() -> None:
    updating = job(Status.COMPLETING, StopGoal.UPDATE, chosen=AVAILABLE_NOW)
    ended = after(RunCompleted(RUN), after(Suspend(), updating).job)
    assert (ended.job.pending_version, kinds(ended)) == (None, ["DiscardVersion"])
    assert after(EngineStopping(), after(Restart(), after(Suspend(), updating).job).job).job.pending_version is None


def test_snapshot_of_a_running_job_only_adds_history() -> None:
    before = job(batch=7)
    taken = after(SnapshotWritten(EXPORT, version(0), 7, 1000), before)
    assert taken.job == before and taken.snapshot is not None
    assert (taken.snapshot.name, taken.snapshot.batch, taken.snapshot.created) == ("s", 7, 1000.0)


def test_job_is_dropped_only_after_its_snapshot_is_complete() -> None:
    asked = after(Cancel(replace(EXPORT, then_cancel=True)), job())
    writing = after(Stopped(RUN, True), asked.job)
    assert (writing.job.status, kinds(writing)) == (Status.SUSPENDED_EXPORTING_SNAPSHOT, ["WriteSnapshot"])
    failed = after(SnapshotFailed(RUN, RETRYABLE_ERROR), writing.job)
    assert (failed.job.status, failed.job.cause, failed.job.snapshot_request) == (
        Status.SUSPENDED,
        RETRYABLE_ERROR,
        None,
    )
    assert after(EngineStarted(), writing.job).job.status is Status.SUSPENDED
    assert writing.job.snapshot_request is not None
    done = after(SnapshotFinished(RUN, SnapshotWritten(writing.job.snapshot_request, version(0), 7, 1000)), writing.job)
    assert (done.job.status, kinds(done)) == (Status.FAILED, ["RecoverSink", "DiscardFiles"])
    assert done.snapshot is not None and done.snapshot.name == "s"
    assert kinds(after(Cancel(EXPORT), job(Status.SUSPENDED))) == ["WriteSnapshot"]


def test_error_during_drop_with_snapshot_suspends_once() -> None:
    dropping = job(Status.COMPLETING, StopGoal.EXPORT)
    failing = after(RunFailed(RUN, FATAL_ERROR), dropping)
    assert failing.job.stop_goal is StopGoal.EXPORT
    assert kinds(after(Stopped(RUN, True), failing.job)) == ["WriteSnapshot"]
