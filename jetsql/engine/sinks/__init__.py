"""Sinks, which write batches to tables: one module for each kind of table, chosen by `sink_kinds`.

A sink's `write` may be called again with the same batch after a crash; the table is then the same as after one call.
A sink reads every row of every partition even when the batch is already in the table: Spark commits a task's state when
its rows have been read to the end, so a sink that returned early would permanently break a stateful job.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from jetsql.engine.checkpoints.checkpoint_folders import Checkpoints
from jetsql.engine.jvm.java_classes import java
from jetsql.engine.session.catalog import Catalog
from jetsql.jobs.model.job import Job, RuleCount, SinkPlan


@dataclass(frozen=True)
class SinkContext:
    """The job, the services and the settings of a sink."""

    job: Job
    """The job that writes."""
    sink_plan: SinkPlan
    """The table to write, and the decisions for it."""
    spark: SparkSession
    """The session of the job's run."""
    catalog: Catalog
    """The catalogue with the sink's table."""
    checkpoints: Checkpoints
    """The folders of all jobs."""
    single_file_bytes: int
    """The size up to which a batch is written as one file."""
    old_versions_seconds: float
    """The time for which replaced snapshots of a table are kept."""
    notice: Callable[[str], None]
    """Adds a message to the job's history."""
    counted: Callable[[tuple[RuleCount, ...]], None] = lambda counts: None
    """Receives the counts of the job's rules after each batch."""
    keeps_replaced: Callable[[], bool] = lambda: False
    """Returns whether replaced snapshots of a table stay for now, because a backup copies files."""
    number: int = 0
    """The number of the sink in the job, from 0."""
    query: Any = None
    """The streaming query whose batches the sink gets unchanged, a LogicalPlan of Spark, or None."""

    def check_leader(self) -> None:
        """Check, right before rows become visible, that this engine still leads. Raises StatementError JOB_IN_USE."""
        self.checkpoints.leadership.check()

    @property
    def writer_id(self) -> str:
        """Return the id under which the sink records its batches: each sink of a job has its own."""
        return f"{self.job.id}-sink{self.number}" if self.number else self.job.id


@dataclass(frozen=True)
class ExternalSystem:
    """The system of a table outside of Spark's file systems."""

    name: str = ""  # without secrets; empty for tables in files
    transactional: bool = True  # a batch and its number can be written in one transaction


class TableSink(ABC):
    """The sink of one job, regardless of whether Spark or JetSQL writes the rows."""

    @abstractmethod
    def recover(self) -> None:
        """Finish a batch that a crash left partly visible. Raises StatementError SINK_CHANGED for another table."""

    @abstractmethod
    def has_batch(self, batch: int) -> bool:
        """Return whether the batch is in the table, or will be, so that writing it again changes nothing."""

    def encode_rows(self, rows: DataFrame) -> DataFrame:
        """Return a query's rows in the format of the sink, by default unchanged.

        The encoding is part of the query, so Spark plans it once.
        """
        return rows

    def discard(self) -> None:  # noqa: B027 - most sinks stage nothing
        """Delete staged rows that are not visible; visible rows stay. By default, nothing is staged."""

    def close(self) -> None:  # noqa: B027 - most sinks keep no resources
        """Release the resources that were kept between batches, after the run has ended. By default, there are none."""


class BatchWriter(TableSink):
    """A sink whose batches JetSQL writes."""

    @abstractmethod
    def write(self, rows: DataFrame, batch: int) -> int | None:
        """Write a batch, once even if called again. Return the row count, or None if it was not counted."""


class StreamWriter(TableSink):
    """A sink that Spark writes natively, without `foreachBatch`."""

    @abstractmethod
    def attach(self, rows: DataFrame, once: bool) -> DataStreamWriter:
        """Return Spark's stream writer for the rows, not started. once: whether to write a single batch."""


SinkWriter = BatchWriter | StreamWriter


class ComparedWriter(BatchWriter):
    """A sink that knows without a record of the batch whether it is ahead of a checkpoint."""

    @abstractmethod
    def is_ahead(self, batch: int) -> bool:
        """Return whether the sink has a batch or later ones, of which the job's folder has no record."""


class WrappingSink(BatchWriter):
    """A sink that adds something to the batches of another one, and by default changes nothing."""

    def __init__(self, writer: BatchWriter) -> None:
        self._writer = writer

    def recover(self) -> None:
        self._writer.recover()

    def encode_rows(self, rows: DataFrame) -> DataFrame:
        return self._writer.encode_rows(rows)

    def write(self, rows: DataFrame, batch: int) -> int | None:
        return self._writer.write(rows, batch)

    def has_batch(self, batch: int) -> bool:
        return self._writer.has_batch(batch)

    def discard(self) -> None:
        self._writer.discard()

    def close(self) -> None:
        self._writer.close()


def is_ahead(writer: SinkWriter, batch: int) -> bool:
    """Return whether the sink has a batch that the job's checkpoint has not planned, which then is an older copy."""
    return writer.is_ahead(batch) if isinstance(writer, ComparedWriter) else writer.has_batch(batch)


@contextmanager
def stored_rows(rows: DataFrame) -> Iterator[DataFrame]:
    """Return the rows of a batch, stored within the block, for a sink that reads them more than once.

    The state of their query is not written twice, and they are the same each time.
    """
    session = rows.sparkSession
    stored = DataFrame(java(session).stream.Batches.withoutOrdering(rows._jdf), session).persist()
    try:
        yield stored
    finally:
        stored.unpersist()


def consume_rows(rows: DataFrame) -> None:
    """Read every row of every partition and write none."""
    rows.write.format("noop").mode("overwrite").save()
