"""The table of the life cycle, with every step. `test_lifecycle_model` compares the whole with a small model."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from jetsql.jobs.lifecycle.engine_api import (
    BatchCommitted,
    EngineEndangered,
    ResourceNotice,
    RestartRequested,
    RunBlocked,
    RunCompleted,
    RunFailed,
    RunIdle,
    RunProgressed,
    SinkNotice,
)
from jetsql.jobs.lifecycle.events import (
    AlterOptions,
    Cancel,
    CleanupFailed,
    DiscardVersion,
    EngineCrashed,
    EngineStarted,
    EngineStopping,
    Event,
    FilesDiscarded,
    MembersChanged,
    MembersSettled,
    Outcome,
    Restart,
    Resume,
    RetryDue,
    RunEvent,
    ScheduleRetry,
    SnapshotFailed,
    SnapshotFinished,
    SnapshotWritten,
    Started,
    StartFailed,
    StartRun,
    Step,
    StopFailed,
    Stopped,
    StopRun,
    Submit,
    Superseded,
    Suspend,
    TakeSnapshot,
    TrialProbed,
    Update,
    UpdateFailed,
    UpdatePrepared,
)
from jetsql.jobs.lifecycle.step_context import StepContext
from jetsql.jobs.lifecycle.transitions import TABLE, apply_event
from jetsql.jobs.lifecycle.update import start_trial
from jetsql.jobs.model.body_analysis import Analysis
from jetsql.jobs.model.job import Cause, Job, RunId, SnapshotRequest, Status, StopGoal, Version
from jetsql.jobs.planning.options import parse_options
from jetsql.jobs.planning.planner import make_plan
from tests.support.engines.in_memory_engine import analysis
from tests.support.engines.jobs_world import body, changed

NOW = StepContext(1000.0)
RUN = RunId("1", 3)
HURT = Cause("the disk is full", "DISK", retryable=True)
HOPELESS = Cause("1/0", "DIVIDE_BY_ZERO", retryable=False)


ENDANGERS = Cause("The job was suspended to protect the engine", "JETSQL.ENGINE_ENDANGERED", retryable=False)
EXPORT = SnapshotRequest("9", "s")


def version(checkpoint: int = 1) -> Version:
    made = body(query="SELECT * FROM STREAM src WHERE a > 1")
    return Version("", made, make_plan(analysis(), parse_options(()), made.verb, None), checkpoint=checkpoint)


def job(
    status: Status = Status.RUNNING,
    goal: StopGoal | None = None,
    *,
    of: Analysis | None = None,
    chosen: dict[str, str] | None = None,
    **changes: object,
) -> Job:
    made = body()
    plan = make_plan(of or analysis(), parse_options((), before=chosen or {}), made.verb, None)
    begun = Version("", made, plan, first_trigger_done=True)
    plain = Job("1", "j", begun, 0.0, status=status, stop_goal=goal, run=3, has_files=True)
    if goal is StopGoal.EXPORT or status is Status.SUSPENDED_EXPORTING_SNAPSHOT:
        plain = replace(plain, snapshot_request=replace(EXPORT, then_cancel=goal is StopGoal.EXPORT))
    if goal is StopGoal.UPDATE:
        plain = replace(plain, pending_version=version())
    return changed(plain, **changes)


def after(event: Event, before: Job, context: StepContext = NOW) -> Step:
    return apply_event(before, event, context)


def kinds(taken: Step) -> list[str]:
    return [type(action).__name__ for action in taken.actions]


EVENTS: dict[type, Event] = {
    Submit: Submit(),
    Suspend: Suspend(),
    Resume: Resume(),
    Restart: Restart(),
    Cancel: Cancel(),
    AlterOptions: AlterOptions(job().plan, job().plan, ("restartAttempts",)),
    TakeSnapshot: TakeSnapshot(EXPORT),
    Update: Update(version(), job().plan),
    SnapshotWritten: SnapshotWritten(EXPORT, version(0), 7, 1000),
    SnapshotFinished: SnapshotFinished(RUN, SnapshotWritten(EXPORT, version(0), 7, 1000)),
    SnapshotFailed: SnapshotFailed(RUN, HURT),
    UpdatePrepared: UpdatePrepared(RUN),
    UpdateFailed: UpdateFailed(RUN, HURT),
    TrialProbed: TrialProbed(RUN, False),
    Started: Started(RUN),
    StartFailed: StartFailed(RUN, HURT),
    Stopped: Stopped(RUN, True),
    StopFailed: StopFailed(RUN, HURT),
    BatchCommitted: BatchCommitted(RUN, 7, 999.0, 10, 5.0),
    RunIdle: RunIdle(RUN, 999.0),
    RunProgressed: RunProgressed(RUN, 10, 5.0),
    RunBlocked: RunBlocked(RUN, HURT),
    RunCompleted: RunCompleted(RUN),
    RunFailed: RunFailed(RUN, HURT),
    RestartRequested: RestartRequested(RUN, "the dimension was overwritten"),
    SinkNotice: SinkNotice(RUN, "staged files were gone"),
    ResourceNotice: ResourceNotice(RUN, "1,024 files are open"),
    EngineEndangered: EngineEndangered(RUN, ENDANGERS),
    FilesDiscarded: FilesDiscarded(RUN),
    CleanupFailed: CleanupFailed(RUN, "Deleting", HURT),
    RetryDue: RetryDue(RUN),
    EngineStarted: EngineStarted(),
    EngineCrashed: EngineCrashed("The heap was full.", True),
    EngineStopping: EngineStopping(),
    MembersChanged: MembersChanged(),
    MembersSettled: MembersSettled(),
    Superseded: Superseded(),
}

N, S, R, X, P, E, F, C = "NSRXPEFC"
LETTERS = {
    Status.NOT_RUNNING: N,
    Status.STARTING: S,
    Status.RUNNING: R,
    Status.COMPLETING: X,
    Status.SUSPENDED: P,
    Status.SUSPENDED_EXPORTING_SNAPSHOT: E,
    Status.FAILED: F,
    Status.COMPLETED: C,
}

# For each event where it takes a job from N S R X(suspend) X(restart) X(cancel) X(export) X(update) P E F C, in this
# order. A letter: the status afterwards, `.` stays, `-` refused, `~` late.
CELLS = {
    Submit: "S - - - - - - - - - - -",
    Suspend: "P X X . X - - X . . - -",
    Resume: "S . . X . - - . S - - -",
    Restart: "S . X X . - - . - - - -",
    Cancel: "F X X X X . . X F - . .",
    AlterOptions: "- - - - - - - - P - - -",
    TakeSnapshot: ". . . . . . . . E - - .",
    Update: "X X X - - - - - X - - -",
    SnapshotWritten: ". . . . . . . . . . . .",
    SnapshotFinished: "~ ~ ~ ~ ~ ~ ~ ~ ~ P ~ ~",
    SnapshotFailed: "~ ~ ~ ~ ~ ~ ~ ~ ~ P ~ ~",
    UpdatePrepared: "~ ~ ~ P S F E S ~ ~ ~ ~",
    UpdateFailed: "~ ~ ~ P S F E S ~ ~ ~ ~",
    TrialProbed: "~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~",
    Started: ". R . . . . . . ~ ~ ~ ~",
    StartFailed: ". N N X X X X X ~ ~ ~ ~",
    Stopped: ". ~ ~ P S F E X ~ ~ ~ ~",
    StopFailed: ". ~ ~ R R R R R ~ ~ ~ ~",
    BatchCommitted: ". R . . . . . . . . ~ ~",
    RunIdle: ". R . . . . . . . . ~ ~",
    RunProgressed: ". R . . . . . . . . ~ ~",
    RunBlocked: "~ S R . . . . . ~ ~ ~ ~",
    RunCompleted: "C C C C C . . . ~ ~ ~ ~",
    RunFailed: ". N N X X X X X ~ ~ ~ ~",
    RestartRequested: ". S S . . . . . ~ ~ ~ ~",
    SinkNotice: ". . . . . . . . . . . .",
    ResourceNotice: "~ . . . . . . . ~ ~ ~ ~",
    EngineEndangered: ". X X X X . . X ~ ~ ~ ~",
    FilesDiscarded: "~ ~ ~ ~ ~ ~ ~ ~ ~ ~ F C",
    CleanupFailed: ". . . . . . . . . . . .",
    RetryDue: "S ~ ~ ~ ~ ~ ~ ~ ~ ~ ~ ~",
    EngineStarted: "S S S P S F E S . P . .",
    EngineCrashed: ". S R X X X X X . E . .",
    EngineStopping: ". N N . N . . N . . . .",
    MembersChanged: ". . . . . . . . . . . .",
    MembersSettled: ". X X . . . . . . . . .",
    Superseded: ". . . . . . . . . . . .",
}

STATES = [
    (Status.NOT_RUNNING, None),
    (Status.STARTING, None),
    (Status.RUNNING, None),
    (Status.COMPLETING, StopGoal.SUSPEND),
    (Status.COMPLETING, StopGoal.RESTART),
    (Status.COMPLETING, StopGoal.CANCEL),
    (Status.COMPLETING, StopGoal.EXPORT),
    (Status.COMPLETING, StopGoal.UPDATE),
    (Status.SUSPENDED, None),
    (Status.SUSPENDED_EXPORTING_SNAPSHOT, None),
    (Status.FAILED, None),
    (Status.COMPLETED, None),
]


def shown(taken: Step) -> str:
    letters = {
        Outcome.CHANGED: LETTERS[taken.job.status],
        Outcome.UNCHANGED: ".",
        Outcome.REFUSED: "-",
        Outcome.STALE: "~",
    }
    return letters[taken.outcome]


@pytest.mark.parametrize("kind", CELLS, ids=lambda kind: kind.__name__)
def test_every_cell_is_decided(kind: type) -> None:
    row = [shown(after(EVENTS[kind], job(status, goal))) for status, goal in STATES]
    assert " ".join(row) == CELLS[kind]


def test_the_table_knows_every_event_and_every_status() -> None:
    assert set(TABLE) == set(get_args(Event)) == set(CELLS) == set(EVENTS)
    for row in TABLE.values():
        assert set(row) == set(Status)


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("kind", get_args(RunEvent), ids=lambda kind: kind.__name__)
def test_events_of_older_runs_are_late_everywhere(kind: type, status: Status) -> None:
    before = job(status, run=4)
    assert after(EVENTS[kind], before) == Step(before, Outcome.STALE)


@pytest.mark.parametrize("kind", CELLS, ids=lambda kind: kind.__name__)
def test_what_is_refused_says_why_and_what_moves_is_in_the_history(kind: type) -> None:
    for status, goal in STATES:
        taken = after(EVENTS[kind], job(status, goal))
        if taken.outcome is Outcome.REFUSED:
            assert taken.message and not taken.actions and not taken.history_event
        if taken.outcome is Outcome.CHANGED:
            assert taken.history_event and taken.history_message
        if taken.outcome is Outcome.STALE:
            assert taken.job == job(status, goal) and not taken.actions


def test_an_error_before_the_first_trigger_is_final() -> None:
    fresh = job(Status.STARTING, first_trigger_done=False)
    for event in (StartFailed(RUN, HURT), RunFailed(RUN, HURT)):
        taken = after(event, fresh)
        assert taken.job.status is Status.FAILED
        assert (taken.job.cause, taken.job.end_time) == (HURT, 1000.0)
        assert kinds(taken) == ["RecoverSink", "DiscardFiles"]


@pytest.mark.parametrize(
    ("attempts", "delay"), [(0, 1.0), (1, 2.0), (2, 4.0), (5, 32.0), (6, 60.0), (9, 60.0), (2000, 60.0)]
)
def test_retries_wait_twice_as_long_each_time_up_to_a_minute(attempts: int, delay: float) -> None:
    before = job(chosen={"restartAttempts": "5000"}, attempts=attempts)
    taken = after(RunFailed(RUN, HURT), before)
    assert taken.job.attempts == attempts + 1
    assert taken.actions == (ScheduleRetry(RUN, 1000.0 + delay),)


def test_progress_forgives_attempts_and_is_told_once() -> None:
    taken = after(BatchCommitted(RUN, 8, 999.0, 1, 1.0), job(attempts=2, cause=HURT))
    assert (taken.job.attempts, taken.job.cause, taken.history_event) == (0, None, "recovered")
    assert after(BatchCommitted(RUN, 9, 999.0, 1, 1.0), taken.job).history_event == ""
    assert after(RunIdle(RUN, 999.0), job(attempts=2, cause=HURT)).job.attempts == 2
    flowing = after(RunProgressed(RUN, 10, 5.0), job(attempts=2, cause=HURT))
    assert (flowing.job.attempts, flowing.job.cause, flowing.history_event) == (2, None, "recovered")
    assert after(RunProgressed(RUN, 0, 0.0), job(attempts=2, cause=HURT)).job.cause == HURT


def test_a_run_that_is_hindered_says_why_once_and_goes_on() -> None:
    waiting = after(RunBlocked(RUN, HURT), job())
    assert (waiting.job.status, waiting.job.cause, waiting.history_event) == (Status.RUNNING, HURT, "blocked")
    assert after(RunBlocked(RUN, HURT), waiting.job).history_event == ""
    over = after(RunBlocked(RUN, None), waiting.job)
    assert (over.job.cause, over.history_event) == (None, "recovered")
    assert after(RunBlocked(RUN, None), over.job).history_event == ""


def test_a_system_that_is_away_is_waited_for_without_counting() -> None:
    away = Cause("the broker can't be reached", external_outage=True)
    taken = after(RunFailed(RUN, away), job(attempts=3))
    assert (taken.job.status, taken.job.attempts) == (Status.NOT_RUNNING, 3)
    assert taken.actions == (ScheduleRetry(RUN, 1008.0),) and "does not count as a restart" in taken.history_message
    assert "Restart" not in after(RetryDue(RUN), taken.job).history_message
    assert after(RunFailed(RUN, away), job(first_trigger_done=False)).job.status is Status.NOT_RUNNING
    none_allowed = job(chosen={"restartAttempts": "0"})
    assert after(RunFailed(RUN, away), none_allowed).job.status is Status.SUSPENDED


def test_progress_told_late_counts_and_hides_no_error() -> None:
    suspended = job(Status.SUSPENDED, first_trigger_done=False, cause=HURT)
    taken = after(BatchCommitted(RUN, 8, 999.0, 1, 1.0), suspended)
    assert (taken.job.status, taken.job.version.first_trigger_done, taken.job.batch) == (Status.SUSPENDED, True, 8)
    assert taken.job.cause == HURT and taken.history_event == "first trigger"


@pytest.mark.parametrize(("chosen", "status"), [({}, Status.SUSPENDED), ({"suspendOnFailure": "false"}, Status.FAILED)])
def test_when_restarts_are_used_up_or_no_use(chosen: dict[str, str], status: Status) -> None:
    assert after(RunFailed(RUN, HURT), job(chosen=chosen, attempts=3)).job.status is status
    assert after(RunFailed(RUN, HOPELESS), job(chosen=chosen)).job.status is status


@pytest.mark.parametrize(
    "condition",
    [
        "JETSQL.JOB_CHANGED",
        "JETSQL.SINK_CHANGED",
        "JETSQL.SOURCE_CHANGED",
        "JETSQL.CHECKPOINT_DAMAGED",
        "JETSQL.JOB_IN_USE",
        "JETSQL.FORMAT_NOT_READABLE",
    ],
)
def test_what_was_replaced_under_a_job_suspends_it_always(condition: str) -> None:
    changed = Cause("the view is another one", condition, retryable=False)
    taken = after(StartFailed(RUN, changed), job(Status.STARTING, chosen={"suspendOnFailure": "false"}))
    assert (taken.job.status, taken.job.cause) == (Status.SUSPENDED, changed)
    fresh = job(Status.STARTING, first_trigger_done=False)
    assert after(StartFailed(RUN, changed), fresh).job.status is Status.FAILED


def test_an_error_while_suspending_stays_visible() -> None:
    taken = after(RunFailed(RUN, HURT), job(Status.COMPLETING, StopGoal.SUSPEND))
    done = after(Stopped(RUN, True), taken.job)
    assert (done.job.status, done.job.cause) == (Status.SUSPENDED, HURT)


def test_a_forced_stop_finishes_what_is_half_in_the_sink() -> None:
    stopping = job(Status.COMPLETING, StopGoal.SUSPEND)
    assert kinds(after(Stopped(RUN, True), stopping)) == []
    forced = after(Stopped(RUN, False), stopping)
    assert kinds(forced) == ["RecoverSink"]
    assert "by force" in forced.history_message


def test_restart_and_resume_make_the_next_run() -> None:
    again = after(Stopped(RUN, True), job(Status.COMPLETING, StopGoal.RESTART))
    assert (again.job.run, again.job.stop_goal) == (4, None)
    assert again.actions == (StartRun(again.job),)
    resumed = after(Resume(), job(Status.SUSPENDED, cause=HURT, attempts=2))
    assert (resumed.job.run, resumed.job.cause, resumed.job.attempts) == (4, None, 0)


def test_a_dropped_job_ends_as_failed_and_loses_its_files() -> None:
    for before, event in [
        (job(Status.COMPLETING, StopGoal.CANCEL), Stopped(RUN, True)),
        (job(Status.SUSPENDED), Cancel()),
        (job(Status.NOT_RUNNING), Cancel()),
        (job(Status.COMPLETING, StopGoal.CANCEL), EngineStarted()),
    ]:
        taken = after(event, before)
        assert taken.job.status is Status.FAILED
        assert taken.job.cause is not None and taken.job.cause.message == "cancelled by user"
        assert kinds(taken) == ["RecoverSink", "DiscardFiles"]
    assert not after(FilesDiscarded(RUN), taken.job).job.has_files


AVAILABLE_NOW = {"trigger": "availableNow"}


def test_jobs_that_read_what_is_there_run_again() -> None:
    done = after(RunCompleted(RUN, "2 rows wait for the watermark"), job(chosen=AVAILABLE_NOW))
    assert (done.job.status, done.history_message, done.actions) == (
        Status.COMPLETED,
        "2 rows wait for the watermark",
        (),
    )
    for event in (Resume(), Restart()):
        again = after(event, done.job)
        assert (again.job.status, again.job.run, again.job.end_time) == (Status.STARTING, 4, None)
    assert kinds(after(Cancel(), done.job)) == ["DiscardFiles"]
    assert kinds(after(Superseded(), done.job)) == ["DiscardFiles"]
    assert after(Resume(), replace(done.job, has_files=False)).outcome is Outcome.REFUSED
    assert after(EngineStarted(), done.job).actions == ()


def test_batch_jobs_run_once_and_start_over_when_resumed() -> None:
    batch = job(of=analysis(streaming=False, modes={}))
    done = after(RunCompleted(RUN), batch)
    assert kinds(done) == ["DiscardFiles"]
    assert after(Resume(), done.job).outcome is Outcome.REFUSED
    stopped = after(Stopped(RUN, True), replace(batch, status=Status.COMPLETING, stop_goal=StopGoal.SUSPEND))
    assert "starts from the beginning" in stopped.history_message
    assert "starts from the beginning" in after(Suspend(), stopped.job).message


def test_an_end_during_a_stop_stands_unless_the_goal_goes_beyond_it() -> None:
    def end(goal: StopGoal, **how: object) -> Step:
        return after(RunCompleted(RUN), job(Status.COMPLETING, goal, **how))  # type: ignore[arg-type]

    assert end(StopGoal.SUSPEND, chosen=AVAILABLE_NOW).job.status is Status.COMPLETED
    assert end(StopGoal.RESTART, chosen=AVAILABLE_NOW).job.status is Status.COMPLETING
    assert end(StopGoal.RESTART, of=analysis(streaming=False)).job.status is Status.COMPLETED
    assert end(StopGoal.CANCEL).job.status is Status.COMPLETING


def test_without_guarantee_suspend_and_resume_say_that_every_start_is_from_scratch() -> None:
    none = {"processingGuarantee": "none"}
    assert (
        "from scratch"
        in after(Stopped(RUN, True), job(Status.COMPLETING, StopGoal.SUSPEND, chosen=none)).history_message
    )
    assert "from scratch" in after(Resume(), job(Status.SUSPENDED, chosen=none)).history_message


def test_the_engine_comes_back() -> None:
    taken = after(EngineStarted(), job(Status.RUNNING, attempts=2))
    assert kinds(taken) == ["RecoverSink", "StartRun"]
    assert (taken.job.run, taken.job.attempts) == (4, 0)
    assert kinds(after(EngineStarted(), job(Status.NOT_RUNNING, run=0))) == ["StartRun"]
    assert kinds(after(EngineStarted(), job(Status.FAILED))) == ["RecoverSink", "DiscardFiles"]
    assert kinds(after(EngineStarted(), job(Status.FAILED, has_files=False))) == []


def test_the_engine_goes() -> None:
    assert kinds(after(EngineStopping(), job(Status.RUNNING))) == ["StopRun"]
    assert kinds(after(EngineStopping(), job(Status.COMPLETING, StopGoal.RESTART))) == []
    assert "continues with the engine's next start" in after(EngineStopping(), job(Status.RUNNING)).history_message
    forced = after(Stopped(RUN, False), job(Status.NOT_RUNNING))
    assert (forced.outcome, forced.history_event) == (Outcome.UNCHANGED, "stopped")


def on_trial(status: Status = Status.RUNNING, **changes: object) -> Job:
    """A job whose version of checkpoint 1 has not committed a batch; the one before it has checkpoint 0."""
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


@pytest.mark.parametrize("event", [RunFailed(RUN, HURT), StartFailed(RUN, HOPELESS)])
def test_a_new_version_that_fails_is_undone_unless_its_batch_is_in_the_sink(event: Event) -> None:
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
    unknown = after(TrialProbed(RUN, None, HURT), failed.job)
    assert unknown.job.status is Status.SUSPENDED and unknown.job.rollback_version is not None
    assert "It is unknown whether" in unknown.history_message


def test_a_suspended_job_whose_update_fails_is_suspended_as_before() -> None:
    asked = after(Update(version(), job().plan), job(Status.SUSPENDED))
    assert kinds(asked) == ["PrepareUpdate"]
    given_up = after(UpdateFailed(RUN, HURT), asked.job)
    assert (given_up.job.status, given_up.job.version.checkpoint, kinds(given_up)) == (
        Status.SUSPENDED,
        0,
        ["DiscardVersion"],
    )
    assert after(EngineStarted(), asked.job).job.status is Status.SUSPENDED
    assert after(EngineStopping(), asked.job).job.status is Status.SUSPENDED
    tried = after(UpdatePrepared(RUN), asked.job).job
    failed = after(StartFailed(RunId("1", tried.run), HURT), tried).job
    assert after(TrialProbed(RunId("1", tried.run), False), failed).job.status is Status.SUSPENDED


def test_an_update_that_another_statement_overtakes_is_given_up() -> None:
    updating = job(Status.COMPLETING, StopGoal.UPDATE)
    suspending = after(Suspend(), updating).job
    for event in (Stopped(RUN, True), UpdatePrepared(RUN), UpdateFailed(RUN, HURT)):
        taken = after(event, suspending)
        assert (taken.job.status, taken.job.pending_version) == (Status.SUSPENDED, None)
        assert kinds(taken) == ["DiscardVersion"]


def test_a_new_version_goes_on_with_the_next_engine_and_keeps_the_way_back() -> None:
    again = after(EngineStarted(), on_trial())
    assert again.job.status is Status.STARTING and again.job.rollback_version is not None
    assert after(Update(version(2), job().plan), on_trial(Status.NOT_RUNNING)).outcome is Outcome.REFUSED


def test_when_a_version_on_trial_is_replaced_its_way_back_stays_until_the_next_one_starts() -> None:
    once_more = after(Update(version(), job().plan), on_trial())
    assert once_more.job.rollback_version is not None and kinds(once_more) == ["StopRun"]
    given_up = after(UpdateFailed(RUN, HURT), after(Stopped(RUN, True), once_more.job).job)
    assert (given_up.job.version.checkpoint, given_up.job.rollback_version) == (1, once_more.job.rollback_version)
    tried = after(UpdatePrepared(RUN), after(Stopped(RUN, True), once_more.job).job)
    assert (tried.job.version.checkpoint, kinds(tried)) == (2, ["DiscardVersion", "StartRun"])
    assert tried.job.rollback_version is not None and tried.job.rollback_version.checkpoint == 1


def test_a_state_outlives_two_bad_versions_in_a_row() -> None:
    """The first of them is no new job whose error is final: there are batches in its state."""
    stopped = after(Stopped(RUN, True), after(Update(version(), job().plan), on_trial(batch=7)).job)
    tried = after(UpdatePrepared(RUN), stopped.job)
    failed = after(StartFailed(RunId("1", 4), HOPELESS), tried.job)
    undone = after(TrialProbed(RunId("1", 4), False), failed.job)
    assert (undone.job.version.checkpoint, undone.job.rollback_version) == (1, None)
    assert after(RunFailed(RunId("1", 5), HOPELESS), undone.job).job.status is Status.SUSPENDED


def test_what_was_decided_by_an_older_look_at_a_job_is_refused() -> None:
    """Another statement came between: the verdict is about another plan, and what it changed would be undone."""
    changed = replace(job().plan, restart_attempts=7)
    for event, status in [
        (Update(version(), changed), Status.RUNNING),
        (Update(version(), changed), Status.SUSPENDED),
        (Update(version(), changed), Status.NOT_RUNNING),
        (AlterOptions(job().plan, changed), Status.SUSPENDED),
    ]:
        taken = after(event, job(status))
        assert taken.outcome is Outcome.REFUSED and "in the meantime" in taken.message


def test_no_checkpoint_gets_the_number_of_one_that_was_given_up() -> None:
    asked = after(Update(version(), job().plan), job(Status.SUSPENDED))
    given_up = after(UpdateFailed(RUN, HURT), asked.job)
    again = after(Update(version(), job().plan), given_up.job)
    assert asked.job.pending_version is not None and again.job.pending_version is not None
    assert (asked.job.pending_version.checkpoint, again.job.pending_version.checkpoint) == (1, 2)


def test_a_snapshot_is_of_what_ran_when_it_was_copied() -> None:
    """The job may have gone on to another version while it was."""
    copied = replace(version(), body=replace(version().body, text="the old one"))
    taken = after(SnapshotWritten(EXPORT, copied, 7, 1000), job())
    assert taken.snapshot is not None and taken.snapshot.statement == "the old one"


def test_nothing_starts_while_the_engine_is_going() -> None:
    closing = StepContext(1000.0, closing=True)
    failed = after(RunFailed(RUN, HURT), on_trial()).job
    assert after(TrialProbed(RUN, False), failed, closing) == Step(failed, Outcome.STALE)
    stuck = after(StopFailed(RUN, HURT), job(Status.COMPLETING, StopGoal.SUSPEND), closing)
    assert (stuck.job.status, stuck.actions) == (Status.NOT_RUNNING, ())


def test_an_update_that_was_overtaken_leaves_nothing_behind() -> None:
    updating = job(Status.COMPLETING, StopGoal.UPDATE, chosen=AVAILABLE_NOW)
    ended = after(RunCompleted(RUN), after(Suspend(), updating).job)
    assert (ended.job.pending_version, kinds(ended)) == (None, ["DiscardVersion"])
    assert after(EngineStopping(), after(Restart(), after(Suspend(), updating).job).job).job.pending_version is None


def test_a_snapshot_of_a_running_job_changes_nothing_but_its_history() -> None:
    before = job(batch=7)
    taken = after(SnapshotWritten(EXPORT, version(0), 7, 1000), before)
    assert taken.job == before and taken.snapshot is not None
    assert (taken.snapshot.name, taken.snapshot.batch, taken.snapshot.created) == ("s", 7, 1000.0)


def test_a_job_is_dropped_only_when_its_snapshot_is_whole() -> None:
    asked = after(Cancel(replace(EXPORT, then_cancel=True)), job())
    writing = after(Stopped(RUN, True), asked.job)
    assert (writing.job.status, kinds(writing)) == (Status.SUSPENDED_EXPORTING_SNAPSHOT, ["WriteSnapshot"])
    failed = after(SnapshotFailed(RUN, HURT), writing.job)
    assert (failed.job.status, failed.job.cause, failed.job.snapshot_request) == (Status.SUSPENDED, HURT, None)
    assert after(EngineStarted(), writing.job).job.status is Status.SUSPENDED
    assert writing.job.snapshot_request is not None
    done = after(SnapshotFinished(RUN, SnapshotWritten(writing.job.snapshot_request, version(0), 7, 1000)), writing.job)
    assert (done.job.status, kinds(done)) == (Status.FAILED, ["RecoverSink", "DiscardFiles"])
    assert done.snapshot is not None and done.snapshot.name == "s"
    assert kinds(after(Cancel(EXPORT), job(Status.SUSPENDED))) == ["WriteSnapshot"]


def test_an_error_while_it_is_dropped_with_a_snapshot_does_not_suspend_it_twice() -> None:
    dropping = job(Status.COMPLETING, StopGoal.EXPORT)
    hurt = after(RunFailed(RUN, HOPELESS), dropping)
    assert hurt.job.stop_goal is StopGoal.EXPORT
    assert kinds(after(Stopped(RUN, True), hurt.job)) == ["WriteSnapshot"]


def test_a_run_that_endangers_the_engine_is_stopped_immediately_and_the_job_is_suspended_with_the_reason() -> None:
    stopping = after(EngineEndangered(RUN, ENDANGERS), job(chosen={"suspendOnFailure": "false"}))
    assert stopping.actions == (StopRun(stopping.job, immediately=True),)
    failed = after(RunFailed(RUN, HURT), stopping.job)
    done = after(Stopped(RUN, False), failed.job)
    assert (done.job.status, done.job.cause, kinds(done)) == (Status.SUSPENDED, ENDANGERS, ["RecoverSink"])
    assert "Stopped immediately" in done.history_message and ENDANGERS.message in done.history_message
    resumed = after(Resume(), done.job)
    assert (resumed.job.status, resumed.job.cause) == (Status.STARTING, None)


def test_a_restart_in_progress_that_endangers_the_engine_ends_suspended() -> None:
    changed = after(EngineEndangered(RUN, ENDANGERS), job(Status.COMPLETING, StopGoal.RESTART))
    assert after(Stopped(RUN, True), changed.job).job.status is Status.SUSPENDED
    updating = after(EngineEndangered(RUN, ENDANGERS), job(Status.COMPLETING, StopGoal.UPDATE))
    assert kinds(updating) == ["AbandonUpdate"]
    done = after(UpdateFailed(RUN, HURT), updating.job)
    assert (done.job.status, done.job.cause, done.job.pending_version) == (Status.SUSPENDED, ENDANGERS, None)


CRASH = EngineCrashed("The heap was full.", True)


def crashed(before: Job, event: EngineCrashed = CRASH) -> Job:
    """Return the job after a crash and the start of the next engine."""
    return after(EngineStarted(), after(event, before).job).job


def test_a_job_that_ends_the_engine_twice_in_a_row_stays_suspended() -> None:
    once = crashed(job())
    assert (once.status, once.crashes) == (Status.STARTING, 1)
    twice = crashed(once)
    assert (twice.status, twice.run, twice.cause is not None) == (Status.SUSPENDED, 4, True)
    assert twice.cause is not None and twice.cause.condition == "JETSQL.CRASH_LOOP"
    assert "2 times in a row" in twice.cause.message and "The heap was full." in twice.cause.message
    assert after(EngineStarted(), twice).job == twice
    resumed = after(Resume(), twice).job
    assert (resumed.status, resumed.crashes, resumed.cause) == (Status.STARTING, 0, None)
    assert crashed(resumed).status is Status.STARTING


def test_a_job_in_a_crash_loop_has_its_sink_recovered() -> None:
    twice = after(CRASH, crashed(job())).job
    assert kinds(after(EngineStarted(), twice)) == ["RecoverSink"]
    restarting = replace(twice, status=Status.COMPLETING, stop_goal=StopGoal.RESTART)
    taken = after(EngineStarted(), restarting)
    assert (taken.job.status, taken.job.stop_goal, kinds(taken)) == (Status.SUSPENDED, None, ["RecoverSink"])


def test_a_crash_that_is_not_the_fault_of_the_job_is_not_counted() -> None:
    bystander = EngineCrashed("The heap was full.", False)
    taken = after(bystander, job())
    assert (taken.job.crashes, taken.history_event, taken.history_message) == (
        0,
        "engine crashed",
        "The heap was full.",
    )
    assert crashed(crashed(job(), bystander), bystander).status is Status.STARTING


def test_a_suspect_starts_after_the_others() -> None:
    suspect = after(EngineCrashed("The heap was full.", False, 20.0), job()).job
    waiting = after(EngineStarted(), suspect)
    assert (waiting.job.status, waiting.job.crashes, waiting.job.start_delay) == (Status.NOT_RUNNING, 0, 0.0)
    assert kinds(waiting) == ["RecoverSink", "ScheduleRetry"] and ScheduleRetry(RUN, 1020.0) in waiting.actions
    started = after(RetryDue(RUN), waiting.job)
    assert (started.job.status, started.history_message) == (Status.STARTING, "The other jobs have started.")
    assert after(Resume(), waiting.job).job.status is Status.STARTING


def test_crashes_are_forgotten_when_the_job_runs_well_for_minutes() -> None:
    once = crashed(job())
    run = RunId("1", once.run)
    soon = apply_event(once, BatchCommitted(run, 8, 999.0, 1, 1.0), StepContext(1299.0))
    assert soon.job.crashes == 1
    later = apply_event(soon.job, BatchCommitted(run, 9, 999.0, 1, 1.0), StepContext(1300.0))
    assert (later.job.crashes, later.job.crash_reason, later.history_event) == (0, "", "stable")
    assert apply_event(soon.job, RunIdle(run, 999.0), StepContext(1300.0)).job.crashes == 0
    assert apply_event(later.job, BatchCommitted(run, 10, 999.0, 1, 1.0), StepContext(1301.0)).history_event == ""


def test_a_new_statement_forgets_crashes_and_rescaling_does_not() -> None:
    counted = job(crashes=1, crash_reason="The heap was full.")
    stopped = after(Stopped(RUN, True), after(Update(version(), counted.plan), counted).job)
    assert after(UpdatePrepared(RUN), stopped.job).job.crashes == 0
