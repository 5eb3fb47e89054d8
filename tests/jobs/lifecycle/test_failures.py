"""The reports about failed runs: the error and its position, the next attempt and its time, and the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from jetsql.errors import StatementError
from jetsql.jobs.lifecycle.runtime import BatchCommitted
from jetsql.jobs.model.job import Cause, Status
from tests.support.engines.jobs_harness import QUICK, JobsHarness, run_manager

FULL = Cause(
    message="There is no space left: No space left on device",
    condition="JETSQL.DISK_FULL",
    sqlstate="53100",
    batch=7,
    error_class="java.io.IOException",
    where="file:/tables/out",
    hint="Free some space there.",
)
UNKNOWN = Cause("something broke", batch=1)
DAMAGED = replace(
    FULL, message="offsets/3 is missing", condition="JETSQL.CHECKPOINT_DAMAGED", retryable=False, batch=None
)


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[JobsHarness]:
    with run_manager(tmp_path) as harness:
        yield harness


def failed(jobs: JobsHarness, cause: Cause, options: dict[str, str] | None = None) -> str:
    """Return the newest message of a job that ended with an error."""
    job_id = jobs.make("j", options or {"restartAttempts": "0"})
    jobs.runtime.fail(job_id, cause)
    jobs.wait_status(job_id, Status.SUSPENDED, Status.FAILED)
    return jobs.store.history(job_id)[-1].message


def test_history_has_error_place_and_hint(jobs: JobsHarness) -> None:
    assert failed(jobs, FULL) == (
        "Batch 7 failed at file:/tables/out: There is no space left: No space left on device."
        " The option restartAttempts allows no restarts."
        " The job is suspended and keeps its state. Free some space there."
    )


def test_history_says_why_a_failed_job_is_not_retried(jobs: JobsHarness) -> None:
    options = {"restartAttempts": "0", "suspendOnFailure": "false"}
    job_id = jobs.make("j", options)
    jobs.runtime.fail(job_id, FULL)
    jobs.wait_status(job_id, Status.FAILED)
    [message] = [row.message for row in jobs.store.history(job_id) if row.event == "failed"]
    assert message == (
        "Batch 7 failed at file:/tables/out: There is no space left: No space left on device."
        " The option restartAttempts allows no restarts."
        " The job failed. Free some space there."
    )


def test_history_lists_each_restart_until_recovery(jobs: JobsHarness) -> None:
    job_id = jobs.make("j", {"restartAttempts": "2"})
    jobs.runtime.fail(job_id, FULL)
    jobs.wait_run(job_id, 2)
    story = [(row.event, row.message) for row in jobs.store.history(job_id)]
    [error] = [words for title, words in story if title == "error"]
    assert error.endswith("No space left on device. Trying again in 0 s (restart 1 of 2).")
    assert ("retry", "Restart 1 of 2 after the error.") in story
    assert story[-1][0] == "recovered"


def test_describe_shows_error_facts_for_programs(jobs: JobsHarness) -> None:
    failed(jobs, FULL)
    facts = {str(key): value for key, value in jobs.sql("DESCRIBE JOB j").rows}
    assert facts["last error"] == (
        "[JETSQL.DISK_FULL] There is no space left: No space left on device. Free some space there."
    )
    assert facts["last error class"] == "java.io.IOException"
    assert facts["last error at"] == "file:/tables/out"
    assert facts["last error in batch"] == "7"


def test_a_job_without_an_error_has_no_facts_of_one(jobs: JobsHarness) -> None:
    jobs.make()
    facts = [str(row[0]) for row in jobs.sql("DESCRIBE JOB j").rows]
    assert [fact for fact in facts if fact.startswith("last error")] == ["last error"]


@pytest.mark.parametrize(
    ("cause", "hint"),
    [(FULL, "Free some space there."), (UNKNOWN, "Fix the cause, then start the job with RESUME JOB.")],
)
def test_statements_give_the_hint_once_and_in_its_place(jobs: JobsHarness, cause: Cause, hint: str) -> None:
    failed(jobs, cause)
    error = jobs.error_of("WAIT FOR JOB j UNTIL BATCH 99")
    assert (error.hint, error.message.endswith(cause.message)) == (hint, True)


def test_suspend_message_says_how_to_resume(jobs: JobsHarness) -> None:
    jobs.make()
    jobs.sql("SUSPEND JOB j")
    assert jobs.error_of("WAIT FOR JOB j UNTIL BATCH 99").hint == "Start it with RESUME JOB."


def test_create_and_resume_fail_with_the_hint(jobs: JobsHarness) -> None:
    jobs.runtime.start_errors.append(StatementError("SINK_CHANGED", "The table is gone.", hint="Drop the job."))
    error = jobs.error_of("CREATE JOB j AS INSERT INTO out SELECT * FROM STREAM src")
    assert (error.message, error.hint) == (
        "Job j failed before its first commit: [JETSQL.SINK_CHANGED] The table is gone.",
        "Drop the job.",
    )
    jobs.make()
    jobs.sql("SUSPEND JOB j")
    jobs.runtime.start_errors.append(StatementError("SINK_CHANGED", "The table is gone.", hint="Drop the job."))
    error = jobs.error_of("RESUME JOB j")
    assert error.message.endswith("it is SUSPENDED: [JETSQL.SINK_CHANGED] The table is gone.")
    assert error.hint == "Drop the job."


def test_damaged_checkpoint_always_suspends(jobs: JobsHarness) -> None:
    words = failed(jobs, DAMAGED, {"suspendOnFailure": "false"})
    assert jobs.reply("SUSPEND JOB j")[0] == "SUSPENDED"
    assert words == (
        "The run failed at file:/tables/out: offsets/3 is missing. The job is suspended and keeps its state."
        " Free some space there."
    )


def test_failed_batch_during_suspend_is_not_reported_as_finished(jobs: JobsHarness) -> None:
    job_id = jobs.make()
    with jobs.runtime.gate("stop") as opened:
        suspended = jobs.in_background("SUSPEND JOB j")
        jobs.runtime.wait_entered("stop")
        jobs.runtime.fail(job_id, UNKNOWN)
        opened.set()
        [(_, _, status, message)] = suspended.result(20).rows
    assert (status, message) == (
        "SUSPENDED",
        "Suspended. The running batch failed; the next start repeats it. Before that it failed: something broke",
    )


def test_successful_batch_during_suspend_clears_the_error(jobs: JobsHarness) -> None:
    jobs.runtime.quiet = False
    job_id = jobs.make("j")
    jobs.runtime.quiet = True
    jobs.runtime.fail(job_id, UNKNOWN)
    jobs.wait_run(job_id, 2)
    with jobs.runtime.gate("stop") as opened:
        suspended = jobs.in_background("SUSPEND JOB j")
        jobs.runtime.wait_entered("stop")
        jobs.runtime.commit(job_id)
        opened.set()
        [(_, _, _, message)] = suspended.result(20).rows
    assert message == "Suspended. The running batch was finished first."
    assert jobs.job(job_id).cause is None


def test_batch_of_an_earlier_run_does_not_end_a_wait(jobs: JobsHarness) -> None:
    """Replay a batch, whose facts must not end WAIT FOR JOB ... UNTIL IDLE."""
    job_id = jobs.make()
    before = jobs.manager.view_after_pending_events(jobs.job(job_id)).stats
    later = jobs.manager.clock() + 3600.0
    jobs.runtime.report(job_id, BatchCommitted(jobs.runtime.run_id(job_id), 1, later, 1, 1.0, is_replay=True))
    assert jobs.manager.view_after_pending_events(jobs.job(job_id)).stats.batch_trigger == before.batch_trigger
    jobs.runtime.commit(job_id, trigger_time=later)
    newer = jobs.manager.view_after_pending_events(jobs.job(job_id)).stats.batch_trigger
    assert newer is not None and newer.began == later


def test_settings_are_checked_before_any_change(jobs: JobsHarness) -> None:
    jobs.runtime.refused_confs = {"spark.bad": "INVALID_OPTION_VALUE", "spark.static": "OPTION_NOT_CHANGEABLE"}
    body = "AS INSERT INTO out SELECT * FROM STREAM src"
    for key, at in (("spark.bad", "'maybe'"), ("spark.static", "'spark.static'")):
        text = f"CREATE JOB j OPTIONS ('{key}' = 'maybe') {body}"
        error = jobs.error_of(text)
        assert error.place is not None
        assert (error.condition, error.place.start) == (
            f"JETSQL.{jobs.runtime.refused_confs[key]}",
            text.index(at),
        )
    jobs.make()
    jobs.sql("SUSPEND JOB j")
    assert jobs.error_of("ALTER JOB j OPTIONS ('spark.bad' = 'maybe')").condition == "JETSQL.INVALID_OPTION_VALUE"


def test_clock_set_back_does_not_delay_a_restart(tmp_path: Path) -> None:
    set_back = Event()
    soon = replace(QUICK, retry_first_seconds=0.05)
    with run_manager(tmp_path, settings=soon, clock=lambda: 1_000.0 if set_back.is_set() else 5_000.0) as jobs:
        job_id = jobs.make()
        jobs.runtime.fail(job_id, UNKNOWN)
        running = jobs.manager.view(jobs.job(job_id))
        jobs.manager.registry.wait(running, lambda view: view.job.attempts > 0 or view.job.run > 1, 20.0)
        set_back.set()
        jobs.wait_run(job_id, 2)
        first = jobs.job(job_id)
        assert jobs.make("k") > first.id
