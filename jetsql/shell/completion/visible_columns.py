"""Which columns a half-written query has at hand: of its tables, subqueries and CTEs, under their aliases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from jetsql.language.tokens import Kind, Token
from jetsql.shell.completion.known_names import Known, Names
from jetsql.shell.completion.query_scope import Query, Relation, value_of

# Subqueries within subqueries, and CTEs that name themselves: nobody reads deeper.
_DEPTH: Final = 8
_NO_NAMES: Final = frozenset({"END", "NULL", "TRUE", "FALSE", "DISTINCT", "ALL", "SELECT", "FROM"})


def in_scope(query: Query) -> Iterator[Relation]:
    """All that columns can come from, the nearest first: the query's own relations, then those of the outer ones."""
    level: Query | None = query
    while level is not None:
        yield from level.relations
        level = level.outer


def ctes_of(query: Query) -> tuple[Relation, ...]:
    """The CTEs that the query can name, the nearest first."""
    found: list[Relation] = []
    level: Query | None = query
    while level is not None:
        found += reversed(level.ctes)
        level = level.outer
    return tuple(found)


def relation_named(query: Query, name: str) -> Relation | None:
    """The relation that qualifies columns under this name."""
    wanted = name.lower()
    return next((each for each in in_scope(query) if each.name.lower() == wanted), None)


def columns_of(relation: Relation, names: Names, depth: int = _DEPTH) -> tuple[Known, ...]:
    """The columns of a relation as far as they can be told."""
    if (relation.computed and not relation.renamed) or not depth:
        return ()
    inner = relation.query or _cte_query(relation)
    found = outputs_of(inner, names, depth - 1) if inner else names.columns_of(relation.parts)
    cte = _cte(relation)
    given = relation.renamed or (cte.renamed if cte else [])
    if not given:
        return found
    abouts = [each.about for each in found] + [""] * len(given)
    return tuple(Known(name, about) for name, about in zip(given, abouts, strict=False))


def outputs_of(query: Query, names: Names, depth: int = _DEPTH) -> tuple[Known, ...]:
    """The columns that a query gives. A plain column keeps its type; of an expression there is only the name."""
    sources = [(relation, columns_of(relation, names, depth)) for relation in query.relations]
    types = {column.name.lower(): column for _, columns in reversed(sources) for column in columns}
    found: list[Known] = []
    for item in query.outputs:
        output = _Output(item)
        if output.star:
            qualifier = output.qualifier.lower()
            for relation, columns in sources:
                found += columns if not qualifier or relation.name.lower() == qualifier else ()
        elif output.name:
            typed = types.get(output.name.lower()) if output.plain else None
            found.append(Known(output.name, typed.about if typed else ""))
    return tuple(found)


def tables_in(query: Query, depth: int = _DEPTH) -> Iterator[tuple[str, ...]]:
    """The names of the tables that the columns at hand come from, with those behind subqueries and CTEs."""
    for relation in [*in_scope(query), *([query.target] if query.target else [])]:
        yield from _tables_behind(relation, depth)


def _tables_behind(relation: Relation, depth: int) -> Iterator[tuple[str, ...]]:
    inner = relation.query or _cte_query(relation)
    if inner is None and relation.parts and not relation.computed:
        yield relation.parts
    elif inner is not None and depth:
        for each in inner.relations:
            yield from _tables_behind(each, depth - 1)


def _cte(relation: Relation) -> Relation | None:
    if len(relation.parts) != 1 or relation.within is None or relation.computed:
        return None
    wanted = relation.parts[0].lower()
    return next((cte for cte in ctes_of(relation.within) if cte.parts[0].lower() == wanted), None)


def _cte_query(relation: Relation) -> Query | None:
    cte = _cte(relation)
    return cte.query if cte else None


class _Output:
    """An item of a select list. star: it stands for all columns, of `qualifier` if that isn't empty. name: its
    column's, empty where that can't be told. plain: nothing but a column."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        item = [token for token in tokens if token.word not in ("DISTINCT", "ALL")]
        dotted = len(item) >= 3 and item[-2].text == "."
        last = item[-1] if item else None
        self.star = last is not None and last.text == "*" and (len(item) == 1 or dotted)
        self.qualifier = value_of(item[-3]) if dotted else ""
        self.plain = len(item) == 1 or (len(item) == 3 and dotted)
        named = last is not None and last.kind in (Kind.WORD, Kind.QUOTED) and last.word not in _NO_NAMES
        self.name = value_of(last) if last is not None and named else ""
