"""SHOW JOBS and SHOW SNAPSHOTS. Live jobs come from memory alone, so that tools may ask as often as they like."""

from __future__ import annotations

from typing import Final

from jetsql.jobs.board import View
from jetsql.jobs.delivery import WORDS
from jetsql.jobs.lookup import find, like, live_named
from jetsql.jobs.manager import Manager
from jetsql.jobs.model import Snapshot, name_key
from jetsql.jobs.results import cause_words
from jetsql.jobs.secrets import hide_in_text
from jetsql.jobs.tables import Column, Table, Value
from jetsql.language.statements import Name, ShowJobs, ShowSnapshots

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
    Column("age_seconds", "bigint"),
    Column("statement"),
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
    """Newest first. Raises StatementError JOB_NOT_FOUND."""
    snapshots = manager.store.snapshots()
    if statement.job is not None:
        snapshots = _of_job(manager, statement.job, snapshots)
    return Table(SNAPSHOT_COLUMNS, tuple(_snapshot_row(each, manager.clock()) for each in reversed(snapshots)))


def _of_job(manager: Manager, name: Name, snapshots: tuple[Snapshot, ...]) -> tuple[Snapshot, ...]:
    """Those of a job, of an ended and forgotten one too: its snapshots stay."""
    wanted = [each for each in snapshots if name_key(name.text) in (each.job, name_key(each.job_name))]
    if wanted and (name.is_id or live_named(manager, name.text) is None):
        return tuple(wanted)
    job = find(manager, name).job
    return tuple(each for each in snapshots if each.job == job.id)


def _snapshot_row(snapshot: Snapshot, now: float) -> tuple[Value, ...]:
    return (
        snapshot.name,
        snapshot.job_name,
        snapshot.job,
        snapshot.batch,
        snapshot.size_bytes,
        snapshot.created,
        max(0, int(now - snapshot.created)),
        hide_in_text(snapshot.text),
    )
