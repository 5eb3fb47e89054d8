"""What a statement leaves in the engine's session, which goes with it when the engine ends."""

from __future__ import annotations

from itertools import islice
from typing import Final

from jetsql.language.tokens import tokens

_SETTING: Final = frozenset({"SET", "ADD", "DECLARE", "CACHE"})
_READING: Final = frozenset({"SELECT", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "VALUES", "TABLE", "FROM", "LIST"})
_MOVING: Final = frozenset({"USE", "SET", "EXECUTE", "BEGIN"})


def words(text: str, most: int = 6) -> list[str]:
    """The first words of a statement, in capitals."""
    return [token.word or token.text for token in islice(tokens(text), most)]


def leaves_something(text: str) -> bool:
    """Whether the session is another after it: a setting, a temporary view, a variable."""
    first = words(text)
    made = first[:1] == ["CREATE"] and any(word in ("TEMP", "TEMPORARY") for word in first)
    return made or (bool(first) and first[0] in _SETTING)


def only_reads(text: str) -> bool:
    """Whether it can be repeated without a thought."""
    first = words(text, 1)
    return bool(first) and first[0] in _READING


def may_change_schema(text: str) -> bool:
    """Whether the session's current schema may be another after it."""
    first = words(text, 1)
    return bool(first) and first[0] in _MOVING
