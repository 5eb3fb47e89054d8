"""The manager with the in-memory engine: jobs from creation to end, errors, stops, and restarts of the engine."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Thread

import pytest

from jetsql.errors import EngineError, StatementError
from jetsql.jobs.alerts.alert_records import AlertChange
from jetsql.jobs.lifecycle.runtime import CrashReport
from jetsql.jobs.model.history_row import HistoryRow
from jetsql.jobs.model.job import Cause, Job, Snapshot, Status, StopGoal
from jetsql.jobs.statements.statement_table import execute
from jetsql.jobs.store.job_store import Store
from jetsql.language.statement import CreateJob
from tests.support.engines.in_memory_runtime import InMemoryRuntime, Session, analysis
from tests.support.engines.jobs_harness import QUICK, JobsHarness, create, run_manager
from tests.support.engines.store_places import StorePlace
from tests.support.golden_reports import raises

CREATE = "CREATE JOB j AS INSERT INTO out SELECT * FROM STREAM src"
RETRYABLE_ERROR = Cause("the disk is full", "DISK_FULL")
FATAL_ERROR = Cause("division by zero", "DIVIDE_BY_ZERO", retryable=False)


@pytest.fixture
def jobs(place: StorePlace) -> Iterator[JobsHarness]:
    with run_manager(place.database()) as harness:
        yield harness


def batch_engine(**changes: object) -> InMemoryRuntime:
    return InMemoryRuntime(analysis(streaming=False, modes={}, sources=()), quiet=True, **changes)  # type: ignore[arg-type]


def test_job_life_cycle(jobs: JobsHarness) -> None:
    reply = jobs.row(CREATE)
    assert (reply["name"], reply["status"]) == ("j", "RUNNING")
    assert reply["message"] == "Created. The first batch is committed. Delivery: exactly once."
    assert jobs.reply("SUSPEND JOB J") == ("SUSPENDED", "Suspended. The running batch was finished first.")
    assert jobs.reply("RESUME JOB j") == ("RUNNING", "Resumed.")
    assert jobs.reply("RESTART JOB j") == ("RUNNING", "Restarted. The running batch was finished first.")
    assert [row[1:3] for row in jobs.sql("SHOW JOBS").rows] == [("j", "RUNNING")]
    assert jobs.reply("DROP JOB j") == ("DROPPED", "Dropped. Cancelled by user. The running batch was finished first.")
    assert jobs.sql("SHOW JOBS").rows == ()
    assert jobs.runtime.calls[-3:] == ["stop 3", "recover 3", "discard 3"]
    assert jobs.reply("CREATE JOB j AS INSERT INTO out SELECT 1")[0] == "RUNNING"


def test_repeating_a_command_succeeds_and_says_so(jobs: JobsHarness) -> None:
    jobs.sql(CREATE)
    assert jobs.reply("RESUME JOB j") == ("RUNNING", "The job is already running.")
    jobs.sql("SUSPEND JOB j")
    assert jobs.reply("SUSPEND JOB j") == ("SUSPENDED", "The job is already suspended.")
    jobs.sql("DROP JOB j")
    assert jobs.reply("DROP JOB j") == ("DROPPED", "The job has already ended with status DROPPED.")
    assert jobs.sql("DROP JOB IF EXISTS k").rows == ((None, "k", None, "There is no job named k; nothing to drop."),)


@pytest.mark.parametrize(
    ("before", "statement", "message"),
    [
        ("SUSPEND JOB j", "RESTART JOB j", "Job j is suspended and has no run to restart."),
        ("DROP JOB j", "SUSPEND JOB j", "Job j has ended with status DROPPED."),
        ("DROP JOB j", "RESUME JOB j", "Job j has ended with status DROPPED."),
        ("SHOW JOBS", "ALTER JOB j OPTIONS ('restartAttempts'='1')", "Job j has status RUNNING, but options"),
    ],
)
def test_statements_in_wrong_statuses_are_refused_at_the_name(
    jobs: JobsHarness, before: str, statement: str, message: str
) -> None:
    jobs.sql(CREATE)
    jobs.sql(before)
    error = jobs.error_of(statement)
    assert error.condition == "JETSQL.WRONG_STATUS"
    assert error.message.startswith(message) and error.hint
    assert error.place is not None and statement[error.place.start : error.place.stop] == "j"


def test_failure_before_the_first_batch_is_the_statement_error(jobs: JobsHarness) -> None:
    jobs.runtime.start_errors.append(RuntimeError("no such topic"))
    error = jobs.error_of(CREATE)
    assert error.condition == "JETSQL.JOB_FAILED"
    assert error.message == "Job j failed before its first commit: [RuntimeError] no such topic"
    (row,) = jobs.sql("SHOW ALL JOBS").rows
    assert row[2] == "FAILED" and row[7] == "[RuntimeError] no such topic"
    assert jobs.manager.workers.wait_for_job(str(row[0]), 20.0)
    assert jobs.runtime.calls[-2:] == ["recover 1", "discard 1"]
    assert jobs.reply(CREATE)[0] == "RUNNING"


def test_a_first_batch_that_fails_is_final_too(jobs: JobsHarness) -> None:
    jobs.runtime.quiet = True
    creating, job = jobs.begin(CREATE)
    jobs.runtime.fail(job.id, FATAL_ERROR)
    with raises(StatementError, match="division by zero"):
        creating.result(20)
    assert jobs.titles(job.id)[:3] == ["submitted", "running", "failed"]


def test_failures_after_the_end_of_spark_change_no_job(jobs: JobsHarness) -> None:
    job_id = jobs.make()
    jobs.runtime.is_ending = True
    jobs.runtime.fail(job_id, FATAL_ERROR)
    jobs.runtime.is_ending = False
    assert jobs.reply("SUSPEND JOB j")[0] == "SUSPENDED"
    assert "failed" not in jobs.titles(job_id) and jobs.job(job_id).cause is None


def test_create_says_when_the_first_batch_takes_long(tmp_path: Path) -> None:
    with run_manager(tmp_path, InMemoryRuntime(quiet=True), replace(QUICK, create_wait_seconds=0.0)) as jobs:
        message = jobs.reply(CREATE)[1]
        assert "The first batch is still running after 0 s" in str(message)


def test_create_says_when_there_is_nothing_to_read(jobs: JobsHarness) -> None:
    jobs.runtime.quiet = True
    creating, job = jobs.begin(CREATE)
    jobs.runtime.idle(job.id)
    assert "No rows are available yet." in str(creating.result(20).rows[0][3])


def test_unreachable_system_creates_no_job(jobs: JobsHarness) -> None:
    jobs.runtime.unreachable = StatementError("EXTERNAL_SYSTEM_UNAVAILABLE", "db1 does not answer")
    error = jobs.error_of(CREATE)
    assert error.place is not None and CREATE[error.place.start : error.place.stop] == "out"
    assert jobs.sql("SHOW ALL JOBS").rows == ()
    jobs.runtime.unreachable = StatementError("EXTERNAL_SYSTEM_UNAVAILABLE", "kafka1 does not answer")
    jobs.runtime.unreachable.table = "spark_catalog.default.src"
    error = jobs.error_of(CREATE)
    assert error.place is not None and CREATE[error.place.start : error.place.stop] == "src"


def test_retryable_errors_are_retried_until_progress(jobs: JobsHarness) -> None:
    job_id = jobs.make()
    jobs.runtime.fail(job_id, RETRYABLE_ERROR)
    job = jobs.wait_run(job_id, 2)
    assert jobs.manager.registry.wait(jobs.manager.view(job), lambda now: now.job.cause is None, 20.0).job.attempts == 0
    titles = jobs.titles(job_id)
    assert titles[titles.index("error") :][:2] == ["error", "retry"]
    assert titles[-1] in ("recovered", "running")


def test_job_without_recovery_is_suspended_with_its_cause(jobs: JobsHarness) -> None:
    job_id = jobs.make()
    jobs.runtime.quiet = True
    for run in range(2, 5):
        jobs.runtime.fail(job_id, RETRYABLE_ERROR)
        jobs.wait_run(job_id, run)
    jobs.runtime.fail(job_id, RETRYABLE_ERROR)
    job = jobs.wait_status(job_id, Status.SUSPENDED)
    assert job.cause == RETRYABLE_ERROR
    assert jobs.store.history(job_id)[-1].message == (
        "The run failed: the disk is full. 3 restarts did not help. The job is suspended and keeps its state."
        " Fix the cause, then start the job with RESUME JOB."
    )
    assert jobs.reply("RESUME JOB j")[0] == "RUNNING"
    jobs.runtime.fail(job_id, FATAL_ERROR)
    assert jobs.wait_status(job_id, Status.SUSPENDED).cause == FATAL_ERROR


def test_suspend_on_failure_false_fails(jobs: JobsHarness) -> None:
    job_id = jobs.make(options={"suspendOnFailure": "false"})
    jobs.runtime.fail(job_id, FATAL_ERROR)
    assert jobs.wait_status(job_id, Status.FAILED).cause == FATAL_ERROR


def test_a_changed_view_suspends_and_the_resume_says_why(jobs: JobsHarness) -> None:
    jobs.make()
    jobs.sql("SUSPEND JOB j")
    jobs.runtime.start_errors.append(StatementError("JOB_CHANGED", "the view v groups by another column"))
    error = jobs.error_of("RESUME JOB j")
    assert error.condition == "JETSQL.JOB_FAILED"
    assert "it is SUSPENDED: [JETSQL.JOB_CHANGED] the view v groups by another column" in error.message


class Clock:
    """A clock that the test sets."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


