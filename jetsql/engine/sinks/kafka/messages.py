"""Rows of a job as messages for a topic, and what each of them carries for readers that drop repeats."""

from __future__ import annotations

import json
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from jetsql.engine.jvm.java_classes import java
from jetsql.engine.session.catalog import TableFacts
from jetsql.jobs.model.job import Job

_HEADERS: Final = "array<struct<key: string, value: binary>>"


class TopicTable:
    """A table USING kafka as it is at this moment: asking the catalogue for each batch would be much of a small one."""

    def __init__(self, spark: SparkSession, name: str) -> None:
        _, schema, table = name.split(".", 2)
        self._java = java(spark).kafka.KafkaTable.load(spark._jsparkSession, schema, table)

    def messages(self, rows: DataFrame, job: Job) -> DataFrame:
        """With the columns that the table gives them."""
        return DataFrame(self._java.messages(rows._jdf, job.plan.upsert), rows.sparkSession)

    def whole_messages(self, rows: DataFrame, job: Job) -> DataFrame:
        """With all columns, in the order in which parts are written: key, value, headers, topic, partition."""
        return DataFrame(self._java.fullMessages(rows._jdf, job.plan.upsert), rows.sparkSession)

    def options(self, in_batches: bool) -> dict[str, str]:
        """For the connector's writer, with the secrets that they name. in_batches: messages may wait for others. The
        broker is asked how large batches may be."""
        options: dict[str, str] = json.loads(self._java.writeOptions(in_batches))
        return options


def headers(table: TableFacts, job: Job, batch: int) -> dict[str, str]:
    """What is added to each message of a batch, where the table asks for it."""
    asked = table.option("delivery.headers").lower() == "true"
    return {"jetsql-job": job.id, "jetsql-batch": str(batch)} if asked else {}


def with_headers(messages: DataFrame, added: dict[str, str]) -> DataFrame:
    if not added:
        return messages
    more = sf.array(
        *(sf.struct(sf.lit(name).alias("key"), sf.lit(text.encode()).alias("value")) for name, text in added.items())
    )
    own = next((column for column in messages.columns if column.lower() == "headers"), None)
    both = more if own is None else sf.concat(sf.coalesce(sf.col(own), sf.array().cast(_HEADERS)), more)
    return messages.withColumn("headers", both.cast(_HEADERS))
