"""What is open while a half-written Spark statement is read, and copies of it to go on from later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jetsql.language.tokens import Token
from jetsql.shell.completion.query_scope import Clause, Query, Relation, Wants


@dataclass
class Frame:
    """What is open: the statement itself or parentheses in it. item: the part of a select list that is being read.

    naming: the table whose name is being read. given: the table that may get an alias.
    """

    query: Query
    clause: Clause
    wants: Wants = Wants.NOTHING
    expression: bool = False
    item: list[Token] | None = None
    naming: Relation | None = None
    dotted: bool = False
    given: Relation | None = None
    cases: int = 0
    joined: bool = False
    statement: str = ""
    function: str = ""


def copied(frames: Sequence[Frame]) -> list[Frame]:
    """The same with queries and relations of their own, each once: they name each other, to any depth."""
    copies = _Copies()
    found = [
        replace(
            frame,
            query=copies.of(frame.query),
            naming=frame.naming and copies.of_relation(frame.naming),
            given=frame.given and copies.of_relation(frame.given),
        )
        for frame in frames
    ]
    copies.finish()
    for frame in found:
        if frame.item is not None:
            frame.item = frame.query.outputs[-1]
    return found


class _Copies:
    def __init__(self) -> None:
        self._queries: dict[int, Query] = {}
        self._relations: dict[int, Relation] = {}
        self._unfinished: list[Query | Relation] = []

    def of(self, query: Query) -> Query:
        if id(query) not in self._queries:
            self._queries[id(query)] = copy = replace(query)
            self._unfinished.append(copy)
        return self._queries[id(query)]

    def of_relation(self, relation: Relation) -> Relation:
        if id(relation) not in self._relations:
            self._relations[id(relation)] = copy = replace(relation)
            self._unfinished.append(copy)
        return self._relations[id(relation)]

    def finish(self) -> None:
        """Whatever the copies name are copies too."""
        while self._unfinished:
            copy = self._unfinished.pop()
            if isinstance(copy, Query):
                copy.outer = copy.outer and self.of(copy.outer)
                copy.ctes = [self.of_relation(each) for each in copy.ctes]
                copy.relations = [self.of_relation(each) for each in copy.relations]
                copy.outputs = [*copy.outputs[:-1], *(list(each) for each in copy.outputs[-1:])]
                copy.target = copy.target and self.of_relation(copy.target)
            else:
                copy.within = copy.within and self.of(copy.within)
                copy.query = copy.query and self.of(copy.query)
                copy.renamed = list(copy.renamed)
