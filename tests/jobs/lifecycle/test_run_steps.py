"""Steps of the life cycle: errors, restarts, stops, ends of runs, and starts and stops of the engine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jetsql.jobs.lifecycle.events import (
    Cancel,
    EngineStarted,
    EngineStopping,
    Event,
    FilesDiscarded,
    Outcome,
    Restart,
    Resume,
    RetryDue,
    ScheduleRetry,
    StartFailed,
    StartRun,
    Step,
    Stopped,
    Superseded,
    Suspend,
)
from jetsql.jobs.lifecycle.runtime import BatchCommitted, RunBlocked, RunCompleted, RunFailed, RunIdle, RunProgressed
from jetsql.jobs.model.job import Cause, Job, Status, StopGoal
from tests.support.engines.in_memory_runtime import analysis
from tests.support.models.lifecycle_cases import AVAILABLE_NOW, FATAL_ERROR, RETRYABLE_ERROR, RUN, after, job, kinds


def test_an_error_before_the_first_trigger_is_final() -> None:
    fresh = job(Status.STARTING, first_trigger_done=False)
    for event in (StartFailed(RUN, RETRYABLE_ERROR), RunFailed(RUN, RETRYABLE_ERROR)):
        taken = after(event, fresh)
        assert taken.job.status is Status.FAILED
        assert (taken.job.cause, taken.job.end_time) == (RETRYABLE_ERROR, 1000.0)
        assert kinds(taken) == ["RecoverSink", "DiscardFiles"]


@pytest.mark.parametrize(
    ("attempts", "delay"), [(0, 1.0), (1, 2.0), (2, 4.0), (5, 32.0), (6, 60.0), (9, 60.0), (2000, 60.0)]
)
def test_retry_delay_doubles_up_to_a_minute(attempts: int, delay: float) -> None:
    before = job(chosen={"restartAttempts": "5000"}, attempts=attempts)
    taken = after(RunFailed(RUN, RETRYABLE_ERROR), before)
    assert taken.job.attempts == attempts + 1
    assert taken.actions == (ScheduleRetry(RUN, 1000.0 + delay),)


def test_progress_resets_attempts_and_is_reported_once() -> None:
    taken = after(BatchCommitted(RUN, 8, 999.0, 1, 1.0), job(attempts=2, cause=RETRYABLE_ERROR))
    assert (taken.job.attempts, taken.job.cause, taken.history_event) == (0, None, "recovered")
    assert after(BatchCommitted(RUN, 9, 999.0, 1, 1.0), taken.job).history_event == ""
    assert after(RunIdle(RUN, 999.0), job(attempts=2, cause=RETRYABLE_ERROR)).job.attempts == 2
    flowing = after(RunProgressed(RUN, 10, 5.0), job(attempts=2, cause=RETRYABLE_ERROR))
    assert (flowing.job.attempts, flowing.job.cause, flowing.history_event) == (2, None, "recovered")
    assert after(RunProgressed(RUN, 0, 0.0), job(attempts=2, cause=RETRYABLE_ERROR)).job.cause == RETRYABLE_ERROR


def test_blocked_run_reports_its_cause_once_and_continues() -> None:
    waiting = after(RunBlocked(RUN, RETRYABLE_ERROR), job())
    assert (waiting.job.status, waiting.job.cause, waiting.history_event) == (
        Status.RUNNING,
        RETRYABLE_ERROR,
        "blocked",
    )
    assert after(RunBlocked(RUN, RETRYABLE_ERROR), waiting.job).history_event == ""
    over = after(RunBlocked(RUN, None), waiting.job)
    assert (over.job.cause, over.history_event) == (None, "recovered")
    assert after(RunBlocked(RUN, None), over.job).history_event == ""


def test_unavailable_system_is_waited_for_without_counting_attempts() -> None:
    away = Cause("the broker can't be reached", external_outage=True)
    taken = after(RunFailed(RUN, away), job(attempts=3))
    assert (taken.job.status, taken.job.attempts) == (Status.NOT_RUNNING, 3)
    assert taken.actions == (ScheduleRetry(RUN, 1008.0),) and "does not count as a restart" in taken.history_message
    assert "Restart" not in after(RetryDue(RUN), taken.job).history_message
    assert after(RunFailed(RUN, away), job(first_trigger_done=False)).job.status is Status.NOT_RUNNING
    for is_done in (True, False):
        none_allowed = job(chosen={"restartAttempts": "0"}, first_trigger_done=is_done)
        assert after(RunFailed(RUN, away), none_allowed).job.status is Status.SUSPENDED


def test_unknown_error_during_an_outage_belongs_to_it_once() -> None:
    away = Cause("the broker can't be reached", external_outage=True)
    unknown = Cause("something broke")
    for is_done in (True, False):
        waiting = after(RunBlocked(RUN, away), job(first_trigger_done=is_done)).job
        taken = after(RunFailed(RUN, unknown), waiting)
        assert (taken.job.status, taken.job.attempts, taken.job.cause) == (Status.NOT_RUNNING, 0, unknown)
        retried = after(RetryDue(RUN), taken.job)
        assert retried.history_message == "Trying again."
        again = after(RunFailed(retried.job.run_id, unknown), retried.job).job
        assert (again.status, again.attempts) == ((Status.NOT_RUNNING, 1) if is_done else (Status.FAILED, 0))
    assert after(RunFailed(RUN, FATAL_ERROR), waiting).job.status is Status.FAILED
    over = after(RunBlocked(RUN, None), waiting).job
    assert after(RunFailed(RUN, unknown), over).job.status is Status.FAILED


def test_late_progress_counts_and_hides_no_error() -> None:
    suspended = job(Status.SUSPENDED, first_trigger_done=False, cause=RETRYABLE_ERROR)
    taken = after(BatchCommitted(RUN, 8, 999.0, 1, 1.0), suspended)
    assert (taken.job.status, taken.job.version.first_trigger_done, taken.job.batch) == (Status.SUSPENDED, True, 8)
    assert taken.job.cause == RETRYABLE_ERROR and taken.history_event == "first trigger"


@pytest.mark.parametrize(("chosen", "status"), [({}, Status.SUSPENDED), ({"suspendOnFailure": "false"}, Status.FAILED)])
def test_job_without_restarts_left_or_with_fatal_error_stops(chosen: dict[str, str], status: Status) -> None:
    assert after(RunFailed(RUN, RETRYABLE_ERROR), job(chosen=chosen, attempts=3)).job.status is status
    assert after(RunFailed(RUN, FATAL_ERROR), job(chosen=chosen)).job.status is status


@pytest.mark.parametrize(
    "condition",
    [
        "JETSQL.JOB_CHANGED",
        "JETSQL.SINK_CHANGED",
        "JETSQL.SOURCE_CHANGED",
        "JETSQL.CHECKPOINT_DAMAGED",
        "JETSQL.JOB_IN_USE",
        "JETSQL.FORMAT_NOT_READABLE",
        "JETSQL.STATE_NOT_COMPATIBLE",
    ],
)
def test_replaced_source_always_suspends_the_job(condition: str) -> None:
    changed = Cause("the view is another one", condition, retryable=False)
    taken = after(StartFailed(RUN, changed), job(Status.STARTING, chosen={"suspendOnFailure": "false"}))
    assert (taken.job.status, taken.job.cause) == (Status.SUSPENDED, changed)
    fresh = job(Status.STARTING, first_trigger_done=False)
    assert after(StartFailed(RUN, changed), fresh).job.status is Status.FAILED


def test_an_error_while_suspending_stays_visible() -> None:
    taken = after(RunFailed(RUN, RETRYABLE_ERROR), job(Status.COMPLETING, StopGoal.SUSPEND))
    done = after(Stopped(RUN, True), taken.job)
    assert (done.job.status, done.job.cause) == (Status.SUSPENDED, RETRYABLE_ERROR)


def test_forced_stop_recovers_partial_batches_in_the_sink() -> None:
    stopping = job(Status.COMPLETING, StopGoal.SUSPEND)
    assert kinds(after(Stopped(RUN, True), stopping)) == []
    forced = after(Stopped(RUN, False), stopping)
    assert kinds(forced) == ["RecoverSink"]
    assert "by force" in forced.history_message


def test_restart_and_resume_make_the_next_run() -> None:
    again = after(Stopped(RUN, True), job(Status.COMPLETING, StopGoal.RESTART))
    assert (again.job.run, again.job.stop_goal) == (4, None)
    assert again.actions == (StartRun(again.job),)
    resumed = after(Resume(), job(Status.SUSPENDED, cause=RETRYABLE_ERROR, attempts=2))
    assert (resumed.job.run, resumed.job.cause, resumed.job.attempts) == (4, None, 0)


def test_a_dropped_job_ends_as_failed_and_loses_its_files() -> None:
    cases: list[tuple[Job, Event]] = [
        (job(Status.COMPLETING, StopGoal.CANCEL), Stopped(RUN, True)),
        (job(Status.SUSPENDED), Cancel()),
        (job(Status.NOT_RUNNING), Cancel()),
        (job(Status.COMPLETING, StopGoal.CANCEL), EngineStarted()),
    ]
    for before, event in cases:
        taken = after(event, before)
        assert taken.job.status is Status.FAILED
        assert taken.job.cause is not None and taken.job.cause.message == "cancelled by user"
        assert kinds(taken) == ["RecoverSink", "DiscardFiles"]
    assert not after(FilesDiscarded(RUN), taken.job).job.has_files


def test_available_now_jobs_run_again_on_resume() -> None:
    done = after(RunCompleted(RUN, "2 rows wait for the watermark"), job(chosen=AVAILABLE_NOW))
    assert (done.job.status, done.history_message, done.actions) == (
        Status.COMPLETED,
        "2 rows wait for the watermark",
        (),
    )
    for event in (Resume(), Restart()):
        again = after(event, done.job)
        assert (again.job.status, again.job.run, again.job.end_time) == (Status.STARTING, 4, None)
    assert kinds(after(Cancel(), done.job)) == ["DiscardFiles"]
    assert kinds(after(Superseded(), done.job)) == ["DiscardFiles"]
    assert after(Resume(), replace(done.job, has_files=False)).outcome is Outcome.REFUSED
    assert after(EngineStarted(), done.job).actions == ()


def test_batch_jobs_run_once_and_start_over_when_resumed() -> None:
    batch = job(of=analysis(streaming=False, modes={}))
    done = after(RunCompleted(RUN), batch)
    assert kinds(done) == ["DiscardFiles"]
    assert after(Resume(), done.job).outcome is Outcome.REFUSED
    stopped = after(Stopped(RUN, True), replace(batch, status=Status.COMPLETING, stop_goal=StopGoal.SUSPEND))
    assert "starts from the beginning" in stopped.history_message
    assert "starts from the beginning" in after(Suspend(), stopped.job).message


def test_end_during_a_stop_counts_unless_the_goal_exceeds_it() -> None:
    def end(goal: StopGoal, **how: object) -> Step:
        return after(RunCompleted(RUN), job(Status.COMPLETING, goal, **how))  # type: ignore[arg-type]

    assert end(StopGoal.SUSPEND, chosen=AVAILABLE_NOW).job.status is Status.COMPLETED
    assert end(StopGoal.RESTART, chosen=AVAILABLE_NOW).job.status is Status.COMPLETING
    assert end(StopGoal.RESTART, of=analysis(streaming=False)).job.status is Status.COMPLETED
    assert end(StopGoal.CANCEL).job.status is Status.COMPLETING


def test_jobs_without_guarantee_report_that_starts_lose_state() -> None:
    none = {"processingGuarantee": "none"}
    assert (
        "from scratch"
        in after(Stopped(RUN, True), job(Status.COMPLETING, StopGoal.SUSPEND, chosen=none)).history_message
    )
    assert "from scratch" in after(Resume(), job(Status.SUSPENDED, chosen=none)).history_message


def test_jobs_start_again_with_the_engine() -> None:
    taken = after(EngineStarted(), job(Status.RUNNING, attempts=2))
    assert kinds(taken) == ["RecoverSink", "StartRun"]
    assert (taken.job.run, taken.job.attempts) == (4, 0)
    assert kinds(after(EngineStarted(), job(Status.NOT_RUNNING, run=0))) == ["StartRun"]
    assert kinds(after(EngineStarted(), job(Status.FAILED))) == ["RecoverSink", "DiscardFiles"]
    assert kinds(after(EngineStarted(), job(Status.FAILED, has_files=False))) == []


def test_jobs_stop_with_the_engine() -> None:
    assert kinds(after(EngineStopping(), job(Status.RUNNING))) == ["StopRun"]
    assert kinds(after(EngineStopping(), job(Status.COMPLETING, StopGoal.RESTART))) == []
    assert "continues with the engine's next start" in after(EngineStopping(), job(Status.RUNNING)).history_message
    forced = after(Stopped(RUN, False), job(Status.NOT_RUNNING))
    assert (forced.outcome, forced.history_event) == (Outcome.UNCHANGED, "stopped")
