"""The statement that a cursor stands in, for completion: its words before, at and behind the cursor.

What is left of the cursor is read on its own, because a quote that was just opened must not swallow the rest; what is
right of it counts as far as the statement goes, so that `SELECT | FROM t` knows its table.

Somebody who types changes the end of what is left of the cursor, so what was read there is kept, with marks in it from
which the next reading goes on: a key costs the same in a statement of any length.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from jetsql.language.blocks import Blocks
from jetsql.language.tokens import Kind, Token, scan

# Whoever types a statement has little behind the cursor, and the tables of its query are near.
_BEHIND_MOST: Final = 1000
_MARKED_CHARACTERS: Final = 500
# They are tokens of their own wherever they stand: nothing before them can grow.
_PARTING: Final = frozenset(",();")

CommandEnd = Callable[[str, int], int]
"""Where the command ends that begins at this place of the text; the place itself when none begins there."""


def no_command(text: str, start: int) -> int:
    """Where all is SQL."""
    return start


@dataclass(frozen=True)
class AtCursor:
    """before: the statement's tokens before the one that is being written; `half`: that one, None without it: a word or
    number that ends at the cursor, or a quote that is open there. behind: its tokens right of the cursor and of the
    open quote's end, the nearest thousand. closed: a closing quote stands right behind the cursor. silent: in a
    comment, within a word or right behind a closed quote, where nothing can be completed. start: where what is being
    written begins. command: where the command begins that the cursor stands in, None for none; then all else is empty.
    """

    before: tuple[Token, ...]
    half: Token | None
    behind: tuple[Token, ...]
    closed: bool
    silent: bool
    start: int
    command: int | None = None


def at_cursor(text: str, cursor: int, command_end: CommandEnd = no_command) -> AtCursor:
    """What stands around the cursor, an offset of `text`; only the statement (in a block: the inner one) counts.

    command_end: of commands that are no statements; one may stand wherever a statement may begin.
    """
    read = _read(text[:cursor], command_end)
    if read.command is not None:
        return AtCursor((), None, (), closed=False, silent=True, start=cursor, command=read.command)
    before, last = read.statement, read.last
    half = last if last and last.stop == cursor and last.kind in (Kind.WORD, Kind.NUMBER, Kind.OPEN) else None
    in_comment = last is not None and (
        last.text.startswith("/*")
        if last.kind is Kind.OPEN
        else last.kind is Kind.COMMENT and last.stop == cursor and last.text.startswith("--")
    )
    resume = cursor
    if half is not None and half.kind is Kind.OPEN and not in_comment:
        resume = _quote_end(text, cursor, half.text.lstrip("rR")[0])
    elif text[cursor : cursor + 1].isalnum() or text[cursor : cursor + 1] == "_":
        in_comment = True
    behind_quote = last is not None and last.stop == cursor and last.kind in (Kind.STRING, Kind.QUOTED)
    if half is not None and before and before[-1] is half:
        before = before[:-1]
    return AtCursor(
        before=before,
        half=half,
        behind=() if in_comment else _behind(text, resume, read.blocks),
        closed=resume == cursor + 1,
        silent=in_comment or behind_quote,
        start=half.start if half else cursor,
    )


def is_open(text: str, command_end: CommandEnd = no_command) -> bool:
    """Return whether a statement, a block, a quote or a comment is open at the end of a text."""
    read = _read(text, command_end)
    return read.command is None and (read.blocks.inside or bool(read.statement))


@dataclass(frozen=True)
class _Mark:
    """A place that a token begins at and that none before it can grow beyond. tokens: how many come before it; begun:
    how many of those are of statements that have ended. blocks: what is open there; for copies only."""

    place: int
    tokens: int
    begun: int
    blocks: Blocks


@dataclass(frozen=True)
class _Kept:
    """What was read last. Frozen, and changed for another at once: threads that read at the same time cost each other
    nothing but time. tokens: without comments. marks: in the order of their places."""

    text: str = ""
    command_end: CommandEnd = no_command
    tokens: tuple[Token, ...] = ()
    marks: tuple[_Mark, ...] = ()

    def marks_of(self, text: str, command_end: CommandEnd) -> tuple[_Mark, ...]:
        """Those up to which the text is the same."""
        if command_end is not self.command_end:
            return ()
        same = bisect_left(self.marks, True, key=lambda mark: not text.startswith(self.text[: mark.place]))
        return self.marks[:same]


class _Newest:
    kept = _Kept()


@dataclass(frozen=True)
class _Reading:
    """statement: the tokens of the last one. last: the very last token, a comment too. command: where the one begins
    that the text ends in. blocks: the reader's own."""

    statement: tuple[Token, ...]
    last: Token | None
    blocks: Blocks
    command: int | None = None


