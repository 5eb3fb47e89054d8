"""Read the queries of statements with sqlglot: their tables, and where sqlglot cannot read on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, SqlglotError, TokenError

from jetsql.errors import Span
from jetsql.language import statement as st
from jetsql.language.tokens import Token
from jetsql.sqlfiles.sqlglot_limits import too_large
from jetsql.sqlglot_dialect.body_trees import BodyTrees
from jetsql.sqlglot_dialect.sqlglot_calls import SqlglotFailure, guarded
from jetsql.sqlglot_dialect.sqlglot_tokens import Place, read_tokens
from jetsql.sqlglot_dialect.stream_clauses import CannotParse, ClauseCutter, IsCommand

_WRITERS: Final = (exp.Insert, exp.Create, exp.Merge, exp.Update, exp.Delete, exp.Drop, exp.Alter)
TOO_DEEP: Final = "its expressions are nested too deeply for sqlglot"
_INTERNALS: Final = re.compile(r" for <class [^>]*>| but got <Token .*", re.DOTALL)
# Spark's syntax that sqlglot does not know. A statement with it is not reported as wrong.
_UNKNOWN_TO_SQLGLOT: Final = frozenset({"ASOF", "MATCH_CONDITION", "DESCRIPTOR", "NEAREST", "CHANGES", "|>", "MATCH"})


@dataclass(frozen=True)
class NamedTable:
    """A table that a statement names."""

    parts: tuple[str, ...]  # without back quotes
    place: Span  # in the statement


@dataclass
class ReadQuery:
    """The tables that a statement reads, as far as sqlglot can parse it."""

    tree: Any = None  # sqlglot's expression, or None
    reads: list[NamedTable] = field(default_factory=list)
    problem: str = ""  # why there is no tree; empty if there is one
    place: Span | None = None  # where sqlglot cannot read on
    is_known_gap: bool = False  # Spark has the syntax and sqlglot does not
    is_failure: bool = False  # sqlglot ends with an error of Python
    is_command: bool = False  # sqlglot keeps statements of this kind as they are


def read_query(text: str, found: Sequence[Token], body: st.Body | None, table: st.NewTable | None) -> ReadQuery:
    """Return what a statement reads.

    found: the tokens of the statement. body, table: those of a job; None for a statement of Spark.
    """
    reason = too_large(text, found)
    if reason:
        return ReadQuery(problem=reason, is_known_gap=True)
    spark = Spark()
    trees = BodyTrees(spark, text, Place(0, 1, 0), text)
    try:
        if body is None:
            tree = ClauseCutter(spark, text).parse(read_tokens(spark, text, Place(0, 1, 0)))
        elif table is not None:
            tree = trees.table_tree(table.clauses, table.name.place)
        else:
            tree = trees.parse(body)
        with guarded():
            return ReadQuery(tree, list(_reads(tree)))
    except IsCommand:
        return ReadQuery(
            problem="sqlglot keeps statements of this kind as they are", is_known_gap=True, is_command=True
        )
    except (CannotParse, SqlglotError, RecursionError) as error:
        return _unread(text, found, error.__cause__ if isinstance(error, CannotParse) else error)


def _unread(text: str, found: Sequence[Token], error: BaseException | None) -> ReadQuery:
    words = {token.word or token.text for token in found}
    is_known = error is None or bool(words & _UNKNOWN_TO_SQLGLOT) or any(token.text == ":" for token in found)
    if isinstance(error, RecursionError):
        return ReadQuery(problem=TOO_DEEP, is_known_gap=True)
    if isinstance(error, SqlglotFailure):
        return ReadQuery(problem=str(error), is_failure=True, is_known_gap=True)
    if not isinstance(error, (ParseError, TokenError)):
        return ReadQuery(problem="it has syntax that sqlglot does not know", is_known_gap=True)
    details: list[Any] = getattr(error, "errors", [])
    if not details:
        return ReadQuery(problem=str(error).partition("\n")[0], is_known_gap=is_known)
    return ReadQuery(problem=describe_error(details[0]), place=_place(text, found, details[0]), is_known_gap=is_known)


def describe_error(details: dict[str, Any]) -> str:
    """Return the message of an error of sqlglot without its period, and without the names of sqlglot's classes."""
    return _INTERNALS.sub("", str(details.get("description") or "Unexpected token")).rstrip(".")


def _place(text: str, found: Sequence[Token], details: dict[str, Any]) -> Span | None:
    """Return the span of the token of sqlglot's error; its column is that of the token's end."""
    line, column = details.get("line"), details.get("col")
    if line is None or column is None:
        return None
    start = sum(len(each) + 1 for each in text.split("\n")[: line - 1])
    stop = start + column
    at = next((token for token in found if token.stop >= stop), None)
    return None if at is None else at.place


def _reads(tree: exp.Expression) -> Iterator[NamedTable]:
    """Yield the tables that a statement reads, without those that it defines itself or writes."""
    defined: set[str] = set()
    written: set[int] = set()
    tables: list[exp.Table] = []
    for node in tree.walk():
        if isinstance(node, exp.Table):
            tables.append(node)
        elif isinstance(node, exp.CTE):
            defined.add(node.alias.lower())
        elif isinstance(node, _WRITERS):
            target = node.this
            written.add(id(target.this if isinstance(target, exp.Schema) else target))
    for table in tables:
        use = named_table(table)
        if use is None or id(table) in written or (len(use.parts) == 1 and use.parts[0].lower() in defined):
            continue
        yield use


def named_table(table: exp.Table) -> NamedTable | None:
    """Return a table with its place; None for a function, a path, or a name without a place."""
    names = [part for part in table.parts if isinstance(part, exp.Identifier)]
    if not names or len(names) != len(table.parts) or any("/" in name.name for name in names):
        return None
    start, end = names[0].meta.get("start"), names[-1].meta.get("end")
    if start is None or end is None:
        return None
    return NamedTable(tuple(name.name for name in names), Span(int(start), int(end) + 1))