SLOW = replace(QUICK, retry_first_seconds=40.0, retry_most_seconds=60.0)


def test_a_retry_comes_when_its_delay_is_over(tmp_path: Path) -> None:
    clock = Clock()
    with run_manager(tmp_path, settings=SLOW, clock=clock) as jobs:
        job_id = jobs.make()
        jobs.runtime.fail(job_id, RETRYABLE_ERROR)
        jobs.wait_status(job_id, Status.NOT_RUNNING)
        assert "Trying again in 40 s" in jobs.store.history(job_id)[-1].message
        clock.now += 39.0
        jobs.runtime.notice(job_id, "still waiting")
        jobs.sql("SHOW JOB HISTORY j")
        assert jobs.reply("CREATE JOB IF NOT EXISTS j AS INSERT INTO out SELECT 1")[0] == "NOT_RUNNING"
        clock.now += 1.0
        jobs.runtime.notice(job_id, "the writer looks at its timers after each operation")
        jobs.wait_run(job_id, 2)


@pytest.mark.parametrize(
    ("statement", "status", "message"),
    [
        ("SUSPEND JOB j", "SUSPENDED", "Suspended by user while the job was waiting to start."),
        ("RESUME JOB j", "RUNNING", "Resumed."),
        ("RESTART JOB j", "RUNNING", "Restarted."),
        ("DROP JOB j", "DROPPED", "Dropped. Cancelled by user; its state is deleted."),
    ],
)
def test_job_waiting_for_retry_obeys_immediately(tmp_path: Path, statement: str, status: str, message: str) -> None:
    clock = Clock()
    with run_manager(tmp_path, settings=SLOW, clock=clock) as jobs:
        job_id = jobs.make()
        jobs.runtime.fail(job_id, RETRYABLE_ERROR)
        jobs.wait_status(job_id, Status.NOT_RUNNING)
        assert jobs.reply(statement) == (status, message)
        run = jobs.job(job_id).run
        clock.now += 1000.0
        if jobs.job(job_id).is_live:
            jobs.runtime.notice(job_id, "late")
        assert jobs.reply("CREATE JOB k AS INSERT INTO out SELECT 1")[0] == "RUNNING"
        assert jobs.job(job_id).run == run


