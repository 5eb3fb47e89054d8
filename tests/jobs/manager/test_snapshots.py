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
from tests.support.engines.in_memory_runtime import InMemoryRuntime, analysis
from tests.support.engines.jobs_harness import JobsHarness, changed, create, in_thread, name, run_manager
from tests.support.engines.store_places import StorePlace
from tests.support.golden_reports import raises
from tests.support.models.lifecycle_cases import job

BODY = "INSERT INTO out SELECT * FROM STREAM src"


@pytest.fixture
def jobs(place: StorePlace) -> Iterator[JobsHarness]:
    with run_manager(place.database()) as harness:
        yield harness


def names(jobs: JobsHarness) -> list[object]:
    return [row[0] for row in jobs.sql("SHOW SNAPSHOTS").rows]


def test_a_running_job_stays_running(jobs: JobsHarness) -> None:
    job_id = jobs.make()
    jobs.runtime.commit(job_id)
    assert jobs.reply("CREATE SNAPSHOT s FOR JOB j") == (
        "RUNNING",
        "Snapshot s has the state as of batch 1 (1000 bytes).",
    )
    [snapshot] = jobs.store.snapshots()
    assert snapshot.software_versions == jobs.store.all_jobs()[0].version.software_versions != {}
    assert "stop 1" not in jobs.runtime.calls
    assert jobs.titles(job_id)[-1] == "snapshot"


def test_suspended_job_is_exporting_and_refuses_other_statements(jobs: JobsHarness) -> None:
    job_id = jobs.make()
    jobs.sql("SUSPEND JOB j")
    with jobs.runtime.gate("copy_state"):
        writing = jobs.in_background("CREATE SNAPSHOT s FOR JOB j")
        jobs.runtime.wait_entered("copy_state")
        jobs.wait_status(job_id, Status.SUSPENDED_EXPORTING_SNAPSHOT)
        for text in (
            "RESUME JOB j",
            "DROP JOB j",
            "CREATE SNAPSHOT t FOR JOB j",
            "ALTER JOB j OPTIONS ('autoScaling'='false')",
        ):
            assert jobs.error_of(text).condition == "JETSQL.WRONG_STATUS"
    assert writing.result(20).rows[0][2] == "SUSPENDED"
    assert jobs.reply("RESUME JOB j")[0] == "RUNNING"


def test_snapshot_name_is_replaced_only_with_or_replace(jobs: JobsHarness) -> None:
    jobs.make()
    jobs.sql("CREATE SNAPSHOT s FOR JOB j")
    error = jobs.error_of("CREATE SNAPSHOT S FOR JOB j")
    assert error.condition == "JETSQL.SNAPSHOT_ALREADY_EXISTS" and "OR REPLACE" in error.hint
    before = set(jobs.runtime.snapshots)
    jobs.sql("CREATE OR REPLACE SNAPSHOT S FOR JOB j")
    assert names(jobs) == ["S"] and len(jobs.runtime.snapshots) == 1 and not before & set(jobs.runtime.snapshots)


def test_two_statements_never_write_one_snapshot(jobs: JobsHarness) -> None:
    jobs.make()
    with jobs.runtime.gate("copy_state"):
        writing = jobs.in_background("CREATE SNAPSHOT s FOR JOB j")
        jobs.runtime.wait_entered("copy_state")
        assert jobs.error_of("CREATE OR REPLACE SNAPSHOT s FOR JOB j").condition == "JETSQL.SNAPSHOT_ALREADY_EXISTS"
    writing.result(20)
    assert names(jobs) == ["s"]


def test_job_without_state_has_no_snapshot(jobs: JobsHarness) -> None:
    with jobs.runtime.gate("start"):
        making = jobs.in_background(f"CREATE JOB j AS {BODY}")
        jobs.runtime.wait_entered("start")
        assert jobs.error_of("CREATE SNAPSHOT s FOR JOB j").condition == "JETSQL.SNAPSHOT_FAILED"
        assert jobs.error_of("DROP JOB j WITH SNAPSHOT s").condition == "JETSQL.SNAPSHOT_FAILED"
    making.result(20)
    jobs.runtime.analysis = analysis(streaming=False, modes={})
    with jobs.runtime.gate("start"):
        jobs.in_background("CREATE JOB b AS INSERT INTO out SELECT * FROM src")
        jobs.runtime.wait_entered("start")
        assert jobs.error_of("CREATE SNAPSHOT s FOR JOB b").condition == "JETSQL.NOT_SUPPORTED"


