"""The type objects and constructors of PEP 249. The type code of a column is the name of its type in Spark."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, time
from typing import Final

from jetsql.resultset import Column

Description = tuple[str, str, None, None, int | None, int | None, None]


class TypeObject:
    """A type object. It equals the names of its types, with or without a precision: `NUMBER == 'decimal(10,2)'`."""

    def __init__(self, name: str, *types: str) -> None:
        self._name = name
        self._types = frozenset(types)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return re.split(r"[ (<]", other)[0] in self._types
        return self is other

    def __hash__(self) -> int:
        return hash(self._name)

    def __repr__(self) -> str:
        return self._name


STRING: Final = TypeObject("STRING", "string", "char", "varchar")
BINARY: Final = TypeObject("BINARY", "binary")
NUMBER: Final = TypeObject(
    "NUMBER", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "byte", "short", "integer", "long"
)
DATETIME: Final = TypeObject("DATETIME", "date", "timestamp", "timestamp_ntz", "timestamp_ltz", "time")
ROWID: Final = TypeObject("ROWID")

Date = date
Time = time
Timestamp = datetime
Binary = bytes


def DateFromTicks(ticks: float) -> date:
    return date.fromtimestamp(ticks)


def TimeFromTicks(ticks: float) -> time:
    return datetime.fromtimestamp(ticks).time()


def TimestampFromTicks(ticks: float) -> datetime:
    """Return the datetime of a Unix time, with the UTC offset of this machine."""
    return datetime.fromtimestamp(ticks).astimezone()


def description(columns: Sequence[Column]) -> list[Description] | None:
    """Return the columns as PEP 249 describes them, or None for a statement without columns."""
    return [_describe(column) for column in columns] or None


def _describe(column: Column) -> Description:
    decimal = re.fullmatch(r"decimal\((\d+),(\d+)\)", column.type)
    precision, scale = (int(decimal[1]), int(decimal[2])) if decimal else (None, None)
    return (column.name, column.type, None, None, precision, scale, None)
