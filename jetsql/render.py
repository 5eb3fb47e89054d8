"""Rows as text: a table, a vertical list, CSV or JSON.

All four are iterators of lines over an iterator of rows, so that a result of any size passes through; only the table
looks ahead, at the first 1000 rows, for its widths (a longer cell further down widens its own line). Told apart are:

    NULL       `NULL` in a table (the text NULL stands in quotes there), nothing in CSV (an empty text is `""`),
               null in JSON
    nested     rows, maps and arrays are JSON in every format
    binary     hexadecimal digits; in JSON base64, as Spark's own `to_json` writes it
    decimals   all their digits, never through a float; timestamps ISO 8601, in JSON and CSV with their offset

CSV is RFC 4180 with a header, but its lines end as lines end on standard output everywhere, so that `cut` and `diff`
work on it. JSON is one object a line; a column name that comes again gets a number (`id`, `id_2`).
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Protocol

from jetsql.jobs.tables import Column
from jetsql.values import as_json, as_text

ROWS_LOOKED_AT = 1000
Row = tuple[object, ...]

NUMERIC_TYPES = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


class Format(Enum):
    """How results are shown."""

    TABLE = "table"
    VERTICAL = "vertical"
    CSV = "csv"
    JSON = "json"


class Rows(Protocol):
    """What a statement returned. columns: with Spark's type names; rows: may be read once."""

    @property
    def columns(self) -> tuple[Column, ...]: ...

    @property
    def rows(self) -> Iterator[Row]: ...


def lines(result: Rows, form: Format) -> Iterator[str]:
    """The lines of a result, without line ends (a CSV record may have some within). A result without columns has none.

    Raises whatever reading the rows raises.
    """
    if not result.columns:
        for _ in result.rows:  # read all the same: reading is what makes a lazy result happen
            continue
        return
    # The first row before the header: a statement that fails at it has shown nothing.
    first = list(itertools.islice(result.rows, 1))
    yield from RENDERERS[form](result.columns, itertools.chain(first, result.rows))


def width(text: str) -> int:
    """How many cells of a terminal a printable text takes."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth  # its tables take 30 ms to load, which `--help` and plain results need not wait for

    return max(wcswidth(text), 0)


def printable(text: str) -> str:
    """The text with everything escaped that would move the cursor, hide or reorder what stands in the line."""
    if text.isprintable():
        return text
    return "".join(_escaped(char) if _unprintable(char) else char for char in text)


def _unprintable(char: str) -> bool:
    # Joiners (Cf) stay: emoji and several scripts need them. Of Cf only what reorders or hides text is escaped.
    reorders = "\u202a" <= char <= "\u202e" or "\u2066" <= char <= "\u2069" or char in "\u200e\u200f\ufeff"
    return reorders or unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")


def _escaped(char: str) -> str:
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return named.get(char) or (f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}")


def _table(columns: tuple[Column, ...], rows: Iterator[Row]) -> Iterator[str]:
    first = [_cells(columns, row) for row in itertools.islice(rows, ROWS_LOOKED_AT)]
    if len(columns) == 1 and len(first) == 1 and "\n" in first[0][0]:
        yield from _lone(columns[0], first[0][0])
        return
    shown = [[printable(cell) for cell in row] for row in first]
    headers = [printable(column.name) for column in columns]
    widths = [max(width(cell) for cell in cells) for cells in zip(headers, *shown, strict=True)]
    right = [column.type.partition("(")[0] in NUMERIC_TYPES for column in columns]
    yield _line(headers, widths, right)
    yield "-+-".join("-" * size for size in widths)
    for row in itertools.chain(shown, ([printable(cell) for cell in _cells(columns, values)] for values in rows)):
        yield _line(row, widths, right)
    if not shown:
        yield "(no rows)"


def _lone(column: Column, cell: str) -> Iterator[str]:
    """One text alone (SHOW CREATE, EXPLAIN) keeps its line breaks: there is no other cell that they could disturb."""
    header = printable(column.name)
    yield header
    yield "-" * width(header)
    yield from (printable(line) for line in cell.rstrip("\n").split("\n"))


def _cells(columns: tuple[Column, ...], row: Row) -> list[str]:
    return [_cell(value, column) for value, column in zip(row, columns, strict=True)]


def _line(cells: list[str], widths: list[int], right: list[bool]) -> str:
    padded = [_pad(cell, size, to_right) for cell, size, to_right in zip(cells, widths, right, strict=True)]
    return " | ".join(padded).rstrip()


def _pad(cell: str, size: int, to_right: bool) -> str:
    blanks = " " * (size - width(cell))
    return blanks + cell if to_right else cell + blanks


def _cell(value: object, column: Column) -> str:
    if value is None:
        return "NULL"
    text = as_text(value, column.type)
    return '"NULL"' if text == "NULL" else text


def _vertical(columns: tuple[Column, ...], rows: Iterator[Row]) -> Iterator[str]:
    headers = [printable(column.name) for column in columns]
    size = max(width(header) for header in headers)
    number = 0
    for number, row in enumerate(rows, start=1):
        yield f"-- row {number} --"
        for header, value, column in zip(headers, row, columns, strict=True):
            yield from _field(_pad(header, size, False), _cell(value, column), size)
    if number == 0:
        yield "(no rows)"


def _field(header: str, cell: str, size: int) -> Iterator[str]:
    """A column's line; further lines of its text are set under the first."""
    for index, text in enumerate(cell.split("\n")):
        yield f"{header if index == 0 else ' ' * size} | {printable(text)}".rstrip()


def _csv(columns: tuple[Column, ...], rows: Iterator[Row]) -> Iterator[str]:
    yield ",".join(_quoted(column.name) for column in columns)
    for row in rows:
        yield ",".join(
            "" if value is None else _quoted(as_text(value, column.type, exact=True))
            for value, column in zip(row, columns, strict=True)
        )


def _quoted(text: str) -> str:
    """A field of CSV. Python 3.11's csv module can't tell NULL from the empty text, so it is not used."""
    if text and not any(char in text for char in ',"\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'


def _json(columns: tuple[Column, ...], rows: Iterator[Row]) -> Iterator[str]:
    names = [as_json(name) for name in _distinct([column.name for column in columns])]
    types = [column.type for column in columns]
    for row in rows:
        members = (f"{name}:{as_json(value, kind)}" for name, value, kind in zip(names, row, types, strict=True))
        yield "{" + ",".join(members) + "}"


def _distinct(names: list[str]) -> list[str]:
    taken = set(names)
    seen: set[str] = set()
    distinct = []
    for name in names:
        other, number = name, 1
        while other in seen or (number > 1 and other in taken):
            number += 1
            other = f"{name}_{number}"
        seen.add(other)
        distinct.append(other)
    return distinct


RENDERERS: dict[Format, Callable[[tuple[Column, ...], Iterator[Row]], Iterator[str]]] = {
    Format.TABLE: _table,
    Format.VERTICAL: _vertical,
    Format.CSV: _csv,
    Format.JSON: _json,
}
