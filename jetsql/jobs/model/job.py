"""Data of jobs: plain frozen classes, without Spark, clock or store.

An `Analysis` has the facts that the engine found in a statement's body. A `Plan` has the decisions about a job. A
`Version` is a statement with its plan and checkpoint, and a `Job` runs one version after the other. Only the manager
changes a `Job`. The store keeps these classes as JSON by the names of their fields, see `jobs.store.record_versions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum
from typing import Final

from jetsql.errors import SQLSTATES
from jetsql.jobs.model.function import UsedFunction
from jetsql.language.statement import Body, TableKind


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


class Guarantee(Enum):
    """Processing guarantees, by the spelling of the option `processingGuarantee`."""

    EXACTLY_ONCE = "exactlyOnce"
    AT_LEAST_ONCE = "atLeastOnce"
    NONE = "none"


class Trigger(Enum):
    """Triggers, by the spelling of the option `trigger`."""

    INTERVAL = "interval"
    AVAILABLE_NOW = "availableNow"
    REAL_TIME = "realTime"


class OutputMode(Enum):
    """Spark's output modes, by the spelling of the option `outputMode`."""

    APPEND = "append"
    UPDATE = "update"
    COMPLETE = "complete"


class Replay(Enum):
    """The ability of a source to return the same rows again."""

    YES = "yes"
    BY_CLOCK = "by wall clock"
    NO = "no"


class SinkKind(Enum):
    """The kinds of sinks; the engine has one writer for each."""

    FILES = "files"
    JDBC = "jdbc"
    KAFKA = "kafka"
    DELTA = "delta"
    ICEBERG = "iceberg"

    @property
    def is_lake(self) -> bool:
        """Return whether tables of this kind are changed by commits, of which readers see all or nothing."""
        return self in (SinkKind.DELTA, SinkKind.ICEBERG)


@dataclass(frozen=True)
class Source:
    """One streaming source of a body."""

    name: str  # the table, or the format when there is no table
    format: str
    location: str
    replay: Replay
    rate_limited: bool = False  # a batch can leave available rows to the next one (`maxFilesPerTrigger`)
    endless: bool = False  # there is always a next batch: the source is never idle
    created: int = 0  # the catalogue's creation time of the table, milliseconds; 0 when there is none
    has_dead_letters: bool = False  # messages that do not fit its columns go into a dead-letter table
    identity: str = ""  # of a Delta or Iceberg table: what no other table has, also not one with its name
    reads_changes: bool = False  # the change data feed of a Delta table, in which replaced rows are changes


@dataclass(frozen=True)
class Sink:
    """The table that a job writes, as it was when the job was created."""

    table: str  # qualified name
    kind: SinkKind
    provider: str
    location: str
    created: int  # the catalogue's creation time, milliseconds
    columns: tuple[str, ...] = ()
    partition_columns: tuple[str, ...] = ()
    key_columns: tuple[str, ...] = ()  # from the table option `key.columns`
    replaces_whole_table: bool = True  # INSERT OVERWRITE replaces the table, not only its partitions
    replaces_partitions: bool = False  # INSERT OVERWRITE replaces those of the new rows
    system: str = ""  # the external system of the table, without secrets; empty for file tables
    transactional: bool = True  # a batch and its number can be written in one transaction
    managed: bool = True  # DROP TABLE deletes its rows
    has_batch_numbers: bool = False  # each message carries the number of its batch (`delivery.headers`)
    identity: str = ""  # of a Delta or Iceberg table: what no other table has, also not one with its name

    @property
    def replaces_part(self) -> bool:
        """Return whether the job's statement replaces some rows of a Delta or Iceberg table."""
        return self.kind.is_lake and not self.replaces_whole_table


@dataclass(frozen=True)
class Operator:
    """A stateful operator of a query."""

    kind: str  # the class of the node in Spark's plan, such as Aggregate
    meaning: str = ""  # its expressions down to the sources' columns, with their types

    def __str__(self) -> str:
        return f"{self.kind}; {self.meaning}" if self.meaning else self.kind


