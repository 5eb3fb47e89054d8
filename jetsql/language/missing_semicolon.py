"""Find a semicolon that is missing between two statements, to say so in the syntax error.

A parser without it reads on, and reports the first word of the second statement, or the word after it: `SELECT 1 SHOW`
names a column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from jetsql.language.intent import STATEMENT_VERBS
from jetsql.language.tokens import Token, tokens

# Words that also begin a clause. They begin a statement only at the beginning of a line.
_CLAUSES: Final = frozenset("ADD COMMENT FROM LIST LOCK MAP REDUCE REPLACE SET START TABLE USE VALUES WITH".split())


def missing_semicolon_hint(text: str, offset: int, is_complete: Callable[[str], bool]) -> str:
    """Return the hint at a missing semicolon; empty if none is missing.

    offset: where the parser failed. is_complete: returns whether a text is a whole statement.
    """
    found = list(tokens(text))
    at = next((index for index, token in enumerate(found) if token.start == offset), None)
    if at is None:
        return ""
    begins = (index for index in (at, at - 1) if begins_statement(text, found, index))
    token = next((found[index] for index in begins if is_complete(text[: found[index].start])), None)
    return "" if token is None else add_semicolon(token)


def begins_statement(text: str, found: Sequence[Token], index: int) -> bool:
    """Return whether the token can begin another statement. found: the tokens of the text."""
    if index < 1 or found[index].word not in STATEMENT_VERBS:
        return False
    return found[index].word not in _CLAUSES or "\n" in text[found[index - 1].stop : found[index].start]


def add_semicolon(token: Token) -> str:
    """Return the hint for a token that begins another statement."""
    return f"A semicolon is missing before {token.word}, which begins another statement."
