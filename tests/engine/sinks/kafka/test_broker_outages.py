"""A broker that fails under running jobs: they report it, and afterwards no row is lost or duplicated."""

from __future__ import annotations

import itertools
import os
from collections import Counter

import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from tests.conftest import Sql, until
from tests.support.servers.kafka import PASSWORD, USER, Kafka, Message

pytestmark = pytest.mark.spark

QUICK = "'snapshotIntervalMillis' = '100'"
REAL_TIME = "'trigger' = 'realTime', 'snapshotIntervalMillis' = '5000'"
LOGIN = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="{USER}" password="{PASSWORD}";'
_numbers = itertools.count(1)


class Topics:
    """Topics of one partition, each with a table of the same name."""

    def __init__(self, kafka: Kafka, sql: Sql) -> None:
        self.kafka = kafka
        self.sql = sql
        self._prefix = f"faults{next(_numbers)}"

    def make(self, *names: str, login: bool = False, **config: str) -> None:
        """Create tables and their topics. login: the tables are read as `USER`. config: of the topics."""
        for name in names:
            topic = self.kafka.topic(self.topic(name), 1, **config)
            options = self.kafka.options(topic)
            if login:
                secure = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": LOGIN}
                more = {f"kafka.{key}": value for key, value in secure.items()}
                options = self.kafka.options(topic, **more).replace(self.kafka.servers, self.kafka.sasl_servers)
            self.sql(f"CREATE TABLE {name} {options}")

    def topic(self, name: str) -> str:
        return f"{self._prefix}.{name}"

    def job(self, name: str, source: str, sink: str, options: str = QUICK) -> None:
        insert = f"INSERT INTO {sink} (key, value) SELECT key, value FROM STREAM {source}"
        self.sql(f"CREATE JOB {name} OPTIONS ({options}) AS {insert}")

    def send(self, name: str, numbers: range, size: int = 0) -> None:
        """Send numbers. size: of the bytes added to each, which cannot be compressed."""
        values = [f"{number}".encode() + b"," * bool(size) + os.urandom(size) for number in numbers]
        self.kafka.send(self.topic(name), [Message(value[:4], value) for value in values])

    def found(self, name: str) -> Counter[int]:
        """Return the messages that readers of committed messages get."""
        return Counter(int((message.value or b"").split(b",")[0]) for message in self.kafka.read(self.topic(name)))

    def await_error(self, job: str, text: str) -> None:
        until(lambda: text in self.error(job))

    def await_status(self, job: str, status: str) -> None:
        until(lambda: self.sql.status(job) == status)

    def error(self, job: str) -> str:
        [row] = self.sql(f"SHOW JOBS LIKE '{job}'")
        return str(row[-1])

    def idle(self, job: str) -> None:
        self.sql(f"WAIT FOR JOB {job} UNTIL IDLE TIMEOUT 100 SECONDS")


@pytest.fixture
def topics(kafka: Kafka, sql: Sql) -> Topics:
    return Topics(kafka, sql)


@pytest.mark.slow
def test_unreachable_broker_is_reported_while_jobs_wait(topics: Topics) -> None:
    topics.make("source", "sink", "quick", "quick_sink")
    topics.job("j", "source", "sink")
    topics.job("r", "quick", "quick_sink", REAL_TIME)
    for name in ("source", "quick"):
        topics.send(name, range(10))
    until(lambda: topics.found("sink").total() == topics.found("quick_sink").total() == 10)
    topics.kafka.kill()
    try:
        for job in ("j", "r"):
            topics.await_error(job, f"Kafka {topics.kafka.servers} cannot be reached")
            assert topics.sql.status(job) == "RUNNING"
    finally:
        topics.kafka.start()
    for name in ("source", "quick"):
        topics.send(name, range(10, 20))
    topics.idle("j")
    until(lambda: set(topics.found("quick_sink")) == set(range(20)))
    assert topics.found("sink") == Counter(range(20))
    for job in ("j", "r"):
        topics.await_error(job, "None")
        titles = [row[1] for row in topics.sql(f"SHOW JOB HISTORY {job}")]
        assert "blocked" in titles and titles[-1] == "recovered"
    assert not any("suspended" in str(row) for row in topics.sql("SHOW JOB HISTORY j"))


