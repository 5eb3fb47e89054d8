"""Jobs that write one table, and tables that were replaced while their job was suspended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jetsql.errors import StatementError
from jetsql.jobs.model.body_analysis import Analysis, OutputMode, Sink, SinkKind
from jetsql.jobs.model.job import Cause, Job, Status
from jetsql.jobs.statements.lookup import find_live_job
from tests.support.engines.in_memory_runtime import analysis, sink
from tests.support.engines.jobs_harness import JobsHarness, run_manager
from tests.support.golden_reports import raises

ADD = "CREATE JOB {} AS INSERT INTO out SELECT * FROM STREAM src"
OVERWRITE = "CREATE JOB {} AS INSERT OVERWRITE out SELECT count(*) FROM STREAM src"
UPSERT = "CREATE JOB {} AS SINK INTO out SELECT count(*) FROM STREAM src"
REPLACED = Cause("replaced", "JETSQL.SINK_CHANGED", retryable=False)


def counts(**changes: Any) -> Analysis:
    return analysis(has_aggregates=True, modes=dict.fromkeys(OutputMode), sinks=(sink(**changes),))


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[JobsHarness]:
    with run_manager(tmp_path) as harness:
        harness.runtime.analysis = counts()
        yield harness


def job_of(jobs: JobsHarness, name: str) -> Job:
    live = find_live_job(jobs.manager, name)
    assert live is not None
    return live.job


@pytest.mark.parametrize(
    ("first", "second"),
    [(OVERWRITE, OVERWRITE), (OVERWRITE, ADD), (ADD, OVERWRITE), (OVERWRITE, UPSERT), (UPSERT, OVERWRITE)],
)
def test_job_that_replaces_a_table_does_not_share_it(jobs: JobsHarness, first: str, second: str) -> None:
    jobs.sql(first.format("one"))
    for before in ("", "EXPLAIN "):
        with raises(StatementError, match="TABLE_IN_USE"):
            jobs.sql(before + second.format("two"))
    jobs.sql("SUSPEND JOB one")  # it has its state, and would write the table after RESUME
    with raises(StatementError, match="TABLE_IN_USE"):
        jobs.sql(second.format("two"))
    jobs.sql("DROP JOB one")
    jobs.sql(second.format("two"))


def test_jobs_that_add_rows_or_replace_partitions_share_a_table(jobs: JobsHarness) -> None:
    jobs.sql(ADD.format("one"))
    jobs.sql(UPSERT.format("two"))
    part = sink(replaces_whole_table=False)
    jobs.runtime.analysis = analysis(streaming=False, sources=(), modes={}, sinks=(part,))
    jobs.sql(f"EXPLAIN {OVERWRITE.format('three')}".replace("STREAM ", ""))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            sink("spark_catalog.default.a", location="file:/same"),
            sink("spark_catalog.default.b", location="file:/same"),
        ),
        (
            sink("spark_catalog.default.a", kind=SinkKind.JDBC, system="PostgreSQL db:5432/shop, orders"),
            sink("spark_catalog.default.b", kind=SinkKind.JDBC, system="PostgreSQL db:5432/shop, orders"),
        ),
        (sink("spark_catalog.default.a"), sink("spark_catalog.default.A")),
    ],
)
def test_two_names_of_the_same_rows_count_as_one_table(jobs: JobsHarness, first: Sink, second: Sink) -> None:
    jobs.runtime.analysis = replace(counts(), sinks=(first,))
    jobs.sql(ADD.format("one"))
    jobs.runtime.analysis = replace(counts(), sinks=(second,))
    with raises(StatementError, match="TABLE_IN_USE"):
        jobs.sql(OVERWRITE.format("two"))


def test_another_version_or_another_run_of_a_job_is_checked(jobs: JobsHarness) -> None:
    jobs.sql(OVERWRITE.format("one"))
    jobs.runtime.analysis = counts(table="spark_catalog.default.other")
    jobs.sql(ADD.format("two").replace("out", "other"))
    jobs.runtime.analysis = counts()
    with raises(StatementError, match="TABLE_IN_USE"):
        jobs.sql(ADD.format("two").replace("CREATE", "CREATE OR REPLACE"))
    assert jobs.sql(OVERWRITE.format("one").replace("CREATE", "CREATE OR REPLACE")).rows  # its own table


def test_completed_job_does_not_rerun_into_a_replaced_table(jobs: JobsHarness) -> None:
    jobs.runtime.quiet = True
    creating, job = jobs.begin(ADD.format("one").replace(" AS", " OPTIONS ('trigger' = 'availableNow') AS"))
    jobs.runtime.complete(job.id)
    creating.result(20)
    jobs.runtime.quiet = False
    jobs.sql(OVERWRITE.format("two"))
    with raises(StatementError, match="TABLE_IN_USE"):
        jobs.sql("RESUME JOB one")


@pytest.mark.parametrize("text", [OVERWRITE, ADD])
def test_resume_accepts_a_table_that_was_created_again(jobs: JobsHarness, text: str) -> None:
    jobs.sql(text.format("one"))
    jobs.runtime.fail(job_of(jobs, "one").id, REPLACED)
    jobs.wait_status(job_of(jobs, "one").id, Status.SUSPENDED)
    for changed in (sink(columns=("a", "b"), created=2), sink(provider="orc", created=2)):
        jobs.runtime.analysis = replace(counts(), sinks=(changed,))
        with raises(StatementError, match="SINK_CHANGED"):
            jobs.sql("RESUME JOB one")
    jobs.runtime.analysis = replace(counts(), sinks=(sink(created=2),))
    jobs.sql("RESUME JOB one")
    assert job_of(jobs, "one").plan.analysis.sink.created == 2
    assert "which was replaced" in str(jobs.sql("SHOW JOB HISTORY one").rows)


def test_moved_table_is_accepted_only_with_overwrite(jobs: JobsHarness) -> None:
    for text, is_accepted in ((OVERWRITE, True), (ADD, False)):
        jobs.runtime.analysis = counts()
        jobs.sql(text.format("one"))
        jobs.runtime.fail(job_of(jobs, "one").id, REPLACED)
        jobs.wait_status(job_of(jobs, "one").id, Status.SUSPENDED)
        jobs.runtime.analysis = replace(counts(), sinks=(sink(location="file:/moved"),))
        if is_accepted:
            jobs.sql("RESUME JOB one")
        else:
            with raises(StatementError, match="its folder is file:/moved"):
                jobs.sql("RESUME JOB one")
        jobs.sql("DROP JOB one")
