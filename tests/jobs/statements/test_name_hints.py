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
from tests.support.engines.jobs_world import World, create, world

NAMES = ("st.totals", "st.`my totals`", "big orders", "tick`ed", "2024", "a-b", "Ünïcode", "if", "with.snapshot")
PARTS = some.one_of(
    some.from_regex(r"\A[A-Za-z_]\w{0,5}\Z"), some.text("ab.`- é", min_size=1, max_size=5).map(quoted_name)
)


@pytest.fixture
def w(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


@given(some.lists(PARTS, min_size=2, max_size=3))
def test_a_name_with_a_schema_is_proposed_as_the_name_of_the_tables_job(parts: list[str]) -> None:
    statement = parse(corrected(f"DROP JOB {'.'.join(parts)}"))
    assert isinstance(statement, DropJob)
    values = [part[1:-1].replace("``", "`") if part.startswith("`") else part for part in parts]
    assert statement.name.text == ".".join(part if re.fullmatch(r"\w+", part) else quoted_name(part) for part in values)


@pytest.mark.parametrize("written", ["my-job", "2024", "a.b", "a.", "`a b`.c", "50%"])
@pytest.mark.parametrize("statement", ["DROP JOB {}", "CREATE SNAPSHOT {} FOR JOB j", "SHOW JOB HISTORY {}"])
def test_a_name_that_is_not_a_word_is_proposed_in_back_quotes(statement: str, written: str) -> None:
    assert parse(corrected(statement.format(written))) == parse(statement.format(quoted_name(written)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("statement", ["DROP JOB {}", "SUSPEND JOB {}", "DESCRIBE JOB {}", "WAIT FOR JOB {}"])
def test_a_hint_at_a_misspelled_job_names_this_job(w: World, statement: str, name: str) -> None:
    job_id = w.run(create(name)).rows[0][0]
    w.run(create("totals"))
    hint = hint_at(w, statement.format(quoted_name(f"{name}x")))
    assert w.sql(f"DROP JOB {meant(hint)}").rows[0][0] == job_id


def test_a_table_without_its_schema_is_proposed_with_each_schema_that_has_it(w: World) -> None:
    for name in ("st.totals", "other.totals", "subtotals"):
        w.run(create(name))
    assert hint_at(w, "DROP JOB totals") == "Did you mean `other.totals` or `st.totals`?"


@pytest.mark.parametrize("name", NAMES)
def test_a_hint_at_a_misspelled_snapshot_names_this_snapshot(w: World, name: str) -> None:
    w.make()
    w.sql(f"CREATE SNAPSHOT {quoted_name(name)} FOR JOB j")
    hint = hint_at(w, f"DROP SNAPSHOT {quoted_name(f'{name}x')}")
    assert w.row(f"DROP SNAPSHOT {meant(hint)}")["name"] == name


def corrected(text: str) -> str:
    """Return a refused statement after the correction of its error."""
    with pytest.raises(StatementError) as refused:
        parse(text)
    error = refused.value
    assert error.place is not None and error.correction in error.hint
    return text[: error.place.start] + error.correction + text[error.place.stop :]


def hint_at(w: World, text: str) -> str:
    with pytest.raises(StatementError) as refused:
        w.sql(text)
    return refused.value.hint


def meant(hint: str) -> str:
    found = re.fullmatch(r"Did you mean (.+)\?", hint)
    assert found is not None, hint
    return found[1]