def test_notices_and_restart_requests_of_a_run(jobs: JobsHarness) -> None:
    job_id = jobs.make()
    jobs.runtime.notice(job_id, "staged files were removed")
    jobs.runtime.want_restart(job_id, "airports was overwritten")
    jobs.wait_run(job_id, 2)
    words = [row.message for row in jobs.store.history(job_id)]
    assert "staged files were removed" in words and "airports was overwritten" in words
    assert jobs.job(job_id).attempts == 0


def test_events_of_an_older_run_change_nothing(jobs: JobsHarness) -> None:
    job_id = jobs.make()
    old = jobs.runtime.runs[job_id]
    jobs.sql("RESTART JOB j")
    before = jobs.job(job_id)
    jobs.runtime.runs[job_id], new = old, jobs.runtime.runs[job_id]
    jobs.runtime.fail(job_id, FATAL_ERROR)
    jobs.runtime.runs[job_id] = new
    jobs.runtime.commit(job_id)
    view = jobs.manager.view(before)
    after = jobs.manager.registry.wait(view, lambda now: now.job.batch == new.batch, 20.0).job
    assert (after.status, after.run, after.cause) == (Status.RUNNING, 2, None)


def test_forced_stop_is_reported(jobs: JobsHarness) -> None:
    jobs.make()
    jobs.runtime.graceful = False
    assert "Stopped by force after the deadline" in str(jobs.reply("SUSPEND JOB j")[1])


