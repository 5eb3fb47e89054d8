"""The jobs of `.top` from `GET /v1/metrics`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from jetsql.jobs.model.job_counts import JobGroup, group_of

_BARS: Final = "▁▂▃▄▅▆▇█"


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
    lag: int | None = None  # unread rows, see `jobs.store.job_lag`
    state_rows: int | None = None
    state_bytes: int | None = None
    error: str = ""
    lag_seconds: float | None = None  # how long the oldest unread row has waited
    unread_seconds: float | None = None  # since a job that does not run has read its sources

    @property
    def group(self) -> JobGroup:
        return group_of(self.status, bool(self.error))


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
        unread_seconds=metrics["unread_seconds"],
        state_rows=metrics["state_rows"],
        state_bytes=metrics["state_bytes"],
        error=" ".join((metrics["last_error"] or "").split()),
    )


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
