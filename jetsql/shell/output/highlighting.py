"""Colours of what is typed, from the words of the language itself: the same scanner that parses and splits.

It is done line by line, and a line that stands as it stood is not done again: a key changes one of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer

from jetsql.language.tokens import Kind, Token, scan
from jetsql.shell.completion.keywords import KEYWORDS
from jetsql.shell.session.entries import is_command

_CLASSES: Final = {
    Kind.STRING: "class:string",
    Kind.NUMBER: "class:number",
    Kind.QUOTED: "class:name",
    Kind.COMMENT: "class:comment",
    Kind.SYMBOL: "class:symbol",
}


# What a line can be within, as it opens: a quote, a tagged quote, comments in comments, one that a backslash continues.
_OPENING: Final = re.compile(r"[rR]?['\"]|`|\$[A-Za-z]*\$|--|/\*")
_BRACKETS: Final = re.compile(r"/\*(?!\+)|\*/")
_UNENDED: Final = "class:string.open"


@dataclass(frozen=True)
class _Line:
    """pieces: with their classes. within: what the next line is within, as it would open there; empty for nothing.
    opens: the piece that begins what is open at the end, None when all of the line is within it."""

    pieces: StyleAndTextTuples
    within: str = ""
    opens: int | None = None


class SqlLexer(Lexer):
    """Spark SQL and ours; a command's line is left as it is but for its word."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._lines: list[_Line] = []

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        if is_command(document.text):
            command = _of_command(document.text)
            return lambda number: command[number] if number < len(command) else []
        self._read(document.text.split("\n"))
        lines, within = self._lines, self._lines[-1].within
        quoted = within != "" and not within.startswith(("/*", "--"))
        unended = dict(_unended(lines)) if quoted else {}
        return lambda number: unended.get(number) or (lines[number].pieces if number < len(lines) else [])

    def _read(self, texts: list[str]) -> None:
        """Only the lines that are others than before, and those behind them that are within something else now."""
        old, known = self._texts, self._lines
        same = _same(old, texts)
        behind = min(_same(old[:same:-1], texts[:same:-1]), len(old) - same, len(texts) - same)
        lines = known[:same]
        for index in range(same, len(texts)):
            within = lines[-1].within if lines else ""
            before = index - len(texts) + len(old)
            if index >= len(texts) - behind and (known[before - 1].within if before else "") == within:
                lines += known[before:]
                break
            lines.append(_line(within, texts[index]))
        self._texts, self._lines = texts, lines


def _same(some: Sequence[str], others: Sequence[str]) -> int:
    """How many are equal at the beginning."""
    pairs = enumerate(zip(some, others, strict=False))
    return next((index for index, (one, other) in pairs if one != other), min(len(some), len(others)))


def _of_command(text: str) -> list[StyleAndTextTuples]:
    first, *more = text.split("\n")
    word, blank, rest = first.partition(" ")
    lines: list[StyleAndTextTuples] = [[("class:command", word), ("", blank + rest)]]
    for line in more:
        lines.append([("", line)])
    return lines


def _line(within: str, line: str) -> _Line:
    """within: what the line before leaves open."""
    pieces: StyleAndTextTuples = []
    text = f"{within}\n{line}" if within else line
    at = skipped = len(text) - len(line)
    last: Token | None = None
    for last in scan(text):
        pieces.append(("", text[at : last.start]))
        pieces.append((_class(last, text[last.stop : last.stop + 1]), text[max(last.start, skipped) : last.stop]))
        at = max(last.stop, skipped)
    pieces = [piece for piece in [*pieces, ("", text[at:])] if piece[1]]
    open_ = _left_open(last, len(text))
    return _Line(pieces, open_, len(pieces) - 1 if open_ and last is not None and last.start >= skipped else None)


def _left_open(last: Token | None, end: int) -> str:
    """Return the opening of what the next line is within, or an empty string. last: the last token of the line that
    ends at offset `end`."""
    if last is None:
        return ""
    if last.kind is Kind.COMMENT:
        # A carriage return ends a comment, so a backslash continues it only at the very end of the line.
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


def _unended(lines: Sequence[_Line]) -> Iterator[tuple[int, StyleAndTextTuples]]:
    """The lines of what is open at the end, from where it opens, with it marked."""
    for number in range(len(lines) - 1, -1, -1):
        opens = lines[number].opens
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
