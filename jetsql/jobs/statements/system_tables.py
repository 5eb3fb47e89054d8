"""The relations of the schema `jetsql`: rows for queries about jobs, snapshots, members, engines,
functions and metrics.

A relation has columns and a function that returns its current rows. A SHOW statement with the same rows uses the same
function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from jetsql.jobs.access.access_records import Right
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.statements.access.audit_relation import AUDIT_COLUMNS, audit_relation
from jetsql.jobs.statements.alerts.show_alerts import MESSAGE_COLUMNS, messages_relation
from jetsql.jobs.statements.describe import JOB_HISTORY_COLUMNS, history_relation
from jetsql.jobs.statements.function_statements import FUNCTION_COLUMNS, functions_relation
from jetsql.jobs.statements.job_metrics import (
    EXPECTATION_COLUMNS,
    METRICS_COLUMNS,
    expectations_relation,
    metrics_relation,
)
from jetsql.jobs.statements.show import JOBS_TABLE_COLUMNS, SNAPSHOTS_TABLE_COLUMNS, job_relation, snapshot_relation
from jetsql.jobs.statements.show_cluster import ENGINE_COLUMNS, MEMBER_COLUMNS, engines_relation, members_relation
from jetsql.resultset import Cell, Column

Rows = Iterable[tuple[Cell, ...]]


@dataclass(frozen=True)
class SystemTable:
    """A relation of the schema `jetsql`."""

    name: str
    comment: str  # a sentence about its rows
    columns: tuple[Column, ...]
    rows: Callable[[Manager], Rows]  # raises the errors of the store
    is_monitored: bool = False  # it has rows only for those with MONITOR


SYSTEM_TABLES: Final = (
    SystemTable("jobs", "A row for each job, including ended ones.", JOBS_TABLE_COLUMNS, job_relation),
    SystemTable("snapshots", "A row for each snapshot of a job's state.", SNAPSHOTS_TABLE_COLUMNS, snapshot_relation),
    SystemTable("job_history", "A row for each event of a job.", JOB_HISTORY_COLUMNS, history_relation),
    SystemTable("members", "A row for each process that runs tasks.", MEMBER_COLUMNS, members_relation, True),
    SystemTable("engines", "A row for each engine of the store.", ENGINE_COLUMNS, engines_relation, True),
    SystemTable("functions", "A row for each function in Python.", FUNCTION_COLUMNS, functions_relation),
    SystemTable("metrics", "A row for each batch of a job, or for several batches.", METRICS_COLUMNS, metrics_relation),
    SystemTable(
        "expectations", "A row for each rule for the rows of a job.", EXPECTATION_COLUMNS, expectations_relation
    ),
    SystemTable("alerts", "A row for each message of an alert.", MESSAGE_COLUMNS, messages_relation),
    SystemTable("audit", "A row for each of the newest events of the audit log.", AUDIT_COLUMNS, audit_relation),
)
_BY_NAME: Final = {relation.name: relation for relation in SYSTEM_TABLES}


def rows(manager: Manager, name: str) -> Rows:
    """Return the current rows of a relation that the caller may see."""
    relation = _BY_NAME[name]
    return () if relation.is_monitored and not manager.access.has_right(Right.MONITOR) else relation.rows(manager)
