"""The names in the tokens of a statement, and the places of tokens."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final

from jetsql.errors import Span, StatementError
from jetsql.language.objects.object_names import Name
from jetsql.language.tokens import unquote

if TYPE_CHECKING:
    from lark import Token

NAME_LENGTH: Final = 128
# Unicode categories of control characters, lone surrogates and separators: they are invisible, and lone surrogates
# cannot be stored.
_INVISIBLE: Final = ("Cc", "Cs", "Zl", "Zp")


def token_place(token: Token) -> Span:
    """Return the place of a token of Lark."""
    if token.start_pos is None or token.end_pos is None:  # our lexer sets both
        raise AssertionError(f"token {token!r} has no place")
    return Span(token.start_pos, token.end_pos)


def name_of(token: Token) -> Name:
    """Return the name in a token, without back quotes. Raises StatementError INVALID_NAME."""
    text = unquote(token) if token.startswith("`") else str(token)
    if not text:
        problem = "A name cannot be empty."
    elif len(text) > NAME_LENGTH:
        problem = f"A name has at most {NAME_LENGTH} characters; this one has {len(text)}."
    elif any(unicodedata.category(character) in _INVISIBLE for character in text):
        problem = "A name cannot have control characters."
    elif text != text.strip():
        problem = "A name cannot begin or end with a space."
    else:
        return Name(text, token_place(token))
    raise StatementError("INVALID_NAME", problem, place=token_place(token))
