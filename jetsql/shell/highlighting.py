"""Colours of what is typed, from the words of the language itself: the same scanner that parses and splits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer

from jetsql.language.tokens import Kind, scan
from jetsql.shell.entries import is_command
from jetsql.shell.keywords import KEYWORDS

_CLASSES: Final = {
    Kind.STRING: "class:string",
    Kind.NUMBER: "class:number",
    Kind.QUOTED: "class:name",
    Kind.COMMENT: "class:comment",
    Kind.SYMBOL: "class:symbol",
}


class SqlLexer(Lexer):
    """Spark SQL and ours; a command's line is left as it is but for its word."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        lines = _lines(document.text)
        return lambda number: lines[number] if number < len(lines) else []


def styled(text: str) -> StyleAndTextTuples:
    """The text in pieces with their classes."""
    if is_command(text):
        word, blank, rest = text.partition(" ")
        return [("class:command", word), ("", blank + rest)]
    pieces: StyleAndTextTuples = []
    at = 0
    for token in scan(text):
        pieces.append(("", text[at : token.start]))
        pieces.append((_class(token.kind, token.text, text[token.stop : token.stop + 1]), token.text))
        at = token.stop
    pieces.append(("", text[at:]))
    return pieces


def _class(kind: Kind, text: str, following: str) -> str:
    if kind is Kind.WORD:
        if text.upper() in KEYWORDS:
            return "class:keyword"
        return "class:function" if following == "(" else ""
    if kind is Kind.OPEN:
        return "class:comment" if text.startswith("/*") else "class:string.open"
    return _CLASSES[kind]


def _lines(text: str) -> list[StyleAndTextTuples]:
    lines: list[StyleAndTextTuples] = [[]]
    for style, piece, *_ in styled(text):
        first, *more = piece.split("\n")
        if first:
            lines[-1].append((style, first))
        for line in more:
            lines.append([(style, line)] if line else [])
    return lines
