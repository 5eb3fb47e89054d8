"""The life of a job as one pure table: (status, event) -> what to do.

No IO, no clock, no thread: time is an argument, effects are returned as actions. Every cell is decided, and `_row`
takes all statuses by name, so a new status can't be forgotten. After the model of dask's `worker_state_machine`.

An event of another run than the job's newest is late, whatever the table says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

from jetsql.jobs import answers, exports, failures, rescaling, starts, stops, updates
from jetsql.jobs.engine import (
    BatchCommitted,
    RestartWanted,
    RunCompleted,
    RunFailed,
    RunFlowing,
    RunHindered,
    RunIdle,
    SinkNoticed,
)
from jetsql.jobs.events import (
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
from jetsql.jobs.model import Job, RunId, Status
from jetsql.jobs.moves import Moment

Handler = Callable[[Job, Any, Moment], Step]
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
        suspended=answers.late,
        exporting=answers.late,
        failed=answers.late,
        completed=answers.late,
    )


def _export_row(handler: Handler) -> Row:
    """A row of what became of the snapshot of a job that does not run."""
    return {**_same(answers.late), Status.SUSPENDED_EXPORTING_SNAPSHOT: handler}


def _progress_row(handler: Handler) -> Row:
    """A row of progress: told a moment late, it still counts for a job that has just been suspended."""
    return _row(
        not_running=handler,
        starting=handler,
        running=handler,
        completing=handler,
        suspended=handler,
        exporting=handler,
        failed=answers.late,
        completed=answers.late,
    )


def _same(handler: Handler) -> Row:
    return dict.fromkeys(Status, handler)


TABLE: Final[Mapping[type, Row]] = {
    Submit: _row(
        not_running=starts.submit,
        starting=answers.submitted_before,
        running=answers.submitted_before,
        completing=answers.submitted_before,
        suspended=answers.submitted_before,
        exporting=answers.submitted_before,
        failed=answers.submitted_before,
        completed=answers.submitted_before,
    ),
    Suspend: _row(
        not_running=stops.suspend_at_once,
        starting=stops.suspend,
        running=stops.suspend,
        completing=stops.suspend_while_stopping,
        suspended=answers.suspended_already,
        exporting=answers.suspended_already,
        failed=answers.ended,
        completed=answers.ended,
    ),
    Resume: _row(
        not_running=starts.start_at_once,
        starting=answers.starting_already,
        running=answers.running_already,
        completing=stops.start_after_stop,
        suspended=starts.resume,
        exporting=answers.wait_for_snapshot,
        failed=answers.ended,
        completed=starts.run_again,
    ),
    Restart: _row(
        not_running=starts.start_at_once,
        starting=answers.starting_already,
        running=stops.restart,
        completing=stops.start_after_stop,
        suspended=answers.restart_of_suspended,
        exporting=answers.wait_for_snapshot,
        failed=answers.ended,
        completed=starts.run_again,
    ),
    Cancel: _row(
        not_running=stops.cancel_at_once,
        starting=stops.cancel,
        running=stops.cancel,
        completing=stops.cancel_while_stopping,
        suspended=stops.cancel_at_once,
        exporting=answers.wait_for_snapshot,
        failed=stops.forget,
        completed=stops.forget,
    ),
    AlterOptions: _row(
        not_running=answers.alter_refused,
        starting=answers.alter_refused,
        running=answers.alter_refused,
        completing=answers.alter_refused,
        suspended=starts.alter,
        exporting=answers.wait_for_snapshot,
        failed=answers.ended,
        completed=answers.ended,
    ),
    ExportState: _row(
        not_running=exports.export_running,
        starting=exports.export_running,
        running=exports.export_running,
        completing=exports.export_running,
        suspended=exports.export_suspended,
        exporting=answers.wait_for_snapshot,
        failed=exports.ended,
        completed=exports.export_running,
    ),
    Update: _row(
        not_running=updates.update_waiting,
        starting=updates.update_running,
        running=updates.update_running,
        completing=updates.update_stopping,
        suspended=updates.update_suspended,
        exporting=answers.wait_for_snapshot,
        failed=answers.ended,
        completed=answers.ended,
    ),
    SnapshotWritten: _same(exports.snapshot_written),
    Exported: _export_row(exports.exported),
    ExportFailed: _export_row(exports.export_failed),
    UpdatePrepared: _run_row(
        not_running=answers.late, starting=answers.late, running=answers.late, completing=stops.prepared
    ),
    UpdateFailed: _run_row(
        not_running=answers.late, starting=answers.late, running=answers.late, completing=stops.not_prepared
    ),
    TrialJudged: _run_row(
        not_running=failures.judged, starting=answers.late, running=answers.late, completing=answers.late
    ),
    Started: _run_row(not_running=answers.keep, starting=starts.started, running=answers.keep, completing=answers.keep),
    StartFailed: _run_row(
        not_running=failures.failed_after_run,
        starting=failures.start_failed,
        running=failures.start_failed,
        completing=failures.failed_while_stopping,
    ),
    Stopped: _run_row(
        not_running=stops.stopped_with_engine, starting=answers.late, running=answers.late, completing=stops.stopped
    ),
    StopFailed: _run_row(
        not_running=stops.stop_failed_with_engine,
        starting=answers.late,
        running=answers.late,
        completing=stops.stop_failed,
    ),
    BatchCommitted: _progress_row(starts.batch),
    RunIdle: _progress_row(starts.idle),
    RunFlowing: _progress_row(starts.flowing),
    RunHindered: _run_row(
        not_running=answers.late, starting=failures.hindered, running=failures.hindered, completing=answers.keep
    ),
    RunCompleted: _run_row(
        not_running=starts.complete,
        starting=starts.complete,
        running=starts.complete,
        completing=stops.completed_while_stopping,
    ),
    RunFailed: _run_row(
        not_running=failures.failed_after_run,
        starting=failures.run_failed,
        running=failures.run_failed,
        completing=failures.failed_while_stopping,
    ),
    RestartWanted: _run_row(
        not_running=answers.keep,
        starting=starts.restart_wanted,
        running=starts.restart_wanted,
        completing=stops.restart_while_stopping,
    ),
    SinkNoticed: _same(answers.sink_noticed),
    FilesDiscarded: _row(
        not_running=answers.late,
        starting=answers.late,
        running=answers.late,
        completing=answers.late,
        suspended=answers.late,
        exporting=answers.late,
        failed=starts.files_discarded,
        completed=starts.files_discarded,
    ),
    CleanupFailed: _same(answers.cleanup_failed),
    RetryDue: _run_row(not_running=starts.retry, starting=answers.late, running=answers.late, completing=answers.late),
    Superseded: _row(
        not_running=answers.keep,
        starting=answers.keep,
        running=answers.keep,
        completing=answers.keep,
        suspended=answers.keep,
        exporting=answers.keep,
        failed=answers.keep,
        completed=starts.superseded,
    ),
    MembersChanged: _row(
        not_running=rescaling.changed,
        starting=rescaling.lost,
        running=rescaling.lost,
        completing=rescaling.lost_while_stopping,
        suspended=answers.keep,
        exporting=answers.keep,
        failed=answers.keep,
        completed=answers.keep,
    ),
    MembersSettled: _row(
        not_running=rescaling.raise_quorum,
        starting=rescaling.grown,
        running=rescaling.grown,
        completing=rescaling.raise_quorum,
        suspended=rescaling.raise_quorum,
        exporting=rescaling.raise_quorum,
        failed=answers.keep,
        completed=answers.keep,
    ),
    EngineUp: _row(
        not_running=starts.continue_run,
        starting=starts.continue_run,
        running=starts.continue_run,
        completing=stops.finish_stop,
        suspended=answers.keep,
        exporting=exports.give_up_snapshot,
        failed=starts.clean_up,
        completed=starts.clean_up,
    ),
    EngineDown: _row(
        not_running=answers.keep,
        starting=stops.stop_with_engine,
        running=stops.stop_with_engine,
        completing=stops.stopping_with_engine,
        suspended=answers.keep,
        exporting=answers.keep,
        failed=answers.keep,
        completed=answers.keep,
    ),
}


def step(job: Job, event: Event, moment: Moment) -> Step:
    """What the event does to the job. Never raises."""
    if isinstance(event, get_args(RunEvent)) and event.run != RunId(job.id, job.run):
        return answers.late(job, event, moment)
    return TABLE[type(event)][job.status](job, event, moment)
