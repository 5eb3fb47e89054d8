"""SQL with colours: the tokens of the language's scanner as HTML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from markupsafe import Markup

from jetsql.language.keywords import KEYWORDS
from jetsql.language.tokens import Kind, Token, scan

_CLASSES: Final = {
    Kind.STRING: "tok-string",
    Kind.NUMBER: "tok-number",
    Kind.QUOTED: "tok-name",
    Kind.COMMENT: "tok-comment",
    Kind.OPEN: "tok-string",
}


def sql_markup(text: str) -> Markup:
    """Return SQL as HTML with a class for each kind of token; the text is escaped."""
    return Markup("").join(_pieces(text))


def _pieces(text: str) -> Iterator[Markup | str]:
    at = 0
    for token in scan(text):
        yield text[at : token.start]
        name = _class(token)
        yield Markup('<span class="{}">{}</span>').format(name, token.text) if name else token.text
        at = token.stop
    yield text[at:]


def _class(token: Token) -> str:
    if token.kind is Kind.WORD:
        return "tok-keyword" if token.word in KEYWORDS else ""
    return _CLASSES.get(token.kind, "")
