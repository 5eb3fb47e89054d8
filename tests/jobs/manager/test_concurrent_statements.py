"""Concurrent statements: the result of each fits a serial order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from jetsql.jobs.manager.job_registry import JobView
from jetsql.jobs.model.job import Cause, Status
from tests.support.engines.jobs_harness import JobsHarness, run_manager

BODY = "INSERT INTO out SELECT * FROM STREAM src"
CREATE = f"CREATE JOB j AS {BODY}"


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[JobsHarness]:
    with run_manager(tmp_path) as harness:
        yield harness


def between(monkeypatch: pytest.MonkeyPatch, owner: object, call: str, *meanwhile: Callable[[], object]) -> None:
    """Let something else happen just before the next call of this name."""
    real = getattr(owner, call)

    def called(*args: Any, **kwargs: Any) -> Any:
        monkeypatch.setattr(owner, call, real)
        for happens in meanwhile:
            happens()
        return real(*args, **kwargs)

    monkeypatch.setattr(owner, call, called)


@pytest.mark.parametrize(
    ("text", "looks"),
    [
        ("ALTER JOB j OPTIONS ('spark.sql.maxPlanStringLength' = '9')", "check_conf"),
        ("DROP JOB j WITH SNAPSHOT s", "snapshot_named"),
    ],
)
def test_statement_does_not_affect_a_newer_job_of_the_name(
    jobs: JobsHarness, monkeypatch: pytest.MonkeyPatch, text: str, looks: str
) -> None:
    jobs.make()
    jobs.sql("SUSPEND JOB j")
    owner = jobs.runtime if looks == "check_conf" else jobs.store
    between(monkeypatch, owner, looks, lambda: jobs.sql("DROP JOB j"), jobs.make, lambda: jobs.sql("SUSPEND JOB j"))
    error = jobs.error_of(text)
    assert error.condition == "JETSQL.WRONG_STATUS" and "has ended with status DROPPED" in error.message
    [newer] = jobs.store.live_jobs()
    assert newer.status is Status.SUSPENDED and newer.plan.options.given == {}
    assert jobs.sql("SHOW SNAPSHOTS").rows == ()


@pytest.mark.parametrize("beginning", ["CREATE OR REPLACE JOB j", "CREATE JOB IF NOT EXISTS j", "CREATE JOB j"])
def test_loser_of_a_create_race_sees_an_existing_job(
    jobs: JobsHarness, monkeypatch: pytest.MonkeyPatch, beginning: str
) -> None:
    between(monkeypatch, jobs.runtime, "check_reachable", jobs.make)
    other = f"{beginning} AS INSERT INTO out SELECT a FROM STREAM src"
    if beginning == "CREATE JOB j":
        assert jobs.error_of(other).condition == "JETSQL.JOB_ALREADY_EXISTS"
    else:
        assert jobs.reply(other)[0] == "RUNNING"
    [job] = jobs.store.live_jobs()
    assert ("SELECT a" in job.version.statement, job.run) == ((True, 2) if "REPLACE" in beginning else (False, 1))


def test_job_that_ends_before_its_replacement_is_created_again(
    jobs: JobsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = jobs.make()
    between(monkeypatch, jobs.runtime, "check_reachable", lambda: jobs.sql("DROP JOB j"))
    row = jobs.row("CREATE OR REPLACE JOB j AS INSERT INTO out SELECT a FROM STREAM src")
    assert row["status"] == "RUNNING" and row["id"] != first


def test_create_succeeds_when_the_other_job_is_gone(jobs: JobsHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    between(monkeypatch, jobs.runtime, "check_reachable", jobs.make)
    real, errors = jobs.manager.submit, []

    def submit(job: Any) -> Any:
        try:
            return real(job)
        except Exception as error:
            errors.append(error)
            jobs.sql("DROP JOB j")
            raise

    monkeypatch.setattr(jobs.manager, "submit", submit)
    assert jobs.reply("CREATE JOB IF NOT EXISTS j AS INSERT INTO out SELECT a FROM STREAM src")[0] == "RUNNING"
    assert len(errors) == 1


@pytest.mark.parametrize("text", ["CREATE SNAPSHOT s FOR JOB j", "DROP JOB j WITH SNAPSHOT s"])
def test_snapshot_dropped_after_completion_still_counts(
    jobs: JobsHarness, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    jobs.make()
    jobs.sql("SUSPEND JOB j")
    real = jobs.manager.registry.wait

    def wait(*args: Any) -> Any:
        after = real(*args)
        monkeypatch.setattr(jobs.manager.registry, "wait", real)
        jobs.sql("DROP SNAPSHOT s")
        if text.startswith("CREATE"):
            jobs.runtime.copy_errors = [OSError("disk full")]
            jobs.error_of("CREATE SNAPSHOT t FOR JOB j")
        return after

    monkeypatch.setattr(jobs.manager.registry, "wait", wait)
    assert "Snapshot s has the state as of batch 0" in str(jobs.reply(text)[1])


def test_failed_snapshot_reports_its_own_cause(jobs: JobsHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs.make()
    jobs.sql("SUSPEND JOB j")
    jobs.runtime.copy_errors = [OSError("disk full"), OSError("no rights")]
    real = jobs.manager.registry.wait

    def wait(*args: Any) -> Any:
        after = real(*args)
        monkeypatch.setattr(jobs.manager.registry, "wait", real)
        assert "no rights" in jobs.error_of("CREATE SNAPSHOT t FOR JOB j").message
        jobs.sql("RESUME JOB j")
        return after

    monkeypatch.setattr(jobs.manager.registry, "wait", wait)
    assert "disk full" in jobs.error_of("CREATE SNAPSHOT s FOR JOB j").message


@pytest.mark.parametrize(
    ("text", "status"), [("SUSPEND JOB j", "SUSPENDED"), ("RESTART JOB j", "RUNNING"), ("DROP JOB j", "DROPPED")]
)
@pytest.mark.parametrize("end", ["fail", "complete", "want_restart"])
def test_a_run_that_ends_by_itself_needs_no_stop(tmp_path: Path, text: str, status: str, end: str) -> None:
    """Accept that the engine fails to stop a run that has ended."""
    with run_manager(tmp_path) as jobs:
        job_id = jobs.make("j", {"trigger": "availableNow"})
        with jobs.runtime.gate("stop"):
            jobs.runtime.stop_errors = [OSError("there is no such query")]
            reply = jobs.in_background(text)
            jobs.runtime.wait_entered("stop")
            if end == "fail":
                jobs.runtime.fail(job_id, Cause("the disk is full", "DISK"))
            elif end == "want_restart":
                jobs.runtime.want_restart(job_id, "A table was replaced.")
            else:
                jobs.runtime.complete(job_id)
        ended_before = end == "complete" and text == "SUSPEND JOB j"
        assert reply.result(20).rows[0][2] == ("COMPLETED" if ended_before else status)
        assert jobs.job(job_id).run == (2 if status == "RUNNING" else 1)


def test_a_snapshot_is_dropped_once(jobs: JobsHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs.make()
    for text in ("DROP SNAPSHOT s", "DROP SNAPSHOT IF EXISTS s"):
        jobs.sql("CREATE SNAPSHOT s FOR JOB j")
        between(monkeypatch, jobs.manager, "remove_snapshot", lambda: jobs.sql("DROP SNAPSHOT s"))
        if "IF EXISTS" in text:
            assert "nothing to drop" in str(jobs.reply(text)[1])
        else:
            assert jobs.error_of(text).condition == "JETSQL.SNAPSHOT_NOT_FOUND"


def test_drop_removes_a_snapshot_replaced_meanwhile(jobs: JobsHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs.make()
    jobs.sql("CREATE SNAPSHOT s FOR JOB j")
    between(monkeypatch, jobs.manager, "remove_snapshot", lambda: jobs.sql("CREATE OR REPLACE SNAPSHOT s FOR JOB j"))
    assert jobs.reply("DROP SNAPSHOT s")[1] == "Dropped."
    assert jobs.runtime.snapshots == {} and jobs.sql("SHOW SNAPSHOTS").rows == ()


@pytest.mark.parametrize("replaced", [True, False])
def test_snapshot_dropped_before_a_job_starts_from_it(
    jobs: JobsHarness, monkeypatch: pytest.MonkeyPatch, replaced: bool
) -> None:
    job_id = jobs.make()
    jobs.sql("CREATE SNAPSHOT s FOR JOB j")
    jobs.runtime.commit(job_id)
    other = "CREATE OR REPLACE SNAPSHOT s FOR JOB j" if replaced else "DROP SNAPSHOT s"
    between(monkeypatch, jobs.runtime, "check_reachable", lambda: jobs.sql(other))
    text = f"CREATE JOB k OPTIONS ('initialSnapshotName'='s') AS {BODY}"
    if replaced:
        assert "batch 1" in str(jobs.reply(text)[1])
    else:
        error = jobs.error_of(text)
        assert error.condition == "JETSQL.SNAPSHOT_NOT_FOUND" and error.place is not None


def test_drop_with_snapshot_returns_after_the_job_ended(jobs: JobsHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pause between the moment when the end of the snapshot is known and the moment when the job is shown so."""
    jobs.make()
    board = jobs.manager.registry
    finish, wait = jobs.manager.snapshot_names.finish, board.wait
    finished, waited = Event(), Event()

    def watched_wait(view: JobView, reached: Callable[[JobView], bool], seconds: float) -> JobView:
        def watched(now: JobView) -> bool:
            found = reached(now)
            if finished.is_set():
                waited.set()
            return found

        return wait(view, watched, seconds)

    def tell_and_let_look(*args: Any) -> None:
        finish(*args)
        finished.set()
        board.put(board.live()[0])
        assert waited.wait(20)

    monkeypatch.setattr(board, "wait", watched_wait)
    monkeypatch.setattr(jobs.manager.snapshot_names, "finish", tell_and_let_look)
    assert jobs.reply("DROP JOB j WITH SNAPSHOT s")[0] == "DROPPED"
