"""Queries of the jobs for the endpoints, besides the statements: from memory and the store.

Pages and metrics read the jobs in no other way. Each query is for the caller of `jetsql.request`, so the right to read
is checked here, as that to run a statement is in `statement_table`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from jetsql.errors import Span
from jetsql.jobs.access.access_records import Right
from jetsql.jobs.alerts.alert_conditions import condition_text
from jetsql.jobs.alerts.alert_records import AlertMessage
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.manager.job_registry import JobView
from jetsql.jobs.model.cluster_member import EngineRecord, Member
from jetsql.jobs.model.history_row import HistoryRow
from jetsql.jobs.model.job import Job, Snapshot, name_key
from jetsql.jobs.statements.alerts.show_alerts import ALERT_COLUMNS, alert_rows
from jetsql.jobs.statements.command_result import describe_not_running
from jetsql.jobs.statements.describe import describe
from jetsql.jobs.statements.job_metrics import JobMetrics, job_metrics, measure_job
from jetsql.jobs.statements.lookup import (
    find_job,
    find_live_job,
    live_views,
    sees_texts,
    shown_owner,
    visible_alerts,
    visible_job,
    visible_jobs,
    visible_messages,
    visible_snapshot,
    visible_snapshots,
    visible_text,
)
from jetsql.jobs.statements.metrics_sample import JobSample, sample_job, sample_jobs
from jetsql.jobs.store.metrics import BatchMetrics
from jetsql.language.statement import DescribeJob, Name
from jetsql.resultset import Cell


@dataclass(frozen=True)
class JobChange:
    """A row of the history of a job."""

    job_id: str
    job: str  # its name
    status: str  # after the event, as users see it
    row: HistoryRow


@dataclass(frozen=True)
class FiringAlert:
    """An alert whose condition a job meets."""

    alert: str
    job: str
    condition: str  # as in CREATE ALERT
    since: float  # seconds since the epoch


class JobQueries:
    """The queries of an engine. Any thread can use it."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager

    # --- jobs --------------------------------------------------------------------------------------------------------

    def live(self, wanted: Callable[[Job], bool] = lambda job: True) -> tuple[JobView, ...]:
        """Return the jobs that have not ended, newest first, from memory. wanted: see `live_views`."""
        return tuple(self._shown_view(view) for view in live_views(self._manager, wanted))

    def statuses(self) -> Mapping[str, int]:
        """Return the number of live jobs by status, from memory."""
        return Counter(view.job.status.value for view in self.live())

    def view(self, job_id: str) -> JobView | None:
        """Return a live job, from memory; None if it has ended."""
        view = self._manager.registry.get(job_id)
        return self._shown_view(view) if view is not None and self._manager.access.sees_job(view.job) else None

    def live_named(self, name: str) -> JobView | None:
        """Return the live job with a name, from memory; None if there is none."""
        return find_live_job(self._manager, name)

    def stored(self, job_id: str) -> Job | None:
        """Return a job of the store; None if it was forgotten."""
        job = self._manager.store.job(job_id)
        return self._shown(job) if job is not None and self._manager.access.sees_job(job) else None

    def ended(self) -> Sequence[Job]:
        """Return the jobs of the store that have ended, newest first."""
        jobs = visible_jobs(self._manager, self._manager.store.ended_jobs()[::-1])
        return [self._shown(job) for job in jobs]

    def find(self, job_id: str) -> Job:
        """Return a job, live or ended. Raises StatementError JOB_NOT_FOUND."""
        return self._shown(find_job(self._manager, _name(job_id)).job)

    def facts(self, job_id: str) -> Sequence[Sequence[Cell]]:
        """Return the rows of DESCRIBE JOB EXTENDED. Raises StatementError JOB_NOT_FOUND."""
        return describe(self._manager, DescribeJob(_name(job_id), extended=True)).rows

    def not_running(self, job: Job) -> str:
        """Return why a job does not run, or its last error; empty for none."""
        return describe_not_running(self._shown(job), len(self._manager.members))

    def history(self, job_id: str) -> Sequence[HistoryRow]:
        """Return the history of a job, newest row first, with messages only for those who see the texts of the job."""
        if not self._is_visible(job_id):
            return ()
        job = self.stored(job_id)
        shows_texts = job is None or self.may_operate(job)  # only an admin sees a forgotten job
        rows = self._manager.store.history(job_id)[::-1]
        return [replace(row, message=visible_text(self._manager, row.message) if shows_texts else "") for row in rows]

    def snapshots(self, job_id: str | None = None) -> Sequence[Snapshot]:
        """Return the snapshots, newest first. job_id: of the job that they are of; None for all."""
        return [each for each in visible_snapshots(self._manager)[::-1] if job_id in (None, each.job_id)]

    def snapshot(self, snapshot_id: str) -> Snapshot | None:
        """Return a snapshot; None if it was dropped."""
        return visible_snapshot(self._manager, self._manager.store.snapshot(snapshot_id))

    def snapshot_named(self, name: str) -> Snapshot | None:
        """Return the snapshot with a name; None if there is none."""
        return visible_snapshot(self._manager, self._manager.store.snapshot_named(name))

    def shown_owner(self, owner: str) -> str | None:
        """Return the name of the owner of a job or a snapshot, see `lookup.shown_owner`."""
        return shown_owner(self._manager, owner)

    # --- the engine --------------------------------------------------------------------------------------------------

    @property
    def started(self) -> float:
        """Return when this engine has begun to lead the jobs, in seconds since the epoch."""
        return self._manager.started

    def members(self) -> Sequence[Member]:
        """Return the members as SHOW MEMBERS does; none without the right MONITOR."""
        return self._manager.runtime.members() if self._manager.access.has_right(Right.MONITOR) else ()

    def engines(self) -> Sequence[EngineRecord]:
        """Return the engines of the store as SHOW ENGINES does; none without the right MONITOR."""
        return self._manager.store.engines() if self._manager.access.has_right(Right.MONITOR) else ()

    def recent_changes(self, seconds: float, most: int) -> Sequence[JobChange]:
        """Return the newest rows of the histories of all jobs that the caller has a right on, newest first.

        seconds: the time before now from which on rows are wanted. most: the limit of rows that are read
        """
        since = self._manager.clock() - seconds
        jobs: dict[str, Job | None] = {}
        changes = []
        for row in self._manager.store.newest_history(most):
            if row.time < since:
                break
            if row.job_id not in jobs:
                view = self._manager.registry.get(row.job_id)
                jobs[row.job_id] = self.stored(row.job_id) if view is None else view.job
            job = jobs[row.job_id]
            if job is not None and self._manager.access.sees_job(job):
                text = visible_text(self._manager, row.message) if self.may_operate(job) else ""
                changes.append(
                    JobChange(job.id, job.name, row.shown_status(job.is_dropped), replace(row, message=text))
                )
        return changes

    def firing_alerts(self) -> Sequence[FiringAlert]:
        """Return the conditions of the caller's alerts that are met now, the newest first."""
        alerts = self._manager.alerts
        found = [
            FiringAlert(alert.name, job, condition_text(alert.condition), state.since)
            for alert in visible_alerts(self._manager)
            for job, state in alerts.states(alert).items()
            if state.firing
        ]
        return sorted(found, key=lambda each: -each.since)

    def alerts(self) -> Sequence[Mapping[str, Cell]]:
        """Return the rows of SHOW ALERTS, by the names of its columns."""
        return [dict(zip((each.name for each in ALERT_COLUMNS), row, strict=True)) for row in alert_rows(self._manager)]

    def alert_messages(self, alert: str, most: int | None) -> tuple[Sequence[AlertMessage], int]:
        """Return the newest messages of the caller's alerts, newest first, and the number of all of them.

        alert: the name of one; empty for all. most: the limit of messages; None for none
        """
        found = [
            message
            for message in visible_messages(self._manager)
            if not alert or name_key(message.alert) == name_key(alert)
        ]
        return found[::-1][:most], len(found)

    # --- rights ------------------------------------------------------------------------------------------------------

    @property
    def sees_all(self) -> bool:
        """Return whether the caller has all rights."""
        return self._manager.access.is_admin

    def may_operate(self, job: Job) -> bool:
        """Return whether the caller can operate a job, and see its texts."""
        return sees_texts(self._manager, job)

    def owns(self, job: Job) -> bool:
        """Return whether the caller owns a job, or is an admin."""
        return self._manager.access.has_right_on_job(Right.OWNER, job)

    def visible(self, job_ids: Iterable[str]) -> set[str]:
        """Return those of the jobs that the caller has a right on."""
        return {job_id for job_id in job_ids if self._is_visible(job_id)}

    # --- metrics -----------------------------------------------------------------------------------------------------

    def metrics(self, job: Job) -> JobMetrics:
        """Return the current metrics of a job, from memory."""
        return measure_job(self._manager, job)

    def all_metrics(self) -> tuple[JobMetrics, ...]:
        """Return the current metrics of the jobs, see `job_metrics`."""
        return job_metrics(self._manager)

    def sample(self, metrics: JobMetrics) -> JobSample:
        """Return a sample of the job of the metrics, from memory."""
        return sample_job(self._manager, metrics)

    def all_samples(self) -> tuple[JobSample, ...]:
        """Return a sample of each job of `all_metrics`."""
        return sample_jobs(self._manager)

    def run_began(self, job: Job) -> float | None:
        """Return when the newest run of a live job was started, in seconds since the epoch; None if it has ended."""
        view = self._manager.registry.get(job.id)
        return None if view is None else view.stats.run_began

    def latest_batch(self, job_id: str) -> BatchMetrics | None:
        """Return the metrics of a job's newest batch, from memory; None for a job without one."""
        return self._manager.metrics.latest(job_id) if self._is_visible(job_id) else None

    def batches(self, job_id: str) -> Sequence[BatchMetrics]:
        """Return the metrics of a job's batches, oldest first, from memory."""
        return self._manager.metrics.rows(job_id) if self._is_visible(job_id) else ()

    def batches_after(self, job_id: str, time: float) -> Sequence[BatchMetrics]:
        """Return the metrics of a job's batches after a time, oldest first, from memory. time: seconds since 1970."""
        seen = self._is_visible(job_id)
        return [batch for batch in self._manager.metrics.since(job_id, time) if batch.time > time and seen]

    def _is_visible(self, job_id: str) -> bool:
        """Return whether the caller has a right on a job. Only an admin has one on a forgotten job."""
        if self._manager.access.is_admin:
            return True
        view = self._manager.registry.get(job_id)
        job = self._manager.store.job(job_id) if view is None else view.job
        return job is not None and self._manager.access.sees_job(job)

    def _shown(self, job: Job) -> Job:
        """Return a job as the caller may see it: for an admin the same one."""
        return job if self.sees_all else visible_job(self._manager, job)

    def _shown_view(self, view: JobView) -> JobView:
        job = self._shown(view.job)
        return view if job is view.job else replace(view, job=job)


def _name(job_id: str) -> Name:
    return Name(job_id, Span(0, 0), is_id=True)
