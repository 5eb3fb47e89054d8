"""The reports about failed runs: the error and its position, the next attempt and its time, and the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from jetsql.errors import StatementError
from jetsql.jobs.lifecycle.engine_api import BatchCommitted
from jetsql.jobs.model.job import Cause, Status
from tests.support.engines.jobs_world import QUICK, World, world

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
def w(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


def failed(w: World, cause: Cause, options: dict[str, str] | None = None) -> str:
    """A job that ended with an error; its newest words."""
    job_id = w.make("j", options or {"restartAttempts": "0"})
    w.engine.fail(job_id, cause)
    w.wait_status(job_id, Status.SUSPENDED, Status.FAILED)
    return w.store.history(job_id)[-1].message


def test_the_history_says_what_where_and_what_to_do(w: World) -> None:
    assert failed(w, FULL) == (
        "Batch 7 failed at file:/tables/out: There is no space left: No space left on device."
        " The option restartAttempts allows no restarts."
        " The job is suspended and keeps its state. Free some space there."
    )


def test_the_history_says_that_a_job_failed_and_why_it_was_not_tried_again(w: World) -> None:
    options = {"restartAttempts": "0", "suspendOnFailure": "false"}
    job_id = w.make("j", options)
    w.engine.fail(job_id, FULL)
    w.wait_status(job_id, Status.FAILED)
    [message] = [row.message for row in w.store.history(job_id) if row.event == "failed"]
    assert message == (
        "Batch 7 failed at file:/tables/out: There is no space left: No space left on device."
        " The option restartAttempts allows no restarts."
        " The job failed. Free some space there."
    )


def test_the_history_tells_each_restart_until_it_recovers(w: World) -> None:
    job_id = w.make("j", {"restartAttempts": "2"})
    w.engine.fail(job_id, FULL)
    w.wait_run(job_id, 2)
    story = [(row.event, row.message) for row in w.store.history(job_id)]
    [error] = [words for title, words in story if title == "error"]
    assert error.endswith("No space left on device. Trying again in 0 s (restart 1 of 2).")
    assert ("retry", "Restart 1 of 2 after the error.") in story
    assert story[-1][0] == "recovered"


def test_describe_shows_what_programs_ask_for(w: World) -> None:
    failed(w, FULL)
    facts = {str(key): value for key, value in w.sql("DESCRIBE JOB j").rows}
    assert facts["last error"] == (
        "[JETSQL.DISK_FULL] There is no space left: No space left on device. Free some space there."
    )
    assert facts["last error class"] == "java.io.IOException"
    assert facts["last error at"] == "file:/tables/out"
    assert facts["last error in batch"] == "7"


def test_a_job_without_an_error_has_no_facts_of_one(w: World) -> None:
    w.make()
    facts = [str(row[0]) for row in w.sql("DESCRIBE JOB j").rows]
    assert [fact for fact in facts if fact.startswith("last error")] == ["last error"]


@pytest.mark.parametrize(
    ("cause", "hint"),
    [(FULL, "Free some space there."), (UNKNOWN, "Fix the cause, then start the job with RESUME JOB.")],
)
def test_statements_give_the_hint_once_and_in_its_place(w: World, cause: Cause, hint: str) -> None:
    failed(w, cause)
    error = w.refused("WAIT FOR JOB j UNTIL BATCH 99")
    assert (error.hint, error.message.endswith(cause.message)) == (hint, True)


def test_who_suspended_a_job_is_told_how_to_start_it(w: World) -> None:
    w.make()
    w.sql("SUSPEND JOB j")
    assert w.refused("WAIT FOR JOB j UNTIL BATCH 99").hint == "Start it with RESUME JOB."


def test_create_and_resume_fail_with_the_hint(w: World) -> None:
    w.engine.start_errors.append(StatementError("SINK_CHANGED", "The table is gone.", hint="Drop the job."))
    error = w.refused("CREATE JOB j AS INSERT INTO out SELECT * FROM STREAM src")
    assert (error.message, error.hint) == (
        "Job j failed before its first commit: [JETSQL.SINK_CHANGED] The table is gone.",
        "Drop the job.",
    )
    w.make()
    w.sql("SUSPEND JOB j")
    w.engine.start_errors.append(StatementError("SINK_CHANGED", "The table is gone.", hint="Drop the job."))
    error = w.refused("RESUME JOB j")
    assert error.message.endswith("it is SUSPENDED: [JETSQL.SINK_CHANGED] The table is gone.")
    assert error.hint == "Drop the job."


def test_a_damaged_checkpoint_suspends_whatever_the_options_say(w: World) -> None:
    words = failed(w, DAMAGED, {"suspendOnFailure": "false"})
    assert w.said("SUSPEND JOB j")[0] == "SUSPENDED"
    assert words == (
        "The run failed at file:/tables/out: offsets/3 is missing. The job is suspended and keeps its state."
        " Free some space there."
    )


def test_a_batch_that_fails_during_suspend_is_not_called_finished(w: World) -> None:
    job_id = w.make()
    with w.engine.gate("stop") as opened:
        suspended = w.in_background("SUSPEND JOB j")
        w.engine.wait_entered("stop")
        w.engine.fail(job_id, UNKNOWN)
        opened.set()
        [(_, _, status, message)] = suspended.result(20).rows
    assert (status, message) == (
        "SUSPENDED",
        "Suspended. The running batch failed; the next start repeats it. Before that it failed: something broke",
    )


def test_a_batch_that_succeeds_during_suspend_ends_the_error_before_it(w: World) -> None:
    w.engine.quiet = False
    job_id = w.make("j")
    w.engine.quiet = True
    w.engine.fail(job_id, UNKNOWN)
    w.wait_run(job_id, 2)
    with w.engine.gate("stop") as opened:
        suspended = w.in_background("SUSPEND JOB j")
        w.engine.wait_entered("stop")
        w.engine.commit(job_id)
        opened.set()
        [(_, _, _, message)] = suspended.result(20).rows
    assert message == "Suspended. The running batch was finished first."
    assert w.job(job_id).cause is None


def test_a_batch_of_an_earlier_run_does_not_end_a_wait_for_what_is_new(w: World) -> None:
    """WAIT FOR JOB ... UNTIL IDLE goes by these facts."""
    job_id = w.make()
    before = w.manager.view_after_pending_events(w.job(job_id)).stats
    later = w.manager.clock() + 3600.0
    w.engine.tell(job_id, BatchCommitted(w.engine.run_id(job_id), 1, later, 1, 1.0, is_replay=True))
    assert w.manager.view_after_pending_events(w.job(job_id)).stats.batch_trigger == before.batch_trigger
    w.engine.commit(job_id, trigger_time=later)
    newer = w.manager.view_after_pending_events(w.job(job_id)).stats.batch_trigger
    assert newer is not None and newer.began == later


def test_settings_are_tried_before_anything_is_made_or_changed(w: World) -> None:
    w.engine.refused_confs = {"spark.bad": "INVALID_OPTION_VALUE", "spark.static": "OPTION_NOT_CHANGEABLE"}
    body = "AS INSERT INTO out SELECT * FROM STREAM src"
    for key, at in (("spark.bad", "'maybe'"), ("spark.static", "'spark.static'")):
        text = f"CREATE JOB j OPTIONS ('{key}' = 'maybe') {body}"
        error = w.refused(text)
        assert error.place is not None
        assert (error.condition, error.place.start) == (
            f"JETSQL.{w.engine.refused_confs[key]}",
            text.index(at),
        )
    w.make()
    w.sql("SUSPEND JOB j")
    assert w.refused("ALTER JOB j OPTIONS ('spark.bad' = 'maybe')").condition == "JETSQL.INVALID_OPTION_VALUE"


def test_a_clock_that_is_set_back_does_not_hold_up_a_restart(tmp_path: Path) -> None:
    set_back = Event()
    soon = replace(QUICK, retry_first_seconds=0.05)
    with world(tmp_path, settings=soon, clock=lambda: 1_000.0 if set_back.is_set() else 5_000.0) as w:
        job_id = w.make()
        w.engine.fail(job_id, UNKNOWN)
        made = w.manager.view(w.job(job_id))
        w.manager.registry.wait(made, lambda view: view.job.attempts > 0 or view.job.run > 1, 20.0)
        set_back.set()
        w.wait_run(job_id, 2)
        first = w.job(job_id)
        assert w.make("k") > first.id
