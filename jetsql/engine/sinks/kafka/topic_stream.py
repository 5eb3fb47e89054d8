"""Kafka topics by Spark's own sink, at least once: batch by batch, or as a stream that Spark leads there by itself.

By itself in real-time mode, which knows no other way, and where Spark notes beside the batches how far a query is (see
`jetsql.jobs.planning.progress_tracking`), which it does for its own sinks only.
"""

from __future__ import annotations

from functools import cached_property

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from jetsql.engine.sinks.kafka.messages import TopicTable, headers, with_headers
from jetsql.engine.sinks.spark_sinks import WithoutRecord
from jetsql.jobs.model.job import Trigger
from jetsql.jobs.planning.progress_tracking import tracks_asynchronously


class KafkaAppend(WithoutRecord):
    """Writer of one job's batches into a topic."""

    def encoded(self, rows: DataFrame) -> DataFrame:
        return self._table.messages(rows, self._context.job)

    def write(self, rows: DataFrame, batch: int) -> int | None:
        table = self._context.catalog.same(self._sink)
        messages = with_headers(rows, headers(table, self._context.job, batch))
        messages.write.format("kafka").options(**self._options).save()
        return None

    @cached_property
    def _table(self) -> TopicTable:
        return TopicTable(self._context.spark, self._sink.table)

    @cached_property
    def _options(self) -> dict[str, str]:
        return self._table.options(in_batches=True)


class KafkaStream(WithoutRecord):
    """A stream into one topic."""

    def attach(self, rows: DataFrame, once: bool) -> DataStreamWriter:
        self._context.catalog.same(self._sink)
        plan = self._context.job.plan
        table = TopicTable(self._context.spark, self._sink.table)
        messages = table.messages(rows, self._context.job)
        options = table.options(in_batches=plan.trigger is not Trigger.REAL_TIME)
        if tracks_asynchronously(plan) and not once:
            options["asyncProgressTrackingEnabled"] = "true"
            options["asyncProgressTrackingCheckpointIntervalMs"] = str(plan.interval_millis)
        return messages.writeStream.format("kafka").options(**options)
