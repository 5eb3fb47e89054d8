"""Snapshots that statements create, use and drop, with the in-memory engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from threading import Barrier, BrokenBarrierError, Event

import pytest

from jetsql.errors import StatementError
from jetsql.jobs.manager.job_registry import JobView
from jetsql.jobs.manager.snapshot_users import PendingSnapshot, SnapshotNames, find_starting_job
from jetsql.jobs.model.body_analysis import Operator
from jetsql.jobs.model.job import Cause, Status
from jetsql.jobs.store.job_store import Store
from tests.support.engines.in_memory_engine import InMemoryEngine, analysis
from tests.support.engines.jobs_world import World, changed, create, in_thread, name, world
from tests.support.engines.store_places import StorePlace
from tests.support.golden_reports import raises
from tests.support.models.lifecycle_cases import job

BODY = "INSERT INTO out SELECT * FROM STREAM src"


@pytest.fixture
def w(place: StorePlace) -> Iterator[World]:
    with world(place.database()) as made:
        yield made


def names(w: World) -> list[object]:
    return [row[0] for row in w.sql("SHOW SNAPSHOTS").rows]


def test_a_running_job_stays_running(w: World) -> None:
    job_id = w.make()
    w.engine.commit(job_id)
    assert w.said("CREATE SNAPSHOT s FOR JOB j") == (
        "RUNNING",
        "Snapshot s has the state as of batch 1 (1000 bytes).",
    )
    [snapshot] = w.store.snapshots()
    assert snapshot.software_versions == w.store.all_jobs()[0].version.software_versions != {}
    assert "stop 1" not in w.engine.calls
    assert w.titles(job_id)[-1] == "snapshot"


def test_a_suspended_job_is_exporting_meanwhile_and_takes_no_other_statement(w: World) -> None:
    job_id = w.make()
    w.sql("SUSPEND JOB j")
    with w.engine.gate("copy_state"):
        writing = w.in_background("CREATE SNAPSHOT s FOR JOB j")
        w.engine.wait_entered("copy_state")
        w.wait_status(job_id, Status.SUSPENDED_EXPORTING_SNAPSHOT)
        for text in (
            "RESUME JOB j",
            "DROP JOB j",
            "CREATE SNAPSHOT t FOR JOB j",
            "ALTER JOB j OPTIONS ('autoScaling'='false')",
        ):
            assert w.refused(text).condition == "JETSQL.WRONG_STATUS"
    assert writing.result(20).rows[0][2] == "SUSPENDED"
    assert w.said("RESUME JOB j")[0] == "RUNNING"


def test_a_name_is_taken_over_only_when_asked_to(w: World) -> None:
    w.make()
    w.sql("CREATE SNAPSHOT s FOR JOB j")
    error = w.refused("CREATE SNAPSHOT S FOR JOB j")
    assert error.condition == "JETSQL.SNAPSHOT_ALREADY_EXISTS" and "OR REPLACE" in error.hint
    before = set(w.engine.snapshots)
    w.sql("CREATE OR REPLACE SNAPSHOT S FOR JOB j")
    assert names(w) == ["S"] and len(w.engine.snapshots) == 1 and not before & set(w.engine.snapshots)


def test_two_statements_never_write_one_name(w: World) -> None:
    w.make()
    with w.engine.gate("copy_state"):
        writing = w.in_background("CREATE SNAPSHOT s FOR JOB j")
        w.engine.wait_entered("copy_state")
        assert w.refused("CREATE OR REPLACE SNAPSHOT s FOR JOB j").condition == "JETSQL.SNAPSHOT_ALREADY_EXISTS"
    writing.result(20)
    assert names(w) == ["s"]


def test_what_has_no_state_has_no_snapshot(w: World) -> None:
    with w.engine.gate("start"):
        making = w.in_background(f"CREATE JOB j AS {BODY}")
        w.engine.wait_entered("start")
        assert w.refused("CREATE SNAPSHOT s FOR JOB j").condition == "JETSQL.SNAPSHOT_FAILED"
        assert w.refused("DROP JOB j WITH SNAPSHOT s").condition == "JETSQL.SNAPSHOT_FAILED"
    making.result(20)
    w.engine.analysis = analysis(streaming=False, modes={})
    with w.engine.gate("start"):
        w.in_background("CREATE JOB b AS INSERT INTO out SELECT * FROM src")
        w.engine.wait_entered("start")
        assert w.refused("CREATE SNAPSHOT s FOR JOB b").condition == "JETSQL.NOT_SUPPORTED"


def test_a_snapshot_that_fails_is_not_there(w: World) -> None:
    job_id = w.make()
    w.engine.copy_errors = [
        StatementError("SNAPSHOT_FAILED", "The copy of the state does not open."),
        OSError("disk full"),
    ]
    error = w.refused("CREATE SNAPSHOT s FOR JOB j")
    assert error.condition == "JETSQL.SNAPSHOT_FAILED" and error.place is not None
    w.sql("SUSPEND JOB j")
    assert "disk full" in w.refused("CREATE SNAPSHOT s FOR JOB j").message
    assert w.job(job_id).status is Status.SUSPENDED and names(w) == []
    assert w.said("RESUME JOB j")[0] == "RUNNING"


def test_dropped_with_a_snapshot(w: World) -> None:
    w.make()
    status, message = w.said("DROP JOB j WITH SNAPSHOT s")
    assert status == "FAILED" and "Snapshot s has the state as of batch 0" in str(message)
    assert w.engine.calls.index("stop 1") < w.engine.calls.index("copy_state 1") < w.engine.calls.index("discard 1")
    assert names(w) == ["s"]


def test_a_job_whose_snapshot_fails_is_suspended_and_not_dropped(w: World) -> None:
    job_id = w.make()
    w.engine.copy_errors = [OSError("disk full")]
    error = w.refused("DROP JOB j WITH SNAPSHOT s")
    assert error.condition == "JETSQL.SNAPSHOT_FAILED" and "disk full" in error.message
    assert w.job(job_id).status is Status.SUSPENDED and "discard 1" not in w.engine.calls
    assert w.said("RESUME JOB j")[0] == "RUNNING"


def test_an_error_of_the_run_while_it_is_dropped_with_a_snapshot(w: World) -> None:
    """The two must not collide: the job ends dropped, or SUSPENDED when the snapshot failed, never in between."""
    job_id = w.make()
    with w.engine.gate("stop"):
        dropping = w.in_background("DROP JOB j WITH SNAPSHOT s")
        w.engine.wait_entered("stop")
        w.engine.fail(job_id, Cause("1/0", "DIVIDE_BY_ZERO", retryable=False))
    assert dropping.result(20).rows[0][2] == "FAILED"
    assert names(w) == ["s"]


@pytest.mark.parametrize(
    "text",
    [
        "SUSPEND JOB j",
        "RESUME JOB j",
        "RESTART JOB j",
        "CREATE OR REPLACE JOB j AS INSERT INTO out SELECT a FROM STREAM src",
    ],
)
def test_while_it_is_dropped_with_a_snapshot_nothing_else_happens(w: World, text: str) -> None:
    w.make()
    with w.engine.gate("stop"):
        dropping = w.in_background("DROP JOB j WITH SNAPSHOT s")
        w.engine.wait_entered("stop")
        assert w.refused(text).condition == "JETSQL.WRONG_STATUS"
    assert dropping.result(20).rows[0][2] == "FAILED"


def test_a_job_starts_from_a_snapshot_beside_the_original(w: World) -> None:
    w.engine.commit(w.make())
    w.sql("CREATE SNAPSHOT s FOR JOB j")
    row = w.row(create("k", {"initialSnapshotName": "S"}))
    assert "It starts from the snapshot S, batch 1." in str(row["message"])
    job = w.job(str(row["id"]))
    assert job.source_snapshot_id in w.engine.snapshots and job.batch == 2
    assert w.said("DROP SNAPSHOT s") == (None, "Dropped.")
    assert w.said("RESTART JOB k")[0] == "RUNNING" and w.engine.snapshots == {}


def test_the_batch_of_its_snapshot_is_no_first_batch_of_a_job(w: World) -> None:
    w.make()
    w.sql("CREATE SNAPSHOT s FOR JOB j")
    w.engine.quiet = True
    made, job = w.begin("CREATE JOB k OPTIONS ('initialSnapshotName'='s') AS INSERT INTO out SELECT * FROM STREAM src")
    w.engine.idle(job.id)
    message = str(made.result(20).rows[0][3])
    assert "It starts from the snapshot s, batch 0. No rows are available yet." in message


def test_a_snapshot_of_another_query_is_refused_with_the_reason(w: World) -> None:
    w.make()
    w.sql("CREATE SNAPSHOT s FOR JOB j")
    w.engine.analysis = analysis(operators=(Operator("Aggregate", "a: int"),), stateful=True)
    with raises(StatementError) as caught:
        w.run(create("k", {"initialSnapshotName": "s"}))
    assert caught.value.condition == "JETSQL.STATE_NOT_COMPATIBLE" and caught.value.place is not None
    assert "would lack the rows" in caught.value.message


def test_a_snapshot_that_is_not_there(w: World) -> None:
    w.make()
    w.sql("CREATE SNAPSHOT friday FOR JOB j")
    with raises(StatementError, match="There is no snapshot 'fridya'") as caught:
        w.run(create("k", {"initialSnapshotName": "fridya"}))
    assert caught.value.hint == "Did you mean friday?" and caught.value.place is not None
    assert w.refused("DROP SNAPSHOT fridya").condition == "JETSQL.SNAPSHOT_NOT_FOUND"
    nothing = (None, "fridya", None, "There is no snapshot named fridya; nothing to drop.")
    assert w.sql("DROP SNAPSHOT IF EXISTS fridya").rows == (nothing,)


def test_a_snapshot_stays_while_a_new_job_has_not_got_its_copy(w: World) -> None:
    w.make()
    w.sql("CREATE SNAPSHOT s FOR JOB j")
    with w.engine.gate("start"):
        making = w.in_background(
            "CREATE JOB k OPTIONS ('initialSnapshotName'='s') AS INSERT INTO out SELECT * FROM STREAM src"
        )
        w.engine.wait_entered("start")
        assert "is starting from" in w.refused("DROP SNAPSHOT s").message
        assert "is starting from" in w.refused("CREATE OR REPLACE SNAPSHOT s FOR JOB j").message
    making.result(20)
    assert w.said("DROP SNAPSHOT s")[1] == "Dropped."


def test_a_snapshot_that_is_replaced_stays_for_a_new_job_that_copies_it(tmp_path: Path) -> None:
    engine = InMemoryEngine()
    with world(tmp_path, engine) as w:
        w.make()
        w.sql("CREATE SNAPSHOT s FOR JOB j")
        [replaced] = engine.snapshots
        with engine.gate("copy_state"):
            replacing = w.in_background("CREATE OR REPLACE SNAPSHOT s FOR JOB j")
            engine.wait_entered("copy_state")
            with engine.gate("start"):
                making = in_thread(lambda: w.run(create("k", {"initialSnapshotName": "s"})))
                engine.wait_entered("start")
                engine.gates["copy_state"].set()
                replacing.result(20)
                assert replaced in engine.snapshots
            making.result(20)
    with world(tmp_path, engine) as w:
        assert replaced not in engine.snapshots and len(engine.snapshots) == 1


def test_a_copy_that_gets_no_name_is_deleted(w: World) -> None:
    w.make()
    w.make("k")
    w.sql("CREATE SNAPSHOT t FOR JOB k")
    [other] = w.store.snapshots()
    with w.engine.gate("copy_state"):
        writing = w.in_background("CREATE SNAPSHOT s FOR JOB j")
        w.engine.wait_entered("copy_state")
        w.store.add_snapshot(replace(other, id="another", name="s"))
    with raises(StatementError) as caught:
        writing.result(20)
    assert caught.value.condition == "JETSQL.SNAPSHOT_ALREADY_EXISTS"
    assert set(w.engine.snapshots) == {other.id}


def test_of_two_statements_at_the_same_moment_one_writes_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    class Meeting(dict[str, PendingSnapshot]):
        """Looking for a name waits for the other statement, where that one can look too."""

        def __contains__(self, key: object) -> bool:
            found = super().__contains__(key)
            with suppress(BrokenBarrierError):
                both.wait(0.2)
            return found

    both, in_use = Barrier(2), SnapshotNames()
    monkeypatch.setattr(in_use, "_names", Meeting())
    leave = Event()

    def hold() -> bool:
        try:
            with in_use.reserve(name("s")):
                assert leave.wait(20)
            return True
        except StatementError:
            leave.set()
            return False

    assert sorted(each.result(20) for each in [in_thread(hold), in_thread(hold)]) == [False, True]


@pytest.mark.parametrize(
    ("changes", "is_needed"),
    [
        ({}, True),
        ({"checkpoint": 1}, False),
        ({"first_trigger_done": True}, False),
        ({"status": Status.RUNNING}, False),
        ({"source_snapshot_id": "another"}, False),
    ],
)
def test_a_snapshot_is_needed_until_a_new_job_has_its_copy(changes: dict[str, object], is_needed: bool) -> None:
    made = changed(job(Status.NOT_RUNNING, first_trigger_done=False), **{"source_snapshot_id": "s", **changes})
    assert find_starting_job("s", [JobView(made)]) == (made if is_needed else None)


def test_halves_of_snapshots_go_with_the_next_start(tmp_path: Path) -> None:
    engine = InMemoryEngine()
    with world(tmp_path, engine) as w:
        w.make()
        w.sql("CREATE SNAPSHOT s FOR JOB j")
    engine.snapshots["half"] = 3
    with world(tmp_path, engine) as w:
        assert len(engine.snapshots) == 1 and names(w) == ["s"]


def test_a_snapshot_that_is_complete_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the snapshot of the next leader when an engine that no longer leads is slow to start."""
    engine = InMemoryEngine()
    with world(tmp_path, engine) as w:
        w.make()
        w.sql("CREATE SNAPSHOT s FOR JOB j")
        [snapshot] = w.store.snapshots()
        w.sql("DROP SNAPSHOT s")
    engine.snapshots.clear()
    with closing(Store(tmp_path / "jetsql.db")) as store:
        later = replace(snapshot, id="9999-0000-0000-0001")

        def list_folders() -> tuple[str, ...]:
            engine.snapshots[later.id] = 3
            store.add_snapshot(later)
            return tuple(engine.snapshots)

        monkeypatch.setattr(engine, "snapshot_folders", list_folders)
        with world(tmp_path, engine, store=store) as w:
            assert list(engine.snapshots) == [later.id] and names(w) == ["s"]


