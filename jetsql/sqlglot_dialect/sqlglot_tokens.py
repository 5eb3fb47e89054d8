"""Make tokens of sqlglot whose places are those in the whole script."""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlglot import Token, TokenType
from sqlglot.dialects.dialect import Dialect

from jetsql.sqlglot_dialect.sqlglot_calls import tokenize


class Place(NamedTuple):
    """The place of a text in a script."""

    offset: int  # in characters
    line: int  # from 1
    column: int  # from 0


def read_tokens(spark: Dialect, text: str, place: Place) -> list[Token]:
    """Return the tokens of a text at a place. Raises TokenError of sqlglot."""
    return [_moved(token, place) for token in tokenize(spark, text)]


def copy_token(token: Token, kind: TokenType, text: str) -> Token:
    """Return a token of another kind and text at the place of a token."""
    return Token(kind, text, token.line, token.col, token.start, token.end, token.comments)


def word(token: Token) -> str:
    """Return a plain word in capitals, otherwise ''."""
    return "" if token.token_type in (TokenType.IDENTIFIER, TokenType.STRING) else token.text.upper()


def _moved(token: Any, place: Place) -> Token:
    column = token.col + (place.column if token.line == 1 else 0)
    start, end = token.start + place.offset, token.end + place.offset
    return Token(token.token_type, token.text, token.line + place.line - 1, column, start, end, token.comments)
