"""What a statement changes: the engine's session, which goes with the engine, or what is outside of it."""

from __future__ import annotations

from itertools import islice
from typing import Final

from jetsql.language.tokens import tokens

_SETTING: Final = frozenset({"SET", "ADD", "DECLARE", "CACHE"})
_READING: Final = frozenset("SELECT WITH VALUES TABLE FROM SHOW DESCRIBE DESC EXPLAIN LIST".split())
_WRITING: Final = frozenset("INSERT MERGE UPDATE DELETE SINK".split())
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
    return bool(text.split()) and not change(text)


def change(text: str) -> str:
    """The word by which a statement, which must not be empty, is more than reading; empty when it only reads."""
    found = [token.word for token in tokens(text)]
    first = next((word for word in found if word), "")
    if first not in _READING:
        return first or text.split()[0]
    writing = (word for word in found if word in _WRITING)
    return next(writing, "") if first in ("WITH", "FROM") else ""


def may_change_schema(text: str) -> bool:
    """Whether the session's current schema may be another after it."""
    first = words(text, 1)
    return bool(first) and first[0] in _MOVING
