"""Rows with fixed columns, the result of every statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any

Value = str | int | float | bool | None
Cell = Value | tuple[str, ...] | Mapping[str, int]


@dataclass(frozen=True)
class Column:
    """A column of a result or relation."""

    name: str
    type: str = "string"  # a Spark SQL type; values of type `timestamp` are seconds since the epoch
    comment: str = ""  # the comment of the column in DESCRIBE
    structure: object = None  # Spark's JSON form of a nested type; None for other types

    @property
    def kind(self) -> str | Mapping[str, Any]:
        """Return the type: Spark's JSON form for a nested type, its name for others."""
        return self.structure if isinstance(self.structure, Mapping) else self.type


@dataclass(frozen=True)
class Table:
    """A result whose rows are in memory."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...] = ()


def in_time_zone(moment: datetime, zone: tzinfo) -> datetime:
    """Return a time in another zone, with its offset. A time without offset is in this machine's zone.

    The first and last hours of the range of datetime cannot be converted to every zone; they are returned unchanged.
    """
    try:
        return moment.astimezone(zone)
    except (OverflowError, ValueError):
        return moment
