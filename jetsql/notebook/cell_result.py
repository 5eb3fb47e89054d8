"""The result of a statement in a notebook: it shows itself as a table, and converts itself to a data frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from jetsql.notebook.html_tables import html_note, html_table, html_text
from jetsql.output.counts import counted
from jetsql.output.layout import Cell, raw_cells
from jetsql.output.render import Format, is_single_text, render_lines
from jetsql.resultset import Column

SHOWN_ROWS: Final = 50
"""The rows that a table shows; the others are only counted."""


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
            return html_text(cell.text)
        if not self.columns:
            return html_note(self.caption())
        shown = self.changes if self.changes is not None else self._cells()
        return html_table(self.columns, shown[:SHOWN_ROWS], self.caption())

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
