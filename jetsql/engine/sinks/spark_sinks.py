"""Spark's own ways into a table.

At least once: its INSERT for each batch; a batch that is replayed is inserted again. And the overwrite of partitions in
batch jobs, which replaces what Spark's own statement would: done again after a death, it gives the same table.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from jetsql.engine.sinks import SinkContext


class WithoutRecord:
    """What writers have in common that keep no record of the batches that are in."""

    def __init__(self, context: SinkContext) -> None:
        self._context = context
        self._sink = context.job.plan.analysis.sink

    def recover(self) -> None:
        self._context.catalog.same(self._sink)

    def holds(self, batch: int) -> bool:
        return False  # it can't be told

    def discard(self) -> None:
        """Nothing is staged."""

    def close(self) -> None:
        """Nothing is kept."""


class PlainAppend(WithoutRecord):
    """Writer of one job's batches into any table that Spark can insert into."""

    def write(self, rows: DataFrame, batch: int) -> int | None:
        self._context.catalog.same(self._sink)
        rows.write.insertInto(self._sink.table)
        self._context.catalog.changed(self._sink.table, self._sink.location)
        return None


class PartitionOverwrite(WithoutRecord):
    """Writer of a batch job that replaces partitions: the job's own statement, run by Spark."""

    def write(self, rows: DataFrame, batch: int) -> int | None:
        self._context.catalog.same(self._sink)
        self._context.spark.sql(self._context.job.body.spark_text)
        self._context.catalog.changed(self._sink.table, self._sink.location)
        return None
