"""One value of a row as text: for people (`as_text`) and as JSON (`as_json`).

Values are those of results, told by their Python class so that nothing of Spark is imported; the column's type decides
only where the class can't. A datetime with an offset is a moment, one without is a reading of a clock (TIMESTAMP_NTZ).
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

Kind = str | Mapping[str, Any]
"""Spark's type: its name, or the JSON form of a nested one, by which the types of its members are known."""


def as_text(value: object, kind: Kind = "", *, exact: bool = False) -> str:
    """A value that is not NULL as people read it. exact: moments with their offset."""
    match value:
        case str():
            return value
        case bytes() | bytearray() | memoryview():
            return bytes(value).hex()
        case datetime():
            return value.isoformat() if exact else value.replace(tzinfo=None).isoformat(sep=" ")
    written = as_json(value, kind)
    return json.loads(written) if written.startswith('"') else written


def as_json(value: object, kind: Kind = "") -> str:
    """A value as JSON, numbers with all their digits. kind: where it is known."""
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
            key_kind, member_kind = _inner(kind, "keyType"), _inner(kind, "valueType")
            names = (as_text(key, key_kind, exact=True) for key in value)
            return _object(names, (as_json(member, member_kind) for member in value.values()))
        case tuple() if hasattr(value, "__fields__"):
            members = zip(value, _field_kinds(kind, len(value)), strict=True)
            return _object(value.__fields__, (as_json(member, of) for member, of in members))
        case list() | tuple():
            member_kind = _inner(kind, "elementType")
            return "[" + ",".join(as_json(member, member_kind) for member in value) + "]"
    return _scalar(value, kind)


def _inner(kind: Kind, which: str) -> Kind:
    found: Kind = kind.get(which, "") if isinstance(kind, Mapping) else ""
    return found


def _field_kinds(kind: Kind, size: int) -> list[Kind]:
    if not isinstance(kind, Mapping) or "fields" not in kind:
        return [""] * size
    return [field["type"] for field in kind["fields"]]


def _scalar(value: object, kind: Kind) -> str:
    match value:
        case date() | time():
            return _quoted(value.isoformat())
        case timedelta():
            return _quoted(_interval(value))
    # A variant's text is JSON already; what else Spark may hand out (user-defined types) has a text of its own.
    return str(value) if kind == "variant" else _quoted(str(value))


def _object(names: Iterable[str], members: Iterable[str]) -> str:
    return "{" + ",".join(f"{_quoted(name)}:{member}" for name, member in zip(names, members, strict=True)) + "}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _float(value: float, kind: Kind) -> str:
    if math.isnan(value):
        return '"NaN"'
    if math.isinf(value):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    return _single_precision(value) if kind == "float" else repr(value)


def _single_precision(value: float) -> str:
    """The shortest digits that are this FLOAT: 0.1, not the 0.10000000149011612 that it is as a double."""
    packed = struct.pack("f", value)
    return next(
        repr(short) for digits in range(6, 18) if struct.pack("f", short := float(f"{value:.{digits}g}")) == packed
    )


def _interval(value: timedelta) -> str:
    """Days and time of day, as in Spark's `INTERVAL '1 02:03:04' DAY TO SECOND`."""
    sign, span = ("-", -value) if value < timedelta() else ("", value)
    minutes, seconds = divmod(span.seconds, 60)
    fraction = f".{span.microseconds:06d}".rstrip("0") if span.microseconds else ""
    return f"{sign}{span.days} {minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}{fraction}"
