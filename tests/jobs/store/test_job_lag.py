"""The one definition of a job's lag."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jetsql.jobs.model.job import CANCELLED, Job, Status
from jetsql.jobs.store.job_lag import current_lag, describe_lag, lag_of_batch, short_lag
from jetsql.jobs.store.metrics import BatchMetrics
from tests.support.engines.jobs_harness import JobsHarness, run_manager

BATCH = BatchMetrics(1, 7, 1000.0, trigger_ms=2000, lag={"a": 30, "b": 0}, lag_seconds={"a": 5.0, "b": 0.0})
READ = replace(BATCH, lag={"a": 0}, lag_seconds={"a": 0.0})
FILES = BatchMetrics(1, 7, 1000.0, event_time_lag=6487 * 3600.0)


def new_job(jobs: JobsHarness) -> Job:
    view = jobs.manager.registry.get(jobs.make())
    assert view is not None
    return view.job


@pytest.mark.parametrize(
    ("status", "batch", "text", "short"),
    [
        (Status.RUNNING, BATCH, "a: 30 rows, 5.0 s; b: 0 rows", "30 rows, 5.0 s"),
        (Status.COMPLETING, READ, "0 rows", "0 rows"),
        (Status.SUSPENDED, BATCH, "a: at least 30 rows, 3 min; b: at least 0 rows", "≥ 30 rows, 3 min"),
        (Status.NOT_RUNNING, READ, "not read for 3 min", "not read for 3 min"),
        (Status.RUNNING, FILES, None, ""),  # old event times are no lag
        (Status.RUNNING, None, None, ""),
        (Status.FAILED, BATCH, None, ""),
    ],
)
def test_lag_is_of_the_sources(
    tmp_path: Path, status: Status, batch: BatchMetrics | None, text: str | None, short: str
) -> None:
    with run_manager(tmp_path) as jobs:
        job = replace(new_job(jobs), status=status)
    lag = current_lag(job, batch, 1002.0 + 170.0)
    assert (describe_lag(lag), short_lag(lag)) == (text, short)


def test_sources_without_a_newest_offset_have_no_lag() -> None:
    assert lag_of_batch(FILES) is None and lag_of_batch(None) is None


def test_a_dropped_job_is_shown_as_such(tmp_path: Path) -> None:
    with run_manager(tmp_path) as jobs:
        job = new_job(jobs)
    dropped = replace(job, status=Status.FAILED, cause=CANCELLED)
    assert (dropped.shown_status, replace(dropped, cause=None).shown_status) == ("DROPPED", "FAILED")
