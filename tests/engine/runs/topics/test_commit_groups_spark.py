"""Consumer groups that show the offsets of jobs, over a broker."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException

from tests.conftest import Sql, until
from tests.support.engines.service_engine import ServiceEngine
from tests.support.servers.kafka import Kafka

pytestmark = pytest.mark.spark

FAST = "'snapshotIntervalMillis' = '100'"
_numbers = itertools.count(1)


class Topics:
    """Topics with the table `out` of files, and a group."""

    def __init__(self, kafka: Kafka, sql: Sql) -> None:
        self.kafka, self.sql = kafka, sql
        self.prefix = f"groups{next(_numbers)}"
        self.group = f"{self.prefix}.shown"
        sql("CREATE TABLE out (id INT) USING parquet")

    def make(self, name: str, partitions: int = 1, **options: str) -> str:
        """Create a topic with a table of this name, and return the topic."""
        topic = self.kafka.topic(f"{self.prefix}.{name}", partitions)
        self.sql(f"CREATE TABLE {name} (id INT) {self.kafka.options(topic, value_format='json', **options)}")
        return topic

    def send(self, topic: str, count: int, partition: int = 0) -> None:
        self.kafka.send_json(topic, ({"id": number} for number in range(count)), partition)

    def job(self, query: str, sink: str = "out", options: str = FAST) -> None:
        options = f"{options}, 'kafka.commit.group' = '{self.group}'"
        self.sql(f"CREATE JOB j OPTIONS ({options}) AS INSERT INTO {sink} {query}")

    def idle(self) -> None:
        self.sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 100 SECONDS")

    @property
    def offsets(self) -> dict[str, dict[int, int]]:
        return self.kafka.group_offsets(self.group)

    @property
    def notices(self) -> list[str]:
        return [str(row[-1]) for row in self.sql("SHOW JOB HISTORY j") if row[1] == "consumer group notice"]


@pytest.fixture
def topics(kafka: Kafka, sql: Sql) -> Topics:
    return Topics(kafka, sql)


def test_group_has_the_offsets_of_committed_batches(topics: Topics) -> None:
    orders, returns = topics.make("orders", 2), topics.make("returns")
    topics.send(orders, 3)
    topics.job("SELECT id FROM STREAM orders UNION ALL SELECT id FROM STREAM returns")
    topics.idle()
    until(lambda: topics.offsets == {orders: {0: 3, 1: 0}, returns: {0: 0}})
    topics.send(orders, 2, 1)
    topics.send(returns, 4)
    topics.idle()
    until(lambda: topics.offsets == {orders: {0: 3, 1: 2}, returns: {0: 4}})
    topics.kafka.add_partitions(orders, 3)
    topics.send(orders, 5, 2)
    until(lambda: topics.offsets == {orders: {0: 3, 1: 2, 2: 5}, returns: {0: 4}})
    topics.send(returns, 1)
    topics.idle()
    topics.sql("SUSPEND JOB j")  # sets the last offsets
    assert topics.offsets == {orders: {0: 3, 1: 2, 2: 5}, returns: {0: 5}}
    topics.send(returns, 1)
    topics.sql("RESUME JOB j")
    topics.idle()
    topics.sql("DROP JOB j")
    assert topics.offsets[returns] == {0: 6}


def test_group_of_a_completed_job_has_all_offsets(topics: Topics) -> None:
    orders = topics.make("orders")
    topics.send(orders, 3)
    topics.job("SELECT id FROM STREAM orders", options="'trigger' = 'availableNow'")
    topics.sql("WAIT FOR JOB j UNTIL COMPLETED TIMEOUT 100 SECONDS")
    assert topics.offsets == {orders: {0: 3}} and topics.notices == []


def test_group_with_members_is_left_to_them(topics: Topics) -> None:
    orders = topics.make("orders")
    topics.send(orders, 3)
    with member(topics, orders):
        topics.job("SELECT id FROM STREAM orders")
        topics.idle()
        until(lambda: bool(topics.notices))
        assert topics.offsets == {}
        topics.send(orders, 1)
        topics.idle()
        assert topics.sql.status("j") == "RUNNING" and topics.sql.value("SELECT count(*) FROM out") == 4
    until(lambda: topics.offsets == {orders: {0: 4}})
    [notice] = topics.notices
    assert f"The consumer group {topics.group} of Kafka" in notice and "has members" in notice
    assert dict(topics.sql("DESCRIBE JOB j"))["last error"] is None


@contextmanager
def member(topics: Topics, topic: str) -> Iterator[None]:
    """Run a consumer in the group during the context, which commits nothing."""
    settings = {"group.id": topics.group, "enable.auto.commit": False, "auto.offset.reset": "earliest"}
    consumer = Consumer(topics.kafka.client() | settings)
    consumer.subscribe([topic])
    until(lambda: consumer.poll(0.1) is not None)
    yield
    consumer.close()


@pytest.mark.slow
def test_group_after_a_topic_was_created_again(topics: Topics) -> None:
    orders = topics.make("orders")
    topics.send(orders, 5)
    topics.job("SELECT id FROM STREAM orders")
    topics.idle()
    topics.sql("SUSPEND JOB j")
    assert topics.offsets == {orders: {0: 5}}
    topics.kafka.delete_topic(orders)
    until(lambda: is_created(topics, orders))
    topics.send(orders, 2)
    error = topics.sql.error("RESUME JOB j")
    [statement] = re.findall(r"ALTER JOB .* RESUME", str(error.message) + str(error.hint))
    topics.sql(statement)
    topics.idle()
    until(lambda: topics.offsets == {orders: {0: 2}})


def is_created(topics: Topics, topic: str) -> bool:
    """Create a topic, and return whether that succeeded: the broker may still delete the old one."""
    try:
        topics.kafka.topic(topic, 1)
    except KafkaException:
        return False
    return True


@pytest.mark.slow
def test_group_is_not_ahead_of_asynchronous_commits(topics: Topics) -> None:
    orders, _ = topics.make("orders"), topics.make("sink")
    seldom = "'snapshotIntervalMillis' = '3600000', 'processingGuarantee' = 'atLeastOnce'"
    topics.send(orders, 1)
    topics.job("SELECT id FROM STREAM orders", "sink", seldom)
    topics.idle()
    until(lambda: topics.offsets == {orders: {0: 1}})
    topics.send(orders, 2)
    topics.idle()
    topics.send(orders, 2)
    topics.idle()
    assert topics.offsets == {orders: {0: 1}}  # after a crash, the job would write the other rows again
    topics.sql("SUSPEND JOB j")
    assert topics.offsets == {orders: {0: 5}}


@pytest.mark.slow
def test_group_of_a_job_in_real_time_mode(topics: Topics) -> None:
    orders, _ = topics.make("orders"), topics.make("sink")
    topics.job("SELECT id FROM STREAM orders", "sink", "'trigger' = 'realTime', 'snapshotIntervalMillis' = '5000'")
    topics.send(orders, 3)
    until(lambda: topics.offsets == {orders: {0: 3}})
    topics.send(orders, 1)
    topics.idle()
    topics.sql("SUSPEND JOB j")
    assert topics.offsets == {orders: {0: 4}}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServiceEngine]:
    """Return an engine that each call starts if it does not run."""
    service = ServiceEngine(tmp_path / "home")
    yield service
    service.kill()


@pytest.mark.slow
def test_killed_engine_leaves_the_group_behind_its_job(kafka: Kafka, service: ServiceEngine) -> None:
    topic, group = kafka.topic("groups.killed", 1), "groups.killed.shown"
    table = f"CREATE TABLE numbers (id INT) {kafka.options(topic, value_format='json')}"
    options = f"OPTIONS ({FAST}, 'kafka.commit.group' = '{group}')"
    job = f"CREATE JOB j {options} AS INSERT INTO sink SELECT id FROM STREAM numbers"
    kafka.send_json(topic, ({"id": number} for number in range(3)))
    service.set("JETSQL_FAILPOINT", "sink-written:j@2")
    service("-e", f"{table}; CREATE TABLE sink (id INT) USING parquet; {job}")
    until(lambda: kafka.group_offsets(group) == {topic: {0: 3}})
    kafka.send_json(topic, [{"id": 3}, {"id": 4}])
    until(lambda: not service.processes())
    assert kafka.group_offsets(group) == {topic: {0: 3}}  # the second batch is written, and not committed
    service.set("JETSQL_FAILPOINT", "")
    service("-e", "WAIT FOR JOB j UNTIL IDLE")
    until(lambda: kafka.group_offsets(group) == {topic: {0: 5}})
    kafka.send_json(topic, [{"id": 5}])
    service("-e", "WAIT FOR JOB j UNTIL IDLE")
    service.kill()
    assert kafka.group_offsets(group)[topic][0] in (5, 6)
    service("-e", "WAIT FOR JOB j UNTIL IDLE")  # begins with the offsets of the checkpoint
    until(lambda: kafka.group_offsets(group) == {topic: {0: 6}})
    assert service.rows("SELECT id FROM sink ORDER BY id") == [[number] for number in range(6)]
