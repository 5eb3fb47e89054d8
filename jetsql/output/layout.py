"""The columns of a table: how wide each is, what is cut or wrapped where the screen is too narrow, in which colours.

A column that is cut loses what it says, so those stay whole of which a part would say something wrong: of numbers,
moments and truth values nothing is cut but their header. Where it is enough, only headers that are wider than all below
them give way; else texts share what is left: the longest give way first, none goes below ten cells. What even so has no
room is left out and counted (`hidden`), and whoever shows the table may choose another form then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Final, NamedTuple

from jetsql.output.terminal_text import cut, padded, printable, width, wrapped
from jetsql.output.values import as_text
from jetsql.resultset import Column

NUMERIC_TYPES: Final = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_WHOLE_TYPES: Final = (*NUMERIC_TYPES, "boolean", "date", "timestamp", "timestamp_ntz", "time")
_TEXT_LEAST: Final = 10
_HEADER_LEAST: Final = 6
_GROWTH_LEAST: Final = 3
_BETWEEN: Final = 3

NULL: Final = "NULL"
"""What stands for NULL, unless somebody wants it otherwise."""


class Cell(NamedTuple):
    """A value as a table shows it. text: escaped; for `Layout.wrapped` its line breaks may stand."""

    text: str
    null: bool = False
    changed: bool = False


@dataclass(frozen=True)
class Paint:
    """What a terminal is told before a stretch of text to colour it, and after it; nothing where there are no colours.

    changed: a value that was another one before. bad: an error.
    """

    header: str = ""
    rule: str = ""
    null: str = ""
    changed: str = ""
    dim: str = ""
    bad: str = ""
    off: str = ""

    def of(self, cell: Cell) -> str:
        return self.null if cell.null else self.changed if cell.changed else ""

    def put(self, colour: str, text: str) -> str:
        """The text in one of the colours."""
        return f"{colour}{text}{self.off}" if colour and text else text


PLAIN: Final = Paint()
COLOURS: Final = Paint(
    header="\x1b[1m",
    rule="\x1b[2m",
    null="\x1b[2;3m",
    changed="\x1b[1;33m",
    dim="\x1b[2m",
    bad="\x1b[31m",
    off="\x1b[0m",
)


def raw_cell(value: object, column: Column, null: str = NULL) -> Cell:
    """A value with the line breaks that its text has. null: what stands for NULL; a text that is the same stands in
    quotes."""
    if value is None:
        return Cell(null, null=True)
    text = as_text(value, column.kind)
    return Cell(f'"{text}"' if text == null and text else text)


def raw_cells(columns: Sequence[Column], row: Sequence[object], null: str = NULL) -> list[Cell]:
    return [raw_cell(value, column, null) for value, column in zip(row, columns, strict=True)]


def cells(columns: Sequence[Column], row: Sequence[object], null: str = NULL) -> list[Cell]:
    """The cells of a row, each a text in one line."""
    return [one_line(cell) for cell in raw_cells(columns, row, null)]


def one_line(cell: Cell) -> Cell:
    """The cell with its line breaks escaped."""
    return cell if cell.text.isprintable() else cell._replace(text=printable(cell.text))


@dataclass(frozen=True)
class Layout:
    """sizes: cells of each column that is shown. needed: those that only a header would make wider. least: below which
    none goes. right, whole: which ones stand to the right, are never cut. cuts: whether a longer cell of the others is
    cut; else it widens its own line. hidden: how many columns there was no room for, the last ones."""

    headers: tuple[str, ...]
    sizes: tuple[int, ...]
    needed: tuple[int, ...]
    least: tuple[int, ...]
    right: tuple[bool, ...]
    whole: tuple[bool, ...]
    cuts: bool = False
    hidden: int = 0

    @property
    def width(self) -> int:
        return sum(self.sizes) + _BETWEEN * (len(self.sizes) - 1)

    def fitted(self, most: int) -> Layout:
        """For a screen of so many cells."""
        shown = len(self.sizes)
        while shown > 1 and sum(self.least[:shown]) + _BETWEEN * (shown - 1) > most:
            shown -= 1
        room = most - _BETWEEN * (shown - 1)
        floors = self.needed if sum(self.needed) <= room else self.least
        sizes = _shared(self.sizes[:shown], floors[:shown], room)
        return replace(self, sizes=sizes, cuts=True, hidden=len(self.headers) - shown)

    def head(self, paint: Paint = PLAIN) -> tuple[str, str]:
        """The line of the names and the one below it."""
        titles = [
            Cell(cut(name, size) if self.cuts else name) for name, size in zip(self.headers, self.sizes, strict=False)
        ]
        names = self._joined(titles, paint, paint.header)
        return names, paint.put(paint.rule, "-+-".join("-" * size for size in self.sizes))

    def line(self, row: Sequence[Cell], paint: Paint = PLAIN) -> str:
        """A row in one line."""
        return self._joined(row[: len(self.sizes)], paint, "")

    def wrapped(self, row: Sequence[Cell], paint: Paint = PLAIN) -> list[str]:
        """A row in as many lines as its longest cell takes; the line breaks of raw cells are kept."""
        columns = [_folded(cell, size) for cell, size in zip(row, self.sizes, strict=False)]
        return [self._joined(cells, paint, "") for cells in zip_longest(*columns, fillvalue=Cell(""))]

    def _joined(self, row: Sequence[Cell], paint: Paint, colour: str) -> str:
        between = paint.put(paint.rule, " | ")
        parts = [self._part(index, cell, paint, colour or paint.of(cell)) for index, cell in enumerate(row)]
        return between.join(parts).rstrip()

    def _part(self, index: int, cell: Cell, paint: Paint, colour: str) -> str:
        size = self.sizes[index]
        text = cut(cell.text, size) if self.cuts and not self.whole[index] else cell.text
        if not colour:
            return padded(text, size, self.right[index])
        blanks = " " * (size - width(text))
        shown = paint.put(colour, text)
        return blanks + shown if self.right[index] else shown + blanks


def natural(columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> Layout:
    """As wide as names and rows are."""
    headers = tuple(printable(column.name) for column in columns)
    taken = [0] * len(columns)
    for row in rows:
        for index, cell in enumerate(row):
            taken[index] = max(taken[index], width(cell.text))
    return _sized(columns, headers, tuple(taken))


def grown(layout: Layout, columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> Layout:
    """The natural layout with more rows. What grows grows by some cells and a quarter at least, so that it does not
    grow with every row."""
    found = natural(columns, rows)
    sizes = tuple(
        size if more <= size else _grown(size, more) for size, more in zip(layout.sizes, found.sizes, strict=True)
    )
    needed = tuple(max(pair) for pair in zip(layout.needed, found.needed, strict=True))
    least = tuple(max(pair) for pair in zip(layout.least, found.least, strict=True))
    return replace(layout, sizes=sizes, needed=needed, least=least)


def roomy(layout: Layout, most: int) -> Layout:
    """With room for values that are longer than those so far, should a screen of `most` cells have it."""
    sizes = tuple(
        _grown(size, size + 1) if right or not whole else size
        for size, right, whole in zip(layout.sizes, layout.right, layout.whole, strict=True)
    )
    wider = replace(layout, sizes=sizes)
    return wider if wider.width <= most else layout


def _grown(size: int, wanted: int) -> int:
    return max(wanted, size + max(size // 4, _GROWTH_LEAST))


def _sized(columns: Sequence[Column], headers: tuple[str, ...], taken: tuple[int, ...]) -> Layout:
    names = [width(header) for header in headers]
    kinds = [column.type.partition("(")[0] for column in columns]
    whole = tuple(kind in _WHOLE_TYPES for kind in kinds)
    least = tuple(
        max(size if is_whole else min(size, _TEXT_LEAST), min(name, _HEADER_LEAST), 1)
        for is_whole, size, name in zip(whole, taken, names, strict=True)
    )
    sizes = tuple(max(pair) for pair in zip(taken, names, strict=True))
    needed = tuple(max(pair) for pair in zip(taken, least, strict=True))
    return Layout(headers, sizes, needed, least, tuple(kind in NUMERIC_TYPES for kind in kinds), whole)


def _shared(sizes: Sequence[int], least: Sequence[int], room: int) -> tuple[int, ...]:
    """The sizes, the largest lowered to one common size so that all together have room; none below its least."""
    if sum(sizes) <= room:
        return tuple(sizes)
    low, high = 0, max(sizes)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(_lowered(sizes, least, middle)) <= room:
            low = middle
        else:
            high = middle - 1
    lowered = _lowered(sizes, least, low)
    if len(lowered) == 1:
        return (max(min(lowered[0], room), 1),)
    return _spread(lowered, sizes, room - sum(lowered))


def _lowered(sizes: Sequence[int], least: Sequence[int], most: int) -> tuple[int, ...]:
    return tuple(max(min(size, most), floor) for size, floor in zip(sizes, least, strict=True))


def _spread(lowered: Sequence[int], sizes: Sequence[int], rest: int) -> tuple[int, ...]:
    """A cell more for the first of those that were lowered, as long as there is room."""
    given = list(lowered)
    for index, size in enumerate(sizes):
        if rest > 0 and given[index] < size:
            given[index] += 1
            rest -= 1
    return tuple(given)


def _folded(cell: Cell, size: int) -> list[Cell]:
    lines = [line for part in cell.text.split("\n") for line in wrapped(printable(part), max(size, 2))]
    return [cell._replace(text=line) for line in lines]
