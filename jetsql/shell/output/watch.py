"""`.watch`: a statement that is run again and again, its rows drawn in the same place.

Only what reads may be watched. An error takes the place of the rows' time, and the statement is tried again: what is
watched may come back. Who is not at a terminal sees the rows once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from time import monotonic
from typing import Final, Protocol

from jetsql.errors import EngineError, JetSQLError, ReportedError
from jetsql.output.layout import NULL, Paint, cells
from jetsql.output.render import Format, Rows, render_lines
from jetsql.output.terminal_text import pad, printable, truncate, width
from jetsql.shell.output.in_place_table import ROWS_KEPT, InPlaceTable, Line, marked
from jetsql.shell.output.screen import Frame, Screen, Size
from jetsql.shell.session.session_state import change

EVERY_SECONDS: Final = 2.0
_LEAST_SECONDS: Final = 0.1
_COUNTED_MOST: Final = 10_000
_LOOK_SECONDS: Final = 0.25
_SECONDS: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s+(.*)", re.DOTALL)


class Keys(Protocol):
    """A `Keyboard`."""

    @property
    def ender(self) -> str: ...

    def quits(self, seconds: float) -> bool: ...


@dataclass(frozen=True)
class Watch:
    """What stands behind `.watch`."""

    text: str
    seconds: float = EVERY_SECONDS


def wish(argument: str) -> Watch:
    """Raises ValueError, in words, for what can't be watched."""
    found = _SECONDS.fullmatch(argument)
    text = (found[2] if found else argument).strip().rstrip(";").rstrip()
    if not text:
        raise ValueError("it takes a statement: .watch [SECONDS] STATEMENT.")
    refused = change(text)
    if refused:
        raise ValueError(f"{refused} may change something, and would at each turn; what reads can be watched.")
    return Watch(text, max(float(found[1]), _LEAST_SECONDS) if found else EVERY_SECONDS)


@dataclass(frozen=True)
class Seen:
    """sheet: of the last time that went well. error: of the last time, empty when it went well."""

    sheet: InPlaceTable | None = None
    rows: tuple[Line, ...] = ()
    error: str = ""
    time: str = ""


def drawn(seen: Seen, wanted: Watch, size: Size, paint: Paint, ender: str) -> Frame:
    """What there is to see: what is watched and when it was seen, the rows, the error. ender: the key that ends it."""
    title = f"every {wanted.seconds:g} s until {ender}: {printable(' '.join(wanted.text.split()))}"
    room = size.columns - width(seen.time) - 1
    head = f"{pad(truncate(title, room), max(room, 0))} {seen.time}"
    foot = [paint.colourize(paint.error, truncate(printable(seen.error), size.columns))] if seen.error else []
    free = Size(size.columns, size.lines - 2 - len(foot))
    rows = seen.sheet.lines(free, paint) if seen.sheet is not None else []
    return Frame([paint.colourize(paint.dim, truncate(head, size.columns)), *rows, *foot])


def watch(run: Callable[[], Rows], wanted: Watch, screen: Screen, keys: Keys, null: str = NULL) -> None:
    """Until q or Ctrl-C, which is KeyboardInterrupt here too: the statement that runs then is for the caller to end.

    run: the statement, once. Raises what `run` raises when nobody is at a terminal, OutputClosed.
    """
    if not screen.moves:
        for line in render_lines(run(), Format.TABLE):
            screen.line(line)
        screen.flush()
        return
    seen = Seen()
    with screen.drawing():
        while True:
            seen = _looked(run, seen, null)
            if _shown_until_next(seen, wanted, screen, keys):
                return


def _looked(run: Callable[[], Rows], before: Seen, null: str) -> Seen:
    now = f"{datetime.now():%H:%M:%S}"
    try:
        result = run()
        kept = [cells(result.columns, row, null) for row in islice(result.rows, ROWS_KEPT)]
        rest = sum(1 for _ in islice(result.rows, _COUNTED_MOST))
    except (ReportedError, JetSQLError) as error:
        return replace(before, error=error_words(error), time=now)
    same = before.sheet is not None and before.sheet.columns == result.columns
    rows = marked(before.rows, kept) if same else tuple(kept)
    return Seen(InPlaceTable(result.columns, rows, len(kept) + rest, rest < _COUNTED_MOST), tuple(kept), "", now)


def loses_session(error: EngineError | ReportedError) -> bool:
    """Whether the session is gone: with its engine, or forgotten by it. The next try takes another."""
    return isinstance(error, EngineError) or error.report.condition == "JETSQL.SESSION_NOT_FOUND"


def error_words(error: ReportedError | JetSQLError) -> str:
    """An error in a line."""
    condition = error.report.condition if isinstance(error, ReportedError) else error.condition
    message = error.report.message if isinstance(error, ReportedError) else error.message
    again = " It is tried again." if isinstance(error, EngineError) else ""
    return f"[{condition}] {' '.join(message.split())}{again}"


def _shown_until_next(seen: Seen, wanted: Watch, screen: Screen, keys: Keys) -> bool:
    """Until it is to be run again, drawn anew when the screen's size changes; whether q was pressed."""
    until = monotonic() + wanted.seconds
    shown: tuple[Size, str] | None = None
    while (rest := until - monotonic()) > 0 or shown is None:
        if shown != (screen.size, keys.ender):
            size, ender = shown = screen.size, keys.ender
            screen.draw(drawn(seen, wanted, size, screen.paint, ender))
        if keys.quits(max(min(rest, _LOOK_SECONDS), 0.0)):
            return True
    return False
