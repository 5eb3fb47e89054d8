"""The rows of the relations: typed as their columns, the same values as in the statements, no secrets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from jetsql.jobs.lifecycle.runtime import BatchCommitted
from jetsql.jobs.model.job import Cause, Status
from jetsql.jobs.statements.system_tables import SYSTEM_TABLES, rows
from jetsql.jobs.store.metrics import BatchMetrics
from jetsql.language.objects.expectation import Expectation
from jetsql.resultset import Cell
from tests.support.engines.jobs_harness import JobsHarness, body, run_manager

IS_OF: dict[str, Callable[[Cell], bool]] = {
    "string": lambda cell: isinstance(cell, str),
    "bigint": lambda cell: isinstance(cell, int) and not isinstance(cell, bool),
    "int": lambda cell: isinstance(cell, int) and not isinstance(cell, bool),
    "double": lambda cell: isinstance(cell, float),
    "boolean": lambda cell: isinstance(cell, bool),
    "timestamp": lambda cell: isinstance(cell, float),
    "array<string>": lambda cell: isinstance(cell, tuple),
    "map<string,bigint>": lambda cell: isinstance(cell, dict),
    "map<string,double>": lambda cell: isinstance(cell, dict),
}


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[JobsHarness]:
    with run_manager(tmp_path) as harness:
        yield harness


def table(jobs: JobsHarness, name: str) -> list[dict[str, Cell]]:
    """Return the rows of a relation by column."""
    [relation] = [relation for relation in SYSTEM_TABLES if relation.name == name]
    names = [column.name for column in relation.columns]
    return [dict(zip(names, row, strict=True)) for row in rows(jobs.manager, name)]


@pytest.mark.parametrize("relation", SYSTEM_TABLES, ids=lambda relation: relation.name)
def test_each_relation_describes_itself(relation: object, jobs: JobsHarness) -> None:
    assert relation.comment.endswith(".")  # type: ignore[attr-defined]
    names = [column.name for column in relation.columns]  # type: ignore[attr-defined]
    assert len(set(names)) == len(names)
    assert all(name == name.lower() for name in names)


@pytest.mark.parametrize("relation", SYSTEM_TABLES, ids=lambda relation: relation.name)
def test_values_are_of_their_columns_types(relation: object, jobs: JobsHarness) -> None:
    rules = (Expectation("valid", "id > 0"),)
    jobs.runtime.analysis = replace(jobs.runtime.analysis, expectations=rules)
    ended = jobs.make("ended")
    jobs.runtime.fail(ended, Cause("no such table", "TABLE_OR_VIEW_NOT_FOUND", "42P01", retryable=False))
    jobs.wait_status(ended, Status.SUSPENDED)
    jobs.sql("DROP JOB ended")
    jobs.make("live")
    jobs.sql("CREATE SNAPSHOT s FOR JOB live")
    jobs.sql("CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS $$ return x $$")
    jobs.sql("CREATE ALERT a ON JOB live STATUS RUNNING CALL 'http://127.0.0.1:1/'")
    found = list(rows(jobs.manager, relation.name))  # type: ignore[attr-defined]
    assert found
    for row in found:
        for cell, column in zip(row, relation.columns, strict=True):  # type: ignore[attr-defined]
            assert cell is None or IS_OF[column.type](cell), (column, cell)


def test_lag_of_a_suspended_job_is_a_least(jobs: JobsHarness) -> None:
    job_id = jobs.make("orders")
    time = jobs.manager.clock()
    measure = BatchMetrics(1, 7, time, input_rows=10, trigger_ms=250, late_rows=4, lag={"src": 5})
    jobs.runtime.report(job_id, BatchCommitted(jobs.runtime.run_id(job_id), 7, time, 10, 10.0, metrics=measure))
    jobs.sql("WAIT FOR JOB orders UNTIL BATCH 7")
    [running] = table(jobs, "jobs")
    assert "5" in str(running["lag"]) and running["late_rows"] == 4
    jobs.sql("SUSPEND JOB orders")
    [suspended] = table(jobs, "jobs")
    assert (suspended["lag"], suspended["rows_per_second"]) == ("at least 5 rows", None)


def test_all_jobs_are_listed_newest_first_as_in_show_jobs(jobs: JobsHarness) -> None:
    ended = jobs.make("orders")
    jobs.sql("DROP JOB orders")
    live = jobs.make("orders", comment="the shop's")
    shown = jobs.sql("SHOW ALL JOBS")
    found = table(jobs, "jobs")
    assert [row["id"] for row in found] == [live, ended]
    for row, facts in zip(found, shown.rows, strict=True):
        assert tuple(row[column.name] for column in shown.columns) == facts
    assert (found[0]["comment"], found[0]["end_time"]) == ("the shop's", None)
    assert found[1]["status"] == "DROPPED" and found[1]["end_time"] is not None
    assert found[0]["input_rows"] is not None and found[1]["input_rows"] is None


def test_job_row_has_progress_and_start_of_the_run(jobs: JobsHarness) -> None:
    job_id = jobs.make("orders")
    jobs.runtime.commit(job_id, rows=7)
    jobs.sql("RESTART JOB orders")
    jobs.wait_run(job_id, 2)
    other = jobs.make("returns")
    other_row, row = table(jobs, "jobs")
    assert other_row["started_time"] == min(entry.time for entry in jobs.store.history(other) if entry.run == 1)
    began = [entry.time for entry in jobs.store.history(job_id) if entry.run == 2]
    assert (row["run"], row["started_time"]) == (2, min(began))
    assert row["submission_time"] < row["started_time"]  # type: ignore[operator]
    assert (row["kind"], row["sources"], row["trigger"]) == ("streaming", ("spark_catalog.default.src",), "interval")


def test_error_is_shown_with_its_condition(jobs: JobsHarness) -> None:
    job_id = jobs.make("orders")
    jobs.runtime.fail(job_id, Cause("the table is gone", "TABLE_OR_VIEW_NOT_FOUND", "42P01", retryable=False))
    jobs.wait_status(job_id, Status.SUSPENDED)
    [row] = table(jobs, "jobs")
    assert row["last_error_condition"] == "TABLE_OR_VIEW_NOT_FOUND"
    assert "the table is gone" in str(row["last_error"])


def test_statements_are_shown_without_secrets(jobs: JobsHarness) -> None:
    query = "SELECT * FROM STREAM src -- jdbc:postgresql://ann:sesame@localhost/shop?password=sesame"
    jobs.make("orders", {"spark.my.password": "sesame"}, body=body(query=query))
    jobs.sql("CREATE SNAPSHOT s FOR JOB orders")
    for relation in SYSTEM_TABLES:
        assert "sesame" not in repr(list(rows(jobs.manager, relation.name))), relation.name
    assert "***" in str(table(jobs, "jobs")[0]["statement"])


def test_snapshots_have_their_ids(jobs: JobsHarness) -> None:
    job_id = jobs.make("orders")
    jobs.sql("CREATE SNAPSHOT s FOR JOB orders")
    [row] = table(jobs, "snapshots")
    [snapshot] = jobs.store.snapshots()
    assert (row["id"], row["name"], row["job"], row["job_id"]) == (snapshot.id, "s", "orders", job_id)


def test_show_members_gives_the_rows_of_the_relation(jobs: JobsHarness) -> None:
    shown = jobs.sql("SHOW MEMBERS")
    assert [dict(zip((column.name for column in shown.columns), row, strict=True)) for row in shown.rows] == table(
        jobs, "members"
    )


def test_the_history_of_all_jobs_is_that_of_each(jobs: JobsHarness) -> None:
    jobs.make("one")
    jobs.make("two")
    jobs.sql("SUSPEND JOB one")
    found = table(jobs, "job_history")
    for name in ("one", "two"):
        shown = jobs.sql(f"SHOW JOB HISTORY {name}")
        of_job = [row for row in found if row["job"] == name]
        assert [tuple(row[column.name] for column in shown.columns) for row in of_job] == list(shown.rows)
