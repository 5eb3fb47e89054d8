"""The metrics of jobs: rows of the relations `jetsql.metrics` and `jetsql.expectations`, and current values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.manager.job_registry import JobView
from jetsql.jobs.model.job import RUNNING_STATUSES, Job, RuleCount
from jetsql.jobs.model.job_counts import newest_of_names
from jetsql.jobs.model.redaction import redact_urls
from jetsql.jobs.statements.command_result import describe_error
from jetsql.jobs.statements.lookup import live_views, sees_texts, visible_cause, visible_jobs
from jetsql.jobs.store.job_lag import JobLag, current_lag
from jetsql.jobs.store.metrics import BatchMetrics, Totals
from jetsql.output.counts import counted
from jetsql.resultset import Cell, Column

_OF_MEASURE: Final = (
    Column("run", "bigint", "the run of the newest batch"),
    Column("batch", "bigint", "the number of the batch, or of the newest of several"),
    Column("time", "timestamp", "when the trigger or the span began"),
    Column("span", "bigint", "the length of the span in seconds; 0 for a single batch"),
    Column("batches", "bigint", "the number of batches in the row"),
    Column("input_rows", "bigint", "rows read"),
    Column("output_rows", "bigint", "rows written; NULL when the sink does not count them"),
    Column("late_rows", "bigint", "rows dropped because they were older than the watermark"),
    Column("input_rows_per_second", "double", "rate of arrival"),
    Column("processed_rows_per_second", "double", "rate of processing"),
    Column("trigger_ms", "bigint", "duration of the whole trigger in milliseconds"),
    Column("add_batch_ms", "bigint", "part of trigger_ms: running the query and writing its rows"),
    Column("query_planning_ms", "bigint", "part of trigger_ms: planning the batch"),
    Column("wal_commit_ms", "bigint", "part of trigger_ms: logging the offsets of the batch"),
    Column("commit_offsets_ms", "bigint", "part of trigger_ms: committing the batch"),
    Column("get_batch_ms", "bigint", "part of trigger_ms: preparing the sources"),
    Column("latest_offset_ms", "bigint", "part of trigger_ms: reading the newest offsets of the sources"),
    Column("watermark", "timestamp", "rows with an older event time are late; NULL before the first event"),
    Column("event_time_lag", "double", "seconds from the newest event of the batch to its trigger"),
    Column("state_rows", "bigint", "rows in the state store"),
    Column("state_bytes", "bigint", "memory of the state store"),
    Column("lag", "map<string,bigint>", "by source: rows not read yet, if the source reports them"),
    Column("lag_seconds", "map<string,double>", "by source: approximate waiting time of the oldest row not read yet"),
    Column("sink_rows", "map<string,bigint>", "by table: rows written, of a job with several tables"),
)
METRICS_COLUMNS: Final = (
    Column("job", comment="the name of the job"),
    Column("job_id", comment="the id of the job"),
    *_OF_MEASURE,
)

EXPECTATION_COLUMNS: Final = (
    Column("job", comment="the name of the job"),
    Column("job_id", comment="the id of the job"),
    Column("rule", comment="the name of the rule"),
    Column("condition", comment="the condition of the rule; NULL without the right OPERATE"),
    Column("action", comment="what happens to a row that violates it: WARN, DROP ROW, FAIL or INTO TABLE with a table"),
    Column("rows", "bigint", "rows checked since the rule has this condition and this action"),
    Column("violations", "bigint", "those of them that violate the rule"),
    Column("batch", "bigint", "the newest batch that was checked; NULL before the first"),
    Column("batch_violations", "bigint", "rows of this batch that violate the rule"),
)


def metrics_relation(manager: Manager) -> Iterator[tuple[Cell, ...]]:
    """Return the rows of `jetsql.metrics`, oldest job and oldest batch first."""
    live = {view.job.id: view.job for view in manager.registry.live()}
    for job_id in manager.metrics.jobs():
        job = live.get(job_id) or manager.store.job(job_id)
        if not (manager.access.is_admin if job is None else manager.access.sees_job(job)):
            continue
        name = None if job is None else job.name
        for measure in manager.metrics.rows(job_id):
            yield (name, job_id, *_cells(measure))


def _cells(measure: BatchMetrics) -> Iterator[Cell]:
    for column in _OF_MEASURE:
        yield getattr(measure, column.name)


@dataclass(frozen=True)
class JobMetrics:
    """The current metrics of a job."""

    id: str
    name: str
    status: str  # see `Job.shown_status`
    runs: int  # the number of runs
    attempts: int  # consecutive restarts without progress
    totals: Totals  # since the engine started
    latest: BatchMetrics | None  # the newest batch; None before the first, and when metrics are not kept
    watermark_delay: float | None  # seconds from the watermark to now
    last_error: str | None  # the error with its hint
    rules: tuple[RuleCount, ...] = ()  # of the job's rules
    lag: JobLag | None = None  # None when it is unknown, and for an ended job

    @property
    def runs_now(self) -> bool:
        """Return whether the job runs, so that its rates are current."""
        return self.status in RUNNING_STATUSES


def job_metrics(manager: Manager) -> tuple[JobMetrics, ...]:
    """Return the metrics of all live jobs, and of the newest ended job of each other name, oldest job first.

    Ended jobs are included so that monitoring sees failed jobs.
    """
    live = [view.job for view in live_views(manager)]
    ended = visible_jobs(manager, reversed(manager.store.ended_jobs()))
    shown = [*live, *newest_of_names(ended, lambda job: job.name, (job.name for job in live))]
    return tuple(measure_job(manager, job) for job in sorted(shown, key=lambda job: job.id))


def rate_of(view: JobView | None) -> float | None:
    """Return the rows per second of a job's newest batch; 0 without rows, None when the job does not run."""
    runs = view is not None and view.job.status in RUNNING_STATUSES
    return view.stats.rows_per_second if runs and view is not None else None


