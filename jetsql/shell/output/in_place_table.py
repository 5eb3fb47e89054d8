"""A table that is redrawn in place and fits on the screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from jetsql.output.layout import Paint, natural_layout
from jetsql.output.live_progress import TableRow
from jetsql.output.result_summary import more_text
from jetsql.resultset import Column
from jetsql.shell.output.screen import ScreenSize

MAX_ROWS: Final = 500
"""The rows that are kept, more than a screen has lines; the others are only counted."""


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
