"""Parse scripts for sqlglot: JetSQL's statements by JetSQL's grammar, all others by sqlglot's parser for Spark."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlglot import ErrorLevel
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, SqlglotError

from jetsql.errors import Span, StatementError
from jetsql.language import Fragment, can_be_jetsql, parse, split
from jetsql.language.statement import Statement
from jetsql.language.tokens import Kind, scan
from jetsql.sqlglot_dialect.spark_trees import STREAM, SparkTrees, command
from jetsql.sqlglot_dialect.sqlglot_calls import parse_tokens, tokenize
from jetsql.sqlglot_dialect.sqlglot_tokens import Place
from jetsql.sqlglot_dialect.statement_trees import StatementTrees

_CONTEXT: Final = 100  # characters around an error
_LOGGER: Final = logging.getLogger("sqlglot")


def parse_script(spark: Dialect, sql: str, opts: Mapping[str, Any]) -> list[Any]:
    """Return the expressions of a script. Raises ParseError or TokenError of sqlglot."""
    fragments = split(sql)
    statements = [_read(fragment, sql, opts) for fragment in fragments]
    if all(statement is None for statement in statements) and STREAM.search(sql) is None:
        trees = _trees_of_script(spark, fragments, sql, opts)
        if trees is not None:
            return trees
    found: list[Any] = []
    stop = 0
    for fragment, statement in zip(fragments, statements, strict=True):
        for tree in _trees(spark, fragment, statement, sql, opts):
            if tree is not None:
                tree.add_comments(_comments(sql, stop, fragment.start), prepend=True)
            found.append(tree)
        stop = fragment.start + len(fragment.text)
    if found and found[-1] is not None:
        found[-1].add_comments(_comments(sql, stop, len(sql)))
    return found


def _read(fragment: Fragment, sql: str, opts: Mapping[str, Any]) -> Statement | str | None:
    """Return JetSQL's statement, or None for Spark's; the text of a statement with an error that is to be ignored."""
    if not can_be_jetsql(fragment.text):
        return None
    try:
        return parse(fragment.text)
    except StatementError as error:
        if opts.get("error_level") in (ErrorLevel.IGNORE, ErrorLevel.WARN):
            _LOGGER.warning(error.explanation)
            return fragment.text
        raise _parse_error(error, fragment, sql) from error


def _parse_error(error: StatementError, fragment: Fragment, sql: str) -> ParseError:
    place = error.place or Span(0, 0)
    start, stop = fragment.start + place.start, fragment.start + place.stop
    at = Span(start, stop)
    line, column = at.line(sql), at.column(sql) + 1
    return ParseError.new(
        f"{error.explanation} Line {line}, Col: {column}.",
        description=error.explanation,
        line=line,
        col=column,
        start_context=sql[max(start - _CONTEXT, 0) : start],
        highlight=sql[start:stop],
        end_context=sql[stop : stop + _CONTEXT],
    )


def _trees(
    spark: Dialect, fragment: Fragment, statement: Statement | str | None, sql: str, opts: Mapping[str, Any]
) -> Sequence[Any]:
    place = Place(fragment.start, fragment.line, fragment.column)
    if statement is None:
        return SparkTrees(spark, fragment.text, place, sql, opts).trees()
    if isinstance(statement, str):
        return [command(statement)]
    tree = StatementTrees(spark, fragment.text, place, sql).tree(statement)
    body = statement_body_place(statement)
    tree.add_comments(_comments(fragment.text, 0, len(fragment.text) if body is None else body.start))
    return [tree]


def _trees_of_script(
    spark: Dialect, fragments: Sequence[Fragment], sql: str, opts: Mapping[str, Any]
) -> list[Any] | None:
    """Return the expressions of a script of Spark's statements; None if sqlglot cannot read it, or splits it otherwise.

    An expression of sqlglot's stays unless it would be written with another meaning.
    """
    try:
        trees = parse_tokens(spark, tokenize(spark, sql), sql, **opts)
        statements = [index for index, tree in enumerate(trees) if tree is not None]
        if len(statements) != len(fragments):
            return None
        for index, fragment in zip(statements, fragments, strict=True):
            place = Place(fragment.start, fragment.line, fragment.column)
            [tree] = SparkTrees(spark, fragment.text, place, sql, opts).trees()
            if tree != trees[index]:
                tree.add_comments(trees[index].comments, prepend=True)
                trees[index] = tree
    except (SqlglotError, RecursionError):
        return None
    return trees


def statement_body_place(statement: Statement) -> Span | None:
    """Return the place of the body of a job, whose comments sqlglot's parser reads; None without a body."""
    create = getattr(statement, "create", statement)
    body = getattr(getattr(create, "create", create), "body", None)
    return None if body is None else body.place


def _comments(text: str, start: int, stop: int) -> list[str]:
    """Return the comments in a part of a text as sqlglot has them, without their marks."""
    found = (token.text for token in scan(text[start:stop]) if token.kind is Kind.COMMENT)
    return [text[2:-2] if text.startswith("/*") else text[2:] for text in found]
