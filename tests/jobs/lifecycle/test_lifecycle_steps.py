"""Apply each event to jobs in many situations. Golden files have the job, the actions and the texts that users read.

A line has the situations in which the event has this effect, and the effect: the row of the history in quotes, the
reply to the statement, the actions, and the fields of the job that change. An event that does nothing has no line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from enum import Enum

import pytest

from jetsql.jobs.lifecycle.events import (
    Action,
    AlterOptions,
    Cancel,
    DiscardVersion,
    EngineStarted,
    Event,
    MembersChanged,
    MembersSettled,
    Outcome,
    PrepareUpdate,
    Restart,
    Resume,
    ScheduleRetry,
    SnapshotFinished,
    SnapshotWritten,
    StartFailed,
    StartRun,
    Step,
    StopFailed,
    Stopped,
    StopRun,
    TrialProbed,
    Update,
    WriteSnapshot,
)
from jetsql.jobs.lifecycle.runtime import RunBlocked, RunCompleted, RunFailed, RunProgressed
from jetsql.jobs.lifecycle.step_context import StepContext
from jetsql.jobs.lifecycle.transitions import apply_event
from jetsql.jobs.model.body_analysis import Operator
from jetsql.jobs.model.cluster_member import ClusterState
from jetsql.jobs.model.job import Cause, Job, Plan, Status, StopGoal, Version
from jetsql.jobs.model.job_options import Options
from jetsql.language.statement import Body
from tests.jobs.lifecycle.test_lifecycle_table import EVENTS, STATES
from tests.support.engines.in_memory_runtime import analysis
from tests.support.engines.jobs_harness import changed
from tests.support.golden_reports import compare
from tests.support.models.lifecycle_cases import EXPORT, FATAL_ERROR, RETRYABLE_ERROR, RUN, job, real_time, version

BATCH = analysis(streaming=False, modes={})
STATEFUL = analysis(stateful=True, has_aggregates=True)
LIMITED = analysis(stateful=True, operators=(Operator("GlobalLimit", "10: int"),))
PARTITIONS = "spark.sql.shuffle.partitions"
OUTAGE = Cause("no broker answers", "KAFKA", retryable=True, external_outage=True, hint="Start the brokers.")
IN_BATCH = Cause("the disk is full", "DISK", retryable=True, batch=8, where="part-1", hint="Free disk space.")
REPLACED = Cause("the table was replaced", "JETSQL.SINK_CHANGED", retryable=False, hint="Create the job again.")
ALTERED = replace(job().plan, options=Options(restart_attempts=9))
ALTER = AlterOptions(ALTERED, job().plan, ("restartAttempts", "suspendOnFailure"))
LOST = Cause("Member 2 is lost", "JETSQL.MEMBER_LOST", hint="SHOW MEMBERS shows the reason.")

R, S, N, X, P = Status.RUNNING, Status.STARTING, Status.NOT_RUNNING, Status.COMPLETING, Status.SUSPENDED


def stateful(status: Status = R, goal: StopGoal | None = None, **changes: object) -> Job:
    stateful_job = job(status, goal, of=STATEFUL, session_defaults={PARTITIONS: "2"}, batch=7)
    return changed(stateful_job, **changes)


def rescaled(partitions: int) -> Version:
    return replace(stateful().version, session_defaults={PARTITIONS: str(partitions)}, checkpoint=1)


def _situations() -> Iterator[tuple[str, Job]]:
    for status, goal in STATES:
        yield status.value + (f" to {goal.value}" if goal else ""), job(status, goal)
    for goal in (StopGoal.SUSPEND, StopGoal.RESTART, StopGoal.FAIL):
        yield f"COMPLETING to {goal.value} for a lost member", job(X, goal, stop_cause=LOST, attempts=2)
    for status in (S, R, P):
        yield f"{status.value}, first trigger", job(status, first_trigger_done=False)
    for status in (N, S, R, P):
        failing = job(status, attempts=2, batch=7, cause=RETRYABLE_ERROR)
        yield f"{status.value} after an error", failing
    yield "RUNNING after the last restart", job(R, attempts=3, chosen={"processingGuarantee": "atLeastOnce"})
    yield "RUNNING, fails on errors", job(R, attempts=1, chosen={"suspendOnFailure": "false", "restartAttempts": "1"})
    yield "RUNNING, restarts forbidden", job(R, chosen={"restartAttempts": "0"})
    yield "NOT_RUNNING after an outage", job(N, cause=OUTAGE)
    for status, chosen_goal in [
        (R, None),
        (X, StopGoal.SUSPEND),
        (X, StopGoal.RESTART),
        (X, StopGoal.CANCEL),
        (P, None),
    ]:
        name = status.value + (f" to {chosen_goal.value}" if chosen_goal else "")
        yield f"{name}, batch job", job(status, chosen_goal, of=BATCH)
        yield f"{name}, without guarantee", job(status, chosen_goal, chosen={"processingGuarantee": "none"})
        yield f"{name}, availableNow", job(status, chosen_goal, chosen={"trigger": "availableNow"})
    yield "COMPLETED, availableNow", job(Status.COMPLETED, chosen={"trigger": "availableNow"}, batch=7, end_time=900.0)
    yield "COMPLETED, without files", job(Status.COMPLETED, chosen={"trigger": "availableNow"}, has_files=False)
    for _, goal in STATES:
        if goal is not None:
            yield f"COMPLETING to {goal.value}, failed", job(X, goal, cause=IN_BATCH, run_ended=True)
    yield "COMPLETING to UPDATE after an error", job(X, StopGoal.UPDATE, attempts=2, cause=RETRYABLE_ERROR)
    yield "COMPLETING to suspend instead of an update", job(X, StopGoal.SUSPEND, pending_version=version())
    yield "COMPLETING to restart instead of an update", job(X, StopGoal.RESTART, pending_version=version())
    yield "COMPLETING to fail instead of an update", job(X, StopGoal.FAIL, pending_version=version())
    yield (
        "COMPLETING to update when suspended",
        job(X, StopGoal.UPDATE, pending_version=replace(version(), was_suspended=True)),
    )
    for status in (N, S, R, P):
        yield f"{status.value} on trial", job(status, rollback_version=version(), cause=RETRYABLE_ERROR, batch=7)
    was_suspended = replace(version(), was_suspended=True)
    yield "NOT_RUNNING on trial when suspended", job(N, rollback_version=was_suspended, cause=OUTAGE)
    yield "COMPLETING to update on trial", job(X, StopGoal.UPDATE, rollback_version=version(2))
    yield "RUNNING with state", stateful()
    yield "RUNNING with the state of a LIMIT", changed(stateful(), plan=job(of=LIMITED).plan)
    yield "COMPLETING to rescale", stateful(X, StopGoal.UPDATE, pending_version=rescaled(4), stop_cause=LOST)
    for status in (N, R):
        yield (
            f"{status.value} on trial with rescaled state",
            stateful(status, rollback_version=rescaled(4), cause=RETRYABLE_ERROR),
        )
    yield "NOT_RUNNING without members", job(N, waiting_for_members=True)
    yield (
        "NOT_RUNNING without a quorum",
        job(N, chosen={"splitBrainProtectionEnabled": "true"}, waiting_for_members=True, quorum=3),
    )
    yield "RUNNING on two members", job(R, members=("2", "driver"))
    yield "RUNNING with a quorum", job(chosen={"splitBrainProtectionEnabled": "true"}, quorum=1, members=("driver",))
    yield "RUNNING on two members, not scaling", job(R, members=("2", "driver"), chosen={"autoScaling": "false"})
    yield "NOT_RUNNING on two members, not scaling", job(N, members=("2", "driver"), chosen={"autoScaling": "false"})
    yield "RUNNING in real time on two members", real_time(job(R, members=("2", "driver")))
    yield (
        "RUNNING with a quorum of two",
        job(chosen={"splitBrainProtectionEnabled": "true"}, quorum=2, members=("2", "driver")),
    )
    yield "RUNNING without a member that left", job(R, members=("driver",), members_left=True, cores=2)
    yield "NOT_RUNNING, from a snapshot", job(N, run=0, source_snapshot_id="5")
    yield "SUSPENDED, made from a snapshot", job(P, source_snapshot_id="5")


SITUATIONS = dict(_situations())
PLAIN = StepContext(1000.0)
CLOSING = StepContext(1000.0, closing=True)
NONE_LEFT = StepContext(1000.0, cluster=ClusterState())
GROWN = StepContext(1000.0, cluster=ClusterState(frozenset({"driver", "1", "10", "9"}), cores=4))
ONE_LEAVING = StepContext(1000.0, cluster=ClusterState(frozenset({"2", "driver"}), leaving=frozenset("2"), cores=1))
ONE_LEFT = StepContext(1000.0, cluster=ClusterState(frozenset({"driver"}), left=frozenset("2"), cores=1))
ALL_LEFT = StepContext(1000.0, cluster=ClusterState(left=frozenset({"2", "driver"})))
REPLACED_MEMBER = StepContext(1000.0, cluster=ClusterState(frozenset({"3", "driver"}), left=frozenset("2"), cores=2))
WRITTEN = SnapshotWritten(EXPORT, version(0), 7, 1000)

EFFECTS: dict[str, tuple[Event, StepContext]] = {
    **{kind.__name__: (event, PLAIN) for kind, event in EVENTS.items()},
    "Stopped by force": (Stopped(RUN, False), PLAIN),
    "StopFailed while the engine stops": (EVENTS[StopFailed], CLOSING),
    "Resume without members": (Resume(), NONE_LEFT),
    "Restart on four cores": (Restart(), GROWN),
    "EngineStarted without members": (EngineStarted(), NONE_LEFT),
    "MembersChanged to none": (MembersChanged(), NONE_LEFT),
    "MembersChanged while the engine stops": (MembersChanged(), replace(NONE_LEFT, closing=True)),
    "MembersChanged, one leaves": (MembersChanged(), ONE_LEAVING),
    "MembersChanged, one has left": (MembersChanged(), ONE_LEFT),
    "MembersChanged, all have left": (MembersChanged(), ALL_LEFT),
    "MembersSettled on four": (MembersSettled(), GROWN),
    "MembersSettled, one is replaced": (MembersSettled(), REPLACED_MEMBER),
    "MembersSettled while the engine stops": (MembersSettled(), replace(GROWN, closing=True)),
    "AlterOptions and resume": (replace(ALTER, resume=True), PLAIN),
    "AlterOptions of an old plan": (replace(ALTER, expected_plan=ALTER.plan), PLAIN),
    "Update of an old plan": (Update(version(), ALTER.plan), PLAIN),
    "Cancel with a snapshot": (Cancel(replace(EXPORT, then_cancel=True)), PLAIN),
    "SnapshotFinished before DROP JOB": (
        SnapshotFinished(RUN, replace(WRITTEN, request=replace(EXPORT, then_cancel=True))),
        PLAIN,
    ),
    "SnapshotWritten in the place of another": (replace(WRITTEN, request=replace(EXPORT, replaces="8")), PLAIN),
    "TrialProbed, in the sink": (TrialProbed(RUN, True), PLAIN),
    "TrialProbed, unknown": (TrialProbed(RUN, None, OUTAGE), PLAIN),
    "TrialProbed while the engine stops": (TrialProbed(RUN, False), CLOSING),
    "RunFailed in a batch": (RunFailed(RUN, IN_BATCH), PLAIN),
    "RunFailed in an outage": (RunFailed(RUN, OUTAGE), PLAIN),
    "RunFailed for good": (RunFailed(RUN, FATAL_ERROR), PLAIN),
    "StartFailed for a replaced table": (StartFailed(RUN, REPLACED), PLAIN),
    "RunBlocked no more": (RunBlocked(RUN, None), PLAIN),
    "RunProgressed without rows": (RunProgressed(RUN, 0, 0.0), PLAIN),
    "RunCompleted with a message": (RunCompleted(RUN, "2 rows wait for the watermark."), PLAIN),
}


@pytest.mark.parametrize("name", EFFECTS)
def test_the_effect_of_each_event(name: str) -> None:
    event, context = EFFECTS[name]
    situations: dict[str, list[str]] = {}
    for situation, before in SITUATIONS.items():
        effect = _effect(before, apply_event(before, event, context))
        situations.setdefault(effect, []).append(situation)
    compare([f"{' | '.join(names)}: {effect}" for effect, names in situations.items() if effect])


def _effect(before: Job, step: Step) -> str:
    parts = [] if step.outcome in (Outcome.CHANGED, Outcome.UNCHANGED) else [step.outcome.value]
    if step.message or step.hint:
        parts.append(f"reply '{step.message}' '{step.hint}'")
    if step.history_event or step.history_message:
        parts.append(f"'{step.history_event}' '{step.history_message}'")
    parts += [_action(action, step.job) for action in step.actions]
    parts += _changes(before, step.job)
    if step.snapshot is not None:
        snapshot = step.snapshot
        assert (snapshot.job_id, snapshot.job_name, snapshot.plan) == (before.id, before.name, WRITTEN.version.plan)
        parts.append(f"snapshot {snapshot.id} {snapshot.name} '{snapshot.statement}' {snapshot.batch}")
        parts.append(f"{snapshot.size_bytes} bytes at {snapshot.created} replaces {step.replaced_snapshot_id}")
    return "; ".join(parts)


def _action(action: Action, job: Job) -> str:
    if isinstance(action, ScheduleRetry):
        return f"ScheduleRetry {action.run} at {action.time:g}"
    version = f" {action.version.checkpoint}" if isinstance(action, DiscardVersion) else ""
    if isinstance(action, StartRun | StopRun | WriteSnapshot | PrepareUpdate):
        assert action.job == job
    return type(action).__name__ + version


def _changes(before: object, after: object, name: str = "") -> list[str]:
    """Return the fields that differ, with their values afterwards."""
    if before == after:
        return []
    if type(before) is type(after) and isinstance(before, Job | Version):
        changes = [
            _changes(getattr(before, each.name), getattr(after, each.name), each.name) for each in fields(before)
        ]
        return [f"{name}.{change}".removeprefix(".") for each in changes for change in each]
    return [f"{name}={_shown(after)}"]


def _shown(value: object) -> str:
    match value:
        case Version():
            return f"version {value.checkpoint}{' when suspended' if value.was_suspended else ''}"
        case Cause():
            return f"'{value.message}'"
        case Plan() | Body():
            return f"another {type(value).__name__.lower()}"
        case Enum():
            return str(value.value)
        case _:
            return str(value)
