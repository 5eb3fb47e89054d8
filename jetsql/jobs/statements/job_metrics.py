"""The measures of jobs' batches for others: as rows of the relation `jetsql.metrics`, and as readings of jobs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.model.job import Job, Status
from jetsql.jobs.statements.command_result import describe_error
from jetsql.jobs.store.metrics import BatchMetrics, Totals
from jetsql.resultset import Cell, Column

_OF_MEASURE: Final = (
    Column("run", "bigint", "the run of the job that the newest batch belongs to"),
    Column("batch", "bigint", "the number of the batch, or of the newest of several"),
    Column("time", "timestamp", "when its trigger began, or the span"),
    Column("span", "bigint", "seconds that the row stands for; 0 for a single batch"),
    Column("batches", "bigint", "how many batches the row stands for"),
    Column("input_rows", "bigint", "rows read"),
    Column("output_rows", "bigint", "rows written, where the sink counts them"),
    Column("late_rows", "bigint", "rows dropped because they came behind the watermark"),
    Column("input_rows_per_second", "double", "as they came in"),
    Column("processed_rows_per_second", "double", "while they were worked on"),
    Column("trigger_ms", "bigint", "milliseconds that the whole trigger took"),
    Column("add_batch_ms", "bigint", "of these: running the query and writing its rows"),
    Column("query_planning_ms", "bigint", "of these: planning the batch"),
    Column("wal_commit_ms", "bigint", "of these: writing down what the batch reads"),
    Column("commit_offsets_ms", "bigint", "of these: committing it"),
    Column("get_batch_ms", "bigint", "of these: preparing the sources"),
    Column("latest_offset_ms", "bigint", "of these: asking the sources what is new"),
    Column("watermark", "timestamp", "what comes behind it is late; NULL before the first event"),
    Column("event_time_lag", "double", "seconds from the newest event of the batch to its trigger"),
    Column("state_rows", "bigint", "rows that the query keeps from batch to batch"),
    Column("state_bytes", "bigint", "memory that they take"),
    Column("lag", "map<string,bigint>", "by source: how much lies behind the batch, where the source tells"),
    Column("lag_seconds", "map<string,double>", "by source: about how long the oldest of that had waited"),
)
METRICS_COLUMNS: Final = (Column("job"), Column("job_id"), *_OF_MEASURE)


def metrics_relation(manager: Manager) -> Iterator[tuple[Cell, ...]]:
    """Of all jobs that metrics are kept of, oldest job and oldest batch first."""
    live = {view.job.id: view.job for view in manager.registry.live()}
    for job_id in manager.metrics.jobs():
        job = live.get(job_id) or manager.store.job(job_id)
        name = None if job is None else job.name
        for measure in manager.metrics.rows(job_id):
            yield (name, job_id, *_cells(measure))


def _cells(measure: BatchMetrics) -> Iterator[Cell]:
    for column in _OF_MEASURE:
        yield getattr(measure, column.name)


@dataclass(frozen=True)
class JobMetrics:
    """A job at this moment.

    runs: how often it was started. attempts: restarts in a row without progress. totals: since the engine started.
    latest: its newest batch; None before the first, and when its metrics are not kept. watermark_delay: seconds that
    the watermark is behind now. last_error: why it does not run, or did not lately, and what to do about it.
    """

    id: str
    name: str
    status: Status
    runs: int
    attempts: int
    totals: Totals
    latest: BatchMetrics | None
    watermark_delay: float | None
    last_error: str | None


def job_metrics(manager: Manager) -> tuple[JobMetrics, ...]:
    """Of the jobs that have not ended, and of each other name the newest, so that a job that failed is seen; in the
    order of their making."""
    jobs = {view.job.id: view.job for view in manager.registry.live()}
    names = {job.name.casefold() for job in jobs.values()}
    for job in sorted(manager.store.all_jobs(), key=lambda job: job.id, reverse=True):
        if job.name.casefold() not in names:
            names.add(job.name.casefold())
            jobs[job.id] = job
    return tuple(_reading(manager, jobs[job_id]) for job_id in sorted(jobs))


def _reading(manager: Manager, job: Job) -> JobMetrics:
    latest = manager.metrics.latest(job.id)
    watermark = None if latest is None else latest.watermark
    delay = None if watermark is None else manager.clock() - watermark
    totals = manager.metrics.totals(job.id)
    error = describe_error(job.cause) or None
    return JobMetrics(job.id, job.name, job.status, job.run, job.attempts, totals, latest, delay, error)
