"""Classify statements by what they change: the engine's session, which ends with the engine, or data."""

from __future__ import annotations

from itertools import islice
from typing import Final

from jetsql.language.tokens import tokens

_SESSION_VERBS: Final = frozenset({"SET", "ADD", "DECLARE", "CACHE"})
_READING_VERBS: Final = frozenset("SELECT WITH VALUES TABLE FROM SHOW DESCRIBE DESC EXPLAIN LIST".split())
_WRITING_VERBS: Final = frozenset("INSERT MERGE UPDATE DELETE SINK".split())
_SCHEMA_VERBS: Final = frozenset({"USE", "SET", "EXECUTE", "BEGIN"})


def first_words(text: str, count: int = 6) -> list[str]:
    """Return the first words of a statement, in capitals."""
    return [token.word or token.text for token in islice(tokens(text), count)]


def changes_session(text: str) -> bool:
    """Return whether a statement changes the session: a setting, a temporary view, a variable."""
    first = first_words(text)
    made = first[:1] == ["CREATE"] and any(word in ("TEMP", "TEMPORARY") for word in first)
    return made or (bool(first) and first[0] in _SESSION_VERBS)


def is_read_only(text: str) -> bool:
    """Return whether a statement can safely be repeated."""
    return bool(text.split()) and not writing_word(text)


def writing_word(text: str) -> str:
    """Return the word by which a statement (not empty) writes, or an empty string if it only reads."""
    found = [token.word for token in tokens(text)]
    first = next((word for word in found if word), "")
    if first not in _READING_VERBS:
        return first or text.split()[0]
    writing = (word for word in found if word in _WRITING_VERBS)
    return next(writing, "") if first in ("WITH", "FROM") else ""


def may_change_schema(text: str) -> bool:
    """Return whether a statement may change the session's current schema."""
    first = first_words(text, 1)
    return bool(first) and first[0] in _SCHEMA_VERBS
