"""Numbers, sizes and durations in a short form, for displays with little space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_THOUSANDS: Final = ("", "k", "M", "G", "T")
_BYTES: Final = ("B", "KiB", "MiB", "GiB", "TiB")


def format_count(number: float | None) -> str:
    """Return a number with at most three digits and a unit: 12, 3.4k, 120k, 5.6M."""
    return "" if number is None else _format_scaled(number, 1000, _THOUSANDS)


def format_bytes(number: float | None) -> str:
    return "" if number is None else _format_scaled(number, 1024, _BYTES, " ")


def format_seconds(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.0f} h"


def _format_scaled(number: float, base: int, units: Sequence[str], gap: str = "") -> str:
    power = 0
    while abs(number) >= base - 0.5 and power < len(units) - 1:
        number, power = number / base, power + 1
    whole = abs(number) >= 9.95 or (power == 0 and number == int(number))
    return f"{number:.0f}{gap}{units[power]}" if whole else f"{number:.1f}{gap}{units[power]}"
