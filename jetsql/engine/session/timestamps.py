"""Timestamps of Spark's rows, by the clock of the session, however deep they are nested.

PySpark hands out a TIMESTAMP as this machine's local time without saying so, and a TIMESTAMP_NTZ, which is no point in
time, as the same kind of value. Only the schema tells them apart, so it is done here: behind it, a value with an offset
is a point in time and one without is the reading of a clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import tzinfo
from typing import Any

from pyspark.sql import Row
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, TimestampType

from jetsql.resultset import in_time_zone

Convert = Callable[[Any], Any]


def with_offsets(rows: Iterable[Sequence[Any]], schema: StructType, zone: tzinfo) -> Iterator[tuple[Any, ...]]:
    """The rows with their timestamps in `zone`."""
    found = [(n, _converter(field.dataType, zone)) for n, field in enumerate(schema.fields)]
    converters = [(n, convert) for n, convert in found if convert]
    for row in rows:
        values = list(row)
        for n, convert in converters:
            values[n] = convert(values[n])
        yield tuple(values)


def _converter(kind: DataType, zone: tzinfo) -> Convert | None:
    """What to do with a value of this type; None when there is no timestamp in it."""
    convert: Convert | None = None
    if isinstance(kind, TimestampType):
        return lambda value: None if value is None else in_time_zone(value, zone)
    if isinstance(kind, ArrayType):
        convert = _of_array(_converter(kind.elementType, zone))
    elif isinstance(kind, MapType):
        convert = _of_map(_converter(kind.keyType, zone), _converter(kind.valueType, zone))
    elif isinstance(kind, StructType):
        convert = _of_struct(kind.names, [_converter(field.dataType, zone) for field in kind.fields])
    return convert and (lambda value: None if value is None else convert(value))


def _of_array(member: Convert | None) -> Convert | None:
    return member and (lambda value: [member(each) for each in value])


def _of_map(key: Convert | None, member: Convert | None) -> Convert | None:
    if key is None and member is None:
        return None
    of_key, of_member = key or _same, member or _same
    return lambda value: {of_key(name): of_member(each) for name, each in value.items()}


def _of_struct(names: list[str], members: list[Convert | None]) -> Convert | None:
    if not any(members):
        return None
    make = Row(*names)
    return lambda value: make(*((of or _same)(each) for of, each in zip(members, value, strict=True)))


def _same(value: Any) -> Any:
    return value