def test_failed_snapshot_is_not_listed(jobs: JobsHarness) -> None:
    job_id = jobs.make()
    jobs.runtime.copy_errors = [
        StatementError("SNAPSHOT_FAILED", "The copy of the state does not open."),
        OSError("disk full"),
    ]
    error = jobs.error_of("CREATE SNAPSHOT s FOR JOB j")
    assert error.condition == "JETSQL.SNAPSHOT_FAILED" and error.place is not None
    jobs.sql("SUSPEND JOB j")
    assert "disk full" in jobs.error_of("CREATE SNAPSHOT s FOR JOB j").message
    assert jobs.job(job_id).status is Status.SUSPENDED and names(jobs) == []
    assert jobs.reply("RESUME JOB j")[0] == "RUNNING"


def test_dropped_with_a_snapshot(jobs: JobsHarness) -> None:
    jobs.make()
    status, message = jobs.reply("DROP JOB j WITH SNAPSHOT s")
    assert status == "DROPPED" and "Snapshot s has the state as of batch 0" in str(message)
    assert (
        jobs.runtime.calls.index("stop 1")
        < jobs.runtime.calls.index("copy_state 1")
        < jobs.runtime.calls.index("discard 1")
    )
    assert names(jobs) == ["s"]


def test_failed_snapshot_suspends_the_job_instead_of_dropping(jobs: JobsHarness) -> None:
    job_id = jobs.make()
    jobs.runtime.copy_errors = [OSError("disk full")]
    error = jobs.error_of("DROP JOB j WITH SNAPSHOT s")
    assert error.condition == "JETSQL.SNAPSHOT_FAILED" and "disk full" in error.message
    assert jobs.job(job_id).status is Status.SUSPENDED and "discard 1" not in jobs.runtime.calls
    assert jobs.reply("RESUME JOB j")[0] == "RUNNING"


def test_run_error_during_drop_with_snapshot(jobs: JobsHarness) -> None:
    """Suspend or drop the job, depending on the snapshot, but never leave it in between."""
    job_id = jobs.make()
    with jobs.runtime.gate("stop"):
        dropping = jobs.in_background("DROP JOB j WITH SNAPSHOT s")
        jobs.runtime.wait_entered("stop")
        jobs.runtime.fail(job_id, Cause("1/0", "DIVIDE_BY_ZERO", retryable=False))
    assert dropping.result(20).rows[0][2] == "DROPPED"
    assert names(jobs) == ["s"]


@pytest.mark.parametrize(
    "text",
    [
        "SUSPEND JOB j",
        "RESUME JOB j",
        "RESTART JOB j",
        "CREATE OR REPLACE JOB j AS INSERT INTO out SELECT a FROM STREAM src",
    ],
)
def test_other_statements_during_drop_with_snapshot_are_refused(jobs: JobsHarness, text: str) -> None:
    jobs.make()
    with jobs.runtime.gate("stop"):
        dropping = jobs.in_background("DROP JOB j WITH SNAPSHOT s")
        jobs.runtime.wait_entered("stop")
        assert jobs.error_of(text).condition == "JETSQL.WRONG_STATUS"
    assert dropping.result(20).rows[0][2] == "DROPPED"


def test_job_starts_from_a_snapshot_next_to_the_original(jobs: JobsHarness) -> None:
    jobs.runtime.commit(jobs.make())
    jobs.sql("CREATE SNAPSHOT s FOR JOB j")
    row = jobs.row(create("k", {"initialSnapshotName": "S"}))
    assert "It starts from the snapshot S, batch 1." in str(row["message"])
    job = jobs.job(str(row["id"]))
    assert job.source_snapshot_id in jobs.runtime.snapshots and job.batch == 2
    assert jobs.reply("DROP SNAPSHOT s") == (None, "Dropped.")
    assert jobs.reply("RESTART JOB k")[0] == "RUNNING" and jobs.runtime.snapshots == {}


def test_batch_of_the_snapshot_is_no_first_batch(jobs: JobsHarness) -> None:
    jobs.make()
    jobs.sql("CREATE SNAPSHOT s FOR JOB j")
    jobs.runtime.quiet = True
    creating, job = jobs.begin(
        "CREATE JOB k OPTIONS ('initialSnapshotName'='s') AS INSERT INTO out SELECT * FROM STREAM src"
    )
    jobs.runtime.idle(job.id)
    message = str(creating.result(20).rows[0][3])
    assert "It starts from the snapshot s, batch 0. No rows are available yet." in message


