"""Split scripts into statements by Spark's own lexical rules, in linear time.

A fragment begins at its first token and ends at its last. Comments between statements belong to no fragment, and
comments within a statement stay in it. A semicolon in a quote, a comment or a block does not end a statement.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jetsql.language.blocks import BlockScanner
from jetsql.language.syntax_errors import unclosed
from jetsql.language.tokens import Kind, Token, scan


@dataclass(frozen=True)
class Fragment:
    """One statement of a script, as written and without its semicolon."""

    text: str
    start: int  # its offset in the script, in characters
    line: int  # from 1
    column: int  # from 0
    terminated: bool  # a semicolon ends it
    closed: bool  # every quote, comment and block in it is closed

    @property
    def complete(self) -> bool:
        """Return whether the statement is complete, so that a shell runs it at Enter."""
        return self.terminated and self.closed


def split(text: str, *, strict: bool = False) -> list[Fragment]:
    """Return the statements of `text` in order, without those that are empty or consist of comments.

    strict: raise StatementError PARSE_SYNTAX_ERROR for a quote or comment without end. Otherwise the text from there,
    even a comment alone, is the last fragment, with `closed` False, and a shell waits for more input.
    """
    return list(fragments(text, strict=strict))


def fragments(text: str, start: int = 0, *, strict: bool = False) -> Iterator[Fragment]:
    """Yield the statements of `text` as `split` returns them, from an offset at which no statement is open.

    Offsets, lines and columns count from the beginning of the whole text.
    """
    blocks = BlockScanner()
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
    """A factory of fragments that counts lines. The fragments have to be requested in their order."""

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
