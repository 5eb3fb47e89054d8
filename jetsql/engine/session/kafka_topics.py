"""Check the Kafka topics of tables USING kafka, with short timeouts.

JetSQL uses Kafka's admin client, because Spark's source waits for minutes without a log line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from jetsql.engine.errors.kafka_errors import (
    KafkaFailure,
    KafkaOperation,
    KafkaRequest,
    explain_failure,
    short_class_name,
)
from jetsql.engine.jvm.java_classes import java, revealed
from jetsql.engine.jvm.throwables import causes, class_name
from jetsql.engine.session.catalog import TableFacts

_TIMEOUT_MILLIS: Final = 5_000
_TIMEOUTS: Final = {"request.timeout.ms": str(_TIMEOUT_MILLIS), "default.api.timeout.ms": str(_TIMEOUT_MILLIS)}


@dataclass(frozen=True)
class KafkaTopic:
    """The topic of a table."""

    name: str
    """The topic's name; empty when the table has more than one topic."""
    servers: str
    """The cluster's addresses as in the table's OPTIONS."""

    @classmethod
    def of_table(cls, table: TableFacts) -> KafkaTopic:
        """Return the topic that a table's OPTIONS name."""
        return cls(table.option("topic"), table.option("kafka.bootstrap.servers"))

    @property
    def description(self) -> str:
        """Return the cluster and topic as messages name them."""
        return f"Kafka {self.servers}, topic {self.name}"


def check_topic(spark: SparkSession, table: TableFacts, operation: KafkaOperation) -> None:
    """Check that a table's topic exists and that its user may describe it.

    Raises StatementError EXTERNAL_SYSTEM_UNAVAILABLE, SOURCE_NOT_READY, SINK_NOT_READY.
    operation: the job's operation on the topic, for the message.
    """
    java(spark).kafka.KafkaConnector.load(spark._jsparkSession)
    topic, conf = KafkaTopic.of_table(table), revealed(spark, client_conf(table.options))
    try:
        _describe(spark, topic.name, conf)
    except Py4JJavaError as error:
        request = KafkaRequest(operation, f"Kafka {topic.servers}", topic.name, conf)
        raise explain_failure(innermost_failure(error.java_exception), request) from error


def client_conf(options: Mapping[str, str]) -> dict[str, str]:
    """Return the client settings in a table's OPTIONS, with short timeouts and references to secrets."""
    return {key[6:]: value for key, value in options.items() if key.lower().startswith("kafka.")} | _TIMEOUTS


def _describe(spark: SparkSession, topic: str, conf: Mapping[str, str]) -> None:
    with _client(spark, conf) as client:
        if topic:
            jvm: Any = spark.sparkContext._jvm
            result = client.describeTopics(jvm.java.util.List.of(topic)).allTopicNames()
        else:
            result = client.listTopics().names()
        result.get()


@contextmanager
def _client(spark: SparkSession, conf: Mapping[str, str]) -> Iterator[Any]:
    """Open an admin client of Kafka during the context."""
    jvm: Any = spark.sparkContext._jvm
    properties = jvm.java.util.HashMap()
    for key, value in conf.items():
        properties.put(key, value)
    client = jvm.org.apache.kafka.clients.admin.AdminClient.create(properties)
    try:
        yield client
    finally:
        client.close(jvm.java.time.Duration.ofMillis(0))


class TopicReader:
    """Reads the ids of a table's topics. Kafka gives a topic that is deleted and created again another id.

    It keeps its connection until `close`.
    """

    def __init__(self, spark: SparkSession, table: TableFacts, operation: KafkaOperation) -> None:
        """Create it without a connection. operation: the job's operation on the topics, for messages"""
        self._spark = spark
        self._table = table
        self._operation = operation
        self._client: Any = None

    def read_ids(self) -> dict[str, str]:
        """Return the ids by topic, without topics that do not exist and without ids that the broker does not have.

        Raises StatementError EXTERNAL_SYSTEM_UNAVAILABLE, SOURCE_NOT_READY, SINK_NOT_READY.
        """
        names, pattern = list_topics(self._table), self._table.option("subscribepattern")
        conf = revealed(self._spark, client_conf(self._table.options))
        try:
            if self._client is None:
                self._client = java(self._spark).kafka.topics.TopicReader.open(json.dumps(conf))
            text = self._client.matchingIds(pattern) if pattern else self._client.ids(json.dumps(names))
        except Py4JJavaError as error:
            topic = KafkaTopic.of_table(self._table)
            request = KafkaRequest(self._operation, f"Kafka {topic.servers}", topic.name or pattern, conf)
            raise explain_failure(innermost_failure(error.java_exception), request) from error
        ids: dict[str, str] = json.loads(text)
        return ids

    def close(self) -> None:
        """Close the connection. The next read opens another one."""
        client, self._client = self._client, None
        if client is not None:
            client.close()


def list_topics(table: TableFacts) -> list[str]:
    """Return the topics that a table's OPTIONS name: none for one with a pattern, or whose rows name their topics."""
    if table.option("assign"):
        return sorted(json.loads(table.option("assign")))
    names = table.option("topic") or table.option("subscribe")
    return [name.strip() for name in names.split(",") if name.strip()]


def innermost_failure(throwable: Any, step: str = "connect") -> KafkaFailure:
    """Return the failure of a Java error: the innermost one, because Kafka wraps its errors several times.

    step: the step of the client that failed, see `KafkaFailure`.
    """
    *_, innermost = causes(throwable)
    return KafkaFailure(short_class_name(class_name(innermost)), str(innermost.getMessage()), step)
