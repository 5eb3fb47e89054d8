"""The world of one unit test: a session, tables in memory, jobs and a clock."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from jetsql.engine.jvm.java_classes import java
from jetsql.engine.memory.memory_jobs import PlannedJob, RunningJob, in_order, plan_job
from jetsql.engine.memory.memory_spark import WAREHOUSE
from jetsql.engine.session.catalog import Catalog
from jetsql.engine.session.job_sessions import JobSessions
from jetsql.engine.session.job_tables import qualify
from jetsql.engine.session.spark_hints import hints_for
from jetsql.engine.session.spark_statements import build_error_report
from jetsql.engine.sinks.checked_rows import create_violation_tables
from jetsql.engine.sinks.dead_letters import create_dead_letter_tables
from jetsql.engine.sinks.late_rows import create_late_rows_table
from jetsql.engine.sinks.refused.refused_rows_table import create_refused_rows_table
from jetsql.errors import ErrorReport, StatementError
from jetsql.jobs.model.job import Cause, name_key
from jetsql.jobs.model.table_names import job_name
from jetsql.language.body.misplaced_clauses import refuse_misplaced_clauses
from jetsql.language.statement import (
    CreateFunction,
    CreateJob,
    CreateStreamingTable,
    DropJob,
    Name,
    RefreshStreamingTable,
    Statement,
)
from jetsql.language.tokens import tokens

START_MILLIS: Final = 1_767_225_600_000
"""The time of a test's clock at its beginning: 2026-01-01 00:00:00 UTC."""

Rows = list[list[str | None]]


@dataclass(frozen=True)
class ComparedRows:
    """The rows of a table, and those that a test expects, as texts."""

    columns: tuple[str, ...]
    actual: Rows
    expected: Rows


class SharedDefinitions:
    """The tables and views with which tests begin.

    The files of a folder often begin with the same statements. Spark analyses them for the first test, which takes a
    quarter of a test's time, and the others copy what they have defined.
    """

    def __init__(self) -> None:
        self._defined: dict[tuple[str, ...], Any] = {}

    def keep(self, texts: Sequence[str], session: SparkSession) -> None:
        """Keep what statements have defined in a session, which has run no others."""
        self._defined[tuple(texts)] = java(session).testing.DefinedTables.of(session._jsparkSession)

    def create(self, texts: Sequence[str], session: SparkSession) -> int:
        """Create in a new session what the first statements define, and return their number. texts: all statements"""
        for count in range(len(texts), 0, -1):
            defined = self._defined.get(tuple(texts[:count]))
            if defined is not None:
                defined.createIn(session._jsparkSession)
                return count
        return 0


