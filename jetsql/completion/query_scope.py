"""The context of the cursor in a half-written Spark statement: its clause, and the tables and their aliases.

`query_reader` determines it; `visible_columns` finds the columns of these tables.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

from jetsql.language.tokens import Kind, Token, unquote


class Clause(Enum):
    """The clauses of a statement."""

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
    TARGET = auto()  # INSERT INTO, UPDATE, MERGE INTO and the table after it
    SET = auto()  # assignments of UPDATE and MERGE
    MATCH = auto()  # the clauses in the parentheses of MATCH_RECOGNIZE
    NAMES = auto()  # a list of new names
    COLUMNS = auto()  # a list of the target's columns


class ExpectedName(Enum):
    """The kinds of names that can be expected at a position."""

    TABLE = auto()  # a table or view to read
    TARGET = auto()  # a table to write
    NEW = auto()  # a new name
    NOTHING = auto()


@dataclass
class QueryRelation:
    """A source of columns in a query."""

    parts: tuple[str, ...] = ()  # of its name
    scope: Query | None = None  # the query that names it, where its CTEs are searched
    alias: str = ""
    query: Query | None = None  # of a subquery or CTE
    column_names: list[str] = field(default_factory=list)  # given by the user
    is_computed: bool = False  # the result of a function

    @property
    def name(self) -> str:
        """Return the name that qualifies its columns."""
        return self.alias or (self.parts[-1] if self.parts else "")


@dataclass
class Query:
    """A SELECT, or another statement with tables."""

    outer: Query | None = None
    ctes: list[QueryRelation] = field(default_factory=list)
    relations: list[QueryRelation] = field(default_factory=list)
    outputs: list[list[Token]] = field(default_factory=list)  # the tokens of each item of the select list
    target: QueryRelation | None = None


@dataclass(frozen=True)
class Position:
    """The position of a token in a statement."""

    query: Query
    clause: Clause
    expected: ExpectedName
    is_nested: bool = False  # in an expression's parentheses, where no clause can begin
    is_first: bool = False  # first in its parentheses, where a subquery can begin
    open_cases: int = 0  # CASE without END
    lacks_condition: bool = False  # the last JOIN has no condition yet


def unquoted_name(token: Token) -> str:
    """Return a name without its quotes."""
    if token.kind is Kind.QUOTED:
        return unquote(token.text)
    return token.text.removeprefix("`") if token.kind is Kind.OPEN else token.text
