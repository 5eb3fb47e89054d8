"""The names and options of jobs, tables and other objects in statements, with their places in the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from jetsql.errors import Span

APPLY_GROUP: Final = "applyGroup"
"""The option of jobs and alerts with the group of `jetsql apply`."""


@dataclass(frozen=True)
class Name:
    """The name of a job or snapshot, without back quotes, or a job's id."""

    text: str
    place: Span
    is_id: bool = False  # it was written as a string literal

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class TableIdentifier:
    """The name of a table as in a statement, without back quotes."""

    parts: tuple[str, ...]
    place: Span

    def __str__(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True)
class OptionText:
    """One `'key' = 'value'` of an OPTIONS list, unquoted but otherwise as written."""

    key: str
    value: str
    key_place: Span
    value_place: Span
