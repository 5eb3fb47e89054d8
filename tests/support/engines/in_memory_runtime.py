"""An engine in memory: runs are records, and the tests decide their events.

By default, a run commits batch 0 when it is started. Faults are set in advance. `gates` hold a call until the test
opens them, so that no test has to sleep.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Event, RLock
from typing import Any

from jetsql.errors import JetSQLError, StatementError
from jetsql.jobs.access.job_rights import lost_rights
from jetsql.jobs.lifecycle.runtime import (
    BatchCommitted,
    CopiedState,
    JobTable,
    MembersListener,
    OptionProblem,
    Report,
    RestartRequested,
    RunCompleted,
    RunFailed,
    RunIdle,
    RuntimeEvent,
    SinkNotice,
    UserSession,
)
from jetsql.jobs.model.body_analysis import Analysis, CapturedSession, OutputMode, Replay, Sink, SinkKind, Source
from jetsql.jobs.model.cluster_member import ClusterState, Member, MemberStatus
from jetsql.jobs.model.function import Function, FunctionColumn
from jetsql.jobs.model.job import Cause, Job, Plan, RunId, SourceStart, Version
from jetsql.jobs.store.metrics import BatchMetrics
from jetsql.language.statement import Body, CreateFunction, StartMode, TableIdentifier

GATE_SECONDS = 20.0  # a test that forgets to open its gate fails instead of hanging


class Session:
    """A session without contents: it only has to arrive."""


def source(name: str = "spark_catalog.default.src", **changes: Any) -> Source:
    return replace(Source(name, "parquet", f"file:/tables/{name}", Replay.YES), **changes)


def sink(table: str = "spark_catalog.default.out", **changes: Any) -> Sink:
    return replace(Sink(table, SinkKind.FILES, "parquet", f"file:/tables/{table}", 1), **changes)


def analysis(**changes: Any) -> Analysis:
    result = Analysis(
        streaming=True,
        sources=(source(),),
        sinks=(sink(),),
        session=CapturedSession("spark_catalog", "default", {"spark.sql.session.timeZone": "UTC"}),
        modes={
            OutputMode.APPEND: None,
            OutputMode.UPDATE: None,
            OutputMode.COMPLETE: "Complete output mode not supported when there are no streaming aggregations",
        },
    )
    return replace(result, **changes)


def _member(name: str, status: MemberStatus) -> Member:
    until = 2.5 if status is MemberStatus.GONE else None
    return Member(name, "127.0.0.1", 5, 2, status, name == "driver", 1.5, until, "", 0, 0, 0, 1000)


@dataclass
class Run:
    """A started run."""

    job: Job
    report: Report
    batch: int = -1
    alive: bool = True


@dataclass
class InMemoryRuntime:
    """The engine. Each list of errors has those that the next calls raise, in turn."""

    analysis: Analysis = field(default_factory=analysis)  # of every body
    scan: str = ""  # Spark's plan in EXPLAIN
    rights: str | None = None  # as they were published last
    checked_as: list[str] = field(default_factory=list)  # the users as whom bodies were checked
    refused_owners: dict[str, str] = field(default_factory=dict)  # what they lack for each job
    connections: str = ""  # as they were published last
    tables_with_option: dict[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    fixed_partitions: str = ""  # why it cannot repartition state
    start_errors: list[Exception] = field(default_factory=list)
    check_error: Exception | None = None  # of each check of an owner
    stop_errors: list[Exception] = field(default_factory=list)
    recover_errors: list[Exception] = field(default_factory=list)
    discard_errors: list[Exception] = field(default_factory=list)
    copy_errors: list[Exception] = field(default_factory=list)
    prepare_errors: list[Exception] = field(default_factory=list)
    snapshots: dict[str, int] = field(default_factory=dict)  # the newest batch in each
    swept: list[str] | None = None  # the ended jobs whose staged rows were deleted at the start
    discarded: list[int] = field(default_factory=list)  # checkpoints of versions
    held: bool | None = False  # the sink has the batch of a trial; None if it cannot be asked
    unreachable: StatementError | None = None
    tables: dict[str, JobTable] = field(default_factory=dict)  # by qualified name
    times: dict[str, tuple[str, ...]] = field(default_factory=dict)  # TIMESTAMP columns, by the name in a statement
    filled: set[str] = field(default_factory=set)  # the tables with rows
    no_real_time: StatementError | None = None
    real_time_cores: int | None = None
    """The cores that a job would occupy with the trigger realTime; None if it cannot have it."""
    refused_confs: dict[str, str] = field(default_factory=dict)  # conditions by name of a Spark setting
    functions: dict[tuple[str, str], Function] = field(default_factory=dict)  # those that sessions know
    quiet: bool = False  # runs do not commit batches by themselves
    hangs: bool = False  # the preparation of an update takes until it is cancelled
    graceful: bool = True  # the result of a stop
    is_ending: bool = False  # its Spark has ended
    runs: dict[str, Run] = field(default_factory=dict)
    waits: dict[str, int] = field(default_factory=dict)  # the newest that watches a job; its next triggers begin later
    calls: list[str] = field(default_factory=list)
    gates: dict[str, Event] = field(default_factory=dict)
    entered: dict[str, Event] = field(default_factory=dict)
    newest: Job | None = None
    makes_local_windows: bool = False  # no engine of an earlier release does
    there: frozenset[str] = frozenset({"driver"})  # members, see `join` and `leave`
    leaving: frozenset[str] = frozenset()  # those that leave as planned, see `drain`
    gone: list[str] = field(default_factory=list)  # members that were lost or have left
    left: frozenset[str] = frozenset()  # those of them that have left as planned
    cores_each: int = 0  # of a member; 0 if unknown
    watching: MembersListener = field(default=lambda cluster: None)
    lock: RLock = field(default_factory=RLock)

    # --- the protocol ------------------------------------------------------------------------------------------------

    def analyse(
        self,
        body: Body,
        session: UserSession,
        modes: Sequence[OutputMode],
        state_ttl_millis: int | None,
        local_windows: bool = True,
    ) -> Analysis:
        self._pass("analyse")
        assert isinstance(session, Session)
        return replace(self.analysis, local_windows=local_windows and self.makes_local_windows)

    def decide_starts(self, plan: Plan, mode: StartMode, now: float) -> tuple[SourceStart, ...]:
        self._pass("decide_starts")
        return tuple(SourceStart(each.name, f"{mode.text} at {now:g}") for each in plan.analysis.sources)

    def qualify_function(self, statement: CreateFunction, session: UserSession) -> tuple[str, str]:
        self._pass("qualify_function")
        return (statement.name[-2] if len(statement.name) > 1 else "default"), statement.name[-1]

    def check_function(self, statement: CreateFunction, schema: str, name: str, session: UserSession) -> Function:
        self._pass("check_function")
        return Function(
            schema=schema,
            name=name,
            parameters=tuple(FunctionColumn(each.name, each.type, each.default) for each in statement.parameters),
            returns=tuple(FunctionColumn(each.name, each.type) for each in statement.returns),
            returns_table=statement.returns_table,
            source=statement.source,
            handler=statement.handler,
            style=statement.style,
            deterministic=statement.deterministic,
            comment=statement.comment,
            created=1000.0,
            owner="ann",
        )

    def register_function(self, function: Function) -> None:
        self._pass("register_function")
        self.functions[function.key] = function

    def forget_function(self, schema: str, name: str) -> None:
        self._pass("forget_function")
        self.functions.pop((schema.casefold(), name.casefold()), None)

    def hides_function(self, name: str) -> bool:
        return name == "abs"

    def analyse_again(self, job: Job) -> Analysis:
        self._pass("analyse_again")
        return self.analysis

    def qualify(self, table: TableIdentifier, session: UserSession) -> str:
        assert isinstance(session, Session)
        return ".".join(("spark_catalog", "default")[: 3 - len(table.parts)] + table.parts)

    def as_user(self, session: UserSession, user: str) -> UserSession:
        self.checked_as.append(user)
        return session

    def check_owner(self, job: Job) -> None:
        if self.rights is None:
            return
        self._pass("check_owner", job)
        if self.check_error is not None:
            raise self.check_error
        if job.owner in self.refused_owners:
            raise lost_rights(job.owner) from StatementError("NOT_ALLOWED", self.refused_owners[job.owner])

    def check_writes(self, plan: Plan, owner: str) -> None:
        if self.rights is not None and owner in self.refused_owners:
            raise StatementError("NOT_ALLOWED", self.refused_owners[owner])

    def publish_rights(self, rights: str | None) -> None:
        self.rights = rights

    def publish_connections(self, connections: str) -> None:
        self.connections = connections

    def find_connection_problem(self, kind: str, options: Mapping[str, str], state: str) -> OptionProblem | None:
        wrong = next((name for name in options if name.startswith("wrong")), None)
        return None if wrong is None else OptionProblem("UNKNOWN_OPTION", f"There is no option '{wrong}'.", wrong)

    def find_host_problem(self, url: str) -> str:
        return "" if "://" in url else f"'{url}' is not a URL of a host."

    def find_tables_with_option(self, name: str, value: str) -> Sequence[str]:
        return self.tables_with_option.get((name, value), ())

    def has_namespace(self, name: Sequence[str]) -> bool:
        return tuple(name) in {("spark_catalog",), ("spark_catalog", "default"), ("spark_catalog", "s")}

    def has_function(self, name: Sequence[str]) -> bool:
        return tuple(name) == ("spark_catalog", "default", "in_sql")

    def find_table(self, table: str) -> JobTable | None:
        return self.tables.get(table)

    def time_columns(self, table: str, session: UserSession) -> Sequence[str]:
        return self.times.get(table, ())

    def columns(self, body: Body, session: UserSession) -> str:
        return ", ".join(f"{column} string" for column in self.analysis.sink.columns)

    def is_empty(self, table: str) -> bool:
        return table not in self.filled

    def create_table(self, body: Body, session: UserSession, properties: Mapping[str, str]) -> None:
        self._pass("create_table")
        name = self.analysis.sink.table
        self.tables[name] = JobTable(name, properties.get("jetsql.kind", ""), properties["jetsql.job"])

    def drop_table(self, table: str) -> None:
        self._pass("drop_table")
        self.tables.pop(table, None)

    def check_conf(self, name: str, value: str) -> None:
        self._pass("check_conf")
        if name in self.refused_confs:
            raise StatementError(self.refused_confs[name], f"'{value}' is no value of {name}.")

    def check_reachable(self, plan: Plan, owner: str) -> None:
        self._pass("check_reachable")
        if self.unreachable is not None:
            raise self.unreachable

    def check_real_time(self, body: Body, plan: Plan, job: Job | None) -> None:
        self._pass("check_real_time", job)
        if self.no_real_time is not None:
            raise self.no_real_time

    def count_real_time_cores(self, body: Body, plan: Plan, job: Job | None) -> int | None:
        return None if self.no_real_time is not None else self.real_time_cores

    def explain(self, body: Body, plan: Plan, formatted: bool) -> str:
        return f"== {'Formatted ' if formatted else ''}Physical Plan ==\n{self.scan}"

    def start(self, job: Job, report: Report) -> None:
        self.newest = job
        self._pass("start", job)
        self.check_owner(job)
        with self.lock:
            if self.start_errors:
                raise self.start_errors.pop(0)
            self.runs[job.id] = Run(job, report, -1 if job.batch is None else job.batch)
        if not self.quiet:
            self.commit(job.id)

    def stop(self, run: RunId, deadline_seconds: float) -> bool:
        self._pass("stop", run)
        if self.stop_errors:
            raise self.stop_errors.pop(0)
        with self.lock:
            running = self.runs.get(run.job)
            if running is None or running.job.run != run.run or not running.alive:
                return True
            running.alive = False
        return self.graceful

    def watch(self, run: RunId, wait: int) -> None:
        with self.lock:
            self.waits[run.job] = wait
        self._pass("watch", run)

    def recover_sink(self, job: Job) -> None:
        self._pass("recover", job)
        if self.recover_errors:
            raise self.recover_errors.pop(0)

    def copy_state(self, job: Job, snapshot: str, report: Report) -> CopiedState:
        self._pass("copy_state", job)
        if self.copy_errors:
            raise self.copy_errors.pop(0)
        assert job.batch is not None
        with self.lock:
            self.snapshots[snapshot] = job.batch
        return CopiedState(job.batch, 1000)

    def delete_snapshot(self, snapshot: str) -> None:
        self._pass("delete_snapshot")
        with self.lock:
            self.snapshots.pop(snapshot, None)

    def snapshot_folders(self) -> tuple[str, ...]:
        return tuple(self.snapshots)

    def prepare_update(self, job: Job, report: Report, unwanted: Future[None]) -> None:
        self._pass("prepare_update", job)
        if self.hangs:
            unwanted.result(GATE_SECONDS)
            raise OSError("given up")
        if self.prepare_errors:
            raise self.prepare_errors.pop(0)

    def discard_version(self, job: Job, version: Version) -> None:
        self._pass("discard_version", job)
        with self.lock:
            self.discarded.append(version.checkpoint)

    def sink_has_batch(self, job: Job) -> bool:
        self._pass("holds_batch", job)
        if self.held is None:
            raise OSError("the database does not answer")
        return self.held

    def discard_files(self, job: Job) -> None:
        self._pass("discard", job)
        if self.discard_errors:
            raise self.discard_errors.pop(0)

    def delete_staged_rows(self, jobs: Sequence[Job]) -> None:
        with self.lock:
            self.swept = [job.id for job in jobs]

    def cause_of(self, error: Exception) -> Cause:
        if isinstance(error, JetSQLError):
            retryable = error.condition not in ("JETSQL.JOB_CHANGED", "JETSQL.SINK_CHANGED")
            external_outage = error.condition == "JETSQL.EXTERNAL_SYSTEM_UNAVAILABLE"
            return Cause(
                error.message,
                error.condition,
                error.sqlstate,
                retryable=retryable,
                hint=error.hint,
                external_outage=external_outage,
            )
        return Cause(str(error), type(error).__name__, retryable=not isinstance(error, ValueError))

    def software_versions(self) -> dict[str, str]:
        return {"jetsql": "0", "spark": "0"}

    def members(self) -> tuple[Member, ...]:
        present = (
            _member(each, MemberStatus.LEAVING if each in self.leaving else MemberStatus.ACTIVE)
            for each in sorted(self.there)
        )
        return (*present, *(_member(each, MemberStatus.GONE) for each in self.gone))

    def watch_members(self, listener: MembersListener) -> None:
        with self.lock:
            self.watching = listener
            self._report()

    def session_defaults(self) -> dict[str, str]:
        return {"spark.sql.shuffle.partitions": "2"}

    # --- the cluster ------------------------------------------------------------------------------------------------

    def join(self, *members: str) -> None:
        """Add the members, one after the other."""
        for member in members:
            self._there(self.there | {member})

    def leave(self, *members: str) -> None:
        """Remove the members, which are lost unless they were drained."""
        for member in members:
            self.gone.append(member)
            self.left |= self.leaving & {member}
            self._there(self.there - {member})

    def drain(self, *members: str) -> None:
        """Let the members begin to leave as planned."""
        for member in members:
            self.leaving |= {member}
            self._there(self.there)

    def _there(self, members: frozenset[str]) -> None:
        with self.lock:
            self.there = members
            self.leaving &= members
            self._report()

    def _report(self) -> None:
        cores = self.cores_each * len(self.there - self.leaving)
        self.watching(ClusterState(self.there, self.leaving, self.left, cores))

    # --- what tests do -----------------------------------------------------------------------------------------------

    def report(self, job_id: str, event: RuntimeEvent) -> None:
        self.runs[job_id].report(event)

    def run_id(self, job_id: str) -> RunId:
        return RunId(job_id, self.runs[job_id].job.run)

    def commit(self, job_id: str, rows: int = 10, trigger_time: float = 0.0, rate: float = 10.0) -> None:
        """Commit the next batch of a run."""
        run = self.runs[job_id]
        run.batch += 1
        run_id = self.run_id(job_id)
        measure = BatchMetrics(run_id.run, run.batch, trigger_time, input_rows=rows, processed_rows_per_second=rate)
        wait = self.waits.get(job_id, 0)
        self.report(
            job_id, BatchCommitted(run_id, run.batch, trigger_time, rows, rate, metrics=measure, begun_after=wait)
        )

    def idle(self, job_id: str, trigger_time: float = 0.0) -> None:
        self.report(job_id, RunIdle(self.run_id(job_id), trigger_time, begun_after=self.waits.get(job_id, 0)))

    def fail(self, job_id: str, cause: Cause) -> None:
        self.runs[job_id].alive = False
        self.report(job_id, RunFailed(self.run_id(job_id), cause))

    def complete(self, job_id: str, message: str = "") -> None:
        self.runs[job_id].alive = False
        self.report(job_id, RunCompleted(self.run_id(job_id), message))

    def notice(self, job_id: str, message: str) -> None:
        self.report(job_id, SinkNotice(self.run_id(job_id), message))

    def want_restart(self, job_id: str, message: str) -> None:
        self.runs[job_id].alive = False
        self.report(job_id, RestartRequested(self.run_id(job_id), message))

    @contextmanager
    def gate(self, call: str) -> Iterator[Event]:
        """Hold calls of this name until the block ends or the event is set; `entered` is set by the first one."""
        opened = self.gates[call] = Event()
        self.entered[call] = Event()
        try:
            yield opened
        finally:
            opened.set()

    def wait_entered(self, call: str) -> None:
        assert self.entered[call].wait(GATE_SECONDS), f"{call} was never called"

    def _pass(self, call: str, about: Job | RunId | None = None) -> None:
        run = f" {about.run}" if about is not None else ""
        with self.lock:
            self.calls.append(f"{call}{run}")
        gate = self.gates.get(call)
        if gate is not None:
            self.entered[call].set()
            assert gate.wait(GATE_SECONDS), f"the gate of {call} was never opened"
