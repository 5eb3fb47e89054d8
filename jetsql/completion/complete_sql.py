"""Complete Spark's SQL, also in a job's body: tables, columns, functions and the keywords of the clause."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final

from jetsql.completion.candidates import CandidateCollector, CandidateKind
from jetsql.completion.keyword_places import (
    AFTER_STAR,
    BEFORE_OPERAND,
    FOLLOWERS,
    MATCH_CLAUSES,
    MATCH_FOLLOWERS,
    MERGE_FOLLOWERS,
    OPERANDS,
    TYPES,
    after_operand,
)
from jetsql.completion.known_names import TEMPORARY, KnownName, Names
from jetsql.completion.query_reader import find_position
from jetsql.completion.query_scope import Clause, ExpectedName, Position, Query, QueryRelation, unquoted_name
from jetsql.completion.statement_at_cursor import AtCursor
from jetsql.completion.statement_heads import ExpectedHead, NameSlot, expected_after
from jetsql.completion.visible_columns import (
    columns_of,
    find_relation,
    outputs_of,
    relations_in_scope,
    visible_ctes,
)
from jetsql.language.statement_head import QUERY_WORDS
from jetsql.language.tokens import Kind, Token

_FORMATS: Final = ("parquet", "orc", "json", "csv", "text", "avro", "jdbc", "kafka")
_NAMES: Final = (Kind.WORD, Kind.QUOTED)
_CLOSING: Final = frozenset(")]")
# Users qualify columns in queries with more tables.
_MAX_RELATIONS: Final = 50
_JETSQL: Final = "jetsql"  # the schema of the relations and of `jetsql.state`


def add_sql(at: AtCursor, names: Names, collector: CandidateCollector, *, in_job: bool) -> None:
    """Add the candidates at a position in Spark's SQL. in_job: `at` begins with a job's body."""
    qualifier = qualifier_before(at.before)
    head = at.before[: len(at.before) - 2 * len(qualifier)]
    heads = ExpectedHead((), (), clauses=True) if in_job else expected_after(head)
    if not qualifier:
        collector.add_keywords(heads.words)
    for slot in heads.slots:
        _add_slot(slot, qualifier, names, collector)
    if heads.clauses and head:
        _ClauseCompletion(at, head, qualifier, names, collector, in_job).add()


def qualifier_before(before: Sequence[Token]) -> tuple[str, ...]:
    """Return the parts of a name before the half-written word, each followed by a dot."""
    parts: list[str] = []
    index = len(before) - 1
    while index >= 1 and before[index].text == "." and before[index - 1].kind in _NAMES:
        parts.insert(0, unquoted_name(before[index - 1]))
        index -= 2
    return tuple(parts)


def position_at(at: AtCursor) -> Position:
    """Return the position of the cursor in the clauses of its statement."""
    written = at.half or Token(Kind.QUOTED, "``", at.start, at.start)
    return find_position(at.before, written, at.behind)


def _add_slot(slot: NameSlot, qualifier: tuple[str, ...], names: Names, collector: CandidateCollector) -> None:
    match slot:
        case NameSlot.TABLE:
            _add_tables(qualifier, names, collector, views=False)
        case NameSlot.VIEW:
            _add_tables(qualifier, names, collector, tables=False)
        case NameSlot.RELATION:
            _add_tables(qualifier, names, collector)
        case NameSlot.SCHEMA if not qualifier:
            collector.add_names(names.schemas, CandidateKind.SCHEMA)
        case NameSlot.FUNCTION if not qualifier:
            for function in names.functions:
                collector.add_plain(function.name, CandidateKind.FUNCTION, function.description)
        case NameSlot.FORMAT if not qualifier:
            for each in _FORMATS:
                collector.add_plain(each, CandidateKind.VALUE)
        case NameSlot.CONF:
            _add_confs(qualifier, names, collector)


def _add_confs(qualifier: tuple[str, ...], names: Names, collector: CandidateCollector) -> None:
    """Add the names of settings without the parts that are already written."""
    before = "".join(f"{part}." for part in qualifier).lower()
    for conf in names.confs:
        if conf.name.lower().startswith(before):
            collector.add_plain(conf.name[len(before) :], CandidateKind.CONF, conf.description)


def _add_tables(
    qualifier: tuple[str, ...], names: Names, collector: CandidateCollector, *, tables: bool = True, views: bool = True
) -> None:
    schema = qualifier[-1] if qualifier else names.schema
    candidates = names.tables_in(schema) + (() if qualifier else names.tables_in(TEMPORARY))
    for table in candidates:
        if views if table.is_view else tables:
            collector.add_name(table.name, CandidateKind.VIEW if table.is_view else CandidateKind.TABLE)
    if not qualifier:
        collector.add_names(names.schemas, CandidateKind.SCHEMA)


class _ClauseCompletion:
    """The candidates at a position in a query."""

    def __init__(
        self,
        at: AtCursor,
        head: Sequence[Token],
        qualifier: tuple[str, ...],
        names: Names,
        collector: CandidateCollector,
        in_job: bool,
    ) -> None:
        self._at = at
        self._head = head
        self._qualifier = qualifier
        self._names = names
        self._collector = collector
        self._in_job = in_job
        self._position = position_at(at)

    def add(self) -> None:
        position, previous = self._position, self._head[-1]
        if position.expected is ExpectedName.NEW or position.clause is Clause.NAMES:
            return
        followers = self._followers(previous)
        if followers:
            self._collector.add_keywords(followers)
        elif position.expected in (ExpectedName.TABLE, ExpectedName.TARGET):
            self._add_relations(previous)
        elif position.clause is Clause.COLUMNS:
            self._add_target_columns()
        elif previous.word == "AS" and position.clause is Clause.MATCH:
            if self._defines_variables():
                self._add_operands(previous)
        elif previous.word == "AS" and position.is_nested:
            self._collector.add_keywords(TYPES)
        elif position.clause is Clause.MATCH and position.is_first:
            self._collector.add_keywords(MATCH_CLAUSES)
        elif self._expects_operand(previous):
            self._add_operands(previous)
        elif not self._qualifier:
            words = after_operand(position, self._head[0].word, in_job=self._in_job)
            self._collector.add_keywords(AFTER_STAR if self._is_star(previous) else words)

    def _followers(self, previous: Token) -> tuple[str, ...]:
        if self._qualifier or self._is_name(previous):
            return ()
        if len(self._head) > 1 and self._head[-2].word == "WATERMARK":
            return ("DELAY OF INTERVAL",)
        merging = self._head[0].word == "MERGE" and not self._position.open_cases
        more = MERGE_FOLLOWERS.get(previous.word, ()) if merging else ()
        if self._position.clause is Clause.MATCH:
            more = MATCH_FOLLOWERS.get(previous.word, ())
        return more or FOLLOWERS.get(previous.word, ())

    def _defines_variables(self) -> bool:
        """Return whether the clause of MATCH_RECOGNIZE is DEFINE, where conditions follow AS, and not MEASURES."""
        words = (token.word for token in reversed(self._head))
        return next((word for word in words if word in ("DEFINE", "MEASURES", "MATCH_RECOGNIZE")), "") == "DEFINE"

    def _is_name(self, previous: Token) -> bool:
        """Return whether a keyword is part of a name: `t.left`."""
        return len(self._head) > 1 and self._head[-2].text == "." and previous.kind is Kind.WORD

    def _expects_operand(self, previous: Token) -> bool:
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

    def _add_relations(self, previous: Token) -> None:
        position, collector, target = self._position, self._collector, self._position.expected is ExpectedName.TARGET
        if not self._qualifier and not target:
            for cte in visible_ctes(position.query):
                collector.add_name(cte.parts[0], CandidateKind.CTE)
        _add_tables(self._qualifier, self._names, collector, views=not target)
        schema = self._qualifier[-1] if self._qualifier else self._names.schema
        if schema.lower() == _JETSQL and not target:
            collector.add_functions([("state", "the state of a job")])
        if self._qualifier or target:
            return
        if previous.word != "STREAM":
            collector.add_keywords(("STREAM", "LATERAL"))
            collector.add_keywords(QUERY_WORDS if position.is_first else ())

    def _add_target_columns(self) -> None:
        target = self._position.query.target
        listed = self._listed_names()
        for column in columns_of(target, self._names) if target and not self._qualifier else ():
            if column.name.lower() not in listed:
                self._collector.add_name(column.name, CandidateKind.COLUMN, column.description)

    def _listed_names(self) -> set[str]:
        """Return the names in the list that is being written."""
        listed: set[str] = set()
        for token in reversed(self._head):
            if token.text == "(":
                break
            listed.add(unquoted_name(token).lower())
        return listed

    def _add_operands(self, previous: Token) -> None:
        position, collector = self._position, self._collector
        if self._qualifier:
            self._add_qualified()
            return
        if position.clause is Clause.LIMIT:
            collector.add_keywords(("ALL",))
            return
        if position.clause is Clause.USING:
            self._add_common_columns(position.query)
            return
        if previous.word == "SELECT":
            collector.add_plain("*", CandidateKind.KEYWORD, "all columns")
        self._add_columns(position.query)
        for relation in islice(relations_in_scope(position.query), _MAX_RELATIONS):
            collector.add_name(relation.name, CandidateKind.ALIAS, _describe_relation(relation))
        if previous.word == "SELECT":
            collector.add_keywords(("DISTINCT",))
        if position.open_cases:
            collector.add_keywords(("WHEN", "THEN", "ELSE", "END"))
        if position.is_first:
            collector.add_keywords(("SELECT",))
        if previous.word == "NOT":
            collector.add_keywords(("IN", "LIKE", "BETWEEN", "NULL"))
        collector.add_keywords(OPERANDS)
        collector.add_functions((function.name, function.description) for function in self._names.functions)

    def _add_common_columns(self, query: Query) -> None:
        """Add the columns that the last table shares with an earlier table, for JOIN ... USING."""
        *others, last = [columns_of(relation, self._names) for relation in query.relations] or [()]
        shared = {column.name.lower() for columns in others for column in columns}
        for column in last:
            if column.name.lower() in shared:
                self._collector.add_name(column.name, CandidateKind.COLUMN, column.description)

    def _add_columns(self, query: Query) -> None:
        relations = list(islice(relations_in_scope(query), _MAX_RELATIONS))
        if self._position.clause is Clause.SET and query.target is not None and query.target not in relations:
            relations.append(query.target)
        for relation in relations:
            for column in columns_of(relation, self._names):
                self._collector.add_name(
                    column.name,
                    CandidateKind.COLUMN,
                    _describe_column(column, relation if len(relations) > 1 else None),
                )
        if self._position.clause in (Clause.ORDER, Clause.GROUP, Clause.HAVING):
            for output in outputs_of(query, self._names):
                self._collector.add_name(output.name, CandidateKind.COLUMN, output.description)

    def _add_qualified(self) -> None:
        """Add what follows `x.`: columns of the table or alias x, fields of the column x, or tables of the schema x."""
        query, names, collector = self._position.query, self._names, self._collector
        relation = (
            find_relation(query, self._qualifier[-1]) if len(self._qualifier) == 1 else self._find_by_parts(query)
        )
        for column in columns_of(relation, names) if relation else ():
            collector.add_name(column.name, CandidateKind.COLUMN, column.description)
        if relation is None:
            for field in self._fields(query):
                collector.add_name(field.name, CandidateKind.COLUMN, field.description)
            for each in relations_in_scope(query):
                if len(each.parts) > 1 and each.parts[-2].lower() == self._qualifier[-1].lower():
                    collector.add_name(each.parts[-1], CandidateKind.TABLE)
        elif self._position.clause is Clause.SELECT:
            collector.add_plain("*", CandidateKind.KEYWORD, "all its columns")

    def _find_by_parts(self, query: Query) -> QueryRelation | None:
        qualifier = tuple(part.lower() for part in self._qualifier)
        return next(
            (each for each in relations_in_scope(query) if tuple(map(str.lower, each.parts)) == qualifier), None
        )

    def _fields(self, query: Query) -> tuple[KnownName, ...]:
        """Return the fields of the struct column before the dot, given with or without alias and with outer fields."""
        relation = find_relation(query, self._qualifier[0]) if len(self._qualifier) > 1 else None
        path = self._qualifier[1:] if relation else self._qualifier
        for each in [relation] if relation else relations_in_scope(query):
            fields = columns_of(each, self._names)
            for part in path:
                kinds = [known.description for known in fields if known.name.lower() == part.lower()]
                fields = struct_fields(kinds[0]) if kinds else ()
            if fields:
                return fields
        return ()


def _describe_relation(relation: QueryRelation) -> str:
    return ".".join(relation.parts) if relation.parts and relation.alias else "in this query"


def _describe_column(column: KnownName, relation: QueryRelation | None) -> str:
    return f"{column.description} of {relation.name}".strip() if relation and relation.name else column.description


def struct_fields(kind: str) -> tuple[KnownName, ...]:
    """Return the fields of a type such as `struct<a:int,b:struct<c:int>>`; none for any other type."""
    if not kind.lower().startswith("struct<") or not kind.endswith(">"):
        return ()
    fields: list[KnownName] = []
    depth, begin, inner = 0, 0, kind[len("struct<") : -1] + ","
    for mark in re.finditer(r"[<>(),]", inner):
        depth += {"<": 1, "(": 1, ">": -1, ")": -1, ",": 0}[mark.group()]
        if mark.group() == "," and depth == 0:
            name, _, about = inner[begin : mark.start()].partition(":")
            fields.append(KnownName(name.strip().strip("`"), about.strip()))
            begin = mark.end()
    return tuple(fields)
