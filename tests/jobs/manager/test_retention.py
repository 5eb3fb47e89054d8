"""The retention of ended jobs: they are deleted in time, files first, and files in use are kept."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetsql.errors import EngineError, StatementError
from jetsql.jobs.manager.retention import DAY, Retention, expired_jobs
from jetsql.jobs.model.history_row import HistoryRow
from jetsql.jobs.model.job import Job, Snapshot, Status, Version
from jetsql.jobs.planning.options import parse_options
from jetsql.jobs.planning.planner import make_plan
from jetsql.jobs.store.job_store import Store
from tests.conftest import until
from tests.support.engines.in_memory_engine import InMemoryEngine, analysis
from tests.support.engines.jobs_world import QUICK, World, body, world

PLAN = make_plan(analysis(), parse_options(()), body().verb, None)
MAKE = "CREATE JOB {} AS INSERT INTO out SELECT * FROM STREAM src"
NONE = replace(QUICK, ended_jobs_most=0)


@dataclass
class Clock:
    """Goes by itself, as the manager's writer needs it, and is set forward by tests."""

    ahead: float = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


def ended(number: int, at: float | None) -> Job:
    job_id = f"{number:04}-0000-0000-0001"
    return Job(job_id, f"job {number}", Version("CREATE JOB", body(), PLAN), 0.0, status=Status.COMPLETED, end_time=at)


def names(store: Store) -> list[str]:
    return [job.name for job in store.all_jobs()]


def keep(store: Store, *jobs: Job) -> None:
    for job in jobs:
        store.add(job, HistoryRow(job.id, 0.0, "completed", None, job.status, 1, "words"))


@given(st.lists(st.floats(0, 100)), st.integers(0, 10), st.floats(0, 100), st.floats(0, 100))
def test_what_is_beyond_the_settings(ends: list[float], most: int, since: float, settled: float) -> None:
    jobs = [ended(number, at) for number, at in enumerate(ends)]
    going = expired_jobs(jobs, most, since, settled)
    staying = [job for job in jobs if job not in going]
    assert all(job.end_time is not None and job.end_time <= settled for job in going)
    assert all((job.end_time or 0.0) > min(since, settled) for job in staying)
    assert len([job for job in staying if (job.end_time or 0.0) <= settled]) <= most
    for gone in (job for job in going if (job.end_time or 0.0) > since):
        assert len([job for job in jobs if (job.end_time or 0.0) >= (gone.end_time or 0.0)]) > most


def test_a_job_that_does_not_say_when_it_ended_ended_when_it_was_made() -> None:
    assert expired_jobs([ended(1, None)], 9, since=1.0, settled=2.0) == [ended(1, None)]


def test_old_ones_and_too_many_are_forgotten_with_their_history_when_the_engine_starts(tmp_path: Path) -> None:
    now = time.time()
    old = [ended(number, now - 8 * DAY) for number in (1, 2)]
    young = [ended(number, now - 1000 + number) for number in (6, 5, 4, 3)]
    with closing(Store(tmp_path / "jetsql.db")) as store:
        keep(store, *old, *young)
    with world(tmp_path, settings=replace(QUICK, ended_jobs_most=3)) as w:
        assert names(w.store) == ["job 4", "job 5", "job 6"]
        assert w.store.history(old[0].id) == () and len(w.store.history(young[0].id)) == 1
        assert w.refused("DESCRIBE JOB `job 3`").condition == "JETSQL.JOB_NOT_FOUND"


def test_thousands_go_at_once(tmp_path: Path) -> None:
    with closing(Store(tmp_path / "jetsql.db")) as store:
        store.forget([f"{number:04}-0000-0000-0001" for number in range(3000)])
        keep(store, ended(1, 1.0))
        store.forget([f"{number:04}-0000-0000-0001" for number in range(3000)])
        assert names(store) == []


