"""Rows with fixed columns: what every statement returns, whoever asked."""

from __future__ import annotations

from dataclasses import dataclass

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
