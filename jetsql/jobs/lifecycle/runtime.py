"""The interface between the manager and what runs the jobs: eight protocols, and the events that a run reports.

The tests use an in-memory implementation. The manager calls `analyse`, `check_conf`, `check_real_time` and `explain` on
the thread of a statement, and all other methods on worker threads, so they can block. The manager's writer thread never
calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from jetsql.jobs.model.body_analysis import Analysis, OutputMode
from jetsql.jobs.model.cluster_member import ClusterState, Member
from jetsql.jobs.model.function import Function
from jetsql.jobs.model.job import Cause, Job, Plan, RuleCount, RunId, SourceStart, Version
from jetsql.jobs.openlineage.job_lineage import JobLineage
from jetsql.jobs.store.metrics import BatchMetrics
from jetsql.language.statement import Body, CreateFunction, StartMode, TableIdentifier


@dataclass(frozen=True)
class BatchCommitted:
    """The run committed a micro-batch."""

    run: RunId
    batch: int
    trigger_time: float  # when its trigger began, seconds since the epoch
    input_rows: int
    rows_per_second: float
    late_rows: int = 0
    is_replay: bool = False  # an earlier run planned the batch, so it has the rows of that time
    metrics: BatchMetrics | None = None
    begun_after: int = 0  # the newest call of `JobRuntime.watch` before its trigger began; 0 for none


@dataclass(frozen=True)
class RunIdle:
    """A trigger found no rows, or has left none of the rows that were there when it began."""

    run: RunId
    trigger_time: float  # when the trigger began, seconds since the epoch
    rows_per_second: float = 0.0
    begun_after: int = 0  # the newest call of `JobRuntime.watch` before the trigger began; 0 for none


@dataclass(frozen=True)
class RunProgressed:
    """Rows were written in a long batch that is committed only at its end (real-time mode)."""

    run: RunId
    rows: int  # since the last report
    rows_per_second: float


@dataclass(frozen=True)
class RunBlocked:
    """The run makes no progress, because an external system does not answer or refuses the job."""

    run: RunId
    cause: Cause | None  # None when the run is not blocked any more


@dataclass(frozen=True)
class RunCompleted:
    """The run ended by itself, and everything is committed."""

    run: RunId
    message: str = ""  # for the job's history


@dataclass(frozen=True)
class RunFailed:
    """The run ended with an error."""

    run: RunId
    cause: Cause


@dataclass(frozen=True)
class SinkNotice:
    """A notice about the sink for the job's history; the run continues."""

    run: RunId
    message: str


@dataclass(frozen=True)
class GroupNotice:
    """The consumer group that shows the job's offsets does not follow it; the run continues."""

    run: RunId
    message: str


@dataclass(frozen=True)
class RowsChecked:
    """The rows of a batch were checked by the rules of the job and written, or a run has found these counts."""

    run: RunId
    counts: tuple[RuleCount, ...]


@dataclass(frozen=True)
class LineageFound:
    """The query of the run was analysed: what it reads and writes, for OpenLineage."""

    run: RunId
    lineage: JobLineage


@dataclass(frozen=True)
class ResourceNotice:
    """The run uses much of a resource that is scarce; a notice for the job's history, and the run continues."""

    run: RunId
    message: str


@dataclass(frozen=True)
class ResourceExhausted:
    """The run uses so much of a resource that the engine is in danger: it has to end immediately."""

    run: RunId
    cause: Cause


@dataclass(frozen=True)
class RestartRequested:
    """The run ended because a table that it reads was replaced; the immediate restart does not count as an attempt."""

    run: RunId
    message: str


@dataclass(frozen=True)
class CopiedState:
    """A copy of a job's state."""

    batch: int  # the newest committed batch in it
    size_bytes: int


@dataclass(frozen=True)
class CheckpointImage:
    """The files of a job's checkpoints at one moment."""

    names: tuple[str, ...]  # relative to the job's folder, the state's last
    committed: int | None  # the newest committed batch; None before the first
    planned: int | None  # the newest planned batch; None before the first


