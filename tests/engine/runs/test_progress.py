"""The conversion of Spark's progress of a batch to its metrics."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jetsql.engine.runs.lag import LagTracker
from jetsql.engine.runs.progress import changes_nothing, measure_batch, measure_batch_job
from jetsql.jobs.model.job import RunId
from jetsql.jobs.store.metrics import BatchMetrics

RUN = RunId("0001-0000-0000-0001", 3)
PROGRESS: dict[str, Any] = {
    "timestamp": "2024-01-01T00:00:10.500Z",
    "batchId": 7,
    "numInputRows": 12,
    "inputRowsPerSecond": 6.0,
    "processedRowsPerSecond": 24.0,
    "durationMs": {"addBatch": 300, "queryPlanning": 20, "triggerExecution": 500, "walCommit": 10, "unheardOf": 1},
    "eventTime": {"max": "2024-01-01T00:00:08.000Z", "watermark": "2023-12-31T23:59:00.000Z"},
    "stateOperators": [
        {"numRowsTotal": 5, "memoryUsedBytes": 100, "numRowsDroppedByWatermark": 1},
        {"numRowsTotal": 2, "memoryUsedBytes": 50, "numRowsDroppedByWatermark": 0},
    ],
    "sources": [{"description": "KafkaV2[Subscribe[t]]", "startOffset": None, "endOffset": {"t": {"0": 5, "1": 7}}}],
}


def with_source(end: object, latest: object) -> BatchMetrics:
    source = {"description": "d", "endOffset": end, "latestOffset": latest}
    return measure_batch(RUN, {**PROGRESS, "sources": [source]}, None, ("a.t",), LagTracker())


def test_all_reported_values_are_used() -> None:
    assert measure_batch(RUN, PROGRESS, 9, ("a.t",), LagTracker()) == BatchMetrics(
        run=3,
        batch=7,
        time=1704067210.5,
        input_rows=12,
        output_rows=9,
        late_rows=1,
        input_rows_per_second=6.0,
        processed_rows_per_second=24.0,
        trigger_ms=500,
        add_batch_ms=300,
        query_planning_ms=20,
        wal_commit_ms=10,
        watermark=1704067140.0,
        event_time_lag=2.5,
        state_rows=7,
        state_bytes=150,
    )


def test_missing_values_are_unknown() -> None:
    least = {"timestamp": "2024-01-01T00:00:10.500Z", "batchId": 7}
    assert measure_batch(RUN, least, None, (), LagTracker()) == BatchMetrics(3, 7, 1704067210.5, input_rows=0)
    assert measure_batch(
        RUN, {**least, "processedRowsPerSecond": json.loads("NaN")}, None, (), LagTracker()
    ) == BatchMetrics(3, 7, 1704067210.5, input_rows=0)


def test_before_the_first_event_there_is_no_watermark() -> None:
    early = {**PROGRESS, "eventTime": {"watermark": "1970-01-01T00:00:00.000Z"}}
    assert measure_batch(RUN, early, None, (), LagTracker()).watermark is None


@pytest.mark.parametrize(
    ("end", "latest", "lag"),
    [
        ({"t": {"0": 5, "1": 7}}, {"t": {"0": 5, "1": 10, "2": 4}}, 7),
        ('{"t":{"0":5}}', '{"t":{"0":6}}', 1),
        ({"logOffset": 3}, {"logOffset": 8}, 5),
        (3, 3, 0),
        ("3", "1", 0),
    ],
)
def test_lag_is_the_number_of_unread_rows(end: object, latest: object, lag: int) -> None:
    assert with_source(end, latest).lag == {"a.t": lag}


@pytest.mark.parametrize(("end", "latest"), [(3, None), (None, None), ("x", "y"), ("1", {"a": "b"}), ({}, {"a": 1.5})])
def test_source_without_offsets_has_no_lag(end: object, latest: object) -> None:
    assert with_source(end, latest).lag == {}


def test_waiting_rows_date_from_the_growth_of_the_source() -> None:
    late = LagTracker()

    def seconds(time: float, end: dict[str, int], latest: dict[str, int]) -> float:
        progress = {"endOffset": {"t": end}, "latestOffset": json.dumps({"t": latest})}
        return late.measure_seconds(time, [progress], ["a.t"])["a.t"]

    assert seconds(100.0, {"0": 10}, {"0": 10}) == 0.0
    assert seconds(110.0, {"0": 10}, {"0": 30}) == 10.0
    assert seconds(120.0, {"0": 20}, {"0": 30, "1": 5}) == 15.0  # half of what came from 100 to 110
    assert seconds(130.0, {"0": 30, "1": 0}, {"0": 30, "1": 5}) == 20.0  # a partition that was new at 120
    assert seconds(140.0, {"0": 30, "1": 5}, {"0": 30, "1": 5}) == 0.0


def test_age_of_initial_rows_is_estimated_from_the_growth() -> None:
    late, progress = LagTracker(), {"endOffset": 0, "latestOffset": 100}
    assert late.measure_seconds(10.0, [progress], ["t"]) == {}
    assert late.measure_seconds(20.0, [progress], ["t"]) == {"t": 10.0}
    assert late.measure_seconds(30.0, [{"endOffset": 50, "latestOffset": 140}], ["t"]) == {"t": 45.0}
    assert late.measure_seconds(40.0, [{"endOffset": 50, "latestOffset": None}], ["t"]) == {}


def test_a_batch_job_is_one_batch() -> None:
    assert measure_batch_job(RUN, 10.0, 12.0, 8) == BatchMetrics(3, 0, 10.0, 0, 1, 8, 8, None, 4.0, 4.0, 2000)
    assert measure_batch_job(RUN, 10.0, 12.0, None).input_rows is None


def test_a_batch_without_rows_and_a_moved_watermark_changes_nothing() -> None:
    source = {"startOffset": {"t": 5}, "endOffset": {"t": 5}}
    quiet = {**PROGRESS, "numInputRows": 0, "sources": [source]}
    assert changes_nothing(quiet, quiet)
    assert not changes_nothing({}, quiet)  # an earlier run may have moved the watermark
    assert not changes_nothing(quiet, {**quiet, "eventTime": {"watermark": "2024-01-01T00:00:00.000Z"}})
    without_rows = [source, {"startOffset": {"log": 1}, "endOffset": {"log": 2}}]  # such as an empty file
    assert not changes_nothing(quiet, {**quiet, "sources": without_rows})
