"""Encode the rows of a job as messages for a topic, with headers that allow readers to drop duplicates."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from jetsql.engine.jvm.java_classes import java
from jetsql.engine.session.catalog import TableFacts
from jetsql.jobs.model.job import Job

_HEADERS: Final = "array<struct<key: string, value: binary>>"


class TopicTable:
    """The definition of a table USING kafka, read once: reading it for each batch would slow down small batches.

    columns: those that a job writes; empty for all columns of the table
    """

    def __init__(self, spark: SparkSession, name: str, columns: Sequence[str] = ()) -> None:
        _, schema, table = name.split(".", 2)
        known = json.dumps(columns) if columns else None
        self._java = java(spark).kafka.KafkaTable.load(spark._jsparkSession, schema, table, known)

    def check_encoding(self) -> None:
        """Register the schema of the messages if the table has a schema registry.

        Raises PySpark's AnalysisException with the condition JETSQL.SINK_NOT_READY or EXTERNAL_SYSTEM_UNAVAILABLE.
        """
        self._java.checkEncoding()

    def encode(self, rows: DataFrame, keyed: bool) -> DataFrame:
        """Return the rows with the message columns that the table defines. keyed: whether messages have keys"""
        return DataFrame(self._java.messages(rows._jdf, keyed), rows.sparkSession)

    def encode_all_columns(self, rows: DataFrame, keyed: bool) -> DataFrame:
        """Return the rows with all message columns in this order: key, value, headers, topic, partition."""
        return DataFrame(self._java.fullMessages(rows._jdf, keyed), rows.sparkSession)

    def encode_numbered(self, rows: DataFrame, keyed: bool, number: str) -> DataFrame:
        """Return the rows with all message columns after that of their numbers, which is their last column."""
        return DataFrame(self._java.numberedMessages(rows._jdf, keyed, number), rows.sparkSession)

    def writer_options(self, in_batches: bool) -> dict[str, str]:
        """Return the options for the connector's writer, with the values of secrets.

        The method requests the maximum size of a batch of messages from the broker.
        in_batches: whether messages may wait to be sent together.
        """
        options: dict[str, str] = json.loads(self._java.writeOptions(in_batches))
        return options


def delivery_headers(table: TableFacts, job: Job, batch: int) -> dict[str, str]:
    """Return the headers for each message of a batch; empty unless the table has the option `delivery.headers`."""
    enabled = table.option("delivery.headers").lower() == "true"
    return {"jetsql-job": job.id, "jetsql-batch": str(batch)} if enabled else {}


def add_headers(messages: DataFrame, added: dict[str, str]) -> DataFrame:
    """Return the messages with additional headers."""
    if not added:
        return messages
    added_headers = sf.array(
        *(sf.struct(sf.lit(name).alias("key"), sf.lit(text.encode()).alias("value")) for name, text in added.items())
    )
    column = next((name for name in messages.columns if name.lower() == "headers"), None)
    if column is None:
        headers = added_headers
    else:
        headers = sf.concat(sf.coalesce(sf.col(column), sf.array().cast(_HEADERS)), added_headers)
    return messages.withColumn("headers", headers.cast(_HEADERS))
