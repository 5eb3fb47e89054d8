"""A producer of orders for a Kafka topic, with the defects of real topics.

Of 1,000 messages about 10 are not orders (truncated, text for a number, another shape), 20 have no amount and 10 no
customer. Orders are up to ten seconds out of order, and from the second part on 10 of 1,000 are far too late.
To run it alone: python -m examples.orders.producer --servers HOST:PORT --topic orders --count 1000 --rate 100
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from confluent_kafka import KafkaError, Producer

CUSTOMERS = ("Ada", "Brook", "Chidi", "Dolores", "Emre", "Frida", "Gustav", "Hana", "Ines", "Jun", "Kofi", "Leïla")
OPENING = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
BETWEEN_ORDERS = timedelta(milliseconds=200)
DISORDER = timedelta(seconds=10)
TOO_LATE = timedelta(minutes=10)
MEAN_AMOUNT = 300.0
_FLUSH_SECONDS = 60.0


@dataclass(frozen=True)
class Sent:
    """A message for the topic; its key is the number of the order."""

    key: bytes
    value: bytes


def made_up(count: int, part: int = 0, before: int = 0) -> Iterator[Sent]:
    """Yield `count` messages, always the same for a part. before: the number of messages in earlier parts."""
    chance = random.Random(part)
    for number in range(before, before + count):
        placed = OPENING + number * BETWEEN_ORDERS
        if part and chance.random() < 0.01:
            placed = OPENING + chance.random() * max(before * BETWEEN_ORDERS - TOO_LATE, timedelta())
        order: dict[str, Any] = {
            "id": number,
            "customer": chance.choice(CUSTOMERS),
            "amount": round(chance.expovariate(1 / MEAN_AMOUNT), 2),
            "ts": (placed - chance.random() * DISORDER).isoformat(timespec="milliseconds"),
        }
        yield Sent(str(number).encode(), _as_sent(order, chance))


def _as_sent(order: dict[str, Any], chance: random.Random) -> bytes:
    fate = chance.random()
    if fate < 0.01:
        return _broken(order, chance)
    if fate < 0.03:
        del order["amount"]
    elif fate < 0.04:
        del order["customer"]
    return json.dumps(order, ensure_ascii=False).encode()


def _broken(order: dict[str, Any], chance: random.Random) -> bytes:
    texts = (
        json.dumps(order | {"amount": "a lot"}, ensure_ascii=False),
        json.dumps(order | {"ts": "yesterday"}, ensure_ascii=False),
        json.dumps(list(order.values()), ensure_ascii=False),
        json.dumps(order, ensure_ascii=False)[:-9],
    )
    return chance.choice(texts).encode()


def send(servers: str, topic: str, messages: Iterable[Sent], rate: float | None = None) -> None:
    """Send messages and wait until Kafka has stored all of them. rate: messages a second, or None for no limit.

    Raises RuntimeError if Kafka does not store a message.
    """
    failures: list[KafkaError] = []
    # Idempotent: a message that is resent after a lost response is in the topic once.
    settings = {"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 0 if rate else 5, "log_level": 0}
    producer = Producer(settings)
    began = time.monotonic()
    for number, message in enumerate(messages):
        while rate and (early := number / rate - (time.monotonic() - began)) > 0:
            producer.poll(early)
        producer.produce(topic, message.value, message.key, on_delivery=lambda error, _: failures.append(error))
        producer.poll(0)
    left = producer.flush(_FLUSH_SECONDS)
    refused = [error for error in failures if error is not None]
    if left or refused:
        raise RuntimeError(f"Kafka at {servers} did not store {left + len(refused)} messages: {refused[:1]}")


def main() -> int:
    """Send orders. Returns the exit code."""
    flags = argparse.ArgumentParser(description="Send made-up orders to a Kafka topic.")
    flags.add_argument("--servers", required=True, help="HOST:PORT of a broker")
    flags.add_argument("--topic", default="orders", help="[orders]")
    flags.add_argument("--count", type=int, default=1000, help="messages [1000]")
    flags.add_argument("--rate", type=float, help="messages a second [no limit]")
    given = flags.parse_args()
    send(given.servers, given.topic, made_up(given.count), given.rate)
    print(f"Sent {given.count} messages to {given.topic}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
