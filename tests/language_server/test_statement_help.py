"""The help of statements says what the reference says."""

from __future__ import annotations

import re

import pytest

from jetsql.language.statement_syntax import statement_rules, statement_title
from jetsql.language.tokens import tokens
from jetsql.language_server.statement_help import SENTENCES, rule_of_text
from tests.support.paths import ROOT

REFERENCE = (ROOT / "docs" / "reference" / "statements.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("rule", statement_rules())
def test_each_statement_is_described_as_in_the_reference(rule: str) -> None:
    section = re.search(rf"^## {statement_title(rule)}\n\n(.*?)\n\n", REFERENCE, re.MULTILINE | re.DOTALL)
    assert section is not None
    described = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(section[1].split()))
    assert described.startswith(SENTENCES[rule])


def test_no_other_statement_is_described() -> None:
    assert set(SENTENCES) == set(statement_rules())


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("create or replace job", "create_job"),
        ("ALTER JOB j SUSPEND", "suspend_job"),
        ("ALTER JOB j", "alter_job_options"),
        ("EXPLAIN FORMATTED CREATE JOB j AS", "explain_create_job"),
        ("CREATE OR REFRESH MATERIALIZED VIEW v", "create_streaming_table"),
        ("SHOW CREATE MATERIALIZED VIEW v", "show_create_streaming_table"),
        ("SHOW MATERIALIZED VIEWS LIKE", "show_streaming_tables"),
        ("DESC JOB", "describe_job"),
        ("SHOW JOB HISTORY", "show_job_history"),
        ("CREATE TABLE t (a INT)", None),
        ("SELECT 1", None),
        ("SHOW", None),
        ("", None),
    ],
)
def test_the_statement_is_known_while_it_is_typed(text: str, rule: str | None) -> None:
    assert rule_of_text(text, list(tokens(text))) == rule
