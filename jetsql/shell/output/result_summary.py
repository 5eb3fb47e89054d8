"""How many rows there were and how long they took, in words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

_LONG_SECONDS: Final = 1.0


class Ended(Enum):
    """How showing a result ended. Unless it is DONE, its statement still runs: leave the answer."""

    DONE = "done"
    INTERRUPTED = "interrupted"
    LEFT = "nobody wanted more"


@dataclass(frozen=True)
class Tally:
    """seconds: from the statement to its last row; first: to its first, None when there was none. columns: whether it
    has any."""

    rows: int
    seconds: float
    first: float | None = None
    columns: bool = True


def tally_words(tally: Tally, ended: Ended = Ended.DONE, *, timing: bool = True, where: str = "") -> str:
    """The line below a result. where: what took the rows, when that is not the screen."""
    what = counted_words(tally.rows) if tally.columns else "done"
    if ended is Ended.LEFT:
        return f"{what} read"
    place = f" to {where}" if where else ""
    stopped = ", interrupted" if ended is Ended.INTERRUPTED else ""
    if not timing:
        return f"{what}{place}{stopped}"
    took = f" after {duration(tally.seconds)}" if stopped else f" in {duration(tally.seconds)}"
    return f"{what}{place}{stopped}{took}{_first_words(tally)}"


def counted_words(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows:,} rows"


def more_words(count: int, what: str) -> str:
    """What there is no room for. what: one of them."""
    return f"{count:,} more {what}{'' if count == 1 else 's'}"


def duration(seconds: float) -> str:
    """Of something that somebody waited for."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds >= 0.05 else f"{seconds * 1000:.0f} ms"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _first_words(tally: Tally) -> str:
    """Told when most of a long time was waited for the first row, or most of it came after."""
    if tally.first is None or tally.rows < 2 or tally.seconds < _LONG_SECONDS:
        return ""
    return f", the first after {duration(tally.first)}" if tally.seconds - tally.first > tally.seconds / 10 else ""
