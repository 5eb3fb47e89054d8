"""A SELECT over a stream as a table that grows or changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from threading import Lock
from time import monotonic
from typing import Any, Final

from jetsql.live_rows import LiveMode
from jetsql.notebook.cell_result import SHOWN_ROWS, CellResult
from jetsql.output.layout import Cell, raw_cells
from jetsql.output.live_progress import LiveProgress, mark_changes
from jetsql.resultset import Column

_STATUS_COLUMNS: Final = 200


class LiveTable:
    """The newest rows. One thread adds rows, and another one reads the table."""

    def __init__(self, columns: tuple[Column, ...], mode: LiveMode, most: int) -> None:
        """Create it. most: the number of rows that are kept."""
        self._columns = columns
        self._appends = mode is LiveMode.APPEND
        self._most = most
        self._progress = LiveProgress(monotonic, self._appends, lambda: "Interrupt (■)")
        self._rows: deque[tuple[Any, ...]] = deque(maxlen=most)
        self._pending: list[tuple[Any, ...]] = []
        self._pending_count = 0
        self._marked: tuple[Sequence[Cell], ...] | None = None
        self._lock = Lock()
        self.changes = 0
        """The number of changes so far."""

    def add_row(self, row: tuple[Any, ...]) -> None:
        """Add a row of the current batch."""
        if self._appends:
            with self._lock:
                self._rows.append(row)
                self._progress.rows += 1
                self.changes += 1
            return
        self._pending_count += 1
        if len(self._pending) < self._most:
            self._pending.append(row)

    def end_batch(self) -> None:
        """End the current batch; if the result is replaced with each one, it is the new result."""
        with self._lock:
            if not self._appends:
                before = self._cells() if self._progress.batches else None
                self._rows = deque(self._pending, self._most)
                cells = self._cells()
                self._marked = cells if before is None else mark_changes(before, cells)
                self._progress.rows = self._pending_count
                self._pending, self._pending_count = [], 0
            self._progress.end_batch()
            self.changes += 1

    def result(self, is_final: bool) -> CellResult:
        """Return the table as it is now. is_final: the stream has ended."""
        with self._lock:
            self._progress.is_closed = is_final
            note = self._progress.status_line(_STATUS_COLUMNS)
            cells = self._cells() if self._appends or is_final else self._marked
            is_complete = self._progress.rows <= len(self._rows)
            return CellResult(self._columns, tuple(self._rows), is_complete, note, cells)

    def _cells(self) -> tuple[Sequence[Cell], ...]:
        """Return the rows that are shown: the newest ones, or the first ones of a result that is replaced."""
        rows = list(self._rows)
        shown = rows[-SHOWN_ROWS:] if self._appends else rows[:SHOWN_ROWS]
        return tuple(raw_cells(self._columns, row) for row in shown)
