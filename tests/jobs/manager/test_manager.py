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
from jetsql.jobs.lifecycle.engine_api import CrashReport
from jetsql.jobs.model.history_row import HistoryRow
from jetsql.jobs.model.job import Cause, Job, Snapshot, Status, StopGoal
from jetsql.jobs.statements.statement_table import execute
from jetsql.jobs.store.job_store import Store
from jetsql.language.statement import CreateJob
from tests.support.engines.in_memory_engine import InMemoryEngine, Session, analysis
from tests.support.engines.jobs_world import QUICK, World, create, world
from tests.support.engines.store_places import StorePlace
from tests.support.golden_reports import raises

MAKE = "CREATE JOB j AS INSERT INTO out SELECT * FROM STREAM src"
HURT = Cause("the disk is full", "DISK_FULL")
HOPELESS = Cause("division by zero", "DIVIDE_BY_ZERO", retryable=False)


@pytest.fixture
def w(place: StorePlace) -> Iterator[World]:
    with world(place.database()) as made:
        yield made


def batch_engine(**changes: object) -> InMemoryEngine:
    return InMemoryEngine(analysis(streaming=False, modes={}, sources=()), quiet=True, **changes)  # type: ignore[arg-type]


def test_a_job_from_its_making_to_its_end(w: World) -> None:
    made = w.row(MAKE)
    assert (made["name"], made["status"]) == ("j", "RUNNING")
    assert made["message"] == "Created. The first batch is committed. Delivery: exactly once."
    assert w.said("SUSPEND JOB J") == ("SUSPENDED", "Suspended. The running batch was finished first.")
    assert w.said("RESUME JOB j") == ("RUNNING", "Resumed.")
    assert w.said("RESTART JOB j") == ("RUNNING", "Restarted. The running batch was finished first.")
    assert [row[1:3] for row in w.sql("SHOW JOBS").rows] == [("j", "RUNNING")]
    assert w.said("DROP JOB j") == ("FAILED", "Dropped. Cancelled by user. The running batch was finished first.")
    assert w.sql("SHOW JOBS").rows == ()
    assert w.engine.calls[-3:] == ["stop 3", "recover 3", "discard 3"]
    assert w.said("CREATE JOB j AS INSERT INTO out SELECT 1")[0] == "RUNNING"


def test_repeating_a_command_succeeds_and_says_so(w: World) -> None:
    w.sql(MAKE)
    assert w.said("RESUME JOB j") == ("RUNNING", "The job is already running.")
    w.sql("SUSPEND JOB j")
    assert w.said("SUSPEND JOB j") == ("SUSPENDED", "The job is already suspended.")
    w.sql("DROP JOB j")
    assert w.said("DROP JOB j") == ("FAILED", "The job has already ended with status FAILED.")
    assert w.sql("DROP JOB IF EXISTS k").rows == ((None, "k", None, "There is no job named k; nothing to drop."),)


@pytest.mark.parametrize(
    ("before", "statement", "message"),
    [
        ("SUSPEND JOB j", "RESTART JOB j", "Job j is suspended and has no run to restart."),
        ("DROP JOB j", "SUSPEND JOB j", "Job j has ended with status FAILED."),
        ("DROP JOB j", "RESUME JOB j", "Job j has ended with status FAILED."),
        ("SHOW JOBS", "ALTER JOB j OPTIONS ('restartAttempts'='1')", "Job j has status RUNNING, but options"),
    ],
)
def test_wrong_moments_are_refused_at_the_name(w: World, before: str, statement: str, message: str) -> None:
    w.sql(MAKE)
    w.sql(before)
    error = w.refused(statement)
    assert error.condition == "JETSQL.WRONG_STATUS"
    assert error.message.startswith(message) and error.hint
    assert error.place is not None and statement[error.place.start : error.place.stop] == "j"


def test_a_job_that_fails_before_its_first_batch_is_the_statements_error(w: World) -> None:
    w.engine.start_errors.append(RuntimeError("no such topic"))
    error = w.refused(MAKE)
    assert error.condition == "JETSQL.JOB_FAILED"
    assert error.message == "Job j failed before its first commit: [RuntimeError] no such topic"
    (row,) = w.sql("SHOW ALL JOBS").rows
    assert row[2] == "FAILED" and row[7] == "[RuntimeError] no such topic"
    assert w.manager.workers.wait_for_job(str(row[0]), 20.0)
    assert w.engine.calls[-2:] == ["recover 1", "discard 1"]
    assert w.said(MAKE)[0] == "RUNNING"


