"""Render rows as text: a table, a vertical list, CSV, JSON or Markdown.

Every format turns an iterator of rows into an iterator of lines, so a result of any size is streamed. Only the table
reads ahead: it takes its widths from the first 1000 rows, and a longer cell after them widens its own line.

    NULL       `NULL` in a table (the text NULL is quoted there), nothing in CSV (an empty text is `""`),
               null in JSON, *NULL* in Markdown
    nested     JSON for rows, maps and arrays in every format
    binary     hexadecimal digits; base64 in JSON, as Spark's `to_json` writes it
    decimals   all their digits, never through a float
    timestamps ISO 8601, with their offset in JSON and CSV

CSV is RFC 4180 with a header, but with the line ends of the platform, so that `cut` and `diff` work on it. JSON is one
object per line; a repeated column name gets a number (`id`, `id_2`).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import Protocol

from jetsql.output.layout import NULL, PLAIN, Paint, cells, natural_layout, raw_cell, raw_cells
from jetsql.output.terminal_text import printable, width
from jetsql.output.values import as_json, as_text
from jetsql.resultset import Column

SAMPLED_ROWS = 1000
"""The rows from which a table takes its widths."""
_MARKUP = re.compile(r"[\\`*\[\]<>|~]|(?<!\w)_|_(?!\w)|&(?=#?\w+;)")
Row = tuple[object, ...]


class Format(Enum):
    """The formats of results."""

    TABLE = "table"
    VERTICAL = "vertical"
    CSV = "csv"
    JSON = "json"
    MARKDOWN = "markdown"


class Rows(Protocol):
    """The result of a statement; `rows` may be read once."""

    @property
    def columns(self) -> tuple[Column, ...]: ...

    @property
    def rows(self) -> Iterator[Row]: ...


def render_lines(result: Rows, form: Format) -> Iterator[str]:
    """Render a result as lines without line ends (a CSV record may contain some).

    A result without columns has no lines. Raises whatever reading the rows raises.
    """
    if not result.columns:
        for _ in result.rows:  # a lazy result runs only when it is read
            continue
        return
    # Read the first row before the header, so a statement that fails there shows nothing.
    first = list(itertools.islice(result.rows, 1))
    yield from RENDERERS[form](result.columns, itertools.chain(first, result.rows))


def _render_table(columns: tuple[Column, ...], rows: Iterator[Row]) -> Iterator[str]:
    sampled = list(itertools.islice(rows, SAMPLED_ROWS))
    if is_single_text(columns, sampled):
        yield from single_text_lines(columns, sampled)
        return
    shown = [cells(columns, row) for row in sampled]
    layout = natural_layout(columns, shown)
    yield from layout.header_lines()
    for row in itertools.chain(shown, (cells(columns, values) for values in rows)):
        yield layout.row_line(row)
    if not shown:
        yield "(no rows)"


def is_single_text(columns: Sequence[Column], rows: Sequence[Row]) -> bool:
    """Return whether a result is a single text of several lines (SHOW CREATE, EXPLAIN)."""
    return len(columns) == 1 and len(rows) == 1 and "\n" in raw_cell(rows[0][0], columns[0]).text


def single_text_lines(columns: Sequence[Column], rows: Sequence[Row]) -> Iterator[str]:
    """Render a single text with its line breaks, which disturb no other cell."""
    [column], [(value,)] = columns, rows
    header = printable(column.name)
    yield header
    yield "-" * width(header)
    yield from (printable(line) for line in raw_cell(value, column).text.rstrip("\n").split("\n"))


def _render_vertical(columns: tuple[Column, ...], rows: Iterator[Row]) -> Iterator[str]:
    number = 0
    for number, row in enumerate(rows, start=1):
        yield from vertical_lines(columns, row, number)
    if number == 0:
        yield "(no rows)"


def vertical_lines(
    columns: Sequence[Column], row: Row, number: int, paint: Paint = PLAIN, null: str = NULL
) -> Iterator[str]:
    """Render a row with one column per line; further lines of a text are indented below its first."""
    headers = [printable(column.name) for column in columns]
    size = max(width(header) for header in headers)
    yield paint.colourize(paint.rule, f"-- row {number} --")
    for header, cell in zip(headers, raw_cells(columns, row, null), strict=True):
        for index, text in enumerate(cell.text.split("\n")):
            name = paint.colourize(paint.header, header) + " " * (size - width(header)) if index == 0 else " " * size
            rule = paint.colourize(paint.rule, "|")
            yield f"{name} {rule} {paint.colourize(paint.colour_for(cell), printable(text))}".rstrip()


def _render_csv(columns: tuple[Column, ...], rows: Iterator[Row]) -> Iterator[str]:
    yield ",".join(_format_csv_field(column.name) for column in columns)
    for row in rows:
        yield ",".join(
            "" if value is None else _format_csv_field(as_text(value, column.kind, with_offset=True))
            for value, column in zip(row, columns, strict=True)
        )


def _format_csv_field(text: str) -> str:
    """Return a field of CSV. Python's csv module (3.11) does not distinguish NULL from the empty text."""
    if text and not any(char in text for char in ',"\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'


def _render_json(columns: tuple[Column, ...], rows: Iterator[Row]) -> Iterator[str]:
    names = [as_json(name) for name in _make_distinct([column.name for column in columns])]
    kinds = [column.kind for column in columns]
    for row in rows:
        members = (f"{name}:{as_json(value, kind)}" for name, value, kind in zip(names, row, kinds, strict=True))
        yield "{" + ",".join(members) + "}"


def _make_distinct(names: list[str]) -> list[str]:
    existing = set(names)
    seen: set[str] = set()
    distinct = []
    for name in names:
        candidate, number = name, 1
        while candidate in seen or (number > 1 and candidate in existing):
            number += 1
            candidate = f"{name}_{number}"
        seen.add(candidate)
        distinct.append(candidate)
    return distinct


def _render_markdown(columns: tuple[Column, ...], rows: Iterator[Row]) -> Iterator[str]:
    """Render a table of GitHub's Markdown, with all markup in cells escaped."""
    yield _format_markdown_line(_escape_markdown(column.name) for column in columns)
    yield _format_markdown_line("---:" if right else "---" for right in natural_layout(columns, ()).right_aligned)
    for row in rows:
        row_cells = raw_cells(columns, row)
        yield _format_markdown_line("*NULL*" if cell.null else _escape_markdown(cell.text) for cell in row_cells)


def _format_markdown_line(texts: Iterable[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _escape_markdown(text: str) -> str:
    return "<br>".join(_MARKUP.sub(r"\\\g<0>", printable(line)) for line in text.split("\n"))


RENDERERS: dict[Format, Callable[[tuple[Column, ...], Iterator[Row]], Iterator[str]]] = {
    Format.TABLE: _render_table,
    Format.VERTICAL: _render_vertical,
    Format.CSV: _render_csv,
    Format.JSON: _render_json,
    Format.MARKDOWN: _render_markdown,
}
