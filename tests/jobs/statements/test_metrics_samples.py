"""The current metrics of jobs: rates that count every row of the last minute, and the response of the HTTP endpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from jetsql.jobs.lifecycle.runtime import BatchCommitted
from jetsql.jobs.model.job import Status
from jetsql.jobs.statements.job_metrics import JobMetrics
from jetsql.jobs.statements.metrics_sample import RATE_SECONDS, RATES, JobSample, rates, sample_jobs
from jetsql.jobs.store.job_lag import lag_of_batch
from jetsql.jobs.store.metrics import BatchMetrics, Totals
from jetsql.server.metrics_response import as_object
from tests.support.engines.jobs_harness import JobsHarness, run_manager

NOW = 1000.0


def batch(time: float, rows: int | None, span: int = 0) -> BatchMetrics:
    return BatchMetrics(1, 1, time, span=span, input_rows=rows)


def rows_of(shown: tuple[float, ...]) -> float:
    return sum(shown) * RATE_SECONDS


def test_rows_of_a_batch_came_since_the_one_before() -> None:
    shown = rates([batch(992.0, 0), batch(996.0, 400), batch(1000.0, 800)], NOW)
    assert len(shown) == RATES
    assert shown[-5:] == (0.0, 100.0, 100.0, 200.0, 200.0)


def test_rows_after_a_pause_count_as_recent() -> None:
    shown = rates([batch(900.0, 0), batch(1000.0, 100)], NOW)
    assert shown[-6:] == (0.0, 10.0, 10.0, 10.0, 10.0, 10.0)


def test_rows_older_than_a_minute_are_not_counted() -> None:
    assert rows_of(rates([batch(800.0, 100), batch(930.0, 100)], NOW)) == 0.0
    assert rates([], NOW) == (0.0,) * RATES


def test_rows_without_duration_count_in_their_moment() -> None:
    shown = rates([batch(990.0, 0), batch(990.001, 100)], NOW)
    assert [index for index, rate in enumerate(shown) if rate] == [RATES - 5]
    assert rows_of(shown) == pytest.approx(100)
    assert rates([batch(NOW - 0.001, 0), batch(NOW, 100)], NOW)[-2:] == (0.0, 100 / RATE_SECONDS)
    assert rates([batch(NOW - 60, 0), batch(NOW - 59.999, 100)], NOW)[:2] == (100 / RATE_SECONDS, 0.0)


def test_measure_of_several_batches_counts_for_its_span() -> None:
    expected = (0.0, 10.0, 10.0, 10.0, 10.0, 10.0, 0.0)
    assert rates([batch(980.0, 100, span=10)], NOW)[-11:-4] == expected
    assert rates([batch(970.0, 0), batch(980.0, 100, span=10)], NOW)[-11:-4] == expected


@given(some.lists(some.tuples(some.floats(0.0, 5.0), some.none() | some.integers(0, 1000)), max_size=12))
def test_every_row_of_the_last_minute_counts_once(steps: list[tuple[float, int | None]]) -> None:
    time, measures = NOW - 60.0 + 10.0, []
    for seconds, rows in steps:
        time = min(time + seconds, NOW)
        measures.append(batch(time, rows))
    assert rows_of(rates(measures, NOW)) == pytest.approx(sum(each.input_rows or 0 for each in measures))


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[JobsHarness]:
    with run_manager(tmp_path) as jobs:
        yield jobs


def test_sample_has_the_newest_batch(jobs: JobsHarness) -> None:
    job_id = jobs.make("orders")
    time = jobs.manager.clock() - 1.0
    measure = BatchMetrics(1, 7, time, input_rows=10, trigger_ms=250, state_rows=3, state_bytes=99, lag={"src": 5})
    jobs.runtime.report(job_id, BatchCommitted(jobs.runtime.run_id(job_id), 7, time, 10, 10.0, metrics=measure))
    [running] = sample_jobs(jobs.manager)
    assert as_object([running])["jobs"][0]["rows_per_second"] == 10.0
    jobs.sql("SUSPEND JOB orders")
    [pulse] = sample_jobs(jobs.manager)
    sample = json.loads(json.dumps(as_object([pulse])))["jobs"][0]
    assert (sample["id"], sample["name"], sample["status"]) == (job_id, "orders", "SUSPENDED")
    assert (sample["batch"], sample["batch_seconds"], sample["lag"]) == (7, 0.25, {"src": 5})
    assert (sample["state_rows"], sample["state_bytes"], sample["input_rows"]) == (3, 99, 20)  # with its first batch
    assert (sample["rates"], sample["rows_per_second"]) == ([], None)
    assert sample["lag_is_least"] and sample["unread_seconds"] >= 0
    assert sample["last_error"] is None


def test_job_without_metrics_has_an_empty_sample(jobs: JobsHarness) -> None:
    jobs.make("orders", {"metricsEnabled": "false"})
    sample = as_object(sample_jobs(jobs.manager))["jobs"][0]
    assert (sample["batch"], sample["batch_seconds"], sample["lag"], sample["state_rows"]) == (None, None, {}, None)
    assert sample["rates"] == [0.0] * RATES


def test_every_value_of_a_sample_is_in_the_response() -> None:
    latest = BatchMetrics(
        1,
        7,
        NOW,
        trigger_ms=250,
        state_rows=3,
        state_bytes=99,
        lag={"a": 5},
        lag_seconds={"a": 1.5},
        event_time_lag=2.5,
    )
    metrics = JobMetrics(
        "id", "j", Status.RUNNING, 4, 2, Totals(10, 20, 30, 40), latest, 0.5, "error", lag=lag_of_batch(latest)
    )
    totals = metrics.totals
    response = as_object([JobSample(metrics, 10.0, (0.12345, 2.0))])
    assert response == {
        "rate_seconds": RATE_SECONDS,
        "jobs": [
            {
                "id": "id",
                "name": "j",
                "status": "RUNNING",
                "runs": 4,
                "attempts": 2,
                "rows_per_second": 10.0,
                "rates": [0.123, 2.0],
                "input_rows": totals.input_rows,
                "late_rows": totals.late_rows,
                "batch": 7,
                "batch_seconds": 0.25,
                "lag": {"a": 5},
                "lag_seconds": {"a": 1.5},
                "lag_is_least": False,
                "unread_seconds": None,
                "event_time_lag": 2.5,
                "watermark_delay": 0.5,
                "state_rows": 3,
                "state_bytes": 99,
                "last_error": "error",
            }
        ],
    }
