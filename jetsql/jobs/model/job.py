"""What a job is: plain frozen data, without Spark, clock or store.

Three stages, each a class: an `Analysis` is what the engine found in a statement's body, a `Plan` is what was decided
from it and the options, a `Job` is a plan with a life. Only the manager makes new versions of a `Job`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from jetsql.language.statement import Body


class Status(Enum):
    """A job's status, by Hazelcast Jet's names. The last two are final."""

    NOT_RUNNING = "NOT_RUNNING"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    COMPLETING = "COMPLETING"
    SUSPENDED = "SUSPENDED"
    SUSPENDED_EXPORTING_SNAPSHOT = "SUSPENDED_EXPORTING_SNAPSHOT"
    FAILED = "FAILED"
    COMPLETED = "COMPLETED"

    @property
    def final(self) -> bool:
        return self in (Status.FAILED, Status.COMPLETED)


class StopGoal(Enum):
    """Where a COMPLETING job is going. EXPORT: to a snapshot of its state, and then to its end. UPDATE: to the version
    that CREATE OR REPLACE JOB made. FAIL: to its end, though nobody asked for it."""

    SUSPEND = "SUSPEND"
    RESTART = "RESTART"
    CANCEL = "CANCEL"
    EXPORT = "EXPORT"
    UPDATE = "UPDATE"
    FAIL = "FAIL"


class Guarantee(Enum):
    """Processing guarantees, by the spelling of the option `processingGuarantee`."""

    EXACTLY_ONCE = "exactlyOnce"
    AT_LEAST_ONCE = "atLeastOnce"
    NONE = "none"


class Trigger(Enum):
    INTERVAL = "interval"
    AVAILABLE_NOW = "availableNow"
    REAL_TIME = "realTime"


class OutputMode(Enum):
    APPEND = "append"
    UPDATE = "update"
    COMPLETE = "complete"


class Replay(Enum):
    """Whether a source can give the same rows again."""

    YES = "yes"
    BY_CLOCK = "by wall clock"
    NO = "no"


class SinkKind(Enum):
    """How rows get into a sink; the engine has one writer for each."""

    FILES = "files"
    JDBC = "jdbc"
    KAFKA = "kafka"


@dataclass(frozen=True)
class Source:
    """One streaming source of a body.

    name: the table, or the format when there is none. rate_limited: a batch may leave available data for the next
    (`maxFilesPerTrigger`). endless: there is always a next batch, the source never falls idle. created: the catalogue's
    creation time of the table, milliseconds; 0 when there is none. letters: messages that don't fit its columns
    go into a table of dead letters.
    """

    name: str
    format: str
    location: str
    replay: Replay
    rate_limited: bool = False
    endless: bool = False
    created: int = 0
    letters: bool = False


@dataclass(frozen=True)
class Sink:
    """The table that a job writes, as it was when the job was made.

    table: qualified name. created: the catalogue's creation time, milliseconds. key_columns: from the table option
    `key.columns`, empty without. whole_table: an overwrite of everything, not of partitions. system: the system that
    the table is in, as people may see it; empty for file tables. transactional: it can take a batch as a whole.
    managed: DROP TABLE deletes its rows. numbered: each message carries the number of its batch (`delivery.headers`).
    """

    table: str
    kind: SinkKind
    provider: str
    location: str
    created: int
    columns: tuple[str, ...] = ()
    partition_columns: tuple[str, ...] = ()
    key_columns: tuple[str, ...] = ()
    whole_table: bool = True
    system: str = ""
    transactional: bool = True
    managed: bool = True
    numbered: bool = False


@dataclass(frozen=True)
class Operator:
    """A stateful operator of a query."""

    kind: str  # the class of the node in Spark's plan, such as Aggregate
    meaning: str = ""  # its expressions down to the sources' columns, with their types

    def __str__(self) -> str:
        return f"{self.kind}; {self.meaning}" if self.meaning else self.kind


@dataclass(frozen=True)
class CapturedSession:
    """What a job keeps of the session that made it, as a view does: every run gets a fresh session with exactly this.

    confs: the runtime SQL settings that differ from the engine's; session time zone and ANSI mode always.
    """

    catalog: str
    schema: str
    confs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Analysis:
    """What the engine found in a body. Nothing is decided yet.

    modes: for each output mode None where Spark can run the query in it, else the reason why not (streaming only).
    operators: those that keep state, in their order (streaming only). stateful: the query keeps state from batch to
    batch (aggregates, joins of streams, duplicates). dated_output: output waits for a watermark. varying: what in the
    query may spread the rows of a batch over other parts when the batch is repeated, in words; empty when nothing does.
    """

    streaming: bool
    sources: tuple[Source, ...]
    sink: Sink
    session: CapturedSession
    modes: Mapping[OutputMode, str | None] = field(default_factory=dict)
    aggregates: bool = False
    stateful: bool = False
    dated_output: bool = False
    operators: tuple[Operator, ...] = ()
    varying: str = ""

    @property
    def state_facts(self) -> tuple[str, ...]:
        """Return the operators as texts that can be shown."""
        return tuple(f"state {n}: {operator}" for n, operator in enumerate(self.operators))

    @property
    def fingerprint(self) -> tuple[str, ...]:
        """Return what must stay the same for the state to stay valid, as texts that can be shown."""
        if not self.streaming:
            return ()
        read = (f"source {n}: {each.format} {each.name} {each.location}" for n, each in enumerate(self.sources))
        return (*read, *self.state_facts)


@dataclass(frozen=True)
class Plan:
    """What was decided for a job: all that a run needs beside the body's text.

    interval_millis: time between micro-batches, or between two notes of how far it is (see `jobs.tracking`).
    spark_confs: the job's own `spark.*` options.
    options: canonical spelling, only those that the user gave, for SHOW CREATE JOB and DESCRIBE.
    """

    analysis: Analysis
    guarantee: Guarantee
    guarantee_reason: str
    trigger: Trigger
    interval_millis: int
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
    spark_confs: Mapping[str, str]
    options: Mapping[str, str]


@dataclass(frozen=True)
class Cause:
    """Why something happened to a job: for people first, the error's class for programs.

    batch: the micro-batch it happened in, None outside one. heals: False where trying again can't help. error_class:
    the exception's class. where: the table, folder or system it happened at; empty when that is not known. hint: what
    to do about it, a sentence of its own. away: nothing is wrong with the job, which waits for a system to answer, or
    for cores, however long that takes.
    """

    message: str
    condition: str = ""
    sqlstate: str = ""
    batch: int | None = None
    heals: bool = True
    error_class: str = ""
    where: str = ""
    hint: str = ""
    away: bool = False


CANCELLED: Final = Cause("cancelled by user", heals=False)


@dataclass(frozen=True)
class Version:
    """One version of a job's statement, with the checkpoint that it runs on (see `Job`).

    suspended: the job was suspended when this version was proposed.
    """

    text: str
    body: Body
    plan: Plan
    comment: str | None = None
    checkpoint: int = 0
    established: bool = False
    suspended: bool = False
    versions: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Export:
    """A snapshot that is to be written of a job that does not run.

    id: of the new snapshot. replaces: the id of the one whose name it takes over. then_cancel: the job ends after it.
    """

    id: str
    name: str
    replaces: str | None = None
    then_cancel: bool = False


@dataclass(frozen=True)
class Snapshot:
    """A named copy of a job's state, whole and apart from the job.

    id: names its folder. job, job_name, plan, versions, defaults: of the job when it was taken. text: the job's body;
    older releases kept the whole statement. batch: the newest committed batch that it holds, None before the
    first. created: seconds since the epoch.
    """

    id: str
    name: str
    job: str
    job_name: str
    text: str
    plan: Plan
    batch: int | None
    size_bytes: int
    created: float
    versions: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Job:
    """A job at one moment.

    run: number of its newest run, from 1; 0 before the first. attempts: restarts in a row without progress.
    established: its first trigger has gone through (before that an error is final). batch: the newest
    committed batch. text: the CREATE statement as written, body: its part behind AS. files: it may have a checkpoint or
    staged rows. submitted, ended: seconds since the epoch. versions: of JetSQL, Spark and the file formats it was made
    with. checkpoint: which of its checkpoints it runs on; each update makes a new one. newest_checkpoint: the highest
    number of them, which no other ever gets. origin: the id of the snapshot that its state began from. proposed: the
    version that an update brings, while its checkpoint is prepared. previous: the version to go back to, until the new
    one has committed a batch. export: the snapshot that is being written. expired: its state is being deleted, so a
    COMPLETED job can't run again, even if the engine dies in the middle. over: its run has told its end, while it was
    being stopped. defaults: settings that its sessions had when
    it was made, which later releases may have others for. stop_cause: why it is being stopped, when not by a statement.
    members: of the cluster, those that were there when its newest run began. quorum: how many have to be there for it
    to run, 0 where that is not asked for or not worked out yet. waiting: it is NOT_RUNNING because members are missing.
    """

    id: str
    name: str
    text: str
    body: Body
    plan: Plan
    submitted: float
    comment: str | None = None
    status: Status = Status.NOT_RUNNING
    stop_goal: StopGoal | None = None
    run: int = 0
    attempts: int = 0
    established: bool = False
    batch: int | None = None
    cause: Cause | None = None
    ended: float | None = None
    files: bool = False
    versions: Mapping[str, str] = field(default_factory=dict)
    checkpoint: int = 0
    newest_checkpoint: int = 0
    origin: str | None = None
    proposed: Version | None = None
    previous: Version | None = None
    export: Export | None = None
    expired: bool = False
    over: bool = False
    defaults: Mapping[str, str] = field(default_factory=dict)
    stop_cause: Cause | None = None
    members: tuple[str, ...] = ()
    quorum: int = 0
    waiting: bool = False

    @property
    def spark_text(self) -> str:
        return self.body.spark_text

    @property
    def live(self) -> bool:
        return not self.status.final


def name_key(name: str) -> str:
    """A job's name as it is compared."""
    return name.casefold()


def checkpoint_name(number: int) -> str:
    """The folder of Spark's checkpoint within a job's folder. number: `Job.checkpoint`."""
    return f"spark-{number}" if number else "spark"


def quoted_name(name: str) -> str:
    """A name as a statement takes it, whatever is in it."""
    return f"`{name.replace('`', '``')}`"


def quoted_text(text: str) -> str:
    """A text as a string of a statement, whatever is in it."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"


@dataclass(frozen=True)
class RunId:
    """One execution of a job."""

    job: str
    run: int

    def __str__(self) -> str:
        return f"{self.job}-{self.run}"
