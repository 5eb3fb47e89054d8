"""The changes of a job's status, computed from the table of its life cycle with a job in each status."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from jetsql.errors import Span
from jetsql.jobs.lifecycle.events import (
    Cancel,
    Event,
    Outcome,
    Restart,
    Resume,
    RetryDue,
    SnapshotFinished,
    SnapshotWritten,
    Started,
    StartFailed,
    Stopped,
    Submit,
    Suspend,
    TakeSnapshot,
)
from jetsql.jobs.lifecycle.runtime import BatchCommitted, RunCompleted, RunFailed
from jetsql.jobs.lifecycle.step_context import StepContext
from jetsql.jobs.lifecycle.transitions import apply_event
from jetsql.jobs.model.body_analysis import Analysis, CapturedSession, OutputMode, Sink, SinkKind
from jetsql.jobs.model.job import Cause, Job, Plan, SnapshotRequest, Status, StopGoal, Version
from jetsql.jobs.model.job_options import Guarantee, Options
from jetsql.language.statement import Body, Verb

_SINK: Final = Sink("t", SinkKind.FILES, "parquet", "", 0)
_ANALYSIS: Final = Analysis(True, (), (_SINK,), CapturedSession("spark_catalog", "default"))
_REQUEST: Final = SnapshotRequest("1", "s")
_CONTEXT: Final = StepContext(now=0.0)


def _plan(suspend_on_failure: bool) -> Plan:
    return Plan(
        analysis=_ANALYSIS,
        options=Options(),
        guarantee=Guarantee.EXACTLY_ONCE,
        guarantee_reason="",
        interval_millis=1000,
        output_mode=OutputMode.APPEND,
        upserts=(False,),
        overwrite=False,
        suspend_on_failure=suspend_on_failure,
        late_rows_table="",
    )


def _job(status: Status, goal: StopGoal | None = None, suspend_on_failure: bool = True) -> Job:
    body = Body(Verb.INSERT_INTO, "INSERT INTO t SELECT 1", Span(0, 1), "", Span(0, 1))
    version = Version("", body, _plan(suspend_on_failure), first_trigger_done=status is not Status.STARTING)
    exports = status is Status.SUSPENDED_EXPORTING_SNAPSHOT
    return Job("1", "j", version, 0.0, status, goal, 1, 0, 0, snapshot_request=_REQUEST if exports else None)


_EVENTS: Final[dict[str, Callable[[Job], Event]]] = {
    "SUSPEND": lambda job: Suspend(),
    "RESUME": lambda job: Resume(),
    "RESTART": lambda job: Restart(),
    "DROP": lambda job: Cancel(),
    "CREATE SNAPSHOT": lambda job: TakeSnapshot(_REQUEST),
    "started": lambda job: Started(job.run_id),
    "stopped": lambda job: Stopped(job.run_id, True),
    "first batch": lambda job: BatchCommitted(job.run_id, 1, 0.0, 1, 1.0),
    "no more rows": lambda job: RunCompleted(job.run_id),
    "error": lambda job: RunFailed(job.run_id, Cause("")),
    "error that a restart cannot repair": lambda job: RunFailed(job.run_id, Cause("", retryable=False)),
    "start failed": lambda job: StartFailed(job.run_id, Cause("")),
    "delay is over": lambda job: RetryDue(job.run_id),
    "snapshot is written": lambda job: SnapshotFinished(job.run_id, SnapshotWritten(_REQUEST, job.version, 0, 1)),
}


def _jobs() -> Iterator[tuple[str, Job]]:
    for status in Status:
        if status is Status.COMPLETING:
            for goal in (StopGoal.SUSPEND, StopGoal.RESTART, StopGoal.CANCEL):
                yield f" for {goal.value}", _job(status, goal)
            continue
        yield "", _job(status)
        yield " without suspendOnFailure", _job(status, suspend_on_failure=False)


Change = tuple[Status | None, Status]
"""The status before and after; None before: the job is new."""


def changes() -> dict[Change, set[str]]:
    """Return the changes of status with the statements and events that make them."""
    found: dict[Change, set[str]] = defaultdict(set)
    found[None, apply_event(replace(_job(Status.NOT_RUNNING), run=0), Submit(), _CONTEXT).job.status].add("CREATE JOB")
    for note, job in _jobs():
        for name, event in _EVENTS.items():
            step = apply_event(job, event(job), _CONTEXT)
            if step.outcome is Outcome.CHANGED and step.job.status is not job.status:
                found[job.status, step.job.status].add(name + note)
    return found
