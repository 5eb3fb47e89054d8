"""What is seen of a live result: the tail of rows that are appended, or the table that is replaced.

A view takes rows from the thread that reads them and gives frames to the one that draws; it keeps some hundred rows,
however many come. Nobody can read thousands of lines a second: the tail shows the newest and counts the others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Final, Protocol

from jetsql.output.layout import PLAIN, Cell, Layout, Paint, add_room, cells, grow_layout, natural_layout
from jetsql.output.render import Row, vertical_lines
from jetsql.output.terminal_text import truncate
from jetsql.resultset import Column
from jetsql.shell.output.in_place_table import ROWS_KEPT, InPlaceTable, Line, marked
from jetsql.shell.output.result_summary import counted_words, duration, more_words
from jetsql.shell.output.screen import Frame, Size

_PACE_SECONDS: Final = 5.0
_LINES_MOST: Final = 100
"""In a frame: what scrolls by can be scrolled back to, but a terminal should not have more to do than this."""
_AROUND: Final = 3
"""Lines that are no rows: the names, the rule, the status."""


def _ctrl_c() -> str:
    return "Ctrl-C"


@dataclass(frozen=True)
class Style:
    """null: what stands for NULL. vertical: each row as a list of its columns. ender: the key that ends the view."""

    paint: Paint = PLAIN
    null: str = "NULL"
    vertical: bool = False
    ender: Callable[[], str] = _ctrl_c


class View(Protocol):
    def take(self, row: Row) -> None:
        """A row of the batch that is coming."""

    def end_batch(self) -> None:
        """All of its rows have come."""

    def frame(self, size: Size) -> Frame:
        """What there is to see now; on another thread."""

    def close(self) -> None:
        """No more comes: the next frame is the last."""


class Course:
    """How a live result goes: batches, rows, and how fast they come. clock: seconds, of which only spans count.
    appends: whether the rows of all batches are counted, else those of the newest. ender: the key that ends it."""

    def __init__(self, clock: Callable[[], float], appends: bool, ender: Callable[[], str] = _ctrl_c) -> None:
        self.appends = appends
        self._ender = ender
        self._clock = clock
        self._began = clock()
        self._lately: deque[tuple[float, int]] = deque([(self._began, 0)])
        self.batches = 0
        self.rows = 0
        self.closed = False

    def end_batch(self) -> None:
        self.batches += 1
        self._lately.append((self._clock(), self.rows))

    @property
    def seconds(self) -> float:
        return self._clock() - self._began

    def pace(self) -> float:
        """Rows a second of the last seconds."""
        now = self._clock()
        while len(self._lately) > 1 and now - self._lately[1][0] > _PACE_SECONDS:
            self._lately.popleft()
        since, rows = self._lately[0]
        return (self.rows - rows) / max(now - since, 0.5)

    def line(self, columns: int, *more: str) -> str:
        """The line below what is shown, in so many cells; how it is ended is what is left out last. more: that is to be
        told, empty where there is nothing."""
        words = self._words(*more)
        ends = "" if self.closed else f" · {self._ender()} ends"
        return truncate(words, columns - len(ends)) + ends if columns > len(ends) else truncate(words, columns)

    def _words(self, *more: str) -> str:
        told = [each for each in more if each]
        if self.closed:
            batches = "1 batch" if self.batches == 1 else f"{self.batches:,} batches"
            how = "in" if self.appends else "after"
            return ", ".join([f"{counted_words(self.rows)} {how} {batches}", duration(self.seconds), *told])
        if not self.batches and not self.rows:
            return f"waiting for the first rows, {self.seconds:.0f} s"
        pace = [f"{self.pace():,.0f} rows/s"] if self.appends else []
        parts = [f"batch {max(self.batches, 1):,}", counted_words(self.rows), *pace, f"{self.seconds:.0f} s"]
        return " · ".join([*parts, *told])


def _dim(line: str, paint: Paint) -> str:
    return paint.colourize(paint.dim, line)


class Tail:
    """Rows as they are appended: the newest in lines of a table whose columns only ever grow. Their names come again
    with each screenful, and not with each growth: what runs by must not be restless as well."""

    def __init__(self, columns: tuple[Column, ...], style: Style, clock: Callable[[], float]) -> None:
        self._columns = columns
        self._style = style
        self._course = Course(clock, True, style.ender)
        self._lock = Lock()
        self._coming: deque[tuple[int, Row]] = deque(maxlen=ROWS_KEPT)
        self._skipped = 0
        self._drawn = 0
        self._natural: Layout | None = None
        self._headed: Size | None = None
        self._below_head = self._hidden = 0

    def take(self, row: Row) -> None:
        with self._lock:
            self._course.rows += 1
            self._coming.append((self._course.rows, row))

    def end_batch(self) -> None:
        with self._lock:
            self._course.end_batch()

    def close(self) -> None:
        with self._lock:
            self._course.closed = True

    def frame(self, size: Size) -> Frame:
        with self._lock:
            numbered = list(self._coming)
            self._coming.clear()
            rows = self._course.rows
        lines = self._table(numbered, size) if not self._style.vertical else self._records(numbered, size)
        self._drawn = rows
        with self._lock:
            status = self._course.line(size.columns, *self._skipped_words())
        return Frame([_dim(status, self._style.paint)], lines)

    def _table(self, numbered: list[tuple[int, Row]], size: Size) -> list[str]:
        style = self._style
        newest = [cells(self._columns, row, style.null) for _, row in numbered[-_LINES_MOST:]]
        gap = self._gap(numbered, len(newest))
        if not newest and (self._headed or not self._course.closed):
            return gap
        layout = self._laid_out(newest, size)
        lines = [layout.row_line(row, style.paint) for row in newest]
        at = self._head_at(len(gap) + len(lines), size)
        if at is not None:
            lines[at:at] = layout.header_lines(style.paint)
        return [*gap, *lines]

    def _laid_out(self, newest: list[list[Cell]], size: Size) -> Layout:
        if self._natural is None:
            self._natural = add_room(natural_layout(self._columns, newest), size.columns)
        else:
            self._natural = grow_layout(self._natural, self._columns, newest)
        layout = self._natural.fit(size.columns)
        if layout.hidden_columns != self._hidden:
            self._hidden, self._headed = layout.hidden_columns, None
        return layout

    def _head_at(self, more: int, size: Size) -> int | None:
        """Before which of so many more lines the columns' names come, where else the screen would not show them."""
        screenful = max(size.lines - _AROUND, 1)
        self._below_head += more
        if self._headed == size and self._below_head <= screenful:
            return None
        at = max(more - screenful, 0) if self._headed else 0
        self._headed, self._below_head = size, more - at
        return at

    def _records(self, numbered: list[tuple[int, Row]], size: Size) -> list[str]:
        newest = numbered[-max(_LINES_MOST // (len(self._columns) + 1), 1) :]
        style = self._style
        lines = [vertical_lines(self._columns, row, number, style.paint, style.null) for number, row in newest]
        return [*self._gap(numbered, len(newest)), *(line for each in lines for line in each)]

    def _gap(self, numbered: list[tuple[int, Row]], shown: int) -> list[str]:
        """A line for the rows between the last one shown and the first that is shown now."""
        skipped = (numbered[-1][0] - shown if numbered else self._drawn) - self._drawn
        if skipped <= 0:
            return []
        self._skipped += skipped
        paint = self._style.paint
        return [paint.colourize(paint.dim, f"… {counted_words(skipped)} not shown …")]

    def _skipped_words(self) -> list[str]:
        hidden = self._hidden
        rows = f"{self._skipped:,} not shown" if self._skipped else ""
        return [rows, more_words(hidden, "column") if hidden else ""]


class Replaced:
    """The newest whole result; what changed since the one before is marked."""

    def __init__(self, columns: tuple[Column, ...], style: Style, clock: Callable[[], float]) -> None:
        self._columns = columns
        self._style = style
        self._course = Course(clock, False, style.ender)
        self._lock = Lock()
        self._coming: list[list[Cell]] = []
        self._count = 0
        self._sheet: InPlaceTable | None = None
        self._seen: tuple[Line, ...] = ()

    def take(self, row: Row) -> None:
        self._count += 1
        if len(self._coming) < ROWS_KEPT:
            self._coming.append(cells(self._columns, row, self._style.null))

    def end_batch(self) -> None:
        rows = marked(self._seen, self._coming) if self._sheet is not None else tuple(self._coming)
        with self._lock:
            self._sheet = InPlaceTable(self._columns, rows, self._count)
            self._course.rows = self._count
            self._course.end_batch()
        self._seen = tuple(self._coming)
        self._coming, self._count = [], 0

    def close(self) -> None:
        with self._lock:
            self._course.closed = True

    def frame(self, size: Size) -> Frame:
        paint = self._style.paint
        with self._lock:
            sheet = self._sheet
            status = self._course.line(size.columns)
        lines = [] if sheet is None else sheet.lines(Size(size.columns, size.lines - 2), paint)
        return Frame([*lines, _dim(status, paint)])
