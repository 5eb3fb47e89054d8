"""Rows that a sink refuses, written to a separate table: the option `'sink.on.error' = 'table:NAME'`.

`converted_rows` has those that do not fit the types of the columns, and `refused_rows` those that an external system
refuses, for which each kind of sink has its own search (`find_refused`).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame

from jetsql.engine.sinks import BatchWriter
from jetsql.errors import StatementError

ROW_NUMBER: Final = "__jetsql_row"
"""The last column of the rows that `find_refused` gets: the number of the row, in the order of the batch."""


@dataclass(frozen=True)
class RefusedRow:
    """A row that a sink refuses."""

    row: int
    """The number of the row."""
    sqlstate: str
    message: str
    """The error of the external system."""


class SelectiveWriter(BatchWriter):
    """A sink that can find the rows of a batch that it refuses."""

    @abstractmethod
    def is_refusal(self, error: StatementError) -> bool:
        """Return whether an error of `write` is the refusal of a row, after which nothing of the batch is written."""

    @abstractmethod
    def find_refused(self, rows: DataFrame, batch: int, most: int) -> tuple[RefusedRow, ...]:
        """Return the rows that the sink refuses, without a visible effect. The sink takes all others together.

        rows: the rows of a batch that was refused, with their numbers. most: the search may end with this many rows.
        """
