"""The topics of the crash matrix, and a reader of committed messages that uses neither JetSQL nor Spark."""

from __future__ import annotations

from collections.abc import Iterable

from tests.faults.jobs import KAFKA_KINDS, Kind, Row
from tests.support.servers.kafka import Kafka


def create_topics(kafka: Kafka) -> None:
    """Create new topics with three partitions; keyed ones are compacted."""
    for kind in KAFKA_KINDS:
        kafka.topic(kind.name, 3, cleanup_policy="compact" if kind.keyed else "delete")


def messages(kafka: Kafka, kind: Kind) -> Iterable[Row]:
    """Return the committed messages; of a keyed topic the last with each key, unless it deletes the key."""
    found = kafka.read(kind.name)
    if kind.keyed:
        found = [message for message in {message.key: message for message in found}.values() if message.value]
    return [tuple(int(number) for number in (message.value or b"").split(b",")) for message in found]
