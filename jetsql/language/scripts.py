"""Scripts -> statements: where one ends and the next begins, by Spark's own lexical rules, in linear time.

A fragment begins at its first token and ends at its last, so comments between statements belong to none; comments
within stay. What stands in quotes, comments and blocks ends no statement.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jetsql.language.blocks import Blocks
from jetsql.language.syntax_errors import unclosed
from jetsql.language.tokens import Kind, Token, scan


@dataclass(frozen=True)
class Fragment:
    """One statement of a script, as written and without its semicolon.

    start: its offset in the script, in characters; line from 1 and column from 0, as `Place` has them.
    terminated: a semicolon ends it. closed: every quote, comment and block in it is closed.
    """

    text: str
    start: int
    line: int
    column: int
    terminated: bool
    closed: bool

    @property
    def complete(self) -> bool:
        """Return whether nothing is missing: a shell runs it at Enter."""
        return self.terminated and self.closed


def split(text: str, *, strict: bool = False) -> list[Fragment]:
    """The statements of `text` in order; empty ones and parts of comments only are left out.

    strict: for scripts, raises StatementError PARSE_SYNTAX_ERROR where a quote or comment opens that never ends.
    Without it such a text, even a comment alone, is the last fragment, with `closed` False: a shell waits for more.
    """
    return list(fragments(text, strict=strict))


def fragments(text: str, start: int = 0, *, strict: bool = False) -> Iterator[Fragment]:
    """As `split`, one after the other, from a place on where no statement is open. Places count in the whole text."""
    blocks = Blocks()
    lines = _Lines(text)
    first: Token | None = None
    last: Token | None = None
    for token in scan(text, start):
        if token.kind is Kind.COMMENT:
            continue
        if token.kind is Kind.OPEN and strict:
            raise unclosed(token)
        blocks.take(token)
        if token.text == ";" and not blocks.inside:
            if first and last:
                yield lines.fragment(first, last, terminated=True, closed=True)
            first = last = None
        else:
            first, last = first or token, token
    if first and last:
        closed = last.kind is not Kind.OPEN and not blocks.inside
        yield lines.fragment(first, last, terminated=False, closed=closed)


class _Lines:
    """Makes fragments; counts lines going forward only."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1
        self._line_start = 0

    def fragment(self, first: Token, last: Token, *, terminated: bool, closed: bool) -> Fragment:
        self._line += self._text.count("\n", self._at, first.start)
        self._line_start = max(self._line_start, self._text.rfind("\n", self._at, first.start) + 1)
        self._at = first.start
        column = first.start - self._line_start
        return Fragment(self._text[first.start : last.stop], first.start, self._line, column, terminated, closed)
