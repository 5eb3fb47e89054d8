"""Column widths of a table, and the columns that are cut, wrapped or omitted on a narrow screen.

Numbers, timestamps and booleans are never cut, because a part of them would be wrong; only their headers are. Headers
that are wider than their values are shortened first. If that is not enough, the text columns share the remaining width:
the longest are shortened first, none below ten cells. Columns that still do not fit are omitted and counted
(`hidden_columns`); the caller may then choose another form.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Final, NamedTuple

from jetsql.output.terminal_text import pad, printable, truncate, width, wrap
from jetsql.output.values import as_text
from jetsql.resultset import Column

NUMERIC_TYPES: Final = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_UNCUT_TYPES: Final = (*NUMERIC_TYPES, "boolean", "date", "timestamp", "timestamp_ntz", "time")
_MIN_TEXT: Final = 10
_MIN_HEADER: Final = 6
_MIN_GROWTH: Final = 3
_SEPARATOR_SIZE: Final = 3

NULL: Final = "NULL"
"""The default text for NULL."""


class Cell(NamedTuple):
    """A value as a table shows it."""

    text: str  # escaped; may contain line breaks for `Layout.wrap_row`
    null: bool = False
    changed: bool = False  # since the previous drawing


@dataclass(frozen=True)
class Paint:
    """The escape sequences of a table's parts; all empty without colours."""

    header: str = ""
    rule: str = ""
    null: str = ""
    changed: str = ""  # a cell whose value has changed
    dim: str = ""
    error: str = ""
    reset: str = ""

    def colour_for(self, cell: Cell) -> str:
        """Return the colour of a cell."""
        return self.null if cell.null else self.changed if cell.changed else ""

    def colourize(self, colour: str, text: str) -> str:
        """Return the text in a colour."""
        return f"{colour}{text}{self.reset}" if colour and text else text


PLAIN: Final = Paint()
COLOURS: Final = Paint(
    header="\x1b[1m",
    rule="\x1b[2m",
    null="\x1b[2;3m",
    changed="\x1b[1;33m",
    dim="\x1b[2m",
    error="\x1b[31m",
    reset="\x1b[0m",
)


def raw_cell(value: object, column: Column, null: str = NULL) -> Cell:
    """Return a value as a cell that keeps the line breaks of its text.

    null: the text for NULL; a value with the same text is quoted.
    """
    if value is None:
        return Cell(null, null=True)
    text = as_text(value, column.kind)
    return Cell(f'"{text}"' if text == null and text else text)


def raw_cells(columns: Sequence[Column], row: Sequence[object], null: str = NULL) -> list[Cell]:
    """Return the cells of a row, with the line breaks of their texts."""
    return [raw_cell(value, column, null) for value, column in zip(row, columns, strict=True)]


def cells(columns: Sequence[Column], row: Sequence[object], null: str = NULL) -> list[Cell]:
    """Return the cells of a row, each on one line."""
    return [escape_line_breaks(cell) for cell in raw_cells(columns, row, null)]


def escape_line_breaks(cell: Cell) -> Cell:
    """Return the cell with its line breaks escaped."""
    return cell if cell.text.isprintable() else cell._replace(text=printable(cell.text))


@dataclass(frozen=True)
class Layout:
    """The widths of a table's columns."""

    headers: tuple[str, ...]  # escaped names of all columns
    sizes: tuple[int, ...]  # widths of the visible columns, in cells
    value_sizes: tuple[int, ...]  # widths that fit the values, not the headers
    min_sizes: tuple[int, ...]  # the least widths to which columns may be cut
    right_aligned: tuple[bool, ...]  # numeric columns
    uncut: tuple[bool, ...]  # columns whose values are never cut
    is_cutting: bool = False  # cut longer cells; otherwise they widen their own line
    hidden_columns: int = 0  # the number of omitted columns at the end

    @property
    def width(self) -> int:
        """Return the width of a line in cells."""
        return sum(self.sizes) + _SEPARATOR_SIZE * (len(self.sizes) - 1)

    def fit(self, max_width: int) -> Layout:
        """Return the layout for a screen of `max_width` cells."""
        shown = len(self.sizes)
        while shown > 1 and sum(self.min_sizes[:shown]) + _SEPARATOR_SIZE * (shown - 1) > max_width:
            shown -= 1
        room = max_width - _SEPARATOR_SIZE * (shown - 1)
        floors = self.value_sizes if sum(self.value_sizes) <= room else self.min_sizes
        sizes = _share(self.sizes[:shown], floors[:shown], room)
        return replace(self, sizes=sizes, is_cutting=True, hidden_columns=len(self.headers) - shown)

    def header_lines(self, paint: Paint = PLAIN) -> tuple[str, str]:
        """Return the line with the column names and the rule below it."""
        titles = [
            Cell(truncate(name, size) if self.is_cutting else name)
            for name, size in zip(self.headers, self.sizes, strict=False)
        ]
        names = self._join(titles, paint, paint.header)
        return names, paint.colourize(paint.rule, "-+-".join("-" * size for size in self.sizes))

    def row_line(self, row: Sequence[Cell], paint: Paint = PLAIN) -> str:
        """Return a row on one line."""
        return self._join(row[: len(self.sizes)], paint, "")

    def wrap_row(self, row: Sequence[Cell], paint: Paint = PLAIN) -> list[str]:
        """Return a row on as many lines as its longest cell needs; line breaks of raw cells are kept."""
        columns = [_wrap_cell(cell, size) for cell, size in zip(row, self.sizes, strict=False)]
        return [self._join(cells, paint, "") for cells in zip_longest(*columns, fillvalue=Cell(""))]

    def _join(self, row: Sequence[Cell], paint: Paint, colour: str) -> str:
        between = paint.colourize(paint.rule, " | ")
        parts = [self._pad_cell(index, cell, paint, colour or paint.colour_for(cell)) for index, cell in enumerate(row)]
        return between.join(parts).rstrip()

    def _pad_cell(self, index: int, cell: Cell, paint: Paint, colour: str) -> str:
        size = self.sizes[index]
        text = truncate(cell.text, size) if self.is_cutting and not self.uncut[index] else cell.text
        if not colour:
            return pad(text, size, self.right_aligned[index])
        blanks = " " * (size - width(text))
        coloured = paint.colourize(colour, text)
        return blanks + coloured if self.right_aligned[index] else coloured + blanks


