"""SHOW JOBS and SHOW SNAPSHOTS. Live jobs come from memory alone, so that tools may ask as often as they like."""

from __future__ import annotations

from typing import Final

from jetsql.jobs.board import View
from jetsql.jobs.delivery import WORDS
from jetsql.jobs.lookup import find, like
from jetsql.jobs.manager import Manager
from jetsql.jobs.results import cause_words
from jetsql.jobs.tables import Column, Table, Value
from jetsql.language.statements import ShowJobs, ShowSnapshots

JOB_COLUMNS: Final = (
    Column("id"),
    Column("name"),
    Column("status"),
    Column("submission_time", "timestamp"),
    Column("delivery"),
    Column("rows_per_second", "double"),
    Column("last_error"),
)

SNAPSHOT_COLUMNS: Final = (
    Column("name"),
    Column("job"),
    Column("job_id"),
    Column("batch", "bigint"),
    Column("size_bytes", "bigint"),
    Column("created", "timestamp"),
)


def show_jobs(manager: Manager, statement: ShowJobs) -> Table:
    """Newest first; without ALL those that have not ended."""
    views = manager.board.live()
    if statement.all_jobs:
        shown = {view.job.id: view for view in views}
        views = tuple(shown.get(job.id, View(job)) for job in reversed(manager.store.all_jobs()))
    if statement.pattern is not None:
        pattern = like(statement.pattern)
        views = tuple(view for view in views if pattern.fullmatch(view.job.name))
    return Table(JOB_COLUMNS, tuple(_job_row(view) for view in views))


def _job_row(view: View) -> tuple[Value, ...]:
    job = view.job
    return (
        job.id,
        job.name,
        job.status.value,
        job.submitted,
        WORDS[job.plan.guarantee],
        view.facts.rows_per_second,
        cause_words(job.cause) or None,
    )


def show_snapshots(manager: Manager, statement: ShowSnapshots) -> Table:
    """None yet. Raises StatementError JOB_NOT_FOUND."""
    if statement.job is not None:
        find(manager, statement.job)
    return Table(SNAPSHOT_COLUMNS)
