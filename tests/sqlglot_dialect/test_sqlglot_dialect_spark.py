"""Bodies that went through sqlglot are the same plans for Spark's parser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import sqlglot

from jetsql.errors import StatementError
from jetsql.language import parse
from jetsql.language.body.several_inserts import branch_text, source_text
from jetsql.language.statement import Body
from jetsql.sqlglot_dialect import JetSQL
from tests.support.sql_corpus import accepted_statements, document_statements

if TYPE_CHECKING:
    from jetsql.embedded.embedded_engine import EmbeddedEngine

pytestmark = pytest.mark.spark
# Numbers that Spark's parser gives to nodes, and the text of an expression as its alias.
_NUMBERS = re.compile(r"#\d+|\[plan_id=\d+\]")


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

    def plans(text: str) -> list[str]:
        return [_NUMBERS.sub("", parser.parsePlan(body).toString()) for body in bodies(text)]

    checked = 0
    for text in [*accepted_statements(), *document_statements()]:
        before = plans(text)
        if not before:
            continue
        [tree] = sqlglot.parse(text, read=JetSQL)
        assert tree is not None
        for pretty in (False, True):
            written = tree.sql(JetSQL, pretty=pretty)
            assert plans(written) == before, written
        checked += 1
    assert checked > 100
