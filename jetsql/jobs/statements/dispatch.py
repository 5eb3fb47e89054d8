"""Dispatch of statements: `execute` runs a statement and returns its rows, `columns` returns their columns before.

The columns of a statement never depend on data, because Spark and BI tools request them first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from jetsql.errors import StatementError
from jetsql.jobs.functions.function_statements import RESULT_COLUMNS, create_function
from jetsql.jobs.lifecycle.engine_api import UserSession
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.statements import control, describe, show
from jetsql.jobs.statements.command_result import COMMAND_COLUMNS
from jetsql.jobs.statements.explain import PLAN_COLUMNS, explain
from jetsql.jobs.statements.show_engines import ENGINE_COLUMNS, show_engines
from jetsql.jobs.statements.show_members import MEMBER_COLUMNS, show_members
from jetsql.jobs.statements.snapshot import create_snapshot, drop_snapshot
from jetsql.jobs.statements.tables import streaming_tables
from jetsql.jobs.statements.tables.table_creation import create_with_table
from jetsql.jobs.statements.wait import wait_for
from jetsql.language.statement import (
    AdvanceClock,
    AlterJobOptions,
    AlterStreamingTable,
    CreateFunction,
    CreateJob,
    CreateSnapshot,
    CreateStreamingTable,
    DescribeJob,
    DropJob,
    DropSnapshot,
    DropStreamingTable,
    ExpectError,
    ExpectJob,
    ExpectNoRows,
    ExpectTable,
    ExplainCreateJob,
    ExplainCreateStreamingTable,
    RefreshStreamingTable,
    RestartJob,
    ResumeJob,
    RunFile,
    RunJobs,
    ShowCreateJob,
    ShowCreateStreamingTable,
    ShowEngines,
    ShowJobHistory,
    ShowJobs,
    ShowMembers,
    ShowSnapshots,
    ShowStreamingTables,
    StartTest,
    Statement,
    SuspendJob,
    WaitForJob,
)
from jetsql.resultset import Column, Table


def columns(statement: Statement) -> tuple[Column, ...]:
    """Return the columns of the statement's rows, without executing it."""
    match statement:
        case ShowJobs():
            return show.JOB_COLUMNS
        case ShowSnapshots():
            return show.SNAPSHOT_COLUMNS
        case ShowMembers():
            return MEMBER_COLUMNS
        case ShowEngines():
            return ENGINE_COLUMNS
        case DescribeJob():
            return describe.FACT_COLUMNS
        case ShowCreateJob():
            return describe.TEXT_COLUMNS
        case ShowJobHistory():
            return describe.HISTORY_COLUMNS
        case ExplainCreateJob() | ExplainCreateStreamingTable():
            return PLAN_COLUMNS
        case CreateFunction():
            return RESULT_COLUMNS
        case ShowStreamingTables():
            return streaming_tables.TABLE_COLUMNS
        case ShowCreateStreamingTable():
            return streaming_tables.CREATE_COLUMNS
        case _:
            return COMMAND_COLUMNS


def execute(manager: Manager, statement: Statement, session: Callable[[], UserSession]) -> Table:
    """Execute a statement and return its rows. session: called by the statements that need a session.

    Raises StatementError, EngineError, and Spark's errors for a body that Spark cannot analyse.
    """
    match statement:
        case CreateJob():
            return create_with_table(manager, statement, session())
        case SuspendJob():
            return control.suspend(manager, statement)
        case ResumeJob():
            return control.resume(manager, statement)
        case RestartJob():
            return control.restart(manager, statement)
        case AlterJobOptions():
            return control.alter_options(manager, statement)
        case DropJob():
            return control.drop(manager, statement)
        case WaitForJob():
            return wait_for(manager, statement)
        case CreateSnapshot():
            return create_snapshot(manager, statement)
        case DropSnapshot():
            return drop_snapshot(manager, statement)
        case ExplainCreateJob():
            return explain(manager, statement, session())
        case CreateFunction():
            return create_function(manager, statement, session())
        case (
            CreateStreamingTable()
            | DropStreamingTable()
            | RefreshStreamingTable()
            | AlterStreamingTable()
            | ShowStreamingTables()
            | ShowCreateStreamingTable()
            | ExplainCreateStreamingTable()
        ):
            return _execute_for_table(manager, statement, session())
        case (
            RunFile()
            | StartTest()
            | RunJobs()
            | AdvanceClock()
            | ExpectTable()
            | ExpectNoRows()
            | ExpectJob()
            | ExpectError()
        ):
            raise only_in_test_file()
        case _:
            return _show(manager, statement)


def only_in_test_file() -> StatementError:
    """Return the refusal of a statement of test files, which an engine does not run."""
    return StatementError(
        "ONLY_IN_TEST_FILE",
        "RUN, START TEST, ADVANCE CLOCK and EXPECT are statements of test files. An engine does not run them.",
        hint="Write them into a file NAME.test.sql, and run `jetsql test NAME.test.sql`.",
    )


def _show(
    manager: Manager,
    statement: ShowJobs | ShowSnapshots | ShowMembers | ShowEngines | DescribeJob | ShowCreateJob | ShowJobHistory,
) -> Table:
    match statement:
        case ShowJobs():
            return show.show_jobs(manager, statement)
        case ShowSnapshots():
            return show.show_snapshots(manager, statement)
        case ShowMembers():
            return show_members(manager)
        case ShowEngines():
            return show_engines(manager)
        case DescribeJob():
            return describe.describe(manager, statement)
        case ShowCreateJob():
            return describe.show_create(manager, statement)
        case ShowJobHistory():
            return describe.show_history(manager, statement)
        case _:
            assert_never(statement)


def _execute_for_table(
    manager: Manager,
    statement: CreateStreamingTable
    | DropStreamingTable
    | RefreshStreamingTable
    | AlterStreamingTable
    | ShowStreamingTables
    | ShowCreateStreamingTable
    | ExplainCreateStreamingTable,
    session: UserSession,
) -> Table:
    match statement:
        case CreateStreamingTable():
            return streaming_tables.create_streaming_table(manager, statement, session)
        case DropStreamingTable():
            return streaming_tables.drop_streaming_table(manager, statement, session)
        case RefreshStreamingTable():
            return streaming_tables.refresh_streaming_table(manager, statement, session)
        case AlterStreamingTable():
            return streaming_tables.alter_streaming_table(manager, statement, session)
        case ShowStreamingTables():
            return streaming_tables.show_streaming_tables(manager, statement)
        case ShowCreateStreamingTable():
            return streaming_tables.show_create_streaming_table(manager, statement, session)
        case ExplainCreateStreamingTable():
            return streaming_tables.explain_streaming_table(manager, statement, session)
        case _:
            assert_never(statement)
