"""Python's values as the HTTP door takes parameters: exactly, with the type that Spark has for them.

A datetime with an offset is a TIMESTAMP, a point in time; one without is a TIMESTAMP_NTZ. A list is an ARRAY, a
dictionary a MAP, a tuple a STRUCT, whose members have the tuple's names where it has some (a named tuple, a row's
`Struct`). `Typed` says another type.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final
from uuid import UUID

from jetsql.errors import StatementError
from jetsql.output.values import as_json, as_text

_MOST_DIGITS: Final = 38


@dataclass(frozen=True)
class Typed:
    """A value with the type that it shall have in Spark: `Typed(1, "smallint")`, `Typed("1 day", "interval day")`."""

    value: object
    type: str


def encode(parameters: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any] | list[Any]:
    """By name or by place, as JSON can hold them. Raises StatementError PARAMETER_NOT_READABLE."""
    if isinstance(parameters, Mapping):
        return {_name(name): _encoded(value) for name, value in parameters.items()}
    return [_encoded(value) for value in parameters]


def kind_of(encoded: Any) -> str:
    """What an encoded value is, roughly: values of one kind may stand one above the other in a table."""
    if isinstance(encoded, Mapping):
        return str(encoded["type"]).partition("(")[0]
    return type(encoded).__name__


def _name(name: object) -> str:
    if not isinstance(name, str) or not name.isidentifier():
        raise _refusal(f"{name!r} is no name of a parameter.")
    return name


def _encoded(value: Any) -> Any:
    match value:
        case None | bool():
            return value
        case Enum():
            return _encoded(value.value)
        case Typed():
            return _typed(value.type, _plain(value.value))
        case int():
            return _whole(int(value))
        case float():
            # With its type although it is plain JSON: the digits of a whole one could be taken for an INT's.
            return _typed("double", repr(float(value)) if math.isfinite(value) else str(as_text(float(value))))
        case str():
            return _text(str(value))
        case UUID():
            return str(value)
        case Decimal():
            return _decimal(value)
        case bytes() | bytearray() | memoryview():
            return _typed("binary", base64.b64encode(bytes(value)).decode())
    return _time(value) if isinstance(value, date | time | timedelta) else _nested(value)


def _time(value: date | time | timedelta) -> Any:
    match value:
        case datetime():
            return _moment(value)
        case date():
            return _typed("date", value.isoformat())
        case time():
            if value.tzinfo is not None:
                raise _refusal("A time of day has an offset, and Spark's TIME has none.")
            return _typed("time(6)", value.isoformat())
    return _typed("interval day to second", as_text(value))


def _moment(value: datetime) -> Any:
    if value != value:  # pandas' NaT, which is a datetime
        return None
    if getattr(value, "nanosecond", 0):
        raise _refusal(f"{value} has nanoseconds, and Spark's timestamps have microseconds.", "Round it.")
    return _typed("timestamp_ntz" if value.utcoffset() is None else "timestamp", value.isoformat())


def _nested(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _typed("map", [[_encoded(key), _encoded(each)] for key, each in value.items()])
    if isinstance(value, tuple):
        return _struct(value)
    if isinstance(value, list):
        return _array([_encoded(each) for each in value])
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return _encoded(value.tolist())
    name = type(value).__qualname__
    raise _refusal(f"A parameter is a {name}, for which Spark has no type.", "Pass a text, a number, a date or a list.")


def _array(members: list[Any]) -> list[Any]:
    kinds = {kind_of(member) for member in members if member is not None}
    numbers = {"int", "decimal", "double"}
    if len(kinds) > 1 and not kinds <= numbers:
        raise _refusal(f"A list has values of several types: {', '.join(sorted(kinds))}.", "An ARRAY has only one.")
    return members


def _struct(value: tuple[Any, ...]) -> Any:
    names = getattr(value, "__fields__", None) or getattr(value, "_fields", None)
    names = names or [f"col{n}" for n, _ in enumerate(value, 1)]
    return _typed("struct", [[str(name), _encoded(each)] for name, each in zip(names, value, strict=True)])


def _whole(value: int) -> Any:
    if abs(value) >= 10**_MOST_DIGITS:
        raise _refusal(f"A whole number has more than {_MOST_DIGITS} digits, which Spark's DECIMAL can't hold.")
    return value


def _decimal(value: Decimal) -> Any:
    if not value.is_finite():
        raise _refusal(f"Spark's DECIMAL has no {value}.", "Pass a float, or None.")
    text = format(value, "f")
    whole, _, fraction = text.lstrip("-").partition(".")
    precision = max(len(whole.lstrip("0")) + len(fraction), 1)
    if precision > _MOST_DIGITS:
        raise _refusal(f"A decimal number has more than {_MOST_DIGITS} digits, which Spark's DECIMAL can't hold.")
    return _typed(f"decimal({precision},{len(fraction)})", text)


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise _refusal(f"A text can't be written in UTF-8: {error.reason}.") from error
    return value


def _plain(value: Any) -> str | None:
    """The text of a value whose type is told beside it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(bytes(value)).decode()
    if isinstance(value, bool | int | float | Decimal | date | time | timedelta):
        return as_json(value).strip('"')
    raise _refusal(f"A {type(value).__qualname__} can't be given another type.")


def _typed(kind: str, value: Any) -> dict[str, Any]:
    return {"type": kind, "value": value}


def _refusal(words: str, hint: str = "") -> StatementError:
    return StatementError("PARAMETER_NOT_READABLE", words, hint=hint)
