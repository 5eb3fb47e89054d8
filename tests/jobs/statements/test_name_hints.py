"""Hints that propose a name: the statement with the name from the hint acts on the object that was meant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from jetsql.errors import StatementError
from jetsql.language import parse
from jetsql.language.statement import DropJob
from jetsql.language.tokens import quoted_name
from tests.support.engines.jobs_harness import JobsHarness, create, run_manager

NAMES = ("st.totals", "st.`my totals`", "big orders", "tick`ed", "2024", "a-b", "Ünïcode", "if", "with.snapshot")
PARTS = some.one_of(
    some.from_regex(r"\A[A-Za-z_]\w{0,5}\Z"), some.text("ab.`- é", min_size=1, max_size=5).map(quoted_name)
)


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[JobsHarness]:
    with run_manager(tmp_path) as harness:
        yield harness


@given(some.lists(PARTS, min_size=2, max_size=3))
def test_hint_proposes_the_job_of_a_qualified_table(parts: list[str]) -> None:
    statement = parse(corrected(f"DROP JOB {'.'.join(parts)}"))
    assert isinstance(statement, DropJob)
    values = [part[1:-1].replace("``", "`") if part.startswith("`") else part for part in parts]
    assert statement.name.text == ".".join(part if re.fullmatch(r"\w+", part) else quoted_name(part) for part in values)


@pytest.mark.parametrize("written", ["my-job", "2024", "a.b", "a.", "`a b`.c", "50%"])
@pytest.mark.parametrize("statement", ["DROP JOB {}", "CREATE SNAPSHOT {} FOR JOB j", "SHOW JOB HISTORY {}"])
def test_hint_quotes_names_that_are_no_words(statement: str, written: str) -> None:
    assert parse(corrected(statement.format(written))) == parse(statement.format(quoted_name(written)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("statement", ["DROP JOB {}", "SUSPEND JOB {}", "DESCRIBE JOB {}", "WAIT FOR JOB {}"])
def test_a_hint_at_a_misspelled_job_names_this_job(jobs: JobsHarness, statement: str, name: str) -> None:
    job_id = jobs.run(create(name)).rows[0][0]
    jobs.run(create("totals"))
    hint = hint_at(jobs, statement.format(quoted_name(f"{name}x")))
    assert jobs.sql(f"DROP JOB {meant(hint)}").rows[0][0] == job_id


def test_hint_proposes_each_schema_of_a_table(jobs: JobsHarness) -> None:
    for name in ("st.totals", "other.totals", "subtotals"):
        jobs.run(create(name))
    assert hint_at(jobs, "DROP JOB totals") == "Did you mean `other.totals` or `st.totals`?"


@pytest.mark.parametrize("name", NAMES)
def test_a_hint_at_a_misspelled_snapshot_names_this_snapshot(jobs: JobsHarness, name: str) -> None:
    jobs.make()
    jobs.sql(f"CREATE SNAPSHOT {quoted_name(name)} FOR JOB j")
    hint = hint_at(jobs, f"DROP SNAPSHOT {quoted_name(f'{name}x')}")
    assert jobs.row(f"DROP SNAPSHOT {meant(hint)}")["name"] == name


def corrected(text: str) -> str:
    """Return a refused statement after the correction of its error."""
    with pytest.raises(StatementError) as caught:
        parse(text)
    error = caught.value
    assert error.place is not None and error.correction in error.hint
    return text[: error.place.start] + error.correction + text[error.place.stop :]


def hint_at(jobs: JobsHarness, text: str) -> str:
    with pytest.raises(StatementError) as caught:
        jobs.sql(text)
    return caught.value.hint


def meant(hint: str) -> str:
    found = re.fullmatch(r"Did you mean (.+)\?", hint)
    assert found is not None, hint
    return found[1]
