"""Spellings of Flink and ksqlDB in a body: each error points at the clause and names Spark's spelling."""

from __future__ import annotations

import pytest

from jetsql.errors import StatementError
from jetsql.language.body.several_inserts import read_body
from tests.support.golden_reports import raises


@pytest.mark.parametrize(
    ("query", "word", "hint"),
    [
        ("SELECT * FROM b EMIT CHANGES", "EMIT", "SINK INTO"),
        ("SELECT * FROM b EMIT FINAL", "EMIT", "INSERT INTO"),
    ],
)
def test_a_foreign_clause_is_refused_at_its_place(query: str, word: str, hint: str) -> None:
    text = f"INSERT INTO t {query}"
    with raises(StatementError) as refused:
        read_body(text, 0)
    error = refused.value
    assert error.condition.endswith("UNSUPPORTED_QUERY")
    assert error.place is not None
    assert text[error.place.start : error.place.stop] == word
    assert hint in (error.hint or "")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM emit changes",
        "SELECT * FROM TABLE(tumble(1, 2))",
        "SELECT tumble(ts), descriptor(x) FROM s",
        "SELECT * FROM s match_recognize (a, b)",
        "SELECT * FROM s match_recognize (all)",
        "SELECT * FROM s MATCH_RECOGNIZE (ORDER BY t PATTERN (A? (B | C)+? D{2,3}) DEFINE A AS a > 1)",
        "SELECT * FROM TABLE(TUMBLE(TABLE b, DESCRIPTOR(ts), INTERVAL '10' SECOND))",
        "SELECT * FROM b JOIN d FOR SYSTEM_TIME AS OF b.p ON b.k = d.k",
    ],
)
def test_clauses_and_names_that_spark_accepts_are_kept(query: str) -> None:
    assert read_body(f"INSERT INTO t {query}", 0).text.endswith(query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ? FROM s MATCH_RECOGNIZE (ORDER BY t PATTERN (A) DEFINE A AS a > 1)",
        "SELECT * FROM s MATCH_RECOGNIZE (ORDER BY t PATTERN (A?) DEFINE A AS a > ?)",
        "SELECT * FROM s match_recognize (pattern, a) WHERE pattern (?)",
    ],
)
def test_a_parameter_outside_of_a_pattern_is_refused(query: str) -> None:
    with pytest.raises(StatementError, match="PARAMETER_IN_BODY"):
        read_body(f"INSERT INTO t {query}", 0)
