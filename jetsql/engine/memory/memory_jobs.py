"""The jobs of a unit test: planned as by an engine, and run over tables in memory, a batch for each step."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import SparkSession

from jetsql.engine.errors.run_failures import cause_of_throwable
from jetsql.engine.jvm.java_classes import java
from jetsql.engine.memory.memory_spark import COVERAGE_CONFS, MEMORY_STATE, STATE_CONFS
from jetsql.engine.runs.analysis import ResolvedBody, resolve_body
from jetsql.engine.session.catalog import Catalog
from jetsql.engine.session.job_sessions import JobSessions
from jetsql.engine.session.job_tables import qualify
from jetsql.engine.sinks.checked_rows import rules_json, violation_tables
from jetsql.engine.sinks.dead_letters import find_dead_letter_tables
from jetsql.errors import StatementError
from jetsql.jobs.model.body_analysis import Analysis, OutputMode
from jetsql.jobs.model.job import Cause, Plan, SinkPlan
from jetsql.jobs.model.job_options import StatementOptions
from jetsql.jobs.model.table_names import split_table
from jetsql.jobs.planning.options import parse_options
from jetsql.jobs.planning.output_mode import MODES, modes_of
from jetsql.jobs.planning.planner import make_plan
from jetsql.jobs.planning.sink_traits import traits_of
from jetsql.jobs.planning.table_verb import check_reads_stream, choose_verb
from jetsql.language import find_name
from jetsql.language.statement import Body, CreateJob, NewTable, Verb

_IDLE_TIMEOUT: Final = "idleTimeoutMillis"
_GENERATORS: Final = ("rate", "rate-micro-batch", "socket")


@dataclass(frozen=True)
class PlannedJob:
    """A job before its first step."""

    name: str
    resolved: ResolvedBody
    """The analysis of its body. A run in an engine analyses it again, with the same result."""
    plan: Plan
    tables_read: frozenset[str]
    """The qualified names of the tables that it reads, as streams or as they are."""

    @property
    def tables_used(self) -> frozenset[str]:
        """The qualified names of the tables that it reads or writes, in small letters."""
        written = (sink.table for sink in self.plan.analysis.sinks)
        return frozenset(name.lower() for name in (*self.tables_read, *written))


def plan_job(statement: CreateJob, session: SparkSession, sessions: JobSessions) -> PlannedJob:
    """Return the job of a statement. Raises StatementError and Spark's errors as CREATE JOB does.

    A statement that creates a table with its job creates it, and drops it again when the job is refused.
    """
    options = parse_options(statement.options)
    for name, value in options.values.spark_confs.items():
        sessions.check_conf(name, value)
    table = statement.table
    if table is None:
        return _plan(statement, statement.body, options, session, sessions)
    created = _create_table(statement, table, session)
    try:

        def analyse(verb: Verb) -> Analysis:
            return _resolve(table.insert(verb), options, session, sessions, MODES[verb]).analysis

        verb = choose_verb(analyse, options, statement.kind, table.name.place)
        return _plan(statement, table.insert(verb), options, session, sessions)
    except Exception:
        if created:
            Catalog(session).drop(qualify(table.name, session))
        raise


def _create_table(statement: CreateJob, table: NewTable, session: SparkSession) -> bool:
    """Create the table of a statement, and return whether it did not exist.

    Raises StatementError TABLE_ALREADY_EXISTS, and Spark's errors.
    """
    name = qualify(table.name, session)
    if Catalog(session).table(name) is not None:
        if table.if_not_exists or statement.or_replace:
            return False
        raise StatementError("TABLE_ALREADY_EXISTS", f"The table {name} already exists.", place=table.name.place)
    java(session).testing.TestDefinitions.createTable(session._jsparkSession, statement.body.spark_text)
    return True


def _plan(
    statement: CreateJob, body: Body, options: StatementOptions, session: SparkSession, sessions: JobSessions
) -> PlannedJob:
    resolved = _resolve(body, options, session, sessions, modes_of(body.verb, options.values.output_mode))
    analysis = resolved.analysis
    check_reads_stream(statement.body, analysis, statement.kind)
    branches = [(branch.verb, branch.target) for branch in body.branches]
    plan = make_plan(analysis, options, body.verb, body.target, branches)
    _check_testable(body, plan, options)
    static = json.loads(java(session).testing.MemoryTables.tablesRead(resolved.query))
    return PlannedJob(
        statement.name.text, resolved, plan, frozenset({*static, *(each.name for each in analysis.sources)})
    )


def _resolve(
    body: Body, options: StatementOptions, session: SparkSession, sessions: JobSessions, modes: Sequence[OutputMode]
) -> ResolvedBody:
    return resolve_body(body, session, sessions.capture(session), modes, options.values.state_ttl_millis)


def _check_testable(body: Body, plan: Plan, options: StatementOptions) -> None:
    """Raise StatementError UNSUPPORTED_QUERY for a job that would run otherwise in a test than in an engine."""
    for source in plan.analysis.sources:
        if source.format in _GENERATORS:
            raise StatementError(
                "UNSUPPORTED_QUERY",
                f"A unit test cannot give rows to {source.name}: the source is USING {source.format}.",
                place=find_name(body.spark_text, split_table(source.name), body.target.stop) or body.target,
                hint="Keep the job in a file that does not create the source, and create a table USING json with the"
                " same name and columns in the test file.",
            )
    if plan.options.idle_timeout_millis is not None:
        raise StatementError(
            "UNSUPPORTED_QUERY",
            "A unit test has no idle sources: the clock that finds them is not the clock of the test.",
            place=options.value_place(_IDLE_TIMEOUT),
            hint=f"Give the option '{_IDLE_TIMEOUT}' with ALTER JOB in a file that is not under test.",
        )


def in_order(jobs: Sequence[PlannedJob]) -> Iterator[PlannedJob]:
    """Yield the jobs, each after those that write what it reads. Jobs that form a circle keep their order."""
    waiting = list(jobs)
    while waiting:
        written = {job.name: {sink.table for sink in job.plan.analysis.sinks} for job in waiting}
        free = [job for job in waiting if not _reads_any(job, written)] or waiting[:1]
        yield from free
        waiting = [job for job in waiting if job not in free]


def _reads_any(job: PlannedJob, written: dict[str, set[str]]) -> bool:
    others = set().union(*(tables for name, tables in written.items() if name != job.name))
    return not job.tables_read.isdisjoint(others)


class RunningJob:
    """A job of a test after its first step began."""

    def __init__(
        self, job: PlannedJob, sessions: JobSessions, tables: Any, folder: str, millis: int, covered: bool
    ) -> None:
        """Start the job, and run its first step. Raises Spark's errors. tables: the MemoryTables of the test.

        folder: for the state of all jobs. millis: the time of the test's clock. covered: note what its rows reach
        """
        self.job = job
        self._session = _open_session(job.plan, sessions)
        if covered:
            for name, value in COVERAGE_CONFS.items():
                self._session.conf.set(name, value)
        body = job.resolved
        if body.unchecked_by_spark:
            self._session.conf.set("spark.sql.streaming.unsupportedOperationCheck", "false")
        self._java = java(self._session)
        self._is_streaming = job.plan.analysis.streaming
        self._cause: Cause | None = None
        self._run = self._create_run(body, tables, millis)
        self._start(folder)

    def _create_run(self, body: ResolvedBody, tables: Any, millis: int) -> Any:
        plan = self.job.plan
        sinks = [_sink(tables, plan.output_mode, each) for each in plan.sinks]
        gateway: Any = self._session.sparkContext._gateway
        listed = gateway.jvm.java.util.ArrayList()
        for sink in sinks:
            listed.add(sink)
        branches = gateway.jvm.java.util.ArrayList()
        for branch in body.branches:
            branches.add(branch)
        run = self._java.testing.TestRun.of(
            self._session._jsparkSession, tables, body.query, listed, body.batch_part, branches, millis
        )
        for letters in find_dead_letter_tables(Catalog(self._session), plan):
            run.keepDeadLetters(letters.source, tables.table(letters.table))
        if plan.late_rows_table:
            run.keepLateRows(tables.table(plan.late_rows_table), self.job.name)
        if plan.analysis.expectations:
            run.checkRows(rules_json(plan.analysis.expectations, lambda rule: rule.condition), self.job.name)
        for table in violation_tables(plan):
            run.keepViolations(table, tables.table(table))
        return run

    def _start(self, folder: str) -> None:
        if not self._is_streaming:
            self._run.runOnce()
            return
        mode = (self.job.plan.output_mode or OutputMode.APPEND).value
        self._run.start(self.job.name, mode, folder)
        self._read_failure()

    def step(self, millis: int) -> None:
        """Run a step: a batch over the rows since the last one."""
        if self._is_streaming and self._cause is None:
            self._run.step(millis)
            self._read_failure()

    def _read_failure(self) -> None:
        throwable = self._run.failure()
        if throwable is not None:
            self._cause = cause_of_throwable(throwable)

    @property
    def is_streaming(self) -> bool:
        """Return whether the job reads a stream; otherwise it runs once."""
        return self._is_streaming

    @property
    def cause(self) -> Cause | None:
        """Return the error that has ended the job, or None."""
        return self._cause

    @property
    def watermark_millis(self) -> int:
        """Return the watermark; 0 before the first one."""
        return int(self._run.watermark()) if self._is_streaming else 0

    @property
    def late_rows(self) -> int:
        """Return the number of rows that the watermark has dropped."""
        return int(self._run.lateRows())

    def stop(self) -> None:
        """End the job."""
        if self._is_streaming:
            self._run.stop()
            self._java.stream.Queries.release(self._session._jsparkSession)


def _open_session(plan: Plan, sessions: JobSessions) -> SparkSession:
    """Open the session of a run, with cheaper settings for its state."""
    session = sessions.open_for_plan(plan, {})
    # Operators with several variables of state need RocksDB.
    confs = STATE_CONFS if plan.analysis.has_state_variables else STATE_CONFS | MEMORY_STATE
    for name, value in confs.items():
        session.conf.set(name, value)
    if plan.options.state_ttl_millis is not None and not plan.analysis.waits_for_watermark:
        session.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
    return session


def _sink(tables: Any, mode: OutputMode | None, plan: SinkPlan) -> Any:
    """Return the TestSink of a table. mode: the output mode of the job"""
    sink = plan.sink
    if traits_of(sink).is_topic:
        return tables.topicSink(sink.table, plan.upsert, plan.retracts)
    columns: Sequence[str] = ()
    if plan.overwrite:
        write = "replace" if sink.replaces_whole_table else "partitions"
        columns = sink.partition_columns
    elif plan.upsert or plan.deletes:
        # The complete result replaces the rows of the one before.
        write = "replace" if mode is OutputMode.COMPLETE and plan.upsert else "update"
        columns = sink.key_columns
    else:
        write = "append"
    return tables.sink(sink.table, write, json.dumps(list(columns)), plan.deletes)