@dataclass(frozen=True)
class CrashReport:
    """The known facts about a crash of the engine's Spark."""

    busy_jobs: tuple[str, ...]  # the ids of the jobs with a running batch
    suspects: tuple[str, ...]  # the ids of the jobs that can have ended Spark; a single one is the culprit
    reason: str  # why Spark ended, and why the culprit is one, a sentence


RuntimeEvent = (
    BatchCommitted
    | RunIdle
    | RunProgressed
    | RunBlocked
    | RunCompleted
    | RunFailed
    | SinkNotice
    | GroupNotice
    | RowsChecked
    | LineageFound
    | ResourceNotice
    | ResourceExhausted
    | RestartRequested
)
Report = Callable[[RuntimeEvent], None]
MembersListener = Callable[[ClusterState], None]
"""A callback with the members that run tasks."""


class UserSession(Protocol):
    """An opaque handle of the session of a statement."""


@dataclass(frozen=True)
class JobTable:
    """A table of the catalogue, as a statement about its job needs it."""

    name: str  # qualified
    kind: str = ""  # `TableKind` if it belongs to a job, otherwise empty
    job: str = ""  # the id of the job for which it was created, or empty
    is_view: bool = False
    columns: tuple[str, ...] = ()  # in their order; partition columns come last


class JobTables(Protocol):
    """The tables of the catalogue, for statements about jobs."""

    def qualify(self, table: TableIdentifier, session: UserSession) -> str:
        """Return the qualified name of a table, which need not exist.

        Raises StatementError UNSUPPORTED_SINK at the name for a catalogue that the engine does not have.
        """

    def find_table(self, table: str) -> JobTable | None:
        """Return the table or view with a qualified name, or None."""

    def has_namespace(self, name: Sequence[str]) -> bool:
        """Return whether there is a catalogue, or a schema with its catalogue before it."""

    def has_function(self, name: Sequence[str]) -> bool:
        """Return whether the catalogue has a function, which is not one in Python. name: from the catalogue on"""

    def time_columns(self, table: str, session: UserSession) -> Sequence[str]:
        """Return the names of the TIMESTAMP columns of a table or view; none if it does not exist.

        table: its name in a statement of the session.
        """

    def is_empty(self, table: str) -> bool:
        """Return whether a table has no rows in files of the engine: always for a topic or a table of a database."""

    def create_table(self, body: Body, session: UserSession, properties: Mapping[str, str]) -> None:
        """Create the table of a body with CREATE TABLE ... AS, without rows.

        properties: further properties of the table. Raises Spark's errors.
        """

    def drop_table(self, table: str) -> None:
        """Drop the table with a qualified name, if it exists. Raises Spark's errors."""


@dataclass(frozen=True)
class OptionProblem:
    """A problem of the options of a connection."""

    condition: str
    message: str
    option: str  # empty for all of them


class RightsGates(Protocol):
    """The checks of rights where Spark analyses a plan."""

    def as_user(self, session: UserSession, user: str) -> UserSession:
        """Return the session, or a copy of it in which Spark checks the rights of another user."""

    def check_owner(self, job: Job) -> None:
        """Check that the owner of a job may do what the job does. Always allowed for an admin, and without users.

        Raises StatementError NOT_ALLOWED, whose cause has the details; any other error if this cannot be determined.
        """

    def check_writes(self, plan: Plan, owner: str) -> None:
        """Check the rights of a job's owner on all tables that the job writes. Raises StatementError NOT_ALLOWED."""

    def publish_rights(self, rights: str | None) -> None:
        """Replace the rights by which plans are checked, see `effective_rights`. rights: JSON, or None without users"""


class Connections(Protocol):
    """The secrets and connections of tables, where Spark reads the options of a table."""

    def publish_connections(self, connections: str) -> None:
        """Replace the secrets and connections, see `StoredConnections.published`."""

    def find_connection_problem(self, kind: str, options: Mapping[str, str], state: str) -> OptionProblem | None:
        """Return what is wrong with the options of a connection of a type, or None.

        state: the secrets and connections as they would be published.
        """

    def find_host_problem(self, url: str) -> str:
        """Return what is wrong with the URL of a host in CREATE SECRET, or an empty text."""

    def find_tables_with_option(self, name: str, value: str) -> Sequence[str]:
        """Return the qualified names of the tables with an option, compared without case.

        name: `connection` also means that of a schema registry; empty for any option.
        """


