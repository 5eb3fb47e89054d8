"""A table that is drawn again and again in the same place: no higher than the screen, what changed marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from jetsql.output.layout import Cell, Paint, natural_layout
from jetsql.resultset import Column
from jetsql.shell.output.result_summary import more_words
from jetsql.shell.output.screen import Size

ROWS_KEPT: Final = 500
"""More rows than any screen has lines; those beyond are only counted."""

Line = Sequence[Cell]


@dataclass(frozen=True)
class InPlaceTable:
    """rows: the first ones. count: how many there are in all. counted: whether there are no more than these."""

    columns: tuple[Column, ...]
    rows: tuple[Line, ...]
    count: int
    counted: bool = True

    def lines(self, size: Size, paint: Paint) -> list[str]:
        """No more than the screen has, none wider. size: of the screen, or the part of it that is free."""
        layout = natural_layout(self.columns, self.rows).fit(size.columns)
        room = max(size.lines - 2, 1)
        fits = self.count <= room
        shown = self.rows if fits else self.rows[: max(room - 1, 0)]
        lines = [*layout.header_lines(paint), *(layout.row_line(row, paint) for row in shown)]
        rest = [] if fits else [self._rest_words(self.count - len(shown))]
        if layout.hidden_columns:
            rest.append(more_words(layout.hidden_columns, "column"))
        return [*lines, paint.colourize(paint.dim, f"… {', '.join(rest)}")][: size.lines] if rest else lines

    def _rest_words(self, rest: int) -> str:
        return f"{'' if self.counted else 'more than '}{more_words(rest, 'row')}"


def marked(before: Sequence[Line], after: Sequence[Line]) -> tuple[Line, ...]:
    """The rows of `after` with those cells marked that were others before.

    Which row was which is told by the first columns that tell all rows apart, as keys stand first in what people
    write. Where none do, a row is new unless there was the same.
    """
    keys = _key_columns(before, after)
    known = {_key(row, keys): row for row in before}
    return tuple(_compared(known.get(_key(row, keys)), row) for row in after)


def _key_columns(before: Sequence[Line], after: Sequence[Line]) -> int:
    columns = len(after[0]) if after else 0
    for count in range(1, columns):
        if all(len({_key(row, count) for row in rows}) == len(rows) for rows in (before, after)):
            return count
    return columns


def _key(row: Line, columns: int) -> tuple[str, ...]:
    return tuple(cell.text for cell in row[:columns])


def _compared(before: Line | None, row: Line) -> Line:
    if before is None:
        return [cell._replace(changed=True) for cell in row]
    return [cell._replace(changed=cell.text != old.text) for cell, old in zip(row, before, strict=True)]
