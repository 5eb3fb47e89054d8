"""What one statement returned, whichever way it took.

JetSQL's own tables and Spark's DataFrames become the same thing: columns, and rows that are read once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any

from jetsql.jobs.tables import Column, Table, in_zone


@dataclass(frozen=True)
class Result:
    """columns: with Spark's type names. rows: Python values as PySpark gives them; may be read once, may raise.

    Timestamps are naive datetimes by the clock of the session's time zone.
    """

    columns: tuple[Column, ...]
    rows: Iterator[tuple[Any, ...]]


def of_table(table: Table, zone: tzinfo) -> Result:
    """A table of ours, whose timestamps are seconds since the epoch."""
    stamps = [n for n, column in enumerate(table.columns) if column.type == "timestamp"]
    return Result(table.columns, in_zone((_with_instants(row, stamps) for row in table.rows), stamps, zone))


def _with_instants(row: tuple[Any, ...], stamps: list[int]) -> list[Any]:
    values = list(row)
    for n in stamps:
        values[n] = None if values[n] is None else datetime.fromtimestamp(values[n], UTC)
    return values
