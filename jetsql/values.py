"""One value of a row as text: for people (`as_text`) and as JSON (`as_json`).

Values are those of results, told by their Python class so that nothing of Spark is imported; the column's type decides
only where the class can't. A datetime with an offset is a moment, one without is a reading of a clock (TIMESTAMP_NTZ).
"""

from __future__ import annotations

import base64
import json
import math
import struct
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal


def as_text(value: object, kind: str = "", *, exact: bool = False) -> str:
    """A value that is not NULL as people read it. kind: Spark's type. exact: moments with their offset."""
    match value:
        case str():
            return value
        case bytes() | bytearray() | memoryview():
            return bytes(value).hex()
        case datetime():
            return value.isoformat() if exact else value.replace(tzinfo=None).isoformat(sep=" ")
    written = as_json(value, kind)
    return json.loads(written) if written.startswith('"') else written


def as_json(value: object, kind: str = "") -> str:
    """A value as JSON, numbers with all their digits. kind: Spark's type of the column, where it is known."""
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
            return _object([(as_text(key, exact=True), member) for key, member in value.items()])
        case tuple() if hasattr(value, "__fields__"):
            return _object(list(zip(value.__fields__, value, strict=True)))
        case list() | tuple():
            return "[" + ",".join(as_json(member) for member in value) + "]"
    return _scalar(value, kind)


def _scalar(value: object, kind: str) -> str:
    match value:
        case date() | time():
            return _quoted(value.isoformat())
        case timedelta():
            return _quoted(_interval(value))
    # A variant's text is JSON already; what else Spark may hand out (user-defined types) has a text of its own.
    return str(value) if kind == "variant" else _quoted(str(value))


def _object(members: list[tuple[str, object]]) -> str:
    return "{" + ",".join(f"{_quoted(name)}:{as_json(member)}" for name, member in members) + "}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _float(value: float, kind: str) -> str:
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