@dataclass(frozen=True)
class Rewrite:
    """A use of a rule that replaces operators of a query that Spark cannot run over streams."""

    rule: str
    version: int
    meaning: str = field(default="", compare=False)  # a phrase
    caution: str = field(default="", compare=False)  # how the result can differ from a batch query's, a sentence

    def __str__(self) -> str:
        return f"{self.rule}, version {self.version}"


@dataclass(frozen=True)
class CapturedSession:
    """The part of a user's session that a job keeps, as a view does. Every run gets a new session with exactly this."""

    catalog: str
    schema: str
    confs: Mapping[str, str] = field(default_factory=dict)
    """The runtime SQL settings that differ from the engine's; session time zone and ANSI mode always."""


@dataclass(frozen=True)
class Analysis:
    """The facts that the engine found in a body. Nothing is decided yet.

    Fields that describe in words are not compared: releases word them differently.
    """

    streaming: bool
    sources: tuple[Source, ...]
    sink: Sink
    session: CapturedSession
    modes: Mapping[OutputMode, str | None] = field(default_factory=dict, compare=False)
    """The reason why Spark cannot run the query in an output mode, or None when it can (streaming only)."""
    has_aggregates: bool = False
    stateful: bool = False  # the query keeps state between batches (aggregates, joins of streams, duplicates)
    waits_for_watermark: bool = False  # rows are returned only after a watermark has passed them
    operators: tuple[Operator, ...] = ()  # the stateful operators, in their order (streaming only)
    rewrites: tuple[Rewrite, ...] = ()  # the rules that made operators of the query
    batch_part: str = field(default="", compare=False)
    """The part that runs as a batch query over the rows of each batch, a phrase; empty if all of it is streamed."""
    kept_state: tuple[str, ...] = field(default=(), compare=False)
    """The state that no watermark removes, as phrases."""
    functions: tuple[UsedFunction, ...] = ()  # the functions in Python that it calls, by name
    unstable_partitioning: str = field(default="", compare=False)
    """The part of the query that can put rows into other partitions when a batch is repeated; empty for none."""
    keeps_history: bool = False  # AUTO CDC with SCD TYPE 2: the state and the table keep all changes of each key
    tables_read_once: tuple[str, ...] = ()  # of a batch job: the tables that it could read as streams, qualified
    more_sinks: tuple[Sink, ...] = ()  # the sinks after the first, of a body with several INSERTs
    late_rows_refusal: str = field(default="an earlier version of JetSQL has created it", compare=False)
    """The reason why the query's late rows cannot be kept, a clause; empty if they can."""
    idle_timeout_refusal: str = field(default="an earlier version of JetSQL has created it", compare=False)
    """The reason why no idle source can hold back the query's watermark, a clause; empty if one can."""
    marks_deleted: bool = False  # the query's last column marks rows that left its result
    lookups: tuple[str, ...] = field(default=(), compare=False)
    """The joins that read the rows of a JDBC table by the keys of each batch, as phrases."""
    lacking_clauses: tuple[str, ...] = field(default=(), compare=False)
    """The first words of clauses that the engine's Spark does not have, such as QUALIFY."""

    @property
    def sinks(self) -> tuple[Sink, ...]:
        """Return all tables that the job writes, in the order of its body."""
        return (self.sink, *self.more_sinks)

    @property
    def sink_names(self) -> str:
        """Return the names of the sinks, separated by commas."""
        return ", ".join(dict.fromkeys(sink.table for sink in self.sinks))

    @property
    def branches(self) -> tuple[Analysis, ...]:
        """Return an analysis for each sink, as if it were the only one."""
        if not self.more_sinks:
            return (self,)
        # A branch reads the rows that the query has returned, so it has no state.
        return tuple(replace(self, sink=sink, more_sinks=(), stateful=False) for sink in self.sinks)

    @property
    def joins_streams(self) -> bool:
        """Return whether the query joins streams, also by EXISTS or IN."""
        return any(operator.kind == "Join" for operator in self.operators)

    @property
    def matches_streams(self) -> bool:
        """Return whether the query has an ASOF JOIN of streams that is not rewritten."""
        return any(operator.kind == "AsOfJoin" for operator in self.operators)

    @property
    def has_state_variables(self) -> bool:
        """Return whether an operator keeps several variables, whose schemas Spark stores by their absolute paths."""
        return any(operator.kind == "TransformWithState" for operator in self.operators)

    @property
    def operator_texts(self) -> tuple[str, ...]:
        """Return the operators, and the rules that made them, as texts that can be shown."""
        operators = (f"state {n}: {operator}" for n, operator in enumerate(self.operators))
        return (*operators, *(f"rule {rewrite}" for rewrite in dict.fromkeys(self.rewrites)))

    @property
    def fingerprint(self) -> tuple[str, ...]:
        """Return what must stay the same for the state to stay valid, as texts that can be shown."""
        if not self.streaming:
            return ()
        read = (f"source {n}: {each.format} {each.name} {each.location}" for n, each in enumerate(self.sources))
        return (*read, *self.operator_texts)


