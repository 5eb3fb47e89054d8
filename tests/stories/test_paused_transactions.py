"""An engine is paused for longer than Kafka keeps its open transactions: no message is lost or committed twice."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.conftest import until
from tests.faults.leftovers import find_damage
from tests.support.engines.service_engine import ServiceEngine
from tests.support.servers.kafka import Kafka, Message

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

TRANSACTION_SECONDS = 30
PAUSE_SECONDS = 42
"""Longer by the 10 s between two checks of the broker for old transactions."""
MESSAGES = [f"{number:06}{'x' * 2000}" for number in range(200)]
"""Long ones: the producer sends the first of them before a partition is complete."""
# A row takes some milliseconds, so that the broker has a transaction's first messages when all are handed over.
JOB = """
    CREATE JOB copy OPTIONS ('processingGuarantee' = 'exactlyOnce', 'snapshotIntervalMillis' = '500')
    AS INSERT INTO sink (value) SELECT value FROM STREAM source
    WHERE sha2(repeat(CAST(value AS STRING), 600), 256) <> ''
"""


def seen(kafka: Kafka, topic: str) -> list[str]:
    return [(message.value or b"").decode() for message in kafka.read(topic)]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[ServiceEngine]:
    engine = ServiceEngine(tmp_path / "home")
    yield engine
    engine.signal(signal.SIGCONT)
    if engine.processes():
        engine("stop")


def test_pause_longer_than_a_transaction(engine: ServiceEngine, kafka: Kafka) -> None:
    source, sink = (kafka.topic(f"paused.{name}", 2) for name in ("source", "sink"))
    options = kafka.options(sink, kafka_transaction_timeout_ms=str(TRANSACTION_SECONDS * 1000))
    engine.set("JETSQL_FAILPOINT", "kafka-sent:copy")
    engine.set("JETSQL_FAILPOINT_ACTION", "pause")
    engine("start")
    engine("-e", f"CREATE TABLE source {kafka.options(source)}; CREATE TABLE sink {options}")
    engine("-e", JOB)
    kafka.send(source, [Message(None, value.encode(), number % 2) for number, value in enumerate(MESSAGES)])
    until(lambda: engine.processes()[0].status() == psutil.STATUS_STOPPED)
    time.sleep(PAUSE_SECONDS)
    assert len(seen(kafka, sink)) < len(MESSAGES), "all transactions were committed before the pause"
    engine.signal(signal.SIGCONT)
    engine("-e", "WAIT FOR JOB copy UNTIL IDLE TIMEOUT 240 SECONDS")
    assert Counter(seen(kafka, sink)) == Counter(MESSAGES)
    history = engine.rows("SELECT event, message FROM jetsql.job_history WHERE job = 'copy'")
    assert any("was paused for" in str(message) and "does not count" in str(message) for _, message in history), history
    assert not any("(restart " in str(message) for _, message in history), history
    engine("stop")
    assert find_damage(engine.home) == []
