"""Bodies that went through sqlglot are the same plans for Spark's parser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import sqlglot
from pyspark.errors import ParseException

from jetsql.errors import StatementError
from jetsql.language import parse
from jetsql.language.body.several_inserts import branch_text, source_text
from jetsql.language.statement import Body
from jetsql.sqlglot_dialect import JetSQL
from tests.support.sql_corpus import accepted_statements, document_statements

if TYPE_CHECKING:
    from jetsql.embedded.embedded_engine import EmbeddedEngine

pytestmark = pytest.mark.spark
_EQUAL = (
    (re.compile(r"#\d+|\[plan_id=\d+\]"), ""),  # numbers that Spark's parser gives to nodes
    (re.compile(r"join cross"), "join inner"),  # of a list of tables in FROM
    (re.compile(r"not isnull\("), "isnotnull("),
    (re.compile(r"'(\w+) as \1\b"), r"'\1"),  # struct(a AS a)
)
"""What sqlglot writes otherwise with the same meaning."""


def bodies(text: str) -> list[str]:
    """Return the texts of a job's body that Spark parses."""
    try:
        statement = parse(text)
    except StatementError:
        return []
    create = getattr(statement, "create", statement)
    body = getattr(getattr(create, "create", create), "body", None)
    if not isinstance(body, Body):
        return []
    if body.branches:
        return [source_text(body), *(branch_text(body, branch) for branch in body.branches)]
    return [body.spark_text]


def test_bodies_are_the_same_plans(engine: EmbeddedEngine) -> None:
    parser = engine.spark._jsparkSession.sessionState().sqlParser()

    def plan(body: str) -> str:
        try:
            found = str(parser.parsePlan(body).toString()).casefold()
        except ParseException as error:  # the grammar's corpus has bodies that only Spark refuses
            return str(error.getCondition())
        for pattern, replacement in _EQUAL:
            found = pattern.sub(replacement, found)
        return found

    def plans(text: str) -> list[str]:
        return [plan(body) for body in bodies(text)]

    checked = 0
    different = []
    for text in [*accepted_statements(), *document_statements()]:
        before = plans(text)
        if not before:
            continue
        [tree] = sqlglot.parse(text, read=JetSQL)
        assert tree is not None
        for pretty in (False, True):
            after = plans(tree.sql(JetSQL, pretty=pretty))
            if after != before:
                different.append((text, before, after))
        checked += 1
    assert different == []
    assert checked > 100
