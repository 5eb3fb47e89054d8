"""Encode Python values as parameters for the HTTP endpoint, without loss and with their type in Spark.

A datetime with an offset is a TIMESTAMP, one without an offset is a TIMESTAMP_NTZ. A list is an ARRAY, a dictionary is
a MAP, and a tuple is a STRUCT; a named tuple and a row's `Struct` also give its members their names. `Typed` overrides
the type.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final
from uuid import UUID

from jetsql.errors import StatementError
from jetsql.output.values import as_json, as_text

_MAX_DIGITS: Final = 38


@dataclass(frozen=True)
class Typed:
    """A value with its type in Spark: `Typed(1, "smallint")`, `Typed("1 day", "interval day")`."""

    value: object
    type: str


def encode_parameters(parameters: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any] | list[Any]:
    """Return the parameters, by name or by position, as JSON. Raises StatementError PARAMETER_NOT_READABLE."""
    if isinstance(parameters, Mapping):
        return {_check_name(name): _encode(value) for name, value in parameters.items()}
    return [_encode(value) for value in parameters]


def type_family(encoded: Any) -> str:
    """Return the type of an encoded value without its precision."""
    if isinstance(encoded, Mapping):
        return str(encoded["type"]).partition("(")[0]
    return type(encoded).__name__


def _check_name(name: object) -> str:
    if not isinstance(name, str) or not name.isidentifier():
        raise _not_readable(f"{name!r} is not a valid name of a parameter.")
    return name


def _encode(value: Any) -> Any:
    match value:
        case None | bool():
            return value
        case Enum():
            return _encode(value.value)
        case Typed():
            return _typed(value.type, _as_text(value.value))
        case int():
            return _check_integer(int(value))
        case float():
            # With its type, because a whole number such as 1.0 could be read as an INT.
            return _typed("double", as_text(float(value)))
        case str():
            return _check_text(str(value))
        case UUID():
            return str(value)
        case Decimal():
            return _encode_decimal(value)
        case bytes() | bytearray() | memoryview():
            return _typed("binary", base64.b64encode(bytes(value)).decode())
    return _encode_time(value) if isinstance(value, date | time | timedelta) else _encode_nested(value)


def _encode_time(value: date | time | timedelta) -> Any:
    match value:
        case datetime():
            return _encode_datetime(value)
        case date():
            return _typed("date", value.isoformat())
        case time():
            if value.tzinfo is not None:
                raise _not_readable("A time has an offset, which Spark's TIME cannot store.", "Remove the offset.")
            return _typed("time(6)", value.isoformat())
    return _typed("interval day to second", as_text(value))


def _encode_datetime(value: datetime) -> Any:
    if value != value:  # pandas' NaT, which is a datetime
        return None
    if getattr(value, "nanosecond", 0):
        message = f"{value} has nanoseconds, but Spark's timestamps have microseconds."
        raise _not_readable(message, "Round it.")
    return _typed("timestamp_ntz" if value.utcoffset() is None else "timestamp", value.isoformat())


def _encode_nested(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _typed("map", [[_encode(key), _encode(each)] for key, each in value.items()])
    if isinstance(value, tuple):
        return _encode_struct(value)
    if isinstance(value, list):
        return _encode_array([_encode(each) for each in value])
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return _encode(value.tolist())
    name = type(value).__qualname__
    raise _not_readable(
        f"A parameter is a {name}, for which Spark has no type.", "Pass a string, a number, a date or a list."
    )


def _encode_array(members: list[Any]) -> list[Any]:
    kinds = {type_family(member) for member in members if member is not None}
    numbers = {"int", "decimal", "double"}
    if len(kinds) > 1 and not kinds <= numbers:
        raise _not_readable(
            f"A list has values of several types: {', '.join(sorted(kinds))}.", "Pass values of one type for an ARRAY."
        )
    return members


def _encode_struct(value: tuple[Any, ...]) -> Any:
    names = getattr(value, "__fields__", None) or getattr(value, "_fields", None)
    names = names or [f"col{n}" for n, _ in enumerate(value, 1)]
    try:
        members = list(zip(names, value, strict=True))
    except ValueError as error:
        message = f"A parameter is a struct with {len(names)} names and {len(value)} values."
        raise _not_readable(message, "Pass one value for each name.") from error
    return _typed("struct", [[str(name), _encode(each)] for name, each in members])


def _check_integer(value: int) -> Any:
    if abs(value) >= 10**_MAX_DIGITS:
        raise _not_readable(f"A whole number has more than {_MAX_DIGITS} digits, the limit of Spark's DECIMAL.")
    return value


def _encode_decimal(value: Decimal) -> Any:
    if not value.is_finite():
        raise _not_readable(f"Spark's DECIMAL cannot be {value}.", "Pass a float, or None.")
    text = format(value, "f")
    whole, _, fraction = text.lstrip("-").partition(".")
    precision = max(len(whole.lstrip("0")) + len(fraction), 1)
    if precision > _MAX_DIGITS:
        raise _not_readable(f"A decimal number has more than {_MAX_DIGITS} digits, the limit of Spark's DECIMAL.")
    return _typed(f"decimal({precision},{len(fraction)})", text)


def _check_text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise _not_readable(f"A string cannot be encoded in UTF-8: {error.reason}.") from error
    return value


def _as_text(value: Any) -> str | None:
    """Return a value as text, for a type that is sent with it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(bytes(value)).decode()
    if isinstance(value, bool | int | float | Decimal | date | time | timedelta):
        return as_json(value).strip('"')
    raise _not_readable(f"A {type(value).__qualname__} cannot be given another type.")


def _typed(kind: str, value: Any) -> dict[str, Any]:
    return {"type": kind, "value": value}


def _not_readable(message: str, hint: str = "") -> StatementError:
    return StatementError("PARAMETER_NOT_READABLE", message, hint=hint)
