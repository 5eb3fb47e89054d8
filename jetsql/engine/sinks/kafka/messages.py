"""Encode rows of a job as messages for a topic, with the headers by which readers drop duplicates."""

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
    """A table USING kafka as it was when this was made: a look-up for each batch would be much of a small one."""

    def __init__(self, spark: SparkSession, name: str) -> None:
        _, schema, table = name.split(".", 2)
        self._java = java(spark).kafka.KafkaTable.load(spark._jsparkSession, schema, table)

    def encode(self, rows: DataFrame, job: Job) -> DataFrame:
        """Return the rows with the message columns that the table defines."""
        return DataFrame(self._java.messages(rows._jdf, job.plan.upsert), rows.sparkSession)

    def encode_all_columns(self, rows: DataFrame, job: Job) -> DataFrame:
        """Return the rows with all message columns: key, value, headers, topic, partition, in this order."""
        return DataFrame(self._java.fullMessages(rows._jdf, job.plan.upsert), rows.sparkSession)

    def writer_options(self, in_batches: bool) -> dict[str, str]:
        """Return the options for the connector's writer, with the values of secrets.

        in_batches: messages may wait for others. Asks the broker for the greatest size of a batch of messages.
        """
        options: dict[str, str] = json.loads(self._java.writeOptions(in_batches))
        return options


def delivery_headers(table: TableFacts, job: Job, batch: int) -> dict[str, str]:
    """Return the headers that are added to each message of a batch, if the table's OPTIONS ask for them."""
    enabled = table.option("delivery.headers").lower() == "true"
    return {"jetsql-job": job.id, "jetsql-batch": str(batch)} if enabled else {}


def add_headers(messages: DataFrame, added: dict[str, str]) -> DataFrame:
    """Return the messages with additional headers."""
    if not added:
        return messages
    more = sf.array(
        *(sf.struct(sf.lit(name).alias("key"), sf.lit(text.encode()).alias("value")) for name, text in added.items())
    )
    own = next((column for column in messages.columns if column.lower() == "headers"), None)
    both = more if own is None else sf.concat(sf.coalesce(sf.col(own), sf.array().cast(_HEADERS)), more)
    return messages.withColumn("headers", both.cast(_HEADERS))