def test_long_stop_continues_after_the_statement(tmp_path: Path) -> None:
    with run_manager(tmp_path, settings=replace(QUICK, statement_wait_seconds=0.0)) as jobs:
        job_id = jobs.make()
        with jobs.runtime.gate("stop"):
            status, message = jobs.reply("SUSPEND JOB j")
            assert status == "COMPLETING"
            assert message == (
                "After 0 s the job is still being suspended, because its running batch is not finished. "
                "The change continues."
            )
        jobs.wait_status(job_id, Status.SUSPENDED)


def wait_goal(jobs: JobsHarness, job_id: str, goal: StopGoal) -> None:
    after = jobs.manager.registry.wait(jobs.manager.view(jobs.job(job_id)), lambda now: now.job.stop_goal is goal, 20.0)
    assert after.job.stop_goal is goal


def test_resume_during_suspend_restarts_the_job(jobs: JobsHarness) -> None:
    job_id = jobs.make()
    with jobs.runtime.gate("stop"):
        suspending = jobs.in_background("SUSPEND JOB j")
        wait_goal(jobs, job_id, StopGoal.SUSPEND)
        resuming = jobs.in_background("RESUME JOB j")
        wait_goal(jobs, job_id, StopGoal.RESTART)
    assert resuming.result(20).rows[0][2:] == ("RUNNING", "Resumed. The running batch was finished first.")
    error = suspending.exception(20)
    assert isinstance(error, StatementError) and "another statement changed it" in error.message
    assert jobs.job(job_id).run == 2


def test_drop_overrides_a_restart_and_other_statements_are_refused(jobs: JobsHarness) -> None:
    job_id = jobs.make()
    with jobs.runtime.gate("stop"):
        restarting = jobs.in_background("RESTART JOB j")
        wait_goal(jobs, job_id, StopGoal.RESTART)
        dropping = jobs.in_background("DROP JOB j")
        wait_goal(jobs, job_id, StopGoal.CANCEL)
        for statement in ("SUSPEND JOB j", "RESUME JOB j", "RESTART JOB j"):
            assert "is being dropped" in jobs.error_of(statement).message
    assert dropping.result(20).rows[0][2] == "DROPPED"
    assert "cancelled by user" in str(restarting.exception(20))


