"""Jobs that write one table, and tables that were replaced while their job was suspended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from jetsql.errors import StatementError
from jetsql.jobs.model.body_analysis import Analysis, OutputMode, Sink, SinkKind
from jetsql.jobs.model.job import Cause, Job, Status
from jetsql.jobs.statements.lookup import find_live_job
from tests.support.engines.in_memory_engine import analysis, sink
from tests.support.engines.jobs_world import World, world
from tests.support.golden_reports import raises

ADD = "CREATE JOB {} AS INSERT INTO out SELECT * FROM STREAM src"
OVERWRITE = "CREATE JOB {} AS INSERT OVERWRITE out SELECT count(*) FROM STREAM src"
UPSERT = "CREATE JOB {} AS SINK INTO out SELECT count(*) FROM STREAM src"
REPLACED = Cause("replaced", "JETSQL.SINK_CHANGED", retryable=False)


def counts(**changes: object) -> Analysis:
    return analysis(has_aggregates=True, modes=dict.fromkeys(OutputMode), sink=sink(**changes))


@pytest.fixture
def w(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        made.engine.analysis = counts()
        yield made


def job_of(w: World, name: str) -> Job:
    live = find_live_job(w.manager, name)
    assert live is not None
    return live.job


@pytest.mark.parametrize(
    ("first", "second"),
    [(OVERWRITE, OVERWRITE), (OVERWRITE, ADD), (ADD, OVERWRITE), (OVERWRITE, UPSERT), (UPSERT, OVERWRITE)],
)
def test_a_job_that_replaces_a_table_shares_it_with_no_other_job(w: World, first: str, second: str) -> None:
    w.sql(first.format("one"))
    for before in ("", "EXPLAIN "):
        with raises(StatementError, match="TABLE_IN_USE"):
            w.sql(before + second.format("two"))
    w.sql("SUSPEND JOB one")  # it has its state, and would write the table after RESUME
    with raises(StatementError, match="TABLE_IN_USE"):
        w.sql(second.format("two"))
    w.sql("DROP JOB one")
    w.sql(second.format("two"))


def test_jobs_that_add_rows_or_replace_partitions_share_a_table(w: World) -> None:
    w.sql(ADD.format("one"))
    w.sql(UPSERT.format("two"))
    part = sink(replaces_whole_table=False)
    w.engine.analysis = analysis(streaming=False, sources=(), modes={}, sink=part)
    w.sql(f"EXPLAIN {OVERWRITE.format('three')}".replace("STREAM ", ""))


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
def test_two_names_of_the_same_rows_count_as_one_table(w: World, first: Sink, second: Sink) -> None:
    w.engine.analysis = replace(counts(), sink=first)
    w.sql(ADD.format("one"))
    w.engine.analysis = replace(counts(), sink=second)
    with raises(StatementError, match="TABLE_IN_USE"):
        w.sql(OVERWRITE.format("two"))


def test_another_version_or_another_run_of_a_job_is_checked(w: World) -> None:
    w.sql(OVERWRITE.format("one"))
    w.engine.analysis = counts(table="spark_catalog.default.other")
    w.sql(ADD.format("two").replace("out", "other"))
    w.engine.analysis = counts()
    with raises(StatementError, match="TABLE_IN_USE"):
        w.sql(ADD.format("two").replace("CREATE", "CREATE OR REPLACE"))
    assert w.sql(OVERWRITE.format("one").replace("CREATE", "CREATE OR REPLACE")).rows  # its own table


def test_a_completed_job_does_not_run_again_into_a_table_that_another_job_replaces(w: World) -> None:
    w.engine.quiet = True
    creating, job = w.begin(ADD.format("one").replace(" AS", " OPTIONS ('trigger' = 'availableNow') AS"))
    w.engine.complete(job.id)
    creating.result(20)
    w.engine.quiet = False
    w.sql(OVERWRITE.format("two"))
    with raises(StatementError, match="TABLE_IN_USE"):
        w.sql("RESUME JOB one")


@pytest.mark.parametrize("text", [OVERWRITE, ADD])
def test_resume_accepts_a_table_that_was_created_again(w: World, text: str) -> None:
    w.sql(text.format("one"))
    w.engine.fail(job_of(w, "one").id, REPLACED)
    w.wait_status(job_of(w, "one").id, Status.SUSPENDED)
    for changed in (sink(columns=("a", "b"), created=2), sink(provider="orc", created=2)):
        w.engine.analysis = replace(counts(), sink=changed)
        with raises(StatementError, match="SINK_CHANGED"):
            w.sql("RESUME JOB one")
    w.engine.analysis = replace(counts(), sink=sink(created=2))
    w.sql("RESUME JOB one")
    assert job_of(w, "one").plan.analysis.sink.created == 2
    assert "which was replaced" in str(w.sql("SHOW JOB HISTORY one").rows)


def test_a_moved_table_is_accepted_only_where_each_result_replaces_it(w: World) -> None:
    for text, is_accepted in ((OVERWRITE, True), (ADD, False)):
        w.engine.analysis = counts()
        w.sql(text.format("one"))
        w.engine.fail(job_of(w, "one").id, REPLACED)
        w.wait_status(job_of(w, "one").id, Status.SUSPENDED)
        w.engine.analysis = replace(counts(), sink=sink(location="file:/moved"))
        if is_accepted:
            w.sql("RESUME JOB one")
        else:
            with raises(StatementError, match="its folder is file:/moved"):
                w.sql("RESUME JOB one")
        w.sql("DROP JOB one")