def test_a_job_that_a_statement_waits_for_stays_until_the_next_time(tmp_path: Path) -> None:
    """Though it has no files left, for which alone it would stay, too."""
    used, later, forgotten = {ended(1, 1.0).id}, list[float](), list[str]()
    with closing(Store(tmp_path / "jetsql.db")) as store:
        keep(store, ended(1, 1.0), ended(2, 1.0))
        retention = Retention(
            store,
            NONE,
            lambda: DAY,
            lambda at, work: later.append(at),
            lambda job_id: job_id in used,
            lambda job_id, event: None,
            forgotten.extend,
        )
        retention.run()
        assert (names(store), forgotten, len(later)) == (["job 1"], [ended(2, 1.0).id], 1)
        used.clear()
        retention.run()
        assert names(store) == []


def test_live_jobs_stay_however_old_they_are(tmp_path: Path) -> None:
    clock = Clock()
    with world(tmp_path, clock=clock, settings=NONE) as w:
        w.sql(MAKE.format("running"))
        w.sql(MAKE.format("suspended"))
        w.sql("SUSPEND JOB suspended")
    clock.ahead += 99 * DAY
    with world(tmp_path, clock=clock, settings=NONE) as w:
        assert names(w.store) == ["running", "suspended"]


def pass_time(w: World, clock: Clock, seconds: float) -> None:
    """Advance the clock and wait until everything due is done."""
    clock.ahead += seconds
    live = next(view.job for view in w.manager.registry.live() if view.job.name == "stays")
    for _ in range(2):  # timers come after the statement that finds them due
        with pytest.raises(StatementError):  # how often is a matter of time, so golden files do not have it
            w.manager.submit(replace(live, id="0"))


def forgotten(w: World, clock: Clock, name: str) -> None:
    """Time passes until the job is forgotten."""
    until = time.monotonic() + 20
    while w.store.newest_named(name) is not None:
        assert time.monotonic() < until
        pass_time(w, clock, 61)


def test_a_job_that_has_just_ended_is_there_for_a_while(tmp_path: Path) -> None:
    clock = Clock()
    with world(tmp_path, clock=clock, settings=NONE) as w:
        w.sql(MAKE.format("stays"))
        w.sql(MAKE.format("goes"))
        w.sql("DROP JOB goes")
        pass_time(w, clock, 30)
        assert dict(w.sql("DESCRIBE JOB goes").rows)["status"] == "FAILED"
        forgotten(w, clock, "goes")
        assert names(w.store) == ["stays"]


def test_one_that_a_statement_waits_for_is_left_until_nobody_does(tmp_path: Path) -> None:
    clock = Clock()
    with world(tmp_path, clock=clock, settings=NONE) as w:
        w.sql(MAKE.format("stays"))
        goes = w.make("goes")
        with w.engine.gate("discard"):
            dropped = w.in_background("DROP JOB goes")
            w.engine.wait_entered("discard")
            pass_time(w, clock, 61)
            pass_time(w, clock, 61)
            assert w.store.job(goes) is not None
        assert dropped.result(20).rows[0][2] == "FAILED"
        forgotten(w, clock, "goes")


def test_files_go_before_the_job_does(tmp_path: Path) -> None:
    clock = Clock()
    with world(tmp_path, clock=clock, settings=NONE) as w:
        w.sql(MAKE.format("stays"))
        loaded = w.make("loaded", {"trigger": "availableNow"})
        w.engine.complete(loaded)
        w.wait_status(loaded, Status.COMPLETED)
        with w.engine.gate("discard"):
            pass_time(w, clock, 61)
            w.engine.wait_entered("discard")
            job = w.store.job(loaded)
            assert job is not None and job.has_files and job.expired
            assert "has ended" in w.refused("RESUME JOB loaded").message
            assert [row[1] for row in w.sql("SHOW JOB HISTORY loaded").rows].count("expired") == 1
        forgotten(w, clock, "loaded")


def test_a_job_that_can_run_again_is_kept_as_long_as_others(tmp_path: Path) -> None:
    clock = Clock()
    with world(tmp_path, clock=clock) as w:
        w.sql(MAKE.format("stays"))
        loaded = w.make("loaded", {"trigger": "availableNow"})
        w.engine.complete(loaded)
        w.wait_status(loaded, Status.COMPLETED)
        pass_time(w, clock, 6.9 * DAY)
        assert w.said("RESUME JOB loaded")[0] == "RUNNING"
        w.engine.complete(loaded)
        w.wait_status(loaded, Status.COMPLETED)
        pass_time(w, clock, 6.9 * DAY)
        assert w.said("RESUME JOB loaded")[0] == "RUNNING"


