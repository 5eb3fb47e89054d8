"""What fits in a statement of Spark's, or in a job's body: tables, columns, functions and the words of the clause."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final

from jetsql.language import AtCursor
from jetsql.language.tokens import Kind, Token
from jetsql.shell.completion.candidates import Offers, Sort
from jetsql.shell.completion.keyword_places import (
    AFTER_STAR,
    BEFORE_OPERAND,
    FOLLOWERS,
    MERGE_FOLLOWERS,
    OPERANDS,
    QUERY,
    TYPES,
    after_operand,
)
from jetsql.shell.completion.known_names import TEMPORARY, Known, Names
from jetsql.shell.completion.query_reader import position_of
from jetsql.shell.completion.query_scope import Clause, Position, Query, Relation, Wants, value_of
from jetsql.shell.completion.statement_heads import Heads, Slot, heads_after
from jetsql.shell.completion.visible_columns import columns_of, ctes_of, in_scope, outputs_of, relation_named

_FORMATS: Final = ("parquet", "orc", "json", "csv", "text", "avro", "jdbc", "kafka")
_NAMES: Final = (Kind.WORD, Kind.QUOTED)
_CLOSING: Final = frozenset(")]")
# Whoever writes a query with more looks for a column by its table.
_RELATIONS_MOST: Final = 50


def offer_sql(at: AtCursor, names: Names, offers: Offers, *, in_job: bool) -> None:
    """Candidates for a place in Spark's SQL. in_job: `at` begins with a job's body."""
    qualifier = qualifier_of(at.before)
    head = at.before[: len(at.before) - 2 * len(qualifier)]
    heads = Heads((), (), clauses=True) if in_job else heads_after(head)
    if not qualifier:
        offers.words(heads.words)
    for slot in heads.slots:
        _offer_slot(slot, qualifier, names, offers)
    if heads.clauses and head:
        _Clauses(at, head, qualifier, names, offers, in_job).offer()


def qualifier_of(before: Sequence[Token]) -> tuple[str, ...]:
    """The parts of a name that stand, each with its dot, right before what is being written."""
    parts: list[str] = []
    index = len(before) - 1
    while index >= 1 and before[index].text == "." and before[index - 1].kind in _NAMES:
        parts.insert(0, value_of(before[index - 1]))
        index -= 2
    return tuple(parts)


def position_at(at: AtCursor) -> Position:
    """Where the cursor stands in the clauses of its statement."""
    written = at.half or Token(Kind.QUOTED, "``", at.start, at.start)
    return position_of(at.before, written, at.behind)


def _offer_slot(slot: Slot, qualifier: tuple[str, ...], names: Names, offers: Offers) -> None:
    match slot:
        case Slot.TABLE:
            _offer_tables(qualifier, names, offers, views=False)
        case Slot.VIEW:
            _offer_tables(qualifier, names, offers, tables=False)
        case Slot.RELATION:
            _offer_tables(qualifier, names, offers)
        case Slot.SCHEMA if not qualifier:
            offers.names(names.schemas, Sort.SCHEMA)
        case Slot.FUNCTION if not qualifier:
            for function in names.functions:
                offers.plain(function.name, Sort.FUNCTION, function.about)
        case Slot.FORMAT if not qualifier:
            for each in _FORMATS:
                offers.plain(each, Sort.VALUE)
        case Slot.CONF:
            _offer_confs(qualifier, names, offers)


def _offer_confs(qualifier: tuple[str, ...], names: Names, offers: Offers) -> None:
    """The rest of a setting's name: the parts that are written already are no part of what is replaced."""
    before = "".join(f"{part}." for part in qualifier).lower()
    for conf in names.confs:
        if conf.name.lower().startswith(before):
            offers.plain(conf.name[len(before) :], Sort.CONF, conf.about)


def _offer_tables(
    qualifier: tuple[str, ...], names: Names, offers: Offers, *, tables: bool = True, views: bool = True
) -> None:
    schema = qualifier[-1] if qualifier else names.schema
    found = names.tables_of(schema) + (() if qualifier else names.tables_of(TEMPORARY))
    for table in found:
        if views if table.view else tables:
            offers.name(table.name, Sort.VIEW if table.view else Sort.TABLE)
    if not qualifier:
        offers.names(names.schemas, Sort.SCHEMA)


