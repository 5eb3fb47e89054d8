"""The table of the life cycle: every status and event. `test_lifecycle_model` compares the whole with a small model."""

from __future__ import annotations

from typing import get_args

import pytest

from jetsql.jobs.lifecycle.events import (
    AlterOptions,
    Cancel,
    ChangeOwner,
    CleanupFailed,
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
    RightsLost,
    RunEvent,
    SnapshotFailed,
    SnapshotFinished,
    SnapshotWritten,
    Started,
    StartFailed,
    Step,
    StopFailed,
    Stopped,
    Submit,
    Superseded,
    Suspend,
    TakeSnapshot,
    TrialProbed,
    Update,
    UpdateFailed,
    UpdatePrepared,
)
from jetsql.jobs.lifecycle.runtime import (
    BatchCommitted,
    GroupNotice,
    LineageFound,
    ResourceExhausted,
    ResourceNotice,
    RestartRequested,
    RowsChecked,
    RunBlocked,
    RunCompleted,
    RunFailed,
    RunIdle,
    RunProgressed,
    SinkNotice,
)
from jetsql.jobs.lifecycle.transitions import TABLE
from jetsql.jobs.model.job import RuleCount, Status, StopGoal
from jetsql.jobs.openlineage.job_lineage import NO_LINEAGE
from tests.support.models.lifecycle_cases import ENDANGERS, EXPORT, RETRYABLE_ERROR, RUN, after, job, version

EVENTS: dict[type, Event] = {
    Submit: Submit(),
    Suspend: Suspend(),
    Resume: Resume(),
    Restart: Restart(),
    Cancel: Cancel(),
    AlterOptions: AlterOptions(job().plan, job().plan, ("restartAttempts",)),
    ChangeOwner: ChangeOwner("ann"),
    RightsLost: RightsLost(RETRYABLE_ERROR),
    TakeSnapshot: TakeSnapshot(EXPORT),
    Update: Update(version(), job().plan),
    SnapshotWritten: SnapshotWritten(EXPORT, version(0), 7, 1000),
    SnapshotFinished: SnapshotFinished(RUN, SnapshotWritten(EXPORT, version(0), 7, 1000)),
    SnapshotFailed: SnapshotFailed(RUN, RETRYABLE_ERROR),
    UpdatePrepared: UpdatePrepared(RUN),
    UpdateFailed: UpdateFailed(RUN, RETRYABLE_ERROR),
    TrialProbed: TrialProbed(RUN, False),
    Started: Started(RUN),
    StartFailed: StartFailed(RUN, RETRYABLE_ERROR),
    Stopped: Stopped(RUN, True),
    StopFailed: StopFailed(RUN, RETRYABLE_ERROR),
    BatchCommitted: BatchCommitted(RUN, 7, 999.0, 10, 5.0),
    RunIdle: RunIdle(RUN, 999.0),
    RunProgressed: RunProgressed(RUN, 10, 5.0),
    RunBlocked: RunBlocked(RUN, RETRYABLE_ERROR),
    RunCompleted: RunCompleted(RUN),
    RunFailed: RunFailed(RUN, RETRYABLE_ERROR),
    RestartRequested: RestartRequested(RUN, "the dimension was overwritten"),
    SinkNotice: SinkNotice(RUN, "staged files were gone"),
    GroupNotice: GroupNotice(RUN, "the group has members"),
    RowsChecked: RowsChecked(RUN, (RuleCount("valid", "id > 0", "WARN", 3, 1),)),
    LineageFound: LineageFound(RUN, NO_LINEAGE),
    ResourceNotice: ResourceNotice(RUN, "1,024 files are open"),
    ResourceExhausted: ResourceExhausted(RUN, ENDANGERS),
    FilesDiscarded: FilesDiscarded(RUN),
    CleanupFailed: CleanupFailed(RUN, "Deleting", RETRYABLE_ERROR),
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
    ChangeOwner: "N S R X X X X X P E F C",
    RightsLost: "P X X X X . . X . . . .",
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
    GroupNotice: ". . . . . . . . . . . .",
    RowsChecked: ". . . . . . . . . . . .",
    LineageFound: ". . . . . . . . . . . .",
    ResourceNotice: "~ . . . . . . . ~ ~ ~ ~",
    ResourceExhausted: ". X X X X . . X ~ ~ ~ ~",
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
def test_every_event_and_status_has_an_effect(kind: type) -> None:
    row = [shown(after(EVENTS[kind], job(status, goal))) for status, goal in STATES]
    assert " ".join(row) == CELLS[kind]


def test_the_table_knows_every_event_and_every_status() -> None:
    assert set(TABLE) == set(get_args(Event)) == set(CELLS) == set(EVENTS)
    for row in TABLE.values():
        assert set(row) == set(Status)


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("kind", get_args(RunEvent), ids=lambda kind: kind.__name__)
def test_events_of_older_runs_are_ignored_in_every_status(kind: type, status: Status) -> None:
    before = job(status, run=4)
    assert after(EVENTS[kind], before) == Step(before, Outcome.STALE)


@pytest.mark.parametrize("kind", CELLS, ids=lambda kind: kind.__name__)
def test_refusals_have_reasons_and_changes_are_in_the_history(kind: type) -> None:
    for status, goal in STATES:
        taken = after(EVENTS[kind], job(status, goal))
        if taken.outcome is Outcome.REFUSED:
            assert taken.message and not taken.actions and not taken.history_event
        if taken.outcome is Outcome.CHANGED:
            assert taken.history_event and taken.history_message
        if taken.outcome is Outcome.STALE:
            assert taken.job == job(status, goal) and not taken.actions
