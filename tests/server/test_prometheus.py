"""The metrics for Prometheus, parsed by its own parser, for jobs on the in-memory engine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families

from jetsql.jobs.lifecycle.runtime import BatchCommitted
from jetsql.jobs.model.job import Cause, Status
from jetsql.jobs.statements.job_queries import JobQueries
from jetsql.jobs.store.metrics import BatchMetrics
from jetsql.language.objects.expectation import Expectation
from jetsql.language.tokens import quoted_name
from jetsql.server.prometheus import prometheus_response
from jetsql.version import VERSION
from tests.support.engines.jobs_harness import JobsHarness, run_manager
from tests.support.golden_reports import compare


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[JobsHarness]:
    with run_manager(tmp_path) as jobs:
        yield jobs


class Scrape:
    """The metrics of one GET. values: by name, of the job named j or of no job."""

    def __init__(self, jobs: JobsHarness) -> None:
        shown = prometheus_response(JobQueries(jobs.manager), sessions=3, statements=2)
        self.text = shown.content.decode()
        parse = open_metrics if "openmetrics" in shown.content_type else text_string_to_metric_families
        self.families: list[Metric] = list(parse(self.text))

    def value(self, name: str, /, **labels: str) -> float | None:
        found = [
            sample.value
            for family in self.families
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        ]
        assert len(found) <= 1, found
        return found[0] if found else None


def commit(jobs: JobsHarness, job_id: str, name: str = "j", **measured: object) -> None:
    """Commit a batch with these metrics. name: of the job"""
    run = jobs.runtime.run_id(job_id)
    values = {"time": 100.0, "trigger_ms": 500, "input_rows": 20, **measured}
    measure = BatchMetrics(run.run, 1, **values)  # type: ignore[arg-type]
    jobs.runtime.report(job_id, BatchCommitted(run, 1, 100.0, 20, 40.0, metrics=measure))
    jobs.sql(f"WAIT FOR JOB {quoted_name(name)} UNTIL BATCH 1")


def test_an_engine_without_jobs(jobs: JobsHarness) -> None:
    scrape = Scrape(jobs)
    assert scrape.value("jetsql_engine_up") == 1
    assert scrape.value("jetsql_engine_info", version=VERSION) == 1
    assert scrape.value("jetsql_sessions") == 3
    assert scrape.value("jetsql_statements") == 2
    assert [scrape.value("jetsql_jobs", status=status.value) for status in Status] == [0] * len(Status)


def test_the_whole_text(jobs: JobsHarness) -> None:
    jobs.runtime.analysis = replace(jobs.runtime.analysis, expectations=(Expectation("valid", "id > 0"),))
    commit(jobs, jobs.make(), state_rows=7, state_bytes=512, lag={"src": 44}, lag_seconds={"src": 2.5})
    text = re.sub(r"(version|jetsql|spark)=\"[^\"]*\"", r'\1="*"', Scrape(jobs).text)
    compare([re.sub(r"(_created|_start_time_seconds)(\{.*\})? .*", r"\1\2 *", line) for line in text.splitlines()])


def test_a_job_with_batches(jobs: JobsHarness) -> None:
    job_id = jobs.make("j")
    commit(jobs, job_id, output_rows=15, late_rows=2, watermark=90.0, state_rows=7, state_bytes=512, lag={"src": 44})
    labels = {"name": "j", "id": job_id}
    scrape = Scrape(jobs)
    assert scrape.value("jetsql_job_status", status="RUNNING", **labels) == 1
    assert scrape.value("jetsql_job_status", status="SUSPENDED", **labels) == 0
    assert scrape.value("jetsql_job_runs_total", **labels) == 1
    assert scrape.value("jetsql_job_input_rows_total", **labels) == 30  # 10 of them in the first batch
    assert scrape.value("jetsql_job_output_rows_total", **labels) == 15
    assert scrape.value("jetsql_job_late_rows_total", **labels) == 2
    assert scrape.value("jetsql_job_batch_seconds_count", **labels) == 2
    assert scrape.value("jetsql_job_batch_seconds_sum", **labels) == 0.5
    assert scrape.value("jetsql_job_last_commit_timestamp_seconds", **labels) == 100.5
    assert scrape.value("jetsql_job_state_rows", **labels) == 7
    assert scrape.value("jetsql_job_state_bytes", **labels) == 512
    assert scrape.value("jetsql_job_source_lag", source="src", **labels) == 44
    delay = scrape.value("jetsql_job_watermark_delay_seconds", **labels)
    assert delay is not None and delay > 0


def test_unknown_values_are_omitted(jobs: JobsHarness) -> None:
    job_id = jobs.make("j")
    assert Scrape(jobs).value("jetsql_job_watermark_delay_seconds", id=job_id) is None
    commit(jobs, job_id)
    assert Scrape(jobs).value("jetsql_job_state_rows", id=job_id) is None


def test_failed_job_is_exported_until_its_name_is_reused(jobs: JobsHarness) -> None:
    job_id = jobs.make("j", {"suspendOnFailure": "false", "restartAttempts": "0"})
    commit(jobs, job_id)
    jobs.runtime.fail(job_id, Cause("broken", retryable=False))
    jobs.wait_status(job_id, Status.FAILED)
    assert Scrape(jobs).value("jetsql_job_status", status="FAILED", id=job_id) == 1
    newer = jobs.make("J")
    scrape = Scrape(jobs)
    assert scrape.value("jetsql_job_status", status="FAILED", id=job_id) is None
    assert scrape.value("jetsql_job_status", status="RUNNING", id=newer) == 1


def test_names_are_escaped(jobs: JobsHarness) -> None:
    name, rule, source = 'a "quoted" \\ name', 'r"}\\n', 's\n{a="b"} 1'
    jobs.runtime.analysis = replace(jobs.runtime.analysis, expectations=(Expectation(rule, "id > 0"),))
    commit(jobs, jobs.make(name), name, lag={source: 44})
    scrape = Scrape(jobs)
    assert scrape.value("jetsql_job_status", status="RUNNING", name=name) == 1
    assert scrape.value("jetsql_job_rule_violations_total", name=name, rule=rule) == 0
    assert scrape.value("jetsql_job_source_lag", name=name, source=source) == 44


def test_metrics_of_jobs_keep_the_deprecated_label(jobs: JobsHarness) -> None:
    commit(jobs, jobs.make("j"), lag={"src": 44})
    of_jobs = [sample for family in Scrape(jobs).families for sample in family.samples if "id" in sample.labels]
    assert {(sample.labels["name"], sample.labels["job"]) for sample in of_jobs} == {("j", "j")}
    assert {sample.name for sample in of_jobs} > {"jetsql_job_status", "jetsql_job_source_lag"}


def test_names_and_help_keep_to_the_conventions(jobs: JobsHarness) -> None:
    commit(jobs, jobs.make("j"))
    for family in Scrape(jobs).families:
        assert re.fullmatch(r"jetsql(_[a-z]+)+", family.name)
        assert family.documentation.endswith(".")
