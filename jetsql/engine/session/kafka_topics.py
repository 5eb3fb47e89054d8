"""Kafka topics behind tables USING kafka: which they are, in which cluster, and whether they can be reached.

A topic is asked for by Kafka's own client, since Spark's source goes on asking for minutes without a word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from jetsql.engine.errors.kafka_errors import At, KafkaFailure, KafkaOperation, refusal, short_kind
from jetsql.engine.jvm.java_classes import java, revealed
from jetsql.engine.session.catalog import TableFacts

_ASK_MILLIS: Final = 5_000
_WAITS: Final = {"request.timeout.ms": str(_ASK_MILLIS), "default.api.timeout.ms": str(_ASK_MILLIS)}


@dataclass(frozen=True)
class Topic:
    """name: empty where a table stands for more than one. servers: the cluster's addresses, as the table gives them."""

    name: str
    servers: str

    @classmethod
    def of(cls, table: TableFacts) -> Topic:
        return cls(table.option("topic"), table.option("kafka.bootstrap.servers"))

    @property
    def words(self) -> str:
        """As people see it."""
        return f"Kafka {self.servers}, topic {self.name}"


def ask_topic(spark: SparkSession, table: TableFacts, doing: KafkaOperation) -> None:
    """Whether a table's topic is there and its user may see it; doing: what the job does with it.

    Raises StatementError EXTERNAL_SYSTEM_UNAVAILABLE, SOURCE_NOT_READY, SINK_NOT_READY.
    """
    java(spark).kafka.KafkaConnector.load(spark._jsparkSession)
    topic, conf = Topic.of(table), revealed(spark, _client_conf(table.options))
    try:
        _describe(spark, topic.name, conf)
    except Py4JJavaError as error:
        at = At(doing, f"Kafka {topic.servers}", topic.name, conf)
        raise refusal(_failure(error.java_exception), at) from error


def _client_conf(options: Mapping[str, str]) -> dict[str, str]:
    """What a table's options say of Kafka's client, with our own waits."""
    return {key[6:]: value for key, value in options.items() if key.lower().startswith("kafka.")} | _WAITS


def _describe(spark: SparkSession, topic: str, conf: Mapping[str, str]) -> None:
    with _client(spark, conf) as client:
        if topic:
            jvm: Any = spark.sparkContext._jvm
            asked = client.describeTopics(jvm.java.util.List.of(topic)).allTopicNames()
        else:
            asked = client.listTopics().names()
        asked.get()


@contextmanager
def _client(spark: SparkSession, conf: Mapping[str, str]) -> Iterator[Any]:
    """Kafka's own client for questions."""
    jvm: Any = spark.sparkContext._jvm
    given = jvm.java.util.HashMap()
    for key, value in conf.items():
        given.put(key, value)
    client = jvm.org.apache.kafka.clients.admin.AdminClient.create(given)
    try:
        yield client
    finally:
        client.close(jvm.java.time.Duration.ofMillis(0))


def _failure(throwable: Any) -> KafkaFailure:
    while throwable.getCause() is not None:
        throwable = throwable.getCause()
    return KafkaFailure(short_kind(str(throwable.getClass().getName())), str(throwable.getMessage()), "connect")
