"""Data of jobs: plain frozen classes, without Spark, clock or store.

A `Plan` has the decisions about a job, which follow from the `Analysis` of its statement's body and from its `Options`.
A `Version` is a statement with its plan and checkpoint, and a `Job` runs one version after the other. Only the manager
changes a `Job`.
The store keeps these classes as JSON by the names of their fields, see `jobs.store.record_versions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum
from typing import Final

from jetsql.errors import SQLSTATES
from jetsql.jobs.model.body_analysis import Analysis, OutputMode, Sink
from jetsql.jobs.model.job_options import Guarantee, Options
from jetsql.language.statement import Body, StartMode, TableKind
from jetsql.request import OWNER


class Status(StrEnum):
    """The status of a job, by Hazelcast Jet's names. Equal to its text, as clients of an engine receive it."""

    NOT_RUNNING = "NOT_RUNNING"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    COMPLETING = "COMPLETING"
    SUSPENDED = "SUSPENDED"
    SUSPENDED_EXPORTING_SNAPSHOT = "SUSPENDED_EXPORTING_SNAPSHOT"
    FAILED = "FAILED"
    COMPLETED = "COMPLETED"

    @property
    def is_final(self) -> bool:
        """Return whether a job with this status has ended."""
        return self in (Status.FAILED, Status.COMPLETED)


class StopGoal(Enum):
    """The reason why a COMPLETING job is stopped."""

    SUSPEND = "SUSPEND"
    RESTART = "RESTART"
    CANCEL = "CANCEL"
    EXPORT = "EXPORT"  # write a snapshot of the state, then end
    UPDATE = "UPDATE"  # start the version that CREATE OR REPLACE JOB made
    FAIL = "FAIL"  # end, though no statement requested it


@dataclass(frozen=True)
class SinkPlan:
    """The decisions for one of the tables that a job writes: all that its writer needs to know about the job's plan."""

    sink: Sink
    guarantee: Guarantee
    upsert: bool = False  # rows are updated by the key columns
    overwrite: bool = False  # each result replaces the rows
    deletes: bool = False  # the last column of each row says whether the row deletes its key
    retracts: bool = False  # rows that an earlier batch wrote, and that left the result, are deleted
    has_state: bool = False  # the rows come from an operator with state, whose partitions must stay separate


@dataclass(frozen=True)
class Plan:
    """The decisions for a job, and its options: all that a run needs besides the body. The reason is not compared."""

    analysis: Analysis
    options: Options
    guarantee: Guarantee
    guarantee_reason: str = field(compare=False)  # a phrase
    interval_millis: int  # between micro-batches, or between two offset commits (see `progress_tracking`)
    output_mode: OutputMode | None
    upserts: tuple[bool, ...]  # see `SinkPlan.upsert`, for each sink
    overwrite: bool  # see `SinkPlan`, also for `deletes` and `retracts`
    suspend_on_failure: bool
    late_rows_table: str  # the qualified name of the table for late rows; empty to drop them
    deletes: bool = False
    retracts: bool = False
    refused_rows_table: str = ""  # the qualified name of the table for rows that the sink refuses; empty to stop

    @property
    def sinks(self) -> tuple[SinkPlan, ...]:
        """Return the plan of each sink, in the order of the body."""
        # One of several sinks gets the rows that the query has returned, which are stored before.
        has_state = self.analysis.stateful and len(self.analysis.sinks) == 1
        return tuple(
            SinkPlan(sink, self.guarantee, upsert, self.overwrite, self.deletes, self.retracts, has_state)
            for sink, upsert in zip(self.analysis.sinks, self.upserts, strict=True)
        )


