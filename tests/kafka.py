"""A Kafka broker of the tests' own: one node in KRaft mode on loopback, on free ports, gone when its context ends.

Its jars are fetched from Maven Central into Ivy's cache of the home, as Spark fetches packages, by the Ivy that ships
with Spark. Topics are never made by asking for them, as where people run Kafka with care.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyspark
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewPartitions,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

BROKER = ("org.apache.kafka", "kafka_2.13", "4.1.1")
USER = "ann"
PASSWORD = "s3cr3t-of-ann"
_START_SECONDS = 60.0
_REQUEST_SECONDS = 30.0

_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{plain},SASL_PLAINTEXT://127.0.0.1:{sasl},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
 user_{user}="{password}";
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
log.dirs={logs}
auto.create.topics.enable=false
num.partitions=2
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=500
log.cleaner.dedupe.buffer.size=4194304
"""


@dataclass(frozen=True)
class Message:
    """One message, as it is given or found. timestamp: milliseconds, None leaves it to the client."""

    key: bytes | None
    value: bytes | None
    partition: int = -1
    timestamp: int | None = None
    headers: tuple[tuple[str, bytes], ...] = ()
    offset: int = -1


class Kafka:
    """One broker. `start`, `stop` and `kill` may be called in turn: ports and topics stay.

    servers: for everybody, who may do anything. sasl_servers: for `USER` with `PASSWORD`, who may do nothing until
    `allow` lets them.
    """

    def __init__(self, folder: Path, jars: str) -> None:
        ports = _free_ports(3)
        self.servers = f"127.0.0.1:{ports[0]}"
        self.sasl_servers = f"127.0.0.1:{ports[1]}"
        self._folder = folder
        self._java = ("java", "-Xmx256m", "-Xms64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", jars)
        self._properties = folder / "server.properties"
        self._process: subprocess.Popen[bytes] | None = None
        places = dict(zip(("plain", "sasl", "controller"), ports, strict=True))
        text = _PROPERTIES.format(**places, user=USER, password=PASSWORD, logs=folder / "data")
        self._properties.write_text(text)
        format_data = ("kafka.tools.StorageTool", "format", "--standalone", "-t", _cluster_id(), "-c")
        subprocess.run((*self._java, *format_data, str(self._properties)), check=True, capture_output=True)

    def start(self) -> None:
        with (self._folder / "server.log").open("ab") as log:
            command = (*_ending_with_us(), *self._java, "kafka.Kafka", str(self._properties))
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._wait_until_up(self._process)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """As the power going off."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None

    @cached_property
    def admin(self) -> AdminClient:
        return AdminClient(self._client())

    def topic(self, name: str, partitions: int = 2, **config: str) -> str:
        """Make a topic; config: `_` in a key stands for a dot. Returns its name."""
        settings = {key.replace("_", "."): value for key, value in config.items()}
        made = self.admin.create_topics([NewTopic(name, partitions, 1, config=settings)])
        made[name].result(_REQUEST_SECONDS)
        return name

    def delete_topic(self, name: str) -> None:
        self.admin.delete_topics([name])[name].result(_REQUEST_SECONDS)

    def add_partitions(self, topic: str, total: int) -> None:
        self.admin.create_partitions([NewPartitions(topic, total)])[topic].result(_REQUEST_SECONDS)

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        """Let the messages before an offset be gone, as a topic's retention does."""
        place = TopicPartition(topic, partition, before)
        for future in self.admin.delete_records([place]).values():
            future.result(_REQUEST_SECONDS)

    def allow(self, resource: ResourceType, name: str, operation: AclOperation) -> None:
        """Let `USER` do something with a topic, a group or a transactional id; name: `*` for all."""
        binding = AclBinding(
            *(resource, name, ResourcePatternType.LITERAL, f"User:{USER}", "*", operation, AclPermissionType.ALLOW)
        )
        for future in self.admin.create_acls([binding]).values():
            future.result(_REQUEST_SECONDS)

    def forbid_all(self) -> None:
        """Take back all that `allow` let `USER` do."""
        anything = AclBindingFilter(
            *(ResourceType.ANY, None, ResourcePatternType.ANY, f"User:{USER}", None, AclOperation.ANY),
            AclPermissionType.ANY,
        )
        for future in self.admin.delete_acls([anything]).values():
            future.result(_REQUEST_SECONDS)

    def send(self, topic: str, messages: Iterable[Message]) -> None:
        """Write messages; returns when the broker has them all."""
        producer = Producer(self._client() | {"linger.ms": 5})
        self._produce(producer, topic, messages)

    def send_json(self, topic: str, rows: Iterable[dict[str, Any]], partition: int = -1) -> None:
        """Write each row as the JSON text of a message without a key."""
        self.send(topic, (Message(None, json.dumps(row).encode(), partition) for row in rows))

    def send_in_transaction(self, topic: str, messages: Iterable[Message], commit: bool = True) -> None:
        """Write messages in one transaction, which is committed or aborted."""
        producer = Producer(self._client() | {"transactional.id": f"tests-{uuid.uuid4()}"})
        producer.init_transactions(_REQUEST_SECONDS)
        producer.begin_transaction()
        self._produce(producer, topic, messages)
        if commit:
            producer.commit_transaction(_REQUEST_SECONDS)
        else:
            producer.abort_transaction(_REQUEST_SECONDS)

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
        left = producer.flush(_REQUEST_SECONDS)
        if left or failures:
            raise RuntimeError(f"{left} messages were not taken: {failures[:1]}")

    def read(self, topic: str, committed: bool = True) -> list[Message]:
        """All messages that are in a topic now, partition by partition; committed: without those of transactions that
        are open or aborted."""
        settings = {
            "group.id": f"tests-{uuid.uuid4()}",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed" if committed else "read_uncommitted",
        }
        consumer = Consumer(self._client() | settings)
        try:
            partitions = consumer.list_topics(topic, _REQUEST_SECONDS).topics[topic].partitions
            consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])
            found = list(_until_ends(consumer, len(partitions)))
        finally:
            consumer.close()
        return sorted(found, key=lambda message: (message.partition, message.offset))

    def options(self, topic: str, **more: str) -> str:
        """The words behind the columns of CREATE TABLE that make it this topic's. more: `_` stands for a dot."""
        options = {"kafka.bootstrap.servers": self.servers, "topic": topic}
        options |= {key.replace("_", "."): value for key, value in more.items()}
        pairs = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
        return f"USING kafka OPTIONS ({pairs})"

    def _client(self) -> dict[str, Any]:
        return {"bootstrap.servers": self.servers, "log_level": 0}

    def _wait_until_up(self, process: subprocess.Popen[bytes]) -> None:
        for _ in range(int(_START_SECONDS)):
            try:
                self.admin.list_topics(timeout=1.0)
            except KafkaException:
                if process.poll() is None:
                    continue
                raise RuntimeError(f"Kafka ended at once: {(self._folder / 'server.log').read_text()}") from None
            else:
                return
        raise RuntimeError("Kafka did not come up.")


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


