"""Rows with fixed columns: what every statement returns, whoever asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

Value = str | int | float | bool | None


@dataclass(frozen=True)
class Column:
    """type: a Spark SQL type (`string`, `bigint`, `double`, `timestamp`); timestamps are seconds since the epoch."""

    name: str
    type: str = "string"


@dataclass(frozen=True)
class Table:
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...] = ()


def in_zone(rows: Iterable[Sequence[Any]], instants: Sequence[int], zone: tzinfo) -> Iterator[tuple[Any, ...]]:
    """Rows with their timestamps as the zone's clock shows them; PySpark gives them by the clock of this machine."""
    for row in rows:
        values = list(row)
        for n in instants:
            if values[n] is not None:
                values[n] = values[n].astimezone(zone).replace(tzinfo=None)
        yield tuple(values)
