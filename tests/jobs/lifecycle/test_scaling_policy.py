"""Members that join and leave: the scaling policy and its steps of the life cycle.

`test_members` tests the same with a manager.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from jetsql.jobs.lifecycle import scaling
from jetsql.jobs.lifecycle.events import (
    AbandonUpdate,
    AlterOptions,
    Cancel,
    EngineStarted,
    Event,
    MembersChanged,
    MembersSettled,
    Outcome,
    PrepareUpdate,
    Restart,
    Resume,
    RetryDue,
    StartRun,
    Step,
    StopFailed,
    Stopped,
    StopRun,
    Submit,
    Suspend,
    TrialProbed,
    Update,
    UpdateFailed,
    UpdatePrepared,
)
from jetsql.jobs.lifecycle.runtime import BatchCommitted, RunCompleted, RunFailed
from jetsql.jobs.lifecycle.scaling import ScalingDecision
from jetsql.jobs.lifecycle.step_context import StepContext
from jetsql.jobs.lifecycle.transitions import apply_event
from jetsql.jobs.model.body_analysis import Analysis, Operator
from jetsql.jobs.model.cluster_member import ClusterState
from jetsql.jobs.model.job import CANCELLED, Job, RunId, SnapshotRequest, Status, StopGoal
from tests.jobs.lifecycle.test_lifecycle_table import STATES, shown
from tests.support.engines.in_memory_runtime import analysis
from tests.support.models.lifecycle_cases import RETRYABLE_ERROR, RUN, job, real_time, version

BATCH = analysis(streaming=False, modes={})
OFF = {"autoScaling": "false"}
NONE = {"processingGuarantee": "none"}
PROTECTED = {"splitBrainProtectionEnabled": "true"}
AVAILABLE_NOW = {"trigger": "availableNow"}


def at(*members: str, closing: bool = False, leaving: str = "", left: str = "", cores: int = 0) -> StepContext:
    """Return a moment with these members. leaving, left: names of one letter, which leave or have left as planned."""
    return StepContext(
        1000.0,
        closing=closing,
        cluster=ClusterState(frozenset(members), frozenset(leaving), frozenset(left), cores),
    )


def after(event: Event, before: Job, context: StepContext) -> Step:
    return apply_event(before, event, context)


def runs_on(*members: str, chosen: dict[str, str] | None = None, **changes: object) -> Job:
    return job(chosen=chosen, members=members, **changes)  # type: ignore[arg-type]


# --- the policy ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chosen", "of", "lost", "joined"),
    [
        ({}, analysis(), ScalingDecision.RESTART, ScalingDecision.RESTART),
        (NONE, analysis(), ScalingDecision.RESTART, ScalingDecision.RESTART),
        (AVAILABLE_NOW, analysis(), ScalingDecision.RESTART, ScalingDecision.RESTART),
        (OFF, analysis(), ScalingDecision.SUSPEND, ScalingDecision.CONTINUE),
        ({**OFF, "processingGuarantee": "atLeastOnce"}, analysis(), ScalingDecision.SUSPEND, ScalingDecision.CONTINUE),
        ({**OFF, **NONE}, analysis(), ScalingDecision.FAIL, ScalingDecision.CONTINUE),
        ({}, BATCH, ScalingDecision.CONTINUE, ScalingDecision.CONTINUE),
        (OFF, BATCH, ScalingDecision.SUSPEND, ScalingDecision.CONTINUE),
    ],
)
def test_each_cell_of_the_table(
    chosen: dict[str, str], of: Analysis, lost: ScalingDecision, joined: ScalingDecision
) -> None:
    created = job(of=of, chosen=chosen)
    assert scaling.react_to_loss(created, 1) is lost
    assert scaling.react_to_growth(created, 4) is joined


def test_batch_job_needs_its_quorum_of_members() -> None:
    assert scaling.react_to_loss(job(of=BATCH), 0) is ScalingDecision.RESTART
    protected = job(of=BATCH, chosen=PROTECTED, quorum=2)
    assert scaling.react_to_loss(protected, 2) is ScalingDecision.CONTINUE
    assert scaling.react_to_loss(protected, 1) is ScalingDecision.RESTART


@pytest.mark.parametrize(("there", "quorum"), [(0, 1), (1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (10, 6)])
def test_a_quorum_is_more_than_half(there: int, quorum: int) -> None:
    assert scaling.initial_quorum(job(chosen=PROTECTED).plan, there) == quorum
    assert scaling.initial_quorum(job().plan, there) == 0


def test_missing_members_are_described() -> None:
    protected = job(chosen=PROTECTED, quorum=3)
    assert scaling.describe_missing_members(protected, 3) == scaling.describe_missing_members(job(), 1) == ""
    assert (
        "1 is available and the job needs 3 (splitBrainProtectionEnabled), so 2 are missing"
        in scaling.describe_missing_members(protected, 1)
    )
    assert (
        "2 are available and the job needs 3 (splitBrainProtectionEnabled), so 1 is missing"
        in scaling.describe_missing_members(protected, 2)
    )
    assert "none is available" in scaling.describe_missing_members(job(), 0)


def test_members_are_named_in_their_order() -> None:
    assert scaling.growth_cause(["3"]).message.startswith("Member 3 is new")
    assert scaling.growth_cause(["10", "9", "2"]).message.startswith("Members 2, 9 and 10 are new")


# --- the cells -------------------------------------------------------------------------------------------------------

# What each status comes to, from N S R X(suspend) X(restart) X(cancel) X(export) X(update) P E F C; see
# `test_lifecycle_table`.
LOST = {
    "restart": ({}, ". X X . . . . . . . . ."),
    "suspend": (OFF, "P X X . . . . . . . . ."),
    "fail": ({**OFF, **NONE}, "F X X . . . . . . . . ."),
}
GOALS = {"restart": StopGoal.RESTART, "suspend": StopGoal.SUSPEND, "fail": StopGoal.FAIL}


@pytest.mark.parametrize("reaction", LOST)
def test_a_loss_in_every_status(reaction: str) -> None:
    chosen, cells = LOST[reaction]
    jobs = [job(status, goal, chosen=chosen, members=("1", "2")) for status, goal in STATES]
    steps = [after(MembersChanged(), before, at("1")) for before in jobs]
    assert " ".join(map(shown, steps)) == cells
    for taken in steps[1:3]:
        assert taken.job.stop_goal is GOALS[reaction] and taken.actions == (StopRun(taken.job),)
        assert taken.job.stop_cause is not None and taken.history_message.startswith("Member 2 is lost")


@pytest.mark.parametrize(
    ("chosen", "cells"), [({}, ". X X . . . . . . . . ."), (OFF, ". . . . . . . . . . . .")], ids=["on", "off"]
)
def test_growth_in_every_status(chosen: dict[str, str], cells: str) -> None:
    def grown(status: Status, goal: StopGoal | None) -> Step:
        return after(MembersSettled(), job(status, goal, chosen=chosen, members=("1",)), at("1", "2"))

    assert " ".join(shown(grown(status, goal)) for status, goal in STATES) == cells
    for status, goal in STATES:
        before = job(status, goal, chosen=chosen, members=("1",))
        assert after(MembersChanged(), before, at("1", "2")) == Step(before, Outcome.UNCHANGED)


def test_growth_raises_the_quorum_in_all_live_statuses() -> None:
    for status, goal in STATES:
        before = job(status, goal, chosen={**OFF, **PROTECTED}, members=("1",), quorum=1)
        taken = after(MembersSettled(), before, at("1", "2", "3"))
        assert taken.job.quorum == (1 if status.is_final else 2)
        assert bool(taken.history_event) is not status.is_final


def test_growth_restart_reports_the_new_quorum() -> None:
    taken = after(MembersSettled(), runs_on("1", chosen=PROTECTED, quorum=1), at("1", "2", "3"))
    assert (taken.job.stop_goal, taken.job.quorum) == (StopGoal.RESTART, 2)
    assert (
        taken.history_message.startswith("Members 2 and 3 are new")
        and "needs 2 members from now on" in taken.history_message
    )


def test_only_alter_lowers_a_quorum() -> None:
    protected = job(chosen=PROTECTED, members=("1",), quorum=3)
    assert after(MembersSettled(), protected, at("1")).job.quorum == 3
    suspended = job(Status.SUSPENDED, chosen=PROTECTED, quorum=3)
    altered = after(AlterOptions(suspended.plan, suspended.plan, ("restartAttempts",)), suspended, at("1", "2"))
    assert altered.job.quorum == 2
    resumed = after(AlterOptions(suspended.plan, suspended.plan, (), resume=True), suspended, at("1"))
    assert (resumed.job.quorum, resumed.job.status) == (1, Status.STARTING)
    free = after(AlterOptions(job().plan, suspended.plan, ()), suspended, at("1"))
    assert free.job.quorum == 0


def test_quorum_is_computed_at_creation_or_first_start() -> None:
    fresh = job(Status.NOT_RUNNING, chosen=PROTECTED, run=0, first_trigger_done=False, has_files=False)
    submitted = after(Submit(), fresh, at("1", "2", "3"))
    assert (submitted.job.status, submitted.job.quorum, submitted.job.members) == (Status.STARTING, 2, ("1", "2", "3"))
    of_older_release = job(chosen=PROTECTED)
    assert after(EngineStarted(), of_older_release, at("1", "2")).job.quorum == 2


def test_simultaneous_losses_cause_one_restart() -> None:
    first = after(MembersChanged(), runs_on("1", "2", "3"), at("1", "2"))
    second = after(MembersChanged(), first.job, at("1"))
    assert second == Step(first.job, Outcome.UNCHANGED)
    again = after(Stopped(RUN, True), second.job, at("1"))
    assert (again.job.status, again.job.members, again.job.stop_cause) == (Status.STARTING, ("1",), None)
    assert again.actions == (StartRun(again.job),)
    assert after(MembersChanged(), again.job, at("1")).outcome is Outcome.UNCHANGED


def test_loss_reported_after_the_failure_it_caused() -> None:
    failed = after(RunFailed(RUN, RETRYABLE_ERROR), runs_on("1", "2", chosen=OFF), at("1")).job
    reported = after(MembersChanged(), failed, at("1"))
    assert reported.job.status is Status.SUSPENDED and reported.job.cause is not None
    assert reported.job.cause.condition == "JETSQL.MEMBER_LOST"
    assert after(RetryDue(RUN), reported.job, at("1")).outcome is Outcome.STALE
    restarting = after(RunFailed(RUN, RETRYABLE_ERROR), runs_on("1", "2"), at("1")).job
    assert after(MembersChanged(), restarting, at("1")) == Step(restarting, Outcome.UNCHANGED)


def test_loss_of_a_member_newer_than_the_run_is_ignored() -> None:
    assert after(MembersChanged(), runs_on("1"), at("1", "2")).outcome is Outcome.UNCHANGED
    assert after(MembersChanged(), runs_on("1"), at("1")).outcome is Outcome.UNCHANGED


def test_run_started_after_the_growth_is_not_restarted() -> None:
    assert after(MembersSettled(), runs_on("1", "2"), at("1", "2")).outcome is Outcome.UNCHANGED


def test_a_lost_member_suspends_with_that_cause() -> None:
    stopping = after(MembersChanged(), runs_on("1", "2", chosen=OFF), at("1")).job
    committed = after(BatchCommitted(RUN, 8, 999.0, 1, 1.0), stopping, at("1")).job
    done = after(Stopped(RUN, True), committed, at("1"))
    assert done.job.status is Status.SUSPENDED and done.job.cause is not None
    assert done.job.cause.condition == "JETSQL.MEMBER_LOST"
    assert "Member 2 is lost" in done.history_message and "RESUME JOB" in done.history_message
    assert after(EngineStarted(), stopping, at("1")).job.cause == done.job.cause
    resumed = after(Resume(), done.job, at("1"))
    assert (resumed.job.status, resumed.job.cause, resumed.job.members) == (Status.STARTING, None, ("1",))


def test_a_lost_member_fails_a_job_without_guarantee() -> None:
    stopping = after(MembersChanged(), runs_on("1", "2", chosen={**OFF, **NONE}), at("1")).job
    done = after(Stopped(RUN, True), stopping, at("1"))
    assert done.job.status is Status.FAILED and done.job.end_time == 1000.0
    assert done.job.cause is not None and done.job.cause.condition == "JETSQL.MEMBER_LOST"
    assert [type(action).__name__ for action in done.actions] == ["RecoverSink", "DiscardFiles"]
    assert after(EngineStarted(), stopping, at("1")).job.status is Status.FAILED


@pytest.mark.parametrize(
    ("event", "goal"),
    [
        (Suspend(), StopGoal.SUSPEND),
        (Resume(), StopGoal.RESTART),
        (Restart(), StopGoal.RESTART),
        (Cancel(), StopGoal.CANCEL),
        (Cancel(SnapshotRequest("9", "s")), StopGoal.EXPORT),
    ],
)
def test_user_statements_override_an_automatic_stop(event: Event, goal: StopGoal) -> None:
    stopping = after(MembersChanged(), runs_on("1", "2", chosen={**OFF, **NONE}), at("1")).job
    asked = after(event, stopping, at("1"))
    assert asked.outcome is Outcome.CHANGED
    assert (asked.job.stop_goal, asked.job.stop_cause) == (goal, None)
    done = after(Stopped(RUN, True), asked.job, at("1")).job
    assert done.cause is None or done.cause == CANCELLED


def test_update_replaces_an_automatic_restart() -> None:
    restarting = after(MembersChanged(), runs_on("1", "2"), at("1")).job
    asked = after(Update(version(), restarting.plan), restarting, at("1"))
    assert (asked.job.stop_goal, asked.actions) == (StopGoal.UPDATE, ())
    copied = after(Stopped(RUN, True), asked.job, at("1"))
    assert [type(action).__name__ for action in copied.actions] == ["PrepareUpdate"]
    by_user = job(Status.COMPLETING, StopGoal.RESTART)
    assert after(Update(version(), by_user.plan), by_user, at("1")).outcome is Outcome.REFUSED


def test_restarts_for_members_keep_the_attempts() -> None:
    stopping = after(MembersChanged(), runs_on("1", "2", attempts=2, cause=RETRYABLE_ERROR), at("1")).job
    again = after(Stopped(RUN, True), stopping, at("1")).job
    assert (again.attempts, again.cause) == (2, RETRYABLE_ERROR)


def test_job_that_completes_during_a_member_restart_is_completed() -> None:
    stopping = after(MembersChanged(), runs_on("1", "2", chosen=AVAILABLE_NOW), at("1")).job
    done = after(RunCompleted(RUN), stopping, at("1")).job
    assert (done.status, done.stop_cause) == (Status.COMPLETED, None)


def test_run_that_cannot_be_stopped_continues() -> None:
    stopping = after(MembersChanged(), runs_on("1", "2"), at("1")).job
    going_on = after(StopFailed(RUN, RETRYABLE_ERROR), stopping, at("1")).job
    assert (going_on.status, going_on.stop_cause) == (Status.RUNNING, None)


def test_a_version_on_trial_stays_on_trial() -> None:
    trial = replace(runs_on("1", "2"), rollback_version=version())
    again = after(Stopped(RUN, True), after(MembersChanged(), trial, at("1")).job, at("1")).job
    assert (again.status, again.rollback_version) == (Status.STARTING, trial.rollback_version)


def test_nothing_happens_while_the_engine_closes() -> None:
    waiting = job(Status.NOT_RUNNING, waiting_for_members=True)
    for event in (MembersChanged(), MembersSettled()):
        for before in (runs_on("1", "2"), waiting):
            assert after(event, before, at("3", closing=True)) == Step(before, Outcome.UNCHANGED)


# --- planned departures ----------------------------------------------------------------------------------------------

POLICIES = {
    "scaling": {},
    "scaling, without guarantee": NONE,
    "not scaling": OFF,
    "not scaling, at least once": {**OFF, "processingGuarantee": "atLeastOnce"},
    "not scaling, without guarantee": {**OFF, **NONE},
    "availableNow": AVAILABLE_NOW,
    "protected": PROTECTED,
    "protected, not scaling": {**PROTECTED, **OFF},
}
ORDERS = {
    "leaves, then is gone": [at("1", "2", leaving="2", cores=1), at("1", left="2", cores=1)],
    "gone before it was seen leaving": [at("1", left="2", cores=1)],
    "leaves while another one joins": [
        at("1", "2", "3", leaving="2", cores=2),
        at("1", "3", left="2", cores=2),
    ],
    "another one joins first": [
        at("1", "2", "3", cores=3),
        at("1", "2", "3", leaving="2", cores=2),
        at("1", "3", left="2", cores=2),
    ],
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("status", [Status.STARTING, Status.RUNNING], ids=str)
@pytest.mark.parametrize(
    ("of", "chosen"),
    [
        *(pytest.param(analysis(), chosen, id=name) for name, chosen in POLICIES.items()),
        *(
            pytest.param(BATCH, chosen, id=f"batch, {name}")
            for name, chosen in POLICIES.items()
            if "trigger" not in chosen
        ),
    ],
)
def test_a_planned_departure_stops_no_run(of: Analysis, chosen: dict[str, str], status: Status, order: str) -> None:
    quorum = 1 if "splitBrainProtectionEnabled" in chosen else 0
    current = job(status, of=of, chosen=chosen, members=("1", "2"), cores=2, quorum=quorum)
    notes = []
    for context in ORDERS[order]:
        taken = after(MembersChanged(), current, context)
        assert (taken.job.status, taken.actions) == (status, ())
        notes += [taken.history_message] if taken.history_event else []
        current = taken.job
    assert (current.members, current.members_left) == (("1",), True)
    assert notes == ["Member 2 is leaving as planned: the job continues without a restart."]
    settled = after(MembersSettled(), current, ORDERS[order][-1])
    assert (settled.job.status, settled.actions) == (status, ())
    joined = "3" in settled.job.members
    assert joined is (len(ORDERS[order][-1].cluster.members) == 2)
    if joined:
        assert settled.history_event == "members replaced"
        assert settled.history_message.startswith("Member 3 is new, in place of members that left as planned")
    assert after(MembersSettled(), settled.job, ORDERS[order][-1]).history_event == ""


@pytest.mark.parametrize("lost", ["1", "3"])
def test_a_loss_after_a_planned_departure_is_a_loss(lost: str) -> None:
    """Lose a member that the run began on, or one that has taken the place of another."""
    run = job(chosen=OFF, members=("1", "3"), members_left=True, cores=2)
    taken = after(MembersChanged(), run, at(*{"1", "3"} - {lost}, left="2"))
    assert taken.job.stop_goal is StopGoal.SUSPEND and taken.history_message.startswith(f"Member {lost} is lost")


def test_loss_next_to_a_planned_departure_is_a_loss() -> None:
    taken = after(MembersChanged(), runs_on("1", "2", "3"), at("1", left="2"))
    assert taken.job.stop_goal is StopGoal.RESTART and taken.history_message.startswith("Member 3 is lost")


def test_only_more_cores_than_before_restart_a_reduced_run() -> None:
    run = job(members=("1",), members_left=True, cores=4)
    for cores in (1, 2, 4):
        assert scaling.react_to_growth(run, cores) is ScalingDecision.CONTINUE
    for cores in (0, 5):  # 0: unknown
        assert scaling.react_to_growth(run, cores) is ScalingDecision.RESTART
    assert scaling.react_to_growth(replace(run, members_left=False), 2) is ScalingDecision.RESTART
    assert scaling.react_to_growth(replace(run, cores=0), 2) is ScalingDecision.RESTART


def test_real_time_run_restarts_on_the_members_that_stay() -> None:
    run = real_time(runs_on("1", "2", chosen=OFF))
    taken = after(MembersChanged(), run, at("1", "2", leaving="2"))
    assert (taken.job.stop_goal, taken.history_event) == (StopGoal.RESTART, "member leaving")
    again = after(Stopped(RUN, True), taken.job, at("1", "2", leaving="2"))
    assert (again.job.status, again.job.members) == (Status.STARTING, ("1",))
    assert after(MembersChanged(), again.job, at("1", left="2")).outcome is Outcome.UNCHANGED


def test_leaving_member_counts_for_a_quorum_until_it_is_gone() -> None:
    run = runs_on("1", "2", chosen={**PROTECTED, **OFF}, quorum=2)
    leaving = after(MembersChanged(), run, at("1", "2", leaving="2"))
    assert leaving.job.status is Status.RUNNING
    gone = after(MembersChanged(), leaving.job, at("1", left="2"))
    assert (gone.job.stop_goal, gone.history_event) == (StopGoal.RESTART, "members missing")
    waiting = after(Stopped(RUN, True), gone.job, at("1", left="2")).job
    assert (waiting.status, waiting.waiting_for_members) == (Status.NOT_RUNNING, True)
    assert after(MembersChanged(), waiting, at("1", "3", left="2")).job.status is Status.STARTING


def test_run_without_members_waits_for_one() -> None:
    run = after(MembersChanged(), runs_on("1", "2", chosen={**OFF, **NONE}), at("1", "2", leaving="12")).job
    assert (run.status, run.members) == (Status.RUNNING, ())
    gone = after(MembersChanged(), run, at(left="12"))
    assert gone.job.stop_goal is StopGoal.RESTART and gone.history_message.startswith("No executor is left")
    waiting = after(Stopped(RUN, False), gone.job, at(left="12"))
    assert (waiting.job.status, waiting.job.waiting_for_members) == (Status.NOT_RUNNING, True)
    assert after(MembersChanged(), waiting.job, at("3", left="12")).job.members == ("3",)


@pytest.mark.parametrize(
    ("event", "before"),
    [
        (Submit(), job(Status.NOT_RUNNING, run=0)),
        (Resume(), job(Status.SUSPENDED)),
        (RetryDue(RUN), job(Status.NOT_RUNNING, attempts=1, members=("1", "2"), members_left=True)),
        (Stopped(RUN, True), job(Status.COMPLETING, StopGoal.RESTART)),
        (EngineStarted(), job(members=("1", "2"))),
    ],
    ids=lambda each: type(each).__name__,
)
def test_new_run_does_not_use_a_leaving_member(event: Event, before: Job) -> None:
    begun = after(event, before, at("1", "2", leaving="2", cores=1)).job
    assert (begun.status, begun.members, begun.members_left, begun.cores) == (Status.STARTING, ("1",), False, 1)
    assert after(MembersChanged(), begun, at("1", left="2", cores=1)) == Step(begun, Outcome.UNCHANGED)
    waiting = after(event, before, at("2", leaving="2")).job
    assert (waiting.status, waiting.waiting_for_members) == (Status.NOT_RUNNING, True)


def test_leaving_members_do_not_count_for_a_new_quorum() -> None:
    fresh = job(Status.NOT_RUNNING, chosen=PROTECTED, run=0)
    assert after(Submit(), fresh, at("1", "2", leaving="2")).job.quorum == 1
    run = runs_on("1", chosen={**PROTECTED, **OFF}, quorum=1)
    assert after(MembersSettled(), run, at("1", "2", "3", leaving="23")).job.quorum == 1
    suspended = job(Status.SUSPENDED, chosen=PROTECTED, quorum=3)
    altered = after(AlterOptions(suspended.plan, suspended.plan), suspended, at("1", "2", leaving="2"))
    assert altered.job.quorum == 1


def test_job_that_waits_for_a_retry_ignores_a_planned_departure() -> None:
    failed = after(RunFailed(RUN, RETRYABLE_ERROR), runs_on("1", "2", chosen=OFF), at("1", "2", leaving="2")).job
    assert after(MembersChanged(), failed, at("1", left="2")) == Step(failed, Outcome.UNCHANGED)


# --- waiting for members ---------------------------------------------------------------------------------------------

WAITING = job(Status.NOT_RUNNING, chosen=PROTECTED, quorum=2, waiting_for_members=True)
SHORT = at("1")


@pytest.mark.parametrize(
    ("event", "before"),
    [
        (Submit(), job(Status.NOT_RUNNING, chosen=PROTECTED, quorum=2, run=0)),
        (Resume(), job(Status.SUSPENDED, chosen=PROTECTED, quorum=2)),
        (Resume(), job(Status.NOT_RUNNING, chosen=PROTECTED, quorum=2, attempts=1)),
        (Restart(), job(Status.NOT_RUNNING, chosen=PROTECTED, quorum=2, attempts=1)),
        (Resume(), job(Status.COMPLETED, chosen={**PROTECTED, **AVAILABLE_NOW}, quorum=2, end_time=1.0)),
        (RetryDue(RUN), job(Status.NOT_RUNNING, chosen=PROTECTED, quorum=2, attempts=1)),
        (Stopped(RUN, True), job(Status.COMPLETING, StopGoal.RESTART, chosen=PROTECTED, quorum=2)),
        (EngineStarted(), job(Status.RUNNING, chosen=PROTECTED, quorum=2)),
        (EngineStarted(), WAITING),
        (UpdatePrepared(RUN), job(Status.COMPLETING, StopGoal.RESTART, chosen=PROTECTED, quorum=2)),
        (
            TrialProbed(RUN, False),
            replace(WAITING, rollback_version=version(), cause=RETRYABLE_ERROR, waiting_for_members=False),
        ),
    ],
    ids=lambda each: type(each).__name__ if not isinstance(each, Job) else each.status.value,
)
def test_no_start_below_the_quorum(event: Event, before: Job) -> None:
    if isinstance(event, TrialProbed):  # its old version is the one that is protected
        before = replace(before, rollback_version=replace(version(), plan=before.plan))
    taken = after(event, before, SHORT)
    assert (taken.job.status, taken.job.waiting_for_members, taken.job.run) == (Status.NOT_RUNNING, True, before.run)
    assert not any(isinstance(action, StartRun) for action in taken.actions)
    assert taken.history_event and "1 is available and the job needs 2" in taken.history_message
    started = after(MembersChanged(), taken.job, at("1", "2"))
    assert (started.job.status, started.job.waiting_for_members, started.job.run) == (
        Status.STARTING,
        False,
        before.run + 1,
    )


def test_a_new_version_waits_too() -> None:
    updating = job(Status.COMPLETING, StopGoal.UPDATE, pending_version=replace(version(), plan=WAITING.plan), quorum=2)
    taken = after(UpdatePrepared(RUN), updating, SHORT)
    assert (taken.job.status, taken.job.waiting_for_members) == (Status.NOT_RUNNING, True)
    assert taken.job.rollback_version is not None
    again = after(Update(version(), taken.job.plan), taken.job, SHORT)
    assert (again.job.stop_goal, again.job.waiting_for_members) == (StopGoal.UPDATE, False)


def test_other_events_of_a_waiting_job() -> None:
    assert after(MembersChanged(), WAITING, SHORT) == Step(WAITING, Outcome.UNCHANGED)
    assert after(RetryDue(RUN), WAITING, at("1", "2")) == Step(WAITING, Outcome.UNCHANGED)
    for event in (Resume(), Restart()):
        result = after(event, WAITING, SHORT)
        assert result.outcome is Outcome.UNCHANGED and "1 is missing" in result.message
    suspended = after(Suspend(), WAITING, SHORT).job
    assert (suspended.status, suspended.waiting_for_members) == (Status.SUSPENDED, False)
    dropped = after(Cancel(), WAITING, SHORT).job
    assert (dropped.status, dropped.waiting_for_members) == (Status.FAILED, False)
    assert after(RunFailed(RUN, RETRYABLE_ERROR), WAITING, SHORT).job == WAITING


def test_without_any_member_every_job_waits() -> None:
    waiting = after(EngineStarted(), job(), at()).job
    assert (waiting.status, waiting.waiting_for_members) == (Status.NOT_RUNNING, True)
    assert after(MembersChanged(), waiting, SHORT).job.status is Status.STARTING


# --- state that is spread over more cores ----------------------------------------------------------------------------

CUT = {"spark.sql.shuffle.partitions": "2"}
COUNTS = analysis(stateful=True, operators=(Operator("Aggregate", "a: int"),))
LIMITED = analysis(stateful=True, operators=(Operator("GlobalLimit", "10: int"),))
CHOSEN = {"spark.sql.shuffle.partitions": "3"}


@pytest.mark.parametrize(
    ("of", "chosen", "cores", "over"),
    [
        (COUNTS, {}, 4, 4),
        (COUNTS, OFF, 4, 4),
        (COUNTS, {}, 2, None),
        (COUNTS, {}, 1, None),
        (COUNTS, {}, 0, None),
        (COUNTS, CHOSEN, 4, None),
        (COUNTS, AVAILABLE_NOW, 4, None),
        (LIMITED, {}, 4, None),
        (analysis(), {}, 4, None),
    ],
)
def test_state_is_repartitioned_where_more_cores_help(
    of: Analysis, chosen: dict[str, str], cores: int, over: int | None
) -> None:
    assert scaling.rescaled_partitions(job(of=of, chosen=chosen, session_defaults=CUT), cores) == over
    assert scaling.rescaled_partitions(job(of=of, chosen=chosen), cores) is None
    message = scaling.describe_fixed_partitions(job(of=of, chosen=chosen, session_defaults=CUT), cores)
    assert ("keeps 2 partitions" in message) is (of is LIMITED)


def test_engine_without_repartitioning_keeps_partitions() -> None:
    growing = job(of=COUNTS, chosen={}, session_defaults=CUT)
    assert scaling.rescaled_partitions(growing, 4, "this Spark cannot") is None
    message = scaling.describe_fixed_partitions(growing, 4, "This Spark cannot")
    assert message == "This Spark cannot. The state keeps 2 partitions, and no more cores than that process it."
    assert scaling.describe_fixed_partitions(growing, 2, "this Spark cannot") == ""


@pytest.mark.parametrize("event", [MembersSettled(), Restart()], ids=["joined", "restart"])
def test_restart_with_more_cores_repartitions_a_copy_of_the_state(event: Event) -> None:
    before = job(of=COUNTS, session_defaults=CUT, members=("1",), attempts=2)
    context = at("1", "2", cores=4)
    taken = after(event, before, context)
    assert (taken.job.status, taken.job.stop_goal) == (Status.COMPLETING, StopGoal.UPDATE)
    assert taken.actions == (StopRun(taken.job),)
    assert "the state is repartitioned into 4 partitions" in taken.history_message
    assert taken.history_message.startswith("Member 2 is new") is isinstance(event, MembersSettled)
    proposed = taken.job.pending_version
    assert proposed is not None and proposed.session_defaults == {"spark.sql.shuffle.partitions": "4"}
    assert (proposed.plan, proposed.statement, proposed.checkpoint) == (before.plan, before.version.statement, 1)

    assert "replaced" not in after(Resume(), taken.job, context).message
    stopped = after(Stopped(RUN, True), taken.job, context)
    assert isinstance(stopped.actions[-1], PrepareUpdate)
    spread = after(UpdatePrepared(RUN), stopped.job, context)
    assert (spread.job.status, spread.history_event, spread.job.attempts) == (Status.STARTING, "restarted", 2)
    assert (spread.job.version.session_defaults, spread.job.version.checkpoint) == (
        {"spark.sql.shuffle.partitions": "4"},
        1,
    )
    assert spread.job.rollback_version is not None and spread.job.members == ("1", "2")
    committed = after(BatchCommitted(RunId(spread.job.id, spread.job.run), 5, 0.0, 1, 1.0), spread.job, context)
    assert (committed.history_event, committed.job.rollback_version) == ("state rescaled", None)


def test_partition_limit_is_kept_and_reported() -> None:
    taken = after(MembersSettled(), job(of=LIMITED, session_defaults=CUT, members=("1",)), at("1", "2", cores=4))
    assert taken.job.stop_goal is StopGoal.RESTART and "cannot be repartitioned" in taken.history_message


def test_job_continues_with_state_that_cannot_be_repartitioned() -> None:
    context = at("1", "2", cores=4)
    before = job(of=COUNTS, session_defaults=CUT, members=("1",))
    stopped = after(Stopped(RUN, True), after(Restart(), before, context).job, context)
    failed = after(UpdateFailed(RUN, RETRYABLE_ERROR), stopped.job, context)
    assert (failed.job.status, failed.job.version.session_defaults, failed.job.version.checkpoint) == (
        Status.STARTING,
        CUT,
        0,
    )
    assert failed.job.cause is None and "is unchanged" in failed.history_message
    died = after(EngineStarted(), stopped.job, context)
    assert (died.job.status, died.job.version.session_defaults, died.job.pending_version) == (
        Status.STARTING,
        CUT,
        None,
    )


def test_job_falls_back_to_the_old_state_after_repartitioning_fails() -> None:
    context = at("1", "2", cores=4)
    asked = after(Restart(), job(of=COUNTS, session_defaults=CUT, members=("1",)), context)
    spread = after(UpdatePrepared(RUN), after(Stopped(RUN, True), asked.job, context).job, context).job
    run = RunId(spread.id, spread.run)
    failed = after(RunFailed(run, RETRYABLE_ERROR), spread, context)
    assert "The run with the repartitioned state failed" in failed.history_message
    back = after(TrialProbed(run, False), failed.job, context)
    assert (back.history_event, back.job.status, back.job.version.session_defaults, back.job.version.checkpoint) == (
        "restarted", Status.STARTING, CUT, 0,
    )  # fmt: skip


def test_suspend_and_replace_during_repartitioning() -> None:
    context = at("1", "2", cores=4)
    widening = after(Restart(), job(of=COUNTS, session_defaults=CUT, members=("1",)), context).job
    assert after(Suspend(), widening, context).job.stop_goal is StopGoal.SUSPEND
    update = after(Update(version(), widening.plan), widening, context)
    assert update.outcome is Outcome.REFUSED and "restarted with repartitioned state" in update.message


def test_state_is_not_repartitioned_without_members() -> None:
    before = job(of=COUNTS, session_defaults=CUT, members=("1",), attempts=2)
    context = at("1", "2", cores=4)
    stopping = after(Restart(), before, context).job
    copying = after(Stopped(RUN, True), stopping, context).job
    for widening, done in ((stopping, Stopped(RUN, True)), (copying, UpdateFailed(RUN, RETRYABLE_ERROR))):
        assert after(MembersChanged(), widening, at("2")).outcome is Outcome.UNCHANGED
        alone = after(MembersChanged(), widening, at())
        assert alone.history_event == "member lost" and "No executor is left" in alone.history_message
        assert alone.actions == (AbandonUpdate(alone.job),)
        waiting = after(done, alone.job, at())
        assert (waiting.job.status, waiting.job.waiting_for_members) == (Status.NOT_RUNNING, True)
        assert (waiting.job.version.session_defaults, waiting.job.pending_version, waiting.job.attempts) == (
            CUT,
            None,
            2,
        )
        assert "Waiting for an executor" in waiting.history_message
