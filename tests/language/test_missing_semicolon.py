"""The hint at a semicolon that is missing between two statements."""

from __future__ import annotations

import pytest

from jetsql.errors import StatementError
from jetsql.language import missing_semicolon_hint, parse


def hint_of(text: str) -> str:
    with pytest.raises(StatementError) as error:
        parse(text)
    assert error.value.place is not None
    return error.value.hint


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("SHOW JOBS\nSELECT 1", "SELECT"),
        ("SHOW JOBS SELECT 1", "SELECT"),
        ("SUSPEND JOB a\nRESUME JOB b", "RESUME"),
        ("ALTER JOB a OPTIONS ('trigger' = 'interval')\nshow jobs", "SHOW"),
        ("DROP JOB a\nSET x = 1", "SET"),
        ("CREATE JOB a AS INSERT INTO t SELECT 1\nCREATE JOB b AS INSERT INTO u SELECT 2", "CREATE"),
        (
            "CREATE JOB a AS INSERT INTO t SELECT 1\nCREATE OR REPLACE JOB `b` COMMENT 'x' AS SINK INTO u SELECT 2",
            "CREATE",
        ),
    ],
)
def test_a_statement_that_follows_without_a_semicolon(text: str, word: str) -> None:
    assert hint_of(text) == f"A semicolon is missing before {word}, which begins another statement."


@pytest.mark.parametrize(
    "text",
    [
        "SHOW JOBS WITH x",
        "SUSPEND JOB SELECT 1",
        "SHOW JOBS x",
        "CREATE JOB a AS INSERT INTO t SELECT 1 INSERT INTO u SELECT 2",
    ],
)
def test_other_errors_have_other_hints(text: str) -> None:
    assert "A semicolon is missing" not in hint_of(text)


def hint_at(text: str, word: str, complete: str) -> str:
    return missing_semicolon_hint(text, text.index(word), lambda part: part.strip() == complete)


def test_the_word_before_the_error_may_begin_the_statement() -> None:
    """Spark reads SHOW as the name of a column."""
    hint = "A semicolon is missing before SHOW, which begins another statement."
    assert hint_at("SELECT 1\nSHOW JOBS", "JOBS", "SELECT 1") == hint
    assert hint_at("SELECT 1\nSHOW JOBS", "SHOW", "SELECT 1") == hint
    assert hint_at("SELECT 1,\nSHOW JOBS", "JOBS", "SELECT 1") == ""
    assert hint_at("SELECT 1 x\nJOBS", "JOBS", "SELECT 1 x") == ""
    assert hint_at("SELECT 1 WITH x", "x", "SELECT 1") == ""
    assert missing_semicolon_hint("SELECT 1\nSHOW JOBS", 3, lambda part: True) == ""
    assert missing_semicolon_hint("SELECT", 0, lambda part: True) == ""
