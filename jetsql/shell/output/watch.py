"""`.watch`: repeat a statement and draw its rows in the same place.

Only statements that read may be watched. An error is shown below the last rows, and the statement is retried. Without a
terminal the rows are shown once.
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
from jetsql.language.statement_effects import writing_word
from jetsql.output.layout import NULL, Paint, cells
from jetsql.output.live_progress import TableRow, mark_changes
from jetsql.output.render import Format, Rows, render_lines
from jetsql.output.terminal_text import pad, printable, truncate, width
from jetsql.shell.output.in_place_table import MAX_ROWS, InPlaceTable
from jetsql.shell.output.screen import Screen, ScreenFrame, ScreenSize

DEFAULT_SECONDS: Final = 2.0
_MIN_SECONDS: Final = 0.1
_MAX_COUNTED: Final = 10_000
_POLL_SECONDS: Final = 0.25
_SECONDS: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s+(.*)", re.DOTALL)


class QuitKeys(Protocol):
    """The keys that end `.watch`, as `Keyboard` provides them."""

    @property
    def quit_key(self) -> str: ...

    def poll_quit(self, seconds: float) -> bool: ...


@dataclass(frozen=True)
class WatchRequest:
    """The arguments of `.watch`."""

    text: str
    seconds: float = DEFAULT_SECONDS


def parse_watch(argument: str) -> WatchRequest:
    """Parse the argument of `.watch`. Raises ValueError with the message for the user."""
    match = _SECONDS.fullmatch(argument)
    text = (match[2] if match else argument).strip().rstrip(";").rstrip()
    if not text:
        raise ValueError("it needs a statement: .watch [SECONDS] STATEMENT.")
    word = writing_word(text)
    if word:
        raise ValueError(f"{word} is not read-only. Only statements that read can be repeated.")
    return WatchRequest(text, max(float(match[1]), _MIN_SECONDS) if match else DEFAULT_SECONDS)


@dataclass(frozen=True)
class WatchSnapshot:
    """The last rows and the last error of a watched statement."""

    table: InPlaceTable | None = None  # of the last success
    rows: tuple[TableRow, ...] = ()
    error: str = ""  # of the last run; empty if it succeeded
    time: str = ""  # of the last run


def render_watch(
    snapshot: WatchSnapshot, request: WatchRequest, size: ScreenSize, paint: Paint, quit_key: str
) -> ScreenFrame:
    """Return the frame with the statement, the time, the rows and the error. quit_key: the key that ends `.watch`."""
    title = f"every {request.seconds:g} s until {quit_key}: {printable(' '.join(request.text.split()))}"
    room = size.columns - width(snapshot.time) - 1
    head = f"{pad(truncate(title, room), max(room, 0))} {snapshot.time}"
    foot = [paint.colourize(paint.error, truncate(printable(snapshot.error), size.columns))] if snapshot.error else []
    free = ScreenSize(size.columns, size.lines - 2 - len(foot))
    rows = snapshot.table.render(free, paint) if snapshot.table is not None else []
    return ScreenFrame([paint.colourize(paint.dim, truncate(head, size.columns)), *rows, *foot])


def watch(run: Callable[[], Rows], request: WatchRequest, screen: Screen, keys: QuitKeys, null: str = NULL) -> None:
    """Repeat the statement until q, or Ctrl-C, which raises KeyboardInterrupt; the caller ends the running statement.

    run: runs the statement once. Raises OutputClosed and, without a terminal, what `run` raises.
    """
    if not screen.can_redraw:
        for line in render_lines(run(), Format.TABLE):
            screen.write_line(line)
        screen.flush()
        return
    snapshot = WatchSnapshot()
    with screen.drawing():
        while True:
            snapshot = _run_once(run, snapshot, null)
            if _show_until_next(snapshot, request, screen, keys):
                return


def _run_once(run: Callable[[], Rows], previous: WatchSnapshot, null: str) -> WatchSnapshot:
    now = f"{datetime.now():%H:%M:%S}"
    try:
        result = run()
        rows_now = [cells(result.columns, row, null) for row in islice(result.rows, MAX_ROWS)]
        uncounted = sum(1 for _ in islice(result.rows, _MAX_COUNTED))
    except (ReportedError, JetSQLError) as error:
        return replace(previous, error=error_line(error), time=now)
    same = previous.table is not None and previous.table.columns == result.columns
    rows = mark_changes(previous.rows, rows_now) if same else tuple(rows_now)
    return WatchSnapshot(
        InPlaceTable(result.columns, rows, len(rows_now) + uncounted, uncounted < _MAX_COUNTED),
        tuple(rows_now),
        "",
        now,
    )


def is_session_lost(error: EngineError | ReportedError) -> bool:
    """Return whether the session is gone, with or without its engine; the next attempt opens a new session."""
    return isinstance(error, EngineError) or error.report.condition == "JETSQL.SESSION_NOT_FOUND"


def error_line(error: ReportedError | JetSQLError) -> str:
    """Return an error on one line."""
    condition = error.report.condition if isinstance(error, ReportedError) else error.condition
    message = error.report.message if isinstance(error, ReportedError) else error.message
    retrying = " Retrying." if isinstance(error, EngineError) else ""
    return f"[{condition}] {' '.join(message.split())}{retrying}"


def _show_until_next(snapshot: WatchSnapshot, request: WatchRequest, screen: Screen, keys: QuitKeys) -> bool:
    """Show the snapshot until the next run, redrawn if the screen's size changes. Return whether q was pressed."""
    until = monotonic() + request.seconds
    drawn: tuple[ScreenSize, str] | None = None
    while (remaining := until - monotonic()) > 0 or drawn is None:
        if drawn != (screen.size, keys.quit_key):
            size, quit_key = drawn = screen.size, keys.quit_key
            screen.draw(render_watch(snapshot, request, size, screen.paint, quit_key))
        if keys.poll_quit(max(min(remaining, _POLL_SECONDS), 0.0)):
            return True
    return False
