"""Read a half-written Spark statement: the clause and the tables at each position, see `query_scope`.

The reader follows the shape of Spark's queries in one pass over the tokens, without the grammar. The text is unfinished
or wrong, so the reader relies on the few words that open a clause and accepts everything else. Marks save the reader's
state before the cursor, because a key changes only the last tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from jetsql.completion.query_scope import Clause, ExpectedName, Position, Query, QueryRelation, unquoted_name
from jetsql.completion.reading_frames import ReadingFrame, copy_frames
from jetsql.language.statement_head import QUERY_WORDS
from jetsql.language.tokens import Kind, Token

_MARK_DISTANCE: Final = 200

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
_QUERIES: Final = frozenset(QUERY_WORDS)
_SET_OPERATIONS: Final = frozenset({"UNION", "INTERSECT", "EXCEPT", "MINUS"})
# Words after a table that are not its alias.
_NO_ALIAS: Final = (
    frozenset(_CLAUSES)
    | _SET_OPERATIONS
    | frozenset(
        "ANTI AS BY CROSS FOR FROM FULL INNER INSERT INTO JOIN LATERAL LEFT NATURAL OUTER OVERWRITE PARTITION PIVOT"
        " REPLACE RIGHT SEMI SINK STREAM SYSTEM_TIME TABLESAMPLE TIMESTAMP UNPIVOT USING VERSION WATERMARK WHEN WITH"
        " DELAY MATCH_RECOGNIZE".split()
    )
)
_NAMES: Final = (Kind.WORD, Kind.QUOTED)
_UNITS: Final = frozenset({"MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR"})
_WRITING_VERBS: Final = frozenset({"INSERT", "SINK", "CDC", "UPDATE", "DELETE", "MERGE"})
# All words that can begin a clause.
_CLAUSE_WORDS: Final = (
    frozenset(_CLAUSES) | _SET_OPERATIONS | _WRITING_VERBS | {"FROM", "JOIN", "USING", "LATERAL", "WITH"}
)
# Functions that have a FROM among their arguments.
_WITH_FROM: Final = frozenset({"EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "OVERLAY"})
# Words before a table's name that are not part of it.
_BEFORE_TABLE: Final = frozenset({"LATERAL", "TABLE", "INTO", "OVERWRITE", "ONLY"})


@dataclass(frozen=True)
class _Mark:
    """A saved state of the reader."""

    count: int  # of the tokens read
    frames: list[ReadingFrame]  # the open frames; copy them before use


@dataclass(frozen=True)
class _LastRead:
    """The tokens of the last reading and its marks. Replaced atomically, so parallel readers at worst repeat work."""

    tokens: tuple[Token, ...] = ()
    marks: tuple[_Mark, ...] = ()

    def usable_marks(self, before: Sequence[Token], at: Token) -> tuple[_Mark, ...]:
        """Return the marks whose tokens are unchanged, including one token of look-ahead."""
        same = len(self.marks)
        while same and not self._is_same(before, at, self.marks[same - 1].count):  # usually the newest mark is usable
            same -= 1
        return self.marks[:same]

    def _is_same(self, before: Sequence[Token], at: Token, count: int) -> bool:
        if len(before) < count or (before[count] if count < len(before) else at) != self.tokens[count]:
            return False
        return tuple(before[:count]) == self.tokens[:count]


class _Cache:
    last_read = _LastRead()


def find_position(before: Sequence[Token], at: Token, after: Sequence[Token]) -> Position:
    """Return the position of the token `at`, with the tables that later tokens add. Never raises."""
    tokens = (*before, at, *after)
    marks = list(_Cache.last_read.usable_marks(before, at))
    reader = _Reader(tokens, copy_frames(marks[-1].frames) if marks else [ReadingFrame(Query(), Clause.START)])
    done = marks[-1].count if marks else 0
    mark_positions = _mark_positions(len(before))
    for index in range(done, len(before)):
        if index > done and index in mark_positions:
            marks.append(_Mark(index, copy_frames(reader.frames)))
        reader.take(index)
    _Cache.last_read = _LastRead(tuple(before), tuple(_thin_out(marks, len(before))))
    position = reader.position(len(before))
    for index in range(len(before), len(tokens)):
        reader.take(index)
    return position


def _mark_positions(count: int) -> frozenset[int]:
    """Return the positions of marks: dense near the end, exponentially fewer before, because each copies all frames."""
    last = (count - 1) // _MARK_DISTANCE
    return frozenset((last - (1 << power) + 1) * _MARK_DISTANCE for power in range(last.bit_length()))


def _thin_out(marks: Sequence[_Mark], count: int) -> list[_Mark]:
    """Return the marks whose distances from the end at least double."""
    result: list[_Mark] = []
    for mark in reversed(marks):
        if not result or count - mark.count + _MARK_DISTANCE >= (count - result[-1].count) * 2:
            result.append(mark)
    return result[::-1]


class _Reader:
    """The reader. frames: the open frames before the first token that it takes."""

    def __init__(self, tokens: Sequence[Token], frames: list[ReadingFrame]) -> None:
        self._tokens = tokens
        self.frames = frames

    def position(self, index: int) -> Position:
        """Return the position of the next token; later tokens still add tables."""
        frame = self.frames[-1]
        expected = frame.expected
        if frame.after_dot and frame.named_relation:
            expected = ExpectedName.TARGET if frame.named_relation is frame.query.target else ExpectedName.TABLE
        opening = index > 0 and self._text(index - 1) == "("
        return Position(
            frame.query, frame.clause, expected, frame.is_expression, opening, frame.open_cases, frame.lacks_condition
        )

    def take(self, index: int) -> None:
        token = self._tokens[index]
        word = token.word
        if word == "FROM":
            self._close_unfinished(index)
        frame = self.frames[-1]
        if token.text == "(" and token.kind is Kind.SYMBOL:
            self._open_parentheses(frame, index)
        elif token.text == ")" and token.kind is Kind.SYMBOL:
            self._close()
        else:
            item = frame.select_item
            if word == "CASE":
                frame.open_cases += 1
            elif word == "END":
                frame.open_cases = max(0, frame.open_cases - 1)
            if frame.clause is Clause.NAMES:
                self._rename(frame, token)
            elif not frame.is_expression:
                self._take_in_query(frame, token, word, index)
            if item is not None and frame.select_item is item:
                item.append(token)

    def _close_unfinished(self, index: int) -> None:
        """Close unfinished parentheses at a FROM that cannot belong to an expression."""
        while (
            self.frames[-1].is_expression
            and self.frames[-1].function not in _WITH_FROM
            and self._word(index - 1) != "DISTINCT"
        ):
            self.frames.pop()

    def _text(self, index: int) -> str:
        return self._tokens[index].text if 0 <= index < len(self._tokens) else ""

    def _word(self, index: int) -> str:
        return self._tokens[index].word if 0 <= index < len(self._tokens) else ""

    def _rename(self, frame: ReadingFrame, token: Token) -> None:
        if token.kind in _NAMES and frame.last_relation is not None:
            frame.last_relation.column_names.append(unquoted_name(token))

    def _open_parentheses(self, frame: ReadingFrame, index: int) -> None:
        if frame.select_item is not None:
            frame.select_item.append(self._tokens[index])
        within = self._new_frame(frame, index)
        within.function = self._word(index - 1)
        self.frames.append(within)
        frame.after_dot = False

    def _new_frame(self, frame: ReadingFrame, index: int) -> ReadingFrame:
        next_word = self._word(index + 1)
        if frame.clause is Clause.WITH and not frame.is_expression:
            return self._new_cte_frame(frame, index)
        if next_word in _QUERIES or (frame.expected is ExpectedName.TABLE and self._text(index + 1) in (")", "")):
            query = Query(outer=frame.query)
            if frame.expected is ExpectedName.TABLE:
                frame.last_relation = QueryRelation(query=query, scope=frame.query)
                frame.query.relations.append(frame.last_relation)
                frame.expected = ExpectedName.NOTHING
            return ReadingFrame(query, Clause.START)
        if frame.expected is ExpectedName.TABLE:  # a join in parentheses, or STREAM(t)
            frame.expected = ExpectedName.NOTHING
            return ReadingFrame(frame.query, Clause.FROM, ExpectedName.TABLE)
        if (
            frame.clause is Clause.TARGET
            and frame.named_relation is frame.query.target
            and frame.named_relation is not None
        ):
            return ReadingFrame(frame.query, Clause.COLUMNS, is_expression=True)
        if frame.clause is Clause.LATERAL or frame.is_expression or frame.named_relation is None:
            return self._new_expression_frame(frame, index)
        frame.named_relation.is_computed = True
        return ReadingFrame(frame.query, Clause.SELECT, is_expression=True)

    def _new_expression_frame(self, frame: ReadingFrame, index: int) -> ReadingFrame:
        if self._word(index - 1) == "MATCH_RECOGNIZE" and not frame.is_expression:
            return ReadingFrame(frame.query, Clause.MATCH, is_expression=True)
        if frame.clause is Clause.MATCH:
            return ReadingFrame(frame.query, Clause.SELECT, is_expression=True)
        named = frame.last_relation is not None and self._tokens[index - 1].kind in _NAMES
        if named and frame.clause in (Clause.FROM, Clause.JOIN) and not frame.is_expression and frame.last_relation:
            if frame.last_relation.alias and self._word(index - 1) not in _NO_ALIAS:
                return ReadingFrame(frame.query, Clause.NAMES, last_relation=frame.last_relation)
        if frame.statement == "MERGE" and self._word(index - 1) == "INSERT":
            return ReadingFrame(frame.query, Clause.COLUMNS, is_expression=True)
        return ReadingFrame(frame.query, frame.clause, is_expression=True)

    def _new_cte_frame(self, frame: ReadingFrame, index: int) -> ReadingFrame:
        cte = frame.last_relation or QueryRelation(scope=frame.query)
        if self._word(index - 1) != "AS":
            return ReadingFrame(frame.query, Clause.NAMES, last_relation=cte)
        cte.query = Query(outer=None, ctes=list(frame.query.ctes[:-1]))
        cte.query.outer = frame.query.outer
        return ReadingFrame(cte.query, Clause.START)

    def _close(self) -> None:
        if len(self.frames) > 1:
            self.frames.pop()
        frame = self.frames[-1]
        if frame.select_item is not None:
            frame.select_item.append(Token(Kind.SYMBOL, ")", 0, 0))

    def _take_in_query(self, frame: ReadingFrame, token: Token, word: str, index: int) -> None:
        if frame.named_relation is not None and self._continues_name(frame, frame.named_relation, token):
            return
        if frame.expected is not ExpectedName.NOTHING and self._names_table(frame, token, word, index):
            return
        if word in _CLAUSE_WORDS and self._opens_clause(frame, word, index):
            return
        if token.text == ",":
            self._take_comma(frame)
        elif frame.clause is Clause.WITH:
            self._take_in_with(frame, token)
        elif frame.clause is Clause.LATERAL:
            self._take_in_lateral(frame, token, index)
        elif frame.last_relation is not None and token.kind in _NAMES and word not in _NO_ALIAS:
            if not frame.last_relation.alias and not self._in_watermark(index):
                frame.last_relation.alias = unquoted_name(token)
                frame.expected = ExpectedName.NOTHING
        elif word == "AS" and frame.last_relation is not None and not frame.last_relation.alias:
            frame.expected = ExpectedName.NEW
        elif word == "AS" and frame.clause is Clause.SELECT:
            frame.expected = ExpectedName.NEW
            return
        if frame.clause is Clause.SELECT:
            frame.expected = ExpectedName.NOTHING

    def _in_watermark(self, index: int) -> bool:
        """Return whether a word belongs to `WATERMARK column DELAY OF INTERVAL 2 HOURS` and is no alias."""
        before, word = self._tokens[index - 1], self._word(index)
        unit = word.removesuffix("S") in _UNITS and before.kind in (Kind.NUMBER, Kind.STRING)
        return unit or before.word in ("WATERMARK", "OF", "INTERVAL") or word in ("OF", "INTERVAL")

    def _continues_name(self, frame: ReadingFrame, relation: QueryRelation, token: Token) -> bool:
        """Return whether a token continues a table's name: a dot, or the part after one."""
        if token.text == "." and not frame.after_dot:
            frame.after_dot = True
            return True
        if frame.after_dot and token.kind in _NAMES:
            relation.parts += (unquoted_name(token),)
            frame.after_dot = False
            return True
        frame.named_relation, frame.after_dot = None, False
        return False

    def _names_table(self, frame: ReadingFrame, token: Token, word: str, index: int) -> bool:
        if frame.expected not in (ExpectedName.TABLE, ExpectedName.TARGET) or token.kind not in _NAMES:
            return False
        if word in _BEFORE_TABLE:
            return True
        if word == "STREAM" and self._is_stream_keyword(index + 1):
            return True
        if word in _NO_ALIAS and word != "STREAM":
            frame.expected = ExpectedName.NOTHING
            return False
        relation = QueryRelation((unquoted_name(token),), scope=frame.query)
        if frame.expected is ExpectedName.TARGET:
            frame.query.target = relation
        if frame.expected is ExpectedName.TABLE or frame.statement != "INSERT":
            frame.query.relations.append(relation)
        frame.named_relation = frame.last_relation = relation
        frame.expected = ExpectedName.NOTHING
        return True

    def _is_stream_keyword(self, index: int) -> bool:
        """Return whether a table follows STREAM; otherwise STREAM is the table's name."""
        if index >= len(self._tokens):
            return False
        following = self._tokens[index]
        return following.text == "(" or (following.kind in _NAMES and following.word not in _NO_ALIAS)

    def _opens_clause(self, frame: ReadingFrame, word: str, index: int) -> bool:
        if word == "FROM":
            if self._word(index - 1) != "DISTINCT" or self._word(index - 2) not in ("IS", "NOT"):
                self._begin(frame, Clause.FROM, ExpectedName.TABLE)
        elif word == "JOIN":
            self._begin(frame, Clause.JOIN, ExpectedName.TABLE)
            frame.lacks_condition = True
        elif word == "USING":
            self._take_using(frame)
        elif word == "LATERAL" and self._word(index + 1) == "VIEW":
            self._begin(frame, Clause.LATERAL)
        elif word == "WITH" and frame.clause is Clause.START:
            self._begin(frame, Clause.WITH, ExpectedName.NEW)
        elif word in _SET_OPERATIONS:
            frame.query = Query(outer=frame.query.outer, ctes=frame.query.ctes)
            self._begin(frame, Clause.START)
        elif word in _WRITING_VERBS and frame.clause in (Clause.START, Clause.WITH):
            self._begin_write(frame, word)
        elif word in _CLAUSES and not self._is_no_clause(frame, word, index):
            self._begin(frame, _CLAUSES[word])
            if word == "SELECT":
                frame.select_item = []
                frame.query.outputs.append(frame.select_item)
        else:
            return False
        return True

    def _is_no_clause(self, frame: ReadingFrame, word: str, index: int) -> bool:
        """Return whether the word is the statement SET or the function window(...)."""
        return (word == "SET" and frame.clause is Clause.START) or (word == "WINDOW" and self._text(index + 1) == "(")

    def _begin(self, frame: ReadingFrame, clause: Clause, expected: ExpectedName = ExpectedName.NOTHING) -> None:
        frame.clause, frame.expected = clause, expected
        frame.select_item = frame.last_relation = frame.named_relation = None
        frame.lacks_condition = frame.after_dot = False
        frame.open_cases = 0

    def _take_using(self, frame: ReadingFrame) -> None:
        if frame.statement == "MERGE":
            self._begin(frame, Clause.FROM, ExpectedName.TABLE)
            frame.lacks_condition = True
        else:
            self._begin(frame, Clause.USING)

    def _begin_write(self, frame: ReadingFrame, word: str) -> None:
        frame.statement = "INSERT" if word == "SINK" else word
        self._begin(frame, Clause.TARGET, ExpectedName.NOTHING if word == "DELETE" else ExpectedName.TARGET)

    def _take_comma(self, frame: ReadingFrame) -> None:
        if frame.clause is Clause.SELECT:
            frame.select_item = []
            frame.query.outputs.append(frame.select_item)
            frame.expected = ExpectedName.NOTHING
        elif frame.clause in (Clause.FROM, Clause.JOIN):
            self._begin(frame, Clause.FROM, ExpectedName.TABLE)
        elif frame.clause is Clause.WITH:
            self._begin(frame, Clause.WITH, ExpectedName.NEW)

    def _take_in_with(self, frame: ReadingFrame, token: Token) -> None:
        if token.kind in _NAMES and frame.last_relation is None and token.word != "RECURSIVE":
            frame.last_relation = QueryRelation((unquoted_name(token),), scope=frame.query)
            frame.query.ctes.append(frame.last_relation)
        frame.expected = ExpectedName.NOTHING

    def _take_in_lateral(self, frame: ReadingFrame, token: Token, index: int) -> None:
        """Read `LATERAL VIEW f(x) t AS a, b`: t is the first name after the parentheses, the columns follow AS."""
        if token.kind not in _NAMES or token.word in ("VIEW", "OUTER", "AS"):
            return
        if frame.last_relation is None and self._text(index - 1) == ")":
            frame.last_relation = QueryRelation(alias=unquoted_name(token), scope=frame.query, is_computed=True)
            frame.query.relations.append(frame.last_relation)
        elif frame.last_relation is not None and (self._word(index - 1) == "AS" or self._text(index - 1) == ","):
            frame.last_relation.column_names.append(unquoted_name(token))
