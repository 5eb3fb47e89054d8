"""Rows that do not fit the types of the sink's columns, written to the table of refused rows.

INSERT converts rows to the types of the columns, and a row that cannot be converted would end the query. So the query
returns the rows before their conversion, each with its error, which Spark evaluates in the code of the query.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from jetsql.engine.jvm.java_classes import java
from jetsql.engine.sinks import BatchWriter, SinkContext, SinkWriter, StreamWriter, WrappingSink, stored_rows
from jetsql.engine.sinks.refused.refused_rows_table import RefusedRowsTable, find_refused_rows_table
from jetsql.failpoints import failpoint
from jetsql.jobs.model.table_names import quoted_table
from jetsql.jobs.planning.sink_traits import traits_of


def with_converted_rows(context: SinkContext, writer: SinkWriter) -> SinkWriter:
    """Return a sink that keeps rows that cannot be converted, or `writer` for a job that stops at them."""
    table = find_refused_rows_table(context)
    if table is None:
        return writer
    assert not isinstance(writer, StreamWriter), "the planner has refused other sinks"
    return ConvertedSink(context, writer, RefusedRowsTable(context, table, "unconverted"))


class ConvertedSink(WrappingSink):
    """A sink that gets the rows that can be converted to the types of its columns."""

    def __init__(self, context: SinkContext, writer: BatchWriter, table: RefusedRowsTable) -> None:
        super().__init__(writer)
        self._context = context
        self._job = context.job.name
        self._table = table
        self._converted: Any = None
        """The ConvertedRows of the Java module: of the run, or of the newest batch. None without conversions."""

    def recover(self) -> None:
        self._table.recover()
        super().recover()

    def encode_rows(self, rows: DataFrame) -> DataFrame:
        sink = self._context.sink_plan.sink
        # A lake table checks that columns have values when its files are written.
        checked = quoted_table(sink.table) if traits_of(sink).has_commits else ""
        self._converted = java(rows.sparkSession).refused.ConvertedRows.of(rows._jdf, checked)
        return super().encode_rows(rows) if self._converted is None else self._frame(self._converted.rows(), rows)

    def write(self, rows: DataFrame, batch: int) -> int | None:
        if self._converted is None:
            return super().write(rows, batch)
        with stored_rows(rows) as stored:
            refused = self._frame(self._converted.refused(stored._jdf), rows)
            errors = [row.message for row in refused.select("message").limit(self._table.most + 1).collect()]
            if len(errors) > self._table.most:
                raise self._table.too_many(batch, errors[0])
            accepted = self._frame(self._converted.accepted(stored._jdf), rows)
            written = super().write(self._writer.encode_rows(accepted), batch)
            if errors:
                failpoint("converted-written", self._job)
                self._table.write(refused, len(errors), batch)
                failpoint("unconverted-written", self._job)
            return written

    def has_batch(self, batch: int) -> bool:
        # As for late rows: the rows for the table come after those of the sink.
        return super().has_batch(batch) or self._table.has_batch(batch)

    def discard(self) -> None:
        self._table.discard()
        super().discard()

    @staticmethod
    def _frame(rows: Any, like: DataFrame) -> DataFrame:
        return DataFrame(rows, like.sparkSession)