def test_a_snapshot_of_another_query_is_refused_with_the_reason(jobs: JobsHarness) -> None:
    jobs.make()
    jobs.sql("CREATE SNAPSHOT s FOR JOB j")
    jobs.runtime.analysis = analysis(operators=(Operator("Aggregate", "a: int"),), stateful=True)
    with raises(StatementError) as caught:
        jobs.run(create("k", {"initialSnapshotName": "s"}))
    assert caught.value.condition == "JETSQL.STATE_NOT_COMPATIBLE" and caught.value.place is not None
    assert "would lack the rows" in caught.value.message


def test_missing_snapshot(jobs: JobsHarness) -> None:
    jobs.make()
    jobs.sql("CREATE SNAPSHOT friday FOR JOB j")
    with raises(StatementError, match="There is no snapshot 'fridya'") as caught:
        jobs.run(create("k", {"initialSnapshotName": "fridya"}))
    assert caught.value.hint == "Did you mean friday?" and caught.value.place is not None
    assert jobs.error_of("DROP SNAPSHOT fridya").condition == "JETSQL.SNAPSHOT_NOT_FOUND"
    nothing = (None, "fridya", None, "There is no snapshot named fridya; nothing to drop.")
    assert jobs.sql("DROP SNAPSHOT IF EXISTS fridya").rows == (nothing,)


def test_snapshot_stays_until_a_new_job_has_copied_it(jobs: JobsHarness) -> None:
    jobs.make()
    jobs.sql("CREATE SNAPSHOT s FOR JOB j")
    with jobs.runtime.gate("start"):
        making = jobs.in_background(
            "CREATE JOB k OPTIONS ('initialSnapshotName'='s') AS INSERT INTO out SELECT * FROM STREAM src"
        )
        jobs.runtime.wait_entered("start")
        assert "is starting from" in jobs.error_of("DROP SNAPSHOT s").message
        assert "is starting from" in jobs.error_of("CREATE OR REPLACE SNAPSHOT s FOR JOB j").message
    making.result(20)
    assert jobs.reply("DROP SNAPSHOT s")[1] == "Dropped."


def test_replaced_snapshot_stays_for_a_job_copying_it(tmp_path: Path) -> None:
    engine = InMemoryRuntime()
    with run_manager(tmp_path, engine) as jobs:
        jobs.make()
        jobs.sql("CREATE SNAPSHOT s FOR JOB j")
        [replaced] = engine.snapshots
        with engine.gate("copy_state"):
            replacing = jobs.in_background("CREATE OR REPLACE SNAPSHOT s FOR JOB j")
            engine.wait_entered("copy_state")
            with engine.gate("start"):
                making = in_thread(lambda: jobs.run(create("k", {"initialSnapshotName": "s"})))
                engine.wait_entered("start")
                engine.gates["copy_state"].set()
                replacing.result(20)
                assert replaced in engine.snapshots
            making.result(20)
    with run_manager(tmp_path, engine) as jobs:
        assert replaced not in engine.snapshots and len(engine.snapshots) == 1


def test_unnamed_copy_is_deleted(jobs: JobsHarness) -> None:
    jobs.make()
    jobs.make("k")
    jobs.sql("CREATE SNAPSHOT t FOR JOB k")
    [other] = jobs.store.snapshots()
    with jobs.runtime.gate("copy_state"):
        writing = jobs.in_background("CREATE SNAPSHOT s FOR JOB j")
        jobs.runtime.wait_entered("copy_state")
        jobs.store.add_snapshot(replace(other, id="another", name="s"))
    with raises(StatementError) as caught:
        writing.result(20)
    assert caught.value.condition == "JETSQL.SNAPSHOT_ALREADY_EXISTS"
    assert set(jobs.runtime.snapshots) == {other.id}


def test_one_of_two_simultaneous_statements_writes_the_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    class Meeting(dict[str, PendingSnapshot]):
        """Wait for the other statement after the check of a name, so that both find the name free."""

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
def test_snapshot_is_needed_until_a_new_job_has_copied_it(changes: dict[str, object], is_needed: bool) -> None:
    starting = changed(job(Status.NOT_RUNNING, first_trigger_done=False), **{"source_snapshot_id": "s", **changes})
    assert find_starting_job("s", [JobView(starting)]) == (starting if is_needed else None)


