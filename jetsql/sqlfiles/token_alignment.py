"""Align the tokens that a user wrote with those that sqlglot generates for the same statement.

sqlglot writes some things otherwise (`x::INT` as `CAST(x AS INT)`), adds words (AS) and changes quotes. The formatter
takes the layout of its text, and not its words: each token that the user wrote gets the white space before the
generated token that it corresponds to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from jetsql.language.tokens import Kind, Token, unquote

_WINDOW: Final = 60
"""The largest difference that is bridged, in tokens."""

_EQUAL: Final = {"!=": "<>", "==": "="}


def align(written: Sequence[Token], generated: Sequence[Token]) -> list[tuple[int, int] | None]:
    """Return for each written token a range of generated ones: the tokens after the last match, up to its own.

    The range of a token without a match is None, except for the first one of a run of them: it takes the place of the
    generated token at the beginning of its range.
    """
    first = [_key(token) for token in written]
    second = [_key(token) for token in generated]
    found: list[tuple[int, int] | None] = [None] * len(first)
    at = last = index = 0
    while index < len(first):
        if at < len(second) and first[index] == second[at]:
            found[index] = (last, at)
            index, at = index + 1, at + 1
            last = at
            continue
        skipped, added = _resume(first, second, index, at)
        if skipped and added:
            found[index] = (last, at)
            last = at + 1
        index, at = index + max(skipped, not added), at + added
    return found


def _resume(first: Sequence[str], second: Sequence[str], index: int, at: int) -> tuple[int, int]:
    """Return how many tokens to skip on both sides until two tokens in a row are the same; (1, 0) if they never are."""
    pairs: dict[tuple[str, ...], int] = {}
    for added in range(min(_WINDOW, len(second) - at)):
        pairs.setdefault(tuple(second[at + added : at + added + 2]), added)
    best: tuple[int, int] | None = None
    for skipped in range(min(_WINDOW, len(first) - index)):
        number = pairs.get(tuple(first[index + skipped : index + skipped + 2]))
        if number is not None and (best is None or skipped + number < sum(best)):
            best = skipped, number
    return best or (1, 0)


def _key(token: Token) -> str:
    """Return what is the same in both texts: names and words without case and quotes, values without quotes."""
    if token.kind is Kind.WORD:
        return token.text.lower()
    if token.kind in (Kind.QUOTED, Kind.STRING):
        return unquote(token.text).lower()
    return _EQUAL.get(token.text, token.text.lower())
