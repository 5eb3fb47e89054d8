"""Convert a value of a row to display text (`as_text`) and to JSON (`as_json`).

The Python class of a value selects the conversion, so Spark is not imported; the column's type is used only where the
class is ambiguous. A datetime with an offset is a TIMESTAMP, without an offset a TIMESTAMP_NTZ.
"""

from __future__ import annotations

import base64
import json
import math
import struct
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

SparkType = str | Mapping[str, Any]
"""A type of Spark: its name, or the JSON of a nested type, which contains the types of its members."""


def as_text(value: object, kind: SparkType = "", *, with_offset: bool = False) -> str:
    """Return a value, which is not NULL, as display text. with_offset: write timestamps with their offset."""
    match value:
        case str():
            return value
        case bytes() | bytearray() | memoryview():
            return bytes(value).hex()
        case datetime():
            return value.isoformat() if with_offset else value.replace(tzinfo=None).isoformat(sep=" ")
    text = as_json(value, kind)
    return json.loads(text) if text.startswith('"') else text


def as_json(value: object, kind: SparkType = "") -> str:
    """Return a value as JSON; numbers keep all their digits. kind: its type, if known."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case datetime():
            return _quoted(value.isoformat())
        case int():
            return str(int(value))
        case float():
            return _float(value, kind)
        case Decimal():
            return format(value, "f")
        case bytes() | bytearray() | memoryview():
            return _quoted(base64.b64encode(bytes(value)).decode())
        case Mapping():
            key_kind, member_kind = _member_type(kind, "keyType"), _member_type(kind, "valueType")
            names = (as_text(key, key_kind, with_offset=True) for key in value)
            return _object(names, (as_json(member, member_kind) for member in value.values()))
        case tuple() if hasattr(value, "__fields__"):
            members = zip(value, _field_kinds(kind, len(value)), strict=True)
            return _object(value.__fields__, (as_json(member, member_type) for member, member_type in members))
        case list() | tuple():
            member_kind = _member_type(kind, "elementType")
            return "[" + ",".join(as_json(member, member_kind) for member in value) + "]"
    return _scalar(value, kind)


def _member_type(kind: SparkType, key: str) -> SparkType:
    member: SparkType = kind.get(key, "") if isinstance(kind, Mapping) else ""
    return member


def _field_kinds(kind: SparkType, size: int) -> list[SparkType]:
    if not isinstance(kind, Mapping) or "fields" not in kind:
        return [""] * size
    return [field["type"] for field in kind["fields"]]


def _scalar(value: object, kind: SparkType) -> str:
    match value:
        case date() | time():
            return _quoted(value.isoformat())
        case timedelta():
            return _quoted(_interval(value))
    # The text of a variant is JSON already; other values, such as those of user-defined types, become JSON strings.
    return str(value) if kind == "variant" else _quoted(str(value))


def _object(names: Iterable[str], members: Iterable[str]) -> str:
    return "{" + ",".join(f"{_quoted(name)}:{member}" for name, member in zip(names, members, strict=True)) + "}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _float(value: float, kind: SparkType) -> str:
    if math.isnan(value):
        return '"NaN"'
    if math.isinf(value):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    return _single_precision(value) if kind == "float" else repr(value)


def _single_precision(value: float) -> str:
    """Return a FLOAT with the fewest digits that identify it: 0.1 instead of 0.10000000149011612."""
    packed = struct.pack("f", value)
    return next(
        repr(short) for digits in range(6, 18) if struct.pack("f", short := float(f"{value:.{digits}g}")) == packed
    )


def _interval(value: timedelta) -> str:
    """Return days and time of day, as in Spark's `INTERVAL '1 02:03:04' DAY TO SECOND`."""
    sign, span = ("-", -value) if value < timedelta() else ("", value)
    minutes, seconds = divmod(span.seconds, 60)
    fraction = f".{span.microseconds:06d}".rstrip("0") if span.microseconds else ""
    return f"{sign}{span.days} {minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}{fraction}"
