"""What a half-written Spark statement says around the cursor: which clause, which tables under which names.

One pass over the tokens, after Spark's shape of queries but without its grammar: it has to make sense of what is not
finished or wrong, so it believes the few words that open a clause and takes all else as it comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

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


_CLAUSES: Final = {
    "SELECT": Clause.SELECT,
    "WHERE": Clause.WHERE,
    "HAVING": Clause.HAVING,
    "QUALIFY": Clause.HAVING,
    "GROUP": Clause.GROUP,
    "ORDER": Clause.ORDER,
    "SORT": Clause.ORDER,
    "CLUSTER": Clause.ORDER,
    "DISTRIBUTE": Clause.ORDER,
    "LIMIT": Clause.LIMIT,
    "OFFSET": Clause.LIMIT,
    "WINDOW": Clause.WINDOW,
    "VALUES": Clause.VALUES,
    "ON": Clause.ON,
    "SET": Clause.SET,
}
_SET_OPERATIONS: Final = frozenset({"UNION", "INTERSECT", "EXCEPT", "MINUS"})
_QUERY_WORDS: Final = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE"})
# What follows a table and is no alias of it.
_NO_ALIAS: Final = (
    frozenset(_CLAUSES)
    | _SET_OPERATIONS
    | frozenset(
        "ANTI AS BY CROSS FOR FROM FULL INNER INSERT INTO JOIN LATERAL LEFT NATURAL OUTER OVERWRITE PARTITION PIVOT"
        " REPLACE RIGHT SEMI SINK STREAM SYSTEM_TIME TABLESAMPLE TIMESTAMP UNPIVOT USING VERSION WATERMARK WHEN WITH"
        " DELAY".split()
    )
)
_NAMES: Final = (Kind.WORD, Kind.QUOTED)
_UNITS: Final = frozenset({"MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR"})
_WRITING: Final = frozenset({"INSERT", "SINK", "UPDATE", "DELETE", "MERGE"})
# All words that can begin a clause.
_OPENING: Final = frozenset(_CLAUSES) | _SET_OPERATIONS | _WRITING | {"FROM", "JOIN", "USING", "LATERAL", "WITH"}
# Functions that have a FROM among their arguments.
_WITH_FROM: Final = frozenset({"EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "OVERLAY"})
# Words before a table's name that are no part of it.
_BEFORE_TABLE: Final = frozenset({"LATERAL", "TABLE", "INTO", "OVERWRITE", "ONLY"})


@dataclass
class _Frame:
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


def position_of(tokens: Sequence[Token], at: int) -> Position:
    """Where token number `at` stands; those behind it still tell which tables there are. Never raises."""
    reader = _Reader(tokens)
    for index in range(len(tokens)):
        if index == at:
            reader.mark(index)
        reader.take(index)
    return reader.position


def value_of(token: Token) -> str:
    """A name without its quotes."""
    if token.kind is Kind.QUOTED:
        return unquote(token.text)
    return token.text.removeprefix("`") if token.kind is Kind.OPEN else token.text


class _Reader:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._open = [_Frame(Query(), Clause.START)]
        self.position = Position(self._open[0].query, Clause.START, Wants.NOTHING)

    def mark(self, index: int) -> None:
        frame = self._open[-1]
        wants = frame.wants
        if frame.dotted and frame.naming:
            wants = Wants.TARGET if frame.naming is frame.query.target else Wants.TABLE
        opening = index > 0 and self._text(index - 1) == "("
        self.position = Position(
            frame.query, frame.clause, wants, frame.expression, opening, frame.cases, frame.joined
        )

    def take(self, index: int) -> None:
        token = self._tokens[index]
        word = token.word
        if word == "FROM":
            self._leave_unclosed(index)
        frame = self._open[-1]
        if token.text == "(" and token.kind is Kind.SYMBOL:
            self._open_parentheses(frame, index)
        elif token.text == ")" and token.kind is Kind.SYMBOL:
            self._close()
        else:
            item = frame.item
            if word == "CASE":
                frame.cases += 1
            elif word == "END":
                frame.cases = max(0, frame.cases - 1)
            if frame.clause is Clause.NAMES:
                self._rename(frame, token)
            elif not frame.expression:
                self._in_query(frame, token, word, index)
            if item is not None and frame.item is item:
                item.append(token)

    def _leave_unclosed(self, index: int) -> None:
        """A FROM that can't belong to an expression shows that its parentheses were only never closed."""
        while (
            self._open[-1].expression
            and self._open[-1].function not in _WITH_FROM
            and self._word(index - 1) != "DISTINCT"
        ):
            self._open.pop()

    def _text(self, index: int) -> str:
        return self._tokens[index].text if 0 <= index < len(self._tokens) else ""

    def _word(self, index: int) -> str:
        return self._tokens[index].word if 0 <= index < len(self._tokens) else ""

    def _rename(self, frame: _Frame, token: Token) -> None:
        if token.kind in _NAMES and frame.given is not None:
            frame.given.renamed.append(value_of(token))

    def _open_parentheses(self, frame: _Frame, index: int) -> None:
        if frame.item is not None:
            frame.item.append(self._tokens[index])
        within = self._frame_within(frame, index)
        within.function = self._word(index - 1)
        self._open.append(within)
        frame.dotted = False

    def _frame_within(self, frame: _Frame, index: int) -> _Frame:
        following = self._word(index + 1)
        if frame.clause is Clause.WITH and not frame.expression:
            return self._cte_part(frame, index)
        if following in _QUERY_WORDS or (frame.wants is Wants.TABLE and self._text(index + 1) in (")", "")):
            query = Query(outer=frame.query)
            if frame.wants is Wants.TABLE:
                frame.given = Relation(query=query, within=frame.query)
                frame.query.relations.append(frame.given)
                frame.wants = Wants.NOTHING
            return _Frame(query, Clause.START)
        if frame.wants is Wants.TABLE:  # a join in parentheses, or STREAM(t)
            frame.wants = Wants.NOTHING
            return _Frame(frame.query, Clause.FROM, Wants.TABLE)
        if frame.clause is Clause.TARGET and frame.naming is frame.query.target and frame.naming is not None:
            return _Frame(frame.query, Clause.COLUMNS, expression=True)
        if frame.clause is Clause.LATERAL or frame.expression or frame.naming is None:
            return self._in_expression(frame, index)
        frame.naming.computed = True
        return _Frame(frame.query, Clause.SELECT, expression=True)

    def _in_expression(self, frame: _Frame, index: int) -> _Frame:
        named = frame.given is not None and self._tokens[index - 1].kind in _NAMES
        if named and frame.clause in (Clause.FROM, Clause.JOIN) and not frame.expression and frame.given:
            if frame.given.alias and self._word(index - 1) not in _NO_ALIAS:
                return _Frame(frame.query, Clause.NAMES, given=frame.given)
        if frame.statement == "MERGE" and self._word(index - 1) == "INSERT":
            return _Frame(frame.query, Clause.COLUMNS, expression=True)
        return _Frame(frame.query, frame.clause, expression=True)

    def _cte_part(self, frame: _Frame, index: int) -> _Frame:
        cte = frame.given or Relation(within=frame.query)
        if self._word(index - 1) != "AS":
            return _Frame(frame.query, Clause.NAMES, given=cte)
        cte.query = Query(outer=None, ctes=list(frame.query.ctes[:-1]))
        cte.query.outer = frame.query.outer
        return _Frame(cte.query, Clause.START)

    def _close(self) -> None:
        if len(self._open) > 1:
            self._open.pop()
        frame = self._open[-1]
        if frame.item is not None:
            frame.item.append(Token(Kind.SYMBOL, ")", 0, 0))

    def _in_query(self, frame: _Frame, token: Token, word: str, index: int) -> None:
        if frame.naming is not None and self._continues_name(frame, frame.naming, token):
            return
        if frame.wants is not Wants.NOTHING and self._names_table(frame, token, word, index):
            return
        if word in _OPENING and self._opens_clause(frame, word, index):
            return
        if token.text == ",":
            self._comma(frame)
        elif frame.clause is Clause.WITH:
            self._in_with(frame, token)
        elif frame.clause is Clause.LATERAL:
            self._in_lateral(frame, token, index)
        elif frame.given is not None and token.kind in _NAMES and word not in _NO_ALIAS:
            if not frame.given.alias and not self._in_watermark(index):
                frame.given.alias = value_of(token)
                frame.wants = Wants.NOTHING
        elif word == "AS" and frame.given is not None and not frame.given.alias:
            frame.wants = Wants.NEW
        elif word == "AS" and frame.clause is Clause.SELECT:
            frame.wants = Wants.NEW
            return
        if frame.clause is Clause.SELECT:
            frame.wants = Wants.NOTHING

    def _in_watermark(self, index: int) -> bool:
        """Whether a word behind a table belongs to `WATERMARK column DELAY OF INTERVAL 2 HOURS`, and is no alias."""
        before, word = self._tokens[index - 1], self._word(index)
        unit = word.removesuffix("S") in _UNITS and before.kind in (Kind.NUMBER, Kind.STRING)
        return unit or before.word in ("WATERMARK", "OF", "INTERVAL") or word in ("OF", "INTERVAL")

    def _continues_name(self, frame: _Frame, naming: Relation, token: Token) -> bool:
        """Whether a token goes on with a table's name: a dot, or the part behind one."""
        if token.text == "." and not frame.dotted:
            frame.dotted = True
            return True
        if frame.dotted and token.kind in _NAMES:
            naming.parts += (value_of(token),)
            frame.dotted = False
            return True
        frame.naming, frame.dotted = None, False
        return False

    def _names_table(self, frame: _Frame, token: Token, word: str, index: int) -> bool:
        if frame.wants not in (Wants.TABLE, Wants.TARGET) or token.kind not in _NAMES:
            return False
        if word in _BEFORE_TABLE:
            return True
        if word == "STREAM" and self._streams(index + 1):
            return True
        if word in _NO_ALIAS and word != "STREAM":
            frame.wants = Wants.NOTHING
            return False
        relation = Relation((value_of(token),), within=frame.query)
        if frame.wants is Wants.TARGET:
            frame.query.target = relation
        if frame.wants is Wants.TABLE or frame.statement != "INSERT":
            frame.query.relations.append(relation)
        frame.naming = frame.given = relation
        frame.wants = Wants.NOTHING
        return True

    def _streams(self, index: int) -> bool:
        """Whether what follows STREAM is the table; else STREAM is the table's name."""
        if index >= len(self._tokens):
            return False
        following = self._tokens[index]
        return following.text == "(" or (following.kind in _NAMES and following.word not in _NO_ALIAS)

    def _opens_clause(self, frame: _Frame, word: str, index: int) -> bool:
        if word == "FROM":
            if self._word(index - 1) != "DISTINCT" or self._word(index - 2) not in ("IS", "NOT"):
                self._begin(frame, Clause.FROM, Wants.TABLE)
        elif word == "JOIN":
            self._begin(frame, Clause.JOIN, Wants.TABLE)
            frame.joined = True
        elif word == "USING":
            self._using(frame)
        elif word == "LATERAL" and self._word(index + 1) == "VIEW":
            self._begin(frame, Clause.LATERAL)
        elif word == "WITH" and frame.clause is Clause.START:
            self._begin(frame, Clause.WITH, Wants.NEW)
        elif word in _SET_OPERATIONS:
            frame.query = Query(outer=frame.query.outer, ctes=frame.query.ctes)
            self._begin(frame, Clause.START)
        elif word in _WRITING and frame.clause in (Clause.START, Clause.WITH):
            self._write(frame, word)
        elif word in _CLAUSES and not self._is_no_clause(frame, word, index):
            self._begin(frame, _CLAUSES[word])
            if word == "SELECT":
                frame.item = []
                frame.query.outputs.append(frame.item)
        else:
            return False
        return True

    def _is_no_clause(self, frame: _Frame, word: str, index: int) -> bool:
        """The statement SET, and the function window(...)."""
        return (word == "SET" and frame.clause is Clause.START) or (word == "WINDOW" and self._text(index + 1) == "(")

    def _begin(self, frame: _Frame, clause: Clause, wants: Wants = Wants.NOTHING) -> None:
        frame.clause, frame.wants = clause, wants
        frame.item = frame.given = frame.naming = None
        frame.joined = frame.dotted = False
        frame.cases = 0

    def _using(self, frame: _Frame) -> None:
        if frame.statement == "MERGE":
            self._begin(frame, Clause.FROM, Wants.TABLE)
            frame.joined = True
        else:
            self._begin(frame, Clause.USING)

    def _write(self, frame: _Frame, word: str) -> None:
        frame.statement = "INSERT" if word == "SINK" else word
        self._begin(frame, Clause.TARGET, Wants.NOTHING if word == "DELETE" else Wants.TARGET)

    def _comma(self, frame: _Frame) -> None:
        if frame.clause is Clause.SELECT:
            frame.item = []
            frame.query.outputs.append(frame.item)
            frame.wants = Wants.NOTHING
        elif frame.clause in (Clause.FROM, Clause.JOIN):
            self._begin(frame, Clause.FROM, Wants.TABLE)
        elif frame.clause is Clause.WITH:
            self._begin(frame, Clause.WITH, Wants.NEW)

    def _in_with(self, frame: _Frame, token: Token) -> None:
        if token.kind in _NAMES and frame.given is None and token.word != "RECURSIVE":
            frame.given = Relation((value_of(token),), within=frame.query)
            frame.query.ctes.append(frame.given)
        frame.wants = Wants.NOTHING

    def _in_lateral(self, frame: _Frame, token: Token, index: int) -> None:
        """`LATERAL VIEW f(x) t AS a, b`: t is the first name behind the parentheses, the columns follow AS."""
        if token.kind not in _NAMES or token.word in ("VIEW", "OUTER", "AS"):
            return
        if frame.given is None and self._text(index - 1) == ")":
            frame.given = Relation(alias=value_of(token), within=frame.query, computed=True)
            frame.query.relations.append(frame.given)
        elif frame.given is not None and (self._word(index - 1) == "AS" or self._text(index - 1) == ","):
            frame.given.renamed.append(value_of(token))
