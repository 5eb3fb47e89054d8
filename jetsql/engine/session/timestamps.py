"""Convert the timestamps of Spark's rows to the session's time zone, at any depth of nesting.

PySpark returns a TIMESTAMP as this machine's local time without an offset, and a TIMESTAMP_NTZ, which is no instant, as
the same Python type. Only the schema distinguishes them. After the conversion, a TIMESTAMP has an offset and a
TIMESTAMP_NTZ has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import tzinfo
from typing import Any

from pyspark.sql import Row
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, TimestampType

from jetsql.engine.jvm.python_values import hashable
from jetsql.resultset import in_time_zone

Convert = Callable[[Any], Any]


def with_offsets(rows: Iterable[Sequence[Any]], schema: StructType, zone: tzinfo) -> Iterator[tuple[Any, ...]]:
    """Yield the rows with their timestamps in `zone`."""
    field_converters = [(n, _converter(field.dataType, zone)) for n, field in enumerate(schema.fields)]
    converters = [(n, convert) for n, convert in field_converters if convert]
    for row in rows:
        values = list(row)
        for n, convert in converters:
            values[n] = convert(values[n])
        yield tuple(values)


def _converter(data_type: DataType, zone: tzinfo) -> Convert | None:
    """Return the conversion for values of a type, or None for a type without timestamps."""
    convert: Convert | None = None
    if isinstance(data_type, TimestampType):
        return lambda value: None if value is None else in_time_zone(value, zone)
    if isinstance(data_type, ArrayType):
        convert = _convert_array(_converter(data_type.elementType, zone))
    elif isinstance(data_type, MapType):
        convert = _convert_map(_converter(data_type.keyType, zone), _converter(data_type.valueType, zone))
    elif isinstance(data_type, StructType):
        convert = _convert_struct(data_type.names, [_converter(field.dataType, zone) for field in data_type.fields])
    return convert and (lambda value: None if value is None else convert(value))


def _convert_array(member: Convert | None) -> Convert | None:
    return member and (lambda value: [member(each) for each in value])


def _convert_map(key: Convert | None, member: Convert | None) -> Convert | None:
    if key is None and member is None:
        return None
    convert_key, convert_value = key or _unchanged, member or _unchanged
    return lambda value: {hashable(convert_key(name)): convert_value(each) for name, each in value.items()}


def _convert_struct(names: list[str], members: list[Convert | None]) -> Convert | None:
    if not any(members):
        return None
    make_row = Row(*names)
    return lambda value: make_row(
        *((convert_member or _unchanged)(each) for convert_member, each in zip(members, value, strict=True))
    )


def _unchanged(value: Any) -> Any:
    return value
