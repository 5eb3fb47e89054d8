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
_ANCHORS: Final = frozenset(
    ", SELECT FROM WHERE GROUP HAVING ORDER LIMIT JOIN ON UNION EXCEPT INTERSECT WHEN THEN ELSE END AND OR".split()
)
"""Words that structure a query. Both texts are the same again at the next one at the same depth of parentheses."""


def align(written: Sequence[Token], generated: Sequence[Token]) -> list[tuple[int, int] | None]:
    """Return for each written token a range of generated ones: the tokens after the last match, up to its own.

    The range of a token without a match is None, except for the first one of a run of them: it takes the place of the
    generated token at the beginning of its range.
    """
    first, second = _keys(written), _keys(generated)
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
    """Return how many tokens to skip on both sides until both texts are the same again; (1, 0) if they never are.

    They are at the next anchor of the written text, or before it where two tokens in a row are the same.
    """
    places: dict[tuple[str, ...], int] = {}
    for added in range(min(_WINDOW, len(second) - at)):
        places.setdefault(tuple(second[at + added : at + added + 2]), added)
        places.setdefault((second[at + added],), added)
    ahead = range(min(_WINDOW, len(first) - index))
    anchor = next((skipped for skipped in ahead if "@" in first[index + skipped]), len(ahead))
    limit = places.get((first[index + anchor],)) if anchor < len(ahead) else None
    for skipped in ahead[:anchor]:
        added_before = places.get(tuple(first[index + skipped : index + skipped + 2]))
        if added_before is not None and (limit is None or added_before <= limit):
            return skipped, added_before
    return (1, 0) if limit is None else (anchor, limit)


def _keys(found: Sequence[Token]) -> list[str]:
    """Return what is the same in both texts for each token; an anchor has its depth."""
    keys, depth = [], 0
    for token in found:
        depth -= token.text == ")"
        name = token.word or token.text
        keys.append(f"{name}@{depth}" if name in _ANCHORS else _key(token))
        depth += token.text == "("
    return keys


def _key(token: Token) -> str:
    """Return what is the same in both texts: names and words without case and quotes, values without quotes."""
    if token.kind is Kind.WORD:
        return token.text.lower()
    if token.kind in (Kind.QUOTED, Kind.STRING):
        return unquote(token.text).lower()
    return _EQUAL.get(token.text, token.text.lower())
