"""The result of a statement in a notebook: it shows itself as a table, and converts itself to a data frame.

Names and values can be anything, so all of them are escaped in HTML.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final

from jetsql.output.counts import counted
from jetsql.output.layout import NUMERIC_TYPES, Cell, raw_cells
from jetsql.output.render import Format, is_single_text, render_lines
from jetsql.resultset import Column

SHOWN_ROWS: Final = 50
"""The rows that a table shows; the others are only counted."""

_RIGHT: Final = "text-align: right"
_LEFT: Final = "text-align: left; white-space: pre-wrap"
_NULL: Final = "opacity: 0.5; font-style: italic"
_CHANGED: Final = "background-color: rgba(255, 190, 0, 0.35)"


@dataclass(frozen=True)
class CellResult:
    """The rows of a statement."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    is_complete: bool = True  # False if further rows were not read
    note: str = ""  # the end of a live table
    changes: tuple[Sequence[Cell], ...] | None = None  # the cells of a live table, with their changes marked

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        return self.rows[index]

    @property
    def records(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries by column name."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]

    def df(self) -> Any:
        """Return the rows as a pandas DataFrame. Raises ModuleNotFoundError without pandas."""
        try:
            import pandas
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("A data frame needs pandas: pip install pandas", name="pandas") from error
        return pandas.DataFrame.from_records(list(self.rows), columns=[column.name for column in self.columns])

    to_pandas = df
    DataFrame = df  # as JupySQL has it

    def caption(self) -> str:
        """Return the line below the table."""
        if self.note:
            return self.note
        if not self.columns:
            return "Done."
        count = counted(len(self.rows), "row")
        if not self.is_complete:
            return f"The first {count}, of which {min(SHOWN_ROWS, len(self.rows))} are shown; --rows N reads more."
        return f"{count}, of which {SHOWN_ROWS} are shown" if len(self.rows) > SHOWN_ROWS else count

    def _repr_html_(self) -> str:
        if self.columns and is_single_text(self.columns, self.rows):
            [(cell,)] = [raw_cells(self.columns, row) for row in self.rows]
            return _html_text(cell.text)
        if not self.columns:
            return _html_note(self.caption())
        shown = self.changes if self.changes is not None else self._cells()
        return _html_table(self.columns, shown[:SHOWN_ROWS], self.caption())

    def __repr__(self) -> str:
        lines = list(render_lines(_ShownRows(self.columns, iter(self.rows[:SHOWN_ROWS])), Format.TABLE))
        is_text = bool(self.columns) and is_single_text(self.columns, self.rows)
        return "\n".join(lines if is_text else [*lines, f"({self.caption().rstrip('.')})"])

    def _cells(self) -> tuple[Sequence[Cell], ...]:
        return tuple(raw_cells(self.columns, row) for row in self.rows[:SHOWN_ROWS])


@dataclass(frozen=True)
class _ShownRows:
    columns: tuple[Column, ...]
    rows: Iterator[tuple[Any, ...]]


def _html_table(columns: Sequence[Column], rows: Iterable[Sequence[Cell]], caption: str = "") -> str:
    """Return a table. caption: a line below it."""
    aligned = [_RIGHT if column.type.partition("(")[0] in NUMERIC_TYPES else _LEFT for column in columns]
    heads = "".join(
        f'<th style="{style}" title="{escape(column.type)}">{escape(column.name)}</th>'
        for column, style in zip(columns, aligned, strict=True)
    )
    lines = "".join(f"<tr>{_cells(row, aligned)}</tr>" for row in rows)
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>" if columns else ""
    return f"<div>{table}{_html_note(caption) if caption else ''}</div>"


def _html_text(text: str) -> str:
    """Return a text of several lines, such as a plan."""
    return f"<pre>{escape(text)}</pre>"


def _html_note(text: str) -> str:
    """Return a line about a result."""
    return f'<div style="opacity: 0.7">{escape(text)}</div>'


def _cells(row: Sequence[Cell], aligned: Sequence[str]) -> str:
    return "".join(
        f'<td style="{_style(cell, style)}">{escape(cell.text)}</td>' for cell, style in zip(row, aligned, strict=True)
    )


def _style(cell: Cell, style: str) -> str:
    marks = [_NULL] * cell.null + [_CHANGED] * cell.changed
    return "; ".join([style, *marks])
