"""The manager of all jobs: it applies the events of statements and runs to the life cycle.

One writer thread computes a step, commits it to the store, updates the registry and only then dispatches its actions
to the workers. A step that cannot be committed has no effect: a statement gets the error, and the event of a run is
applied again later.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Final

from jetsql import request
from jetsql.errors import EngineError, StatementError
from jetsql.failpoints import failpoint
from jetsql.jobs.access.job_rights import used_tables
from jetsql.jobs.alerts.alert_commands import AlertSettings
from jetsql.jobs.audit.audit_event import DENIED, AuditedObject
from jetsql.jobs.audit.audit_log import NO_AUDIT, AuditLog, note_object
from jetsql.jobs.lifecycle.events import (
    AlterOptions,
    EngineCrashed,
    EngineStarted,
    EngineStopping,
    Event,
    Outcome,
    Resume,
    RetryDue,
    RightsLost,
    RunEvent,
    ScheduleRetry,
    SnapshotFailed,
    SnapshotFinished,
    SnapshotWritten,
    StartRun,
    Step,
    StopRun,
    Submit,
    Superseded,
    Update,
    UserEvent,
)
from jetsql.jobs.lifecycle.runtime import BatchCommitted, CrashReport, JobRuntime
from jetsql.jobs.lifecycle.step_context import StepContext
from jetsql.jobs.lifecycle.transitions import apply_event
from jetsql.jobs.manager.access_registry import AccessRegistry
from jetsql.jobs.manager.alert_registry import AlertRegistry
from jetsql.jobs.manager.connection_registry import ConnectionRegistry
from jetsql.jobs.manager.function_registry import FunctionRegistry
from jetsql.jobs.manager.job_registry import JobRegistry, JobView, RunStats
from jetsql.jobs.manager.membership import Membership
from jetsql.jobs.manager.owner_rights import OwnerRights
from jetsql.jobs.manager.retention import Retention
from jetsql.jobs.manager.run_reports import NO_REPORTS, RunReports
from jetsql.jobs.manager.serial_executor import SerialExecutor, closed_error
from jetsql.jobs.manager.snapshot_users import SnapshotNames, check_unused
from jetsql.jobs.manager.start_turns import start_order
from jetsql.jobs.manager.step_results import redact_step, updated_stats
from jetsql.jobs.manager.workers import Workers
from jetsql.jobs.model.cluster_member import ClusterState
from jetsql.jobs.model.history_row import HistoryRow
from jetsql.jobs.model.ids import IdMaker
from jetsql.jobs.model.job import Cause, Job, Snapshot, Status
from jetsql.jobs.model.job_settings import JobSettings, LimitSettings
from jetsql.jobs.planning.commit_groups import check_group_unused
from jetsql.jobs.planning.overwrite_conflicts import check_overwrite_conflicts
from jetsql.jobs.store.metrics import Metrics, keeps_metrics
from jetsql.request import ENGINE, Caller

if TYPE_CHECKING:  # the store brings SQLAlchemy, which is slow to import
    from jetsql.jobs.store.job_store import Store

_LOG: Final = logging.getLogger(__name__)
_CRASH_SECONDS: Final = 5.0
_SUSPECT_SECONDS: Final = 10.0  # the time in which a suspect is the only one that begins its first batch


class Manager:
    """The manager of all jobs of one store on one engine."""

    def __init__(
        self,
        store: Store,
        runtime: JobRuntime,
        settings: JobSettings | None = None,
        clock: Callable[[], float] = time.time,
        metrics: Metrics | None = None,
        audit: AuditLog = NO_AUDIT,
        limits: LimitSettings = LimitSettings(),  # noqa: B008  # it is frozen
        alerts: AlertSettings = AlertSettings(),  # noqa: B008
        reports: RunReports = NO_REPORTS,
    ) -> None:
        """Create the manager; `start` starts the jobs.

        store: the caller closes it. clock: returns seconds since the epoch. metrics: of the batches of all jobs.
        """
        self.store, self.runtime, self._reports = store, runtime, reports
        self.settings = settings or JobSettings()
        self.clock, self.started = clock, clock()  # when this engine has begun to lead, in seconds since the epoch
        self.metrics = metrics or Metrics()
        self.audit = audit
        self.new_id = IdMaker(clock, after=store.newest_id())
        self.registry = JobRegistry(store.job)
        self.workers = Workers(runtime, self.report, self.settings.stop_deadline_seconds)
        self.snapshot_names = SnapshotNames()
        self._writer = SerialExecutor(clock)
        self._retention = Retention(
            store, self.settings, clock, self._writer.call_at, self._is_in_use, self._apply_or_log, self.metrics.forget
        )
        self._membership = Membership(
            self.settings.scale_up_delay_seconds,
            clock,
            self._writer.call_at,
            self.registry.live,
            self._apply_with_retry,
        )
        self.connections = ConnectionRegistry(store, runtime, self._writer.submit, audit)
        self.functions = FunctionRegistry(store, runtime, self._writer.submit)
        self.owner_rights = OwnerRights(
            runtime, self.registry, self.apply, self.workers.cause_of, self.settings.statement_wait_seconds
        )
        self.access = AccessRegistry(
            store, runtime, self._writer.submit, clock, self.owner_rights.enforce, audit, limits
        )
        self.alerts = AlertRegistry(
            store,
            alerts,
            clock,
            self._writer.submit,
            self._writer.call_at,
            self.registry.live,
            self.metrics,
            lambda: self.access.state,
            lambda: self.connections.state,
            audit,
            self.settings.store_retry_seconds,
        )
        self._open = False
        self._has_crashed = False
        self._staged_rows_deleted: Future[None] | None = None

    def start(self) -> None:
        """Continue the jobs of the store: start live jobs and finish interrupted stops."""
        self._delete_incomplete_snapshots()
        self._open = True
        self._writer.start()
        self.connections.load()
        self.functions.load()
        self.access.load()
        self._writer.submit(lambda: self.alerts.load(self.store.alerts())).result()
        self.runtime.watch_members(self._on_members)
        self._writer.submit(self._engine_up).result()

    def _delete_incomplete_snapshots(self) -> None:
        """Delete snapshots that were being written or deleted when an engine crashed."""
        folders = self.runtime.snapshot_folders()  # read first: what the store gets later is not among them
        needed = {snapshot.id for snapshot in self.store.snapshots()}
        needed |= {
            job.source_snapshot_id
            for job in self.store.live_jobs()
            if job.source_snapshot_id is not None and not job.version.first_trigger_done
        }
        for folder in folders:
            if folder not in needed:
                self._delete_incomplete_snapshot(folder)

    def _delete_incomplete_snapshot(self, folder: str) -> None:
        try:
            self.runtime.delete_snapshot(folder)
        except Exception:  # the folder only uses disk space, and must not prevent the engine's start
            _LOG.exception("The incomplete snapshot %s could not be deleted", folder)

    def close(self) -> None:
        """Stop all runs gracefully, in parallel, and end; their jobs continue with the next start."""
        if not self._open:
            return
        self._writer.submit(self._engine_down).result()
        until = monotonic() + self.settings.close_wait_seconds
        while not self._writer.submit(self.workers.is_idle).result():
            if not self.workers.wait_all(until - monotonic()):
                _LOG.error("Not all runs ended within %g s; the engine ends anyway", self.settings.close_wait_seconds)
                break
        if self._staged_rows_deleted is not None:  # it reads the store, which the caller closes next
            wait_for([self._staged_rows_deleted], max(0.0, until - monotonic()))
        self.access.close()
        self.alerts.close()
        self._reports.close()
        self.registry.close()
        self._writer.close()

    def record_crash(self, crash: CrashReport) -> None:
        """Store a crash of the engine's Spark. No event of a run is applied any more: the next engine continues."""
        self._has_crashed = True
        self._writer.submit(lambda: self._record_crash(crash)).result(_CRASH_SECONDS)

    def submit(self, job: Job) -> JobView:
        """Store a new job and start it.

        Raises StatementError JOB_ALREADY_EXISTS, SNAPSHOT_NOT_FOUND, STATEMENT_CANCELLED, and as
        `check_overwrite_conflicts` and `check_group_unused`.
        """
        request.current().cancellation.check()
        caller = request.current().caller
        for used in used_tables(job):
            note_object(*used)
        view = self._writer.submit(lambda: self._submit(job, caller)).result()
        _LOG.info("Job %s was submitted by %s", job.id, caller)
        return view

    def apply(self, job: Job, event: UserEvent) -> Step:
        """Apply a user's event to a job and return the step.

        A statement that is already cancelled changes nothing. A stored step is carried out, even if the statement is
        cancelled while it waits. Raises StatementError WRONG_STATUS, JOB_ALREADY_EXISTS, STATEMENT_CANCELLED.
        """
        if not isinstance(event, SnapshotWritten | RightsLost):  # they follow from what has happened
            request.current().cancellation.check()
        caller = request.current().caller
        step = self._writer.submit(lambda: self._apply_for_user(job.id, event, caller)).result()
        _LOG.info("Job %s: %s by %s", job.id, step.history_event or _kind(event), caller)
        return step

    def remove_snapshot(self, snapshot: Snapshot) -> bool:
        """Delete a snapshot from the store and return whether it existed.

        Raises StatementError WRONG_STATUS while a new job still has to copy it.
        """
        caller = request.current().caller
        return self._writer.submit(lambda: self._remove_snapshot(snapshot, caller)).result()

    def give_snapshots(self, wanted: Callable[[Snapshot], bool], owner: str) -> int:
        """Give snapshots to another user, and return their number. wanted: which ones. owner: the key of the user."""

        def give() -> int:
            given = [replace(each, owner=owner) for each in self.store.snapshots() if wanted(each)]
            self.store.save_snapshots(given)
            return len(given)

        return self._writer.submit(give).result()

    def view(self, job: Job) -> JobView:
        """Return the job as it is now."""
        return self.registry.get(job.id) or JobView(self.store.job(job.id) or job)

    def view_after_pending_events(self, job: Job) -> JobView:
        """Return the job after all events that were reported so far are applied."""
        return self._writer.submit(lambda: self.view(job)).result()

    @property
    def members(self) -> frozenset[str]:
        """Return the ids of the members that a new run can use."""
        return self._membership.cluster.staying

    # --- on the writer's thread --------------------------------------------------------------------------------------

    def _engine_up(self) -> None:
        self._reports.start(self.store)
        left_over = self.store.jobs_with_files()
        for job in (*start_order(self.store.live_jobs()), *left_over):
            self.registry.put(JobView(job))
            self._apply_or_log(job.id, EngineStarted())
        self._supersede()
        self._staged_rows_deleted = self.workers.call(self._delete_staged_rows)
        self._retention.start()
        self.alerts.start()

    def _delete_staged_rows(self) -> None:
        """Delete what tasks of ended jobs have staged after the files of their jobs were deleted."""
        try:
            cleaned = [job for job in self.store.ended_jobs() if not job.has_files]
        except EngineError as error:
            _LOG.error("Staged rows of ended jobs could not be deleted: %s", error)
        else:
            self.runtime.delete_staged_rows(cleaned)

    def _engine_down(self) -> None:
        self._open = False
        self.alerts.stop()
        self._writer.drop_timers()
        for view in self.registry.live():
            if not self._apply_or_log(view.job.id, EngineStopping()):
                self.workers.dispatch([StopRun(view.job)])

    def _record_crash(self, crash: CrashReport) -> None:
        is_clear = len(crash.suspects) == 1
        for number, job_id in enumerate(crash.suspects, 1):
            self._apply_or_log(job_id, EngineCrashed(crash.reason, is_clear, number * _SUSPECT_SECONDS))
        for job_id in crash.busy_jobs:
            if job_id not in crash.suspects:
                self._apply_or_log(job_id, EngineCrashed(crash.reason))

    def _apply_or_log(self, job_id: str, event: Event) -> bool:
        """Apply an event and return whether it was stored; an error of one job must not affect the others."""
        try:
            self._apply(job_id, event)
        except Exception:
            _LOG.exception("Job %s: %s could not be stored", job_id, _kind(event))
            return False
        return True

    def _submit(self, job: Job, caller: Caller) -> JobView:
        self._check_open()
        self._check_source_snapshot(job)
        sees = self.access.jobs_seen_by(caller)
        check_overwrite_conflicts(job.plan, None, self._live_jobs(), sees)
        check_group_unused(job.plan, self._live_jobs(), sees)
        step = self._step(job, Submit())
        alerts = self.alerts.evaluate(job, step.job, Submit())
        failpoint("storing", job.name, step=step.history_event)
        self.store.add(step.job, self._row(job, step, caller, first=True), alerts.changes)
        failpoint("stored", job.name, step=step.history_event)
        self.alerts.commit(alerts)
        self._reports.note(job, step.job, Submit())
        view = self._show(step, RunStats(last_message=step.history_message))
        self._supersede()
        return view

    def _remove_snapshot(self, snapshot: Snapshot, caller: Caller) -> bool:
        self._check_open()
        if self.store.snapshot(snapshot.id) is None:
            return False
        check_unused(snapshot, self.registry.live(), self.access.jobs_seen_by(caller))
        self.store.remove_snapshot(snapshot.id)
        return True

    def _check_source_snapshot(self, job: Job) -> None:
        """Raise StatementError SNAPSHOT_NOT_FOUND when the snapshot was dropped while the statement was planned."""
        if job.source_snapshot_id is not None and self.store.snapshot(job.source_snapshot_id) is None:
            message = f"The snapshot '{job.plan.options.initial_snapshot}' was dropped in the meantime."
            raise StatementError("SNAPSHOT_NOT_FOUND", message)

    def _supersede(self) -> None:
        """Delete the state of ended jobs whose names newer jobs have. A crash can have prevented this earlier."""
        for older in self.store.jobs_with_files():
            newest = self.store.newest_named(older.name)
            if newest is not None and newest.id != older.id:
                self._apply_or_log(older.id, Superseded())

    def _apply_for_user(self, job_id: str, event: UserEvent, caller: Caller) -> Step:
        self._check_open()
        self._check_conflicts(job_id, event, caller)
        step = self._apply(job_id, event, caller)
        if step.outcome is Outcome.REFUSED:
            message = f"Job {step.job.name} {step.message}."
            raise StatementError("WRONG_STATUS", message, hint=step.hint)
        return step

    def _check_conflicts(self, job_id: str, event: UserEvent, caller: Caller) -> None:
        """Check the tables and the consumer group of a job that gets another version or options, or starts again.

        Raises StatementError as `check_overwrite_conflicts` and `check_group_unused`.
        """
        sees = self.access.jobs_seen_by(caller)
        others = [job for job in self._live_jobs() if job.id != job_id]
        if isinstance(event, Update):
            check_overwrite_conflicts(event.version.plan, None, others, sees)
            check_group_unused(event.version.plan, others, sees)
        elif isinstance(event, AlterOptions):
            check_group_unused(event.plan, others, sees)
        if isinstance(event, Resume) or (isinstance(event, AlterOptions) and event.resume):
            job = (self.registry.get(job_id) or self._stored(job_id)).job
            if isinstance(event, Resume):
                check_group_unused(job.plan, others, sees)
            if job.status in (Status.SUSPENDED, Status.COMPLETED):
                running = (other for other in others if other.status is not Status.SUSPENDED)
                check_overwrite_conflicts(job.plan, None, running, sees)

    def _live_jobs(self) -> Iterator[Job]:
        return (view.job for view in self.registry.live())

    def _apply(self, job_id: str, event: Event, caller: Caller = ENGINE) -> Step:
        view = self.registry.get(job_id) or self._stored(job_id)
        step = self._step(view.job, event)
        if step.outcome in (Outcome.STALE, Outcome.REFUSED):
            _LOG.info("Job %s, %s: %s is %s", job_id, view.job.status.value, _kind(event), step.outcome.value)
            return step
        if step.job.is_live and not view.job.is_live:
            self._check_newest(view.job, caller)
        alerts = self.alerts.evaluate(view.job, step.job, event)
        if step.history_event:
            failpoint("storing", view.job.name, step=step.history_event)
            row = self._row(view.job, step, caller)
            self.store.save(step.job, row, step.snapshot, step.replaced_snapshot_id, alerts.changes)
            failpoint("stored", view.job.name, step=step.history_event)
        elif alerts.changes:
            self.store.save_alert_changes(alerts.changes)
        self.alerts.commit(alerts)
        if view.job.snapshot_request is not None and step.job.snapshot_request is None:
            self.snapshot_names.finish(view.job.snapshot_request, step.snapshot or step.history_message)
        self._record_metrics(step.job, event)
        self._reports.note(view.job, step.job, event)
        if isinstance(event, RightsLost):
            self.audit.note("right lost", Caller(step.job.owner), outcome=DENIED, job=step.job.id)
        self._show(step, updated_stats(view.stats, event, step))
        self._retention.on_step(view.job, step.job)
        return step

    def _record_metrics(self, job: Job, event: Event) -> None:
        if isinstance(event, BatchCommitted) and event.metrics is not None:
            self.metrics.add(job.id, event.metrics, keep=job.plan.options.metrics_enabled)
        if not keeps_metrics(job):
            self.metrics.forget((job.id,))

    def _step(self, job: Job, event: Event) -> Step:
        settings = self.settings
        delays = settings.retry_first_seconds, settings.retry_most_seconds
        fixed = self.runtime.fixed_partitions
        context = StepContext(self.clock(), *delays, not self._open, self._membership.cluster, fixed)
        return redact_step(job, apply_event(job, event, context))

    def _stored(self, job_id: str) -> JobView:
        job = self.store.job(job_id)
        if job is None:
            raise StatementError("JOB_NOT_FOUND", f"There is no job {job_id}.")
        return JobView(job)

    def _show(self, step: Step, stats: RunStats) -> JobView:
        """Publish a step. Actions are dispatched first, so that a statement that sees the step can wait for them."""
        for action in step.actions:
            if isinstance(action, StartRun):
                self._audit_start(action.job)
        self.workers.dispatch([action for action in step.actions if not isinstance(action, ScheduleRetry)])
        for action in step.actions:
            if isinstance(action, ScheduleRetry):
                self._retry_later(action)
        if any(isinstance(action, StartRun) for action in step.actions):
            stats = replace(stats, run_began=self.clock())
        view = JobView(step.job, stats)
        self.registry.put(view)
        return view

    def _audit_start(self, job: Job) -> None:
        objects = tuple(AuditedObject(*used) for used in used_tables(job))
        self.audit.note("job start", Caller(job.owner), job=job.id, objects=objects, detail=f"Run {job.run} starts.")

    def _retry_later(self, action: ScheduleRetry) -> None:
        self._writer.call_at(action.time, lambda: self._on_event(RetryDue(action.run)))

    def _row(self, before: Job, step: Step, caller: Caller, *, first: bool = False) -> HistoryRow:
        after = step.job
        return HistoryRow(
            after.id,
            self.clock(),
            step.history_event,
            None if first else before.status,
            after.status,
            after.run,
            step.history_message,
            caller,
        )

    def _is_in_use(self, job_id: str) -> bool:
        return self.registry.has_waiters(job_id) or not self.workers.wait_for_job(job_id, 0)

    def _check_open(self) -> None:
        if not self._open:
            raise closed_error()

    def _check_newest(self, job: Job, caller: Caller) -> None:
        """Raise StatementError JOB_ALREADY_EXISTS for an ended job that is not the newest with its name."""
        newest = self.store.newest_named(job.name)
        if newest is not None and newest.id != job.id:
            is_seen = self.access.jobs_seen_by(caller)(newest)
            facts = f", {newest.id}, with status {newest.shown_status}" if is_seen else " of another user"
            raise StatementError(
                "JOB_ALREADY_EXISTS",
                f"There is a newer job named {newest.name}{facts}.",
                hint="Use another name, or DROP JOB first.",
            )

    def report(self, event: RunEvent) -> None:
        """Apply an event of a run or a worker. Any thread can call this."""
        self._writer.submit(lambda: self._on_event(event)).add_done_callback(_log_error)

    def _on_members(self, cluster: ClusterState) -> None:
        """Update the members. Any thread can call this."""
        self._writer.submit(lambda: self._membership.update(cluster)).add_done_callback(_log_error)

    def _on_event(self, event: RunEvent) -> None:
        if self._has_crashed:
            return
        self._apply_with_retry(event.run.job, event)

    def _apply_with_retry(self, job_id: str, event: Event) -> None:
        """Apply an event now, or again later when the store is not writable."""
        try:
            self._apply(job_id, event)
        except EngineError as error:
            _LOG.error("Job %s: %s could not be stored (%s); trying again", job_id, _kind(event), error)
            self._writer.call_at(
                self.clock() + self.settings.store_retry_seconds, lambda: self._apply_with_retry(job_id, event)
            )
        except StatementError as error:
            if not isinstance(event, SnapshotFinished):
                raise
            # Another snapshot has taken the name in the meantime, and keeps it.
            self._on_event(SnapshotFailed(event.run, Cause(error.message, error.condition, error.sqlstate)))


def _kind(event: Event) -> str:
    """Return the name of an event for the log, without its statement and options, which can contain secrets."""
    return type(event).__name__


def _log_error(done: Future[None]) -> None:
    """Log the error of an event, since no caller waits for its result."""
    error = done.exception()
    if isinstance(error, EngineError):
        _LOG.info("An event was ignored: the engine is closed")
    elif error is not None:
        _LOG.error("An event could not be applied", exc_info=error)
