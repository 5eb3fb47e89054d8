"""SHOW JOBS and SHOW SNAPSHOTS, and the relations `jobs` and `snapshots`, which have more columns.

Live jobs are read from memory only, so tools can poll them often.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.manager.job_registry import JobView
from jetsql.jobs.model.job import Job, Plan, RunId, Snapshot, name_key
from jetsql.jobs.model.job_options import Trigger
from jetsql.jobs.model.redaction import redact
from jetsql.jobs.planning.guarantee import GUARANTEE_TEXTS
from jetsql.jobs.statements.command_result import describe_not_running
from jetsql.jobs.statements.describe import create_text
from jetsql.jobs.statements.job_metrics import rate_of
from jetsql.jobs.statements.lookup import (
    find_job,
    find_live_job,
    like_pattern,
    live_views,
    sees_texts,
    shown_owner,
    visible_cause,
    visible_jobs,
    visible_plan,
    visible_snapshots,
)
from jetsql.jobs.store.job_lag import current_lag, describe_lag
from jetsql.jobs.store.metrics import Totals
from jetsql.language.statement import Name, ShowJobs, ShowSnapshots
from jetsql.resultset import Cell, Column, Table, Value

JOB_COLUMNS: Final = (
    Column("id", comment="ascending in time; statements accept it, as a string, instead of the name"),
    Column("name", comment="unique among live jobs"),
    Column("status", comment="the status in Hazelcast Jet's terms; FAILED, COMPLETED and DROPPED are final"),
    Column("submission_time", "timestamp", "when CREATE JOB created it"),
    Column("delivery", comment="the delivery guarantee as a phrase"),
    Column("rows_per_second", "double", "of the newest batch; 0 when there were no rows, NULL when it does not run"),
    Column("lag", comment="unread rows of its sources, and how long the oldest waits; NULL if unknown"),
    Column("last_error", comment="the last error, or why it does not run, and what to do"),
)

SNAPSHOT_COLUMNS: Final = (
    Column("name", comment="unique among snapshots"),
    Column("job", comment="the name of its job"),
    Column("job_id", comment="the id of its job, which can be deleted before its snapshots"),
    Column("batch", "bigint", "the newest committed batch in it"),
    Column("size_bytes", "bigint", "the size of its files"),
    Column("owner", comment="the user who owns it; NULL for one of an older release"),
    Column("created", "timestamp", "when it was created"),
    Column("age_seconds", "bigint", "the time since then"),
    Column("statement", comment="the job's body when the snapshot was created, without secrets"),
)

MORE_JOB_COLUMNS: Final = (
    Column("last_error_condition", comment="the condition of last_error, for programs"),
    Column("comment", comment="the COMMENT of the job"),
    Column("owner", comment="the user with whose rights it runs"),
    Column("kind", comment="streaming or batch"),
    Column("sources", "array<string>", "the streams that it reads: tables, or formats for sources without a table"),
    Column("sink", comment="the table that it writes; several are separated by commas"),
    Column("processing_guarantee", comment="exactlyOnce, atLeastOnce or none"),
    Column("trigger", comment="interval, availableNow or realTime; NULL for a batch job"),
    Column("interval_millis", "bigint", "time between micro-batches; NULL where there is none"),
    Column("output_mode", comment="append, update or complete; NULL for a batch job"),
    Column("run", "bigint", "the number of its runs"),
    Column("started_time", "timestamp", "when its newest run began"),
    Column("end_time", "timestamp", "when it ended; NULL for a live job"),
    Column("attempts", "bigint", "consecutive restarts without progress"),
    Column("batch", "bigint", "the newest committed batch"),
    Column("input_rows", "bigint", "rows read since the engine started; NULL for an ended job"),
    Column("late_rows", "bigint", "rows older than the watermark, dropped since the engine started"),
    Column("statement", comment="the statement that creates it, without secrets; NULL without the right OPERATE"),
)

JOBS_TABLE_COLUMNS: Final = (*JOB_COLUMNS, *MORE_JOB_COLUMNS)
SNAPSHOTS_TABLE_COLUMNS: Final = (Column("id", comment="names its folder in the home"), *SNAPSHOT_COLUMNS)


def show_jobs(manager: Manager, statement: ShowJobs) -> Table:
    """Return the jobs, newest first; without ALL only live jobs."""
    views = all_views(manager) if statement.all_jobs else live_views(manager)
    if statement.pattern is not None:
        pattern = like_pattern(statement.pattern)
        views = tuple(view for view in views if pattern.fullmatch(view.job.name))
    return Table(JOB_COLUMNS, tuple(_job_row(manager, view) for view in views))


def all_views(manager: Manager) -> tuple[JobView, ...]:
    """Return all jobs that the caller has a right on, including ended ones, newest first."""
    live = {view.job.id: view for view in manager.registry.live()}
    stored = visible_jobs(manager, reversed(manager.store.all_jobs()))
    return tuple(live.get(job.id, JobView(job)) for job in stored)


def job_relation(manager: Manager) -> Iterator[tuple[Cell, ...]]:
    """Return the rows of `jetsql.jobs`, newest first."""
    began = manager.store.run_starts()
    for view in all_views(manager):
        job = view.job
        totals = manager.metrics.totals(job.id) if job.is_live else None
        text = create_text(job) if sees_texts(manager, job) else None
        plan = visible_plan(manager, job.plan)
        owner = shown_owner(manager, job.owner)
        started = began.get(RunId(job.id, job.run))
        yield (*_job_row(manager, view), *_more_cells(job, owner, plan, started, totals), text)


def snapshot_relation(manager: Manager) -> Iterator[tuple[Cell, ...]]:
    """Return the rows of `jetsql.snapshots`, newest first."""
    for snapshot in reversed(visible_snapshots(manager)):
        yield (snapshot.id, *_snapshot_row(manager, snapshot))


def _more_cells(
    job: Job, owner: str | None, plan: Plan, started: float | None, totals: Totals | None
) -> tuple[Cell, ...]:
    """Return the cells of further columns. plan: as the caller may see it"""
    streaming = plan.analysis.streaming
    return (
        (job.cause.condition or None) if job.cause is not None else None,
        job.version.comment,
        owner,
        "streaming" if streaming else "batch",
        tuple(source.name for source in plan.analysis.sources),
        plan.analysis.sink_names,
        plan.guarantee.value,
        plan.options.trigger.value if streaming else None,
        plan.interval_millis if streaming and plan.options.trigger is not Trigger.AVAILABLE_NOW else None,
        plan.output_mode.value if plan.output_mode is not None else None,
        job.run,
        started,
        job.end_time,
        job.attempts,
        job.batch,
        totals.input_rows if totals is not None else None,
        totals.late_rows if totals is not None else None,
    )


def _job_row(manager: Manager, view: JobView) -> tuple[Value, ...]:
    job = view.job
    lag = current_lag(job, manager.metrics.latest(job.id), manager.clock())
    return (
        job.id,
        job.name,
        job.shown_status,
        job.submission_time,
        GUARANTEE_TEXTS[job.plan.guarantee],
        rate_of(view),
        describe_lag(lag),
        describe_not_running(replace(job, cause=visible_cause(manager, job)), len(manager.members)) or None,
    )


def show_snapshots(manager: Manager, statement: ShowSnapshots) -> Table:
    """Return the snapshots, newest first. Raises StatementError JOB_NOT_FOUND."""
    snapshots = visible_snapshots(manager)
    if statement.job is not None:
        snapshots = _of_job(manager, statement.job, snapshots)
    return Table(SNAPSHOT_COLUMNS, tuple(_snapshot_row(manager, each) for each in reversed(snapshots)))


def _of_job(manager: Manager, name: Name, snapshots: tuple[Snapshot, ...]) -> tuple[Snapshot, ...]:
    """Return the snapshots of a job, which can be deleted: its snapshots stay."""
    matches = [each for each in snapshots if name_key(name.text) in (each.job_id, name_key(each.job_name))]
    if matches and (name.is_id or find_live_job(manager, name.text) is None):
        return tuple(matches)
    job = find_job(manager, name).job
    return tuple(each for each in snapshots if each.job_id == job.id)


def _snapshot_row(manager: Manager, snapshot: Snapshot) -> tuple[Value, ...]:
    return (
        snapshot.name,
        snapshot.job_name,
        snapshot.job_id,
        snapshot.batch,
        snapshot.size_bytes,
        shown_owner(manager, snapshot.owner),
        snapshot.created,
        max(0, int(manager.clock() - snapshot.created)),
        redact(snapshot.statement, snapshot.plan.options.given),
    )
