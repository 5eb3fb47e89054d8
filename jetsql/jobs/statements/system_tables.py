"""The relations of the schema `jetsql`: the facts that statements show, as rows for queries, joins and charts.

Each is its columns and a function that gives its rows as they are at this moment. Where a statement shows the same
facts, the rows come from the same function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.statements.describe import JOB_HISTORY_COLUMNS, history_relation
from jetsql.jobs.statements.job_metrics import METRICS_COLUMNS, metrics_relation
from jetsql.jobs.statements.show import JOBS_TABLE_COLUMNS, SNAPSHOTS_TABLE_COLUMNS, job_relation, snapshot_relation
from jetsql.jobs.statements.show_members import MEMBER_COLUMNS, members_relation
from jetsql.resultset import Cell, Column

Rows = Iterable[tuple[Cell, ...]]


@dataclass(frozen=True)
class SystemTable:
    """rows: raises what the store raises. comment: what a row is."""

    name: str
    comment: str
    columns: tuple[Column, ...]
    rows: Callable[[Manager], Rows]


SYSTEM_TABLES: Final = (
    SystemTable("jobs", "A row for each job, also for those that have ended.", JOBS_TABLE_COLUMNS, job_relation),
    SystemTable("snapshots", "A row for each snapshot of a job's state.", SNAPSHOTS_TABLE_COLUMNS, snapshot_relation),
    SystemTable("job_history", "What happened to each job, when and why.", JOB_HISTORY_COLUMNS, history_relation),
    SystemTable("members", "A row for each process that runs tasks.", MEMBER_COLUMNS, members_relation),
    SystemTable(
        "metrics", "A row for each batch of a job, or for several together.", METRICS_COLUMNS, metrics_relation
    ),
)
_BY_NAME: Final = {relation.name: relation for relation in SYSTEM_TABLES}


def rows(manager: Manager, name: str) -> Rows:
    """Return the rows of a relation as they are now."""
    return _BY_NAME[name].rows(manager)