@dataclass(frozen=True)
class Cause:
    """The reason of an error or of a change of a job."""

    message: str
    condition: str = ""
    sqlstate: str = ""
    batch: int | None = None  # the micro-batch in which it happened; None outside a batch
    retryable: bool = True  # a restart can help
    error_class: str = ""  # the exception's class
    where: str = ""  # the table, folder or system where it happened; empty when unknown
    hint: str = ""  # what the user can do, a sentence
    external_outage: bool = False  # an external system or cores are missing, and the job waits without limit

    def explained(self, condition: str, message: str, where: str, hint: str) -> Cause:
        """Return a retryable cause with JetSQL's condition and words instead of Spark's."""
        return replace(
            self,
            condition=f"JETSQL.{condition}",
            sqlstate=SQLSTATES[condition],
            retryable=True,
            message=message,
            where=where,
            hint=hint,
        )


CANCELLED: Final = Cause("cancelled by user", retryable=False)
"""The cause of a job that a statement has ended. `Job.is_dropped` recognizes it."""

DROPPED: Final = "DROPPED"
"""The status of a dropped job as users see it. Its life cycle ends as FAILED, as in Hazelcast Jet."""

RUNNING_STATUSES: Final = (Status.RUNNING, Status.COMPLETING)
"""The statuses of a job with a run, so that its rates and its lag are current."""

SHOWN_STATUSES: Final = (*(status.value for status in Status), DROPPED)
"""The statuses as users see them."""


@dataclass(frozen=True)
class SourceStart:
    """The position at which a job begins to read a source. It is decided once, before the job is created."""

    source: str  # the name of the source
    text: str  # the position, a phrase
    options: Mapping[str, str] = field(default_factory=dict)  # of the connector, which make it begin there
    since_micros: int | None = None
    """The time since the epoch before which files of the source were modified that are not read; None for all."""


@dataclass(frozen=True)
class Version:
    """One version of a job: its statement, and the checkpoint that it runs on."""

    statement: str  # the CREATE statement as written
    body: Body  # its part after AS
    plan: Plan
    comment: str | None = None
    checkpoint: int = 0  # number of its checkpoint; each update makes a new one
    first_trigger_done: bool = False  # before its first trigger is done, an error ends the job
    was_suspended: bool = False  # the job was suspended when the update to this version was requested
    software_versions: Mapping[str, str] = field(default_factory=dict)
    """Versions of JetSQL, Spark and the file formats that it was created with."""
    session_defaults: Mapping[str, str] = field(default_factory=dict)
    """Session settings of the release that created it; later releases can have others."""
    table_kind: TableKind | None = None
    """The kind of the table that the job belongs to; None for a job that CREATE JOB created."""
    start_mode: StartMode | None = None  # the clause of the statement
    starts: tuple[SourceStart, ...] = ()
    """The positions at which the job has begun to read its sources; empty if the options of the sources decide."""


@dataclass(frozen=True)
class SnapshotRequest:
    """A requested snapshot of a job that does not run."""

    id: str  # of the new snapshot
    name: str
    replaces: str | None = None  # the id of the snapshot whose name it takes over
    then_cancel: bool = False  # the job ends after the snapshot is written


@dataclass(frozen=True)
class Snapshot:
    """A named copy of a job's state, independent of the job."""

    id: str  # names its folder
    name: str
    job_id: str
    job_name: str
    statement: str  # the job's body; older releases kept the whole statement
    plan: Plan
    batch: int | None  # the newest committed batch that it holds; None before the first
    size_bytes: int
    created: float  # seconds since the epoch
    software_versions: Mapping[str, str] = field(default_factory=dict)
    session_defaults: Mapping[str, str] = field(default_factory=dict)
    owner: str = ""  # the key of the owner of its job, which may be forgotten; empty for one of an older release


@dataclass(frozen=True)
class RuleCount:
    """The rows that a rule of a job has checked, since it has this condition and this action."""

    rule: str
    condition: str
    action: str  # as in ON VIOLATION; WARN without it
    rows: int = 0
    violations: int = 0
    batch: int | None = None  # the newest batch that was checked; None before the first
    batch_violations: int = 0  # in this batch

    def add(self, batch: int, rows: int, violations: int) -> RuleCount:
        """Return the counts after another batch."""
        total, violated = self.rows + rows, self.violations + violations
        return replace(self, rows=total, violations=violated, batch=batch, batch_violations=violations)