def measure_job(manager: Manager, job: Job) -> JobMetrics:
    """Return the metrics of a job, from memory only."""
    latest = manager.metrics.latest(job.id)
    watermark = None if latest is None else latest.watermark
    delay = None if watermark is None else manager.clock() - watermark
    totals = manager.metrics.totals(job.id)
    error = describe_error(visible_cause(manager, job)) or None
    counts = count_rules(job)
    lag = current_lag(job, latest, manager.clock())
    status = job.shown_status
    return JobMetrics(job.id, job.name, status, job.run, job.attempts, totals, latest, delay, error, counts, lag)


def count_rules(job: Job) -> tuple[RuleCount, ...]:
    """Return the counts of the rules of a job, in the order of its statement; those of a new rule are 0."""
    known = {(count.rule, count.condition, count.action): count for count in job.rule_counts}
    rules = (RuleCount(rule.name, rule.condition, rule.action_text) for rule in job.plan.analysis.expectations)
    return tuple(known.get((rule.rule, rule.condition, rule.action), rule) for rule in rules)


def describe_count(count: RuleCount) -> str:
    """Return a rule with the rows that violate it, as a phrase."""
    rows = counted(count.rows, "row", str(count.rows))
    return f"{redact_urls(count.condition)}; {count.action}; violated by {count.violations} of {rows}"


def expectations_relation(manager: Manager) -> Iterator[tuple[Cell, ...]]:
    """Return the rows of `jetsql.expectations`, newest job first."""
    live = {view.job.id: view.job for view in manager.registry.live()}
    for stored in visible_jobs(manager, reversed(manager.store.all_jobs())):
        job = live.get(stored.id, stored)
        shows_texts = sees_texts(manager, job)
        for count in count_rules(job):
            condition = redact_urls(count.condition) if shows_texts else None
            newest = (count.batch, count.batch_violations)
            yield (job.name, job.id, count.rule, condition, count.action, count.rows, count.violations, *newest)
