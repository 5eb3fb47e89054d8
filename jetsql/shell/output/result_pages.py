"""Lay out a result on a screen.

A result that fits is shown completely: as a plain table, otherwise with long texts wrapped, otherwise as a list of
columns if the texts would become too narrow. A single row is always shown completely. A longer result goes to the pager
unchanged, because the pager scrolls sideways. Without a pager long texts are cut, so each row stays on a line.
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
from jetsql.shell.output.screen import ScreenSize

# The lines below a result: its summary, the prompt and the status bar.
_LINES_BELOW: Final = 3
_HEADER_LINES: Final = 2
_MIN_READABLE: Final = 16
_COLOUR: Final = re.compile("\x1b\\[[0-9;]*m")


@dataclass(frozen=True)
class PageOptions:
    """The options for the layout of results."""

    form: Format
    size: ScreenSize
    paint: Paint = PLAIN
    null: str = NULL  # the text for NULL
    has_pager: bool = False

    @property
    def max_lines(self) -> int:
        """Return the most lines that are shown without a pager."""
        return max(self.size.lines - _LINES_BELOW, 1)


@dataclass(frozen=True)
class Page:
    """A result as lines."""

    lines: Iterator[str]  # rendered as rows are read
    needs_pager: bool = False


def layout_page(result: Rows, options: PageOptions) -> Page:
    """Return a result as lines, with a screenful read in advance. Raises what reading the rows raises."""
    if not result.columns or options.form not in (Format.TABLE, Format.VERTICAL):
        return _long_page(map(printable_lines, render.render_lines(result, options.form)), options)
    if options.form is Format.VERTICAL:
        return _long_page(_records(result.columns, result.rows, options), options)
    sampled = list(islice(result.rows, options.max_lines - _HEADER_LINES + 1))
    if len(sampled) <= options.max_lines - _HEADER_LINES:
        return _short_page(result.columns, sampled, options)
    return _table_page(result.columns, sampled, result.rows, options)


def screen_height(lines: Sequence[str], columns: int) -> int:
    """Return the number of screen lines that the lines need; the screen wraps lines wider than `columns`."""
    return sum(max(-(-width(_COLOUR.sub("", line)) // columns), 1) for line in lines)


def _long_page(lines: Iterator[str], options: PageOptions) -> Page:
    first = list(islice(lines, options.max_lines + 1))
    return Page(
        chain(first, lines), options.has_pager and screen_height(first, options.size.columns) > options.max_lines
    )


def _records(columns: Sequence[Column], rows: Iterator[Row], options: PageOptions) -> Iterator[str]:
    for number, row in enumerate(rows, start=1):
        yield from render.vertical_lines(columns, row, number, options.paint, options.null)


def _short_page(columns: tuple[Column, ...], rows: list[Row], options: PageOptions) -> Page:
    """Return a page of few rows, as a table if they are not too wide."""
    if render.is_single_text(columns, rows):
        return _long_page(render.single_text_lines(columns, rows), options)
    raw = [raw_cells(columns, row, options.null) for row in rows]
    natural = natural_layout(columns, [[_widest_line(cell) for cell in row] for row in raw])
    layout = natural.fit(options.size.columns)
    lines = [
        *layout.header_lines(options.paint),
        *(line for row in raw for line in layout.wrap_row(row, options.paint)),
    ]
    if _is_readable(layout, natural) and len(lines) <= options.max_lines:
        return Page(iter(lines))
    records = list(_records(columns, iter(rows), options))
    if len(rows) == 1 or screen_height(records, options.size.columns) <= options.max_lines:
        return _long_page(iter(records), options)
    return _table_page(columns, rows, iter(()), options)


def _table_page(columns: tuple[Column, ...], sampled: list[Row], rows: Iterator[Row], options: PageOptions) -> Page:
    sampled.extend(islice(rows, SAMPLED_ROWS - len(sampled)))
    rows_shown = [cells(columns, row, options.null) for row in sampled]
    natural = natural_layout(columns, rows_shown)
    layout = natural if options.has_pager else natural.fit(options.size.columns)
    if layout.hidden_columns:
        return Page(_records(columns, chain(sampled, rows), options))
    later = (cells(columns, row, options.null) for row in rows)
    return Page(_table_lines(layout, chain(rows_shown, later), options.paint), options.has_pager)


def _table_lines(layout: Layout, rows: Iterator[list[Cell]], paint: Paint) -> Iterator[str]:
    yield from layout.header_lines(paint)
    for row in rows:
        yield layout.row_line(row, paint)


def _is_readable(layout: Layout, natural: Layout) -> bool:
    cut_sizes = [size for size, wanted in zip(layout.sizes, natural.value_sizes, strict=False) if size < wanted]
    return not layout.hidden_columns and all(size >= _MIN_READABLE for size in cut_sizes)


def _widest_line(cell: Cell) -> Cell:
    lines = [printable(line) for line in cell.text.split("\n")]
    return cell._replace(text=max(lines, key=width))
