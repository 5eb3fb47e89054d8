"""Make expressions of sqlglot from Spark's statements, which may read streams."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from jetsql.language.blocks import opens_block
from jetsql.language.statement_owner import lead_of
from jetsql.language.tokens import tokens
from jetsql.sqlglot_dialect.faithful_trees import faithful_tree
from jetsql.sqlglot_dialect.generate_sql import body_sql
from jetsql.sqlglot_dialect.protected_parts import Protection
from jetsql.sqlglot_dialect.sqlglot_calls import SqlglotFailure, parse_tokens
from jetsql.sqlglot_dialect.sqlglot_tokens import Place, read_tokens
from jetsql.sqlglot_dialect.stream_clauses import CannotParse, ClauseCutter

STREAM: Final = re.compile(r"\b(?:STREAM\b|WATERMARK\b|MATCH_RECOGNIZE\b|WITH\s*\()", re.IGNORECASE)
"""Finds the words of scripts that may read streams, tables with options or patterns of rows."""


class SparkTrees:
    """Make the expressions of one statement."""

    def __init__(self, spark: Dialect, text: str, place: Place, sql: str, opts: Mapping[str, Any]) -> None:
        """Create it. place: of the statement in the script `sql`. opts: of sqlglot's parser."""
        self._spark = spark
        self._text = text
        self._place = place
        self._sql = sql
        self._opts = opts

    def trees(self) -> Sequence[Any]:
        """Return the expressions. Raises ParseError or TokenError of sqlglot."""
        if opens_block(lead_of(tokens(self._text))):
            return [command(self._text)]
        try:
            return [faithful_tree(self._text, self._read, self._write)]
        except (SqlglotFailure, RecursionError):
            return [command(self._text)]
        except CannotParse:  # sqlglot's own parser finds the place of the error, or makes a Command
            pass
        try:
            return parse_tokens(self._spark, read_tokens(self._spark, self._text, self._place), self._sql, **self._opts)
        except (SqlglotFailure, RecursionError):
            return [command(self._text)]

    def _write(self, tree: exp.Expression) -> str:
        return body_sql(self._spark, tree, {"comments": False})

    def _read(self, text: str, protection: Protection) -> exp.Expression:
        place, sql = (self._place, self._sql) if text is self._text else (Place(0, 1, 0), text)
        found = read_tokens(self._spark, text, place)
        if protection or STREAM.search(text) is not None:
            return ClauseCutter(self._spark, sql, protection=protection).parse(found)
        trees = parse_tokens(self._spark, found, sql, **self._opts)
        if len(trees) != 1 or not isinstance(trees[0], exp.Expression):
            raise CannotParse
        return trees[0]


def command(text: str) -> exp.Expression:
    """Return a statement as an expression that keeps its text."""
    verb, _, rest = text.partition(" ")
    return exp.Command(this=verb, expression=rest)