def test_resume_does_not_wait_for_an_unavailable_system(tmp_path: Path) -> None:
    with run_manager(
        tmp_path, InMemoryRuntime(), replace(QUICK, retry_first_seconds=600.0, retry_most_seconds=600.0)
    ) as jobs:
        jobs.make()
        jobs.sql("SUSPEND JOB j")
        jobs.runtime.start_errors.append(StatementError("EXTERNAL_SYSTEM_UNAVAILABLE", "k1 does not answer."))
        status, message = jobs.reply("RESUME JOB j")
        assert status == "NOT_RUNNING"
        assert "Resumed. The job cannot start yet" in str(message) and "k1 does not answer." in str(message)
        assert jobs.reply("SUSPEND JOB j")[0] == "SUSPENDED"


def test_run_that_cannot_be_stopped_continues(jobs: JobsHarness) -> None:
    jobs.make()
    jobs.runtime.stop_errors.append(RuntimeError("no answer"))
    error = jobs.error_of("SUSPEND JOB j")
    assert "Job j was not suspended; it is RUNNING: [RuntimeError] no answer" in error.message
    assert jobs.reply("SUSPEND JOB j")[0] == "SUSPENDED"


def test_a_stop_waits_for_its_start(jobs: JobsHarness) -> None:
    with jobs.runtime.gate("start") as gate:
        jobs.in_background(CREATE)
        jobs.runtime.wait_entered("start")
        suspending = jobs.in_background("SUSPEND JOB j")
        assert jobs.runtime.newest is not None
        job_id = jobs.runtime.newest.id
        jobs.wait_status(job_id, Status.COMPLETING)
        gate.set()
    assert suspending.result(20).rows[0][2] == "SUSPENDED"
    assert jobs.runtime.calls[-2:] == ["start 1", "stop 1"]
    assert not jobs.runtime.runs[job_id].alive


def test_clean_up_that_fails_is_in_the_history(jobs: JobsHarness) -> None:
    job_id = jobs.make()
    jobs.runtime.recover_errors.append(RuntimeError("away"))
    jobs.runtime.discard_errors.append(RuntimeError("denied"))
    jobs.sql("DROP JOB j")
    jobs.manager.close()
    words = [row.message for row in jobs.store.history(job_id) if row.event == "cleanup failed"]
    assert words == ["Finishing the last batch in the sink failed: away.", "Deleting the job's files failed: denied."]
    assert [job.id for job in jobs.store.jobs_with_files()] == [job_id]


def test_available_now_jobs(jobs: JobsHarness) -> None:
    first = jobs.make(options={"trigger": "availableNow"})
    jobs.runtime.complete(first, "2 rows wait for the watermark")
    assert jobs.wait_status(first, Status.COMPLETED).has_files
    jobs.runtime.quiet = True
    assert jobs.reply("RESUME JOB j") == ("RUNNING", "Resumed.")
    jobs.runtime.complete(first)
    jobs.wait_status(first, Status.COMPLETED)
    jobs.runtime.quiet = False
    second = jobs.make()
    assert jobs.manager.workers.wait_for_job(first, 20.0)
    assert "has ended with status COMPLETED" in jobs.error_of(f"RESUME JOB '{first}'").message
    assert jobs.runtime.calls.count("discard 2") == 1
    assert jobs.row("SUSPEND JOB j")["id"] == second


def test_newer_job_keeps_the_name_taken_before_a_crash(tmp_path: Path) -> None:
    with run_manager(tmp_path) as jobs:
        first = jobs.make(options={"trigger": "availableNow"})
        jobs.runtime.complete(first)
        done = jobs.wait_status(first, Status.COMPLETED)
    with closing(Store(tmp_path / "jetsql.db")) as store:  # the newer one's row is all that there was time for
        newer = replace(done, id="ffff-0000-0000-0001", name="J", status=Status.STARTING, end_time=None)
        store.add(newer, HistoryRow(newer.id, 1.0, "submitted", None, newer.status, newer.run, ""))
    with run_manager(tmp_path) as jobs:
        jobs.wait_status(newer.id, Status.RUNNING)
        assert jobs.manager.workers.wait_for_job(first, 20.0)
        assert jobs.row("SUSPEND JOB j")["id"] == newer.id  # executed after the worker's events
        assert jobs.titles(first)[-2:] == ["expired", "cleaned up"]


