"""What can happen to a job, and what is to be done about it: the words that `lifecycle` speaks.

Events come from users, from a run (see `engine`) and from the manager; those of a run carry it, so that late ones can
be told apart. Actions are carried out by worker threads, except ScheduleRetry.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from jetsql.jobs.lifecycle.engine_api import EngineEvent
from jetsql.jobs.model.job import Cause, Export, Job, Plan, RunId, Snapshot, Version


@dataclass(frozen=True)
class Submit:
    """A new job is to start."""


@dataclass(frozen=True)
class Suspend:
    pass


@dataclass(frozen=True)
class Resume:
    pass


@dataclass(frozen=True)
class Restart:
    pass


@dataclass(frozen=True)
class Cancel:
    """export: a snapshot that is to be kept of the state; without it the job is not ended."""

    export: Export | None = None


@dataclass(frozen=True)
class ExportState:
    """A snapshot of a suspended job is to be written."""

    export: Export


@dataclass(frozen=True)
class Update:
    """The job is to go on with another statement, or with other options. instead_of: the plan that it was judged by."""

    version: Version
    instead_of: Plan


@dataclass(frozen=True)
class AlterOptions:
    """instead_of: the plan that the new one was made from. changed: the names of the options that were given."""

    plan: Plan
    instead_of: Plan
    changed: tuple[str, ...] = ()
    resume: bool = False


@dataclass(frozen=True)
class Started:
    run: RunId


@dataclass(frozen=True)
class StartFailed:
    run: RunId
    cause: Cause


@dataclass(frozen=True)
class Stopped:
    """The run has ended because it was told to; graceful: at a batch boundary."""

    run: RunId
    graceful: bool


@dataclass(frozen=True)
class StopFailed:
    """The engine could not end the run; it may still be going on."""

    run: RunId
    cause: Cause


@dataclass(frozen=True)
class FilesDiscarded:
    """Checkpoint and staged rows of an ended job are gone."""

    run: RunId


@dataclass(frozen=True)
class CleanupFailed:
    """Recovering the sink or deleting files failed. doing: which, as a phrase."""

    run: RunId
    doing: str
    cause: Cause


@dataclass(frozen=True)
class SnapshotWritten:
    """A snapshot of the job is whole. of: what the job ran when it was copied. batch: the newest committed one."""

    export: Export
    of: Version
    batch: int
    size_bytes: int


@dataclass(frozen=True)
class Exported:
    """The snapshot of the job that does not run is whole."""

    run: RunId
    written: SnapshotWritten


@dataclass(frozen=True)
class ExportFailed:
    """There will be no snapshot of the job that does not run."""

    run: RunId
    cause: Cause


@dataclass(frozen=True)
class UpdatePrepared:
    """The proposed version can start: its checkpoint is a copy of the job's."""

    run: RunId


@dataclass(frozen=True)
class UpdateFailed:
    """The proposed version can't start."""

    run: RunId
    cause: Cause


@dataclass(frozen=True)
class TrialJudged:
    """A new version ended before its first commit. held: its batch is in the sink all the same; None: can't be told."""

    run: RunId
    held: bool | None
    cause: Cause | None = None


@dataclass(frozen=True)
class EngineUp:
    """The engine has started and takes over what the store says."""


@dataclass(frozen=True)
class EngineDown:
    """The engine is going to end; jobs continue with its next start."""


@dataclass(frozen=True)
class RetryDue:
    """The delay after this run's failure is over."""

    run: RunId


@dataclass(frozen=True)
class MembersChanged:
    """Members of the cluster have come or gone. Who is there now stands in the moment."""


@dataclass(frozen=True)
class MembersSettled:
    """For a while no members have come or gone."""


@dataclass(frozen=True)
class Superseded:
    """An ended job is of no more use. why: a sentence for its history."""

    why: str = "A newer job has its name."


UserEvent = Submit | Suspend | Resume | Restart | Cancel | AlterOptions | ExportState | Update | SnapshotWritten
RunEvent = (
    EngineEvent
    | Started
    | StartFailed
    | Stopped
    | StopFailed
    | FilesDiscarded
    | CleanupFailed
    | RetryDue
    | Exported
    | ExportFailed
    | UpdatePrepared
    | UpdateFailed
    | TrialJudged
)
Event = UserEvent | RunEvent | EngineUp | EngineDown | MembersChanged | MembersSettled | Superseded


@dataclass(frozen=True)
class StartRun:
    """Start `job.run`."""

    job: Job


@dataclass(frozen=True)
class StopRun:
    job: Job


@dataclass(frozen=True)
class RecoverSink:
    job: Job


@dataclass(frozen=True)
class DiscardFiles:
    job: Job


@dataclass(frozen=True)
class WriteSnapshot:
    """Write `job.export` of a job that does not run."""

    job: Job


@dataclass(frozen=True)
class PrepareUpdate:
    """Make the checkpoint of `job.proposed` from the job's."""

    job: Job


@dataclass(frozen=True)
class GiveUpUpdate:
    """Nobody waits for the job's new version any more: what is being prepared for it need not be finished."""

    job: Job


@dataclass(frozen=True)
class JudgeTrial:
    """Find out whether the first batch of a new version is in the sink."""

    job: Job


@dataclass(frozen=True)
class DiscardVersion:
    """Delete the checkpoint of a version that the job won't run any more."""

    job: Job
    version: Version


@dataclass(frozen=True)
class ScheduleRetry:
    """RetryDue of the run at this time, seconds since the epoch."""

    run: RunId
    at: float


WorkerAction = (
    StartRun
    | StopRun
    | RecoverSink
    | DiscardFiles
    | WriteSnapshot
    | PrepareUpdate
    | GiveUpUpdate
    | JudgeTrial
    | DiscardVersion
)
Action = WorkerAction | ScheduleRetry


class Outcome(Enum):
    MOVED = "moved"
    KEPT = "kept"
    REFUSED = "refused"
    LATE = "late"


@dataclass(frozen=True)
class Step:
    """What an event does to a job.

    job: afterwards. message, hint: for who sent the event: what is the matter when nothing moved. title, words: the
    history row; without a title none is written and the step need not be stored. snapshot: stored together with the
    job, in place of the one with the id `replaces`.
    """

    job: Job
    outcome: Outcome
    actions: tuple[Action, ...] = ()
    message: str = ""
    hint: str = ""
    title: str = ""
    words: str = ""
    snapshot: Snapshot | None = None
    replaces: str | None = None