def test_snapshots_outlive_their_job(w: World) -> None:
    w.make()
    w.sql("CREATE SNAPSHOT s FOR JOB j")
    w.sql("DROP JOB j")
    assert names(w) == ["s"] and w.sql("SHOW SNAPSHOTS FOR JOB j").rows
    assert "batch 0" in str(w.row(create("j", {"initialSnapshotName": "s"}))["message"])


def test_an_error_of_the_engine_is_told_in_its_words_with_what_to_do(w: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a snapshot of a job that runs, and of one that does not."""
    w.make()
    cause = Cause("The disk is full.", "DISK", hint="Make room.")
    monkeypatch.setattr(w.engine, "cause_of", lambda error: cause)
    for status in ("RUNNING", "SUSPENDED"):
        w.engine.copy_errors = [OSError("28")]
        error = w.refused("CREATE SNAPSHOT s FOR JOB j")
        assert (error.condition, error.message) == (
            "JETSQL.SNAPSHOT_FAILED",
            f"The snapshot s was not created; job j is {status}. The disk is full. Make room.",
        )
        assert error.place is not None
        w.sql("SUSPEND JOB j")


@pytest.mark.parametrize("text", ["DROP JOB j", "DROP JOB j WITH SNAPSHOT s"])
def test_files_that_could_not_be_deleted_are_told(w: World, text: str) -> None:
    job_id = w.make()
    w.engine.discard_errors = [OSError("no rights")]
    status, message = w.said(text)
    assert status == "FAILED" and "Its files could not be deleted; SHOW JOB HISTORY shows why." in str(message)
    assert w.job(job_id).has_files and "no rights" in str(w.sql(f"SHOW JOB HISTORY '{job_id}'").rows)


@pytest.mark.parametrize("text", ["DROP JOB j", "DROP JOB j WITH SNAPSHOT s"])
def test_files_that_are_still_being_deleted_are_told(w: World, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    w.make()
    monkeypatch.setattr(w.manager.workers, "wait_for_job", lambda *_: False)
    assert "Its files are still being deleted." in str(w.said(text)[1])


def test_a_job_from_a_snapshot_has_the_defaults_of_the_snapshot(w: World, monkeypatch: pytest.MonkeyPatch) -> None:
    w.make()
    w.sql("CREATE SNAPSHOT s FOR JOB j")
    monkeypatch.setattr(w.engine, "session_defaults", lambda: {"spark.sql.shuffle.partitions": "9"})
    assert w.job(w.make("k", {"initialSnapshotName": "s"})).version.session_defaults == {
        "spark.sql.shuffle.partitions": "2"
    }
    assert w.job(w.make("l")).version.session_defaults == {"spark.sql.shuffle.partitions": "9"}