def natural_layout(columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> Layout:
    """Return the layout in which every name and value fits."""
    headers = tuple(printable(column.name) for column in columns)
    sizes = [0] * len(columns)
    for row in rows:
        for index, cell in enumerate(row):
            sizes[index] = max(sizes[index], width(cell.text))
    return _layout_of(columns, headers, tuple(sizes))


def grow_layout(layout: Layout, columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> Layout:
    """Widen a natural layout for more rows.

    A column grows by at least a quarter, so it does not grow with every row.
    """
    wanted = natural_layout(columns, rows)
    sizes = tuple(
        size if more <= size else _grow(size, more) for size, more in zip(layout.sizes, wanted.sizes, strict=True)
    )
    value_sizes = tuple(max(pair) for pair in zip(layout.value_sizes, wanted.value_sizes, strict=True))
    min_sizes = tuple(max(pair) for pair in zip(layout.min_sizes, wanted.min_sizes, strict=True))
    return replace(layout, sizes=sizes, value_sizes=value_sizes, min_sizes=min_sizes)


def add_room(layout: Layout, max_width: int) -> Layout:
    """Widen the columns for longer values to come, if `max_width` cells allow it."""
    sizes = tuple(
        _grow(size, size + 1) if right or not uncut else size
        for size, right, uncut in zip(layout.sizes, layout.right_aligned, layout.uncut, strict=True)
    )
    wider = replace(layout, sizes=sizes)
    return wider if wider.width <= max_width else layout


def _grow(size: int, wanted: int) -> int:
    return max(wanted, size + max(size // 4, _MIN_GROWTH))


def _layout_of(columns: Sequence[Column], headers: tuple[str, ...], values: tuple[int, ...]) -> Layout:
    names = [width(header) for header in headers]
    kinds = [column.type.partition("(")[0] for column in columns]
    uncut = tuple(kind in _UNCUT_TYPES for kind in kinds)
    min_sizes = tuple(
        max(size if is_whole else min(size, _MIN_TEXT), min(name, _MIN_HEADER), 1)
        for is_whole, size, name in zip(uncut, values, names, strict=True)
    )
    sizes = tuple(max(pair) for pair in zip(values, names, strict=True))
    value_sizes = tuple(max(pair) for pair in zip(values, min_sizes, strict=True))
    return Layout(headers, sizes, value_sizes, min_sizes, tuple(kind in NUMERIC_TYPES for kind in kinds), uncut)


def _share(sizes: Sequence[int], min_sizes: Sequence[int], room: int) -> tuple[int, ...]:
    """Cut the largest sizes to one common size so that the sum is at most `room`; none below its minimum."""
    if sum(sizes) <= room:
        return tuple(sizes)
    low, high = 0, max(sizes)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(_cut_sizes(sizes, min_sizes, middle)) <= room:
            low = middle
        else:
            high = middle - 1
    lowered = _cut_sizes(sizes, min_sizes, low)
    if len(lowered) == 1:
        return (max(min(lowered[0], room), 1),)
    return _distribute(lowered, sizes, room - sum(lowered))


def _cut_sizes(sizes: Sequence[int], min_sizes: Sequence[int], limit: int) -> tuple[int, ...]:
    return tuple(max(min(size, limit), floor) for size, floor in zip(sizes, min_sizes, strict=True))


def _distribute(lowered: Sequence[int], sizes: Sequence[int], rest: int) -> tuple[int, ...]:
    """Return the sizes with `rest` cells distributed to those that were cut, one each."""
    result = list(lowered)
    for index, size in enumerate(sizes):
        if rest > 0 and result[index] < size:
            result[index] += 1
            rest -= 1
    return tuple(result)


def _wrap_cell(cell: Cell, size: int) -> list[Cell]:
    lines = [line for part in cell.text.split("\n") for line in wrap(printable(part), max(size, 2))]
    return [cell._replace(text=line) for line in lines]