@dataclass(frozen=True)
class Job:
    """A job at one moment."""

    id: str
    name: str
    version: Version
    submission_time: float  # seconds since the epoch
    status: Status = Status.NOT_RUNNING
    stop_goal: StopGoal | None = None
    run: int = 0  # number of its newest run, from 1; 0 before the first
    attempts: int = 0  # restarts in a row without progress
    batch: int | None = None  # the newest committed batch
    cause: Cause | None = None
    end_time: float | None = None  # seconds since the epoch
    has_files: bool = False  # it can have a checkpoint or staged rows
    highest_checkpoint: int = 0  # the highest number of its checkpoints; no number is used twice
    source_snapshot_id: str | None = None  # the snapshot that its state was copied from
    pending_version: Version | None = None  # the version of an update, while its checkpoint is prepared
    rollback_version: Version | None = None  # the version to return to until the new one has committed a batch
    snapshot_request: SnapshotRequest | None = None  # the snapshot that is being written
    expired: bool = False
    """The state is being deleted, so a COMPLETED job cannot run again, even if the engine dies meanwhile."""
    run_ended: bool = False  # its run reported its end while it was being stopped
    stop_cause: Cause | None = None  # why it is being stopped, when no statement requested it
    members: tuple[str, ...] = ()
    """The members that its newest run began on or took over, without those that leave or have left as planned."""
    members_left: bool = False  # members of its newest run leave or have left as planned
    cores: int = 0  # the tasks that Spark could run in parallel when its newest run began; 0 when unknown
    quorum: int = 0  # how many members it needs; 0 when it has no quorum, or it is not computed yet
    waiting_for_members: bool = False  # it is NOT_RUNNING because members are missing
    crashes: int = 0  # how often it has ended the engine's Spark in a row, since it last ran well or was resumed
    crash_reason: str = ""  # of the newest of these crashes, a sentence
    start_delay: float = (
        0.0  # seconds that the next engine waits before it starts the job, which may have ended this one
    )
    stable_after: float | None = None  # progress after this time, in seconds since the epoch, ends the row of crashes
    owner: str = OWNER  # the key of the user with whose rights it runs
    rule_counts: tuple[RuleCount, ...] = ()  # of its rules, after the newest batch that was written

    @property
    def plan(self) -> Plan:
        """Return the plan of the current version."""
        return self.version.plan

    @property
    def body(self) -> Body:
        """Return the body of the current version."""
        return self.version.body

    def with_plan(self, plan: Plan) -> Job:
        """Return the job with another plan of its current version."""
        return replace(self, version=replace(self.version, plan=plan))

    @property
    def is_live(self) -> bool:
        """Return whether the job has not ended."""
        return not self.status.is_final

    @property
    def is_dropped(self) -> bool:
        """Return whether a statement has ended the job. This is no failure."""
        return self.status is Status.FAILED and self.cause == CANCELLED

    @property
    def shown_status(self) -> str:
        """Return the status as users see it: one of `SHOWN_STATUSES`."""
        return DROPPED if self.is_dropped else self.status.value

    @property
    def run_id(self) -> RunId:
        """Return the id of its newest run."""
        return RunId(self.id, self.run)


def name_key(name: str) -> str:
    """Return a name in the form in which names are compared."""
    return name.casefold()


def checkpoint_name(number: int) -> str:
    """Return the name of a checkpoint's folder within a job's folder. number: `Version.checkpoint`."""
    return f"spark-{number}" if number else "spark"


RESTORED: Final = "restored"
"""The name of a file in the folder of a job that was restored from a backup and did not start since."""


def quoted_text(text: str) -> str:
    """Return a text as a string literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"


@dataclass(frozen=True)
class RunId:
    """The id of one execution of a job."""

    job: str
    run: int

    def __str__(self) -> str:
        return f"{self.job}-{self.run}"