class _Clauses:
    """The candidates of one place in a query."""

    def __init__(
        self,
        at: AtCursor,
        head: Sequence[Token],
        qualifier: tuple[str, ...],
        names: Names,
        offers: Offers,
        in_job: bool,
    ) -> None:
        self._at = at
        self._head = head
        self._qualifier = qualifier
        self._names = names
        self._offers = offers
        self._in_job = in_job
        self._position = position_at(at)

    def offer(self) -> None:
        position, previous = self._position, self._head[-1]
        if position.wants is Wants.NEW or position.clause is Clause.NAMES:
            return
        followers = self._followers(previous)
        if followers:
            self._offers.words(followers)
        elif position.wants in (Wants.TABLE, Wants.TARGET):
            self._relations(previous)
        elif position.clause is Clause.COLUMNS:
            self._target_columns()
        elif previous.word == "AS" and position.nested:
            self._offers.words(TYPES)
        elif self._wants_operand(previous):
            self._operand(previous)
        elif not self._qualifier:
            words = after_operand(position, self._head[0].word, in_job=self._in_job)
            self._offers.words(AFTER_STAR if self._is_star(previous) else words)

    def _followers(self, previous: Token) -> tuple[str, ...]:
        if self._qualifier or self._is_name(previous):
            return ()
        if len(self._head) > 1 and self._head[-2].word == "WATERMARK":
            return ("DELAY OF INTERVAL",)
        merging = self._head[0].word == "MERGE" and not self._position.cases
        more = MERGE_FOLLOWERS.get(previous.word, ()) if merging else ()
        return more or FOLLOWERS.get(previous.word, ())

    def _is_name(self, previous: Token) -> bool:
        """Whether a keyword stands where it is part of a name: `t.left`."""
        return len(self._head) > 1 and self._head[-2].text == "." and previous.kind is Kind.WORD

    def _wants_operand(self, previous: Token) -> bool:
        if self._qualifier or self._position.clause is Clause.START:
            return bool(self._qualifier)
        if previous.kind is Kind.SYMBOL:
            return previous.text not in _CLOSING and not self._is_star(previous)
        return previous.word in BEFORE_OPERAND and not self._is_name(previous)

    def _is_star(self, previous: Token) -> bool:
        before = self._head[-2] if len(self._head) > 1 else None
        return (
            previous.text == "*"
            and before is not None
            and (before.word in ("SELECT", "DISTINCT", "ALL") or before.text in (",", ".", "("))
        )

    def _relations(self, previous: Token) -> None:
        position, offers, target = self._position, self._offers, self._position.wants is Wants.TARGET
        if not self._qualifier and not target:
            for cte in ctes_of(position.query):
                offers.name(cte.parts[0], Sort.CTE)
        _offer_tables(self._qualifier, self._names, offers, views=not target)
        if self._qualifier or target:
            return
        if previous.word != "STREAM":
            offers.words(("STREAM", "LATERAL"))
            offers.words(QUERY if position.opening else ())

    def _target_columns(self) -> None:
        target = self._position.query.target
        given = self._listed()
        for column in columns_of(target, self._names) if target and not self._qualifier else ():
            if column.name.lower() not in given:
                self._offers.name(column.name, Sort.COLUMN, column.about)

    def _listed(self) -> set[str]:
        """The names in the list that is being written."""
        listed: set[str] = set()
        for token in reversed(self._head):
            if token.text == "(":
                break
            listed.add(value_of(token).lower())
        return listed

    def _operand(self, previous: Token) -> None:
        position, offers = self._position, self._offers
        if self._qualifier:
            self._qualified()
            return
        if position.clause is Clause.LIMIT:
            offers.words(("ALL",))
            return
        if position.clause is Clause.USING:
            self._common_columns(position.query)
            return
        if previous.word == "SELECT":
            offers.plain("*", Sort.KEYWORD, "all columns")
        self._columns(position.query)
        for relation in islice(in_scope(position.query), _RELATIONS_MOST):
            offers.name(relation.name, Sort.ALIAS, _described(relation))
        if previous.word == "SELECT":
            offers.words(("DISTINCT",))
        if position.cases:
            offers.words(("WHEN", "THEN", "ELSE", "END"))
        if position.opening:
            offers.words(("SELECT",))
        if previous.word == "NOT":
            offers.words(("IN", "LIKE", "BETWEEN", "NULL"))
        offers.words(OPERANDS)
        offers.functions((function.name, function.about) for function in self._names.functions)

    def _common_columns(self, query: Query) -> None:
        """Those of the last table that another before it has too: what JOIN ... USING takes."""
        *others, last = [columns_of(relation, self._names) for relation in query.relations] or [()]
        shared = {column.name.lower() for columns in others for column in columns}
        for column in last:
            if column.name.lower() in shared:
                self._offers.name(column.name, Sort.COLUMN, column.about)

    def _columns(self, query: Query) -> None:
        relations = list(islice(in_scope(query), _RELATIONS_MOST))
        if self._position.clause is Clause.SET and query.target is not None and query.target not in relations:
            relations.append(query.target)
        for relation in relations:
            for column in columns_of(relation, self._names):
                self._offers.name(column.name, Sort.COLUMN, _of(column, relation if len(relations) > 1 else None))
        if self._position.clause in (Clause.ORDER, Clause.GROUP, Clause.HAVING):
            for output in outputs_of(query, self._names):
                self._offers.name(output.name, Sort.COLUMN, output.about)

    def _qualified(self) -> None:
        """Behind `x.`: columns of the table or alias x, fields of the column x, or tables of the schema x."""
        query, names, offers = self._position.query, self._names, self._offers
        relation = relation_named(query, self._qualifier[-1]) if len(self._qualifier) == 1 else self._by_parts(query)
        for column in columns_of(relation, names) if relation else ():
            offers.name(column.name, Sort.COLUMN, column.about)
        if relation is None:
            for field in self._fields(query):
                offers.name(field.name, Sort.COLUMN, field.about)
            for each in in_scope(query):
                if len(each.parts) > 1 and each.parts[-2].lower() == self._qualifier[-1].lower():
                    offers.name(each.parts[-1], Sort.TABLE)
        elif self._position.clause is Clause.SELECT:
            offers.plain("*", Sort.KEYWORD, "all its columns")

    def _by_parts(self, query: Query) -> Relation | None:
        wanted = tuple(part.lower() for part in self._qualifier)
        return next((each for each in in_scope(query) if tuple(map(str.lower, each.parts)) == wanted), None)

    def _fields(self, query: Query) -> tuple[Known, ...]:
        """The fields of a struct that is named by its column, behind an alias or not, and by fields within."""
        relation = relation_named(query, self._qualifier[0]) if len(self._qualifier) > 1 else None
        path = self._qualifier[1:] if relation else self._qualifier
        for each in [relation] if relation else in_scope(query):
            found = columns_of(each, self._names)
            for part in path:
                kinds = [known.about for known in found if known.name.lower() == part.lower()]
                found = struct_fields(kinds[0]) if kinds else ()
            if found:
                return found
        return ()


def _described(relation: Relation) -> str:
    return ".".join(relation.parts) if relation.parts and relation.alias else "in this query"


def _of(column: Known, relation: Relation | None) -> str:
    return f"{column.about} of {relation.name}".strip() if relation and relation.name else column.about


def struct_fields(kind: str) -> tuple[Known, ...]:
    """The fields of a type such as `struct<a:int,b:struct<c:int>>`; none for any other."""
    if not kind.lower().startswith("struct<") or not kind.endswith(">"):
        return ()
    found: list[Known] = []
    depth, begin, inner = 0, 0, kind[len("struct<") : -1] + ","
    for mark in re.finditer(r"[<>(),]", inner):
        depth += {"<": 1, "(": 1, ">": -1, ")": -1, ",": 0}[mark.group()]
        if mark.group() == "," and depth == 0:
            name, _, about = inner[begin : mark.start()].partition(":")
            found.append(Known(name.strip().strip("`"), about.strip()))
            begin = mark.end()
    return tuple(found)
