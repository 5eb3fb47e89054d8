"""Jobs in every state of the life cycle, for the tests of its steps."""

from __future__ import annotations

from dataclasses import replace

from jetsql.jobs.lifecycle.events import Event, Step
from jetsql.jobs.lifecycle.step_context import StepContext
from jetsql.jobs.lifecycle.transitions import apply_event
from jetsql.jobs.model.body_analysis import Analysis
from jetsql.jobs.model.job import Cause, Job, RunId, SnapshotRequest, Status, StopGoal, Version
from jetsql.jobs.model.job_options import Trigger
from jetsql.jobs.planning.options import parse_options
from jetsql.jobs.planning.planner import make_plan
from tests.support.engines.in_memory_runtime import analysis
from tests.support.engines.jobs_harness import body, changed

NOW = StepContext(1000.0)
RUN = RunId("1", 3)
RETRYABLE_ERROR = Cause("the disk is full", "DISK", retryable=True)
FATAL_ERROR = Cause("1/0", "DIVIDE_BY_ZERO", retryable=False)
ENDANGERS = Cause("The job was suspended to protect the engine", "JETSQL.ENGINE_ENDANGERED", retryable=False)
EXPORT = SnapshotRequest("9", "s")
AVAILABLE_NOW = {"trigger": "availableNow"}


def version(checkpoint: int = 1) -> Version:
    new_body = body(query="SELECT * FROM STREAM src WHERE a > 1")
    return Version("", new_body, make_plan(analysis(), parse_options(()), new_body.verb, None), checkpoint=checkpoint)


def job(
    status: Status = Status.RUNNING,
    goal: StopGoal | None = None,
    *,
    of: Analysis | None = None,
    chosen: dict[str, str] | None = None,
    **changes: object,
) -> Job:
    statement_body = body()
    plan = make_plan(of or analysis(), parse_options((), before=chosen or {}), statement_body.verb, None)
    begun = Version("", statement_body, plan, first_trigger_done=True)
    plain = Job("1", "j", begun, 0.0, status=status, stop_goal=goal, run=3, has_files=True)
    if goal is StopGoal.EXPORT or status is Status.SUSPENDED_EXPORTING_SNAPSHOT:
        plain = replace(plain, snapshot_request=replace(EXPORT, then_cancel=goal is StopGoal.EXPORT))
    if goal is StopGoal.UPDATE:
        plain = replace(plain, pending_version=version())
    return changed(plain, **changes)


def real_time(of: Job) -> Job:
    """Return a job with the trigger realTime, which the planner accepts only for some sources and sinks."""
    return of.with_plan(replace(of.plan, options=replace(of.plan.options, trigger=Trigger.REAL_TIME)))


def after(event: Event, before: Job, context: StepContext = NOW) -> Step:
    return apply_event(before, event, context)


def kinds(taken: Step) -> list[str]:
    return [type(action).__name__ for action in taken.actions]
