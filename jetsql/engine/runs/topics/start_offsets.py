"""The offsets of topics at which a job begins, requested from the brokers with short timeouts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from jetsql.engine.errors.kafka_errors import KafkaOperation, KafkaRequest, explain_failure
from jetsql.engine.jvm.java_classes import java, revealed
from jetsql.engine.session.catalog import TableFacts
from jetsql.engine.session.kafka_topics import KafkaTopic, client_conf, innermost_failure, list_topics
from jetsql.errors import StatementError

Offsets = dict[str, dict[str, int]]
"""The offsets by topic and partition."""
Partitions = dict[str, list[int]]
"""The numbers of partitions by topic."""

FIRST: Final = -2
"""Spark's number for the first message of a partition."""
NEXT: Final = -1
"""Spark's number for the end of a partition."""

_SHOWN_PARTITIONS: Final = 32


@dataclass(frozen=True)
class OffsetClient:
    """A client of the cluster of a table. Its methods raise StatementError as `TopicReader`."""

    _java: Any
    _table: TableFacts
    _call: Callable[[Callable[[], str]], str]

    def partitions(self) -> Partitions:
        """Return the partitions of the table's topics."""
        assigned = self._table.option("assign")
        if assigned:
            return {topic: list(numbers) for topic, numbers in json.loads(assigned).items()}
        pattern, names = self._table.option("subscribepattern"), list_topics(self._table)
        request = (
            (lambda: self._java.partitionsLike(pattern))
            if pattern
            else (lambda: self._java.partitionsOf(json.dumps(names)))
        )
        partitions: Partitions = json.loads(self._call(request))
        return partitions

    def first(self, partitions: Partitions) -> Offsets:
        """Return the offsets of the first messages."""
        return self._offsets(lambda: self._java.first(json.dumps(partitions)))

    def next(self, partitions: Partitions) -> Offsets:
        """Return the offsets after the last messages."""
        return self._offsets(lambda: self._java.next(json.dumps(partitions)))

    def since(self, partitions: Partitions, millis: int) -> Offsets:
        """Return the offsets of the first messages since a time, or those after the last messages."""
        return self._offsets(lambda: self._java.since(json.dumps(partitions), millis))

    def _offsets(self, request: Callable[[], str]) -> Offsets:
        offsets: Offsets = json.loads(self._call(request))
        return offsets


@contextmanager
def offset_client(spark: SparkSession, table: TableFacts) -> Iterator[OffsetClient]:
    """Open a client of a table's cluster within the block."""
    java(spark).kafka.KafkaConnector.load(spark._jsparkSession)
    conf = revealed(spark, client_conf(table.options))
    topic = KafkaTopic.of_table(table)

    def call(request: Callable[[], Any]) -> Any:
        try:
            return request()
        except Py4JJavaError as error:
            asked = KafkaRequest(KafkaOperation.READ, f"Kafka {topic.servers}", topic.name, conf)
            explained = explain_failure(innermost_failure(error.java_exception), asked)
            explained.table = table.name
            raise explained from error

    opened = call(lambda: java(spark).kafka.topics.StartOffsets.open(json.dumps(conf)))
    try:
        yield OffsetClient(opened, table, call)
    finally:
        opened.close()


def check_offsets(client: OffsetClient, partitions: Partitions, given: Mapping[str, Mapping[str, int]]) -> Offsets:
    """Return the given offsets of topics, after comparing them with those that the topics have.

    Raises StatementError INVALID_START_MODE.
    """
    first, after_last = client.first(partitions), client.next(partitions)
    return {topic: _check_topic(topic, given.get(topic, {}), first[topic], after_last[topic]) for topic in partitions}


def _check_topic(
    topic: str, given: Mapping[str, int], first: Mapping[str, int], after_last: Mapping[str, int]
) -> dict[str, int]:
    missing = sorted(set(first) - set(given), key=int)
    if missing:
        raise invalid_start(
            f"The offset of partition {', '.join(missing)} of the topic {topic} is missing.",
            f"Write an offset for each partition; {FIRST} is its first message, and {NEXT} its end.",
        )
    unknown = sorted(set(given) - set(first), key=int)
    if unknown:
        known = ", ".join(sorted(first, key=int))
        raise invalid_start(f"The topic {topic} has no partition {', '.join(unknown)}.", f"Its partitions: {known}.")
    begins = {}
    for number in sorted(given, key=int):
        low, high = first[number], after_last[number]
        begins[number] = {FIRST: low, NEXT: high}.get(given[number], given[number])
        if not low <= begins[number] <= high:
            raise invalid_start(
                f"Partition {number} of the topic {topic} has no offset {given[number]}.",
                f"Its messages begin at the offset {low}, and {high} is its end.",
            )
    return begins


def invalid_start(message: str, hint: str) -> StatementError:
    """Return the error for a value of START_MODE that is no position."""
    return StatementError("INVALID_START_MODE", message, hint=hint)


def list_offsets(offsets: Offsets) -> str:
    """Return offsets as a phrase: of many partitions, only their number."""
    count = sum(map(len, offsets.values()))
    if count > _SHOWN_PARTITIONS:
        return f"an offset for each of {count} partitions"
    topics = (
        f"{topic} " + ", ".join(f"{number}:{each[number]}" for number in sorted(each, key=int))
        for topic, each in sorted(offsets.items())
    )
    return f"offsets {'; '.join(topics)}"
