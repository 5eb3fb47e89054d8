"""The life of a job as one pure table: (status, event) -> what to do.

No IO, no clock, no thread: time is an argument, effects are returned as actions. Every cell is decided, and `_row`
takes all statuses by name, so a new status can't be forgotten. After the model of dask's `worker_state_machine`.

An event of another run than the job's newest is late, whatever the table says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

from jetsql.jobs import transitions as to
from jetsql.jobs.engine import BatchCommitted, RestartWanted, RunCompleted, RunFailed, RunIdle, SinkNoticed
from jetsql.jobs.events import (
    AlterOptions,
    Cancel,
    CleanupFailed,
    EngineDown,
    EngineUp,
    Event,
    FilesDiscarded,
    Restart,
    Resume,
    RetryDue,
    RunEvent,
    Started,
    StartFailed,
    Step,
    StopFailed,
    Stopped,
    Submit,
    Suspend,
)
from jetsql.jobs.model import Job, RunId, Status
from jetsql.jobs.transitions import Moment

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
        suspended=to.late,
        exporting=to.late,
        failed=to.late,
        completed=to.late,
    )


def _same(handler: Handler) -> Row:
    return dict.fromkeys(Status, handler)


TABLE: Final[Mapping[type, Row]] = {
    Submit: _row(
        not_running=to.submit,
        starting=to.submitted_before,
        running=to.submitted_before,
        completing=to.submitted_before,
        suspended=to.submitted_before,
        exporting=to.submitted_before,
        failed=to.submitted_before,
        completed=to.submitted_before,
    ),
    Suspend: _row(
        not_running=to.suspend_at_once,
        starting=to.suspend,
        running=to.suspend,
        completing=to.suspend_while_stopping,
        suspended=to.suspended_already,
        exporting=to.suspended_already,
        failed=to.ended,
        completed=to.ended,
    ),
    Resume: _row(
        not_running=to.start_at_once,
        starting=to.starting_already,
        running=to.running_already,
        completing=to.start_after_stop,
        suspended=to.resume,
        exporting=to.wait_for_snapshot,
        failed=to.ended,
        completed=to.run_again,
    ),
    Restart: _row(
        not_running=to.start_at_once,
        starting=to.starting_already,
        running=to.restart,
        completing=to.start_after_stop,
        suspended=to.restart_of_suspended,
        exporting=to.wait_for_snapshot,
        failed=to.ended,
        completed=to.run_again,
    ),
    Cancel: _row(
        not_running=to.cancel_at_once,
        starting=to.cancel,
        running=to.cancel,
        completing=to.cancel_while_stopping,
        suspended=to.cancel_at_once,
        exporting=to.wait_for_snapshot,
        failed=to.ended_already,
        completed=to.forget,
    ),
    AlterOptions: _row(
        not_running=to.alter_refused,
        starting=to.alter_refused,
        running=to.alter_refused,
        completing=to.alter_refused,
        suspended=to.alter,
        exporting=to.wait_for_snapshot,
        failed=to.ended,
        completed=to.ended,
    ),
    Started: _run_row(
        not_running=to.keep, starting=to.started, running=to.keep, completing=to.keep
    ),
    StartFailed: _run_row(
        not_running=to.failed_while_engine_stops,
        starting=to.start_failed,
        running=to.start_failed,
        completing=to.failed_while_stopping,
    ),
    Stopped: _run_row(
        not_running=to.stopped_with_engine, starting=to.late, running=to.late, completing=to.stopped
    ),
    StopFailed: _run_row(
        not_running=to.stop_failed_with_engine, starting=to.late, running=to.late, completing=to.stop_failed
    ),
    BatchCommitted: _run_row(
        not_running=to.batch, starting=to.batch, running=to.batch, completing=to.batch
    ),
    RunIdle: _run_row(
        not_running=to.idle, starting=to.idle, running=to.idle, completing=to.idle
    ),
    RunCompleted: _run_row(
        not_running=to.complete, starting=to.complete, running=to.complete, completing=to.completed_while_stopping
    ),
    RunFailed: _run_row(
        not_running=to.failed_while_engine_stops,
        starting=to.run_failed,
        running=to.run_failed,
        completing=to.failed_while_stopping,
    ),
    RestartWanted: _run_row(
        not_running=to.keep, starting=to.restart_wanted, running=to.restart_wanted, completing=to.keep
    ),
    SinkNoticed: _same(to.sink_noticed),
    FilesDiscarded: _row(
        not_running=to.late,
        starting=to.late,
        running=to.late,
        completing=to.late,
        suspended=to.late,
        exporting=to.late,
        failed=to.files_discarded,
        completed=to.files_discarded,
    ),
    CleanupFailed: _same(to.cleanup_failed),
    RetryDue: _run_row(
        not_running=to.retry, starting=to.late, running=to.late, completing=to.late
    ),
    EngineUp: _row(
        not_running=to.continue_run,
        starting=to.continue_run,
        running=to.continue_run,
        completing=to.finish_stop,
        suspended=to.keep,
        exporting=to.give_up_snapshot,
        failed=to.clean_up,
        completed=to.clean_up,
    ),
    EngineDown: _row(
        not_running=to.keep,
        starting=to.stop_with_engine,
        running=to.stop_with_engine,
        completing=to.stopping_with_engine,
        suspended=to.keep,
        exporting=to.keep,
        failed=to.keep,
        completed=to.keep,
    ),
}


def step(job: Job, event: Event, moment: Moment) -> Step:
    """What the event does to the job. Never raises."""
    if isinstance(event, get_args(RunEvent)) and event.run != RunId(job.id, job.run):
        return to.late(job, event, moment)
    return TABLE[type(event)][job.status](job, event, moment)
