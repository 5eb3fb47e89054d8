"""The producer and the consumer of `benchmarks.kafka latency`, each a process of its own: neither waits for the other.

    python -m benchmarks.kafka_clients send SERVERS TOPIC RATE COUNT FIRST
    python -m benchmarks.kafka_clients receive SERVERS TOPIC FIRST COUNTED LAST

Both say READY when their client is connected; they begin when their input ends a line. Each message is JSON with a
number (`id`) and the time it was due (`at`, nanoseconds since the epoch): a message that the producer sends late has
the same `at`, so that its delay counts. `receive` tells, as JSON, how many of the ids from COUNTED to LAST came and how
many did not, how often one came twice, the longest time without any (s), and the sorted milliseconds from `at` until it
had them.
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
    """The times at which messages are due: evenly spaced, the first one interval after the start."""

    began: int
    """Nanoseconds since the epoch."""
    rate: int
    """Messages a second."""

    def due_by(self, now: int) -> int:
        """Return how many messages are due at this time."""
        return max(0, (now - self.began) * self.rate // _SECOND)

    def due_at(self, number: int) -> int:
        """Return when a message is due, counted from 0: the first nanosecond at which `due_by` counts it."""
        return self.began - (-(number + 1) * _SECOND // self.rate)


def message(number: int, at: int) -> bytes:
    """84 bytes for numbers of seven digits."""
    return b'{"id":%d,"user":"customer-north-%04d","amount":%d.25,"at":%d}' % (number, number % 1000, number % 500, at)


def send(servers: str, topic: str, rate: int, count: int, first: int) -> None:
    """Send messages evenly, each when it is due and with that time; those that are late immediately."""
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
    """Read until all have come, or nothing came for a minute."""
    settings = {
        "bootstrap.servers": servers,
        "group.id": "jetsql-benchmark",
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
    }
    consumer = Consumer(settings)
    found = consumer.list_topics(topic, _CONNECT_SECONDS).topics[topic]
    places = [TopicPartition(topic, number, OFFSET_END) for number in found.partitions]
    consumer.assign(places)
    consumer.poll(1.0)  # from now on what comes is seen
    _say("READY")
    sys.stdin.readline()
    times: dict[int, int] = {}
    twice, gap = 0, 0.0
    heard = began = time.monotonic()
    while len(times) <= last - first and time.monotonic() - heard < _IDLE_SECONDS:
        got = consumer.poll(0.1)
        if got is None:
            continue
        now = time.time_ns()
        if got.error() is not None:
            raise KafkaException(got.error())
        gap, heard = max(gap, time.monotonic() - heard if heard > began else 0.0), time.monotonic()
        value = json.loads(got.value() or b"{}")
        if value["id"] in times:
            twice += 1
        elif first <= value["id"] <= last:
            times[value["id"]] = now - value["at"]
    consumer.close()
    measured = sorted(taken / 1e6 for number, taken in times.items() if number >= counted)
    lost = last - counted + 1 - len(measured)
    _say(json.dumps({"came": len(measured), "lost": lost, "twice": twice, "gap": gap, "millis": measured}))


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    what, *given = sys.argv[1:]
    numbers = [int(each) for each in given[2:]]
    (send if what == "send" else receive)(given[0], given[1], *numbers)
