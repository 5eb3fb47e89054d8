"""Sinks that Spark writes natively, without a record of the written batches.

| sink | guarantee |
|---|---|
| `PlainAppend` | at least once: Spark's INSERT for each batch |
| `PartitionOverwrite` | an idempotent overwrite of partitions, in batch jobs |
| `KafkaAppend` | at least once: Spark's Kafka sink for each batch |
| `KafkaStream` | at least once: a stream that Spark writes without `foreachBatch` |

Real-time mode needs `KafkaStream`, and so does asynchronous progress tracking (see
`jetsql.jobs.planning.progress_tracking`), which Spark supports only for its own sinks.
"""

from __future__ import annotations

from functools import cached_property

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from jetsql.engine.sinks import BatchWriter, SinkContext, StreamWriter, TableSink
from jetsql.engine.sinks.kafka.messages import TopicTable, add_headers, delivery_headers
from jetsql.engine.sinks.partition_overwrite import overwrite_confs, with_confs
from jetsql.jobs.model.job_options import Trigger
from jetsql.jobs.planning.progress_tracking import tracks_asynchronously


class UntrackedSink(TableSink):
    """The base of sinks without a record of the written batches."""

    def __init__(self, context: SinkContext) -> None:
        self._context = context
        self._sink = context.sink_plan.sink

    def recover(self) -> None:
        self._context.catalog.require_sink_table(self._sink)

    def has_batch(self, batch: int) -> bool:
        return False  # the sink cannot know


class PlainAppend(UntrackedSink, BatchWriter):
    """A sink that writes batches to any table that Spark can insert into."""

    def write(self, rows: DataFrame, batch: int) -> int | None:
        self._context.catalog.require_sink_table(self._sink)
        rows.write.insertInto(self._sink.table)
        self._context.catalog.refresh(self._sink.table, self._sink.location)
        return None


class PartitionOverwrite(UntrackedSink, BatchWriter):
    """A sink that lets Spark run the INSERT OVERWRITE of a batch job, which replaces partitions."""

    def write(self, rows: DataFrame, batch: int) -> int | None:
        self._context.catalog.require_sink_table(self._sink)
        with with_confs(self._context.spark, overwrite_confs(self._sink)):
            self._context.spark.sql(self._context.job.body.spark_text)
        self._context.catalog.refresh(self._sink.table, self._sink.location)
        return None


class KafkaAppend(UntrackedSink, BatchWriter):
    """A sink that writes batches to a topic with Spark's Kafka sink."""

    def encode_rows(self, rows: DataFrame) -> DataFrame:
        return self._table.encode(rows, self._context.sink_plan.upsert)

    def write(self, rows: DataFrame, batch: int) -> int | None:
        table = self._context.catalog.require_sink_table(self._sink)
        messages = add_headers(rows, delivery_headers(table, self._context.job, batch))
        messages.write.format("kafka").options(**self._options).save()
        return None

    @cached_property
    def _table(self) -> TopicTable:
        return TopicTable(self._context.spark, self._sink.table, self._sink.columns)

    @cached_property
    def _options(self) -> dict[str, str]:
        return self._table.writer_options(in_batches=True)


class KafkaStream(UntrackedSink, StreamWriter):
    """A sink that lets Spark's Kafka sink write the stream to a topic."""

    def attach(self, rows: DataFrame, once: bool) -> DataStreamWriter:
        self._context.catalog.require_sink_table(self._sink)
        plan = self._context.job.plan
        table = TopicTable(self._context.spark, self._sink.table, self._sink.columns)
        messages = table.encode(rows, self._context.sink_plan.upsert)
        options = table.writer_options(in_batches=plan.options.trigger is not Trigger.REAL_TIME)
        if tracks_asynchronously(plan) and not once:
            options["asyncProgressTrackingEnabled"] = "true"
            options["asyncProgressTrackingCheckpointIntervalMs"] = str(plan.interval_millis)
        return messages.writeStream.format("kafka").options(**options)