def test_a_first_batch_that_fails_is_final_too(w: World) -> None:
    w.engine.quiet = True
    made, job = w.begin(MAKE)
    w.engine.fail(job.id, HOPELESS)
    with raises(StatementError, match="division by zero"):
        made.result(20)
    assert w.titles(job.id)[:3] == ["submitted", "running", "failed"]


def test_create_says_when_the_first_batch_takes_long(tmp_path: Path) -> None:
    with world(tmp_path, InMemoryEngine(quiet=True), replace(QUICK, create_wait_seconds=0.0)) as w:
        message = w.said(MAKE)[1]
        assert "The first batch is still running after 0 s" in str(message)


def test_create_says_when_there_is_nothing_to_read(w: World) -> None:
    w.engine.quiet = True
    made, job = w.begin(MAKE)
    w.engine.idle(job.id)
    assert "No rows are available yet." in str(made.result(20).rows[0][3])


def test_an_unreachable_system_makes_no_job(w: World) -> None:
    w.engine.unreachable = StatementError("EXTERNAL_SYSTEM_UNAVAILABLE", "db1 does not answer")
    error = w.refused(MAKE)
    assert error.place is not None and MAKE[error.place.start : error.place.stop] == "out"
    assert w.sql("SHOW ALL JOBS").rows == ()
    w.engine.unreachable = StatementError("EXTERNAL_SYSTEM_UNAVAILABLE", "kafka1 does not answer")
    w.engine.unreachable.table = "spark_catalog.default.src"
    error = w.refused(MAKE)
    assert error.place is not None and MAKE[error.place.start : error.place.stop] == "src"


def test_errors_that_may_heal_are_retried_until_there_is_progress(w: World) -> None:
    job_id = w.make()
    w.engine.fail(job_id, HURT)
    job = w.wait_run(job_id, 2)
    assert w.manager.registry.wait(w.manager.view(job), lambda now: now.job.cause is None, 20.0).job.attempts == 0
    titles = w.titles(job_id)
    assert titles[titles.index("error") :][:2] == ["error", "retry"]
    assert titles[-1] in ("recovered", "running")


def test_a_job_that_does_not_heal_is_suspended_with_its_cause(w: World) -> None:
    job_id = w.make()
    w.engine.quiet = True
    for run in range(2, 5):
        w.engine.fail(job_id, HURT)
        w.wait_run(job_id, run)
    w.engine.fail(job_id, HURT)
    job = w.wait_status(job_id, Status.SUSPENDED)
    assert job.cause == HURT
    assert w.store.history(job_id)[-1].message == (
        "The run failed: the disk is full. 3 restarts did not help. The job is suspended and keeps its state."
        " Fix the cause, then start the job with RESUME JOB."
    )
    assert w.said("RESUME JOB j")[0] == "RUNNING"
    w.engine.fail(job_id, HOPELESS)
    assert w.wait_status(job_id, Status.SUSPENDED).cause == HOPELESS


def test_suspend_on_failure_false_fails(w: World) -> None:
    job_id = w.make(options={"suspendOnFailure": "false"})
    w.engine.fail(job_id, HOPELESS)
    assert w.wait_status(job_id, Status.FAILED).cause == HOPELESS


def test_a_changed_view_suspends_and_the_resume_says_why(w: World) -> None:
    w.make()
    w.sql("SUSPEND JOB j")
    w.engine.start_errors.append(StatementError("JOB_CHANGED", "the view v groups by another column"))
    error = w.refused("RESUME JOB j")
    assert error.condition == "JETSQL.JOB_FAILED"
    assert "it is SUSPENDED: [JETSQL.JOB_CHANGED] the view v groups by another column" in error.message


