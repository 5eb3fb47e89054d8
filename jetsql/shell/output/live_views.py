"""The views of a live result: the tail of appended rows, or a table that each batch replaces.

A view takes rows from the reading thread and renders frames for the drawing thread. It keeps a few hundred rows at any
rate: the tail shows the newest rows of fast streams and counts the others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Final, Protocol

from jetsql.output.layout import PLAIN, Cell, Layout, Paint, add_room, cells, grow_layout, natural_layout
from jetsql.output.live_progress import LiveProgress, TableRow, mark_changes
from jetsql.output.render import Row, vertical_lines
from jetsql.output.result_summary import more_text, row_count
from jetsql.resultset import Column
from jetsql.shell.output.in_place_table import MAX_ROWS, InPlaceTable
from jetsql.shell.output.screen import ScreenFrame, ScreenSize

_MAX_LINES: Final = 100
"""The most rows drawn per frame, to limit the work of the terminal."""
_FRAME_LINES: Final = 3
"""Lines without rows: column names, rule, status."""


def _ctrl_c() -> str:
    return "Ctrl-C"


@dataclass(frozen=True)
class ViewStyle:
    """The style of a live result."""

    paint: Paint = PLAIN
    null: str = "NULL"  # the text for NULL
    vertical: bool = False  # show each row as a list of its columns
    quit_key: Callable[[], str] = _ctrl_c  # the key that ends the view


class LiveView(Protocol):
    """Show a live result."""

    def add_row(self, row: Row) -> None:
        """Add a row of the current batch."""

    def end_batch(self) -> None:
        """End the current batch."""

    def render_frame(self, size: ScreenSize) -> ScreenFrame:
        """Return what to draw now; called on another thread."""

    def close(self) -> None:
        """End the result: the next frame is the last."""


def _dim(line: str, paint: Paint) -> str:
    return paint.colourize(paint.dim, line)


class TailView:
    """The newest rows in lines of a table whose columns only grow.

    The column names are repeated once per screenful, not each time that a column grows.
    """

    def __init__(self, columns: tuple[Column, ...], style: ViewStyle, clock: Callable[[], float]) -> None:
        self._columns = columns
        self._style = style
        self._progress = LiveProgress(clock, True, style.quit_key)
        self._lock = Lock()
        self._pending: deque[tuple[int, Row]] = deque(maxlen=MAX_ROWS)
        self._skipped = 0
        self._drawn_rows = 0
        self._natural: Layout | None = None
        self._header_size: ScreenSize | None = None
        self._lines_below_header = self._hidden_columns = 0

    def add_row(self, row: Row) -> None:
        with self._lock:
            self._progress.rows += 1
            self._pending.append((self._progress.rows, row))

    def end_batch(self) -> None:
        with self._lock:
            self._progress.end_batch()

    def close(self) -> None:
        with self._lock:
            self._progress.is_closed = True

    def render_frame(self, size: ScreenSize) -> ScreenFrame:
        with self._lock:
            numbered = list(self._pending)
            self._pending.clear()
            rows = self._progress.rows
        lines = self._table(numbered, size) if not self._style.vertical else self._records(numbered, size)
        self._drawn_rows = rows
        with self._lock:
            status = self._progress.status_line(size.columns, *self._skipped_text())
        return ScreenFrame([_dim(status, self._style.paint)], lines)

    def _table(self, numbered: list[tuple[int, Row]], size: ScreenSize) -> list[str]:
        style = self._style
        newest = [cells(self._columns, row, style.null) for _, row in numbered[-_MAX_LINES:]]
        gap = self._gap_line(numbered, len(newest))
        if not newest and (self._header_size or not self._progress.is_closed):
            return gap
        layout = self._layout(newest, size)
        lines = [layout.row_line(row, style.paint) for row in newest]
        index = self._header_index(len(gap) + len(lines), size)
        if index is not None:
            lines[index:index] = layout.header_lines(style.paint)
        return [*gap, *lines]

    def _layout(self, newest: list[list[Cell]], size: ScreenSize) -> Layout:
        if self._natural is None:
            self._natural = add_room(natural_layout(self._columns, newest), size.columns)
        else:
            self._natural = grow_layout(self._natural, self._columns, newest)
        layout = self._natural.fit(size.columns)
        if layout.hidden_columns != self._hidden_columns:
            self._hidden_columns, self._header_size = layout.hidden_columns, None
        return layout

    def _header_index(self, more: int, size: ScreenSize) -> int | None:
        """Return the index among `more` lines at which to repeat the column names, or None while they are visible."""
        screenful = max(size.lines - _FRAME_LINES, 1)
        self._lines_below_header += more
        if self._header_size == size and self._lines_below_header <= screenful:
            return None
        index = max(more - screenful, 0) if self._header_size else 0
        self._header_size, self._lines_below_header = size, more - index
        return index

    def _records(self, numbered: list[tuple[int, Row]], size: ScreenSize) -> list[str]:
        newest = numbered[-max(_MAX_LINES // (len(self._columns) + 1), 1) :]
        style = self._style
        lines = [vertical_lines(self._columns, row, number, style.paint, style.null) for number, row in newest]
        return [*self._gap_line(numbered, len(newest)), *(line for each in lines for line in each)]

    def _gap_line(self, numbered: list[tuple[int, Row]], shown: int) -> list[str]:
        """Return a line about the rows that were skipped since the last frame, or no line."""
        skipped = (numbered[-1][0] - shown if numbered else self._drawn_rows) - self._drawn_rows
        if skipped <= 0:
            return []
        self._skipped += skipped
        paint = self._style.paint
        return [paint.colourize(paint.dim, f"… {row_count(skipped)} not shown …")]

    def _skipped_text(self) -> list[str]:
        hidden = self._hidden_columns
        rows = f"{self._skipped:,} not shown" if self._skipped else ""
        return [rows, more_text(hidden, "column") if hidden else ""]


class ReplacedView:
    """The newest complete result, with the changes since the previous one marked."""

    def __init__(self, columns: tuple[Column, ...], style: ViewStyle, clock: Callable[[], float]) -> None:
        self._columns = columns
        self._style = style
        self._progress = LiveProgress(clock, False, style.quit_key)
        self._lock = Lock()
        self._pending: list[list[Cell]] = []
        self._count = 0
        self._table: InPlaceTable | None = None
        self._previous: tuple[TableRow, ...] = ()

    def add_row(self, row: Row) -> None:
        self._count += 1
        if len(self._pending) < MAX_ROWS:
            self._pending.append(cells(self._columns, row, self._style.null))

    def end_batch(self) -> None:
        rows = mark_changes(self._previous, self._pending) if self._table is not None else tuple(self._pending)
        with self._lock:
            self._table = InPlaceTable(self._columns, rows, self._count)
            self._progress.rows = self._count
            self._progress.end_batch()
        self._previous = tuple(self._pending)
        self._pending, self._count = [], 0

    def close(self) -> None:
        with self._lock:
            self._progress.is_closed = True

    def render_frame(self, size: ScreenSize) -> ScreenFrame:
        paint = self._style.paint
        with self._lock:
            table = self._table
            status = self._progress.status_line(size.columns)
        lines = [] if table is None else table.render(ScreenSize(size.columns, size.lines - 2), paint)
        return ScreenFrame([*lines, _dim(status, paint)])
