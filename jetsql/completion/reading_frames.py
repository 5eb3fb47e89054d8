"""The open parts of a half-written Spark statement while it is read, and copies of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jetsql.completion.query_scope import Clause, ExpectedName, Query, QueryRelation
from jetsql.language.tokens import Token


@dataclass
class ReadingFrame:
    """An open part: the statement itself, or parentheses in it."""

    query: Query
    clause: Clause
    expected: ExpectedName = ExpectedName.NOTHING
    is_expression: bool = False
    select_item: list[Token] | None = None  # the item of a select list that is being read
    named_relation: QueryRelation | None = None  # the relation whose name is being read
    after_dot: bool = False  # in that name
    last_relation: QueryRelation | None = None  # the relation that may get an alias
    open_cases: int = 0  # CASE without END
    lacks_condition: bool = False  # the last JOIN has no condition yet
    statement: str = ""  # the writing verb
    function: str = ""  # the word before the parentheses


def copy_frames(frames: Sequence[ReadingFrame]) -> list[ReadingFrame]:
    """Copy frames with their queries and relations, each once, because they refer to each other."""
    copies = _Copies()
    result = [
        replace(
            frame,
            query=copies.copy_query(frame.query),
            named_relation=frame.named_relation and copies.copy_relation(frame.named_relation),
            last_relation=frame.last_relation and copies.copy_relation(frame.last_relation),
        )
        for frame in frames
    ]
    copies.finish()
    for frame in result:
        if frame.select_item is not None:
            frame.select_item = frame.query.outputs[-1]
    return result


class _Copies:
    def __init__(self) -> None:
        self._queries: dict[int, Query] = {}
        self._relations: dict[int, QueryRelation] = {}
        self._unfinished: list[Query | QueryRelation] = []

    def copy_query(self, query: Query) -> Query:
        if id(query) not in self._queries:
            self._queries[id(query)] = copy = replace(query)
            self._unfinished.append(copy)
        return self._queries[id(query)]

    def copy_relation(self, relation: QueryRelation) -> QueryRelation:
        if id(relation) not in self._relations:
            self._relations[id(relation)] = copy = replace(relation)
            self._unfinished.append(copy)
        return self._relations[id(relation)]

    def finish(self) -> None:
        """Replace the references in the copies by copies."""
        while self._unfinished:
            copy = self._unfinished.pop()
            if isinstance(copy, Query):
                copy.outer = copy.outer and self.copy_query(copy.outer)
                copy.ctes = [self.copy_relation(each) for each in copy.ctes]
                copy.relations = [self.copy_relation(each) for each in copy.relations]
                copy.outputs = [*copy.outputs[:-1], *(list(each) for each in copy.outputs[-1:])]
                copy.target = copy.target and self.copy_relation(copy.target)
            else:
                copy.scope = copy.scope and self.copy_query(copy.scope)
                copy.query = copy.query and self.copy_query(copy.query)
                copy.column_names = list(copy.column_names)
