"""Late rows: rows that Spark drops because the watermark has passed them, written to a separate table.

A job with the option `'lateRows' = 'table:NAME'` writes them after each batch. Spark counts the rows that it drops.
Only after a batch with such rows, the job computes them a second time, from the same offsets. A batch that is repeated
after a crash drops the same rows, and the table has each of them once.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, SparkSession, functions

from jetsql.engine.jvm.java_classes import java
from jetsql.engine.session.catalog import Catalog
from jetsql.engine.sinks import BatchWriter, SinkContext, SinkWriter, StreamWriter, WrappingSink
from jetsql.engine.sinks.side_tables import SideTable, create_side_table
from jetsql.failpoints import failpoint
from jetsql.jobs.model.job import Plan

_COLUMNS: Final = {
    "job": "STRING",
    "batch": "BIGINT",
    "watermark": "TIMESTAMP",
    "source": "STRING",
    "event_time": "TIMESTAMP",
    "row": "STRING",
}


def create_late_rows_table(spark: SparkSession, catalog: Catalog, plan: Plan) -> None:
    """Create the missing table for the late rows of a plan. Raises as `create_side_table`."""
    if plan.late_rows_table:
        create_side_table(spark, catalog, plan.late_rows_table, _COLUMNS, "table for late rows")


def with_late_rows(context: SinkContext, writer: SinkWriter) -> SinkWriter:
    """Return a sink that writes late rows after each batch, or `writer` for a job that drops them."""
    name = context.job.plan.late_rows_table
    table = context.catalog.table(name) if name else None
    if table is None:
        return writer
    assert not isinstance(writer, StreamWriter), "late rows are written after each batch"
    return LateRowsSink(context, writer, SideTable(context, table, "late-rows", "late"))


class LateRowsSink(WrappingSink):
    """A sink that writes the late rows of each batch after its rows."""

    def __init__(self, context: SinkContext, writer: BatchWriter, table: SideTable) -> None:
        super().__init__(writer)
        self._spark = context.spark
        self._job = context.job.name
        self._table = table

    def recover(self) -> None:
        self._table.recover()
        super().recover()

    def write(self, rows: DataFrame, batch: int) -> int | None:
        count = super().write(rows, batch)
        late = java(self._spark).stream.LateRows.ofBatch(self._spark._jsparkSession)
        if late is not None:
            labels = (functions.lit(self._job).alias("job"), functions.lit(batch).cast("bigint").alias("batch"))
            self._table.write(DataFrame(late, rows.sparkSession).select(*labels, "*"), batch)
            failpoint("late-rows-written", self._job)
        return count

    def has_batch(self, batch: int) -> bool:
        # A sink without a record of its batches has a batch whose late rows were written, because they come after it.
        return super().has_batch(batch) or self._table.has_batch(batch)

    def discard(self) -> None:
        self._table.discard()
        super().discard()
