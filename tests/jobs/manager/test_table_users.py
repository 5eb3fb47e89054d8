"""Tables that cannot be dropped, because running jobs use them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jetsql.jobs.manager.table_users import refuse_change
from tests.support.engines.in_memory_runtime import InMemoryRuntime, analysis, sink, source
from tests.support.engines.jobs_harness import JobsHarness, run_manager
from tests.support.golden_reports import compare

CATALOG = "spark_catalog"
DEFAULT = (CATALOG, "default")
CREATE = "CREATE JOB {} AS INSERT INTO out SELECT * FROM STREAM src"


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[JobsHarness]:
    with run_manager(tmp_path) as harness:
        yield harness


def test_a_table_that_running_jobs_use(jobs: JobsHarness) -> None:
    jobs.sql(CREATE.format("first"))
    jobs.runtime.analysis = analysis(
        sources=(source("spark_catalog.default.out"),), sinks=(sink("spark_catalog.shop.more"),)
    )
    jobs.sql(CREATE.format("`the second`"))
    for schema, table in (("default", "SRC"), ("Default", "out"), ("shop", "more"), ("shop", None), ("default", None)):
        compare([refuse_change(jobs.manager.registry, jobs.manager.access.sees_job, "drop", [CATALOG, schema], table)])
    assert refuse_change(jobs.manager.registry, jobs.manager.access.sees_job, "rename", DEFAULT, "src").startswith(
        "Cannot rename default.src: "
    )
    for schema, table in (("default", "other"), ("shop", "out"), ("sho", None), ("default.src", None), ("s", "src")):
        assert (
            refuse_change(jobs.manager.registry, jobs.manager.access.sees_job, "drop", [CATALOG, schema], table) == ""
        )


def test_a_table_of_another_catalogue(jobs: JobsHarness) -> None:
    jobs.runtime.analysis = analysis(sources=(source("lake.a.b.t"),), sinks=(sink("lake.a.`x.y`"),))
    jobs.sql(CREATE.format("j"))
    for schema, table in (
        (["lake", "a", "b"], "T"),
        (["lake", "a"], "x.y"),
        (["lake", "a"], None),
        (["lake", "a", "b"], None),
    ):
        compare([refuse_change(jobs.manager.registry, jobs.manager.access.sees_job, "drop", schema, table)])
    for schema, table in ((["lake", "a"], "b"), ([CATALOG, "a", "b"], "t"), (["lake"], "t"), (["lake", "a", "x"], "y")):
        assert refuse_change(jobs.manager.registry, jobs.manager.access.sees_job, "drop", schema, table) == ""


def test_a_table_of_jobs_that_do_not_run(jobs: JobsHarness) -> None:
    jobs.sql(CREATE.format("j"))
    assert refuse_change(jobs.manager.registry, jobs.manager.access.sees_job, "drop", DEFAULT, "src")
    jobs.sql("SUSPEND JOB j")
    assert refuse_change(jobs.manager.registry, jobs.manager.access.sees_job, "drop", DEFAULT, "src") == ""
    jobs.sql("RESUME JOB j")
    assert refuse_change(jobs.manager.registry, jobs.manager.access.sees_job, "drop", DEFAULT, "out")
    jobs.sql("DROP JOB j")
    assert refuse_change(jobs.manager.registry, jobs.manager.access.sees_job, "drop", DEFAULT, "out") == ""


def test_a_table_that_a_batch_job_reads(tmp_path: Path) -> None:
    batch = analysis(streaming=False, sources=(), modes={}, tables_read_once=("spark_catalog.default.src",))
    with run_manager(tmp_path, InMemoryRuntime(analysis=batch, quiet=True)) as jobs:
        creating, job = jobs.begin("CREATE JOB j AS INSERT INTO out SELECT * FROM src")
        assert refuse_change(jobs.manager.registry, jobs.manager.access.sees_job, "drop", DEFAULT, "src")
        jobs.runtime.complete(job.id)
        creating.result(20)
        assert refuse_change(jobs.manager.registry, jobs.manager.access.sees_job, "drop", DEFAULT, "src") == ""
