"""Syntax highlighting of the input, based on the scanner of the language.

It works line by line and reuses unchanged lines, because most keys change a single line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer

from jetsql.language.keywords import KEYWORDS
from jetsql.language.tokens import Kind, Token, scan
from jetsql.shell.input.input_parsing import is_command

_CLASSES: Final = {
    Kind.STRING: "class:string",
    Kind.NUMBER: "class:number",
    Kind.QUOTED: "class:name",
    Kind.COMMENT: "class:comment",
    Kind.SYMBOL: "class:symbol",
}

# The openings of tokens that may span lines: quotes, tagged quotes, comments that a backslash continues or that nest.
_OPENING: Final = re.compile(r"[rR]?['\"]|`|\$[A-Za-z]*\$|--|/\*")
_BRACKETS: Final = re.compile(r"/\*(?!\+)|\*/")
_UNENDED: Final = "class:string.open"


@dataclass(frozen=True)
class _Line:
    """The highlighted form of a line."""

    pieces: StyleAndTextTuples  # texts with their classes
    open_context: str = ""  # the opening of the token that continues on the next line; empty if none does
    open_piece: int | None = None  # the index of that token's piece; None if it began on an earlier line


class SqlLexer(Lexer):
    """Highlight Spark SQL and JetSQL, and the first word of commands."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._lines: list[_Line] = []

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        if is_command(document.text):
            command = _highlight_command(document.text)
            return lambda number: command[number] if number < len(command) else []
        self._update_lines(document.text.split("\n"))
        lines, within = self._lines, self._lines[-1].open_context
        quoted = within != "" and not within.startswith(("/*", "--"))
        unended = dict(_mark_unended(lines)) if quoted else {}
        return lambda number: unended.get(number) or (lines[number].pieces if number < len(lines) else [])

    def _update_lines(self, texts: list[str]) -> None:
        """Highlight the changed lines, and later lines whose context has changed."""
        old, known = self._texts, self._lines
        same = _common_prefix(old, texts)
        same_at_end = min(_common_prefix(old[:same:-1], texts[:same:-1]), len(old) - same, len(texts) - same)
        lines = known[:same]
        for index in range(same, len(texts)):
            within = lines[-1].open_context if lines else ""
            before = index - len(texts) + len(old)
            if index >= len(texts) - same_at_end and (known[before - 1].open_context if before else "") == within:
                lines += known[before:]
                break
            lines.append(_highlight_line(within, texts[index]))
        self._texts, self._lines = texts, lines


def _common_prefix(some: Sequence[str], others: Sequence[str]) -> int:
    """Return how many leading elements are equal."""
    pairs = enumerate(zip(some, others, strict=False))
    return next((index for index, (one, other) in pairs if one != other), min(len(some), len(others)))


def _highlight_command(text: str) -> list[StyleAndTextTuples]:
    first, *more = text.split("\n")
    word, blank, rest = first.partition(" ")
    lines: list[StyleAndTextTuples] = [[("class:command", word), ("", blank + rest)]]
    for line in more:
        lines.append([("", line)])
    return lines


def _highlight_line(context: str, line: str) -> _Line:
    """Highlight a line. context: the opening of a token that the previous line leaves open."""
    pieces: StyleAndTextTuples = []
    text = f"{context}\n{line}" if context else line
    at = skipped = len(text) - len(line)
    last: Token | None = None
    for last in scan(text):
        pieces.append(("", text[at : last.start]))
        pieces.append((_class(last, text[last.stop : last.stop + 1]), text[max(last.start, skipped) : last.stop]))
        at = max(last.stop, skipped)
    pieces = [piece for piece in [*pieces, ("", text[at:])] if piece[1]]
    open_ = _open_context(last, len(text))
    return _Line(pieces, open_, len(pieces) - 1 if open_ and last is not None and last.start >= skipped else None)


def _open_context(last: Token | None, end: int) -> str:
    """Return the opening of the token that continues on the next line, or an empty string.

    last: the last token of the line that ends at offset `end`.
    """
    if last is None:
        return ""
    if last.kind is Kind.COMMENT:
        # A carriage return ends a comment, so a backslash continues it only as the last character of the line.
        continued = last.text.startswith("--") and last.text.endswith("\\") and last.stop == end
        return "--\\" if continued else ""
    if last.kind is not Kind.OPEN:
        return ""
    opening = _OPENING.match(last.text)
    assert opening is not None
    if opening.group() != "/*":
        return opening.group()
    brackets = [bracket.group() for bracket in _BRACKETS.finditer(last.text)]
    return "/*" * (brackets.count("/*") - brackets.count("*/"))


def _mark_unended(lines: Sequence[_Line]) -> Iterator[tuple[int, StyleAndTextTuples]]:
    """Yield the lines of the unended token, from the last to the first, with the token marked."""
    for number in range(len(lines) - 1, -1, -1):
        opens = lines[number].open_piece
        pieces = lines[number].pieces
        yield number, [(_UNENDED, piece[1]) if index >= (opens or 0) else piece for index, piece in enumerate(pieces)]
        if opens is not None:
            return


def _class(token: Token, following: str) -> str:
    if token.kind is Kind.WORD:
        if token.text.upper() in KEYWORDS:
            return "class:keyword"
        return "class:function" if following == "(" else ""
    if token.kind is Kind.OPEN:
        return {"/": "class:comment", "`": "class:name"}.get(token.text[0], "class:string")
    return _CLASSES[token.kind]
