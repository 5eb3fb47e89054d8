"""Kafka topics by Spark's own sink: at least once, and the only way there in real-time mode."""

from __future__ import annotations

import json
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from jetsql.engine.jvm import bridge
from jetsql.engine.sinks.append import WithoutRecord

# A message goes as it comes: waiting for a second one would be most of the time that it takes.
_AT_ONCE: Final = {"kafka.linger.ms": "0"}


class KafkaStream(WithoutRecord):
    """A stream into one topic."""

    def attach(self, rows: DataFrame) -> DataStreamWriter:
        spark, table = self._context.spark, self._context.catalog.same(self._sink)
        _, schema, name = table.name.split(".", 2)
        java, session = bridge(spark), spark._jsparkSession
        messages = java.kafkaMessages(session, schema, name, rows._jdf, self._context.job.plan.upsert)
        options: dict[str, str] = json.loads(java.kafkaWriting(session, schema, name, False))
        given = {key.lower() for key in options}
        more = {key: value for key, value in _AT_ONCE.items() if key not in given}
        return DataFrame(messages, spark).writeStream.format("kafka").options(**options, **more)

    def write(self, rows: DataFrame, batch: int) -> int | None:
        raise NotImplementedError("Spark goes this way by itself.")