def _read(text: str, command_end: CommandEnd) -> _Reading:
    kept = _Newest.kept
    marks = list(kept.marks_of(text, command_end))
    mark = marks[-1] if marks else _Mark(0, 0, 0, Blocks())
    reader = _Reader(text, mark, list(islice(kept.tokens, mark.tokens)), marks)
    command = reader.to_the_end(command_end)
    tokens = tuple(reader.tokens)
    if command_end is not kept.command_end or not kept.text.startswith(text):
        _Newest.kept = _Kept(text, command_end, tokens, tuple(marks))
    return _Reading(tokens[reader.begun :], reader.last, reader.blocks, command)


class _Reader:
    """Goes on from a mark. tokens, marks: those before it, to which more are added."""

    def __init__(self, text: str, mark: _Mark, tokens: list[Token], marks: list[_Mark]) -> None:
        self._text = text
        self._marks = marks
        self._marked = self._at = mark.place
        self.tokens = tokens
        self.begun = mark.begun
        self.blocks = mark.blocks.copy()
        self.last: Token | None = None

    def to_the_end(self, command_end: CommandEnd) -> int | None:
        """Where the command begins that the text ends in; None when it does not end in one."""
        while (command := self._to_command(command_end)) is not None:
            self._at = command_end(self._text, command)
            if self._at >= len(self._text):
                return command
        return None

    def _to_command(self, command_end: CommandEnd) -> int | None:
        for token in scan(self._text, self._at):
            if token.start >= self._marked + _MARKED_CHARACTERS and self._is_parted(token):
                self._mark(token)
            beginning = self.begun == len(self.tokens) and not self.blocks.inside and token.kind is not Kind.COMMENT
            if beginning and command_end(self._text, token.start) > token.start:
                self.last = None
                return token.start
            self.last = token
            if token.kind is not Kind.COMMENT:
                self._take(token)
        return None

    def _take(self, token: Token) -> None:
        begins = self.blocks.take(token)
        if token.text == ";":
            self.begun = len(self.tokens)
            return
        if begins:
            self.begun = len(self.tokens)
        self.tokens.append(token)

    def _is_parted(self, token: Token) -> bool:
        return self.last is not None and (self.last.stop < token.start or self.last.text in _PARTING)

    def _mark(self, token: Token) -> None:
        self._marks.append(_Mark(token.start, len(self.tokens), self.begun, self.blocks.copy()))
        self._marked = token.start


def _quote_end(text: str, cursor: int, quote: str) -> int:
    """Behind the quote's end on the cursor's line; the cursor itself when it has none there."""
    line_end = text.find("\n", cursor)
    found = text.find(quote, cursor, line_end if line_end >= 0 else len(text))
    return cursor if found < 0 else found + 1


def _behind(text: str, start: int, blocks: Blocks) -> tuple[Token, ...]:
    found: list[Token] = []
    for token in islice(scan(text, start), _BEHIND_MOST):
        if token.kind is Kind.COMMENT:
            continue
        if token.text == ";" or (blocks.inside and blocks.take(token)):
            break
        found.append(token)
    return tuple(found)
