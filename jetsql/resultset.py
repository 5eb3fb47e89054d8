"""Rows with fixed columns: what every statement returns, whoever asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any

Value = str | int | float | bool | None
Cell = Value | tuple[str, ...] | Mapping[str, int]


@dataclass(frozen=True)
class Column:
    """type: a Spark SQL type (`string`, `bigint`, `double`, `timestamp`); timestamps are seconds since the epoch.

    comment: what it holds, for who looks at the columns of a relation. structure: the JSON form that Spark gives a
    nested type, for those who read its members; of others None.
    """

    name: str
    type: str = "string"
    comment: str = ""
    structure: object = None

    @property
    def kind(self) -> str | Mapping[str, Any]:
        """Return the type with all that is known of its members."""
        return self.structure if isinstance(self.structure, Mapping) else self.type


@dataclass(frozen=True)
class Table:
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...] = ()


def in_time_zone(moment: datetime, zone: tzinfo) -> datetime:
    """The moment as the zone's clock shows it, with its offset. One without offset is meant by this machine's clock.

    The first and last hours that a datetime can hold are beyond the clocks of other zones; there it stays as it is.
    """
    try:
        return moment.astimezone(zone)
    except (OverflowError, ValueError):
        return moment
