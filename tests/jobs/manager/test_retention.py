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
from jetsql.language.statement import TableKind
from tests.conftest import until
from tests.support.engines.in_memory_runtime import InMemoryRuntime, analysis
from tests.support.engines.jobs_harness import QUICK, JobsHarness, body, run_manager

PLAN = make_plan(analysis(), parse_options(()), body().verb, None)
CREATE = "CREATE JOB {} AS INSERT INTO out SELECT * FROM STREAM src"
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
def test_jobs_beyond_the_retention_settings(ends: list[float], most: int, since: float, settled: float) -> None:
    jobs = [ended(number, at) for number, at in enumerate(ends)]
    going = expired_jobs(jobs, most, since, settled)
    staying = [job for job in jobs if job not in going]
    assert all(job.end_time is not None and job.end_time <= settled for job in going)
    assert all((job.end_time or 0.0) > min(since, settled) for job in staying)
    assert len([job for job in staying if (job.end_time or 0.0) <= settled]) <= most
    for gone in (job for job in going if (job.end_time or 0.0) > since):
        assert len([job for job in jobs if (job.end_time or 0.0) >= (gone.end_time or 0.0)]) > most


def test_job_without_end_time_counts_from_its_creation() -> None:
    assert expired_jobs([ended(1, None)], 9, since=1.0, settled=2.0) == [ended(1, None)]


def test_newest_job_of_a_materialized_view_is_kept() -> None:
    plan = make_plan(analysis(streaming=False), parse_options(()), body().verb, None)
    view = Version("CREATE MATERIALIZED VIEW", body(), plan, table_kind=TableKind.MATERIALIZED_VIEW)
    older, newer = (replace(ended(number, 1.0), name="v", version=view) for number in (1, 2))
    assert expired_jobs([newer, older], 0, since=2.0, settled=2.0) == [older]


def test_expired_and_surplus_jobs_are_deleted_at_start(tmp_path: Path) -> None:
    now = time.time()
    old = [ended(number, now - 8 * DAY) for number in (1, 2)]
    young = [ended(number, now - 1000 + number) for number in (6, 5, 4, 3)]
    with closing(Store(tmp_path / "jetsql.db")) as store:
        keep(store, *old, *young)
    with run_manager(tmp_path, settings=replace(QUICK, ended_jobs_most=3)) as jobs:
        assert names(jobs.store) == ["job 4", "job 5", "job 6"]
        assert jobs.store.history(old[0].id) == () and len(jobs.store.history(young[0].id)) == 1
        assert jobs.error_of("DESCRIBE JOB `job 3`").condition == "JETSQL.JOB_NOT_FOUND"


def test_thousands_of_jobs_are_deleted_together(tmp_path: Path) -> None:
    with closing(Store(tmp_path / "jetsql.db")) as store:
        store.forget([f"{number:04}-0000-0000-0001" for number in range(3000)])
        keep(store, ended(1, 1.0))
        store.forget([f"{number:04}-0000-0000-0001" for number in range(3000)])
        assert names(store) == []


def test_job_with_waiting_statement_stays_until_the_next_pass(tmp_path: Path) -> None:
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


def test_live_jobs_never_expire(tmp_path: Path) -> None:
    clock = Clock()
    with run_manager(tmp_path, clock=clock, settings=NONE) as jobs:
        jobs.sql(CREATE.format("running"))
        jobs.sql(CREATE.format("suspended"))
        jobs.sql("SUSPEND JOB suspended")
    clock.ahead += 99 * DAY
    with run_manager(tmp_path, clock=clock, settings=NONE) as jobs:
        assert names(jobs.store) == ["running", "suspended"]


def pass_time(jobs: JobsHarness, clock: Clock, seconds: float) -> None:
    """Advance the clock and wait until everything due is done."""
    clock.ahead += seconds
    live = next(view.job for view in jobs.manager.registry.live() if view.job.name == "stays")
    for _ in range(2):  # timers come after the statement that finds them due
        with pytest.raises(StatementError):  # how often is a matter of time, so golden files do not have it
            jobs.manager.submit(replace(live, id="0"))


def forgotten(jobs: JobsHarness, clock: Clock, name: str) -> None:
    """Time passes until the job is forgotten."""
    until = time.monotonic() + 20
    while jobs.store.newest_named(name) is not None:
        assert time.monotonic() < until
        pass_time(jobs, clock, 61)


def test_recently_ended_job_is_kept_for_a_while(tmp_path: Path) -> None:
    clock = Clock()
    with run_manager(tmp_path, clock=clock, settings=NONE) as jobs:
        jobs.sql(CREATE.format("stays"))
        jobs.sql(CREATE.format("goes"))
        jobs.sql("DROP JOB goes")
        pass_time(jobs, clock, 30)
        assert jobs.describe("DESCRIBE JOB goes")["status"] == "DROPPED"
        forgotten(jobs, clock, "goes")
        assert names(jobs.store) == ["stays"]


def test_ended_job_is_kept_while_statements_wait_for_it(tmp_path: Path) -> None:
    clock = Clock()
    with run_manager(tmp_path, clock=clock, settings=NONE) as jobs:
        jobs.sql(CREATE.format("stays"))
        goes = jobs.make("goes")
        with jobs.runtime.gate("discard"):
            dropped = jobs.in_background("DROP JOB goes")
            jobs.runtime.wait_entered("discard")
            pass_time(jobs, clock, 61)
            pass_time(jobs, clock, 61)
            assert jobs.store.job(goes) is not None
        assert dropped.result(20).rows[0][2] == "DROPPED"
        forgotten(jobs, clock, "goes")


