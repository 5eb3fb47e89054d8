"""Sinks: how a batch gets into a table, one module a way.

A writer's `write` may be called again with the same batch after a death, and leaves the table as after one call.
It reads every row of every partition even when the batch is in already: Spark commits a task's state when its rows
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
    """What a writer works with. notice: words for the job's history."""

    job: Job
    spark: SparkSession
    catalog: Catalog
    checkpoints: Checkpoints
    single_file_bytes: int
    old_versions_seconds: float
    notice: Callable[[str], None]


class TableSink(Protocol):
    """One job's way into its table, whoever leads the rows there."""

    def recover(self) -> None:
        """Finish a batch that a death left half visible. Raises StatementError SINK_CHANGED for another table."""

    def has_batch(self, batch: int) -> bool:
        """Whether the batch is in the table, or sure to get there, so that writing it again changes nothing."""

    def discard(self) -> None:
        """Delete what is staged and not visible; visible rows stay."""

    def close(self) -> None:
        """The run has ended: let go what was kept from batch to batch."""


class BatchWriter(TableSink, Protocol):
    """A way into a table that is gone batch by batch."""

    def write(self, rows: DataFrame, batch: int) -> int | None:
        """Bring a batch into the table, once however often it is called. Returns the rows, None when not counted."""


@runtime_checkable
class StreamWriter(TableSink, Protocol):
    """A way into a table that Spark goes by itself: its batches don't come by here."""

    def attach(self, rows: DataFrame, once: bool) -> DataStreamWriter:
        """Lead a stream into the table: the writer of Spark's to be started. once: for one batch only."""


SinkWriter = BatchWriter | StreamWriter


@runtime_checkable
class EncodingWriter(BatchWriter, Protocol):
    """A way into a table whose rows look otherwise there: that is done in the query itself, planned once with it."""

    def encode_rows(self, rows: DataFrame) -> DataFrame:
        """A query's rows as `write` takes them."""


def encode_rows(rows: DataFrame, writer: SinkWriter) -> DataFrame:
    """A query's rows as a writer takes them."""
    return writer.encode_rows(rows) if isinstance(writer, EncodingWriter) else rows


def consume_rows(rows: DataFrame) -> None:
    """Read every row of every partition and keep none."""
    rows.write.format("noop").mode("overwrite").save()
