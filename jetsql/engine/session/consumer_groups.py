"""Set the offsets of consumer groups, with Kafka's admin client and the settings of a table USING kafka."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from jetsql.engine.errors.kafka_errors import KafkaOperation, KafkaRequest, explain_failure
from jetsql.engine.jvm.java_classes import java, revealed
from jetsql.engine.session.catalog import TableFacts
from jetsql.engine.session.kafka_topics import KafkaTopic, client_conf, innermost_failure, list_topics

Offsets = Mapping[str, Mapping[str, int]]
"""The next offsets to read, by topic and partition, as in the offsets of Spark's checkpoint."""


class GroupOffsets:
    """The offsets of a group in the cluster of a table. It keeps its connection until an error, or until `close`."""

    def __init__(self, spark: SparkSession, table: TableFacts, group: str) -> None:
        """Create it without a connection."""
        self._spark = spark
        self._table = table
        self._group = group
        self._conf: dict[str, str] = {}
        self._client: Any = None

    def set(self, offsets: Offsets) -> None:
        """Set offsets of the group, and wait until the broker has stored them.

        Raises StatementError EXTERNAL_SYSTEM_UNAVAILABLE, EXTERNAL_SYSTEM_ERROR, and PySpark's AnalysisException
        SECRET_NOT_READABLE. The broker may have stored the offsets of some partitions then.
        """
        client = self._client
        try:
            if client is None:
                self._conf = revealed(self._spark, client_conf(self._table.options))
                client = java(self._spark).kafka.topics.GroupOffsets.open(json.dumps(self._conf))
                self._client = client
            client.set(self._group, json.dumps(offsets))
        except Py4JJavaError as error:
            self.close()  # the next call reads secrets again
            failure = innermost_failure(error.java_exception, "connect" if client is None else "set")
            topic = KafkaTopic.of_table(self._table)
            names = topic.name or self._table.option("subscribepattern") or ", ".join(list_topics(self._table))
            request = KafkaRequest(KafkaOperation.COMMIT, f"Kafka {topic.servers}", names, self._conf, self._group)
            raise explain_failure(failure, request) from error

    def close(self) -> None:
        """Close the connection: a call of `set` in another thread fails. The next call opens another connection."""
        client, self._client = self._client, None
        if client is not None:
            client.close()
