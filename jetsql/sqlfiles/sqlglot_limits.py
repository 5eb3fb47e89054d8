"""Decide whether sqlglot can read a statement in a short time.

sqlglot has no limits of its own. It recurses for each nested expression. It reads two things twice: what a call like
DATE(...) or STRUCT(...) contains, because this can be a type, and the joins after a join without a condition, because
the condition can follow them. Nested, this takes exponential time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.spark import Spark

from jetsql.language.tokens import Token

LARGEST: Final = 300_000
"""The size of the largest statement that sqlglot reads, in characters: it takes about 1 s for it."""

DEEPEST: Final = 100
"""The deepest nesting that sqlglot reads: in its compiled builds, a much deeper one would end the process."""

MOST_REPETITIONS: Final = 2_048
"""The number of parts of a statement that sqlglot may read again: it takes about 1 s for this."""

_COMMON_EXPONENT: Final = 3  # what is nested less deeply takes no time worth counting
_OPEN: Final = ("(", "[", "{")
_CLOSE: Final = (")", "]", "}")
_NEW_QUERY: Final = frozenset({"SELECT", "FROM", "WHERE", "GROUP", "HAVING", "UNION", "EXCEPT", "INTERSECT"})


def too_large(text: str, found: Sequence[Token], dialect: type[Dialect] = Spark) -> str:
    """Return why sqlglot does not read a statement; empty if it can. found: its tokens."""
    if len(text) > LARGEST:
        return f"it has {len(text)} characters, and more than {LARGEST} are not read"
    deepest = _deepest(found)
    if deepest > DEEPEST:
        return f"its parentheses are nested {deepest} deep"
    if _Repetitions(_type_words(dialect)).count(found) > MOST_REPETITIONS:
        return "sqlglot would take too long for its nested calls, or for its joins without a condition"
    return ""


def _deepest(found: Sequence[Token]) -> int:
    depth = deepest = 0
    for token in found:
        if token.text in _OPEN:
            depth += 1
            deepest = max(deepest, depth)
        elif token.text in _CLOSE:
            depth -= 1
    return deepest


@dataclass
class _Level:
    """The contents of a pair of parentheses so far. The exponents are of 2: a part is read so many times."""

    is_repeated: bool = False  # sqlglot reads what is inside twice
    is_open: bool = False  # the last join has no condition yet
    joins: int = 0  # of the current query, without a condition
    inner: int = 0  # the largest exponent of parentheses in the current query
    largest: int = 0  # the largest exponent of the queries before


class _Repetitions:
    """Estimate how often sqlglot reads parts of a statement again."""

    def __init__(self, type_words: frozenset[str]) -> None:
        self._type_words = type_words
        self._levels = [_Level()]
        self._count = 0

    def count(self, found: Sequence[Token]) -> int:
        """Return the estimate for the tokens of a statement."""
        for index, token in enumerate(found):
            level = self._levels[-1]
            if token.text in _OPEN:
                is_call = token.text == "(" and index > 0 and found[index - 1].word in self._type_words
                self._levels.append(_Level(is_call or token.text == "{"))
            elif token.text in _CLOSE and len(self._levels) > 1:
                self._leave()
            elif token.word == "JOIN":
                level.joins += level.is_open
                level.is_open = not any(each.word in ("CROSS", "NATURAL") for each in found[max(index - 3, 0) : index])
            elif token.word in ("ON", "USING"):
                level.is_open = False
            elif token.word in _NEW_QUERY:
                self._end_query(level)
        while len(self._levels) > 1:
            self._leave()
        self._end_query(self._levels[0])
        return self._count

    def _leave(self) -> None:
        level = self._levels.pop()
        self._end_query(level)
        outer = self._levels[-1]
        outer.inner = max(outer.inner, level.largest + level.is_repeated)

    def _end_query(self, level: _Level) -> None:
        exponent = level.joins + level.is_open + level.inner
        if exponent > _COMMON_EXPONENT:
            self._count += 2 ** min(exponent, 30)
        level.largest = max(level.largest, exponent)
        level.joins, level.inner, level.is_open = 0, 0, False


@cache
def _type_words(dialect: type[Dialect]) -> frozenset[str]:
    """Return the words that a dialect of sqlglot takes for types."""
    kinds = dialect.parser_class.TYPE_TOKENS
    return frozenset(word for word, kind in dialect.tokenizer_class.KEYWORDS.items() if kind in kinds)
