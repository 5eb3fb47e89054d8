"""The option sink.on.error of a job into a topic: messages that are too large, without a key or without a topic."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Final

import pytest

from tests.conftest import Sql
from tests.support.servers.kafka import Kafka

pytestmark = pytest.mark.spark

KEPT: Final = "OPTIONS ('snapshotIntervalMillis' = '100', 'sink.on.error' = 'table:refused')"
_numbers = itertools.count(1)


@pytest.fixture
def events(sql: Sql) -> Iterator[Sql]:
    sql("CREATE TABLE events (id INT, size INT) USING json")
    yield sql
    for row in sql("SHOW JOBS"):
        sql(f"DROP JOB '{row[0]}'")


def add(sql: Sql, values: str) -> None:
    # One file: the job may see several files of a statement in two batches.
    sql(f"INSERT INTO events SELECT /*+ COALESCE(1) */ * FROM VALUES {values}")


def topic(sql: Sql, kafka: Kafka, columns: str, options: dict[str, str], largest: int = 1_000_000) -> str:
    name = f"refused{next(_numbers)}"
    kafka.topic(name, 2)
    kafka.configure(name, max_message_bytes=str(largest))
    sql(f"CREATE TABLE topic ({columns}) {kafka.options(name, **options)}")
    return name


def sizes(kafka: Kafka, name: str) -> list[int]:
    return sorted(len(message.value or b"") for message in kafka.read(name))


def refused_rows(sql: Sql) -> list[tuple[int, str]]:
    return sorted((int(json.loads(row)["id"]), state) for row, state in sql("SELECT row, sqlstate FROM refused"))


def test_messages_that_the_topic_refuses_are_kept_to_the_byte(events: Sql, kafka: Kafka) -> None:
    # A message alone in its batch has 70 bytes more than its value.
    options = {"value.format": "json", "kafka.compression.type": "none"}
    name = topic(events, kafka, "id INT, text STRING", options, 1070)
    add(events, "(1, 10), (2, 3000), (3, 20)")
    events(f"CREATE JOB j {KEPT} AS INSERT INTO topic SELECT id, repeat('x', size) FROM STREAM events")
    events("WAIT FOR JOB j UNTIL IDLE")
    assert (len(sizes(kafka, name)), refused_rows(events)) == (2, [(2, "54000")])
    # {"id":1000,"text":""} has 21 bytes.
    add(events, ", ".join(f"({1000 + n}, {960 + n})" for n in range(30)))
    events("WAIT FOR JOB j UNTIL IDLE")
    assert refused_rows(events) == [(2, "54000"), *((1000 + n, "54000") for n in range(20, 30))]
    assert sizes(kafka, name)[2:] == [981 + n for n in range(20)]
    assert "max.message.bytes of the topic is 1070" in events.value("SELECT max(message) FROM refused")


def test_messages_that_the_producer_refuses_are_kept(events: Sql, kafka: Kafka) -> None:
    options = {"value.format": "json", "kafka.max.request.size": "2000"}
    name = topic(events, kafka, "id INT, text STRING", options)
    add(events, "(1, 10), (2, 3000), (3, 20)")
    events(f"CREATE JOB j {KEPT} AS INSERT INTO topic SELECT id, repeat('x', size) FROM STREAM events")
    events("WAIT FOR JOB j UNTIL IDLE")
    assert len(sizes(kafka, name)) == 2
    assert refused_rows(events) == [(2, "54000")]
    assert "'kafka.max.request.size' is 2000" in events.value("SELECT message FROM refused")


def test_rows_without_a_key_are_kept(events: Sql, kafka: Kafka) -> None:
    name = topic(events, kafka, "id INT, n INT", {"value.format": "json", "key.columns": "id"})
    add(events, "(1, 1), (NULL, 2), (3, 3)")
    events(f"CREATE JOB j {KEPT} AS SINK INTO topic SELECT id, size FROM STREAM events")
    events("WAIT FOR JOB j UNTIL IDLE")
    assert len(sizes(kafka, name)) == 2
    [(row, state)] = events("SELECT row, sqlstate FROM refused")
    assert (row, state) == ('{"id":null,"n":2}', "23502")


def test_jobs_that_are_not_exactly_once_are_refused(events: Sql, kafka: Kafka) -> None:
    topic(events, kafka, "id INT, n INT", {"value.format": "json"})
    options = "OPTIONS ('sink.on.error' = 'table:refused', 'processingGuarantee' = 'atLeastOnce')"
    error = events.error(f"CREATE JOB j {options} AS INSERT INTO topic SELECT * FROM STREAM events")
    assert error.condition == "JETSQL.INVALID_OPTION_VALUE"
    assert "so a batch can be written partly" in error.message
