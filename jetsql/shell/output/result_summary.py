"""Summaries of results: how many rows there were and how long they took."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

_LONG_SECONDS: Final = 1.0


class ShowOutcome(Enum):
    """The outcome of showing a result. Unless it is DONE, its statement still runs and must be abandoned."""

    DONE = "done"
    INTERRUPTED = "interrupted"
    ABANDONED = "nobody wanted more"


@dataclass(frozen=True)
class ResultSummary:
    """The size and duration of a result."""

    rows: int
    seconds: float  # from the statement to its last row
    first_row_seconds: float | None = None  # None without rows
    has_columns: bool = True


def summary_line(
    summary: ResultSummary, outcome: ShowOutcome = ShowOutcome.DONE, *, timing: bool = True, where: str = ""
) -> str:
    """Return the line below a result. where: what received the rows, if not the screen."""
    count = row_count(summary.rows) if summary.has_columns else "done"
    if outcome is ShowOutcome.ABANDONED:
        return f"{count} read"
    place = f" to {where}" if where else ""
    stopped = ", interrupted" if outcome is ShowOutcome.INTERRUPTED else ""
    if not timing:
        return f"{count}{place}{stopped}"
    time = f" after {format_duration(summary.seconds)}" if stopped else f" in {format_duration(summary.seconds)}"
    return f"{count}{place}{stopped}{time}{_first_row_text(summary)}"


def row_count(rows: int) -> str:
    """Return a number of rows with its noun."""
    return "1 row" if rows == 1 else f"{rows:,} rows"


def more_text(count: int, noun: str) -> str:
    """Return the number of things for which there is no room. what: the noun."""
    return f"{count:,} more {noun}{'' if count == 1 else 's'}"


def format_duration(seconds: float) -> str:
    """Return a duration for people."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds >= 0.05 else f"{seconds * 1000:.0f} ms"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _first_row_text(summary: ResultSummary) -> str:
    """Return the time to the first row, if it or the time after it was long."""
    if summary.first_row_seconds is None or summary.rows < 2 or summary.seconds < _LONG_SECONDS:
        return ""
    return (
        f", the first after {format_duration(summary.first_row_seconds)}"
        if summary.seconds - summary.first_row_seconds > summary.seconds / 10
        else ""
    )