def test_batch_jobs(tmp_path: Path) -> None:
    with run_manager(tmp_path, batch_engine()) as jobs:
        creating, job = jobs.begin(CREATE)
        assert jobs.reply("SUSPEND JOB j") == (
            "SUSPENDED", "Suspended. The query was stopped. A batch job starts from the beginning when it is resumed.",
        )  # fmt: skip
        assert "Another statement has suspended the job" in str(creating.result(20).rows[0][3])
        jobs.sql("RESUME JOB j")
        jobs.runtime.complete(job.id, "12 rows written")
        jobs.wait_status(job.id, Status.COMPLETED)
        assert "has ended with status COMPLETED" in jobs.error_of("RESUME JOB j").message


def test_batch_job_that_completes_immediately(tmp_path: Path) -> None:
    with run_manager(tmp_path, batch_engine()) as jobs:
        creating, job = jobs.begin(CREATE)
        jobs.runtime.commit(job.id)
        jobs.runtime.complete(job.id, "12 rows are written.")
        status, message = creating.result(20).rows[0][2:]
        assert (status, message) == ("COMPLETED", "Created. 12 rows are written. Delivery: exactly once.")
        assert jobs.manager.workers.wait_for_job(job.id, 20.0)
        assert jobs.runtime.calls[-1] == "discard 1"


def test_a_run_that_never_ends_does_not_keep_the_engine(tmp_path: Path) -> None:
    with run_manager(tmp_path, settings=replace(QUICK, close_wait_seconds=0.0)) as jobs:
        job_id = jobs.make()
        with jobs.runtime.gate("stop"):
            jobs.manager.close()
        stored = jobs.store.job(job_id)
        assert stored is not None and stored.status is Status.NOT_RUNNING


def test_one_of_two_sessions_creates_the_job(jobs: JobsHarness) -> None:
    both = Barrier(4)
    results: list[str] = []
    analyse = jobs.runtime.analyse

    def together(*arguments: object) -> object:
        both.wait(20)
        return analyse(*arguments)  # type: ignore[arg-type]

    jobs.runtime.analyse = together  # type: ignore[method-assign,assignment]

    def make(statement: CreateJob) -> None:
        try:
            message = execute(jobs.manager, statement, Session).rows[0][3]
            results.append(str(message).split(".")[0])
        except StatementError as error:
            assert error.place is not None
            results.append(error.condition)

    statements = [create("J"), create("j"), create("j"), create("j", if_not_exists=True)]
    threads = [Thread(target=make, args=(statement,)) for statement in statements]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert results.count("Created") == 1
    assert len(results) == 4 and len(jobs.sql("SHOW JOBS").rows) == 1
    assert set(results) <= {"Created", "JETSQL.JOB_ALREADY_EXISTS", "A job with this name already exists"}


