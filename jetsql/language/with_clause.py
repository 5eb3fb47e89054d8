"""The WITH clause (common table expressions) in front of a statement's verb, read from tokens alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from jetsql.language.tokens import Token


def top_level(found: Sequence[Token]) -> Iterator[int]:
    """Yield the indexes of the tokens outside of parentheses; the parentheses themselves count as outside."""
    depth = 0
    for index, token in enumerate(found):
        if token.text == ")":
            depth = max(depth - 1, 0)
        if depth == 0:
            yield index
        if token.text == "(":
            depth += 1


def verb_after_with(found: Sequence[Token]) -> int | None:
    """Return the index of the verb of a statement that begins with WITH, or None when the statement ends before it."""
    for before, index in pairwise(top_level(found)):
        token = found[index]
        if token.text == ";":
            return None
        if found[before].text == ")" and token.word not in ("AS", "MAX") and token.text not in (",", "("):
            return index
    return None
