"""Colours of what is typed, from the words of the language itself: the same scanner that parses and splits.

It is done line by line, and a line that stands as it stood is not done again: a key changes one of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer

from jetsql.language.tokens import Kind, Token, scan
from jetsql.shell.entries import is_command
from jetsql.shell.keywords import KEYWORDS

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
        self._known: dict[tuple[str, str], _Line] = {}

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        lines = self._lines(document.text)
        return lambda number: lines[number] if number < len(lines) else []

    def _lines(self, text: str) -> Sequence[StyleAndTextTuples]:
        if is_command(text):
            return _of_command(text)
        known, self._known = self._known, {}
        lines: list[_Line] = []
        within = ""
        for line in text.split("\n"):
            key = within, line
            found = self._known[key] = known.get(key) or _line(within, line)
            lines.append(found)
            within = found.within
        shown = [line.pieces for line in lines]
        if within and not within.startswith(("/*", "--")):
            _show_unended(lines, shown)
        return shown


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
    open_ = _left_open(last)
    return _Line(pieces, open_, len(pieces) - 1 if open_ and last is not None and last.start >= skipped else None)


def _left_open(last: Token | None) -> str:
    """What the next line is within, when this is the last token of the line."""
    if last is None:
        return ""
    if last.kind is Kind.COMMENT:
        return "--\\" if last.text.startswith("--") and last.text.endswith("\\") else ""
    if last.kind is not Kind.OPEN:
        return ""
    opening = _OPENING.match(last.text)
    assert opening is not None
    if opening.group() != "/*":
        return opening.group()
    brackets = [bracket.group() for bracket in _BRACKETS.finditer(last.text)]
    return "/*" * (brackets.count("/*") - brackets.count("*/"))


def _show_unended(lines: Sequence[_Line], shown: list[StyleAndTextTuples]) -> None:
    """Mark what is open at the end, from where it opens."""
    for number in range(len(lines) - 1, -1, -1):
        opens = lines[number].opens
        shown[number] = [
            (_UNENDED, piece[1]) if index >= (opens or 0) else piece for index, piece in enumerate(lines[number].pieces)
        ]
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
