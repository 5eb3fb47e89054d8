"""The jobs of `.top` as `GET /v1/metrics` tells them, and numbers as people read them at a glance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

_BARS: Final = "▁▂▃▄▅▆▇█"
_THOUSANDS: Final = ("", "k", "M", "G", "T")
_BYTES: Final = ("B", "KiB", "MiB", "GiB", "TiB")


@dataclass(frozen=True)
class TopJob:
    """A job at one moment; None: not known, or there is no such thing in it.

    rates: rows a second of the last minute, the newest last. lag: what lies behind the newest batch, in the sources'
    units; lag_seconds: how long the oldest of that had waited. event_lag, batch_seconds: seconds.
    """

    id: str
    name: str
    status: str
    rate: float | None = None
    rates: tuple[float, ...] = ()
    batch: int | None = None
    batch_seconds: float | None = None
    lag: int | None = None
    event_lag: float | None = None
    state_rows: int | None = None
    state_bytes: int | None = None
    error: str = ""
    lag_seconds: float | None = None

    @property
    def ended(self) -> bool:
        return self.status in ("FAILED", "COMPLETED")


def top_job(told: Mapping[str, Any]) -> TopJob:
    """A job of `GET /v1/metrics`."""
    lag = told["lag"]
    return TopJob(
        id=told["id"],
        name=told["name"],
        status=told["status"],
        rate=told["rows_per_second"],
        rates=tuple(told["rates"]),
        batch=told["batch"],
        batch_seconds=told["batch_seconds"],
        lag=sum(lag.values()) if lag else None,
        lag_seconds=max(told["lag_seconds"].values(), default=None),
        event_lag=told["event_time_lag"],
        state_rows=told["state_rows"],
        state_bytes=told["state_bytes"],
        error=" ".join((told["last_error"] or "").split()),
    )


def short(number: float | None) -> str:
    """Three digits and a unit: 12, 3.4k, 120k, 5.6M."""
    return "" if number is None else _scaled(number, 1000, _THOUSANDS)


def short_bytes(number: float | None) -> str:
    return "" if number is None else _scaled(number, 1024, _BYTES, " ")


def short_seconds(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.0f} h"


def sparkline(rates: Sequence[float], size: int) -> str:
    """The newest rates as bars, the highest as high as the line; nothing where nothing came."""
    shown = _merged(rates, size)
    highest = max(shown, default=0.0)
    if highest <= 0:
        return _BARS[0] * len(shown)
    return "".join(_BARS[min(round(rate / highest * (len(_BARS) - 1)), len(_BARS) - 1)] for rate in shown)


def _merged(rates: Sequence[float], size: int) -> list[float]:
    """No more than so many: each the mean of as many as it takes."""
    if not rates or size < 1:
        return []
    step = -(-len(rates) // size)
    first = len(rates) % step
    parts = [rates[:first]] if first else []
    parts += [rates[start : start + step] for start in range(first, len(rates), step)]
    return [sum(part) / len(part) for part in parts][-size:]


def _scaled(number: float, base: int, units: Sequence[str], gap: str = "") -> str:
    power = 0
    while abs(number) >= base - 0.5 and power < len(units) - 1:
        number, power = number / base, power + 1
    whole = abs(number) >= 9.95 or (power == 0 and number == int(number))
    return f"{number:.0f}{gap}{units[power]}" if whole else f"{number:.1f}{gap}{units[power]}"