class MemoryWorld:
    """The tables, jobs and clock that the statements of a test act on."""

    def __init__(
        self, session: SparkSession, folder: Path, definitions: SharedDefinitions, covered: bool = False
    ) -> None:
        """Create it without tables and jobs. session: of this test alone. folder: an empty one for the jobs' state.

        definitions: of all tests. covered: note what the rows of jobs reach, see `coverage_sites`
        """
        self._definitions = definitions
        self._defining: list[str] | None = []
        """The statements of the test so far, while they define tables and views only."""
        self._covered = covered
        self._session = session
        self._folder = folder
        self._warehouse = folder / WAREHOUSE
        self._java = java(session).testing
        self._tables: Any = self._java.MemoryTables.of(session._jsparkSession)
        self._sessions = JobSessions(session, folder.as_uri())
        self._planned: dict[str, PlannedJob] = {}
        self._running: dict[str, RunningJob] = {}
        self._millis = START_MILLIS

    def define(self, texts: Sequence[str]) -> int:
        """Define what an earlier test has defined with the same first statements, and return their number.

        texts: the statements with which the test begins, all of Spark
        """
        count = self._definitions.create(texts, self._session)
        self._defining = list(texts[:count])
        return count

    def run(self, text: str, statement: Statement | None) -> None:
        """Run a statement. Raises StatementError and Spark's errors. statement: JetSQL's, None for one of Spark"""
        defining, self._defining = self._defining, None
        match statement:
            case None:
                if self._run_spark(text) and defining is not None:
                    self._defining = [*defining, text]
                    self._definitions.keep(self._defining, self._session)
            case CreateJob():
                self._create_job(statement)
            case CreateStreamingTable(create, _):
                assert create.table is not None, "the statement has a table"
                table = create.table.name
                name = Name(job_name(qualify(table, self._session)), table.place)
                self._create_job(replace(create, name=name))
            case RefreshStreamingTable():
                self._refresh(statement)
            case DropJob():
                self._drop_job(statement)
            case CreateFunction():
                raise StatementError(
                    "UNSUPPORTED_QUERY",
                    "A unit test does not run functions in Python.",
                    place=statement.place,
                    hint="Move the function to a file of its own, and create one in SQL with the same name in the test"
                    " file.",
                )
            case _:
                raise StatementError(
                    "UNSUPPORTED_QUERY",
                    "A unit test does not run this statement.",
                    hint="Tests run CREATE and DROP JOB, CREATE and REFRESH of streaming tables and materialized views,"
                    " and Spark's statements. Keep others in a file that is not under test.",
                )

    def _run_spark(self, text: str) -> bool:
        """Run a statement of Spark, and return whether it only defines a table or a view."""
        session, definitions = self._session._jsparkSession, self._java.TestDefinitions
        refuse_misplaced_clauses(list(tokens(text)))
        with hints_for(lambda: self._session, text):
            if definitions.isInsert(session, text):
                self._tables.insert(session, text, self._millis)
                return False
            self._refuse_drop(definitions.dropped(session, text))
            defines: bool = definitions.run(session, self._tables, text, self._millis)
        if any(path.is_file() for path in self._warehouse.rglob("*")):
            raise StatementError(
                "UNSUPPORTED_QUERY",
                "A unit test does not run this statement: it writes files.",
                hint="Change rows with INSERT INTO and INSERT OVERWRITE.",
            )
        return defines

    def _refuse_drop(self, table: str) -> None:
        """Raise StatementError TABLE_IN_USE if a job uses a table, as an engine does. table: its name, or empty"""
        for job in self._planned.values():
            if table and table in job.tables_used:
                raise StatementError(
                    "TABLE_IN_USE", f"Cannot drop {table}: job {job.name} uses it.", hint="Write DROP JOB before."
                )

    def _create_job(self, statement: CreateJob) -> None:
        key = name_key(statement.name.text)
        if key in self._planned and statement.if_not_exists:
            return
        if key in self._planned and not statement.or_replace:
            kind = "job" if statement.kind is None else statement.kind.value.lower()
            condition = "JOB_ALREADY_EXISTS" if statement.kind is None else "TABLE_ALREADY_EXISTS"
            message = f"A {kind} named {statement.name.text} already exists."
            raise StatementError(condition, message, place=statement.name.place)
        job = plan_job(statement, self._session, self._sessions)
        catalog = Catalog(self._session)
        create_dead_letter_tables(self._session, catalog, job.plan)
        create_late_rows_table(self._session, catalog, job.plan)
        create_refused_rows_table(self._session, catalog, job.plan)
        create_violation_tables(self._session, catalog, job.plan)
        self._stop(key)
        self._planned[key] = job

    def _refresh(self, statement: RefreshStreamingTable) -> None:
        """Let the next step compute a materialized view again. A streaming table has no rows to wait for."""
        key = name_key(job_name(qualify(statement.table, self._session)))
        if key not in self._planned:
            kind = statement.kind.value.lower()
            message = f"There is no {kind} {statement.table}."
            raise StatementError("TABLE_NOT_FOUND", message, place=statement.table.place)
        running = self._running.get(key)
        if running is not None and not running.is_streaming:
            self._stop(key)

    def _drop_job(self, statement: DropJob) -> None:
        key = name_key(statement.name.text)
        if key not in self._planned and not statement.if_exists:
            raise self._no_job(statement.name)
        self._stop(key)
        self._planned.pop(key, None)

    def _stop(self, key: str) -> None:
        running = self._running.pop(key, None)
        if running is not None:
            running.stop()

    def step(self) -> None:
        """Let each job process the rows since the last step, those that others write first."""
        for job in in_order(list(self._planned.values())):
            running = self._running.get(name_key(job.name))
            if running is not None:
                running.step(self._millis)
            else:
                self._running[name_key(job.name)] = RunningJob(
                    job, self._sessions, self._tables, f"{self._folder.as_uri()}/jobs", self._millis, self._covered
                )

    def failures(self) -> dict[str, Cause]:
        """Return the jobs that have failed, by name."""
        found = ((running.job.name, running.cause) for running in self._running.values())
        return {name: cause for name, cause in found if cause is not None}

    def running(self, name: Name) -> RunningJob:
        """Return a job after a step. Raises StatementError JOB_NOT_FOUND."""
        running = self._running.get(name_key(name.text))
        if running is None:
            raise self._no_job(name)
        return running

    def _no_job(self, name: Name) -> StatementError:
        names = ", ".join(job.name for job in self._planned.values())
        hint = f"The jobs of this test: {names}." if names else "The files under test create no job."
        return StatementError("JOB_NOT_FOUND", f"There is no job {name.text}.", place=name.place, hint=hint)

    def compare(self, table: str, columns: Sequence[str], query: str) -> ComparedRows:
        """Return the rows of a table and those of a query. table: as in a statement. Raises Spark's errors."""
        text = self._java.TestRows.compared(
            self._session._jsparkSession, self._tables, table, json.dumps(list(columns)), query, self._millis
        )
        found = json.loads(text)
        return ComparedRows(tuple(found["columns"]), found["actual"], found["expected"])

    def rows(self, query: str) -> tuple[tuple[str, ...], Rows]:
        """Return the columns and the rows of a query. Raises Spark's errors."""
        found = json.loads(self._java.TestRows.rows(self._session._jsparkSession, self._tables, query, self._millis))
        return tuple(found["columns"]), found["rows"]

    def value(self, expression: str) -> str | None:
        """Return the value of an expression as a text. Raises Spark's errors."""
        _, [[value]] = self.rows(f"SELECT {expression}")
        return value

    def advance_clock(self, expression: str, by_interval: bool) -> None:
        """Set the clock to a timestamp, or add an interval. Raises StatementError INVALID_TEST for an earlier time."""
        if by_interval and not str(self.value(f"typeof({expression})")).startswith("interval"):
            raise StatementError("INVALID_TEST", "ADVANCE CLOCK BY needs an interval.", hint="Write INTERVAL 1 HOUR.")
        target = f"timestamp_millis({self._millis}) + {expression}" if by_interval else f"({expression})"
        value = self.value(f"unix_millis(CAST({target} AS TIMESTAMP))")
        if value is None or int(value) < self._millis:
            raise StatementError("INVALID_TEST", "The clock of a test does not go back.")
        self._millis = int(value)

    def report(self, error: BaseException, text: str) -> ErrorReport:
        """Return the parts of an error of a statement."""
        return build_error_report(error, text)

    def close(self) -> None:
        """End all jobs."""
        for key in list(self._running):
            self._stop(key)