class JobFunctions(Protocol):
    """The functions in Python, which all sessions and jobs can call."""

    def qualify_function(self, statement: CreateFunction, session: UserSession) -> tuple[str, str]:
        """Return the schema and the name of a new function. Raises StatementError INVALID_FUNCTION."""

    def check_function(self, statement: CreateFunction, schema: str, name: str, session: UserSession) -> Function:
        """Return the function of a statement after checking its name, types, default values and source.

        Raises StatementError INVALID_FUNCTION, FUNCTION_ALREADY_EXISTS, STATEMENT_CANCELLED.
        """

    def register_function(self, function: Function) -> None:
        """Make a function known to all sessions and jobs; it replaces one with its name."""

    def forget_function(self, schema: str, name: str) -> None:
        """Remove a function from all sessions, if it exists."""

    def hides_function(self, name: str) -> bool:
        """Return whether a built-in function has this name, so that a call of another one needs its schema."""


class QueryAnalysis(Protocol):
    """The facts about the body of a job and its plan, before it runs."""

    def analyse(
        self,
        body: Body,
        session: UserSession,
        modes: Sequence[OutputMode],
        state_ttl_millis: int | None,
        local_windows: bool = True,
    ) -> Analysis:
        """Return the facts about a body, without creating anything.

        modes: the output modes in which it may write; the first possible one decides how its query is rewritten.
        state_ttl_millis: the time to live of state that no watermark removes; None for ever.
        local_windows: whether the windows of TUMBLE and HOP begin at local times, see `Analysis`.

        Raises StatementError for a body that JetSQL refuses, and Spark's error for one that Spark cannot analyse.
        """

    def analyse_again(self, job: Job) -> Analysis:
        """Return the facts about a job's body as it is now, in the session of the job. Raises as `analyse`."""

    def columns(self, body: Body, session: UserSession) -> str:
        """Return the columns of a body's query with their types, for messages. Raises as `analyse`."""

    def explain(self, body: Body, plan: Plan, formatted: bool) -> str:
        """Return Spark's plan of the body as text, with the settings that the runs of the plan have."""

    def check_conf(self, name: str, value: str) -> None:
        """Check that a run can have this `spark.*` setting.

        Raises StatementError OPTION_NOT_CHANGEABLE for a setting of the engine, INVALID_OPTION_VALUE for a bad value.
        """

    def check_reachable(self, plan: Plan, owner: str) -> None:
        """Connect to the external systems of a plan and check that the job can use them, within 5 s.

        Tables for late rows and dead letters are created, if they are missing, and belong to the owner of the job.

        For the trigger realTime, only systems that `check_real_time` has not checked are checked.
        Raises StatementError EXTERNAL_SYSTEM_UNAVAILABLE, SOURCE_NOT_READY, SINK_NOT_READY.
        """

    def decide_starts(self, plan: Plan, mode: StartMode, now: float) -> tuple[SourceStart, ...]:
        """Return the positions of the sources of a plan, as they are now, in the order of the sources.

        now: the time of the statement, seconds since the epoch.
        Raises StatementError INVALID_START_MODE at the argument, START_NOT_POSSIBLE, and as `check_reachable`.
        """

    def check_real_time(self, body: Body, plan: Plan, job: Job | None) -> None:
        """Check with Spark and the source topics that the body can run with the trigger realTime now.

        job: the job that will run it; None for a new job.
        Raises StatementError TRIGGER_NOT_POSSIBLE, and as `check_reachable`.
        """

    def count_real_time_cores(self, body: Body, plan: Plan, job: Job | None) -> int | None:
        """Return the number of cores that the body would occupy with the trigger realTime.

        None if it cannot have this trigger now: cores are missing, Spark does not support the query, or a broker does
        not answer. The arguments are those of `check_real_time`.
        """


