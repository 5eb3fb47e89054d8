"""Rows as text: a table, a vertical list, CSV, JSON or Markdown.

All are iterators of lines over an iterator of rows, so that a result of any size passes through; only the table
looks ahead, at the first 1000 rows, for its widths (a longer cell further down widens its own line). Told apart are:

    NULL       `NULL` in a table (the text NULL stands in quotes there), nothing in CSV (an empty text is `""`),
               null in JSON, *NULL* in Markdown
    nested     rows, maps and arrays are JSON in every format
    binary     hexadecimal digits; in JSON base64, as Spark's own `to_json` writes it
    decimals   all their digits, never through a float; timestamps ISO 8601, in JSON and CSV with their offset

CSV is RFC 4180 with a header, but its lines end as lines end on standard output everywhere, so that `cut` and `diff`
work on it. JSON is one object a line; a column name that comes again gets a number (`id`, `id_2`).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import Protocol

from jetsql.output.layout import NULL, PLAIN, Paint, cells, natural, raw_cell, raw_cells
from jetsql.output.terminal_text import printable, width
from jetsql.output.values import as_json, as_text
from jetsql.resultset import Column

ROWS_LOOKED_AT = 1000
_MARKUP = re.compile(r"[\\`*\[\]<>|~]|(?<!\w)_|_(?!\w)|&(?=#?\w+;)")
Row = tuple[object, ...]


class Format(Enum):
    """How results are shown."""

    TABLE = "table"
    VERTICAL = "vertical"
    CSV = "csv"
    JSON = "json"
    MARKDOWN = "markdown"


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


def _table(columns: tuple[Column, ...], rows: Iterator[Row]) -> Iterator[str]:
    looked_at = list(itertools.islice(rows, ROWS_LOOKED_AT))
    if is_lone_text(columns, looked_at):
        yield from lone_text(columns, looked_at)
        return
    shown = [cells(columns, row) for row in looked_at]
    layout = natural(columns, shown)
    yield from layout.head()
    for row in itertools.chain(shown, (cells(columns, values) for values in rows)):
        yield layout.line(row)
    if not shown:
        yield "(no rows)"


def is_lone_text(columns: Sequence[Column], rows: Sequence[Row]) -> bool:
    """Whether a whole result is one text of several lines (SHOW CREATE, EXPLAIN)."""
    return len(columns) == 1 and len(rows) == 1 and "\n" in raw_cell(rows[0][0], columns[0]).text


def lone_text(columns: Sequence[Column], rows: Sequence[Row]) -> Iterator[str]:
    """It keeps its line breaks: there is no other cell that they could disturb."""
    [column], [(value,)] = columns, rows
    header = printable(column.name)
    yield header
    yield "-" * width(header)
    yield from (printable(line) for line in raw_cell(value, column).text.rstrip("\n").split("\n"))


def _vertical(columns: tuple[Column, ...], rows: Iterator[Row]) -> Iterator[str]:
    number = 0
    for number, row in enumerate(rows, start=1):
        yield from record(columns, row, number)
    if number == 0:
        yield "(no rows)"


def record(columns: Sequence[Column], row: Row, number: int, paint: Paint = PLAIN, null: str = NULL) -> Iterator[str]:
    """A row with its columns under each other; further lines of a text are set under its first."""
    headers = [printable(column.name) for column in columns]
    size = max(width(header) for header in headers)
    yield paint.put(paint.rule, f"-- row {number} --")
    for header, cell in zip(headers, raw_cells(columns, row, null), strict=True):
        for index, text in enumerate(cell.text.split("\n")):
            name = paint.put(paint.header, header) + " " * (size - width(header)) if index == 0 else " " * size
            yield f"{name} {paint.put(paint.rule, '|')} {paint.put(paint.of(cell), printable(text))}".rstrip()


def _csv(columns: tuple[Column, ...], rows: Iterator[Row]) -> Iterator[str]:
    yield ",".join(_quoted(column.name) for column in columns)
    for row in rows:
        yield ",".join(
            "" if value is None else _quoted(as_text(value, column.kind, exact=True))
            for value, column in zip(row, columns, strict=True)
        )


def _quoted(text: str) -> str:
    """A field of CSV. Python 3.11's csv module can't tell NULL from the empty text, so it is not used."""
    if text and not any(char in text for char in ',"\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'


def _json(columns: tuple[Column, ...], rows: Iterator[Row]) -> Iterator[str]:
    names = [as_json(name) for name in _distinct([column.name for column in columns])]
    kinds = [column.kind for column in columns]
    for row in rows:
        members = (f"{name}:{as_json(value, kind)}" for name, value, kind in zip(names, row, kinds, strict=True))
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


def _markdown(columns: tuple[Column, ...], rows: Iterator[Row]) -> Iterator[str]:
    """A table as GitHub and most others read it. Nothing in a cell is markup: what could be is escaped."""
    yield _markdown_line(_markdown_text(column.name) for column in columns)
    yield _markdown_line("---:" if right else "---" for right in natural(columns, ()).right)
    for row in rows:
        found = raw_cells(columns, row)
        yield _markdown_line("*NULL*" if cell.null else _markdown_text(cell.text) for cell in found)


def _markdown_line(texts: Iterable[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _markdown_text(text: str) -> str:
    return "<br>".join(_MARKUP.sub(r"\\\g<0>", printable(line)) for line in text.split("\n"))


RENDERERS: dict[Format, Callable[[tuple[Column, ...], Iterator[Row]], Iterator[str]]] = {
    Format.TABLE: _table,
    Format.VERTICAL: _vertical,
    Format.CSV: _csv,
    Format.JSON: _json,
    Format.MARKDOWN: _markdown,
}
