"""Every statement's way in: `execute` gives its rows, `columns` their shape before anything is done.

The columns of a statement never depend on data: Spark and BI tools ask for them first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from jetsql.jobs import controls, describing, listing
from jetsql.jobs.creating import create
from jetsql.jobs.engine import UserSession
from jetsql.jobs.explaining import PLAN_COLUMNS, explain
from jetsql.jobs.manager import Manager
from jetsql.jobs.members import MEMBERS_RELATION, show_members
from jetsql.jobs.results import COMMAND_COLUMNS
from jetsql.jobs.snapshots import create_snapshot, drop_snapshot
from jetsql.jobs.tables import Column, Table
from jetsql.jobs.waiting import wait_for
from jetsql.language.statements import (
    AlterJobOptions,
    CreateJob,
    CreateSnapshot,
    DescribeJob,
    DropJob,
    DropSnapshot,
    ExplainCreateJob,
    RestartJob,
    ResumeJob,
    ShowCreateJob,
    ShowJobHistory,
    ShowJobs,
    ShowMembers,
    ShowSnapshots,
    Statement,
    SuspendJob,
    WaitForJob,
)


def columns(statement: Statement) -> tuple[Column, ...]:
    """The columns of the statement's rows."""
    match statement:
        case ShowJobs():
            return listing.JOB_COLUMNS
        case ShowSnapshots():
            return listing.SNAPSHOT_COLUMNS
        case ShowMembers():
            return MEMBERS_RELATION
        case DescribeJob():
            return describing.FACT_COLUMNS
        case ShowCreateJob():
            return describing.TEXT_COLUMNS
        case ShowJobHistory():
            return describing.HISTORY_COLUMNS
        case ExplainCreateJob():
            return PLAN_COLUMNS
        case _:
            return COMMAND_COLUMNS


def execute(manager: Manager, statement: Statement, session: Callable[[], UserSession]) -> Table:
    """Do what the statement says; returns when it is done. session: called by the statements that need a session.

    Raises StatementError, EngineError, and Spark's own errors for a body that Spark does not understand.
    """
    match statement:
        case CreateJob():
            return create(manager, statement, session())
        case SuspendJob():
            return controls.suspend(manager, statement)
        case ResumeJob():
            return controls.resume(manager, statement)
        case RestartJob():
            return controls.restart(manager, statement)
        case AlterJobOptions():
            return controls.alter_options(manager, statement)
        case DropJob():
            return controls.drop(manager, statement)
        case WaitForJob():
            return wait_for(manager, statement)
        case CreateSnapshot():
            return create_snapshot(manager, statement)
        case DropSnapshot():
            return drop_snapshot(manager, statement)
        case ExplainCreateJob():
            return explain(manager, statement, session())
        case _:
            return _show(manager, statement)


def _show(
    manager: Manager,
    statement: ShowJobs | ShowSnapshots | ShowMembers | DescribeJob | ShowCreateJob | ShowJobHistory,
) -> Table:
    match statement:
        case ShowJobs():
            return listing.show_jobs(manager, statement)
        case ShowSnapshots():
            return listing.show_snapshots(manager, statement)
        case ShowMembers():
            return show_members(manager)
        case DescribeJob():
            return describing.describe(manager, statement)
        case ShowCreateJob():
            return describing.show_create(manager, statement)
        case ShowJobHistory():
            return describing.show_history(manager, statement)
        case _:
            assert_never(statement)
