"""Events of a job's life cycle, and the actions that follow from them.

Events come from users, from a run (see `runtime`) and from the manager. An event of a run carries the run's id, so
that stale events can be recognized. Worker threads carry out the actions, except ScheduleRetry.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from jetsql.jobs.lifecycle.runtime import RuntimeEvent
from jetsql.jobs.model.job import Cause, Job, Plan, RunId, Snapshot, SnapshotRequest, Version


@dataclass(frozen=True)
class Submit:
    """Start a new job."""


@dataclass(frozen=True)
class Suspend:
    """Stop the run and keep the state."""


@dataclass(frozen=True)
class Resume:
    """Start a job that does not run."""

    plan: Plan | None = None  # with the sinks as they are now, after they were replaced; None for the job's plan
    expected_plan: Plan | None = None  # the plan that the new one was made from


@dataclass(frozen=True)
class Restart:
    """Stop the run and start a new one."""


@dataclass(frozen=True)
class Cancel:
    """Stop the run, end the job and delete its state."""

    snapshot_request: SnapshotRequest | None = None  # the job ends only when this snapshot is written


@dataclass(frozen=True)
class TakeSnapshot:
    """Write a snapshot of a suspended job."""

    request: SnapshotRequest


@dataclass(frozen=True)
class Update:
    """Continue the job with another statement, or with other options."""

    version: Version
    expected_plan: Plan  # the plan with which the new version was compared


@dataclass(frozen=True)
class AlterOptions:
    """Change the options of a suspended job."""

    plan: Plan
    expected_plan: Plan  # the plan that the new one was made from
    changed_options: tuple[str, ...] = ()  # the names of the options in the statement
    resume: bool = False


@dataclass(frozen=True)
class ChangeOwner:
    """Give the job to another user. It runs with the rights of the new owner from then on."""

    owner: str  # the key of the user


@dataclass(frozen=True)
class RightsLost:
    """The owner may not do any more what the job does: suspend it."""

    cause: Cause


@dataclass(frozen=True)
class Started:
    """The engine started the run."""

    run: RunId


@dataclass(frozen=True)
class StartFailed:
    """The engine could not start the run."""

    run: RunId
    cause: Cause


@dataclass(frozen=True)
class Stopped:
    """The run ended because it was stopped."""

    run: RunId
    graceful: bool  # it ended at a batch boundary


@dataclass(frozen=True)
class StopFailed:
    """The engine could not stop the run; it can still be running."""

    run: RunId
    cause: Cause


@dataclass(frozen=True)
class FilesDiscarded:
    """Checkpoint and staged rows of an ended job are deleted."""

    run: RunId


@dataclass(frozen=True)
class CleanupFailed:
    """Recovering the sink or deleting files failed."""

    run: RunId
    operation: str  # a phrase
    cause: Cause


@dataclass(frozen=True)
class SnapshotWritten:
    """A snapshot of the job is complete."""

    request: SnapshotRequest
    version: Version  # the job's version when the state was copied
    batch: int  # the newest committed batch in it
    size_bytes: int


@dataclass(frozen=True)
class SnapshotFinished:
    """The snapshot of a job that does not run is complete."""

    run: RunId
    written: SnapshotWritten


@dataclass(frozen=True)
class SnapshotFailed:
    """The snapshot of a job that does not run could not be written."""

    run: RunId
    cause: Cause


@dataclass(frozen=True)
class UpdatePrepared:
    """The pending version can start: its checkpoint is a copy of the job's."""

    run: RunId


@dataclass(frozen=True)
class UpdateFailed:
    """The pending version cannot start."""

    run: RunId
    cause: Cause


@dataclass(frozen=True)
class TrialProbed:
    """The sink was searched for the batch of a new version that ended before its first commit."""

    run: RunId
    batch_in_sink: bool | None  # None: unknown, because of `cause`
    cause: Cause | None = None


@dataclass(frozen=True)
class EngineStarted:
    """The engine has started and continues the jobs of the store."""