@pytest.mark.slow
def test_jobs_can_be_stopped_while_their_broker_is_unreachable(topics: Topics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics.sql.engine._manager.workers, "_stop_deadline", 0.5)
    topics.make("source", "once", "least", "quick")
    topics.job("j", "source", "once")
    topics.job("l", "source", "least", f"{QUICK}, 'processingGuarantee' = 'atLeastOnce'")
    topics.job("r", "source", "quick", REAL_TIME)
    topics.send("source", range(10))
    until(lambda: all(topics.found(name).total() == 10 for name in ("once", "least", "quick")))
    topics.kafka.kill()
    try:
        for job in ("j", "l", "r"):
            topics.await_error(job, "cannot be reached")
            assert topics.sql(f"SUSPEND JOB {job}")[0][2] == "SUSPENDED"
        assert "The job cannot start yet" in topics.sql("RESUME JOB r")[0][3]
        assert topics.sql("DROP JOB r")[0][2] == "DROPPED"
    finally:
        topics.kafka.start()
    for job in ("j", "l"):
        topics.sql(f"RESUME JOB {job}")
    topics.send("source", range(10, 20))
    for job in ("j", "l"):
        topics.idle(job)
    assert topics.found("once") == Counter(range(20))
    assert set(topics.found("least")) == set(range(20))


@pytest.mark.slow
def test_statements_report_missing_topics_and_unreachable_brokers(topics: Topics) -> None:
    """Name the reason, which Kafka's own clients do not: they wait for both."""
    topics.make("gone", "there")
    topics.kafka.delete_topic(topics.topic("gone"))
    read, write = "SELECT value FROM {}", "INSERT INTO {} (value) VALUES (X'00')"
    server = f"Kafka {topics.kafka.servers}"
    select = "SELECT value FROM STREAM {} LIMIT 1"
    for text, condition in ((read, "SOURCE_NOT_READY"), (select, "SOURCE_NOT_READY"), (write, "SINK_NOT_READY")):
        error = topics.sql.error(text.format("gone"))
        assert error.condition == f"JETSQL.{condition}"
        assert f"{server} has no topic {topics.topic('gone')}." in error.message
    topics.kafka.kill()
    try:
        for text in (read, select, write):
            error = topics.sql.error(text.format("there"))
            assert error.condition == "JETSQL.EXTERNAL_SYSTEM_UNAVAILABLE"
            assert f"{server} cannot be reached" in error.message
    finally:
        topics.kafka.start()
    topics.sql(write.format("there"))
    assert topics.sql(read.format("there")) == [(b"\0",)]


@pytest.mark.slow
def test_job_is_suspended_without_rights_and_resumes_with_them(topics: Topics) -> None:
    topics.kafka.forbid_all()
    topics.make("source", "sink", login=True)
    rights = [(kind, "*") for kind in (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)]
    for right in rights:
        topics.kafka.allow(*right, AclOperation.ALL)
    topics.send("source", range(10))
    topics.job("j", "source", "sink", f"{QUICK}, 'restartAttempts' = '1'")
    topics.kafka.forbid_all()
    topics.send("source", range(10, 20))
    until(lambda: topics.sql.status("j") == "SUSPENDED")
    assert "Allow READ and DESCRIBE" in topics.error("j") and PASSWORD not in topics.error("j")
    for right in rights:
        topics.kafka.allow(*right, AclOperation.ALL)
    topics.sql("RESUME JOB j")
    topics.idle("j")
    assert topics.found("sink") == Counter(range(20))
    topics.sql("DROP JOB j")
    topics.kafka.forbid_all()


@pytest.mark.slow
def test_too_large_message_suspends_a_job(topics: Topics) -> None:
    topics.make("source")
    topics.make("once", "least", max_message_bytes="1000")
    topics.send("source", range(10))
    topics.job("j", "source", "once")
    topics.job("l", "source", "least", f"{QUICK}, 'processingGuarantee' = 'atLeastOnce'")
    topics.send("source", range(10, 12), 2000)
    for job, sink in (("j", "once"), ("l", "least")):
        topics.await_status(job, "SUSPENDED")
        assert "too large" in topics.error(job) and "max.message.bytes" in topics.error(job)
        topics.kafka.configure(topics.topic(sink), max_message_bytes="10000")
        topics.sql(f"RESUME JOB {job}")
        topics.idle(job)
    assert topics.found("once") == Counter(range(12))
    assert set(topics.found("least")) == set(range(12))
