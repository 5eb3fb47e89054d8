"""Prove that Spark reads the same in a text before and after it was formatted.

Every formatted text passes here before it leaves the formatter. Compared are the statements into which the text is
split, their tokens, and the comments, in their order. Only the case of keywords may differ, and white space where it
does not count.
"""

from __future__ import annotations

from collections.abc import Sequence

from jetsql.language import Fragment, split
from jetsql.language.tokens import Kind, Token, scan
from jetsql.language.variables import references
from jetsql.sqlfiles.formatting.keywords_in_text import keyword_places
from jetsql.sqlfiles.formatting.verbatim_parts import fold_hints, gaps_that_count, raw_start


def is_same_script(before: str, after: str) -> bool:
    """Return whether Spark runs the same statements for two scripts, and whether both have the same comments."""
    if before == after:
        return True
    first, second = split(before), split(after)
    if len(first) != len(second):
        return False
    gaps = zip(_gaps(before, first), _gaps(after, second), strict=True)
    return all(map(_is_same_fragment, first, second)) and all(_plain(one) == _plain(other) for one, other in gaps)


def is_same_statement(before: str, after: str) -> bool:
    """Return whether two texts of one statement are the same for Spark, and whether both have the same comments."""
    if before == after:
        return True
    variables = [reference.group() for reference in references(before)]
    if variables != [reference.group() for reference in references(after)]:
        return False
    variable = unused_word(before + after) if variables else ""
    return _Comparison(_without_variables(before, variable), _without_variables(after, variable), variable).is_same()


def unused_word(text: str) -> str:
    """Return a word that is nowhere in a text."""
    word = "jetsql_variable_"
    while word in text.lower():
        word += "_"
    return word


class _Comparison:
    """The comparison of two texts of one statement."""

    def __init__(self, before: str, after: str, variable: str) -> None:
        self._texts = (before, after)
        self._variable = variable

    def is_same(self) -> bool:
        first, second = (_tokens(text) for text in self._texts)
        if len(first) != len(second) or self._glued(first) != self._glued(second):
            return False
        changed = [index for index, token in enumerate(first) if token.text != second[index].text]
        if any(token.kind is not second[index].kind for index, token in enumerate(first)):
            return False
        if not changed:
            return True
        if any(not first[index].word or first[index].word != second[index].word for index in changed):
            return False
        found = [token for token in first if token.kind is not Kind.COMMENT]
        return {first[index].start for index in changed} <= keyword_places(self._texts[0], found)

    def _glued(self, found: Sequence[Token]) -> list[tuple[int, bool]]:
        """Return the index of each token before which white space counts, and whether there is none."""
        indexes = {token.start: index for index, token in enumerate(found)}
        return [(indexes[token.start], is_glued) for token, is_glued in gaps_that_count(found, self._variable)]


def _is_same_fragment(first: Fragment, second: Fragment) -> bool:
    ends = (first.terminated, first.closed) == (second.terminated, second.closed)
    return ends and is_same_statement(first.text, second.text)


def _gaps(text: str, fragments: Sequence[Fragment]) -> list[str]:
    """Return the texts before, between and after the statements of a script."""
    stops = [0, *(fragment.start + len(fragment.text) for fragment in fragments)]
    starts = [*(fragment.start for fragment in fragments), len(text)]
    return [text[stop:start] for stop, start in zip(stops, starts, strict=True)]


def _plain(text: str) -> list[str]:
    return [token.text for token in scan(text)]


def _without_variables(text: str, variable: str) -> str:
    pieces, stop = [], 0
    for reference in references(text) if variable else ():
        pieces += [text[stop : reference.start()], variable]
        stop = reference.end()
    return "".join([*pieces, text[stop:]])


def _tokens(text: str) -> list[Token]:
    """Return the tokens and comments of a statement; a hint is one token, and so is what Spark reads as text."""
    found = list(scan(text))
    start = raw_start(text, found)
    if start is None:
        return fold_hints(text, found)
    head = [token for token in found if token.start < start]
    return [*head, Token(Kind.SYMBOL, text[start : found[-1].stop], start, found[-1].stop)]
