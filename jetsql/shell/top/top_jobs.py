"""The jobs of `.top` from `GET /v1/metrics`, and numbers in a short form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from jetsql.jobs.model.job import Status

_BARS: Final = "▁▂▃▄▅▆▇█"
_THOUSANDS: Final = ("", "k", "M", "G", "T")
_BYTES: Final = ("B", "KiB", "MiB", "GiB", "TiB")


@dataclass(frozen=True)
class TopJob:
    """A job with its current metrics; None means unknown or not applicable."""

    id: str
    name: str
    status: str
    rate: float | None = None  # rows per second
    rates: tuple[float, ...] = ()  # rows per second of the last minute, the newest last
    batch: int | None = None  # the number of the newest batch
    batch_seconds: float | None = None  # the duration of the newest batch
    lag: int | None = None  # unread input, in the sources' units
    event_lag: float | None = None  # the age of the newest event, in seconds
    state_rows: int | None = None
    state_bytes: int | None = None
    error: str = ""
    lag_seconds: float | None = None  # the age of the oldest unread input

    @property
    def has_ended(self) -> bool:
        return self.status in (Status.FAILED, Status.COMPLETED)


def parse_job(metrics: Mapping[str, Any]) -> TopJob:
    """Parse a job of `GET /v1/metrics`."""
    lag = metrics["lag"]
    return TopJob(
        id=metrics["id"],
        name=metrics["name"],
        status=metrics["status"],
        rate=metrics["rows_per_second"],
        rates=tuple(metrics["rates"]),
        batch=metrics["batch"],
        batch_seconds=metrics["batch_seconds"],
        lag=sum(lag.values()) if lag else None,
        lag_seconds=max(metrics["lag_seconds"].values(), default=None),
        event_lag=metrics["event_time_lag"],
        state_rows=metrics["state_rows"],
        state_bytes=metrics["state_bytes"],
        error=" ".join((metrics["last_error"] or "").split()),
    )


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


def sparkline(rates: Sequence[float], size: int) -> str:
    """Return the newest rates as bars, relative to the highest."""
    shown = _downsample(rates, size)
    highest = max(shown, default=0.0)
    if highest <= 0:
        return _BARS[0] * len(shown)
    return "".join(_BARS[min(round(rate / highest * (len(_BARS) - 1)), len(_BARS) - 1)] for rate in shown)


def _downsample(rates: Sequence[float], size: int) -> list[float]:
    """Return `size` rates at most, each the mean of several."""
    if not rates or size < 1:
        return []
    step = -(-len(rates) // size)
    first = len(rates) % step
    parts = [rates[:first]] if first else []
    parts += [rates[start : start + step] for start in range(first, len(rates), step)]
    return [sum(part) / len(part) for part in parts][-size:]


def _format_scaled(number: float, base: int, units: Sequence[str], gap: str = "") -> str:
    power = 0
    while abs(number) >= base - 0.5 and power < len(units) - 1:
        number, power = number / base, power + 1
    whole = abs(number) >= 9.95 or (power == 0 and number == int(number))
    return f"{number:.0f}{gap}{units[power]}" if whole else f"{number:.1f}{gap}{units[power]}"
