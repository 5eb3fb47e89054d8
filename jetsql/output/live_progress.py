"""The progress of a live result, and the changes between two of its tables."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from jetsql.output.layout import Cell
from jetsql.output.result_summary import format_duration, row_count
from jetsql.output.terminal_text import truncate

TableRow = Sequence[Cell]

_RATE_SECONDS: Final = 5.0


class LiveProgress:
    """The progress of a live result: batches, rows and their rate.

    clock: returns seconds with any origin. appends: count the rows of all batches, otherwise of the newest batch.
    """

    def __init__(self, clock: Callable[[], float], appends: bool, quit_key: Callable[[], str]) -> None:
        self.appends = appends
        self._quit_key = quit_key
        self._clock = clock
        self._started = clock()
        self._recent: deque[tuple[float, int]] = deque([(self._started, 0)])
        self.batches = 0
        self.rows = 0
        self.is_closed = False

    def end_batch(self) -> None:
        """Count the batch."""
        self.batches += 1
        self._recent.append((self._clock(), self.rows))

    @property
    def seconds(self) -> float:
        """Return the seconds since the start."""
        return self._clock() - self._started

    def rows_per_second(self) -> float:
        """Return the rate of the last seconds."""
        now = self._clock()
        while len(self._recent) > 1 and now - self._recent[1][0] > _RATE_SECONDS:
            self._recent.popleft()
        since, rows = self._recent[0]
        return (self.rows - rows) / max(now - since, 0.5)

    def status_line(self, columns: int, *more: str) -> str:
        """Return the status line in `columns` cells, cut before the hint about the key that ends the view.

        more: further parts, may be empty.
        """
        status = self._status_text(*more)
        key_text = "" if self.is_closed else f" · {self._quit_key()} ends"
        return (
            truncate(status, columns - len(key_text)) + key_text
            if columns > len(key_text)
            else truncate(status, columns)
        )

    def _status_text(self, *more: str) -> str:
        extra = [each for each in more if each]
        if self.is_closed:
            batches = "1 batch" if self.batches == 1 else f"{self.batches:,} batches"
            preposition = "in" if self.appends else "after"
            return ", ".join([f"{row_count(self.rows)} {preposition} {batches}", format_duration(self.seconds), *extra])
        if not self.batches and not self.rows:
            return f"waiting for the first rows, {self.seconds:.0f} s"
        pace = [f"{self.rows_per_second():,.0f} rows/s"] if self.appends else []
        parts = [f"batch {max(self.batches, 1):,}", row_count(self.rows), *pace, f"{self.seconds:.0f} s"]
        return " · ".join([*parts, *extra])


def mark_changes(before: Sequence[TableRow], after: Sequence[TableRow]) -> tuple[TableRow, ...]:
    """Return the rows of `after` with the cells marked that differ from `before`.

    Rows are matched by the first columns that are unique in both, because keys usually come first. If there are none, a
    row is new unless an equal row existed.
    """
    keys = _key_columns(before, after)
    known = {_key(row, keys): row for row in before}
    return tuple(_mark_row(known.get(_key(row, keys)), row) for row in after)


def _key_columns(before: Sequence[TableRow], after: Sequence[TableRow]) -> int:
    columns = len(after[0]) if after else 0
    for count in range(1, columns):
        if all(len({_key(row, count) for row in rows}) == len(rows) for rows in (before, after)):
            return count
    return columns


def _key(row: TableRow, columns: int) -> tuple[str, ...]:
    return tuple(cell.text for cell in row[:columns])


def _mark_row(before: TableRow | None, row: TableRow) -> TableRow:
    if before is None:
        return [cell._replace(changed=True) for cell in row]
    return [cell._replace(changed=cell.text != old.text) for cell, old in zip(row, before, strict=True)]