@dataclass(frozen=True)
class EngineCrashed:
    """The engine's Spark has ended by itself while a batch of the job was running; the engine ends, too."""

    message: str
    is_culprit: bool = False  # the job has ended it
    start_delay: float = 0.0  # seconds that the next engine waits before it starts the job


@dataclass(frozen=True)
class EngineStopping:
    """The engine is going to end; jobs continue with its next start."""


@dataclass(frozen=True)
class RetryDue:
    """The delay after this run's failure is over."""

    run: RunId


@dataclass(frozen=True)
class MembersChanged:
    """Members have joined, left or begun to leave; `StepContext.cluster` has the state now."""


@dataclass(frozen=True)
class MembersSettled:
    """No member has joined, left or begun to leave for the configured delay."""


@dataclass(frozen=True)
class Superseded:
    """An ended job is not needed any more."""

    reason: str = "A newer job has its name."  # a sentence for its history


UserEvent = (
    Submit
    | Suspend
    | Resume
    | Restart
    | Cancel
    | AlterOptions
    | ChangeOwner
    | RightsLost
    | TakeSnapshot
    | Update
    | SnapshotWritten
)
RunEvent = (
    RuntimeEvent
    | Started
    | StartFailed
    | Stopped
    | StopFailed
    | FilesDiscarded
    | CleanupFailed
    | RetryDue
    | SnapshotFinished
    | SnapshotFailed
    | UpdatePrepared
    | UpdateFailed
    | TrialProbed
)
Event = (
    UserEvent | RunEvent | EngineStarted | EngineCrashed | EngineStopping | MembersChanged | MembersSettled | Superseded
)


@dataclass(frozen=True)
class StartRun:
    """Start `job.run`."""

    job: Job


@dataclass(frozen=True)
class StopRun:
    """Stop `job.run`, gracefully if possible."""

    job: Job
    immediately: bool = False  # the running batch is not waited for


@dataclass(frozen=True)
class RecoverSink:
    """Finish or roll back a batch that is partly written to the job's sink."""

    job: Job


@dataclass(frozen=True)
class DiscardFiles:
    """Delete the job's checkpoints and staged rows."""

    job: Job


@dataclass(frozen=True)
class WriteSnapshot:
    """Write the snapshot `job.snapshot_request` of a job that does not run."""

    job: Job


@dataclass(frozen=True)
class PrepareUpdate:
    """Make the checkpoint of `job.pending_version` from the job's."""

    job: Job


@dataclass(frozen=True)
class AbandonUpdate:
    """Cancel the preparation of the pending version: no statement waits for it any more."""

    job: Job


@dataclass(frozen=True)
class ProbeTrial:
    """Find out whether the first batch of a new version is in the sink."""

    job: Job


@dataclass(frozen=True)
class DiscardVersion:
    """Delete the checkpoint of a version that the job will not run again."""

    job: Job
    version: Version


@dataclass(frozen=True)
class ScheduleRetry:
    """Send RetryDue for the run at this time."""

    run: RunId
    time: float  # seconds since the epoch


WorkerAction = (
    StartRun
    | StopRun
    | RecoverSink
    | DiscardFiles
    | WriteSnapshot
    | PrepareUpdate
    | AbandonUpdate
    | ProbeTrial
    | DiscardVersion
)
Action = WorkerAction | ScheduleRetry


class Outcome(Enum):
    """The effect of an event on a job."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    REFUSED = "refused"
    STALE = "stale"


@dataclass(frozen=True)
class Step:
    """The effect of an event: the changed job, the actions that follow, a history row, and a reply to the sender."""

    job: Job  # the job after the event
    outcome: Outcome
    actions: tuple[Action, ...] = ()
    message: str = ""  # reply to the sender: why nothing changed
    hint: str = ""  # reply to the sender: what the user can do
    history_event: str = ""  # event of the history row; when empty, no row is written and the step need not be stored
    history_message: str = ""  # message of the history row
    snapshot: Snapshot | None = None  # stored together with the job
    replaced_snapshot_id: str | None = None  # removed when `snapshot` is stored
