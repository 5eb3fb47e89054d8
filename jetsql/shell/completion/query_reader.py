"""Reads a half-written Spark statement: what stands where (see `completion_scope` for what it makes of it).

One pass over the tokens, after Spark's shape of queries but without its grammar: it has to make sense of what is not
finished or wrong, so it believes the few words that open a clause and takes all else as it comes. How far the tokens
before the cursor were read is kept in marks, as a key changes but the last of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from jetsql.language.tokens import Kind, Token
from jetsql.shell.completion.query_scope import Clause, Position, Query, Relation, Wants, value_of
from jetsql.shell.completion.reading_frames import Frame, copied

_MARKED_TOKENS: Final = 200

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


@dataclass(frozen=True)
class _Mark:
    """count: of the tokens that are read. open: what is open then; for copies only."""

    count: int
    open: list[Frame]


@dataclass(frozen=True)
class _Kept:
    """What was read last. Frozen, and changed for another at once: threads that read at the same time cost each other
    nothing but time."""

    tokens: tuple[Token, ...] = ()
    marks: tuple[_Mark, ...] = ()

    def marks_of(self, before: Sequence[Token], at: Token) -> tuple[_Mark, ...]:
        """Those up to which the tokens are the same, and the one behind, which reading looks ahead to."""
        same = len(self.marks)
        while same and not self._is_same(before, at, self.marks[same - 1].count):  # mostly the newest one is
            same -= 1
        return self.marks[:same]

    def _is_same(self, before: Sequence[Token], at: Token, count: int) -> bool:
        if len(before) < count or (before[count] if count < len(before) else at) != self.tokens[count]:
            return False
        return tuple(before[:count]) == self.tokens[:count]


class _Newest:
    kept = _Kept()


def position_of(before: Sequence[Token], at: Token, behind: Sequence[Token]) -> Position:
    """Where the token `at` stands; those behind it still tell which tables there are. Never raises."""
    tokens = (*before, at, *behind)
    marks = list(_Newest.kept.marks_of(before, at))
    reader = _Reader(tokens, copied(marks[-1].open) if marks else [Frame(Query(), Clause.START)])
    done = marks[-1].count if marks else 0
    wanted = _wanted(len(before))
    for index in range(done, len(before)):
        if index > done and index in wanted:
            marks.append(_Mark(index, copied(reader.open)))
        reader.take(index)
    _Newest.kept = _Kept(tuple(before), tuple(_thinned(marks, len(before))))
    position = reader.position(len(before))
    for index in range(len(before), len(tokens)):
        reader.take(index)
    return position


def _wanted(count: int) -> frozenset[int]:
    """Where marks pay: many where somebody types, ever fewer before that, since each is a copy of all that is open."""
    last = (count - 1) // _MARKED_TOKENS
    return frozenset((last - (1 << power) + 1) * _MARKED_TOKENS for power in range(last.bit_length()))


def _thinned(marks: Sequence[_Mark], count: int) -> list[_Mark]:
    """Those of which each is at twice the distance from the end that the next one is at, or more."""
    kept: list[_Mark] = []
    for mark in reversed(marks):
        if not kept or count - mark.count + _MARKED_TOKENS >= (count - kept[-1].count) * 2:
            kept.append(mark)
    return kept[::-1]


class _Reader:
    """open: what is open before the first token that it takes."""

    def __init__(self, tokens: Sequence[Token], open: list[Frame]) -> None:
        self._tokens = tokens
        self.open = open

    def position(self, index: int) -> Position:
        """Of the token that is to be taken next; what is taken later still tells of the tables in it."""
        frame = self.open[-1]
        wants = frame.wants
        if frame.dotted and frame.naming:
            wants = Wants.TARGET if frame.naming is frame.query.target else Wants.TABLE
        opening = index > 0 and self._text(index - 1) == "("
        return Position(frame.query, frame.clause, wants, frame.expression, opening, frame.cases, frame.joined)

    def take(self, index: int) -> None:
        token = self._tokens[index]
        word = token.word
        if word == "FROM":
            self._leave_unclosed(index)
        frame = self.open[-1]
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
            self.open[-1].expression
            and self.open[-1].function not in _WITH_FROM
            and self._word(index - 1) != "DISTINCT"
        ):
            self.open.pop()

    def _text(self, index: int) -> str:
        return self._tokens[index].text if 0 <= index < len(self._tokens) else ""

    def _word(self, index: int) -> str:
        return self._tokens[index].word if 0 <= index < len(self._tokens) else ""

    def _rename(self, frame: Frame, token: Token) -> None:
        if token.kind in _NAMES and frame.given is not None:
            frame.given.renamed.append(value_of(token))

    def _open_parentheses(self, frame: Frame, index: int) -> None:
        if frame.item is not None:
            frame.item.append(self._tokens[index])
        within = self._frame_within(frame, index)
        within.function = self._word(index - 1)
        self.open.append(within)
        frame.dotted = False

    def _frame_within(self, frame: Frame, index: int) -> Frame:
        following = self._word(index + 1)
        if frame.clause is Clause.WITH and not frame.expression:
            return self._cte_part(frame, index)
        if following in _QUERY_WORDS or (frame.wants is Wants.TABLE and self._text(index + 1) in (")", "")):
            query = Query(outer=frame.query)
            if frame.wants is Wants.TABLE:
                frame.given = Relation(query=query, within=frame.query)
                frame.query.relations.append(frame.given)
                frame.wants = Wants.NOTHING
            return Frame(query, Clause.START)
        if frame.wants is Wants.TABLE:  # a join in parentheses, or STREAM(t)
            frame.wants = Wants.NOTHING
            return Frame(frame.query, Clause.FROM, Wants.TABLE)
        if frame.clause is Clause.TARGET and frame.naming is frame.query.target and frame.naming is not None:
            return Frame(frame.query, Clause.COLUMNS, expression=True)
        if frame.clause is Clause.LATERAL or frame.expression or frame.naming is None:
            return self._in_expression(frame, index)
        frame.naming.computed = True
        return Frame(frame.query, Clause.SELECT, expression=True)

    def _in_expression(self, frame: Frame, index: int) -> Frame:
        named = frame.given is not None and self._tokens[index - 1].kind in _NAMES
        if named and frame.clause in (Clause.FROM, Clause.JOIN) and not frame.expression and frame.given:
            if frame.given.alias and self._word(index - 1) not in _NO_ALIAS:
                return Frame(frame.query, Clause.NAMES, given=frame.given)
        if frame.statement == "MERGE" and self._word(index - 1) == "INSERT":
            return Frame(frame.query, Clause.COLUMNS, expression=True)
        return Frame(frame.query, frame.clause, expression=True)

    def _cte_part(self, frame: Frame, index: int) -> Frame:
        cte = frame.given or Relation(within=frame.query)
        if self._word(index - 1) != "AS":
            return Frame(frame.query, Clause.NAMES, given=cte)
        cte.query = Query(outer=None, ctes=list(frame.query.ctes[:-1]))
        cte.query.outer = frame.query.outer
        return Frame(cte.query, Clause.START)

    def _close(self) -> None:
        if len(self.open) > 1:
            self.open.pop()
        frame = self.open[-1]
        if frame.item is not None:
            frame.item.append(Token(Kind.SYMBOL, ")", 0, 0))

    def _in_query(self, frame: Frame, token: Token, word: str, index: int) -> None:
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

    def _continues_name(self, frame: Frame, naming: Relation, token: Token) -> bool:
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

    def _names_table(self, frame: Frame, token: Token, word: str, index: int) -> bool:
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

    def _opens_clause(self, frame: Frame, word: str, index: int) -> bool:
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

    def _is_no_clause(self, frame: Frame, word: str, index: int) -> bool:
        """The statement SET, and the function window(...)."""
        return (word == "SET" and frame.clause is Clause.START) or (word == "WINDOW" and self._text(index + 1) == "(")

    def _begin(self, frame: Frame, clause: Clause, wants: Wants = Wants.NOTHING) -> None:
        frame.clause, frame.wants = clause, wants
        frame.item = frame.given = frame.naming = None
        frame.joined = frame.dotted = False
        frame.cases = 0

    def _using(self, frame: Frame) -> None:
        if frame.statement == "MERGE":
            self._begin(frame, Clause.FROM, Wants.TABLE)
            frame.joined = True
        else:
            self._begin(frame, Clause.USING)

    def _write(self, frame: Frame, word: str) -> None:
        frame.statement = "INSERT" if word == "SINK" else word
        self._begin(frame, Clause.TARGET, Wants.NOTHING if word == "DELETE" else Wants.TARGET)

    def _comma(self, frame: Frame) -> None:
        if frame.clause is Clause.SELECT:
            frame.item = []
            frame.query.outputs.append(frame.item)
            frame.wants = Wants.NOTHING
        elif frame.clause in (Clause.FROM, Clause.JOIN):
            self._begin(frame, Clause.FROM, Wants.TABLE)
        elif frame.clause is Clause.WITH:
            self._begin(frame, Clause.WITH, Wants.NEW)

    def _in_with(self, frame: Frame, token: Token) -> None:
        if token.kind in _NAMES and frame.given is None and token.word != "RECURSIVE":
            frame.given = Relation((value_of(token),), within=frame.query)
            frame.query.ctes.append(frame.given)
        frame.wants = Wants.NOTHING

    def _in_lateral(self, frame: Frame, token: Token, index: int) -> None:
        """`LATERAL VIEW f(x) t AS a, b`: t is the first name behind the parentheses, the columns follow AS."""
        if token.kind not in _NAMES or token.word in ("VIEW", "OUTER", "AS"):
            return
        if frame.given is None and self._text(index - 1) == ")":
            frame.given = Relation(alias=value_of(token), within=frame.query, computed=True)
            frame.query.relations.append(frame.given)
        elif frame.given is not None and (self._word(index - 1) == "AS" or self._text(index - 1) == ","):
            frame.given.renamed.append(value_of(token))
