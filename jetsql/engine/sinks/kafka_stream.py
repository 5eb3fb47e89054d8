"""Kafka topics by Spark's own sink, at least once: batch by batch, or as a stream that Spark leads there by itself.

By itself in real-time mode, which knows no other way, and where Spark notes beside the batches how far a query is (see
`jetsql.jobs.tracking`), which it does for its own sinks only.
"""

from __future__ import annotations

import json

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from jetsql.engine.jvm import bridge
from jetsql.engine.sinks import SinkContext
from jetsql.engine.sinks.append import WithoutRecord
from jetsql.engine.sinks.messages import headers, messages_of, with_headers
from jetsql.jobs.model import Trigger
from jetsql.jobs.tracking import tracks_beside


def _options(context: SinkContext, in_batches: bool) -> dict[str, str]:
    """For the connector's writer. in_batches: messages may wait for others."""
    _, schema, name = context.job.plan.analysis.sink.table.split(".", 2)
    told = bridge(context.spark).kafkaWriting(context.spark._jsparkSession, schema, name, in_batches)
    options: dict[str, str] = json.loads(told)
    return options


class KafkaAppend(WithoutRecord):
    """Writer of one job's batches into a topic."""

    def write(self, rows: DataFrame, batch: int) -> int | None:
        job, table = self._context.job, self._context.catalog.same(self._sink)
        messages = with_headers(messages_of(rows, job), headers(table, job, batch))
        messages.write.format("kafka").options(**_options(self._context, in_batches=True)).save()
        return None


class KafkaStream(WithoutRecord):
    """A stream into one topic."""

    def attach(self, rows: DataFrame, once: bool) -> DataStreamWriter:
        self._context.catalog.same(self._sink)
        plan = self._context.job.plan
        messages = messages_of(rows, self._context.job)
        options = _options(self._context, in_batches=plan.trigger is not Trigger.REAL_TIME)
        if tracks_beside(plan) and not once:
            options["asyncProgressTrackingEnabled"] = "true"
            options["asyncProgressTrackingCheckpointIntervalMs"] = str(plan.interval_millis)
        return messages.writeStream.format("kafka").options(**options)

    def write(self, rows: DataFrame, batch: int) -> int | None:
        raise NotImplementedError("Spark goes this way by itself.")
