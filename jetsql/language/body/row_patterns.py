"""Find MATCH_RECOGNIZE in the tokens of a statement: in its PATTERN, `?` and `$` are no parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from jetsql.language.tokens import Kind, Token, closing_parenthesis

MATCH_CLAUSES: Final = frozenset({"PARTITION", "ORDER", "MEASURES", "PATTERN", "DEFINE", "ONE", "ALL", "AFTER"})
"""The first words of the clauses of MATCH_RECOGNIZE."""


def matches(found: Sequence[Token]) -> list[range]:
    """Return the indexes of the tokens of each MATCH_RECOGNIZE, from the word to its closing parenthesis."""
    return [
        range(at, closing_parenthesis(found, at + 1) + 1)
        for at, token in enumerate(found)
        if token.word == "MATCH_RECOGNIZE" and _text(found, at + 1) == "(" and _is_clause(found, at + 2)
    ]


def pattern_tokens(found: Sequence[Token]) -> set[int]:
    """Return the indexes of the tokens in the parentheses of PATTERN."""
    return {
        index
        for match in matches(found)
        for at in match
        if found[at].word == "PATTERN" and _text(found, at + 1) == "("
        for index in range(at + 2, closing_parenthesis(found, at + 1))
    }


def _is_clause(found: Sequence[Token], at: int) -> bool:
    """Return whether a clause begins at `at`; a list of column names has a comma or parenthesis after the word."""
    return at < len(found) and found[at].word in MATCH_CLAUSES and _text(found, at + 1) not in (",", ")")


def _text(found: Sequence[Token], index: int) -> str:
    return found[index].text if index < len(found) and found[index].kind is not Kind.QUOTED else ""