@dataclass(frozen=True)
class Plan:
    """The decisions for a job: everything that a run needs besides the body's text. The reason is not compared."""

    analysis: Analysis
    guarantee: Guarantee
    guarantee_reason: str = field(compare=False)  # a phrase
    trigger: Trigger
    interval_millis: int  # between micro-batches, or between two offset commits (see `progress_tracking`)
    output_mode: OutputMode | None
    upsert: bool
    overwrite: bool
    restart_attempts: int
    suspend_on_failure: bool
    auto_scaling: bool
    split_brain_protection: bool
    metrics_enabled: bool
    store_metrics_after_completion: bool
    initial_snapshot: str | None
    spark_confs: Mapping[str, str]  # the job's own `spark.*` options
    options: Mapping[str, str]  # canonical spelling, only those that the user set
    deletes: bool = False  # the last column of each row says whether the row deletes its key
    more_upserts: tuple[bool, ...] = ()  # `upsert` for each sink after the first
    late_rows: str = ""  # the qualified name of the table for late rows; empty to drop them
    idle_timeout_millis: int | None = None  # a source without rows for so long does not hold back the watermark
    state_ttl_millis: int | None = None  # the time to live of state that no watermark removes; None for ever
    retracts: bool = False  # rows that an earlier batch wrote, and that left the result, are deleted

    @property
    def branches(self) -> tuple[Plan, ...]:
        """Return a plan for each sink, as if it were the only one."""
        if not self.analysis.more_sinks:
            return (self,)
        upserts = (self.upsert, *self.more_upserts)
        return tuple(
            replace(self, analysis=analysis, upsert=upsert, more_upserts=())
            for analysis, upsert in zip(self.analysis.branches, upserts, strict=True)
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
    members: tuple[str, ...] = ()  # the members that were there when its newest run began
    quorum: int = 0  # how many members it needs; 0 when it has no quorum, or it is not computed yet
    waiting_for_members: bool = False  # it is NOT_RUNNING because members are missing
    crashes: int = 0  # how often it has ended the engine's Spark in a row, since it last ran well or was resumed
    crash_reason: str = ""  # of the newest of these crashes, a sentence
    start_delay: float = (
        0.0  # seconds that the next engine waits before it starts the job, which may have ended this one
    )
    stable_after: float | None = None  # progress after this time, in seconds since the epoch, ends the row of crashes

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


def quoted_name(name: str) -> str:
    """Return a name in back quotes, as statements accept it."""
    return f"`{name.replace('`', '``')}`"


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
