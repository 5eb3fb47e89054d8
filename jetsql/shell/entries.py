"""What somebody typed or pasted -> the things to do, in their order: statements, and commands that begin with a dot.

A command is one line and may stand wherever a statement may begin, so that a pasted script can hold some. Statements
need their semicolon: it is what tells Enter that nothing is missing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from jetsql.language import Fragment
from jetsql.language.scripts import fragments
from jetsql.language.tokens import tokens

# Nobody who types these alone means SQL. With words behind them it is a statement: CLEAR CACHE.
_BARE: Final = re.compile(r"\s*(?:(help)\b([^;\n]*)|(quit|exit|clear|cls))\s*;?\s*", re.IGNORECASE)
MARKS: Final = (".", "\\", "?")
"""A command begins with one of these."""


@dataclass(frozen=True)
class Sql:
    """One statement; its places count in the whole text."""

    fragment: Fragment


@dataclass(frozen=True)
class Dot:
    """A command. word: as written, with its mark (`.help`); words without one got a dot. rest: what stands behind.
    start: its place in the whole text."""

    word: str
    rest: str
    line: int = 1
    start: int = 0


def entries(text: str) -> list[Sql | Dot]:
    """Everything in a text, in order."""
    bare = _BARE.fullmatch(text)
    if bare is not None:
        return [Dot(f".{(bare[1] or bare[3]).lower()}", (bare[2] or "").strip())]
    found: list[Sql | Dot] = []
    at, statements = 0, fragments(text)
    while (token := next(tokens(text, at), None)) is not None:
        if token.text == ";":
            at = token.stop
        elif token.text.startswith(MARKS):
            found.append(_dot(text, token.start))
            at = _line_end(text, token.start)
            statements = fragments(text, at)
        else:
            fragment = next(statements)
            found.append(Sql(fragment))
            at = fragment.start + len(fragment.text)
    return found


def complete(text: str) -> bool:
    """Whether nothing is missing."""
    return all(isinstance(entry, Dot) or entry.fragment.complete for entry in entries(text))


def is_command(text: str) -> bool:
    """Whether a text begins as a command does."""
    return text.lstrip().startswith(MARKS) or _BARE.fullmatch(text) is not None


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _dot(text: str, start: int) -> Dot:
    line = text[start : _line_end(text, start)]
    mark = re.match(r"\.\S*|\\\S*|\?", line)
    assert mark is not None
    word = ".help" if mark.group() == "?" else mark.group()
    return Dot(word, line[mark.end() :].strip(), text.count("\n", 0, start) + 1, start)
