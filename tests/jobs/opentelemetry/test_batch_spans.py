"""The spans of batches: times, phases and errors, and receivers that hang."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

import pytest

from jetsql.errors import EngineError
from jetsql.jobs.lifecycle.runtime import BatchCommitted
from jetsql.jobs.model.job import Cause, Status
from jetsql.jobs.opentelemetry.opentelemetry_settings import OpenTelemetrySettings
from jetsql.jobs.store.metrics import BatchMetrics
from jetsql.settings.engine_settings import load
from tests.support.engines.jobs_harness import JobsHarness, run_manager
from tests.support.golden_reports import raises
from tests.support.servers.webhook import run_webhook

pytest.importorskip("opentelemetry.sdk.trace")
pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
BEGAN = 1_800_000_000.0
MEASURE = BatchMetrics(
    1, 0, BEGAN, input_rows=7, late_rows=0, trigger_ms=100, latest_offset_ms=10, wal_commit_ms=20, add_batch_ms=50
)


@contextmanager
def traced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[JobsHarness, Any]]:
    """Run a manager whose spans stay in this process."""
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    exporting = "opentelemetry.exporter.otlp.proto.http.trace_exporter.OTLPSpanExporter"
    monkeypatch.setattr(exporting, lambda endpoint: exporter)
    with run_manager(folder, opentelemetry=OpenTelemetrySettings("http://127.0.0.1:1/v1/traces")) as jobs:
        jobs.runtime.quiet = True
        yield jobs, exporter


def spans(exporter: Any) -> dict[str, Any]:
    return {span.name: span for span in exporter.get_finished_spans()}


def test_batch_is_a_span_with_its_phases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with traced(tmp_path, monkeypatch) as (jobs, exporter):
        creating, job = jobs.begin("CREATE JOB j AS INSERT INTO out SELECT * FROM STREAM src")
        run = jobs.runtime.run_id(job.id)
        jobs.runtime.report(job.id, BatchCommitted(run, 0, BEGAN, 7, 1.0, metrics=MEASURE))
        creating.result(20)
    found = spans(exporter)
    batch = found.pop("batch j")
    start = int(BEGAN * 1e9)
    assert (batch.start_time - start, batch.end_time - start) == (0, 100_000_000)
    assert dict(batch.attributes) == {
        "jetsql.job.name": "j",
        "jetsql.job.id": job.id,
        "jetsql.run": 1,
        "jetsql.batch": 0,
        "jetsql.input_rows": 7,
        "jetsql.late_rows": 0,
    }
    assert [(name, (span.start_time - start) / 1e6, (span.end_time - start) / 1e6) for name, span in found.items()] == [
        ("latest offset", 0, 10),
        ("write-ahead log", 10, 30),
        ("add batch", 30, 80),
    ]
    assert {span.parent.span_id for span in found.values()} == {batch.context.span_id}
    assert batch.resource.attributes["service.name"] == "jetsql"


def test_batch_that_failed_has_its_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with traced(tmp_path, monkeypatch) as (jobs, exporter):
        creating, job = jobs.begin("CREATE JOB j AS INSERT INTO out SELECT * FROM STREAM src")
        jobs.runtime.commit(job.id)
        creating.result(20)
        jobs.runtime.fail(job.id, Cause("no disk", "JETSQL.DISK", batch=1, retryable=False))
        jobs.wait_status(job.id, Status.SUSPENDED)
    failed = [span for span in exporter.get_finished_spans() if not span.status.is_ok]
    assert [(span.attributes["jetsql.batch"], span.status.description) for span in failed] == [(1, "no disk")]
    assert failed[0].attributes["error.type"] == "JETSQL.DISK"


def test_name_of_the_service_is_that_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "shop")
    with traced(tmp_path, monkeypatch) as (jobs, exporter):
        jobs.runtime.quiet = False
        jobs.make()
    assert spans(exporter)["batch j"].resource.attributes["service.name"] == "shop"


def test_spans_reach_a_receiver_over_http(tmp_path: Path) -> None:
    with run_webhook() as webhook:
        settings = OpenTelemetrySettings(f"http://127.0.0.1:{webhook.port}/v1/traces")
        with run_manager(tmp_path, opentelemetry=settings) as jobs:
            jobs.make("orders")
        [request, *_] = webhook.wait(1)
    assert (request.path, request.headers["content-type"]) == ("/v1/traces", "application/x-protobuf")
    assert b"batch orders" in request.body


def test_hanging_receiver_delays_neither_jobs_nor_the_end(tmp_path: Path) -> None:
    released = Event()
    with run_webhook() as webhook:
        webhook.before_answer = partial(_wait, released)
        settings = OpenTelemetrySettings(f"http://127.0.0.1:{webhook.port}/v1/traces")
        with run_manager(tmp_path, opentelemetry=settings) as jobs:
            job_id = jobs.make()
            began = monotonic()
            for _ in range(3000):  # more than the queue takes
                jobs.runtime.commit(job_id)
            jobs.sql("WAIT FOR JOB j UNTIL BATCH 3000")
            assert monotonic() - began < 20
            ending = monotonic()
        assert monotonic() - ending < 10
        released.set()


def test_setting_is_off_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(environ={}).opentelemetry.opentelemetry_endpoint is None
    named = load(environ={"JETSQL_OPENTELEMETRY_ENDPOINT": "http://collector:4318"})
    assert named.opentelemetry.opentelemetry_endpoint == "http://collector:4318/v1/traces"
    with raises(EngineError):
        load(environ={"JETSQL_OPENTELEMETRY_ENDPOINT": "collector:4317"})
    monkeypatch.setattr("jetsql.jobs.opentelemetry.batch_spans.find_spec", lambda name: None)
    with raises(EngineError), run_manager(tmp_path, opentelemetry=named.opentelemetry):
        pass


def test_spans_of_a_batch_without_metrics_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with traced(tmp_path, monkeypatch) as (jobs, exporter):
        creating, job = jobs.begin("CREATE JOB j AS INSERT INTO out SELECT * FROM STREAM src")
        run = jobs.runtime.run_id(job.id)
        jobs.runtime.report(job.id, BatchCommitted(run, 0, BEGAN, 7, 1.0))
        jobs.runtime.report(job.id, BatchCommitted(run, 1, BEGAN, 7, 1.0, metrics=replace(MEASURE, trigger_ms=None)))
        creating.result(20)
    assert spans(exporter)["batch j"].end_time == int(BEGAN * 1e9) + 80_000_000


def _wait(released: Event) -> None:
    released.wait(30)
