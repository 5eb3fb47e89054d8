"""Sinks: how a batch gets into a table, one module for each kind of table.

A sink's `write` may be called again with the same batch after a crash, and leaves the table as after one call. It
reads every row of every partition even when the batch is in the table: Spark commits a task's state when its rows
have been read to the end, so a sink that returned early would break a stateful job for good.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from jetsql.engine.checkpoints.checkpoint_folders import Checkpoints
from jetsql.engine.session.catalog import Catalog
from jetsql.jobs.model.job import Job


@dataclass(frozen=True)
class SinkContext:
    """What a sink works with."""

    job: Job
    spark: SparkSession
    catalog: Catalog
    checkpoints: Checkpoints
    single_file_bytes: int
    old_versions_seconds: float
    """How long replaced snapshots of a table are kept."""
    notice: Callable[[str], None]
    """Adds a message to the job's history."""


class TableSink(Protocol):
    """The sink of one job, whether Spark or JetSQL writes the rows."""

    def recover(self) -> None:
        """Finish a batch that a crash left half visible. Raises StatementError SINK_CHANGED for another table."""

    def has_batch(self, batch: int) -> bool:
        """Return whether the batch is in the table, or sure to get there, so that writing it again changes nothing."""

    def discard(self) -> None:
        """Delete what is staged and not visible; visible rows stay."""

    def close(self) -> None:
        """Release what was kept between batches, after the run has ended."""


class BatchWriter(TableSink, Protocol):
    """A sink that JetSQL writes batch by batch."""

    def write(self, rows: DataFrame, batch: int) -> int | None:
        """Write a batch once, however often this is called. Return the row count, or None when it is not counted."""


@runtime_checkable
class StreamWriter(TableSink, Protocol):
    """A sink that Spark writes natively, without `foreachBatch`."""

    def attach(self, rows: DataFrame, once: bool) -> DataStreamWriter:
        """Return Spark's stream writer, to be started, for the rows. once: for one batch only."""


SinkWriter = BatchWriter | StreamWriter


@runtime_checkable
class EncodingWriter(BatchWriter, Protocol):
    """A sink whose table has another row format. The encoding is part of the query, planned once with it."""

    def encode_rows(self, rows: DataFrame) -> DataFrame:
        """Return a query's rows as `write` takes them."""


def encode_rows(rows: DataFrame, writer: SinkWriter) -> DataFrame:
    """Return a query's rows as a sink takes them."""
    return writer.encode_rows(rows) if isinstance(writer, EncodingWriter) else rows


def consume_rows(rows: DataFrame) -> None:
    """Read every row of every partition and keep none."""
    rows.write.format("noop").mode("overwrite").save()
