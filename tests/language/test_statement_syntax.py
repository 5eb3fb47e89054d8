"""The syntax of statements as text."""

from __future__ import annotations

import re

import pytest

from jetsql.language.grammar import MARKS, SLOTS
from jetsql.language.statement_syntax import statement_rules, syntax_text


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (
            "wait_for_job",
            "WAIT FOR JOB (name | 'id') [UNTIL (COMPLETED | IDLE | BATCH n)] [TIMEOUT n [SECONDS | SECOND]]",
        ),
        ("show_jobs", "SHOW [ALL] JOBS [LIKE 'pattern']"),
        ("suspend_job", "SUSPEND JOB (name | 'id') | ALTER JOB (name | 'id') SUSPEND"),
        ("drop_job", "DROP JOB [IF EXISTS] (name | 'id') [WITH SNAPSHOT snapshot]"),
        (
            "create_job",
            "CREATE [OR REPLACE] JOB [IF NOT EXISTS] name [(CONSTRAINT rule EXPECT (condition)"
            " [ON VIOLATION (DROP ROW | FAIL [UPDATE] | INTO TABLE table)] [, ...])] [COMMENT 'text']"
            " [OPTIONS ('key' = 'value' [, ...])] [START_MODE = ((FROM_BEGINNING | RESUME_OR_FROM_BEGINNING)"
            " | (FROM_NOW | RESUME_OR_FROM_NOW) [(literal)] | (FROM_TIMESTAMP | RESUME_OR_FROM_TIMESTAMP | FROM_OFFSETS"
            " | RESUME_OR_FROM_OFFSETS) (literal))]"
            " AS INSERT statement",
        ),
    ],
)
def test_syntax_is_that_of_the_grammar(rule: str, text: str) -> None:
    assert syntax_text(rule) == text


@pytest.mark.parametrize("rule", statement_rules())
def test_syntax_has_no_names_of_the_grammar(rule: str) -> None:
    text = syntax_text(rule)
    assert text.count("(") == text.count(")") and text.count("[") == text.count("]")
    assert not re.findall(r"\b[a-z]\w*_\w+", text)
    assert not set(re.findall(r"\w+", text)) & (set(SLOTS) | set(MARKS))
