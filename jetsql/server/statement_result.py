"""The result of a statement: columns and rows, for tables of JetSQL and for Spark's DataFrames alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any

from jetsql.live_rows import Live
from jetsql.resultset import Column, Table, in_time_zone


@dataclass(frozen=True)
class StatementResult:
    """The result of a statement.

    Timestamps are datetimes in the session's time zone, with their offset; TIMESTAMP_NTZ are datetimes without one.
    """

    columns: tuple[Column, ...]  # with Spark's names of types
    rows: Iterator[tuple[Any, ...]]  # Python values as in PySpark; can be read once, and reading may raise
    live: Live | None = None  # the batches of a streaming select without an end, which has no `rows`


def from_table(table: Table, zone: tzinfo) -> StatementResult:
    """Return the result for a table of JetSQL, whose timestamps are seconds since the epoch."""
    stamps = {n for n, column in enumerate(table.columns) if column.type == "timestamp"}
    return StatementResult(table.columns, (_with_timestamps(row, stamps, zone) for row in table.rows))


def _with_timestamps(row: tuple[Any, ...], stamps: set[int], zone: tzinfo) -> tuple[Any, ...]:
    timestamps = {n: in_time_zone(datetime.fromtimestamp(row[n], UTC), zone) for n in stamps if row[n] is not None}
    return tuple(timestamps.get(n, value) for n, value in enumerate(row))
