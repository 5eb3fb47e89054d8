"""What one statement returned, whichever way it took, and what an error says of its text.

JetSQL's own tables and Spark's DataFrames become the same thing: columns, and rows that are read once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from jetsql.jobs.tables import Column, Table


@dataclass(frozen=True)
class Result:
    """columns: with Spark's type names. rows: Python values as PySpark gives them; may be read once, may raise."""

    columns: tuple[Column, ...]
    rows: Iterator[tuple[Any, ...]]


def of_table(table: Table) -> Result:
    """Timestamps become aware datetimes in the local zone, as Spark's clients show them."""
    stamps = [n for n, column in enumerate(table.columns) if column.type == "timestamp"]
    return Result(table.columns, (_with_times(row, stamps) for row in table.rows))


def _with_times(row: tuple[Any, ...], stamps: list[int]) -> tuple[Any, ...]:
    values = list(row)
    for n in stamps:
        if values[n] is not None:
            values[n] = datetime.fromtimestamp(values[n], UTC).astimezone().replace(tzinfo=None)
    return tuple(values)
