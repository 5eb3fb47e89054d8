"""Find the statement at the cursor, for completion: its tokens before, at and after the cursor.

The text before the cursor is scanned alone, because a quote that was just opened must not include the rest. The text
after it is scanned up to the end of the statement, so that completion knows the table in `SELECT | FROM t`.

Typing changes only the end of the text before the cursor. The tokens of the last scan are therefore kept, with marks
from which the next scan can continue: the time for a key does not depend on the length of the statement.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from jetsql.language.blocks import BlockScanner
from jetsql.language.tokens import Kind, Token, scan

# In a statement that is being typed, the tables of its query are near the cursor.
_MAX_TOKENS_AFTER: Final = 1000
_MARK_DISTANCE: Final = 500
"""The smallest distance of two marks, in characters."""
# These are always tokens of their own, so the token before them is complete.
_SEPARATORS: Final = frozenset(",();")

CommandEnd = Callable[[str, int], int]
"""A function of a text and an offset: the end of the command that begins there, or the offset itself without one."""


def no_command(text: str, start: int) -> int:
    """Return `start`: the text has no commands, only SQL."""
    return start


@dataclass(frozen=True)
class AtCursor:
    """The tokens of a statement around the cursor."""

    before: tuple[Token, ...]  # the tokens before `half`
    half: Token | None  # the incomplete token: a word or number that ends at the cursor, or an open quote
    behind: tuple[Token, ...]  # the tokens after the cursor and after the end of the open quote, at most a thousand
    closed: bool  # a closing quote follows the cursor directly
    silent: bool  # nothing can be completed: in a comment, within a word, or directly after a closed quote
    start: int  # the offset of `half`, or of the cursor without it
    command: int | None = None  # the offset of the command that contains the cursor; the other fields are empty then


def at_cursor(text: str, cursor: int, command_end: CommandEnd = no_command) -> AtCursor:
    """Return the tokens around the cursor, of its statement only; in a block, of the inner statement.

    cursor: an offset in `text`.
    command_end: finds commands that are not SQL; they may be wherever a statement may begin.
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
    after_quote = last is not None and last.stop == cursor and last.kind in (Kind.STRING, Kind.QUOTED)
    if half is not None and before and before[-1] is half:
        before = before[:-1]
    return AtCursor(
        before=before,
        half=half,
        behind=() if in_comment else _tokens_after(text, resume, read.blocks),
        closed=resume == cursor + 1,
        silent=in_comment or after_quote,
        start=half.start if half else cursor,
    )


def is_open(text: str, command_end: CommandEnd = no_command) -> bool:
    """Return whether a statement, a block, a quote or a comment is open at the end of a text."""
    read = _read(text, command_end)
    return read.command is None and (read.blocks.inside or bool(read.statement))


@dataclass(frozen=True)
class _Mark:
    """An offset from which a scan can continue: a token begins there, and all tokens before it are complete."""

    offset: int
    tokens: int  # the number of tokens before the offset
    begun: int  # the number of those that belong to statements that have ended
    blocks: BlockScanner  # the blocks that are open there; only to be copied


@dataclass(frozen=True)
class _Kept:
    """The result of the last scan. It is immutable, so that threads can replace it without a lock."""

    text: str = ""
    command_end: CommandEnd = no_command
    tokens: tuple[Token, ...] = ()  # without comments
    marks: tuple[_Mark, ...] = ()  # by offset

    def marks_of(self, text: str, command_end: CommandEnd) -> tuple[_Mark, ...]:
        """Return the marks up to which `text` is the same as the text of this scan."""
        if command_end is not self.command_end:
            return ()
        same = bisect_left(self.marks, True, key=lambda mark: not text.startswith(self.text[: mark.offset]))
        return self.marks[:same]


class _Newest:
    kept = _Kept()


@dataclass(frozen=True)
class _Reading:
    """The end of a text that was scanned."""

    statement: tuple[Token, ...]  # the tokens of the last statement
    last: Token | None  # the last token, which may be a comment
    blocks: BlockScanner  # the blocks that are open at the end
    command: int | None = None  # the offset of the command in which the text ends, or None


def _read(text: str, command_end: CommandEnd) -> _Reading:
    kept = _Newest.kept
    marks = list(kept.marks_of(text, command_end))
    mark = marks[-1] if marks else _Mark(0, 0, 0, BlockScanner())
    reader = _Reader(text, mark, list(islice(kept.tokens, mark.tokens)), marks)
    command = reader.read_to_end(command_end)
    tokens = tuple(reader.tokens)
    if command_end is not kept.command_end or not kept.text.startswith(text):
        _Newest.kept = _Kept(text, command_end, tokens, tuple(marks))
    return _Reading(tokens[reader.begun :], reader.last, reader.blocks, command)


class _Reader:
    """A scanner that continues from a mark. It adds to `tokens` and `marks`, which contain those before the mark."""

    def __init__(self, text: str, mark: _Mark, tokens: list[Token], marks: list[_Mark]) -> None:
        self._text = text
        self._marks = marks
        self._marked = self._at = mark.offset
        self.tokens = tokens
        self.begun = mark.begun
        self.blocks = mark.blocks.copy()
        self.last: Token | None = None
        self._ends_are_sure = True  # those of the commands before

    def read_to_end(self, command_end: CommandEnd) -> int | None:
        """Scan to the end of the text; return the offset of the command in which it ends, or None."""
        while (command := self._read_to_command(command_end)) is not None:
            self._at = command_end(self._text, command)
            if self._at >= len(self._text):
                return command
            # A quote that closes later in another text would move the end of the command.
            self._ends_are_sure &= all(token.kind is not Kind.OPEN for token in scan(self._text[command : self._at]))
        return None

    def _read_to_command(self, command_end: CommandEnd) -> int | None:
        for token in scan(self._text, self._at):
            if self._ends_are_sure and token.start >= self._marked + _MARK_DISTANCE and self._is_separate(token):
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

    def _is_separate(self, token: Token) -> bool:
        return self.last is not None and (self.last.stop < token.start or self.last.text in _SEPARATORS)

    def _mark(self, token: Token) -> None:
        self._marks.append(_Mark(token.start, len(self.tokens), self.begun, self.blocks.copy()))
        self._marked = token.start


def _quote_end(text: str, cursor: int, quote: str) -> int:
    """Return the offset after the closing quote on the cursor's line, or the cursor if there is none."""
    line_end = text.find("\n", cursor)
    closing = text.find(quote, cursor, line_end if line_end >= 0 else len(text))
    return cursor if closing < 0 else closing + 1


def _tokens_after(text: str, start: int, blocks: BlockScanner) -> tuple[Token, ...]:
    following: list[Token] = []
    for token in islice(scan(text, start), _MAX_TOKENS_AFTER):
        if token.kind is Kind.COMMENT:
            continue
        if token.text == ";" or (blocks.inside and blocks.take(token)):
            break
        following.append(token)
    return tuple(following)
