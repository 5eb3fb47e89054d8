"""SHOW JOBS and SHOW SNAPSHOTS, and what the relations `jobs` and `snapshots` show beyond them.

Live jobs come from memory alone, so that tools may ask as often as they like.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.manager.job_registry import JobView
from jetsql.jobs.model.job import Job, RunId, Snapshot, Status, Trigger, name_key
from jetsql.jobs.model.redaction import redact
from jetsql.jobs.planning.guarantee import GUARANTEE_TEXTS
from jetsql.jobs.statements.command_result import describe_not_running
from jetsql.jobs.statements.describe import create_text
from jetsql.jobs.statements.lookup import find_job, find_live_job, like_pattern
from jetsql.jobs.store.metrics import BatchMetrics, Totals
from jetsql.language.statement import Name, ShowJobs, ShowSnapshots
from jetsql.resultset import Cell, Column, Table, Value

JOB_COLUMNS: Final = (
    Column("id", comment="ascending in time; takes the place of the name in statements, as a string"),
    Column("name", comment="unique among the jobs that have not ended"),
    Column("status", comment="as Hazelcast Jet names them; FAILED and COMPLETED are final"),
    Column("submission_time", "timestamp", "when CREATE JOB made it"),
    Column("delivery", comment="how often a row may arrive in the sink, in words"),
    Column("rows_per_second", "double", "of the newest batch; 0 when it found nothing, NULL when it does not run"),
    Column("lag", comment="what lies behind the newest batch in its sources, and how long it waited"),
    Column("last_error", comment="why it does not run, or did not lately, and what to do about it"),
)

SNAPSHOT_COLUMNS: Final = (
    Column("name", comment="unique among snapshots"),
    Column("job", comment="the name of its job when it was taken"),
    Column("job_id", comment="the job may be forgotten before its snapshots"),
    Column("batch", "bigint", "the newest committed batch that it holds"),
    Column("size_bytes", "bigint"),
    Column("created", "timestamp"),
    Column("age_seconds", "bigint"),
    Column("statement", comment="the job's body when it was taken, without secrets"),
)

MORE_JOB_COLUMNS: Final = (
    Column("last_error_condition", comment="the condition of last_error, for programs"),
    Column("comment"),
    Column("kind", comment="streaming or batch"),
    Column("sources", "array<string>", "the streams that it reads: tables, or the format where there is no table"),
    Column("sink", comment="the table that it writes"),
    Column("processing_guarantee", comment="delivery as the option takes it: exactlyOnce, atLeastOnce, none"),
    Column("trigger", comment="interval, availableNow or realTime; NULL for a batch job"),
    Column("interval_millis", "bigint", "time between micro-batches; NULL where there is none"),
    Column("output_mode", comment="append, update or complete; NULL for a batch job"),
    Column("run", "bigint", "how often it was started"),
    Column("started_time", "timestamp", "when its newest run began"),
    Column("end_time", "timestamp", "when it ended; NULL while it has not"),
    Column("attempts", "bigint", "restarts in a row without progress"),
    Column("batch", "bigint", "the newest committed batch"),
    Column("input_rows", "bigint", "read since the engine started; NULL when it has ended"),
    Column("late_rows", "bigint", "dropped because they came behind the watermark, since the engine started"),
    Column("statement", comment="the statement that makes it, without secrets"),
)

JOBS_TABLE_COLUMNS: Final = (*JOB_COLUMNS, *MORE_JOB_COLUMNS)
SNAPSHOTS_TABLE_COLUMNS: Final = (Column("id", comment="names its folder in the home"), *SNAPSHOT_COLUMNS)


def show_jobs(manager: Manager, statement: ShowJobs) -> Table:
    """Newest first; without ALL those that have not ended."""
    views = all_views(manager) if statement.all_jobs else manager.registry.live()
    if statement.pattern is not None:
        pattern = like_pattern(statement.pattern)
        views = tuple(view for view in views if pattern.fullmatch(view.job.name))
    return Table(JOB_COLUMNS, tuple(_job_row(manager, view) for view in views))


def all_views(manager: Manager) -> tuple[JobView, ...]:
    """Return all jobs that are kept, those that have ended too, newest first."""
    live = {view.job.id: view for view in manager.registry.live()}
    return tuple(live.get(job.id, JobView(job)) for job in reversed(manager.store.all_jobs()))


def job_relation(manager: Manager) -> Iterator[tuple[Cell, ...]]:
    """Return the rows of `jetsql.jobs`, newest first."""
    began = manager.store.run_starts()
    for view in all_views(manager):
        job = view.job
        totals = manager.metrics.totals(job.id) if job.is_live else None
        yield (*_job_row(manager, view), *_more_of_job(job, began.get(RunId(job.id, job.run)), totals))


def snapshot_relation(manager: Manager) -> Iterator[tuple[Cell, ...]]:
    """Return the rows of `jetsql.snapshots`, newest first."""
    for snapshot in reversed(manager.store.snapshots()):
        yield (snapshot.id, *_snapshot_row(snapshot, manager.clock()))


def _more_of_job(job: Job, started: float | None, totals: Totals | None) -> tuple[Cell, ...]:
    plan = job.plan
    streaming = plan.analysis.streaming
    return (
        (job.cause.condition or None) if job.cause is not None else None,
        job.version.comment,
        "streaming" if streaming else "batch",
        tuple(source.name for source in plan.analysis.sources),
        plan.analysis.sink.table,
        plan.guarantee.value,
        plan.trigger.value if streaming else None,
        plan.interval_millis if streaming and plan.trigger is not Trigger.AVAILABLE_NOW else None,
        plan.output_mode.value if plan.output_mode is not None else None,
        job.run,
        started,
        job.end_time,
        job.attempts,
        job.batch,
        totals.input_rows if totals is not None else None,
        totals.late_rows if totals is not None else None,
        create_text(job),
    )


def _job_row(manager: Manager, view: JobView) -> tuple[Value, ...]:
    job = view.job
    # What a job that does not run was behind is not what it is behind now.
    latest = manager.metrics.latest(job.id) if job.status in (Status.RUNNING, Status.COMPLETING) else None
    return (
        job.id,
        job.name,
        job.status.value,
        job.submission_time,
        GUARANTEE_TEXTS[job.plan.guarantee],
        view.stats.rows_per_second,
        None if latest is None else describe_lag(latest),
        describe_not_running(job, len(manager.members)) or None,
    )


def describe_lag(measure: BatchMetrics) -> str | None:
    """By source where there is more than one."""
    several = len(measure.lag) > 1
    found = []
    for source, lag in measure.lag.items():
        waited = measure.lag_seconds.get(source)
        words = f"{lag} rows, {waited:.1f} s" if lag and waited is not None else f"{lag} rows"
        found.append(f"{source}: {words}" if several else words)
    return "; ".join(found) or None


def show_snapshots(manager: Manager, statement: ShowSnapshots) -> Table:
    """Newest first. Raises StatementError JOB_NOT_FOUND."""
    snapshots = manager.store.snapshots()
    if statement.job is not None:
        snapshots = _of_job(manager, statement.job, snapshots)
    return Table(SNAPSHOT_COLUMNS, tuple(_snapshot_row(each, manager.clock()) for each in reversed(snapshots)))


def _of_job(manager: Manager, name: Name, snapshots: tuple[Snapshot, ...]) -> tuple[Snapshot, ...]:
    """Those of a job, of an ended and forgotten one too: its snapshots stay."""
    wanted = [each for each in snapshots if name_key(name.text) in (each.job_id, name_key(each.job_name))]
    if wanted and (name.is_id or find_live_job(manager, name.text) is None):
        return tuple(wanted)
    job = find_job(manager, name).job
    return tuple(each for each in snapshots if each.job_id == job.id)


def _snapshot_row(snapshot: Snapshot, now: float) -> tuple[Value, ...]:
    return (
        snapshot.name,
        snapshot.job_name,
        snapshot.job_id,
        snapshot.batch,
        snapshot.size_bytes,
        snapshot.created,
        max(0, int(now - snapshot.created)),
        redact(snapshot.statement, snapshot.plan.options),
    )
