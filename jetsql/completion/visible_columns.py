"""The columns visible in a half-written query: of its tables, subqueries and CTEs, under their aliases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from jetsql.completion.known_names import KnownName, Names
from jetsql.completion.query_scope import Query, QueryRelation, unquoted_name
from jetsql.language.tokens import Kind, Token

# The limit for nested subqueries, and for CTEs that refer to themselves.
_MAX_DEPTH: Final = 8
_NO_NAMES: Final = frozenset({"END", "NULL", "TRUE", "FALSE", "DISTINCT", "ALL", "SELECT", "FROM"})


def relations_in_scope(query: Query) -> Iterator[QueryRelation]:
    """Yield all sources of columns, the nearest first: the query's own relations, then those of outer queries."""
    level: Query | None = query
    while level is not None:
        yield from level.relations
        level = level.outer


def visible_ctes(query: Query) -> tuple[QueryRelation, ...]:
    """Return the CTEs that the query can name, the nearest first."""
    ctes: list[QueryRelation] = []
    level: Query | None = query
    while level is not None:
        ctes += reversed(level.ctes)
        level = level.outer
    return tuple(ctes)


def find_relation(query: Query, name: str) -> QueryRelation | None:
    """Return the relation that qualifies columns by this name."""
    qualifier = name.lower()
    return next((each for each in relations_in_scope(query) if each.name.lower() == qualifier), None)


def columns_of(relation: QueryRelation, names: Names, depth: int = _MAX_DEPTH) -> tuple[KnownName, ...]:
    """Return the columns of a relation as far as they are known."""
    if (relation.is_computed and not relation.column_names) or not depth:
        return ()
    inner = relation.query or _find_cte_query(relation)
    columns = outputs_of(inner, names, depth - 1) if inner else names.columns_of(relation.parts)
    cte = _find_cte(relation)
    names_given = relation.column_names or (cte.column_names if cte else [])
    if not names_given:
        return columns
    descriptions = [each.description for each in columns] + [""] * len(names_given)
    return tuple(KnownName(name, description) for name, description in zip(names_given, descriptions, strict=False))


def outputs_of(query: Query, names: Names, depth: int = _MAX_DEPTH) -> tuple[KnownName, ...]:
    """Return the columns of a query's result. A plain column keeps its type, an expression has only a name."""
    sources = [(relation, columns_of(relation, names, depth)) for relation in query.relations]
    types = {column.name.lower(): column for _, columns in reversed(sources) for column in columns}
    outputs: list[KnownName] = []
    for item in query.outputs:
        output = _SelectItem(item)
        if output.star:
            qualifier = output.qualifier.lower()
            for relation, columns in sources:
                outputs += columns if not qualifier or relation.name.lower() == qualifier else ()
        elif output.name:
            typed = types.get(output.name.lower()) if output.plain else None
            outputs.append(KnownName(output.name, typed.description if typed else ""))
    return tuple(outputs)


def referenced_tables(query: Query, depth: int = _MAX_DEPTH) -> Iterator[tuple[str, ...]]:
    """Yield the names of the tables that the visible columns come from, also through subqueries and CTEs."""
    for relation in [*relations_in_scope(query), *([query.target] if query.target else [])]:
        yield from _tables_of_relation(relation, depth)


def _tables_of_relation(relation: QueryRelation, depth: int) -> Iterator[tuple[str, ...]]:
    inner = relation.query or _find_cte_query(relation)
    if inner is None and relation.parts and not relation.is_computed:
        yield relation.parts
    elif inner is not None and depth:
        for each in inner.relations:
            yield from _tables_of_relation(each, depth - 1)


def _find_cte(relation: QueryRelation) -> QueryRelation | None:
    if len(relation.parts) != 1 or relation.scope is None or relation.is_computed:
        return None
    name = relation.parts[0].lower()
    return next((cte for cte in visible_ctes(relation.scope) if cte.parts[0].lower() == name), None)


def _find_cte_query(relation: QueryRelation) -> Query | None:
    cte = _find_cte(relation)
    return cte.query if cte else None


class _SelectItem:
    """An item of a select list.

    star: all columns, of `qualifier` if it is not empty. name: of its column, empty if unknown. plain: only a column.
    """

    def __init__(self, tokens: Sequence[Token]) -> None:
        item = [token for token in tokens if token.word not in ("DISTINCT", "ALL")]
        dotted = len(item) >= 3 and item[-2].text == "."
        last = item[-1] if item else None
        self.star = last is not None and last.text == "*" and (len(item) == 1 or dotted)
        self.qualifier = unquoted_name(item[-3]) if dotted else ""
        self.plain = len(item) == 1 or (len(item) == 3 and dotted)
        named = last is not None and last.kind in (Kind.WORD, Kind.QUOTED) and last.word not in _NO_NAMES
        self.name = unquoted_name(last) if last is not None and named else ""
