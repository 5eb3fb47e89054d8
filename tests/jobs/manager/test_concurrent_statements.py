"""Concurrent statements: the result of each fits a serial order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from jetsql.jobs.manager.job_registry import JobView
from jetsql.jobs.model.job import Cause, Status
from tests.support.engines.jobs_world import World, world

BODY = "INSERT INTO out SELECT * FROM STREAM src"
MAKE = f"CREATE JOB j AS {BODY}"


@pytest.fixture
def w(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


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
def test_a_job_that_takes_the_name_meanwhile_is_not_hit(
    w: World, monkeypatch: pytest.MonkeyPatch, text: str, looks: str
) -> None:
    w.make()
    w.sql("SUSPEND JOB j")
    owner = w.engine if looks == "check_conf" else w.store
    between(monkeypatch, owner, looks, lambda: w.sql("DROP JOB j"), w.make, lambda: w.sql("SUSPEND JOB j"))
    error = w.refused(text)
    assert error.condition == "JETSQL.WRONG_STATUS" and "has ended with status FAILED" in error.message
    [newer] = w.store.live_jobs()
    assert newer.status is Status.SUSPENDED and newer.plan.options == {}
    assert w.sql("SHOW SNAPSHOTS").rows == ()


@pytest.mark.parametrize("beginning", ["CREATE OR REPLACE JOB j", "CREATE JOB IF NOT EXISTS j", "CREATE JOB j"])
def test_who_loses_the_race_to_make_a_job_is_answered_as_if_it_had_been_there(
    w: World, monkeypatch: pytest.MonkeyPatch, beginning: str
) -> None:
    between(monkeypatch, w.engine, "check_reachable", w.make)
    other = f"{beginning} AS INSERT INTO out SELECT a FROM STREAM src"
    if beginning == "CREATE JOB j":
        assert w.refused(other).condition == "JETSQL.JOB_ALREADY_EXISTS"
    else:
        assert w.said(other)[0] == "RUNNING"
    [job] = w.store.live_jobs()
    assert ("SELECT a" in job.version.statement, job.run) == ((True, 2) if "REPLACE" in beginning else (False, 1))


def test_a_job_that_ends_before_it_is_replaced_is_made_anew(w: World, monkeypatch: pytest.MonkeyPatch) -> None:
    first = w.make()
    between(monkeypatch, w.engine, "check_reachable", lambda: w.sql("DROP JOB j"))
    row = w.row("CREATE OR REPLACE JOB j AS INSERT INTO out SELECT a FROM STREAM src")
    assert row["status"] == "RUNNING" and row["id"] != first


def test_a_winner_that_is_gone_again_does_not_count(w: World, monkeypatch: pytest.MonkeyPatch) -> None:
    between(monkeypatch, w.engine, "check_reachable", w.make)
    real, refused = w.manager.submit, []

    def submit(job: Any) -> Any:
        try:
            return real(job)
        except Exception as error:
            refused.append(error)
            w.sql("DROP JOB j")
            raise

    monkeypatch.setattr(w.manager, "submit", submit)
    assert w.said("CREATE JOB IF NOT EXISTS j AS INSERT INTO out SELECT a FROM STREAM src")[0] == "RUNNING"
    assert len(refused) == 1


@pytest.mark.parametrize("text", ["CREATE SNAPSHOT s FOR JOB j", "DROP JOB j WITH SNAPSHOT s"])
def test_a_snapshot_that_came_to_be_counts_though_it_is_dropped_since(
    w: World, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    w.make()
    w.sql("SUSPEND JOB j")
    real = w.manager.registry.wait

    def wait(*args: Any) -> Any:
        after = real(*args)
        monkeypatch.setattr(w.manager.registry, "wait", real)
        w.sql("DROP SNAPSHOT s")
        if text.startswith("CREATE"):
            w.engine.copy_errors = [OSError("disk full")]
            w.refused("CREATE SNAPSHOT t FOR JOB j")
        return after

    monkeypatch.setattr(w.manager.registry, "wait", wait)
    assert "Snapshot s has the state as of batch 0" in str(w.said(text)[1])


def test_a_snapshot_that_failed_is_told_with_its_own_cause(w: World, monkeypatch: pytest.MonkeyPatch) -> None:
    w.make()
    w.sql("SUSPEND JOB j")
    w.engine.copy_errors = [OSError("disk full"), OSError("no rights")]
    real = w.manager.registry.wait

    def wait(*args: Any) -> Any:
        after = real(*args)
        monkeypatch.setattr(w.manager.registry, "wait", real)
        assert "no rights" in w.refused("CREATE SNAPSHOT t FOR JOB j").message
        w.sql("RESUME JOB j")
        return after

    monkeypatch.setattr(w.manager.registry, "wait", wait)
    assert "disk full" in w.refused("CREATE SNAPSHOT s FOR JOB j").message


@pytest.mark.parametrize(
    ("text", "status"), [("SUSPEND JOB j", "SUSPENDED"), ("RESTART JOB j", "RUNNING"), ("DROP JOB j", "FAILED")]
)
@pytest.mark.parametrize("end", ["fail", "complete", "want_restart"])
def test_a_run_that_ends_by_itself_needs_no_stop(tmp_path: Path, text: str, status: str, end: str) -> None:
    """The engine fails to stop it just because it is not there any more."""
    with world(tmp_path) as w:
        job_id = w.make("j", {"trigger": "availableNow"})
        with w.engine.gate("stop"):
            w.engine.stop_errors = [OSError("there is no such query")]
            said = w.in_background(text)
            w.engine.wait_entered("stop")
            if end == "fail":
                w.engine.fail(job_id, Cause("the disk is full", "DISK"))
            elif end == "want_restart":
                w.engine.want_restart(job_id, "A table was replaced.")
            else:
                w.engine.complete(job_id)
        ended_before = end == "complete" and text == "SUSPEND JOB j"
        assert said.result(20).rows[0][2] == ("COMPLETED" if ended_before else status)
        assert w.job(job_id).run == (2 if status == "RUNNING" else 1)


def test_a_snapshot_is_dropped_once(w: World, monkeypatch: pytest.MonkeyPatch) -> None:
    w.make()
    for text in ("DROP SNAPSHOT s", "DROP SNAPSHOT IF EXISTS s"):
        w.sql("CREATE SNAPSHOT s FOR JOB j")
        between(monkeypatch, w.manager, "remove_snapshot", lambda: w.sql("DROP SNAPSHOT s"))
        if "IF EXISTS" in text:
            assert "nothing to drop" in str(w.said(text)[1])
        else:
            assert w.refused(text).condition == "JETSQL.SNAPSHOT_NOT_FOUND"


def test_a_snapshot_that_is_replaced_before_it_is_dropped_is_dropped(w: World, monkeypatch: pytest.MonkeyPatch) -> None:
    w.make()
    w.sql("CREATE SNAPSHOT s FOR JOB j")
    between(monkeypatch, w.manager, "remove_snapshot", lambda: w.sql("CREATE OR REPLACE SNAPSHOT s FOR JOB j"))
    assert w.said("DROP SNAPSHOT s")[1] == "Dropped."
    assert w.engine.snapshots == {} and w.sql("SHOW SNAPSHOTS").rows == ()


@pytest.mark.parametrize("replaced", [True, False])
def test_a_snapshot_that_goes_before_a_job_is_made_of_it(
    w: World, monkeypatch: pytest.MonkeyPatch, replaced: bool
) -> None:
    job_id = w.make()
    w.sql("CREATE SNAPSHOT s FOR JOB j")
    w.engine.commit(job_id)
    other = "CREATE OR REPLACE SNAPSHOT s FOR JOB j" if replaced else "DROP SNAPSHOT s"
    between(monkeypatch, w.engine, "check_reachable", lambda: w.sql(other))
    text = f"CREATE JOB k OPTIONS ('initialSnapshotName'='s') AS {BODY}"
    if replaced:
        assert "batch 1" in str(w.said(text)[1])
    else:
        error = w.refused(text)
        assert error.condition == "JETSQL.SNAPSHOT_NOT_FOUND" and error.place is not None


def test_who_dropped_a_job_with_a_snapshot_sees_it_ended(w: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pause between the moment when the end of the snapshot is known and the moment when the job is shown so."""
    w.make()
    board = w.manager.registry
    tell, wait = w.manager.snapshot_names.finish, board.wait
    told, looked = Event(), Event()

    def watched_wait(view: JobView, reached: Callable[[JobView], bool], seconds: float) -> JobView:
        def watched(now: JobView) -> bool:
            found = reached(now)
            if told.is_set():
                looked.set()
            return found

        return wait(view, watched, seconds)

    def tell_and_let_look(*args: Any) -> None:
        tell(*args)
        told.set()
        board.put(board.live()[0])
        assert looked.wait(20)

    monkeypatch.setattr(board, "wait", watched_wait)
    monkeypatch.setattr(w.manager.snapshot_names, "finish", tell_and_let_look)
    assert w.said("DROP JOB j WITH SNAPSHOT s")[0] == "FAILED"
