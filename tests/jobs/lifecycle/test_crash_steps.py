"""Steps of the life cycle: jobs that endanger or end the engine."""

from __future__ import annotations

from dataclasses import replace

from jetsql.jobs.lifecycle.events import (
    EngineCrashed,
    EngineStarted,
    Resume,
    RetryDue,
    ScheduleRetry,
    Stopped,
    StopRun,
    Update,
    UpdateFailed,
    UpdatePrepared,
)
from jetsql.jobs.lifecycle.runtime import BatchCommitted, ResourceExhausted, RunFailed, RunIdle
from jetsql.jobs.lifecycle.step_context import StepContext
from jetsql.jobs.lifecycle.transitions import apply_event
from jetsql.jobs.model.job import Job, RunId, Status, StopGoal
from tests.support.models.lifecycle_cases import ENDANGERS, RETRYABLE_ERROR, RUN, after, job, kinds, version


def test_run_that_endangers_the_engine_is_stopped_and_suspended() -> None:
    stopping = after(ResourceExhausted(RUN, ENDANGERS), job(chosen={"suspendOnFailure": "false"}))
    assert stopping.actions == (StopRun(stopping.job, immediately=True),)
    failed = after(RunFailed(RUN, RETRYABLE_ERROR), stopping.job)
    done = after(Stopped(RUN, False), failed.job)
    assert (done.job.status, done.job.cause, kinds(done)) == (Status.SUSPENDED, ENDANGERS, ["RecoverSink"])
    assert "Stopped immediately" in done.history_message and ENDANGERS.message in done.history_message
    resumed = after(Resume(), done.job)
    assert (resumed.job.status, resumed.job.cause) == (Status.STARTING, None)


def test_a_restart_in_progress_that_endangers_the_engine_ends_suspended() -> None:
    changed = after(ResourceExhausted(RUN, ENDANGERS), job(Status.COMPLETING, StopGoal.RESTART))
    assert after(Stopped(RUN, True), changed.job).job.status is Status.SUSPENDED
    updating = after(ResourceExhausted(RUN, ENDANGERS), job(Status.COMPLETING, StopGoal.UPDATE))
    assert kinds(updating) == ["AbandonUpdate"]
    done = after(UpdateFailed(RUN, RETRYABLE_ERROR), updating.job)
    assert (done.job.status, done.job.cause, done.job.pending_version) == (Status.SUSPENDED, ENDANGERS, None)


CRASH = EngineCrashed("The heap was full.", True)


def crashed(before: Job, event: EngineCrashed = CRASH) -> Job:
    """Return the job after a crash and the start of the next engine."""
    return after(EngineStarted(), after(event, before).job).job


def test_job_that_crashes_the_engine_twice_stays_suspended() -> None:
    once = crashed(job())
    assert (once.status, once.crashes) == (Status.STARTING, 1)
    suspended = after(EngineStarted(), after(CRASH, once).job)
    assert suspended.history_event == "crash loop" and suspended.history_message.endswith("It keeps its state.")
    twice = suspended.job
    assert (twice.status, twice.run, twice.cause is not None) == (Status.SUSPENDED, 4, True)
    assert twice.cause is not None and twice.cause.condition == "JETSQL.CRASH_LOOP"
    assert "2 times in a row" in twice.cause.message and "The heap was full." in twice.cause.message
    assert after(EngineStarted(), twice).job == twice
    resumed = after(Resume(), twice).job
    assert (resumed.status, resumed.crashes, resumed.cause) == (Status.STARTING, 0, None)
    assert crashed(resumed).status is Status.STARTING


def test_a_job_in_a_crash_loop_has_its_sink_recovered() -> None:
    twice = after(CRASH, crashed(job())).job
    assert kinds(after(EngineStarted(), twice)) == ["RecoverSink"]
    restarting = replace(twice, status=Status.COMPLETING, stop_goal=StopGoal.RESTART)
    taken = after(EngineStarted(), restarting)
    assert (taken.job.status, taken.job.stop_goal, kinds(taken)) == (Status.SUSPENDED, None, ["RecoverSink"])


def test_crash_of_another_cause_is_not_counted() -> None:
    bystander = EngineCrashed("The heap was full.", False)
    taken = after(bystander, job())
    assert (taken.job.crashes, taken.history_event, taken.history_message) == (
        0,
        "engine crashed",
        "The heap was full.",
    )
    assert crashed(crashed(job(), bystander), bystander).status is Status.STARTING


def test_a_suspect_starts_after_the_others() -> None:
    suspect = after(EngineCrashed("The heap was full.", False, 20.0), job()).job
    waiting = after(EngineStarted(), suspect)
    assert (waiting.job.status, waiting.job.crashes, waiting.job.start_delay) == (Status.NOT_RUNNING, 0, 0.0)
    assert kinds(waiting) == ["RecoverSink", "ScheduleRetry"] and ScheduleRetry(RUN, 1020.0) in waiting.actions
    started = after(RetryDue(RUN), waiting.job)
    assert (started.job.status, started.history_message) == (Status.STARTING, "The other jobs have started.")
    assert after(Resume(), waiting.job).job.status is Status.STARTING


def test_crashes_are_forgotten_when_the_job_runs_well_for_minutes() -> None:
    once = crashed(job())
    run = RunId("1", once.run)
    soon = apply_event(once, BatchCommitted(run, 8, 999.0, 1, 1.0), StepContext(1299.0))
    assert soon.job.crashes == 1
    later = apply_event(soon.job, BatchCommitted(run, 9, 999.0, 1, 1.0), StepContext(1300.0))
    assert (later.job.crashes, later.job.crash_reason, later.history_event) == (0, "", "stable")
    assert apply_event(soon.job, RunIdle(run, 999.0), StepContext(1300.0)).job.crashes == 0
    assert apply_event(later.job, BatchCommitted(run, 10, 999.0, 1, 1.0), StepContext(1301.0)).history_event == ""


def test_a_new_statement_forgets_crashes_and_rescaling_does_not() -> None:
    counted = job(crashes=1, crash_reason="The heap was full.")
    stopped = after(Stopped(RUN, True), after(Update(version(), counted.plan), counted).job)
    assert after(UpdatePrepared(RUN), stopped.job).job.crashes == 0
