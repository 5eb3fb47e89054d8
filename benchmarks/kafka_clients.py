"""The producer and the consumer of `benchmarks.kafka latency`, as separate processes that do not wait for each other.

    python -m benchmarks.kafka_clients send SERVERS TOPIC RATE COUNT FIRST
    python -m benchmarks.kafka_clients receive SERVERS TOPIC FIRST COUNTED LAST

Both print READY when their client is connected, and begin after a line of input. Each message is JSON with a number
(`id`) and its due time (`at`, nanoseconds since the epoch): a message that the producer sends late has the same `at`,
so that its delay counts. `receive` prints JSON with the number of received and of lost ids from COUNTED to LAST, the
number of duplicates, the longest time without messages (seconds), and the sorted milliseconds from `at` to the
consumer.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from typing import Final

from confluent_kafka import OFFSET_END, Consumer, KafkaException, Producer, TopicPartition

_CONNECT_SECONDS: Final = 30.0
_IDLE_SECONDS: Final = 60.0
_PAUSE_SECONDS: Final = 0.001
_SECOND: Final = 1_000_000_000  # in nanoseconds


@dataclass(frozen=True)
class Schedule:
    """The due times of messages: evenly spaced, the first one interval after the start."""

    began: int
    """The start, nanoseconds since the epoch."""
    rate: int
    """Messages per second."""

    def due_by(self, now: int) -> int:
        """Return the number of messages that are due at a time."""
        return max(0, (now - self.began) * self.rate // _SECOND)

    def due_at(self, number: int) -> int:
        """Return the due time of a message, the first nanosecond at which `due_by` counts it. number: from 0."""
        return self.began - (-(number + 1) * _SECOND // self.rate)


def message(number: int, at: int) -> bytes:
    """Return the JSON of a message, 84 bytes for numbers of seven digits. at: the due time."""
    return b'{"id":%d,"user":"customer-north-%04d","amount":%d.25,"at":%d}' % (number, number % 1000, number % 500, at)


def send(servers: str, topic: str, rate: int, count: int, first: int) -> None:
    """Send each message at its due time, and late messages immediately."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0, "acks": "all"})
    partitions = len(producer.list_topics(topic, _CONNECT_SECONDS).topics[topic].partitions)
    _say("READY")
    sys.stdin.readline()
    schedule, sent = Schedule(time.time_ns(), rate), 0
    while sent < count:
        due = min(count, schedule.due_by(time.time_ns()))
        for number in range(sent, due):
            value = message(first + number, schedule.due_at(number))
            producer.produce(topic, value, partition=(first + number) % partitions)
        sent = max(sent, due)
        producer.poll(0)
        time.sleep(_PAUSE_SECONDS)
    left = producer.flush(_CONNECT_SECONDS)
    _say(json.dumps({"sent": count - left, "seconds": (time.time_ns() - schedule.began) / _SECOND}))


def receive(servers: str, topic: str, first: int, counted: int, last: int) -> None:
    """Read until all messages have arrived, or none has arrived for a minute."""
    settings = {
        "bootstrap.servers": servers,
        "group.id": "jetsql-benchmark",
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
    }
    consumer = Consumer(settings)
    partitions = consumer.list_topics(topic, _CONNECT_SECONDS).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, OFFSET_END) for number in partitions])
    consumer.poll(1.0)  # after this, the consumer receives all new messages
    _say("READY")
    sys.stdin.readline()
    times: dict[int, int] = {}
    twice, gap = 0, 0.0
    last_received = began = time.monotonic()
    while len(times) <= last - first and time.monotonic() - last_received < _IDLE_SECONDS:
        received = consumer.poll(0.1)
        if received is None:
            continue
        now = time.time_ns()
        if received.error() is not None:
            raise KafkaException(received.error())
        gap = max(gap, time.monotonic() - last_received if last_received > began else 0.0)
        last_received = time.monotonic()
        value = json.loads(received.value() or b"{}")
        if value["id"] in times:
            twice += 1
        elif first <= value["id"] <= last:
            times[value["id"]] = now - value["at"]
    consumer.close()
    millis = sorted(nanos / 1e6 for number, nanos in times.items() if number >= counted)
    lost = last - counted + 1 - len(millis)
    _say(json.dumps({"received": len(millis), "lost": lost, "twice": twice, "gap": gap, "millis": millis}))


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    action, servers, topic, *numbers = sys.argv[1:]
    (send if action == "send" else receive)(servers, topic, *map(int, numbers))
