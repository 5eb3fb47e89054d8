"""Find the names of what statements create and write, in their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from jetsql.errors import Span, StatementError
from jetsql.language import parse
from jetsql.language import statement as st
from jetsql.language.tokens import Kind, Token, tokens, unquote
from jetsql.sqlfiles.read_bodies import NamedTable

_KINDS: Final = {
    "TABLE": "TABLE",
    "VIEW": "VIEW",
    "FUNCTION": "FUNCTION",
    "SCHEMA": "SCHEMA",
    "DATABASE": "SCHEMA",
    "NAMESPACE": "SCHEMA",
}
_LEAD: Final = 8  # CREATE OR REPLACE GLOBAL TEMPORARY VIEW, and IF NOT EXISTS begins


@dataclass(frozen=True)
class CreatedObject:
    """The object that a statement of Spark creates."""

    kind: str  # TABLE, VIEW, FUNCTION or SCHEMA
    parts: tuple[str, ...]  # of its name, without back quotes
    place: Span  # of its name, in the statement
    stop: int  # the index of the token after its name

    @property
    def key(self) -> tuple[str, ...]:
        """Return the name as names are compared."""
        return lower_parts(self.parts)


def created_by_spark(found: Sequence[Token]) -> CreatedObject | None:
    """Return what a statement of Spark creates, or None. found: its tokens."""
    if not found or found[0].word != "CREATE":
        return None
    at = next((index for index, token in enumerate(found[:_LEAD]) if token.word in _KINDS), None)
    if at is None:
        return None
    first = at + 1
    if [token.word for token in found[first : first + 3]] == ["IF", "NOT", "EXISTS"]:
        first += 3
    name = name_at(found, first)
    if name is None:
        return None
    parts, stop = name
    return CreatedObject(_KINDS[found[at].word], parts, Span(found[first].start, found[stop - 1].stop), stop)


def name_place(text: str) -> Span | None:
    """Return the place of the name of what a statement creates, or None."""
    try:
        statement = parse(text)
    except StatementError:
        return None
    if isinstance(statement, st.CreateStreamingTable) and statement.create.table is not None:
        return statement.create.table.name.place
    if isinstance(statement, st.CreateJob):
        return statement.name.place
    created = created_by_spark(list(tokens(text)))
    return None if created is None else created.place


def name_at(found: Sequence[Token], first: int) -> tuple[tuple[str, ...], int] | None:
    """Return the parts of the name at an index, and the index of the token after it; None without a name there."""
    parts: list[str] = []
    at = first
    while at < len(found) and found[at].kind in (Kind.WORD, Kind.QUOTED):
        parts.append(name_part(found[at]))
        if at + 1 >= len(found) or found[at + 1].text != ".":
            return tuple(parts), at + 1
        at += 2
    return (tuple(parts), at) if parts else None


def job_targets(job: st.CreateJob, text: str) -> list[NamedTable]:
    """Return the tables that a job writes; none for a name that an expression gives."""
    if job.table is not None:
        return [NamedTable(job.table.name.parts, job.table.name.place)]
    places = [branch.target for branch in job.body.branches] or [job.body.target]
    found = []
    for place in places:
        name = list(tokens(text[place.start : place.stop]))
        if all(token.text != "(" for token in name):
            found.append(NamedTable(tuple(map(name_part, name[::2])), place))
    return found


def name_part(token: Token) -> str:
    """Return a part of a name without its back quotes."""
    return unquote(token.text) if token.kind is Kind.QUOTED else token.text


def lower_parts(parts: Sequence[str]) -> tuple[str, ...]:
    """Return the parts of a name as they are compared: without case."""
    return tuple(part.lower() for part in parts)


def is_same_name(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Return whether two names can be those of one table: the shorter one is the end of the longer one."""
    size = min(len(first), len(second))
    return first[-size:] == second[-size:]
