"""The parameter markers of JetSQL's statements, and the values in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from jetsql.embedded.bound_statements import bind, bound_statement
from jetsql.errors import Span, StatementError
from jetsql.language.body.parameter_markers import bind_markers, find_markers
from jetsql.language.statement import CreateJob, ShowJobs
from jetsql.language.tokens import tokens
from tests.support.golden_reports import raises


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT ?, :a, :`b c` FROM s WHERE x = :a", ["", "a", "b c", "a"]),
        ("SELECT v:x, s[0]:y, f(a):z, '?', '':a", []),
        ("SELECT CAST(a AS STRUCT<b: INT>), a?::int", []),
        ("WHERE x IN (:a, ?) AND y LIKE :b -- ?", ["a", "", "b"]),
        ("SELECT * FROM s MATCH_RECOGNIZE (PATTERN (A? B) DEFINE A AS x > ?)", [""]),
    ],
)
def test_markers(text: str, names: list[str]) -> None:
    markers = find_markers([*tokens(text)])
    assert [marker.name for marker in markers] == names


@pytest.mark.parametrize(
    ("text", "values", "bound"),
    [
        ("SHOW JOBS LIKE ?", ["'a*'"], "SHOW JOBS LIKE 'a*'"),
        ("SHOW JOBS LIKE :p", {"p": "'a*'", "q": "1"}, "SHOW JOBS LIKE 'a*'"),
        ("WAIT FOR JOB j TIMEOUT :n SECONDS", {"n": "5"}, "WAIT FOR JOB j TIMEOUT 5 SECONDS"),
        ("CREATE JOB j AS INSERT INTO t SELECT ?, '?' FROM s WHERE a > ?", ["'it\\'s'", "1"], None),
    ],
)
def test_values_are_literals_of_the_statement(
    text: str, values: Mapping[str, str] | Sequence[str], bound: str | None
) -> None:
    expected = "CREATE JOB j AS INSERT INTO t SELECT 'it\\'s', '?' FROM s WHERE a > 1" if bound is None else bound
    assert bind(text, values) == expected
    assert isinstance(bound_statement(text, lambda: values)[1], (ShowJobs, CreateJob)) or "WAIT" in text


def test_statements_of_spark_are_left_to_spark() -> None:
    assert bind("SELECT ?", ["1"]) is None
    assert bind("SHOW TABLES LIKE :p", {"p": "'a'"}) is None


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("SHOW JOBS LIKE ?", ["'a'", "1"]),
        ("SHOW JOBS LIKE 'a'", ["1"]),
        ("CREATE JOB j AS INSERT INTO t SELECT ?, ? FROM s", ["1"]),
        ("SHOW JOBS LIKE :p", {"q": "1"}),
        ("SHOW JOBS LIKE ?", ["1"]),
    ],
)
def test_values_that_do_not_fit(text: str, values: Mapping[str, str] | Sequence[str]) -> None:
    with raises(StatementError):
        bind(text, values)


def test_places_are_those_of_the_text_without_values() -> None:
    text = "a ? b :c d"
    bound = bind_markers("a ? b ? d", ["'long text'", "1"])
    assert bound.text == "a 'long text' b 1 d"
    for start, stop, expected in ((0, 1, "a"), (2, 13, "?"), (4, 6, "?"), (14, 15, "b"), (16, 17, "?"), (18, 19, "d")):
        place = bound.original(Span(start, stop))
        assert "a ? b ? d"[place.start : place.stop] == expected, text
    with pytest.raises(StatementError) as caught:
        bound_statement("SHOW JOBS LIKE ? x", lambda: ["'a long pattern'"])
    assert caught.value.place == Span(17, 18)