def test_concurrent_sessions(jobs: JobsHarness) -> None:
    def live(number: int) -> None:
        job = f"job{number}"
        jobs.sql(f"CREATE JOB {job} AS INSERT INTO out SELECT 1")
        jobs.sql(f"SUSPEND JOB {job}")
        jobs.sql(f"RESUME JOB {job}")
        jobs.sql("SHOW ALL JOBS")
        jobs.sql(f"DROP JOB {job}")

    threads = [Thread(target=live, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    rows = jobs.sql("SHOW ALL JOBS").rows
    assert [row[2] for row in rows] == ["DROPPED"] * 12
    assert [row[0] for row in rows] == sorted((str(row[0]) for row in rows), reverse=True)
    assert all(not run.alive for run in jobs.runtime.runs.values())


class FailingStore(Store):
    """A store whose next writes fail as on a full disk."""

    failures = 0

    def save(
        self,
        job: Job,
        row: HistoryRow,
        snapshot: Snapshot | None = None,
        replaces: str | None = None,
        alerts: Sequence[AlertChange] = (),
    ) -> None:
        if self.failures > 0:
            self.failures -= 1
            raise EngineError("HOME_NOT_USABLE", "The store cannot be used: database or disk is full.")
        super().save(job, row, snapshot, replaces, alerts)


def test_step_that_cannot_be_stored_has_no_effect(tmp_path: Path) -> None:
    store = FailingStore(tmp_path / "jetsql.db")
    with run_manager(tmp_path, store=store) as jobs:
        job_id = jobs.make()
        store.failures = 1
        with raises(EngineError, match="disk is full"):
            jobs.sql("SUSPEND JOB j")
        assert jobs.job(job_id).status is Status.RUNNING
        assert "stop 1" not in jobs.runtime.calls
        assert jobs.reply("SUSPEND JOB j")[0] == "SUSPENDED"


def test_events_of_runs_are_stored_after_a_store_outage(tmp_path: Path) -> None:
    store = FailingStore(tmp_path / "jetsql.db")
    with run_manager(tmp_path, store=store) as jobs:
        job_id = jobs.make()
        store.failures = 3
        jobs.runtime.fail(job_id, FATAL_ERROR)
        assert jobs.wait_status(job_id, Status.SUSPENDED).cause == FATAL_ERROR


def test_runs_are_stopped_without_a_working_store(tmp_path: Path) -> None:
    store = FailingStore(tmp_path / "jetsql.db")
    with run_manager(tmp_path, store=store) as jobs:
        jobs.make()
        store.failures = 1000
        jobs.manager.close()
        assert jobs.runtime.calls[-1] == "stop 1"


def test_the_engine_ends_and_jobs_continue_with_the_next_start(tmp_path: Path) -> None:
    with run_manager(tmp_path) as jobs:
        running, suspended = jobs.make("runs"), jobs.make("rests")
        jobs.sql("SUSPEND JOB rests")
        jobs.runtime.commit(running)
        jobs.manager.close()
        assert jobs.runtime.calls[-1] == "stop 1"
        job = jobs.store.job(running)
        assert job is not None and (job.status, job.batch) == (Status.NOT_RUNNING, 1)
        last = jobs.store.history(running)[-1]
        assert last.event == "engine stopped"
        assert last.message == "The engine stopped; the job continues with the engine's next start."
        with raises(EngineError, match="closed"):
            jobs.sql(CREATE)
    with run_manager(tmp_path) as jobs:
        assert jobs.wait_run(running, 2).batch is not None
        assert jobs.job(suspended).status is Status.SUSPENDED
        assert jobs.runtime.calls[:2] == ["recover 1", "start 2"]
        assert jobs.reply("RESUME JOB rests")[0] == "RUNNING"


def test_staged_rows_are_deleted_before_the_store_closes(tmp_path: Path) -> None:
    class SlowEngine(InMemoryRuntime):
        def delete_staged_rows(self, jobs: Sequence[Job]) -> None:
            time.sleep(0.3)
            super().delete_staged_rows(jobs)

    with run_manager(tmp_path, SlowEngine()) as jobs:
        jobs.manager.close()
        assert jobs.runtime.swept == []


def test_waiting_statements_report_the_end_of_the_engine(jobs: JobsHarness) -> None:
    jobs.make()
    waiting = jobs.in_background("WAIT FOR JOB j UNTIL BATCH 1000000")
    jobs.manager.registry.wait(jobs.manager.registry.live()[0], lambda now: now.job.version.first_trigger_done, 20.0)
    jobs.manager.close()
    assert isinstance(waiting.exception(20), EngineError)


@pytest.mark.parametrize(
    ("before", "after", "calls"),
    [
        ("STARTING", "RUNNING", ["recover 1", "start 2"]),
        ("RUNNING", "RUNNING", ["recover 1", "start 2"]),
        ("NOT_RUNNING", "RUNNING", ["recover 1", "start 2"]),
        ("COMPLETING SUSPEND", "SUSPENDED", ["recover 1"]),
        ("COMPLETING RESTART", "RUNNING", ["recover 1", "start 2"]),
        ("COMPLETING CANCEL", "FAILED", ["recover 1", "discard 1"]),
        ("SUSPENDED", "SUSPENDED", []),
        ("SUSPENDED_EXPORTING_SNAPSHOT", "SUSPENDED", []),
        ("FAILED", "FAILED", ["recover 1", "discard 1"]),
        ("COMPLETED", "COMPLETED", ["discard 1"]),
    ],
)
def test_jobs_reach_their_goals_after_a_kill(tmp_path: Path, before: str, after: str, calls: list[str]) -> None:
    status, _, goal = before.partition(" ")
    with run_manager(tmp_path) as jobs:
        job_id = jobs.make()
    with closing(Store(tmp_path / "jetsql.db")) as store:
        old = store.job(job_id)
        assert old is not None
        killed = replace(old, status=Status(status), stop_goal=StopGoal(goal) if goal else None, run=1, has_files=True)
        store.save(killed, HistoryRow(job_id, 0.0, "test", None, killed.status, 1, ""))
    with run_manager(tmp_path) as jobs:
        jobs.wait_status(job_id, Status(after))
        assert jobs.manager.workers.wait_for_job(job_id, 20.0)
        assert jobs.runtime.calls == calls


def test_a_killed_create_starts_again(tmp_path: Path) -> None:
    with run_manager(tmp_path, InMemoryRuntime(quiet=True), replace(QUICK, create_wait_seconds=0.0)) as jobs:
        job_id = jobs.make()
        jobs.wait_status(job_id, Status.RUNNING)
    with run_manager(tmp_path) as jobs:
        view = jobs.manager.view(jobs.job(job_id))
        assert jobs.manager.registry.wait(view, lambda now: now.job.version.first_trigger_done, 20.0).job.run == 2


def test_history_contains_no_secrets(jobs: JobsHarness) -> None:
    job_id = jobs.make(options={"spark.my.password": "geheim"})
    jobs.runtime.fail(job_id, replace(FATAL_ERROR, message="login of jdbc:x://ann:pw@db failed with geheim"))
    assert jobs.wait_status(job_id, Status.SUSPENDED).cause == replace(
        FATAL_ERROR, message="login of jdbc:x://***@db failed with ***"
    )
    shown = repr((jobs.sql("SHOW JOB HISTORY j"), jobs.sql("DESCRIBE JOB EXTENDED j"), jobs.sql("SHOW CREATE JOB j")))
    assert "geheim" not in shown and "pw" not in shown and "***" in shown


def test_a_job_that_ends_the_engine_twice_stays_suspended(tmp_path: Path) -> None:
    """Restart the engine on the same store only, as a standby would."""
    lost, began = Cause("the connection is lost"), time.time()
    with run_manager(tmp_path) as jobs:
        hog, other = jobs.make("hog"), jobs.make("other")
    for crash in (1, 2, 3):
        # The second engine starts the suspect after the other job.
        with run_manager(tmp_path, clock=lambda: began + 1000 * (time.time() - began)) as jobs:
            jobs.wait_status(other, Status.RUNNING)
            jobs.wait_status(hog, Status.SUSPENDED if crash == 3 else Status.RUNNING)
            if crash == 3:
                break
            jobs.manager.record_crash(CrashReport((hog, other), (hog,), "The heap was full."))
            for job_id in (hog, other):
                jobs.runtime.fail(job_id, lost)
                assert jobs.manager.view_after_pending_events(jobs.job(job_id)).job.status is Status.RUNNING
            if crash == 2:
                assert any("starts 10 s after the others" in row.message for row in jobs.store.history(hog))