def test_files_that_cannot_be_deleted_keep_the_job_until_they_can(tmp_path: Path) -> None:
    clock = Clock()
    engine = InMemoryEngine(discard_errors=[OSError("the disk is gone")])
    with world(tmp_path, engine, clock=clock, settings=NONE) as w:
        w.sql(MAKE.format("stays"))
        w.sql("DROP JOB IF EXISTS goes")
        goes = w.make("goes")
        w.sql("DROP JOB goes")
        for _ in range(3):
            pass_time(w, clock, DAY)
        assert w.store.job(goes) is not None
    with world(tmp_path, clock=clock, settings=NONE) as w:
        forgotten(w, clock, "goes")


def test_an_engine_deletes_at_its_start_what_ended_jobs_have_staged_late(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        w.make("live")
        again = w.make("again", {"trigger": "availableNow"})
        w.engine.complete(again)
        w.wait_status(again, Status.COMPLETED)
        dropped = w.make("dropped")
        w.sql("DROP JOB dropped")
    with world(tmp_path) as w:
        until(lambda: w.engine.swept is not None)
        assert w.engine.swept == [dropped]


def test_a_death_between_files_and_job_is_made_good_at_the_next_start(tmp_path: Path) -> None:
    engine = InMemoryEngine(discard_errors=[OSError("killed in the middle")])
    with world(tmp_path, engine) as w:
        loaded = w.make("loaded", {"trigger": "availableNow"})
        engine.complete(loaded)
        w.wait_status(loaded, Status.COMPLETED)
        w.sql("DROP JOB loaded")
        assert "has ended" in w.refused("RESUME JOB loaded").message
    with world(tmp_path) as w:
        assert "has ended" in w.refused("RESUME JOB loaded").message
        assert w.manager.workers.wait_all(20)
        assert w.engine.calls == ["discard 1"]


def test_once_a_day_in_an_engine_that_goes_on(tmp_path: Path) -> None:
    clock = Clock()
    with world(tmp_path, clock=clock) as w:
        w.sql(MAKE.format("stays"))
        w.sql(MAKE.format("goes"))
        w.sql("DROP JOB goes")
        for _ in range(7):
            pass_time(w, clock, DAY - 60)
            assert w.store.newest_named("goes") is not None
        pass_time(w, clock, DAY)
        assert w.store.newest_named("goes") is None


def test_an_id_is_never_given_twice_though_the_clock_goes_back(tmp_path: Path) -> None:
    clock = Clock(ahead=30 * DAY)
    with world(tmp_path, clock=clock, settings=NONE) as w:
        goes = w.make("goes")
        w.sql("DROP JOB goes")
    with closing(Store(tmp_path / "jetsql.db")) as store:
        store.forget([goes])
        assert store.newest_id() == goes
        store.forget(["0000-0000-0000-0001"])
        assert store.newest_id() == goes
    with world(tmp_path) as w:
        assert w.make("next") > goes


def test_snapshots_outlive_their_jobs(tmp_path: Path) -> None:
    job = ended(1, 1.0)
    snapshot = Snapshot("0002-0000-0000-0001", "kept", job.id, job.name, job.version.statement, PLAN, 3, 10, 1.0)
    with closing(Store(tmp_path / "jetsql.db")) as store:
        keep(store, job)
        store.add_snapshot(snapshot)
    with world(tmp_path) as w:
        assert names(w.store) == [] and w.store.snapshots() == (snapshot,)


@pytest.mark.parametrize("trouble", ["forget", "ended_jobs"])
def test_a_store_in_trouble_does_not_stop_the_engine(
    tmp_path: Path, trouble: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> object:
        raise EngineError("STORE_DAMAGED", "The store is damaged.")

    monkeypatch.setattr(Store, trouble, fail)
    with world(tmp_path, settings=NONE) as w:
        assert w.said(MAKE.format("j"))[0] == "RUNNING"
    assert "could not be deleted" in caplog.text
