"""Functions in Python: created, replaced, dropped, and known again after a restart of the engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jetsql.errors import StatementError
from jetsql.jobs.model.function import UsedFunction
from jetsql.jobs.statements.function_statements import drop_function
from jetsql.jobs.statements.system_tables import rows
from tests.support.engines.in_memory_runtime import analysis
from tests.support.engines.jobs_harness import JobsHarness, run_manager
from tests.support.golden_reports import raises

CREATE = "CREATE FUNCTION {name}(x INT) RETURNS INT LANGUAGE PYTHON AS $$ return {value} $$"
REPLACE = CREATE.replace("CREATE", "CREATE OR REPLACE", 1)


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[JobsHarness]:
    with run_manager(tmp_path) as harness:
        yield harness


def named(jobs: JobsHarness) -> list[str]:
    return [f"{row[0]}.{row[1]}" for row in rows(jobs.manager, "functions")]


def test_a_function_is_stored_and_registered(jobs: JobsHarness) -> None:
    result = jobs.sql(CREATE.format(name="f", value=1))
    assert result.rows == (("default.f", "Created."),)
    assert named(jobs) == ["default.f"]
    assert [function.source for function in jobs.runtime.functions.values()] == [" return 1 "]
    assert jobs.manager.store.functions() == jobs.manager.functions.all()


def test_function_names_ignore_case(jobs: JobsHarness) -> None:
    jobs.sql(CREATE.format(name="f", value=1))
    with raises(StatementError, match="already exists"):
        jobs.sql(CREATE.format(name="F", value=2))
    result = jobs.sql(CREATE.replace("FUNCTION", "FUNCTION IF NOT EXISTS").format(name="F", value=2))
    assert result.rows == (("default.f", "A function with this name already exists."),)
    jobs.sql(CREATE.format(name="other.f", value=2))
    assert named(jobs) == ["default.f", "other.f"]


def test_or_replace_names_the_jobs_that_call_the_previous_one(jobs: JobsHarness) -> None:
    jobs.sql(CREATE.format(name="f", value=1))
    [function] = jobs.manager.functions.all()
    jobs.runtime.analysis = analysis(functions=(UsedFunction("default.f", function.fingerprint),))
    jobs.make("j")
    assert jobs.sql(REPLACE.format(name="f", value=1)).rows[0][1] == "Replaced."
    message = jobs.sql(REPLACE.format(name="f", value=2)).rows[0][1]
    assert message == (
        "Replaced. The job j was created with the previous function. CREATE OR REPLACE JOB changes to the new one."
    )
    assert [each.source for each in jobs.runtime.functions.values()] == [" return 2 "]


def test_a_builtin_function_hides_one_with_its_name(jobs: JobsHarness) -> None:
    assert "call this one as default.abs" in str(jobs.sql(CREATE.format(name="abs", value=1)).rows[0][1])


def test_drop(jobs: JobsHarness) -> None:
    jobs.sql(CREATE.format(name="f", value=1))
    drop_function(jobs.manager, "DEFAULT", "F", if_exists=False)
    assert named(jobs) == []
    assert jobs.runtime.functions == {}
    drop_function(jobs.manager, "default", "f", if_exists=True)
    with raises(StatementError, match="no function named"):
        drop_function(jobs.manager, "default", "f", if_exists=False)


def test_functions_are_registered_before_jobs_restart(tmp_path: Path) -> None:
    with run_manager(tmp_path) as first:
        first.sql(CREATE.format(name="f", value=1))
        first.make("j")
    with run_manager(tmp_path) as again:
        again.wait_run(again.manager.registry.live()[0].job.id, 2)
        calls = [call.split(" ")[0] for call in again.runtime.calls]
        assert calls.index("register_function") < calls.index("start")
        assert named(again) == ["default.f"]


def test_function_fingerprint_depends_on_body_and_types(jobs: JobsHarness) -> None:
    def fingerprint(text: str) -> str:
        jobs.sql(text)
        return jobs.manager.functions.all()[0].fingerprint

    first = fingerprint(REPLACE.format(name="f", value=1))
    assert fingerprint(REPLACE.format(name="f", value=1).replace(" AS ", " COMMENT 'c' AS ")) == first
    assert fingerprint(REPLACE.format(name="f", value=2)) != first
    assert fingerprint(REPLACE.format(name="f", value=1).replace("x INT", "x BIGINT")) != first
