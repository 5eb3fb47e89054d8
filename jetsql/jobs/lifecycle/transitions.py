"""The life of a job as one pure table: (status, event) -> what to do.

No IO, no clock, no thread: time is an argument, effects are returned as actions. Every cell is decided, and `_row`
takes all statuses by name, so a new status can't be forgotten. After the model of dask's `worker_state_machine`.

An event of another run than the job's newest is late, whatever the table says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

from jetsql.jobs.lifecycle import cluster_steps, failure, snapshot_steps, start, steps, stop, update
from jetsql.jobs.lifecycle.engine_api import (
    BatchCommitted,
    RestartRequested,
    RunBlocked,
    RunCompleted,
    RunFailed,
    RunIdle,
    RunProgressed,
    SinkNoticed,
)
from jetsql.jobs.lifecycle.events import (
    AlterOptions,
    Cancel,
    CleanupFailed,
    EngineDown,
    EngineUp,
    Event,
    Exported,
    ExportFailed,
    ExportState,
    FilesDiscarded,
    MembersChanged,
    MembersSettled,
    Restart,
    Resume,
    RetryDue,
    RunEvent,
    SnapshotWritten,
    Started,
    StartFailed,
    Step,
    StopFailed,
    Stopped,
    Submit,
    Superseded,
    Suspend,
    TrialJudged,
    Update,
    UpdateFailed,
    UpdatePrepared,
)
from jetsql.jobs.lifecycle.step_context import StepContext
from jetsql.jobs.model.job import Job, RunId, Status

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
    """A row of an event that only a run can send: late for a job that has none."""
    return _row(
        not_running=not_running,
        starting=starting,
        running=running,
        completing=completing,
        suspended=steps.late,
        exporting=steps.late,
        failed=steps.late,
        completed=steps.late,
    )


def _export_row(handler: Handler) -> Row:
    """A row of what became of the snapshot of a job that does not run."""
    return {**_same(steps.late), Status.SUSPENDED_EXPORTING_SNAPSHOT: handler}


def _progress_row(handler: Handler) -> Row:
    """A row of progress: told a moment late, it still counts for a job that has just been suspended."""
    return _row(
        not_running=handler,
        starting=handler,
        running=handler,
        completing=handler,
        suspended=handler,
        exporting=handler,
        failed=steps.late,
        completed=steps.late,
    )


def _same(handler: Handler) -> Row:
    return dict.fromkeys(Status, handler)


TABLE: Final[Mapping[type, Row]] = {
    Submit: _row(
        not_running=start.submit,
        starting=steps.submitted_before,
        running=steps.submitted_before,
        completing=steps.submitted_before,
        suspended=steps.submitted_before,
        exporting=steps.submitted_before,
        failed=steps.submitted_before,
        completed=steps.submitted_before,
    ),
    Suspend: _row(
        not_running=stop.suspend_at_once,
        starting=stop.suspend,
        running=stop.suspend,
        completing=stop.suspend_while_stopping,
        suspended=steps.suspended_already,
        exporting=steps.suspended_already,
        failed=steps.ended,
        completed=steps.ended,
    ),
    Resume: _row(
        not_running=start.start_at_once,
        starting=steps.starting_already,
        running=steps.running_already,
        completing=stop.start_after_stop,
        suspended=start.resume,
        exporting=steps.wait_for_snapshot,
        failed=steps.ended,
        completed=start.run_again,
    ),
    Restart: _row(
        not_running=start.start_at_once,
        starting=steps.starting_already,
        running=stop.restart,
        completing=stop.start_after_stop,
        suspended=steps.restart_of_suspended,
        exporting=steps.wait_for_snapshot,
        failed=steps.ended,
        completed=start.run_again,
    ),
    Cancel: _row(
        not_running=stop.cancel_at_once,
        starting=stop.cancel,
        running=stop.cancel,
        completing=stop.cancel_while_stopping,
        suspended=stop.cancel_at_once,
        exporting=steps.wait_for_snapshot,
        failed=stop.forget,
        completed=stop.forget,
    ),
    AlterOptions: _row(
        not_running=steps.alter_refused,
        starting=steps.alter_refused,
        running=steps.alter_refused,
        completing=steps.alter_refused,
        suspended=start.alter,
        exporting=steps.wait_for_snapshot,
        failed=steps.ended,
        completed=steps.ended,
    ),
    ExportState: _row(
        not_running=snapshot_steps.export_running,
        starting=snapshot_steps.export_running,
        running=snapshot_steps.export_running,
        completing=snapshot_steps.export_running,
        suspended=snapshot_steps.export_suspended,
        exporting=steps.wait_for_snapshot,
        failed=snapshot_steps.ended,
        completed=snapshot_steps.export_running,
    ),
    Update: _row(
        not_running=update.update_waiting,
        starting=update.update_running,
        running=update.update_running,
        completing=update.update_stopping,
        suspended=update.update_suspended,
        exporting=steps.wait_for_snapshot,
        failed=steps.ended,
        completed=steps.ended,
    ),
    SnapshotWritten: _same(snapshot_steps.snapshot_written),
    Exported: _export_row(snapshot_steps.exported),
    ExportFailed: _export_row(snapshot_steps.export_failed),
    UpdatePrepared: _run_row(not_running=steps.late, starting=steps.late, running=steps.late, completing=stop.prepared),
    UpdateFailed: _run_row(
        not_running=steps.late, starting=steps.late, running=steps.late, completing=stop.not_prepared
    ),
    TrialJudged: _run_row(not_running=failure.judged, starting=steps.late, running=steps.late, completing=steps.late),
    Started: _run_row(not_running=steps.keep, starting=start.started, running=steps.keep, completing=steps.keep),
    StartFailed: _run_row(
        not_running=failure.failed_after_run,
        starting=failure.start_failed,
        running=failure.start_failed,
        completing=failure.failed_while_stopping,
    ),
    Stopped: _run_row(
        not_running=stop.stopped_with_engine, starting=steps.late, running=steps.late, completing=stop.stopped
    ),
    StopFailed: _run_row(
        not_running=stop.stop_failed_with_engine,
        starting=steps.late,
        running=steps.late,
        completing=stop.stop_failed,
    ),
    BatchCommitted: _progress_row(start.batch),
    RunIdle: _progress_row(start.idle),
    RunProgressed: _progress_row(start.flowing),
    RunBlocked: _run_row(
        not_running=steps.late, starting=failure.hindered, running=failure.hindered, completing=steps.keep
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
        starting=start.restart_wanted,
        running=start.restart_wanted,
        completing=stop.restart_while_stopping,
    ),
    SinkNoticed: _same(steps.sink_noticed),
    FilesDiscarded: _row(
        not_running=steps.late,
        starting=steps.late,
        running=steps.late,
        completing=steps.late,
        suspended=steps.late,
        exporting=steps.late,
        failed=start.files_discarded,
        completed=start.files_discarded,
    ),
    CleanupFailed: _same(steps.cleanup_failed),
    RetryDue: _run_row(not_running=start.retry, starting=steps.late, running=steps.late, completing=steps.late),
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
        not_running=cluster_steps.changed,
        starting=cluster_steps.lost,
        running=cluster_steps.lost,
        completing=cluster_steps.lost_while_stopping,
        suspended=steps.keep,
        exporting=steps.keep,
        failed=steps.keep,
        completed=steps.keep,
    ),
    MembersSettled: _row(
        not_running=cluster_steps.raise_quorum,
        starting=cluster_steps.grown,
        running=cluster_steps.grown,
        completing=cluster_steps.raise_quorum,
        suspended=cluster_steps.raise_quorum,
        exporting=cluster_steps.raise_quorum,
        failed=steps.keep,
        completed=steps.keep,
    ),
    EngineUp: _row(
        not_running=start.continue_run,
        starting=start.continue_run,
        running=start.continue_run,
        completing=stop.finish_stop,
        suspended=steps.keep,
        exporting=snapshot_steps.give_up_snapshot,
        failed=start.clean_up,
        completed=start.clean_up,
    ),
    EngineDown: _row(
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


def step(job: Job, event: Event, moment: StepContext) -> Step:
    """What the event does to the job. Never raises."""
    if isinstance(event, get_args(RunEvent)) and event.run != RunId(job.id, job.run):
        return steps.late(job, event, moment)
    return TABLE[type(event)][job.status](job, event, moment)
