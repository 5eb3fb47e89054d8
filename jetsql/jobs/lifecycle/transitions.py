"""The life cycle of a job as a table of pure functions: (status, event) -> handler.

Handlers have no IO, clock or threads: time is an argument, and effects are returned as actions. Every combination has a
handler, and `_row` takes all statuses by name, so a new status cannot be forgotten. The design follows dask's
`worker_state_machine`.

An event of another run than the job's newest is always stale.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

from jetsql.jobs.lifecycle import cluster_steps, failure, snapshot_steps, start, steps, stop, update
from jetsql.jobs.lifecycle.events import (
    AlterOptions,
    Cancel,
    ChangeOwner,
    CleanupFailed,
    EngineCrashed,
    EngineStarted,
    EngineStopping,
    Event,
    FilesDiscarded,
    MembersChanged,
    MembersSettled,
    Restart,
    Resume,
    RetryDue,
    RightsLost,
    RunEvent,
    SnapshotFailed,
    SnapshotFinished,
    SnapshotWritten,
    Started,
    StartFailed,
    Step,
    StopFailed,
    Stopped,
    Submit,
    Superseded,
    Suspend,
    TakeSnapshot,
    TrialProbed,
    Update,
    UpdateFailed,
    UpdatePrepared,
)
from jetsql.jobs.lifecycle.runtime import (
    BatchCommitted,
    GroupNotice,
    LineageFound,
    ResourceExhausted,
    ResourceNotice,
    RestartRequested,
    RowsChecked,
    RunBlocked,
    RunCompleted,
    RunFailed,
    RunIdle,
    RunProgressed,
    SinkNotice,
)
from jetsql.jobs.lifecycle.step_context import StepContext
from jetsql.jobs.model.job import Job, Status

Handler = Callable[[Job, Any, StepContext], Step]
Row = Mapping[Status, Handler]


def _row(
    *,
    not_running: Handler,
    starting: Handler,
    running: Handler,
    completing: Handler,
    suspended: Handler,
    exporting: Handler,
    failed: Handler,
    completed: Handler,
) -> Row:
    return {
        Status.NOT_RUNNING: not_running,
        Status.STARTING: starting,
        Status.RUNNING: running,
        Status.COMPLETING: completing,
        Status.SUSPENDED: suspended,
        Status.SUSPENDED_EXPORTING_SNAPSHOT: exporting,
        Status.FAILED: failed,
        Status.COMPLETED: completed,
    }


def _run_row(*, not_running: Handler, starting: Handler, running: Handler, completing: Handler) -> Row:
    """Return the row of an event that only a run can send: it is stale for a job without a run."""
    return _row(
        not_running=not_running,
        starting=starting,
        running=running,
        completing=completing,
        suspended=steps.stale,
        exporting=steps.stale,
        failed=steps.stale,
        completed=steps.stale,
    )


def _export_row(handler: Handler) -> Row:
    """Return the row of an event about the snapshot of a job that does not run."""
    return {**_same(steps.stale), Status.SUSPENDED_EXPORTING_SNAPSHOT: handler}


def _progress_row(handler: Handler) -> Row:
    """Return the row of a progress event, which still counts if it comes after the job was suspended."""
    return _row(
        not_running=handler,
        starting=handler,
        running=handler,
        completing=handler,
        suspended=handler,
        exporting=handler,
        failed=steps.stale,
        completed=steps.stale,
    )


def _same(handler: Handler) -> Row:
    return dict.fromkeys(Status, handler)


TABLE: Final[Mapping[type, Row]] = {
    Submit: _row(
        not_running=start.submit,
        starting=steps.refuse_submit,
        running=steps.refuse_submit,
        completing=steps.refuse_submit,
        suspended=steps.refuse_submit,
        exporting=steps.refuse_submit,
        failed=steps.refuse_submit,
        completed=steps.refuse_submit,
    ),
    Suspend: _row(
        not_running=stop.suspend_now,
        starting=stop.suspend,
        running=stop.suspend,
        completing=stop.suspend_while_stopping,
        suspended=steps.suspended_already,
        exporting=steps.suspended_already,
        failed=steps.refuse_ended,
        completed=steps.refuse_ended,
    ),
    Resume: _row(
        not_running=start.start_now,
        starting=steps.starting_already,
        running=steps.running_already,
        completing=stop.start_after_stop,
        suspended=start.resume,
        exporting=steps.refuse_during_snapshot,
        failed=steps.refuse_ended,
        completed=start.run_again,
    ),
    Restart: _row(
        not_running=start.start_now,
        starting=steps.starting_already,
        running=stop.restart,
        completing=stop.start_after_stop,
        suspended=steps.refuse_restart,
        exporting=steps.refuse_during_snapshot,
        failed=steps.refuse_ended,
        completed=start.run_again,
    ),
    Cancel: _row(
        not_running=stop.cancel_now,
        starting=stop.cancel,
        running=stop.cancel,
        completing=stop.cancel_while_stopping,
        suspended=stop.cancel_now,
        exporting=steps.refuse_during_snapshot,
        failed=stop.drop_ended,
        completed=stop.drop_ended,
    ),
    AlterOptions: _row(
        not_running=steps.refuse_alter,
        starting=steps.refuse_alter,
        running=steps.refuse_alter,
        completing=steps.refuse_alter,
        suspended=start.alter,
        exporting=steps.refuse_during_snapshot,
        failed=steps.refuse_ended,
        completed=steps.refuse_ended,
    ),
    ChangeOwner: _same(steps.change_owner),
    RightsLost: _row(
        not_running=stop.suspend_waiting,
        starting=stop.stop_immediately,
        running=stop.stop_immediately,
        completing=stop.suspend_instead,
        suspended=steps.keep,
        exporting=steps.keep,
        failed=steps.keep,
        completed=steps.keep,
    ),
    TakeSnapshot: _row(
        not_running=snapshot_steps.snapshot_running,
        starting=snapshot_steps.snapshot_running,
        running=snapshot_steps.snapshot_running,
        completing=snapshot_steps.snapshot_running,
        suspended=snapshot_steps.snapshot_suspended,
        exporting=steps.refuse_during_snapshot,
        failed=snapshot_steps.refuse_ended,
        completed=snapshot_steps.snapshot_running,
    ),
    Update: _row(
        not_running=update.update_waiting,
        starting=update.update_running,
        running=update.update_running,
        completing=update.update_stopping,
        suspended=update.update_suspended,
        exporting=steps.refuse_during_snapshot,
        failed=steps.refuse_ended,
        completed=steps.refuse_ended,
    ),
    SnapshotWritten: _same(snapshot_steps.snapshot_written),
    SnapshotFinished: _export_row(snapshot_steps.snapshot_finished),
    SnapshotFailed: _export_row(snapshot_steps.snapshot_failed),
    UpdatePrepared: _run_row(
        not_running=steps.stale, starting=steps.stale, running=steps.stale, completing=stop.update_prepared
    ),
    UpdateFailed: _run_row(
        not_running=steps.stale, starting=steps.stale, running=steps.stale, completing=stop.update_failed
    ),
    TrialProbed: _run_row(
        not_running=failure.trial_probed, starting=steps.stale, running=steps.stale, completing=steps.stale
    ),
    Started: _run_row(not_running=steps.keep, starting=start.started, running=steps.keep, completing=steps.keep),
    StartFailed: _run_row(
        not_running=failure.failed_after_run,
        starting=failure.start_failed,
        running=failure.start_failed,
        completing=failure.failed_while_stopping,
    ),
    Stopped: _run_row(
        not_running=stop.stopped_with_engine, starting=steps.stale, running=steps.stale, completing=stop.stopped
    ),
    StopFailed: _run_row(
        not_running=stop.stop_failed_with_engine,
        starting=steps.stale,
        running=steps.stale,
        completing=stop.stop_failed,
    ),
    BatchCommitted: _progress_row(start.batch_committed),
    RunIdle: _progress_row(start.run_idle),
    RunProgressed: _progress_row(start.run_progressed),
    RunBlocked: _run_row(
        not_running=steps.stale, starting=failure.run_blocked, running=failure.run_blocked, completing=steps.keep
    ),
    RunCompleted: _run_row(
        not_running=start.complete,
        starting=start.complete,
        running=start.complete,
        completing=stop.completed_while_stopping,
    ),
    RunFailed: _run_row(
        not_running=failure.failed_after_run,
        starting=failure.run_failed,
        running=failure.run_failed,
        completing=failure.failed_while_stopping,
    ),
    RestartRequested: _run_row(
        not_running=steps.keep,
        starting=start.restart_requested,
        running=start.restart_requested,
        completing=stop.restart_while_stopping,
    ),
    SinkNotice: _same(steps.record_sink_notice),
    GroupNotice: _same(steps.record_group_notice),
    RowsChecked: _same(steps.record_counts),
    LineageFound: _same(steps.keep),
    ResourceNotice: _run_row(
        not_running=steps.stale,
        starting=steps.record_resource_notice,
        running=steps.record_resource_notice,
        completing=steps.record_resource_notice,
    ),
    ResourceExhausted: _run_row(
        not_running=steps.keep,
        starting=stop.stop_immediately,
        running=stop.stop_immediately,
        completing=stop.suspend_instead,
    ),
    FilesDiscarded: _row(
        not_running=steps.stale,
        starting=steps.stale,
        running=steps.stale,
        completing=steps.stale,
        suspended=steps.stale,
        exporting=steps.stale,
        failed=start.files_discarded,
        completed=start.files_discarded,
    ),
    CleanupFailed: _same(steps.record_cleanup_failure),
    RetryDue: _run_row(not_running=start.retry, starting=steps.stale, running=steps.stale, completing=steps.stale),
    Superseded: _row(
        not_running=steps.keep,
        starting=steps.keep,
        running=steps.keep,
        completing=steps.keep,
        suspended=steps.keep,
        exporting=steps.keep,
        failed=steps.keep,
        completed=start.superseded,
    ),
    MembersChanged: _row(
        not_running=cluster_steps.members_changed,
        starting=cluster_steps.run_members_changed,
        running=cluster_steps.run_members_changed,
        completing=cluster_steps.members_lost_while_stopping,
        suspended=steps.keep,
        exporting=steps.keep,
        failed=steps.keep,
        completed=steps.keep,
    ),
    MembersSettled: _row(
        not_running=cluster_steps.raise_quorum,
        starting=cluster_steps.members_joined,
        running=cluster_steps.members_joined,
        completing=cluster_steps.raise_quorum,
        suspended=cluster_steps.raise_quorum,
        exporting=cluster_steps.raise_quorum,
        failed=steps.keep,
        completed=steps.keep,
    ),
    EngineStarted: _row(
        not_running=start.continue_run,
        starting=start.continue_run,
        running=start.continue_run,
        completing=stop.finish_stop,
        suspended=steps.keep,
        exporting=snapshot_steps.abandon_snapshot,
        failed=start.clean_up,
        completed=start.clean_up,
    ),
    EngineCrashed: _row(
        not_running=steps.keep,
        starting=failure.engine_crashed,
        running=failure.engine_crashed,
        completing=failure.engine_crashed,
        suspended=steps.keep,
        exporting=failure.engine_crashed,
        failed=steps.keep,
        completed=steps.keep,
    ),
    EngineStopping: _row(
        not_running=steps.keep,
        starting=stop.stop_with_engine,
        running=stop.stop_with_engine,
        completing=stop.stopping_with_engine,
        suspended=steps.keep,
        exporting=steps.keep,
        failed=steps.keep,
        completed=steps.keep,
    ),
}


def apply_event(job: Job, event: Event, context: StepContext) -> Step:
    """Return the step that an event causes for a job. Never raises."""
    if isinstance(event, get_args(RunEvent)) and event.run != job.run_id:
        return steps.stale(job, event, context)
    return TABLE[type(event)][job.status](job, event, context)