class JobRunner(Protocol):
    """The runs of jobs."""

    def start(self, job: Job, report: Report) -> None:
        """Start `job.run` from the job's checkpoint and return when it runs; it calls `report` from then on.

        Raises any error that prevents the start (JetSQLError JOB_CHANGED and SINK_CHANGED are not retryable).
        A started run reports exactly one of RunCompleted, RunFailed and RestartRequested, unless `stop` is called.
        """

    def stop(self, run: RunId, deadline_seconds: float) -> bool:
        """Stop a run at a batch boundary, or by force after the deadline; return whether the stop was graceful.

        Blocks until the run has ended. A run that does not exist counts as stopped. A run that is being stopped reports
        only RunFailed, before this method returns, when its last batch failed.
        """

    def watch(self, run: RunId, wait: int) -> None:
        """Make the run report which triggers began after this call: their events have its number in `begun_after`.

        The first of them is reported even if it finds no rows and the run was idle before. The current trigger can be
        reported too. wait: a number that increases with each call.
        """

    @property
    def is_ending(self) -> bool:
        """Return whether this engine ends because Spark has ended, and fails all that jobs do."""

    def recover_sink(self, job: Job) -> None:
        """Finish or roll back a partly written batch in the job's sink after a crash, without starting the job."""

    def cause_of(self, error: Exception) -> Cause:
        """Return an exception of this engine as a Cause."""


class JobState(Protocol):
    """The files of jobs: their checkpoints, snapshots and staged rows."""

    @property
    def fixed_partitions(self) -> str:
        """Return why this engine cannot repartition state, as a phrase without a full stop; empty when it can."""

    def copy_state(self, job: Job, snapshot: str, report: Report) -> CopiedState:
        """Copy the job's state as of its newest committed batch into the folder of a new snapshot.

        A running job continues meanwhile. If the job does not run, a batch that is planned and not committed is run
        first, and its commit is reported. Returns when the copy is complete and readable.
        Raises JetSQLError SNAPSHOT_FAILED, or the error of that batch; the copy is deleted then.
        """

    def delete_snapshot(self, snapshot: str) -> None:
        """Delete the folder of a snapshot, if it exists."""

    def snapshot_folders(self) -> tuple[str, ...]:
        """Return the ids of all snapshots that have a folder, complete or not."""

    def prepare_update(self, job: Job, report: Report, cancelled: Future[None]) -> None:
        """Create the checkpoint of `job.pending_version` from the checkpoint of the job, which does not run.

        As in `copy_state`, a pending batch is committed first, with the job's current statement. The pending batch of a
        version that has written nothing is discarded, because that version can hang in it. So is one that cannot be
        committed and that no table has a part of; this is reported. Any other pending batch that hangs is stopped when
        `cancelled` is done, and the update is abandoned. Raises any error.
        """

    def discard_version(self, job: Job, version: Version) -> None:
        """Delete the checkpoint and the staged rows of a version that the job does not run any more."""

    def sink_has_batch(self, job: Job) -> bool:
        """Return whether the job's sink has a batch that is not committed in the job's checkpoint."""

    def discard_files(self, job: Job) -> None:
        """Delete the job's checkpoints and staged rows, if there are any, after its last task has ended.

        Raises any error, and StatementError JOB_IN_USE if a task does not end in time.
        """

    def delete_staged_rows(self, jobs: Sequence[Job]) -> None:
        """Delete what tasks have staged after the files of their jobs were deleted, and log errors. jobs: ended ones"""


class JobCluster(Protocol):
    """The processes that run the tasks of jobs, and their software."""

    def members(self) -> tuple[Member, ...]:
        """Return the members, including lost ones that Spark remembers."""

    def watch_members(self, listener: MembersListener) -> None:
        """Call the listener before this method returns, and whenever members join, begin to leave or are gone.

        Each call has all members, and includes EXCLUDED ones. Calls come in order, from any thread.
        """

    def software_versions(self) -> dict[str, str]:
        """Return the versions to store with a new job: jetsql, spark, manifest, ledger, part_names."""

    def session_defaults(self) -> dict[str, str]:
        """Return the settings of this release's sessions to store with a new job, which keeps them after an upgrade."""


class JobRuntime(
    JobTables, JobFunctions, RightsGates, Connections, QueryAnalysis, JobRunner, JobState, JobCluster, Protocol
):
    """All that runs the jobs."""
