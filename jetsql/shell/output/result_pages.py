"""How a result is laid out on a screen.

What has room on the screen is shown whole: a table as it is, else with long texts wrapped, else as a list of its
columns where the texts would become too narrow to read; so is a single row, whatever room it takes. What is longer than
the screen goes to the pager as it is, which scrolls to the side; where there is none, long texts are cut, for then a
row is a line and the eye keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final

from jetsql.output import render
from jetsql.output.layout import NULL, PLAIN, Cell, Layout, Paint, cells, natural_layout, raw_cells
from jetsql.output.render import SAMPLED_ROWS, Format, Row, Rows
from jetsql.output.terminal_text import printable, printable_lines, width
from jetsql.resultset import Column
from jetsql.shell.output.screen import Size

# Below a result stand the line that counts it and the prompt, which has two lines when it has a status bar.
_BELOW: Final = 3
_HEAD: Final = 2
_READABLE: Final = 16
_COLOUR: Final = re.compile("\x1b\\[[0-9;]*m")


@dataclass(frozen=True)
class Look:
    """How results are wanted. null: what stands for NULL. pager: whether there is one."""

    form: Format
    size: Size
    paint: Paint = PLAIN
    null: str = NULL
    pager: bool = False

    @property
    def room(self) -> int:
        """Lines that a result may have to be seen whole."""
        return max(self.size.lines - _BELOW, 1)


@dataclass(frozen=True)
class Page:
    """lines: come as rows are read. paged: they are for the pager."""

    lines: Iterator[str]
    paged: bool = False


def page(result: Rows, look: Look) -> Page:
    """A result as lines; a screenful of it is read at once. Raises whatever reading the rows raises."""
    if not result.columns or look.form not in (Format.TABLE, Format.VERTICAL):
        return _long(map(printable_lines, render.render_lines(result, look.form)), look)
    if look.form is Format.VERTICAL:
        return _long(_records(result.columns, result.rows, look), look)
    looked_at = list(islice(result.rows, look.room - _HEAD + 1))
    if len(looked_at) <= look.room - _HEAD:
        return _whole(result.columns, looked_at, look)
    return _large(result.columns, looked_at, result.rows, look)


def height(lines: Sequence[str], columns: int) -> int:
    """How many lines of a screen these take, which breaks those that are wider."""
    return sum(max(-(-width(_COLOUR.sub("", line)) // columns), 1) for line in lines)


def _long(lines: Iterator[str], look: Look) -> Page:
    first = list(islice(lines, look.room + 1))
    return Page(chain(first, lines), look.pager and height(first, look.size.columns) > look.room)


def _records(columns: Sequence[Column], rows: Iterator[Row], look: Look) -> Iterator[str]:
    for number, row in enumerate(rows, start=1):
        yield from render.vertical_lines(columns, row, number, look.paint, look.null)


def _whole(columns: tuple[Column, ...], rows: list[Row], look: Look) -> Page:
    """A result that has few enough rows to be seen at once, if they are not too wide."""
    if render.is_single_text(columns, rows):
        return _long(render.single_text_lines(columns, rows), look)
    raw = [raw_cells(columns, row, look.null) for row in rows]
    wide = natural_layout(columns, [[_widest_line(cell) for cell in row] for row in raw])
    layout = wide.fit(look.size.columns)
    lines = [*layout.header_lines(look.paint), *(line for row in raw for line in layout.wrap_row(row, look.paint))]
    if _is_readable(layout, wide) and len(lines) <= look.room:
        return Page(iter(lines))
    records = list(_records(columns, iter(rows), look))
    if len(rows) == 1 or height(records, look.size.columns) <= look.room:
        return _long(iter(records), look)
    return _large(columns, rows, iter(()), look)


def _large(columns: tuple[Column, ...], looked_at: list[Row], rows: Iterator[Row], look: Look) -> Page:
    looked_at.extend(islice(rows, SAMPLED_ROWS - len(looked_at)))
    shown = [cells(columns, row, look.null) for row in looked_at]
    wide = natural_layout(columns, shown)
    layout = wide if look.pager else wide.fit(look.size.columns)
    if layout.hidden_columns:
        return Page(_records(columns, chain(looked_at, rows), look))
    later = (cells(columns, row, look.null) for row in rows)
    return Page(_lines(layout, chain(shown, later), look.paint), look.pager)


def _lines(layout: Layout, rows: Iterator[list[Cell]], paint: Paint) -> Iterator[str]:
    yield from layout.header_lines(paint)
    for row in rows:
        yield layout.row_line(row, paint)


def _is_readable(layout: Layout, wide: Layout) -> bool:
    narrowed = [size for size, wanted in zip(layout.sizes, wide.value_sizes, strict=False) if size < wanted]
    return not layout.hidden_columns and all(size >= _READABLE for size in narrowed)


def _widest_line(cell: Cell) -> Cell:
    lines = [printable(line) for line in cell.text.split("\n")]
    return cell._replace(text=max(lines, key=width))
