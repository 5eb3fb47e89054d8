"""Kafka topics behind tables USING kafka: which they are, in which cluster, and whether they can be read.

A topic is asked for by Kafka's own client, since Spark's source goes on asking for minutes without a word.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from jetsql.engine.catalog import TableFacts
from jetsql.engine.jvm import bridge, revealed
from jetsql.engine.sinks.kafka_refusals import user_of
from jetsql.errors import StatementError
from jetsql.jobs.secrets import hide

_ASK_MILLIS: Final = 5_000


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


def ask_source(spark: SparkSession, table: TableFacts) -> None:
    """Whether a table's topic is there and may be read.

    Raises StatementError EXTERNAL_SYSTEM_UNAVAILABLE, SOURCE_NOT_READY.
    """
    bridge(spark).loadKafka(spark._jsparkSession)
    topic, conf = Topic.of(table), _client_conf(spark, table)
    try:
        _describe(spark, topic.name, conf)
    except Py4JJavaError as error:
        raise _refusal(topic, conf, error.java_exception) from error


def _client_conf(spark: SparkSession, table: TableFacts) -> dict[str, str]:
    given = {key[6:]: value for key, value in table.options.items() if key.lower().startswith("kafka.")}
    waits = {"request.timeout.ms": str(_ASK_MILLIS), "default.api.timeout.ms": str(_ASK_MILLIS)}
    return revealed(spark, given) | waits


def _describe(spark: SparkSession, topic: str, conf: Mapping[str, str]) -> None:
    jvm: Any = spark.sparkContext._jvm
    given = jvm.java.util.HashMap()
    for key, value in conf.items():
        given.put(key, value)
    client = jvm.org.apache.kafka.clients.admin.AdminClient.create(given)
    try:
        if topic:
            asked = client.describeTopics(jvm.java.util.List.of(topic)).allTopicNames()
        else:
            asked = client.listTopics().names()
        asked.get()
    finally:
        client.close(jvm.java.time.Duration.ofMillis(0))


def _refusal(topic: Topic, conf: Mapping[str, str], throwable: Any) -> StatementError:
    while throwable.getCause() is not None:
        throwable = throwable.getCause()
    kind = str(throwable.getClass().getSimpleName())
    said = hide(" ".join(str(throwable.getMessage()).split()), dict(conf))
    server, where = f"Kafka {topic.servers}", topic.words
    user = user_of(conf)
    if kind == "UnknownTopicOrPartitionException":
        message = f"{server} has no topic {topic.name}."
        return StatementError("SOURCE_NOT_READY", message, hint="Create it there first.", where=where)
    if kind == "TopicAuthorizationException":
        message = f"{server} doesn't let {user} read the topic {topic.name}."
        return StatementError("SOURCE_NOT_READY", message, hint="Allow READ and DESCRIBE on it there.", where=where)
    if "Authentication" in kind:
        message = f"{server} does not accept the credentials of {user}: {said}"
        return StatementError("SOURCE_NOT_READY", message, where=where)
    message = f"{server} can't be reached: {said}"
    return StatementError("EXTERNAL_SYSTEM_UNAVAILABLE", message, where=where)
