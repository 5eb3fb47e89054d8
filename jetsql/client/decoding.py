"""Decode values of the HTTP endpoint's rows to Python, by the types of their columns.

This is the inverse of `jetsql.output.values.as_json`. A DECIMAL is a `Decimal`, a TIMESTAMP a datetime with its offset,
a TIMESTAMP_NTZ a datetime without one, a STRUCT like a named tuple, and a MAP a dictionary. The `structure` of a column
is Spark's JSON form of its type: a string for a simple type, an object for a nested one.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

Decoder = Callable[[Any], Any]
_DAY_TIME: Final = re.compile(r"interval (day|hour|minute|second)")


class Struct(tuple[Any, ...]):
    """A value of a STRUCT: a tuple with the names of its members, like Spark's Row."""

    __fields__: tuple[str, ...]

    def __new__(cls, names: Sequence[str], values: Sequence[Any]) -> Struct:
        struct = super().__new__(cls, tuple(values))
        struct.__fields__ = tuple(names)
        return struct

    def as_dict(self) -> dict[str, Any]:
        """Return the members by name."""
        return dict(zip(self.__fields__, self, strict=True))

    def __repr__(self) -> str:
        return f"Struct({', '.join(f'{name}={value!r}' for name, value in zip(self.__fields__, self, strict=True))})"


class _Pairs(list[tuple[str, Any]]):
    """The members of a JSON object, in order; names may be repeated."""


def parse_line(line: bytes) -> _Pairs | Any:
    """Parse a line of rows, numbers as their digits and objects as pairs."""
    return json.loads(line, parse_float=_Number, parse_int=_Number, object_pairs_hook=_Pairs)


class _Number(str):
    """The digits of a number, until the column's type decides its class."""


def create_decoder(kind: str, structure: Any = None) -> Decoder:
    """Return the function that decodes the values of a column."""
    decode = _decoder_of(kind if structure is None else structure)
    return lambda value: None if value is None else decode(value)


def _decoder_of(structure: Any) -> Decoder:
    if isinstance(structure, Mapping):
        return _NESTED[structure["type"]](structure) if structure["type"] in _NESTED else _plain
    name = re.split(r"[ (]", structure)[0]
    if name == "interval" and not _DAY_TIME.match(structure):  # of years and months: a text such as 1-2
        return _plain
    return _SIMPLE.get(name, _plain)


def _nullable(structure: Any) -> Decoder:
    decode = _decoder_of(structure)
    return lambda value: None if value is None else decode(value)


def _array(structure: Mapping[str, Any]) -> Decoder:
    member = _nullable(structure["elementType"])
    return lambda value: [member(each) for each in value]


def _map(structure: Mapping[str, Any]) -> Decoder:
    key, member = _key(structure["keyType"]), _nullable(structure["valueType"])
    return lambda value: {key(name): member(each) for name, each in value}


def _key(structure: Any) -> Decoder:
    """Return the decoder of a map's keys. In JSON, keys of all types are strings."""
    if isinstance(structure, Mapping):
        decode = _nullable(structure)
        return lambda text: _hashable(decode(parse_line(text.encode())))
    if structure == "boolean":
        return lambda text: text == "true"
    if structure == "binary":
        return bytes.fromhex
    return _decoder_of(structure)


def _hashable(value: Any) -> Any:
    """Return a key with tuples instead of lists."""
    if isinstance(value, Struct):
        return Struct(value.__fields__, [_hashable(each) for each in value])
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _struct(structure: Mapping[str, Any]) -> Decoder:
    names = [field["name"] for field in structure["fields"]]
    members = [_nullable(field["type"]) for field in structure["fields"]]
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
    """Return a value of a type without a Python class: a string as it is, a number as its digits."""
    return str(value) if isinstance(value, str) else value


_NESTED: Final[Mapping[str, Callable[[Mapping[str, Any]], Decoder]]] = {"array": _array, "map": _map, "struct": _struct}

_SIMPLE: Final[Mapping[str, Decoder]] = {
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