class Clock:
    """A clock that only goes when it is told to."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


SLOW = replace(QUICK, retry_first_seconds=40.0, retry_most_seconds=60.0)


def test_a_retry_comes_when_its_delay_is_over(tmp_path: Path) -> None:
    clock = Clock()
    with world(tmp_path, settings=SLOW, clock=clock) as w:
        job_id = w.make()
        w.engine.fail(job_id, HURT)
        w.wait_status(job_id, Status.NOT_RUNNING)
        assert "Trying again in 40 s" in w.store.history(job_id)[-1].message
        clock.now += 39.0
        w.engine.notice(job_id, "still waiting")
        w.sql("SHOW JOB HISTORY j")
        assert w.said("CREATE JOB IF NOT EXISTS j AS INSERT INTO out SELECT 1")[0] == "NOT_RUNNING"
        clock.now += 1.0
        w.engine.notice(job_id, "the writer looks at its timers after each operation")
        w.wait_run(job_id, 2)


@pytest.mark.parametrize(
    ("statement", "status", "message"),
    [
        ("SUSPEND JOB j", "SUSPENDED", "Suspended by user while the job was waiting to start."),
        ("RESUME JOB j", "RUNNING", "Resumed."),
        ("RESTART JOB j", "RUNNING", "Restarted."),
        ("DROP JOB j", "FAILED", "Dropped. Cancelled by user; its state is deleted."),
    ],
)
def test_a_job_that_waits_for_its_retry_obeys_at_once(
    tmp_path: Path, statement: str, status: str, message: str
) -> None:
    clock = Clock()
    with world(tmp_path, settings=SLOW, clock=clock) as w:
        job_id = w.make()
        w.engine.fail(job_id, HURT)
        w.wait_status(job_id, Status.NOT_RUNNING)
        assert w.said(statement) == (status, message)
        run = w.job(job_id).run
        clock.now += 1000.0
        if w.job(job_id).is_live:
            w.engine.notice(job_id, "late")
        assert w.said("CREATE JOB k AS INSERT INTO out SELECT 1")[0] == "RUNNING"
        assert w.job(job_id).run == run


def test_what_a_run_notices_and_wants(w: World) -> None:
    job_id = w.make()
    w.engine.notice(job_id, "staged files were removed")
    w.engine.want_restart(job_id, "airports was overwritten")
    w.wait_run(job_id, 2)
    words = [row.message for row in w.store.history(job_id)]
    assert "staged files were removed" in words and "airports was overwritten" in words
    assert w.job(job_id).attempts == 0


def test_events_of_an_older_run_change_nothing(w: World) -> None:
    job_id = w.make()
    old = w.engine.runs[job_id]
    w.sql("RESTART JOB j")
    before = w.job(job_id)
    w.engine.runs[job_id], new = old, w.engine.runs[job_id]
    w.engine.fail(job_id, HOPELESS)
    w.engine.runs[job_id] = new
    w.engine.commit(job_id)
    view = w.manager.view(before)
    after = w.manager.registry.wait(view, lambda now: now.job.batch == new.batch, 20.0).job
    assert (after.status, after.run, after.cause) == (Status.RUNNING, 2, None)


def test_a_forced_stop_is_told(w: World) -> None:
    w.make()
    w.engine.graceful = False
    assert "Stopped by force after the deadline" in str(w.said("SUSPEND JOB j")[1])


def test_a_stop_that_takes_long_goes_on_after_the_statement(tmp_path: Path) -> None:
    with world(tmp_path, settings=replace(QUICK, statement_wait_seconds=0.0)) as w:
        job_id = w.make()
        with w.engine.gate("stop"):
            status, message = w.said("SUSPEND JOB j")
            assert status == "COMPLETING"
            assert message == (
                "After 0 s the job is still being suspended, because its running batch is not finished. "
                "The change continues."
            )
        w.wait_status(job_id, Status.SUSPENDED)


def wait_goal(w: World, job_id: str, goal: StopGoal) -> None:
    after = w.manager.registry.wait(w.manager.view(w.job(job_id)), lambda now: now.job.stop_goal is goal, 20.0)
    assert after.job.stop_goal is goal


def test_a_resume_during_a_suspend_makes_a_restart_of_it(w: World) -> None:
    job_id = w.make()
    with w.engine.gate("stop"):
        suspending = w.in_background("SUSPEND JOB j")
        wait_goal(w, job_id, StopGoal.SUSPEND)
        resuming = w.in_background("RESUME JOB j")
        wait_goal(w, job_id, StopGoal.RESTART)
    assert resuming.result(20).rows[0][2:] == ("RUNNING", "Resumed. The running batch was finished first.")
    error = suspending.exception(20)
    assert isinstance(error, StatementError) and "another statement changed it" in error.message
    assert w.job(job_id).run == 2


def test_a_drop_during_a_restart_wins_and_nothing_else_comes_between(w: World) -> None:
    job_id = w.make()
    with w.engine.gate("stop"):
        restarting = w.in_background("RESTART JOB j")
        wait_goal(w, job_id, StopGoal.RESTART)
        dropping = w.in_background("DROP JOB j")
        wait_goal(w, job_id, StopGoal.CANCEL)
        for statement in ("SUSPEND JOB j", "RESUME JOB j", "RESTART JOB j"):
            assert "is being dropped" in w.refused(statement).message
    assert dropping.result(20).rows[0][2] == "FAILED"
    assert "cancelled by user" in str(restarting.exception(20))


def test_resume_does_not_wait_for_a_system_that_is_away(tmp_path: Path) -> None:
    with world(tmp_path, InMemoryEngine(), replace(QUICK, retry_first_seconds=600.0, retry_most_seconds=600.0)) as w:
        w.make()
        w.sql("SUSPEND JOB j")
        w.engine.start_errors.append(StatementError("EXTERNAL_SYSTEM_UNAVAILABLE", "k1 does not answer."))
        status, message = w.said("RESUME JOB j")
        assert status == "NOT_RUNNING"
        assert "Resumed. The job cannot start yet" in str(message) and "k1 does not answer." in str(message)
        assert w.said("SUSPEND JOB j")[0] == "SUSPENDED"


def test_a_run_that_cannot_be_stopped_goes_on(w: World) -> None:
    w.make()
    w.engine.stop_errors.append(RuntimeError("no answer"))
    error = w.refused("SUSPEND JOB j")
    assert "Job j was not suspended; it is RUNNING: [RuntimeError] no answer" in error.message
    assert w.said("SUSPEND JOB j")[0] == "SUSPENDED"


def test_a_stop_waits_for_its_start(w: World) -> None:
    with w.engine.gate("start") as gate:
        w.in_background(MAKE)
        w.engine.wait_entered("start")
        suspending = w.in_background("SUSPEND JOB j")
        assert w.engine.newest is not None
        job_id = w.engine.newest.id
        w.wait_status(job_id, Status.COMPLETING)
        gate.set()
    assert suspending.result(20).rows[0][2] == "SUSPENDED"
    assert w.engine.calls[-2:] == ["start 1", "stop 1"]
    assert not w.engine.runs[job_id].alive


def test_clean_up_that_fails_is_in_the_history(w: World) -> None:
    job_id = w.make()
    w.engine.recover_errors.append(RuntimeError("away"))
    w.engine.discard_errors.append(RuntimeError("denied"))
    w.sql("DROP JOB j")
    w.manager.close()
    words = [row.message for row in w.store.history(job_id) if row.event == "cleanup failed"]
    assert words == ["Finishing the last batch in the sink failed: away.", "Deleting the job's files failed: denied."]
    assert [job.id for job in w.store.jobs_with_files()] == [job_id]


def test_jobs_that_read_what_is_there(w: World) -> None:
    first = w.make(options={"trigger": "availableNow"})
    w.engine.complete(first, "2 rows wait for the watermark")
    assert w.wait_status(first, Status.COMPLETED).has_files
    w.engine.quiet = True
    assert w.said("RESUME JOB j") == ("RUNNING", "Resumed.")
    w.engine.complete(first)
    w.wait_status(first, Status.COMPLETED)
    w.engine.quiet = False
    second = w.make()
    assert w.manager.workers.wait_for_job(first, 20.0)
    assert "has ended with status COMPLETED" in w.refused(f"RESUME JOB '{first}'").message
    assert w.engine.calls.count("discard 2") == 1
    assert w.row("SUSPEND JOB j")["id"] == second


def test_a_name_that_was_taken_just_before_a_death_is_taken_from_the_job_before(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        first = w.make(options={"trigger": "availableNow"})
        w.engine.complete(first)
        done = w.wait_status(first, Status.COMPLETED)
    with closing(Store(tmp_path / "jetsql.db")) as store:  # the newer one's row is all that there was time for
        newer = replace(done, id="ffff-0000-0000-0001", name="J", status=Status.STARTING, end_time=None)
        store.add(newer, HistoryRow(newer.id, 1.0, "submitted", None, newer.status, newer.run, ""))
    with world(tmp_path) as w:
        w.wait_status(newer.id, Status.RUNNING)
        assert w.manager.workers.wait_for_job(first, 20.0)
        assert w.row("SUSPEND JOB j")["id"] == newer.id  # executed after the worker's events
        assert w.titles(first)[-2:] == ["expired", "cleaned up"]


def test_batch_jobs(tmp_path: Path) -> None:
    with world(tmp_path, batch_engine()) as w:
        made, job = w.begin(MAKE)
        assert w.said("SUSPEND JOB j") == (
            "SUSPENDED", "Suspended. The query was stopped. A batch job starts from the beginning when it is resumed.",
        )  # fmt: skip
        assert "Another statement has suspended the job" in str(made.result(20).rows[0][3])
        w.sql("RESUME JOB j")
        w.engine.complete(job.id, "12 rows written")
        w.wait_status(job.id, Status.COMPLETED)
        assert "has ended with status COMPLETED" in w.refused("RESUME JOB j").message


def test_a_batch_job_that_is_done_soon(tmp_path: Path) -> None:
    with world(tmp_path, batch_engine()) as w:
        made, job = w.begin(MAKE)
        w.engine.commit(job.id)
        w.engine.complete(job.id, "12 rows are written.")
        status, message = made.result(20).rows[0][2:]
        assert (status, message) == ("COMPLETED", "Created. 12 rows are written. Delivery: exactly once.")
        assert w.manager.workers.wait_for_job(job.id, 20.0)
        assert w.engine.calls[-1] == "discard 1"


def test_a_run_that_never_ends_does_not_keep_the_engine(tmp_path: Path) -> None:
    with world(tmp_path, settings=replace(QUICK, close_wait_seconds=0.0)) as w:
        job_id = w.make()
        with w.engine.gate("stop"):
            w.manager.close()
        stored = w.store.job(job_id)
        assert stored is not None and stored.status is Status.NOT_RUNNING


def test_of_two_sessions_that_make_the_same_job_one_wins(w: World) -> None:
    both = Barrier(4)
    results: list[str] = []
    analyse = w.engine.analyse

    def together(*arguments: object) -> object:
        both.wait(20)
        return analyse(*arguments)  # type: ignore[arg-type]

    w.engine.analyse = together  # type: ignore[method-assign,assignment]

    def make(statement: CreateJob) -> None:
        try:
            message = execute(w.manager, statement, Session).rows[0][3]
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
    assert len(results) == 4 and len(w.sql("SHOW JOBS").rows) == 1
    assert set(results) <= {"Created", "JETSQL.JOB_ALREADY_EXISTS", "A job with this name already exists"}


def test_many_sessions_at_once(w: World) -> None:
    def live(number: int) -> None:
        job = f"job{number}"
        w.sql(f"CREATE JOB {job} AS INSERT INTO out SELECT 1")
        w.sql(f"SUSPEND JOB {job}")
        w.sql(f"RESUME JOB {job}")
        w.sql("SHOW ALL JOBS")
        w.sql(f"DROP JOB {job}")

    threads = [Thread(target=live, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    rows = w.sql("SHOW ALL JOBS").rows
    assert [row[2] for row in rows] == ["FAILED"] * 12
    assert [row[0] for row in rows] == sorted((str(row[0]) for row in rows), reverse=True)
    assert all(not run.alive for run in w.engine.runs.values())


class FailingStore(Store):
    """A store whose next writes fail as on a full disk."""

    failures = 0

    def save(self, job: Job, row: HistoryRow, snapshot: Snapshot | None = None, replaces: str | None = None) -> None:
        if self.failures > 0:
            self.failures -= 1
            raise EngineError("HOME_NOT_USABLE", "The store can't be used: database or disk is full.")
        super().save(job, row, snapshot, replaces)


def test_a_step_that_cannot_be_stored_did_not_happen(tmp_path: Path) -> None:
    store = FailingStore(tmp_path / "jetsql.db")
    with world(tmp_path, store=store) as w:
        job_id = w.make()
        store.failures = 1
        with raises(EngineError, match="disk is full"):
            w.sql("SUSPEND JOB j")
        assert w.job(job_id).status is Status.RUNNING
        assert "stop 1" not in w.engine.calls
        assert w.said("SUSPEND JOB j")[0] == "SUSPENDED"


def test_what_a_run_reports_is_stored_when_the_store_works_again(tmp_path: Path) -> None:
    store = FailingStore(tmp_path / "jetsql.db")
    with world(tmp_path, store=store) as w:
        job_id = w.make()
        store.failures = 3
        w.engine.fail(job_id, HOPELESS)
        assert w.wait_status(job_id, Status.SUSPENDED).cause == HOPELESS


def test_runs_are_stopped_even_when_nothing_can_be_stored(tmp_path: Path) -> None:
    store = FailingStore(tmp_path / "jetsql.db")
    with world(tmp_path, store=store) as w:
        w.make()
        store.failures = 1000
        w.manager.close()
        assert w.engine.calls[-1] == "stop 1"


def test_the_engine_ends_and_jobs_continue_with_the_next_start(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        running, suspended = w.make("runs"), w.make("rests")
        w.sql("SUSPEND JOB rests")
        w.engine.commit(running)
        w.manager.close()
        assert w.engine.calls[-1] == "stop 1"
        job = w.store.job(running)
        assert job is not None and (job.status, job.batch) == (Status.NOT_RUNNING, 1)
        last = w.store.history(running)[-1]
        assert last.event == "engine stopped"
        assert last.message == "The engine stopped; the job continues with the engine's next start."
        with raises(EngineError, match="closed"):
            w.sql(MAKE)
    with world(tmp_path) as w:
        assert w.wait_run(running, 2).batch is not None
        assert w.job(suspended).status is Status.SUSPENDED
        assert w.engine.calls[:2] == ["recover 1", "start 2"]
        assert w.said("RESUME JOB rests")[0] == "RUNNING"


def test_the_deletion_of_staged_rows_ends_before_the_store_is_closed(tmp_path: Path) -> None:
    class SlowEngine(InMemoryEngine):
        def delete_staged_rows(self, jobs: Sequence[Job]) -> None:
            time.sleep(0.3)
            super().delete_staged_rows(jobs)

    with world(tmp_path, SlowEngine()) as w:
        w.manager.close()
        assert w.engine.swept == []


def test_statements_that_wait_hear_of_the_engines_end(w: World) -> None:
    w.make()
    waiting = w.in_background("WAIT FOR JOB j UNTIL BATCH 1000000")
    w.manager.registry.wait(w.manager.registry.live()[0], lambda now: now.job.version.first_trigger_done, 20.0)
    w.manager.close()
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
def test_after_a_kill_every_job_goes_where_it_was_going(
    tmp_path: Path, before: str, after: str, calls: list[str]
) -> None:
    status, _, goal = before.partition(" ")
    with world(tmp_path) as w:
        job_id = w.make()
    with closing(Store(tmp_path / "jetsql.db")) as store:
        old = store.job(job_id)
        assert old is not None
        killed = replace(old, status=Status(status), stop_goal=StopGoal(goal) if goal else None, run=1, has_files=True)
        store.save(killed, HistoryRow(job_id, 0.0, "test", None, killed.status, 1, ""))
    with world(tmp_path) as w:
        w.wait_status(job_id, Status(after))
        assert w.manager.workers.wait_for_job(job_id, 20.0)
        assert w.engine.calls == calls


def test_a_killed_create_starts_again(tmp_path: Path) -> None:
    with world(tmp_path, InMemoryEngine(quiet=True), replace(QUICK, create_wait_seconds=0.0)) as w:
        job_id = w.make()
        w.wait_status(job_id, Status.RUNNING)
    with world(tmp_path) as w:
        view = w.manager.view(w.job(job_id))
        assert w.manager.registry.wait(view, lambda now: now.job.version.first_trigger_done, 20.0).job.run == 2


def test_secrets_do_not_get_into_the_history(w: World) -> None:
    job_id = w.make(options={"spark.my.password": "geheim"})
    w.engine.fail(job_id, replace(HOPELESS, message="login of jdbc:x://ann:pw@db failed with geheim"))
    assert w.wait_status(job_id, Status.SUSPENDED).cause == replace(
        HOPELESS, message="login of jdbc:x://***@db failed with ***"
    )
    shown = repr((w.sql("SHOW JOB HISTORY j"), w.sql("DESCRIBE JOB EXTENDED j"), w.sql("SHOW CREATE JOB j")))
    assert "geheim" not in shown and "pw" not in shown and "***" in shown


def test_a_job_that_ends_the_engine_twice_stays_suspended(tmp_path: Path) -> None:
    """The next engine can be a standby: all that counts is in the store."""
    lost, began = Cause("the connection is lost"), time.time()
    with world(tmp_path) as jobs:
        hog, other = jobs.make("hog"), jobs.make("other")
    for crash in (1, 2, 3):
        # The second engine starts the suspect after the other job.
        with world(tmp_path, clock=lambda: began + 1000 * (time.time() - began)) as jobs:
            jobs.wait_status(other, Status.RUNNING)
            jobs.wait_status(hog, Status.SUSPENDED if crash == 3 else Status.RUNNING)
            if crash == 3:
                break
            jobs.manager.record_crash(CrashReport((hog, other), (hog,), "The heap was full."))
            for job_id in (hog, other):
                jobs.engine.fail(job_id, lost)
                assert jobs.manager.view_after_pending_events(jobs.job(job_id)).job.status is Status.RUNNING
            if crash == 2:
                assert any("starts 10 s after the others" in row.message for row in jobs.store.history(hog))
