"""What is in a Kafka topic, as another client than Spark's finds it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

_REQUEST_SECONDS = 30.0


@dataclass(frozen=True)
class Message:
    """One message, as it is given or found. timestamp: milliseconds, None leaves it to the client."""

    key: bytes | None
    value: bytes | None
    partition: int = -1
    timestamp: int | None = None
    headers: tuple[tuple[str, bytes], ...] = ()
    offset: int = -1


def read(servers: str, topic: str, committed: bool = True) -> list[Message]:
    """All messages that are in a topic now, partition by partition; committed: without those of transactions that are
    open or aborted."""
    settings = {
        "bootstrap.servers": servers,
        "log_level": 0,
        "group.id": f"reader-{uuid.uuid4()}",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "isolation.level": "read_committed" if committed else "read_uncommitted",
    }
    consumer = Consumer(settings)
    try:
        partitions = consumer.list_topics(topic, _REQUEST_SECONDS).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])
        found = list(_until_ends(consumer, len(partitions)))
    finally:
        consumer.close()
    return sorted(found, key=lambda message: (message.partition, message.offset))


def _until_ends(consumer: Consumer, partitions: int) -> Iterator[Message]:
    ended = 0
    while ended < partitions:
        message = consumer.poll(_REQUEST_SECONDS)
        if message is None:
            raise RuntimeError("Kafka does not answer.")
        error = message.error()
        if error is None:
            yield Message(
                key=message.key(),
                value=message.value(),
                partition=message.partition(),
                timestamp=message.timestamp()[1],
                headers=tuple(message.headers() or ()),
                offset=message.offset(),
            )
        elif error.code() == KafkaError._PARTITION_EOF:
            ended += 1
        else:
            raise KafkaException(error)
