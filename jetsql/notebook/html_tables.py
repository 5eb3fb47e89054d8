"""Results as HTML for notebooks. Names and values can be anything, so all of them are escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from jetsql.output.layout import NUMERIC_TYPES, Cell
from jetsql.resultset import Column

_RIGHT: Final = "text-align: right"
_LEFT: Final = "text-align: left; white-space: pre-wrap"
_NULL: Final = "opacity: 0.5; font-style: italic"
_CHANGED: Final = "background-color: rgba(255, 190, 0, 0.35)"


def html_table(columns: Sequence[Column], rows: Iterable[Sequence[Cell]], caption: str = "") -> str:
    """Return a table. caption: a line below it."""
    aligned = [_RIGHT if column.type.partition("(")[0] in NUMERIC_TYPES else _LEFT for column in columns]
    heads = "".join(
        f'<th style="{style}" title="{escape(column.type)}">{escape(column.name)}</th>'
        for column, style in zip(columns, aligned, strict=True)
    )
    lines = "".join(f"<tr>{_cells(row, aligned)}</tr>" for row in rows)
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>" if columns else ""
    return f"<div>{table}{html_note(caption) if caption else ''}</div>"


def html_text(text: str) -> str:
    """Return a text of several lines, such as a plan."""
    return f"<pre>{escape(text)}</pre>"


def html_note(text: str) -> str:
    """Return a line about a result."""
    return f'<div style="opacity: 0.7">{escape(text)}</div>'


def _cells(row: Sequence[Cell], aligned: Sequence[str]) -> str:
    return "".join(
        f'<td style="{_style(cell, style)}">{escape(cell.text)}</td>' for cell, style in zip(row, aligned, strict=True)
    )


def _style(cell: Cell, style: str) -> str:
    marks = [_NULL] * cell.null + [_CHANGED] * cell.changed
    return "; ".join([style, *marks])
