"""What a half-written Spark statement says around the cursor: which clause, which tables under which names.

`completion_reading` finds it out; the columns of these tables are the matter of `completion_columns`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

from jetsql.language.tokens import Kind, Token, unquote


class Clause(Enum):
    """The part of a statement that a token stands in."""

    START = auto()
    WITH = auto()
    SELECT = auto()
    FROM = auto()
    JOIN = auto()
    ON = auto()
    USING = auto()
    LATERAL = auto()
    WHERE = auto()
    GROUP = auto()
    HAVING = auto()
    ORDER = auto()
    LIMIT = auto()
    WINDOW = auto()
    VALUES = auto()
    TARGET = auto()  # INSERT INTO, UPDATE, MERGE INTO and the table behind
    SET = auto()  # assignments of UPDATE and MERGE
    NAMES = auto()  # a list in which new names are given
    COLUMNS = auto()  # a list of the target's columns


class Wants(Enum):
    """What a name at this place would be."""

    TABLE = auto()  # something to read
    TARGET = auto()  # a table to write
    NEW = auto()  # a name of the user's own
    NOTHING = auto()


@dataclass
class Relation:
    """Something with columns. parts: its name; `within`: the query that names it, where its CTEs are looked up.

    query: what a subquery or CTE selects. renamed: the columns' names where the user gives them. computed: a function's
    result.
    """

    parts: tuple[str, ...] = ()
    within: Query | None = None
    alias: str = ""
    query: Query | None = None
    renamed: list[str] = field(default_factory=list)
    computed: bool = False

    @property
    def name(self) -> str:
        """By which columns are qualified."""
        return self.alias or (self.parts[-1] if self.parts else "")


@dataclass
class Query:
    """One SELECT, or another statement with tables. outputs: the tokens of each item of its select list."""

    outer: Query | None = None
    ctes: list[Relation] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    outputs: list[list[Token]] = field(default_factory=list)
    target: Relation | None = None


@dataclass(frozen=True)
class Position:
    """Where a token stands. nested: within an expression's parentheses, where no clause can begin. opening: it is the
    first in its parentheses, where a subquery could begin. cases: CASEs that are open. joined: the last table came with
    a JOIN that has no condition yet.
    """

    query: Query
    clause: Clause
    wants: Wants
    nested: bool = False
    opening: bool = False
    cases: int = 0
    joined: bool = False


def value_of(token: Token) -> str:
    """A name without its quotes."""
    if token.kind is Kind.QUOTED:
        return unquote(token.text)
    return token.text.removeprefix("`") if token.kind is Kind.OPEN else token.text
