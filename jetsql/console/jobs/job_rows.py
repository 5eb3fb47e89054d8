"""The rows of the jobs page: what is shown of each job, and which of it changes with every batch.

All of it is in memory for live jobs. Of ended jobs, the page has the newest of each name without a live job, so that a
failed job stays visible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from jetsql.jobs.model.job import Job
from jetsql.jobs.model.job_counts import needs_attention, newest_of_names
from jetsql.jobs.model.job_options import Trigger
from jetsql.jobs.planning.guarantee import GUARANTEE_TEXTS
from jetsql.jobs.statements.job_metrics import JobMetrics
from jetsql.jobs.statements.job_queries import JobQueries
from jetsql.jobs.statements.metrics_sample import JobSample
from jetsql.jobs.store.job_lag import short_lag
from jetsql.output.counts import counted
from jetsql.output.short_numbers import format_bytes, format_count, format_seconds

ENDED_MOST: Final = 200
_SPARK_WIDTH: Final = 90
_SPARK_HEIGHT: Final = 20


@dataclass(frozen=True)
class LiveCell:
    """A cell that changes with every batch."""

    text: str
    value: float | None = None  # by which the table is sorted
    warns: bool = False


@dataclass(frozen=True)
class JobRow:
    """A job as the jobs page shows it."""

    id: str
    name: str
    status: str
    goal: str  # why a COMPLETING job is stopped; empty for others
    is_live: bool
    delivery: str
    kind: str  # streaming or batch
    comment: str
    error: str  # the last error, or why it does not run
    rate: LiveCell
    spark: str  # the points of the line of its rates in an SVG
    uptime: LiveCell  # when its run began; the page shows the time that has passed
    lag: LiveCell
    commit: LiveCell  # when its newest batch was committed; the page shows the time that has passed
    batch: LiveCell
    state: LiveCell
    restarts: LiveCell
    has_actions: bool = True  # whether the user may do something with the job, if it is live

    @property
    def needs_attention(self) -> bool:
        """Return whether the job is in trouble."""
        return needs_attention(self.status, bool(self.error))

    @property
    def fixed_part(self) -> tuple[object, ...]:
        """Return what is shown outside of moving cells."""
        return self.name, self.status, self.goal, self.delivery, self.comment, self.error

    def moving_part(self) -> dict[str, object]:
        """Return the moving cells by their name, as JSON values."""
        cells = {
            "uptime": self.uptime,
            "rate": self.rate,
            "lag": self.lag,
            "commit": self.commit,
            "batch": self.batch,
            "state": self.state,
            "restarts": self.restarts,
        }
        values: dict[str, object] = {name: [cell.text, cell.value, cell.warns] for name, cell in cells.items()}
        return {**values, "spark": self.spark}


def ended_rows(jobs: JobQueries, live: Mapping[str, JobRow]) -> Iterator[JobRow]:
    """Return the newest ended job of each name that no live job has, newest first. It reads the store."""
    ended = (job for job in jobs.ended() if job.id not in live)
    newest = newest_of_names(ended, lambda job: job.name, (row.name for row in live.values()))
    return (job_row(jobs, job) for job in islice(newest, ENDED_MOST))


def job_row(jobs: JobQueries, job: Job) -> JobRow:
    """Return the row of a job, from memory only."""
    metrics = jobs.metrics(job)
    sample = jobs.sample(metrics)
    began = jobs.run_began(job) if metrics.runs_now else None
    commit = None if metrics.latest is None or not job.is_live else metrics.latest.committed
    return JobRow(
        id=job.id,
        name=job.name,
        status=job.shown_status,
        goal=job.stop_goal.value.lower() if job.stop_goal is not None and not job.status.is_final else "",
        is_live=job.is_live,
        delivery=GUARANTEE_TEXTS[job.plan.guarantee],
        kind="streaming" if job.plan.analysis.streaming else "batch",
        comment=job.version.comment or "",
        error=jobs.not_running(job),
        rate=_rate_cell(sample),
        spark=spark_points(sample.rates),
        uptime=LiveCell("", began),
        lag=_lag_cell(metrics),
        commit=LiveCell("", commit),
        batch=_batch_cell(job, metrics),
        state=_state_cell(metrics),
        restarts=_restarts_cell(job),
    )


def _rate_cell(sample: JobSample) -> LiveCell:
    rate = sample.rows_per_second
    return LiveCell(format_count(rate), rate)


def _lag_cell(metrics: JobMetrics) -> LiveCell:
    return LiveCell(short_lag(metrics.lag), None if metrics.lag is None else metrics.lag.rows)


def _restarts_cell(job: Job) -> LiveCell:
    """Return the number of its runs after the first, whatever has started them."""
    restarts = max(0, job.run - 1)
    return LiveCell(format_count(restarts) if restarts else "", restarts, warns=job.attempts > 0)


def _batch_cell(job: Job, metrics: JobMetrics) -> LiveCell:
    """Return the duration of the newest batch, and the interval between batches that it should fit into."""
    took = None if metrics.latest is None else metrics.latest.trigger_ms
    if took is None:
        return LiveCell("")
    plan = job.plan
    has_interval = plan.analysis.streaming and plan.options.trigger is Trigger.INTERVAL and plan.interval_millis > 0
    interval = f" / {format_seconds(plan.interval_millis / 1000)}" if has_interval else ""
    return LiveCell(
        f"{format_seconds(took / 1000)}{interval}", took, warns=has_interval and took > plan.interval_millis
    )


def _state_cell(metrics: JobMetrics) -> LiveCell:
    latest = metrics.latest
    if latest is None or not latest.state_bytes:
        return LiveCell("")
    size = format_bytes(latest.state_bytes)
    if latest.state_rows is None:
        return LiveCell(size, latest.state_bytes)
    rows = counted(latest.state_rows, "row", format_count(latest.state_rows))
    return LiveCell(f"{size}, {rows}", latest.state_bytes)


def spark_points(rates: Sequence[float]) -> str:
    """Return the points of a line through rates, relative to the highest, as an SVG has them."""
    highest = max(rates, default=0.0)
    step = _SPARK_WIDTH / max(len(rates) - 1, 1)
    bottom = _SPARK_HEIGHT - 1
    heights = (bottom if highest <= 0 else bottom - rate / highest * (_SPARK_HEIGHT - 2) for rate in rates)
    return " ".join(f"{number * step:.0f},{height:.0f}" for number, height in enumerate(heights))
