"""The metrics file: only detail is lost with time, its size is limited, and it may be deleted."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetsql.jobs.lifecycle.runtime import BatchCommitted
from jetsql.jobs.model.job import Cause, Status
from jetsql.jobs.statements.job_metrics import job_metrics
from jetsql.jobs.store.metrics import LEVELS, BatchMetrics, Changes, Level, Metrics, Series, Totals
from jetsql.jobs.store.metrics_file import MetricsFile
from jetsql.jobs.store.metrics_store import VERSION
from tests.support.engines.jobs_harness import JobsHarness, run_manager
from tests.support.golden_reports import compare

JOB = "0001-0000-0000-0001"
SMALL = (Level(0, 3), Level(10, 2), Level(60, 2))
ENDLESS = (Level(0, 3), Level(10, 2), Level(60, 10**9))


def measure(batch: int, time: float, rows: int | None = 10, **more: object) -> BatchMetrics:
    return replace(BatchMetrics(1, batch, time, input_rows=rows, trigger_ms=100), **more)  # type: ignore[arg-type]


@st.composite
def measures(draw: st.DrawFn) -> list[BatchMetrics]:
    steps = draw(st.lists(st.tuples(st.floats(0, 100), st.none() | st.integers(0, 1000)), max_size=60))
    time, result = 1000.0, []
    for batch, (seconds, rows) in enumerate(steps):
        time += seconds
        result.append(measure(batch, time, rows, late_rows=batch % 3, state_rows=batch, lag={"src": batch}))
    return result


def filled(levels: tuple[Level, ...], added: list[BatchMetrics]) -> Series:
    series = Series(levels)
    for each in added:
        series.add(each)
    return series


@given(measures())
def test_sums_are_preserved(added: list[BatchMetrics]) -> None:
    kept = filled(ENDLESS, added).rows()
    for name in ("batches", "input_rows", "late_rows", "trigger_ms"):
        assert sum(getattr(row, name) or 0 for row in kept) == sum(getattr(row, name) or 0 for row in added)


@given(measures())
def test_number_of_measures_is_limited(added: list[BatchMetrics]) -> None:
    kept = filled(SMALL, added).rows()
    for level in SMALL:
        assert sum(row.span == level.span for row in kept) <= level.limit


@given(measures())
def test_the_newest_are_in_full_and_all_are_in_order(added: list[BatchMetrics]) -> None:
    kept = filled(SMALL, added).rows()
    assert [row for row in kept if row.span == 0] == added[-SMALL[0].limit :]
    assert [row.batch for row in kept] == sorted({row.batch for row in kept})
    assert sorted(row.span for row in kept) == [row.span for row in reversed(kept)]
    for older, newer in pairwise(kept):
        assert older.time <= newer.time
        if newer.span == older.span:  # a span may begin within a longer one, which holds the batches before its own
            assert older.time + older.span <= newer.time


@given(measures())
def test_current_values_are_those_of_the_newest_batch(added: list[BatchMetrics]) -> None:
    for row in filled(ENDLESS, added).rows():
        assert (row.state_rows, row.lag) == (row.batch, {"src": row.batch})


def test_batches_of_a_span_are_merged_into_one_row() -> None:
    series = filled((Level(0, 1), Level(10, 5)), [measure(0, 21.0), measure(1, 25.0, 30), measure(2, 31.0)])
    [span, last] = series.rows()
    assert (span.time, span.span, span.batches, span.batch) == (20.0, 10, 2, 1)
    assert (span.input_rows, span.input_rows_per_second, span.processed_rows_per_second) == (40, 4.0, 200.0)
    assert last == measure(2, 31.0)


def test_clock_set_back_adds_no_measures() -> None:
    added = [measure(batch, 1000.0 - 7 * batch) for batch in range(100)]
    assert len(filled(SMALL, added).rows()) <= sum(level.limit for level in SMALL)


class Held:
    """The content of a metrics file after its changes."""

    def __init__(self) -> None:
        self.rows: dict[tuple[int, int], BatchMetrics] = {}

    def apply(self, changes: Changes | None) -> None:
        for level, oldest in enumerate(changes.oldest if changes else ()):
            for key in [key for key in self.rows if key[0] == level and key[1] < oldest]:
                del self.rows[key]
            for number, row in changes.written[level] if changes else ():
                self.rows[level, number] = row

    def series(self) -> Series:
        series = Series(SMALL)
        for (level, number), row in sorted(self.rows.items()):
            series.restore(level, number, row)
        return series


@given(measures(), st.sets(st.integers(0, 59)), st.integers(0, 59))
def test_a_file_holds_what_memory_holds(added: list[BatchMetrics], written: set[int], again: int) -> None:
    series, held = Series(SMALL), Held()
    for number, each in enumerate(added):
        series.add(each)
        if number in written:
            held.apply(series.take_changes(JOB))
            assert held.series().rows() == series.rows()
        if number == again:
            held.apply(series.take_changes(JOB))
            series = held.series()
            assert series.take_changes(JOB) is None
    assert series.rows() == filled(SMALL, added).rows()


def test_totals_include_discarded_measures() -> None:
    metrics = Metrics()
    metrics.add(JOB, measure(0, 1.0, 5, output_rows=4, late_rows=1))
    metrics.add(JOB, measure(1, 2.0, None), keep=False)
    assert metrics.totals(JOB) == Totals(2, 5, 4, 1, 0.2)
    assert metrics.latest(JOB) == metrics.rows(JOB)[-1] == measure(0, 1.0, 5, output_rows=4, late_rows=1)
    assert (metrics.totals("other"), metrics.latest("other"), metrics.rows("other")) == (Totals(), None, ())


# --- the file --------------------------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metrics.db"


def opened(path: Path, *jobs: str) -> tuple[Metrics, MetricsFile]:
    metrics = Metrics()
    file = MetricsFile(path, metrics)
    file.start(jobs or (JOB,))
    return metrics, file


def count(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT count(*) FROM measures").fetchone()[0])


FULL = measure(
    0,
    1700000000.123456,
    output_rows=3,
    late_rows=0,
    input_rows_per_second=1.5,
    watermark=1699999999.5,
    event_time_lag=0.25,
    state_bytes=2**40,
    lag={"a.b": 7},
)


def test_the_columns_of_the_file_stay_what_they_are(path: Path) -> None:
    _, file = opened(path)
    file.close()
    with closing(sqlite3.connect(path)) as connection:
        columns = connection.execute("PRAGMA table_info(measures)").fetchall()
    compare([f"{name} {kind}{' NOT NULL' if required else ''}" for _, name, kind, required, _, _ in columns])


def test_stored_metrics_are_loaded(path: Path) -> None:
    metrics, file = opened(path)
    for batch in range(LEVELS[0].limit * 3):
        metrics.add(JOB, replace(FULL, batch=batch, time=FULL.time + batch))
        if batch % 70 == 0:
            file.write()
    file.close()
    again, file = opened(path)
    assert again.rows(JOB) == metrics.rows(JOB)
    assert count(path) == len(metrics.rows(JOB))
    assert again.totals(JOB) == Totals()
    file.close()
    assert path.stat().st_mode & 0o077 == 0


def test_metrics_of_deleted_and_unknown_jobs_are_removed(path: Path) -> None:
    metrics, file = opened(path)
    for job in (JOB, "other", "third"):
        metrics.add(job, FULL)
    file.write()
    metrics.forget(["other"])
    file.close()
    assert count(path) == 2
    again, file = opened(path, "third")
    assert again.jobs() == ("third",)
    file.close()
    assert count(path) == 1


@pytest.mark.parametrize("harm", ["no database", "cut off", "another version", "no table"])
def test_damaged_file_is_moved_aside(path: Path, harm: str, caplog: pytest.LogCaptureFixture) -> None:
    metrics, file = opened(path)
    for batch in range(5000):
        metrics.add(JOB, replace(FULL, batch=batch, time=FULL.time + batch))
    file.close()
    match harm:
        case "no database":
            path.write_bytes(b"nothing" * 1000)
        case "cut off":
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        case "another version":
            execute(path, "PRAGMA user_version = 99")
        case "no table":
            execute(path, "ALTER TABLE measures DROP COLUMN lag")
    again, file = opened(path)
    assert again.rows(JOB) == ()
    again.add(JOB, FULL)
    file.close()
    assert f"Cannot use the metrics in {path}" in caplog.text and Path(f"{path}.damaged").exists()
    third, file = opened(path)
    assert third.rows(JOB) == (FULL,)
    file.close()


@pytest.mark.parametrize(("version", "missing"), [(1, ("lag_seconds", "sink_rows")), (2, ("sink_rows",))])
def test_an_older_file_gets_the_columns_of_later_versions(path: Path, version: int, missing: tuple[str, ...]) -> None:
    metrics, file = opened(path)
    metrics.add(JOB, FULL)
    file.close()
    for column in missing:
        execute(path, f"ALTER TABLE measures DROP COLUMN {column}")
    execute(path, f"PRAGMA user_version = {version}")
    again, file = opened(path)
    file.close()
    assert again.rows(JOB) == (FULL,)
    assert version_of(path) == VERSION == 3


def test_the_rows_of_each_sink_are_stored_and_added(path: Path) -> None:
    metrics, file = opened(path)
    metrics.add(JOB, replace(FULL, sink_rows={"a": 1, "b": 2}))
    file.close()
    again, file = opened(path)
    file.close()
    [row] = again.rows(JOB)
    assert row.sink_rows == {"a": 1, "b": 2}
    series = Series((Level(0, 1), Level(10, 5)))
    for number, rows in enumerate(({"a": 1, "b": 2}, {"a": 10}, {})):
        series.add(replace(FULL, batch=number, time=20.0 + number, sink_rows=rows))
    assert [dict(each.sink_rows) for each in series.rows()] == [{"a": 11, "b": 2}, {}]


@pytest.mark.parametrize("version", [-1, VERSION + 1])
def test_version_of_a_damaged_file_is_logged(path: Path, version: int, caplog: pytest.LogCaptureFixture) -> None:
    opened(path)[1].close()
    execute(path, f"PRAGMA user_version = {version}")
    _, file = opened(path)
    file.close()
    assert f"(it has version {version}, and this JetSQL writes version {VERSION})" in caplog.text


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def execute(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)


def test_file_damaged_during_writing_is_rewritten_from_memory(path: Path) -> None:
    metrics, file = opened(path)
    metrics.add(JOB, FULL)
    file.write()
    file._engine.dispose()  # type: ignore[union-attr]
    path.write_bytes(b"nothing" * 1000)
    metrics.add(JOB, replace(FULL, batch=1))
    file.write()
    metrics.add(JOB, replace(FULL, batch=2))
    file.close()
    again, file = opened(path)
    assert [row.batch for row in again.rows(JOB)] == [0, 1, 2]
    file.close()


def test_failed_writes_are_retried(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    metrics, file = opened(path)
    metrics.add(JOB, FULL)
    file.write()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        metrics.add(JOB, replace(FULL, batch=1))
        file.write()
    assert "locked" in caplog.text
    file.close()
    assert count(path) == 2


def test_failed_deletions_are_retried(path: Path) -> None:
    metrics, file = opened(path)
    metrics.add(JOB, FULL)
    file.write()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        metrics.forget([JOB])
        file.write()
    file.close()
    assert count(path) == 0


def test_unwritable_folder_loses_only_metrics(tmp_path: Path) -> None:
    metrics, file = opened(tmp_path / "missing" / "metrics.db")
    metrics.add(JOB, FULL)
    file.write()
    file.close()
    assert metrics.rows(JOB) == (FULL,)


# --- of jobs ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[JobsHarness]:
    with run_manager(tmp_path) as harness:
        yield harness


def test_a_job_is_measured_until_its_end(jobs: JobsHarness) -> None:
    job_id = jobs.make("orders")
    jobs.runtime.commit(job_id, rows=7)
    jobs.sql("SUSPEND JOB orders")
    metrics = jobs.manager.metrics
    assert [row.input_rows for row in metrics.rows(job_id)] == [10, 7]
    assert metrics.totals(job_id).input_rows == 17
    jobs.sql("DROP JOB orders")
    assert metrics.rows(job_id) == ()


def test_metrics_after_completion_by_option(jobs: JobsHarness) -> None:
    job_id = jobs.make("orders", {"storeMetricsAfterJobCompletion": "true"})
    jobs.sql("DROP JOB orders")
    assert len(jobs.manager.metrics.rows(job_id)) == 1


def test_a_failed_job_keeps_none(jobs: JobsHarness) -> None:
    job_id = jobs.make("orders", {"suspendOnFailure": "false", "restartAttempts": "0"})
    jobs.runtime.fail(job_id, Cause("gone", retryable=False))
    jobs.wait_status(job_id, Status.FAILED)
    assert jobs.manager.metrics.jobs() == ()


def test_a_job_without_metrics_is_only_counted(jobs: JobsHarness) -> None:
    job_id = jobs.make("orders", {"metricsEnabled": "false"})
    assert jobs.manager.metrics.rows(job_id) == ()
    assert jobs.manager.metrics.totals(job_id).input_rows == 10
    assert jobs.describe("DESCRIBE JOB EXTENDED orders")["rows read since the engine started"] == "10"


def test_readings_are_of_the_newest_job_of_each_name(tmp_path: Path) -> None:
    with run_manager(tmp_path, clock=lambda: 1000.0) as jobs:
        jobs.make("ended")
        jobs.sql("DROP JOB ended")
        job_id = jobs.make("orders")
        latest = measure(1, 900.0, 5, watermark=880.0)
        jobs.runtime.report(job_id, BatchCommitted(jobs.runtime.run_id(job_id), 1, 900.0, 5, 1.0, metrics=latest))
        jobs.sql("RESTART JOB orders")
        ended, reading = job_metrics(jobs.manager)
        assert (ended.name, ended.status) == ("ended", "DROPPED")
        assert (reading.id, reading.name, reading.status) == (job_id, "orders", Status.RUNNING)
        assert (reading.runs, reading.attempts, reading.totals.input_rows) == (2, 0, 25)
        assert jobs.manager.metrics.rows(job_id)[1] == latest
