"""Order declarations: an object comes after those that its statement needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Final

from jetsql.jobs.alerts.alert_definition import declared_alert
from jetsql.jobs.model.job import name_key
from jetsql.jobs.model.table_names import split_table
from jetsql.language.objects.alert_statement import CreateAlert
from jetsql.language.objects.object_names import Name
from jetsql.language.objects.rights_statement import GrantRights, GrantRole, RightsObject
from jetsql.language.statement_head import name_at
from jetsql.language.tokens import Kind, tokens, unquote
from jetsql.sqlfiles.apply.declarations import Context, Declaration, ObjectKind, made_tables, qualified
from jetsql.sqlfiles.lint_problems import PREFIX, LintProblem
from jetsql.sqlfiles.statement_names import is_same_name, job_targets, lower_parts

_CYCLE: Final = f"{PREFIX}DEPENDENCY_CYCLE"
_TABLE_OPTION: Final = "table:"  # before a table's name in the values of lateRows and on.error
# Jobs and their tables have one rank.
_RANKS: Final = {kind: list(ObjectKind).index(ObjectKind.JOB if kind.has_job else kind) for kind in ObjectKind}


@dataclass
class OrderedDeclarations:
    """Declarations in the order in which they can be created."""

    items: list[Declaration] = field(default_factory=list)
    needs: dict[int, tuple[Declaration, ...]] = field(default_factory=dict)  # by the id of a declaration
    problems: list[LintProblem] = field(default_factory=list)

    def needed_by(self, item: Declaration) -> tuple[Declaration, ...]:
        """Return the declarations that a declaration needs."""
        return self.needs.get(id(item), ())


def order_declarations(items: Sequence[Declaration]) -> OrderedDeclarations:
    """Return the declarations in order; if they need each other, with an error."""
    names = _DeclaredNames(items)
    needs = {index: sorted(set(names.needed_by(item)) - {index}) for index, item in enumerate(items)}
    order = _sorted(items, needs)
    ordered = OrderedDeclarations([items[index] for index in order])
    ordered.needs = {id(items[index]): tuple(items[each] for each in needed) for index, needed in needs.items()}
    if len(order) < len(items):
        ordered.problems.append(_cycle_problem(items, needs, set(order)))
    return ordered


def written_tables(item: Declaration) -> Iterator[tuple[str, ...]]:
    """Yield the qualified names of the tables that a job writes."""
    job = item.checked.job
    if job is not None:
        for target in job_targets(job, item.text):
            yield qualified(target.parts, item.context)


def read_tables(item: Declaration) -> Iterator[tuple[str, ...]]:
    """Yield the qualified names of the tables and views that a statement reads, and of those for wrong rows."""
    for use in item.checked.query.reads:
        yield qualified(use.parts, item.context)
    job = item.checked.job
    for rule in () if job is None else job.body.expectations:
        if rule.table:
            yield qualified(split_table(rule.table), item.context)
    for token in tokens(item.text):
        value = unquote(token.text) if token.kind is Kind.STRING else ""
        if value.lower().startswith(_TABLE_OPTION):
            parts = [part.strip().strip("`") for part in value[len(_TABLE_OPTION) :].split(".")]
            yield qualified(parts, item.context)


class _DeclaredNames:
    """The declarations by their names."""

    def __init__(self, items: Sequence[Declaration]) -> None:
        self._tables: dict[tuple[str, ...], int] = {}
        self._last_parts: dict[str, list[tuple[str, ...]]] = defaultdict(list)
        self._schemas: dict[tuple[str, ...], int] = {}
        self._functions: dict[str, int] = {}
        self._others: dict[tuple[ObjectKind, str], int] = {}  # by kind and name: of what has a name without a schema
        for index, item in enumerate(items):
            for key in made_tables(item):
                self._tables[key] = index
                self._last_parts[key[-1]].append(key)
            if item.kind is ObjectKind.SCHEMA:
                self._schemas[item.key] = index
            elif item.kind is ObjectKind.FUNCTION:
                self._functions[item.key[-1]] = index
            elif not item.kind.is_in_schema:
                self._others[item.kind, item.key[0]] = index

    def needed_by(self, item: Declaration) -> Iterator[int]:
        """Yield the indexes of the declarations that a declaration needs."""
        if item.kind is ObjectKind.GRANT:
            yield from self._needed_by_grant(item)
        if item.kind is ObjectKind.LIMITS:
            yield from self._other(ObjectKind.USER, item.key[0])
        if item.kind is ObjectKind.ALERT:
            yield from self._needed_by_alert(item)
        tables = [*written_tables(item), *read_tables(item), *self._names_in_unread_text(item)]
        for key in tables:
            yield from self._table(key)
        own = [item.key] if item.kind.is_in_schema or item.kind is ObjectKind.SCHEMA else []
        schemas = [_used_schema(item.context), *(key[:-1] for key in (*tables, *own))]
        yield from (self._schemas[schema] for schema in schemas if schema in self._schemas)
        yield from self._called_functions(item)

    def _needed_by_grant(self, item: Declaration) -> Iterator[int]:
        """Yield the indexes of who gets a right or a role, and of the role or the object."""
        statement = item.checked.statement
        assert isinstance(statement, GrantRights | GrantRole), "other statements declare no grant"
        yield from self._user_or_role(statement.grantee)
        if isinstance(statement, GrantRole):
            yield from self._user_or_role(statement.role)
            return
        kind, parts = statement.object.kind, statement.object.name.parts
        if kind in (RightsObject.TABLE, RightsObject.VIEW):
            yield from self._table(qualified(parts, item.context))
        elif kind in (RightsObject.SCHEMA, RightsObject.JOBS_IN_SCHEMA):
            schema = qualified(parts, item.context, is_schema=True)
            yield from (self._schemas[each] for each in (schema,) if each in self._schemas)
        elif kind is RightsObject.FUNCTION:
            name = parts[-1].lower()
            yield from (self._functions[each] for each in (name,) if each in self._functions)
        elif kind is RightsObject.JOB:
            yield from self._job(parts[0], item.context)
        elif kind in (RightsObject.SECRET, RightsObject.CONNECTION):
            yield from self._other(ObjectKind(kind.value.lower()), parts[0])

    def _needed_by_alert(self, item: Declaration) -> Iterator[int]:
        """Yield the indexes of the job and the secrets of an alert."""
        statement = item.checked.statement
        assert isinstance(statement, CreateAlert), "other statements declare no alert"
        if statement.job is not None:
            yield from self._job(statement.job.text, item.context)
        for secret in declared_alert(statement).secrets:
            yield from self._other(ObjectKind.SECRET, secret)

    def _job(self, name: str, context: Context) -> Iterator[int]:
        # The job of a streaming table has the name of its table.
        job = list(self._other(ObjectKind.JOB, name))
        yield from job or self._table(qualified(split_table(name), context))

    def _user_or_role(self, name: Name) -> Iterator[int]:
        yield from self._other(ObjectKind.USER, name.text)
        yield from self._other(ObjectKind.ROLE, name.text)

    def _other(self, kind: ObjectKind, name: str) -> Iterator[int]:
        found = self._others.get((kind, name_key(name)))
        if found is not None:
            yield found

    def _table(self, key: tuple[str, ...]) -> Iterator[int]:
        if key in self._tables:
            yield self._tables[key]
        else:  # the catalogue of one of the names may be the session's
            same = (known for known in self._last_parts[key[-1]] if is_same_name(known, key))
            yield from (self._tables[known] for known in same)

    def _names_in_unread_text(self, item: Declaration) -> Iterator[tuple[str, ...]]:
        """Yield all names that can be those of declared tables, if sqlglot could not read the query."""
        if not item.checked.query.problem:
            return
        found = list(tokens(item.text))
        at = 0
        while at < len(found):
            name = name_at(found, at)
            if name is not None and lower_parts(name[0][-1:])[0] in self._last_parts:
                yield qualified(name[0], item.context)
            at = at + 1 if name is None else max(name[1], at + 1)

    def _called_functions(self, item: Declaration) -> Iterator[int]:
        if not self._functions:
            return
        found = list(tokens(item.text))
        for token, following in pairwise(found):
            name = unquote(token.text) if token.kind is Kind.QUOTED else token.text
            if following.text == "(" and name.lower() in self._functions:
                yield self._functions[name.lower()]


def _used_schema(context: Context) -> tuple[str, ...]:
    return qualified((*context.schema, ""), context)[:-1] if context.schema else ()


def _sorted(items: Sequence[Declaration], needs: Mapping[int, Sequence[int]]) -> list[int]:
    """Return the indexes in order: by kind and then as written, and each after those that it needs."""
    waiting = {index: len(needed) for index, needed in needs.items()}
    users: dict[int, list[int]] = defaultdict(list)
    for index, needed in needs.items():
        for each in needed:
            users[each].append(index)
    ready = [(_RANKS[items[index].kind], index) for index, count in waiting.items() if count == 0]
    heapify(ready)
    order = []
    while ready:
        _, index = heappop(ready)
        order.append(index)
        for user in users[index]:
            waiting[user] -= 1
            if waiting[user] == 0:
                heappush(ready, (_RANKS[items[user].kind], user))
    return order


def _cycle_problem(items: Sequence[Declaration], needs: Mapping[int, Sequence[int]], done: set[int]) -> LintProblem:
    index = min(set(needs) - done)
    path: list[int] = []
    while index not in path:
        path.append(index)
        index = next(each for each in needs[index] if each not in done)
    cycle = path[path.index(index) :]
    texts = [f"{items[each].kind.value} {items[each].name} ({items[each].location})" for each in cycle]
    message = f"The statements need each other: {' needs '.join([*texts, items[cycle[0]].name])}."
    return items[cycle[0]].problem(_CYCLE, message, "Change one of the queries so that one statement can come first.")