@contextmanager
def running_kafka() -> Iterator[Kafka]:
    """A fresh broker without topics."""
    with tempfile.TemporaryDirectory(prefix="jetsql-kafka-") as folder:
        server = Kafka(Path(folder), _jars(Path(folder)))
        try:
            server.start()
            yield server
        finally:
            server.stop()


def _ending_with_us() -> tuple[str, ...]:
    """What has a process killed when this one dies, where there is such a thing: tests that hang are killed."""
    return ("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()


def _jars(folder: Path) -> str:
    """The broker's class path. Only the first time in a home takes long (three quarters of a minute)."""
    if shutil.which("java") is None:
        raise RuntimeError("There is no java on the PATH; `make test` says how to install it.")
    spark = Path(pyspark.__file__).parent / "jars"
    output = folder / "jars"
    command = ("java", "-cp", _jar(spark, "ivy-*"), "org.apache.ivy.Main", "-m2compatible", "-confs", "default")
    subprocess.run((*command, "-dependency", *BROKER, "-cachepath", str(output)), check=True, capture_output=True)
    # Spark's logging goes first: Kafka's jars have none that would tell why a broker does not come up.
    logging = (_jar(spark, name) for name in ("slf4j-api-*", "log4j-slf4j2-impl-*", "log4j-api-2*", "log4j-core-*"))
    return os.pathsep.join((*logging, output.read_text().strip()))


def _jar(folder: Path, name: str) -> str:
    [jar] = folder.glob(f"{name}.jar")
    return str(jar)


def _cluster_id() -> str:
    return "jetsql-tests-cluster-0"


def _free_ports(count: int) -> list[int]:
    taken = [socket.socket() for _ in range(count)]
    try:
        for each in taken:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in taken]
    finally:
        for each in taken:
            each.close()


if __name__ == "__main__":  # a broker to try things by hand, until its input ends
    with running_kafka() as kafka:
        print(kafka.servers, kafka.sasl_servers, os.getpid(), flush=True)  # noqa: T201
        try:
            input()
        except EOFError:
            pass
