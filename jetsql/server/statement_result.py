"""What one statement returned, whichever way it took.

JetSQL's own tables and Spark's DataFrames become the same thing: columns, and rows that are read once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any

from jetsql.live_rows import Live
from jetsql.resultset import Column, Table, in_time_zone


@dataclass(frozen=True)
class StatementResult:
    """columns: with Spark's type names. rows: Python values as PySpark gives them; may be read once, may raise.

    Timestamps are datetimes of the session's time zone with their offset; TIMESTAMP_NTZ are datetimes without one.
    live: of a look that has no end, in place of the rows.
    """

    columns: tuple[Column, ...]
    rows: Iterator[tuple[Any, ...]]
    live: Live | None = None


def from_table(table: Table, zone: tzinfo) -> StatementResult:
    """Return a table of ours, whose timestamps are seconds since the epoch."""
    stamps = {n for n, column in enumerate(table.columns) if column.type == "timestamp"}
    return StatementResult(table.columns, (_with_timestamps(row, stamps, zone) for row in table.rows))


def _with_timestamps(row: tuple[Any, ...], stamps: set[int], zone: tzinfo) -> tuple[Any, ...]:
    timestamps = {n: in_time_zone(datetime.fromtimestamp(row[n], UTC), zone) for n in stamps if row[n] is not None}
    return tuple(timestamps.get(n, value) for n, value in enumerate(row))