def test_incomplete_snapshots_are_deleted_at_start(tmp_path: Path) -> None:
    engine = InMemoryRuntime()
    with run_manager(tmp_path, engine) as jobs:
        jobs.make()
        jobs.sql("CREATE SNAPSHOT s FOR JOB j")
    engine.snapshots["half"] = 3
    with run_manager(tmp_path, engine) as jobs:
        assert len(engine.snapshots) == 1 and names(jobs) == ["s"]


def test_snapshot_completed_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the snapshot of the next leader when an engine that no longer leads is slow to start."""
    engine = InMemoryRuntime()
    with run_manager(tmp_path, engine) as jobs:
        jobs.make()
        jobs.sql("CREATE SNAPSHOT s FOR JOB j")
        [snapshot] = jobs.store.snapshots()
        jobs.sql("DROP SNAPSHOT s")
    engine.snapshots.clear()
    with closing(Store(tmp_path / "jetsql.db")) as store:
        later = replace(snapshot, id="9999-0000-0000-0001")

        def list_folders() -> tuple[str, ...]:
            engine.snapshots[later.id] = 3
            store.add_snapshot(later)
            return tuple(engine.snapshots)

        monkeypatch.setattr(engine, "snapshot_folders", list_folders)
        with run_manager(tmp_path, engine, store=store) as jobs:
            assert list(engine.snapshots) == [later.id] and names(jobs) == ["s"]


def test_snapshots_outlive_their_job(jobs: JobsHarness) -> None:
    jobs.make()
    jobs.sql("CREATE SNAPSHOT s FOR JOB j")
    jobs.sql("DROP JOB j")
    assert names(jobs) == ["s"] and jobs.sql("SHOW SNAPSHOTS FOR JOB j").rows
    assert "batch 0" in str(jobs.row(create("j", {"initialSnapshotName": "s"}))["message"])


def test_engine_error_keeps_its_message_and_hint(jobs: JobsHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a snapshot of a job that runs, and of one that does not."""
    jobs.make()
    cause = Cause("The disk is full.", "DISK", hint="Make room.")
    monkeypatch.setattr(jobs.runtime, "cause_of", lambda error: cause)
    for status in ("RUNNING", "SUSPENDED"):
        jobs.runtime.copy_errors = [OSError("28")]
        error = jobs.error_of("CREATE SNAPSHOT s FOR JOB j")
        assert (error.condition, error.message) == (
            "JETSQL.SNAPSHOT_FAILED",
            f"The snapshot s was not created; job j is {status}. The disk is full. Make room.",
        )
        assert error.place is not None
        jobs.sql("SUSPEND JOB j")


@pytest.mark.parametrize("text", ["DROP JOB j", "DROP JOB j WITH SNAPSHOT s"])
def test_undeleted_files_are_reported(jobs: JobsHarness, text: str) -> None:
    job_id = jobs.make()
    jobs.runtime.discard_errors = [OSError("no rights")]
    status, message = jobs.reply(text)
    assert status == "DROPPED" and "Its files could not be deleted; SHOW JOB HISTORY shows why." in str(message)
    assert jobs.job(job_id).has_files and "no rights" in str(jobs.sql(f"SHOW JOB HISTORY '{job_id}'").rows)


@pytest.mark.parametrize("text", ["DROP JOB j", "DROP JOB j WITH SNAPSHOT s"])
def test_files_still_being_deleted_are_reported(jobs: JobsHarness, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    jobs.make()
    monkeypatch.setattr(jobs.manager.workers, "wait_for_job", lambda *_: False)
    assert "Its files are still being deleted." in str(jobs.reply(text)[1])


def test_job_from_a_snapshot_inherits_its_session_defaults(jobs: JobsHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs.make()
    jobs.sql("CREATE SNAPSHOT s FOR JOB j")
    monkeypatch.setattr(jobs.runtime, "session_defaults", lambda: {"spark.sql.shuffle.partitions": "9"})
    assert jobs.job(jobs.make("k", {"initialSnapshotName": "s"})).version.session_defaults == {
        "spark.sql.shuffle.partitions": "2"
    }
    assert jobs.job(jobs.make("l")).version.session_defaults == {"spark.sql.shuffle.partitions": "9"}
