"""A table that is redrawn in place, fits on the screen and marks changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from jetsql.output.layout import Cell, Paint, natural_layout
from jetsql.resultset import Column
from jetsql.shell.output.result_summary import more_text
from jetsql.shell.output.screen import ScreenSize

MAX_ROWS: Final = 500
"""The rows that are kept, more than a screen has lines; the others are only counted."""

TableRow = Sequence[Cell]


@dataclass(frozen=True)
class InPlaceTable:
    """A table that fits on the screen."""

    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]  # the first rows
    count: int  # the number of all rows
    is_exact: bool = True  # False if there are more than `count` rows

    def render(self, size: ScreenSize, paint: Paint) -> list[str]:
        """Return lines that fit into `size`, the free part of the screen."""
        layout = natural_layout(self.columns, self.rows).fit(size.columns)
        room = max(size.lines - 2, 1)
        fits = self.count <= room
        shown = self.rows if fits else self.rows[: max(room - 1, 0)]
        lines = [*layout.header_lines(paint), *(layout.row_line(row, paint) for row in shown)]
        omitted = [] if fits else [self._omitted_text(self.count - len(shown))]
        if layout.hidden_columns:
            omitted.append(more_text(layout.hidden_columns, "column"))
        return [*lines, paint.colourize(paint.dim, f"… {', '.join(omitted)}")][: size.lines] if omitted else lines

    def _omitted_text(self, rest: int) -> str:
        return f"{'' if self.is_exact else 'more than '}{more_text(rest, 'row')}"


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
