"""Select the values of a result in a form that Python can build, and build them.

PySpark has no class for intervals of years and months, and it makes a dictionary of a map, whose keys can be no lists.
So Spark writes such intervals as texts (`1-2`), and such maps as arrays of their entries. A dictionary that is made of
these has tuples as keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as f
from pyspark.sql.types import (
    ArrayType,
    CalendarIntervalType,
    DataType,
    MapType,
    StructType,
    YearMonthIntervalType,
)

Convert = Callable[[Any], Any]
Select = Callable[[Column], Column]


def select_values(frame: DataFrame, is_arrow: bool = False) -> DataFrame:
    """Return the frame with other columns where Python cannot build the values; the same frame where it can.

    is_arrow: Arrow has maps with all keys, and a type for intervals of months and days.
    """
    selects = [_selected(field.dataType, is_arrow) for field in frame.schema.fields]
    if not any(selects):
        return frame
    names = [f"c{number}" for number in range(len(selects))]  # names of columns can repeat
    renamed = frame.toDF(*names)
    columns = [select(f.col(name)) if select else f.col(name) for name, select in zip(names, selects, strict=True)]
    return renamed.select(*columns).toDF(*frame.columns)


def build_values(rows: Iterable[Sequence[Any]], schema: StructType) -> Iterator[Sequence[Any]]:
    """Yield the rows of `select_values` with maps as dictionaries. schema: of the frame before."""
    builds = [(number, build) for number, field in enumerate(schema.fields) if (build := _built(field.dataType))]
    if not builds:
        yield from rows
        return
    for row in rows:
        values = list(row)
        for number, build in builds:
            values[number] = build(values[number])
        yield values


def _selected(kind: DataType, is_arrow: bool) -> Select | None:
    """Return the expression for values of a type; None if they stay."""
    if isinstance(kind, YearMonthIntervalType):
        return lambda value: _years_and_months(value, kind)
    if isinstance(kind, CalendarIntervalType):
        return None if is_arrow else lambda value: value.cast("string")
    if isinstance(kind, ArrayType):
        member = _selected(kind.elementType, is_arrow)
        return member and (lambda value: f.transform(value, member))
    if isinstance(kind, StructType):
        return _selected_struct(kind, [_selected(field.dataType, is_arrow) for field in kind.fields])
    if isinstance(kind, MapType):
        return _selected_map(kind, is_arrow)
    return None


def _years_and_months(value: Column, kind: YearMonthIntervalType) -> Column:
    """Return the text of an interval. Spark extracts only the fields that its type has."""
    if kind.startField == YearMonthIntervalType.MONTH:
        months = value.cast("int")
    elif kind.endField == YearMonthIntervalType.YEAR:
        months = value.cast("int") * 12
    else:
        months = f.extract(f.lit("YEAR"), value) * 12 + f.extract(f.lit("MONTH"), value)
    sign = f.when(months < 0, "-").otherwise("")
    years, rest = f.floor(f.abs(months) / 12).cast("int"), f.abs(months) % 12
    return f.concat(sign, years.cast("string"), f.lit("-"), rest.cast("int").cast("string"))


def _selected_struct(kind: StructType, members: list[Select | None]) -> Select | None:
    if not any(members):
        return None

    def select(value: Column) -> Column:
        fields = [
            (member(value.getField(name)) if member else value.getField(name)).alias(name)
            for name, member in zip(kind.names, members, strict=True)
        ]
        return f.when(value.isNotNull(), f.struct(*fields))

    return select


def _selected_map(kind: MapType, is_arrow: bool) -> Select | None:
    key, member = _selected(kind.keyType, is_arrow), _selected(kind.valueType, is_arrow)
    has_entries = not is_arrow and not _is_hashable(kind.keyType)
    if key is None and member is None and not has_entries:
        return None

    def select(value: Column) -> Column:
        def entry(pair: Column) -> Column:
            name, each = pair.getField("key"), pair.getField("value")
            fields = ((key(name) if key else name).alias("key"), (member(each) if member else each).alias("value"))
            return f.struct(*fields)

        entries = f.transform(f.map_entries(value), entry)
        return entries if has_entries else f.map_from_entries(entries)

    return select


def _is_hashable(kind: DataType) -> bool:
    """Return whether the class that PySpark makes of a key can be a key of a dictionary."""
    if isinstance(kind, StructType):
        return all(_is_hashable(field.dataType) for field in kind.fields)
    return not isinstance(kind, ArrayType)


def _built(kind: DataType) -> Convert | None:
    """Return the function that builds the values of a type; None if they stay."""
    build: Convert | None = None
    if isinstance(kind, ArrayType):
        member = _built(kind.elementType)
        build = member and (lambda value: [member(each) for each in value])
    elif isinstance(kind, StructType):
        build = _built_struct(kind.names, [_built(field.dataType) for field in kind.fields])
    elif isinstance(kind, MapType):
        build = _built_map(kind)
    return build and (lambda value: None if value is None else build(value))


def _built_struct(names: list[str], members: list[Convert | None]) -> Convert | None:
    if not any(members):
        return None
    make_row = Row(*names)
    return lambda value: make_row(
        *(member(each) if member else each for member, each in zip(members, value, strict=True))
    )


def _built_map(kind: MapType) -> Convert | None:
    member = _built(kind.valueType)
    has_entries = not _is_hashable(kind.keyType)
    if member is None and not has_entries:
        return None

    def build(value: Any) -> dict[Any, Any]:
        pairs = value if has_entries else value.items()
        return {hashable(name): member(each) if member else each for name, each in pairs}

    return build


def hashable(value: Any) -> Any:
    """Return a key with tuples instead of lists."""
    if isinstance(value, Row):
        return Row(*value.__fields__)(*map(hashable, value))
    return tuple(map(hashable, value)) if isinstance(value, (list, tuple)) else value
