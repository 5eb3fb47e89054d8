"""Check the Kafka topics of tables USING kafka, with short timeouts.

JetSQL uses Kafka's admin client, because Spark's source waits for minutes without a log line.
"""

from __future__ import annotations

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
    topic, conf = KafkaTopic.of_table(table), revealed(spark, _client_conf(table.options))
    try:
        _describe(spark, topic.name, conf)
    except Py4JJavaError as error:
        request = KafkaRequest(operation, f"Kafka {topic.servers}", topic.name, conf)
        raise explain_failure(_innermost_failure(error.java_exception), request) from error


def _client_conf(options: Mapping[str, str]) -> dict[str, str]:
    """Return the client settings in a table's OPTIONS, with short timeouts."""
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


def _innermost_failure(throwable: Any) -> KafkaFailure:
    *_, innermost = causes(throwable)
    return KafkaFailure(short_class_name(class_name(innermost)), str(innermost.getMessage()), "connect")
