"""Find the names of what statements create and write, in their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from jetsql.errors import Span, StatementError
from jetsql.language import parse
from jetsql.language import statement as st
from jetsql.language.statement_head import name_at, name_part, read_head
from jetsql.language.tokens import Token, tokens
from jetsql.sqlfiles.read_bodies import NamedTable

_KINDS: Final = ("TABLE", "VIEW", "FUNCTION", "SCHEMA")


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
    head = read_head(found)
    name = name_at(found, head.name_at)
    if head.verb != "CREATE" or head.kind not in _KINDS or head.has_job or name is None:
        return None
    parts, stop = name
    return CreatedObject(head.kind, parts, Span(found[head.name_at].start, found[stop - 1].stop), stop)


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


def lower_parts(parts: Sequence[str]) -> tuple[str, ...]:
    """Return the parts of a name as they are compared: without case."""
    return tuple(part.lower() for part in parts)


def is_same_name(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Return whether two names can be those of one table: the shorter one is the end of the longer one."""
    size = min(len(first), len(second))
    return first[-size:] == second[-size:]
