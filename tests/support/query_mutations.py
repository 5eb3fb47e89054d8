"""Mutations of SQL queries: each changes one operator, bound, key or function, as a mistake would."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

_TOKENS: Final = re.compile(
    r"--[^\n]*|(?P<text>'[^']*')|(?P<number>\b\d+(?:\.\d+)?\b)|(?P<symbol><=|>=|<>|[<>=*%+-])|(?P<word>\b[a-zA-Z_]\w*\b)"
)
_SYMBOLS: Final[Mapping[str, str]] = {
    "=": "<>",
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "<>": "=",
    "%": "+",
    "+": "-",
    "-": "+",
}
_WORDS: Final[Mapping[str, str]] = {
    "AND": "OR",
    "OR": "AND",
    "max": "min",
    "min": "max",
    "sum": "max",
    "avg": "max",
    "DESC": "ASC",
    "DISTINCT": "ALL",
    "IS NOT NULL": "IS NULL",
}
_KEYS: Final = re.compile(r"(?P<clause>GROUP BY|PARTITION BY) (?P<keys>[\w.]+(?:, [\w.]+)*), (?P<last>[\w.]+)")
_BETWEEN: Final = re.compile(r"\bBETWEEN\b(?:(?!\bAND\b).)*$", re.DOTALL)


@dataclass(frozen=True)
class Mutation:
    """A changed text."""

    text: str
    change: str
    """The line of the change and what it is."""


def mutate(text: str, start: int) -> Iterator[Mutation]:
    """Yield all mutations of a text. start: the offset of the query, before which nothing is changed"""
    for match in _TOKENS.finditer(text, start):
        for new in _others(match, text[start : match.start()]):
            yield _mutation(text, match.start(), match.end(), new)
    for match in _KEYS.finditer(text, start):
        yield _mutation(text, match.start(), match.end(), f"{match['clause']} {match['keys']}")


def _mutation(text: str, start: int, stop: int, new: str) -> Mutation:
    line = text.count("\n", 0, start) + 1
    return Mutation(text[:start] + new + text[stop:], f"line {line}: {text[start:stop]} -> {new}")


def _others(match: re.Match[str], before: str) -> Iterator[str]:
    found = match[0]
    if match["number"] is not None:
        yield str(int(found) + 1) if found.isdecimal() else f"1{found}"
    elif match["symbol"] is not None and found in _SYMBOLS:
        yield _SYMBOLS[found]
    elif match["text"] is not None:
        seconds = re.fullmatch(r"'(\d+) (\w+)'", found)
        yield f"'{int(seconds[1]) + 1} {seconds[2]}'" if seconds is not None else f"{found[:-1]}x'"
    elif found in _WORDS and not (found == "AND" and _BETWEEN.search(before)):
        yield _WORDS[found]
