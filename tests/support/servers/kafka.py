"""Kafka for the tests: a broker of their own, and operations with other clients."""

from __future__ import annotations

import itertools
import json
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from time import monotonic, sleep
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    ResourcePatternType,
    ResourceType,
)

from tools.broker import LOOPBACK, REQUEST_SECONDS, Broker, Login, running
from tools.topics import Message, count, read

__all__ = ["PASSWORD", "USER", "Kafka", "Message", "running_kafka"]

USER = "ann"
PASSWORD = "s3cr3t-of-ann"
_numbers = itertools.count(1)
_COORDINATOR_MISSING = (
    *(KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_NOT_AVAILABLE),
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
)


class Kafka(Broker):
    """A broker in which `USER`, with `PASSWORD`, has no permission at `sasl_servers` until `allow` grants it."""

    login = Login(USER, PASSWORD)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the broker's process during the context: it accepts connections and answers nothing."""
        process = self._process
        assert process is not None, "the broker runs"
        process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            process.send_signal(signal.SIGCONT)

    @contextmanager
    def killed(self) -> Iterator[None]:
        """Kill the broker, and start it again at the end of the context."""
        self.kill()
        try:
            yield
        finally:
            self.start()

    def configure(self, topic: str, **config: str) -> None:
        """Change settings of a topic; `_` in a key is replaced by a dot."""
        settings = {key.replace("_", "."): value for key, value in config.items()}
        resource = ConfigResource(ResourceType.TOPIC, topic)
        for name, value in settings.items():
            resource.add_incremental_config(ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET))
        for future in self.admin.incremental_alter_configs([resource]).values():
            future.result(REQUEST_SECONDS)

    def delete_topic(self, name: str) -> None:
        self.admin.delete_topics([name])[name].result(REQUEST_SECONDS)

    def add_partitions(self, topic: str, total: int) -> None:
        self.admin.create_partitions([NewPartitions(topic, total)])[topic].result(REQUEST_SECONDS)

    def group_offsets(self, group: str) -> dict[str, dict[int, int]]:
        """Return the offsets of a consumer group by topic and partition, without becoming a member."""
        topics = self.admin.list_topics(timeout=REQUEST_SECONDS).topics
        places = [TopicPartition(name, number) for name, topic in topics.items() for number in topic.partitions]
        consumer = Consumer(self.client() | {"group.id": group})
        offsets: dict[str, dict[int, int]] = {}
        with closing(consumer):
            for place in _committed(consumer, places):
                if place.offset >= 0:
                    offsets.setdefault(place.topic, {})[place.partition] = place.offset
        return offsets

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        """Delete the messages before an offset, as a topic's retention does."""
        place = TopicPartition(topic, partition, before)
        for future in self.admin.delete_records([place]).values():
            future.result(REQUEST_SECONDS)

    def allow(self, resource: ResourceType, name: str, operation: AclOperation) -> None:
        """Grant `USER` an operation on a topic, a group or a transactional id. name: `*` for all."""
        binding = AclBinding(
            *(resource, name, ResourcePatternType.LITERAL, f"User:{USER}", "*", operation, AclPermissionType.ALLOW)
        )
        for future in self.admin.create_acls([binding]).values():
            future.result(REQUEST_SECONDS)

    def forbid_all(self) -> None:
        """Revoke all permissions that `allow` granted."""
        anything = AclBindingFilter(
            *(ResourceType.ANY, None, ResourcePatternType.ANY, f"User:{USER}", None, AclOperation.ANY),
            AclPermissionType.ANY,
        )
        for future in self.admin.delete_acls([anything]).values():
            future.result(REQUEST_SECONDS)

    def send(self, topic: str, messages: Iterable[Message], batch: int = 10_000) -> None:
        """Write messages, and return when the broker has stored them all.

        batch: the most messages of a request, because a consumer gets at least those of one together
        """
        producer = Producer(self.client() | {"linger.ms": 5, "batch.num.messages": batch})
        self._produce(producer, topic, messages)

    def send_json(self, topic: str, rows: Iterable[dict[str, Any]], partition: int = -1) -> None:
        """Write each row as the JSON of a message without a key."""
        self.send(topic, (Message(None, json.dumps(row).encode(), partition) for row in rows))

    @staticmethod
    def _produce(producer: Producer, topic: str, messages: Iterable[Message]) -> None:
        failures: list[KafkaError] = []
        for message in messages:
            more = {} if message.timestamp is None else {"timestamp": message.timestamp}
            producer.produce(
                topic,
                message.value,
                message.key,
                partition=message.partition,
                headers=list(message.headers),
                on_delivery=lambda error, _: failures.append(error) if error is not None else None,
                **more,
            )
            producer.poll(0)
        left = producer.flush(REQUEST_SECONDS)
        if left or failures:
            raise RuntimeError(f"{left} messages were not taken: {failures[:1]}")

    def read(self, topic: str, committed: bool = True) -> list[Message]:
        """Return the current messages of a topic, partition by partition.

        committed: without those of open and aborted transactions.
        """
        return read(self.servers, topic, committed)

    def count(self, topic: str) -> int:
        """Return the number of offsets in a topic, with those of open transactions, also while messages arrive."""
        return count(self.servers, topic)

    def options(self, topic: str, **more: str) -> str:
        """Return the clauses of CREATE TABLE for a table of this topic.

        more: further options; `_` in a key is replaced by a dot.
        """
        options = {"kafka.bootstrap.servers": self.servers, "topic": topic}
        options |= {key.replace("_", "."): value for key, value in more.items()}
        pairs = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
        return f"USING kafka OPTIONS ({pairs})"

    def table(self, sql: Callable[[str], object], name: str, columns: str, form: str = "json", **options: str) -> str:
        """Create a table over a new topic, and return the topic. form: the format of its values"""
        topic = self.topic(f"tables.{next(_numbers)}", 1)
        sql(f"CREATE TABLE {name} ({columns}) {self.options(topic, value_format=form, **options)}")
        return topic


def _committed(consumer: Consumer, places: list[TopicPartition]) -> list[TopicPartition]:
    """Return the offsets of a group. A broker has no coordinator of groups until it has made the topic for them."""
    end = monotonic() + REQUEST_SECONDS
    while True:
        try:
            found: list[TopicPartition] = consumer.committed(places, REQUEST_SECONDS)
            return found
        except KafkaException as error:
            if error.args[0].code() not in _COORDINATOR_MISSING or monotonic() > end:
                raise
            sleep(0.1)


def running_kafka(host: str = LOOPBACK) -> AbstractContextManager[Kafka]:
    """Run a new broker without topics. host: the address for its clients."""
    return running(Kafka, host)
