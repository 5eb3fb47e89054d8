"""The beginnings of statements: their verb, and the kind and the name of their object."""

from __future__ import annotations

import pytest

from jetsql.language.statement_effects import keeps_session
from jetsql.language.statement_head import after_explain, head_of, name_at, read_head
from jetsql.language.tokens import tokens


@pytest.mark.parametrize(
    ("text", "verb", "kind", "name"),
    [
        ("CREATE TABLE t (id INT)", "CREATE", "TABLE", ("t",)),
        ("create /* a */ or replace global temporary view `a b`.v AS SELECT 1", "CREATE", "VIEW", ("a b", "v")),
        ("CREATE EXTERNAL TABLE IF NOT EXISTS a.b.t LIKE u", "CREATE", "TABLE", ("a", "b", "t")),
        ("CREATE OR REPLACE FUNCTION f() RETURNS INT RETURN 1", "CREATE", "FUNCTION", ("f",)),
        ("DROP DATABASE IF EXISTS d CASCADE", "DROP", "SCHEMA", ("d",)),
        ("DROP NAMESPACE a.b", "DROP", "SCHEMA", ("a", "b")),
        ("CREATE OR REPLACE JOB j AS INSERT INTO t SELECT 1", "CREATE", "JOB", ("j",)),
        ("DROP SNAPSHOT s", "DROP", "SNAPSHOT", ("s",)),
        ("CREATE INDEX i ON TABLE t (id)", "CREATE", "", None),
        ("CREATE FLOW f AS INSERT INTO TABLE t SELECT 1", "CREATE", "", None),
        ("SELECT 1", "SELECT", "", None),
        ("(SELECT 1)", "(", "", None),
        ("DROP TABLE", "DROP", "TABLE", None),
        ("-- nothing", "", "", None),
    ],
)
def test_head_has_verb_kind_and_name(text: str, verb: str, kind: str, name: tuple[str, ...] | None) -> None:
    found = list(tokens(text))
    head = read_head(found)
    named = name_at(found, head.name_at) if head.kind else None
    assert (head.verb, head.kind, named and named[0]) == (verb, kind, name)
    assert head_of(text) == head


def test_head_says_what_the_statement_replaces() -> None:
    heads = [head_of(f"CREATE {words} TABLE t AS SELECT 1") for words in ("", "OR REPLACE", "OR REFRESH STREAMING")]
    assert [(head.replaces, head.has_job) for head in heads] == [("", False), ("REPLACE", False), ("REFRESH", True)]
    assert head_of("CREATE MATERIALIZED VIEW v AS SELECT 1").has_job
    assert not head_of("CREATE STREAMING VIEW v AS SELECT 1").has_job


def test_head_has_the_guard_before_the_name() -> None:
    guards = [head_of(f"DROP VIEW {words} v").guard for words in ("", "IF EXISTS", "IF NOT EXISTS")]
    assert guards == ["", "IF EXISTS", "IF NOT EXISTS"]


@pytest.mark.parametrize("explain", ["EXPLAIN", "EXPLAIN EXTENDED", "explain logical", ""])
def test_explained_statement_follows_the_mode(explain: str) -> None:
    assert [token.text for token in after_explain(list(tokens(f"{explain} SELECT 1")))] == ["SELECT", "1"]


@pytest.mark.parametrize(
    ("text", "keeps"),
    [
        ("SELECT 1", True),
        ("EXPLAIN EXTENDED SELECT 1", True),
        ("SUSPEND JOB j", True),
        ("CREATE OR REPLACE TABLE t AS SELECT 1", True),
        ("CREATE /* the shop's */ DATABASE shop", True),
        ("DROP SCHEMA shop", True),
        ("CREATE FUNCTION f() RETURNS INT RETURN 1", True),
        ("CREATE TEMPORARY FUNCTION f() RETURNS INT RETURN 1", False),
        ("DROP FUNCTION f", False),
        ("CREATE OR REPLACE TEMP VIEW v AS SELECT 1", False),
        ("CREATE TEMPORARY TABLE t USING json", False),
        ("USE shop", False),
        ("SET a = 1", False),
        ("", False),
    ],
)
def test_statements_that_keep_the_session(text: str, keeps: bool) -> None:
    assert keeps_session(text) is keeps