def test_files_are_deleted_before_the_job(tmp_path: Path) -> None:
    clock = Clock()
    with run_manager(tmp_path, clock=clock, settings=NONE) as jobs:
        jobs.sql(CREATE.format("stays"))
        loaded = jobs.make("loaded", {"trigger": "availableNow"})
        jobs.runtime.complete(loaded)
        jobs.wait_status(loaded, Status.COMPLETED)
        with jobs.runtime.gate("discard"):
            pass_time(jobs, clock, 61)
            jobs.runtime.wait_entered("discard")
            job = jobs.store.job(loaded)
            assert job is not None and job.has_files and job.expired
            assert "has ended" in jobs.error_of("RESUME JOB loaded").message
            assert [row[1] for row in jobs.sql("SHOW JOB HISTORY loaded").rows].count("expired") == 1
        forgotten(jobs, clock, "loaded")


def test_restartable_jobs_expire_like_others(tmp_path: Path) -> None:
    clock = Clock()
    with run_manager(tmp_path, clock=clock) as jobs:
        jobs.sql(CREATE.format("stays"))
        loaded = jobs.make("loaded", {"trigger": "availableNow"})
        jobs.runtime.complete(loaded)
        jobs.wait_status(loaded, Status.COMPLETED)
        pass_time(jobs, clock, 6.9 * DAY)
        assert jobs.reply("RESUME JOB loaded")[0] == "RUNNING"
        jobs.runtime.complete(loaded)
        jobs.wait_status(loaded, Status.COMPLETED)
        pass_time(jobs, clock, 6.9 * DAY)
        assert jobs.reply("RESUME JOB loaded")[0] == "RUNNING"


def test_job_is_kept_until_its_files_are_deleted(tmp_path: Path) -> None:
    clock = Clock()
    engine = InMemoryRuntime(discard_errors=[OSError("the disk is gone")])
    with run_manager(tmp_path, engine, clock=clock, settings=NONE) as jobs:
        jobs.sql(CREATE.format("stays"))
        jobs.sql("DROP JOB IF EXISTS goes")
        goes = jobs.make("goes")
        jobs.sql("DROP JOB goes")
        for _ in range(3):
            pass_time(jobs, clock, DAY)
        assert jobs.store.job(goes) is not None
    with run_manager(tmp_path, clock=clock, settings=NONE) as jobs:
        forgotten(jobs, clock, "goes")


def test_late_staged_rows_are_deleted_at_start(tmp_path: Path) -> None:
    with run_manager(tmp_path) as jobs:
        jobs.make("live")
        again = jobs.make("again", {"trigger": "availableNow"})
        jobs.runtime.complete(again)
        jobs.wait_status(again, Status.COMPLETED)
        dropped = jobs.make("dropped")
        jobs.sql("DROP JOB dropped")
    with run_manager(tmp_path) as jobs:
        until(lambda: jobs.runtime.swept is not None)
        assert jobs.runtime.swept == [dropped]


def test_crash_between_deleting_files_and_job_is_repaired_at_start(tmp_path: Path) -> None:
    engine = InMemoryRuntime(discard_errors=[OSError("killed in the middle")])
    with run_manager(tmp_path, engine) as jobs:
        loaded = jobs.make("loaded", {"trigger": "availableNow"})
        engine.complete(loaded)
        jobs.wait_status(loaded, Status.COMPLETED)
        jobs.sql("DROP JOB loaded")
        assert "has ended" in jobs.error_of("RESUME JOB loaded").message
    with run_manager(tmp_path) as jobs:
        assert "has ended" in jobs.error_of("RESUME JOB loaded").message
        assert jobs.manager.workers.wait_all(20)
        assert jobs.runtime.calls == ["discard 1"]


def test_retention_runs_daily(tmp_path: Path) -> None:
    clock = Clock()
    with run_manager(tmp_path, clock=clock) as jobs:
        jobs.sql(CREATE.format("stays"))
        jobs.sql(CREATE.format("goes"))
        jobs.sql("DROP JOB goes")
        for _ in range(7):
            pass_time(jobs, clock, DAY - 60)
            assert jobs.store.newest_named("goes") is not None
        pass_time(jobs, clock, DAY)
        assert jobs.store.newest_named("goes") is None


def test_ids_are_unique_when_the_clock_goes_back(tmp_path: Path) -> None:
    clock = Clock(ahead=30 * DAY)
    with run_manager(tmp_path, clock=clock, settings=NONE) as jobs:
        goes = jobs.make("goes")
        jobs.sql("DROP JOB goes")
    with closing(Store(tmp_path / "jetsql.db")) as store:
        store.forget([goes])
        assert store.newest_id() == goes
        store.forget(["0000-0000-0000-0001"])
        assert store.newest_id() == goes
    with run_manager(tmp_path) as jobs:
        assert jobs.make("next") > goes


def test_snapshots_outlive_their_jobs(tmp_path: Path) -> None:
    job = ended(1, 1.0)
    snapshot = Snapshot("0002-0000-0000-0001", "kept", job.id, job.name, job.version.statement, PLAN, 3, 10, 1.0)
    with closing(Store(tmp_path / "jetsql.db")) as store:
        keep(store, job)
        store.add_snapshot(snapshot)
    with run_manager(tmp_path) as jobs:
        assert names(jobs.store) == [] and jobs.store.snapshots() == (snapshot,)


@pytest.mark.parametrize("trouble", ["forget", "ended_jobs"])
def test_store_errors_do_not_stop_the_engine(
    tmp_path: Path, trouble: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> object:
        raise EngineError("STORE_DAMAGED", "The store is damaged.")

    monkeypatch.setattr(Store, trouble, fail)
    with run_manager(tmp_path, settings=NONE) as jobs:
        assert jobs.reply(CREATE.format("j"))[0] == "RUNNING"
    assert "could not be deleted" in caplog.text
