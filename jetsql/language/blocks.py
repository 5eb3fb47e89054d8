"""Find the `BEGIN ... END` blocks of Spark's SQL scripts, and the beginnings of the statements in them.

The statements inside are not parsed. A word such as END or IF counts only where a statement can begin (after `;`, THEN,
ELSE, DO, LOOP, REPEAT, BEGIN or a label), because Spark ends every statement of a block with a semicolon. A column
called `end` or a function `if(...)` is therefore no keyword, and the time is linear in the length of the text.
"""

from __future__ import annotations

from copy import copy
from enum import Enum
from typing import Final

from jetsql.language.tokens import Kind, Token


class _Frame(Enum):
    """An open construct of a block. The value is the word that follows its END, if any."""

    BEGIN = ""
    IF = "IF"
    WHILE = "WHILE"
    LOOP = "LOOP"
    REPEAT = "REPEAT"
    FOR = "FOR"
    CASE = "CASE"
    EXPRESSION = "a CASE expression"


_OPENERS: Final = {frame.name: frame for frame in _Frame if frame is not _Frame.EXPRESSION}
# Frames that begin with an expression; their statements follow THEN or DO.
_HEADED: Final = {_Frame.IF: "THEN", _Frame.CASE: "THEN", _Frame.WHILE: "DO", _Frame.FOR: "DO"}


def opens_block(lead: list[Token]) -> bool:
    """Return whether a statement that begins with these tokens is a block: BEGIN, or a label and BEGIN."""
    if len(lead) > 2 and lead[1].text == ":" and lead[0].kind in (Kind.WORD, Kind.QUOTED):
        return lead[2].word == "BEGIN"
    return bool(lead) and lead[0].word == "BEGIN"


class BlockScanner:
    """The state of a scanner that takes the tokens of a script, without comments, and tracks the open blocks."""

    def __init__(self) -> None:
        self._open: list[_Frame] = []
        self._begins = True  # the next token begins a statement
        self._head = False  # the scanner is in the expression of an IF, CASE, WHILE or FOR
        self._first = ""  # the first word of the current statement
        self._starter: Token | None = None  # the token of that word
        self._last: Token | None = None
        self._ends = ""  # the word that may follow the END before it

    def copy(self) -> BlockScanner:
        """Return a copy that continues from this state independently."""
        other = copy(self)
        other._open = list(self._open)
        return other

    @property
    def inside(self) -> bool:
        """Return whether a block is open. A semicolon in a block does not end the statement of the script."""
        return bool(self._open)

    def take(self, token: Token) -> bool:
        """Take the next token, and return whether it begins a statement inside a block."""
        last, self._last = self._last, token
        word, ends, begins = token.word, self._ends, self._begins
        self._ends, self._begins = "", False
        if token.text == ";":
            self._semicolon(last)
        elif begins:
            self._starter = token
            return self._begin(word, last)
        elif not (word and word == ends) and not (last and last.text == "."):
            self._continue(token, word, last)
        return False

    def _semicolon(self, last: Token | None) -> None:
        while self._open and self._open[-1] is _Frame.EXPRESSION:
            self._open.pop()
        if last and last.word == "BEGIN" and len(self._open) == 1:
            self._open.pop()  # `BEGIN;`, which begins a transaction in other databases, is no block
        self._begins, self._head = True, False

    def _begin(self, word: str, last: Token | None) -> bool:
        self._first = word
        inside = self.inside
        if word in _OPENERS and (inside or word == "BEGIN"):
            self._push(_OPENERS[word])
            return False
        if not inside:
            return False
        if word in ("NOT", "ATOMIC") and last and last.word in ("BEGIN", "NOT"):
            self._begins = True
        elif word == "END":
            self._ends = self._open.pop().value
        elif word in ("ELSEIF", "WHEN"):
            self._head = True
        elif word == "ELSE":
            self._begins = True
        elif word != "UNTIL":
            return True
        return False

    def _continue(self, token: Token, word: str, last: Token | None) -> None:
        top = self._open[-1] if self._open else None
        if token.text == ":" and last is self._starter and not self._head:
            self._begins = True  # after a label
        elif top is None:
            return
        elif word == "CASE":
            self._open.append(_Frame.EXPRESSION)
        elif word == "END":
            self._end(top)
        elif self._head and word == _HEADED.get(top):
            self._begins, self._head = True, False
        elif word == "BEGIN" and self._first == "DECLARE":
            self._push(_Frame.BEGIN)  # DECLARE ... HANDLER FOR ... BEGIN

    def _end(self, top: _Frame) -> None:
        if top is _Frame.EXPRESSION:
            self._open.pop()
        elif top is _Frame.REPEAT and self._first == "UNTIL":
            self._open.pop()
            self._ends = top.value

    def _push(self, frame: _Frame) -> None:
        self._open.append(frame)
        self._head = frame in _HEADED
        self._begins = not self._head
