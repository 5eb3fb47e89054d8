"""Summaries of results: the number of rows and the time that they took."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from jetsql.output.counts import counted

_LONG_SECONDS: Final = 1.0


class ShowOutcome(Enum):
    """The outcome of showing a result. Unless it is DONE, the statement still runs and must be abandoned."""

    DONE = "done"
    INTERRUPTED = "interrupted"
    ABANDONED = "abandoned"


@dataclass(frozen=True)
class ResultSummary:
    """The size and duration of a result."""

    rows: int
    seconds: float  # from sending the statement to its last row
    first_row_seconds: float | None = None  # None without rows
    has_columns: bool = True


def summary_line(
    summary: ResultSummary, outcome: ShowOutcome = ShowOutcome.DONE, *, timing: bool = True, where: str = ""
) -> str:
    """Return the line below a result. where: the target of the rows, if not the screen."""
    count = row_count(summary.rows) if summary.has_columns else "done"
    if outcome is ShowOutcome.ABANDONED:
        return f"{count} read"
    target = f" to {where}" if where else ""
    stopped = ", interrupted" if outcome is ShowOutcome.INTERRUPTED else ""
    if not timing:
        return f"{count}{target}{stopped}"
    time = f" after {format_duration(summary.seconds)}" if stopped else f" in {format_duration(summary.seconds)}"
    return f"{count}{target}{stopped}{time}{_first_row_text(summary)}"


def row_count(rows: int) -> str:
    """Return a number of rows with its noun."""
    return counted(rows, "row")


def more_text(count: int, noun: str) -> str:
    """Return the number of omitted rows or columns with its noun: `3 more rows`."""
    return counted(count, f"more {noun}")


def format_duration(seconds: float) -> str:
    """Return a duration as text: `40 ms`, `1.5 s`, `2 min 3 s`, `1 h 4 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds >= 0.05 else f"{seconds * 1000:.0f} ms"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _first_row_text(summary: ResultSummary) -> str:
    """Return the time to the first row if the result took long and most of it came later, otherwise an empty text."""
    if summary.first_row_seconds is None or summary.rows < 2 or summary.seconds < _LONG_SECONDS:
        return ""
    return (
        f", the first after {format_duration(summary.first_row_seconds)}"
        if summary.seconds - summary.first_row_seconds > summary.seconds / 10
        else ""
    )
