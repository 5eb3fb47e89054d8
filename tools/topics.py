"""Read the messages of a Kafka topic with a client other than Spark's."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

_REQUEST_SECONDS = 30.0


@dataclass(frozen=True)
class Message:
    """A message to send, or a message that was read."""

    key: bytes | None
    """The key; None for no key."""
    value: bytes | None
    """The value; None for a tombstone."""
    partition: int = -1
    """The partition; -1 if the client chooses it."""
    timestamp: int | None = None
    """The time in milliseconds since the epoch; None if the client sets it."""
    headers: tuple[tuple[str, bytes], ...] = ()
    """The headers in order."""
    offset: int = -1
    """The offset in the partition; -1 for a message to send."""


def read(servers: str, topic: str, committed: bool = True) -> list[Message]:
    """Return all messages that are in a topic now, ordered by partition and offset.

    committed: whether to omit messages of open and aborted transactions.
    """
    with _reader(servers, committed) as consumer:
        partitions = _partitions(consumer, topic)
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])
        messages = list(_read_to_ends(consumer, len(partitions)))
    return sorted(messages, key=lambda message: (message.partition, message.offset))


def count(servers: str, topic: str) -> int:
    """Return the number of offsets in a topic, with those of open transactions, also while messages arrive."""
    with _reader(servers, committed=False) as consumer:
        partitions = [TopicPartition(topic, number) for number in _partitions(consumer, topic)]
        return sum(consumer.get_watermark_offsets(each, _REQUEST_SECONDS, cached=False)[1] for each in partitions)


@contextmanager
def _reader(servers: str, committed: bool) -> Iterator[Consumer]:
    """Yield a consumer without partitions, and close it."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "log_level": 0,
            "group.id": f"reader-{uuid.uuid4()}",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed" if committed else "read_uncommitted",
        }
    )
    try:
        yield consumer
    finally:
        consumer.close()


def _partitions(consumer: Consumer, topic: str) -> list[int]:
    return list(consumer.list_topics(topic, _REQUEST_SECONDS).topics[topic].partitions)


def _read_to_ends(consumer: Consumer, partitions: int) -> Iterator[Message]:
    """Yield messages until the ends of all partitions are reached. Raises RuntimeError, KafkaException."""
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
