"""Values of the HTTP door's rows as Python has them, by the types of their columns.

The inverse of `jetsql.output.values.as_json`: decimals are `Decimal`, timestamps datetimes with their offset,
TIMESTAMP_NTZ ones without, structs named tuples' like, maps dictionaries. A column's `structure` is Spark's JSON
form of a type: a text for a simple one, an object for a nested one.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

Decode = Callable[[Any], Any]


class Struct(tuple[Any, ...]):
    """A value of a STRUCT: a tuple that knows the names of its members, as Spark's Row does."""

    __fields__: tuple[str, ...]

    def __new__(cls, names: Sequence[str], values: Sequence[Any]) -> Struct:
        made = super().__new__(cls, tuple(values))
        made.__fields__ = tuple(names)
        return made

    def as_dict(self) -> dict[str, Any]:
        return dict(zip(self.__fields__, self, strict=True))

    def __repr__(self) -> str:
        return f"Struct({', '.join(f'{name}={value!r}' for name, value in zip(self.__fields__, self, strict=True))})"


class _Pairs(list[tuple[str, Any]]):
    """A JSON object with its members in their order; names may come twice."""


def read_line(line: bytes) -> _Pairs | Any:
    """A line of rows, its numbers as they are written and its objects as pairs."""
    return json.loads(line, parse_float=_Number, parse_int=_Number, object_pairs_hook=_Pairs)


class _Number(str):
    """A number's digits, until its column's type says what they are."""


def decoder(kind: str, structure: Any = None) -> Decode:
    """What makes a column's values of what stands in its rows. kind, structure: of the column."""
    found = _decoder(kind if structure is None else structure)
    return lambda value: None if value is None else found(value)


def _decoder(structure: Any) -> Decode:
    if isinstance(structure, Mapping):
        return _NESTED[structure["type"]](structure) if structure["type"] in _NESTED else _plain
    name = re.split(r"[ (]", structure)[0]
    return _SIMPLE.get(name, _plain)


def _of(structure: Any) -> Decode:
    found = _decoder(structure)
    return lambda value: None if value is None else found(value)


def _array(structure: Mapping[str, Any]) -> Decode:
    member = _of(structure["elementType"])
    return lambda value: [member(each) for each in value]


def _map(structure: Mapping[str, Any]) -> Decode:
    key, member = _key(structure["keyType"]), _of(structure["valueType"])
    return lambda value: {key(name): member(each) for name, each in value}


def _key(structure: Any) -> Decode:
    """A key of a JSON object is a text whatever its type is."""
    if isinstance(structure, Mapping):
        found = _of(structure)
        return lambda text: _frozen(found(read_line(text.encode())))
    if structure == "boolean":
        return lambda text: text == "true"
    if structure == "binary":
        return bytes.fromhex
    return _decoder(structure)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _struct(structure: Mapping[str, Any]) -> Decode:
    names = [field["name"] for field in structure["fields"]]
    members = [_of(field["type"]) for field in structure["fields"]]
    return lambda value: Struct(names, [member(each) for member, (_, each) in zip(members, value, strict=True)])


def _day_time(text: str) -> timedelta:
    sign = -1 if text.startswith("-") else 1
    days, clock = text.removeprefix("-").split(" ")
    hours, minutes, seconds = clock.split(":")
    span = timedelta(days=int(days), hours=int(hours), minutes=int(minutes)) + _seconds(seconds)
    return sign * span


def _seconds(text: str) -> timedelta:
    whole, _, fraction = text.partition(".")
    return timedelta(seconds=int(whole), microseconds=int(fraction.ljust(6, "0") or 0))


def _plain(value: Any) -> Any:
    """A type without a class of its own in Python: texts stay, and so do numbers as they are written."""
    return str(value) if isinstance(value, str) else value


_NESTED: Final[Mapping[str, Callable[[Mapping[str, Any]], Decode]]] = {"array": _array, "map": _map, "struct": _struct}

_SIMPLE: Final[Mapping[str, Decode]] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint", "byte", "short", "integer", "long"), int),
    **dict.fromkeys(("float", "double"), float),
    "decimal": Decimal,
    "boolean": bool,
    "binary": base64.b64decode,
    "date": date.fromisoformat,
    **dict.fromkeys(("timestamp", "timestamp_ntz", "timestamp_ltz"), datetime.fromisoformat),
    "time": time.fromisoformat,
    "interval": _day_time,
}
