"""Topics as sinks, with a broker that the tests start: the messages that read_committed readers get, and refusals."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AclOperation, ResourceType

from tests.conftest import Sql
from tests.support.servers.kafka import PASSWORD, USER, Kafka, Message

pytestmark = pytest.mark.spark

QUICK = "OPTIONS ('snapshotIntervalMillis' = '100')"
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Topics:
    """Topics of one test, each with a table of the same name."""

    kafka: Kafka
    sql: Sql
    prefix: str

    def table(self, name: str, partitions: int = 2, cleanup: str = "delete", **options: str) -> None:
        self.kafka.topic(self.topic(name), partitions, cleanup_policy=cleanup)
        self.sql(f"CREATE TABLE {name} {self.kafka.options(self.topic(name), **options)}")

    def topic(self, name: str) -> str:
        return f"{self.prefix}.{name}"

    def send(self, name: str, *values: str) -> None:
        """Send values that are their keys as well."""
        self.kafka.send(self.topic(name), [Message(value.encode(), value.encode()) for value in values])

    def values(self, name: str) -> list[str]:
        return sorted((message.value or b"").decode() for message in self.kafka.read(self.topic(name)))

    def groups(self, job_id: str) -> list[str]:
        """Return the consumer groups that the broker has for a job."""
        listed = self.kafka.admin.list_consumer_groups().result(30).valid
        return sorted(group.group_id for group in listed if group.group_id.startswith(f"jetsql-{job_id}-"))


@pytest.fixture
def topics(kafka: Kafka, sql: Sql) -> Iterator[Topics]:
    yield Topics(kafka, sql, f"sink{next(_numbers)}")
    for row in sql("SHOW JOBS"):
        sql(f"DROP JOB '{row[0]}'")


# --- what gets in ----------------------------------------------------------------------------------------------------


def test_messages_are_written_once_and_notes_deleted_with_the_job(topics: Topics) -> None:
    topics.table("source", delivery_headers="false")
    topics.table("sink", delivery_headers="true")
    topics.send("source", *"abcdef")
    query = "INSERT INTO sink (key, value) SELECT key, value FROM STREAM source"
    [(job_id, _, status, message)] = topics.sql(f"CREATE JOB j {QUICK} AS {query}")
    assert (status, message) == ("RUNNING", "Created. The first batch is committed. Delivery: exactly once.")
    topics.send("source", "g")
    topics.sql("RESTART JOB j")
    topics.sql("WAIT FOR JOB j UNTIL IDLE")
    assert topics.values("sink") == list("abcdefg")
    [message] = [message for message in topics.kafka.read(topics.topic("sink")) if message.value == b"g"]
    assert (message.key, message.headers) == (b"g", (("jetsql-batch", b"1"), ("jetsql-job", job_id.encode())))
    source = topics.topic("source")
    assert topics.groups(job_id) == [f"jetsql-{job_id}-k0-{source}-{partition}" for partition in (0, 1)]
    assert "isolation.level=read_committed" in dict(topics.sql("DESCRIBE JOB j"))["delivery"]
    topics.sql("DROP JOB j")
    assert topics.groups(job_id) == []


def test_attempts_at_a_part_fence_each_other(topics: Topics) -> None:
    topics.table("source", 1)
    topics.table("sink", 1)
    topics.send("source", "a")
    query = "INSERT INTO sink (key, value) SELECT key, value FROM STREAM source"
    [(job_id, *_)] = topics.sql(f"CREATE JOB j {QUICK} AS {query}")
    part = f"jetsql-{job_id}-k0-{topics.topic('source')}-0"
    late = Producer({"bootstrap.servers": topics.kafka.servers, "transactional.id": part, "log_level": 0})
    late.init_transactions(30)
    late.begin_transaction()
    late.produce(topics.topic("sink"), b"late")
    late.flush(30)
    topics.send("source", "b")
    topics.sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60")
    assert topics.values("sink") == ["a", "b"]
    assert any("another attempt by another task" in str(row) for row in topics.sql("SHOW JOB HISTORY j"))


@pytest.mark.slow
def test_rows_of_other_sources_are_partitioned_by_content(topics: Topics) -> None:
    topics.table("sink")
    topics.sql("CREATE TABLE events (id INT, name STRING) USING json")
    topics.sql("INSERT INTO events VALUES (1, 'a'), (2, NULL), (3, 'c')")
    insert = "INSERT INTO sink (key, value) SELECT CAST(name AS BINARY), CAST(concat('{}', id) AS BINARY) FROM"
    topics.sql(f"CREATE JOB j {QUICK} AS {insert.format('')} STREAM events")
    topics.sql(f"CREATE JOB once AS {insert.format('b')} events")
    assert topics.values("sink") == ["1", "2", "3", "b1", "b2", "b3"]


@pytest.mark.slow
def test_join_aggregate_and_two_reads_of_one_topic(topics: Topics) -> None:
    topics.table("source", 3)
    topics.table("sink", 3)
    topics.send("source", *"abc")
    topics.sql("CREATE TABLE names (letter STRING, name STRING) USING parquet")
    topics.sql("INSERT INTO names VALUES ('a', 'ann'), ('b', 'bob')")
    letters = "SELECT key, CAST(value AS STRING) AS letter FROM STREAM source WITH ('minPartitions' = '6')"
    join_sentences = f"SELECT key, name FROM ({letters}) JOIN names USING (letter)"
    both = f"SELECT key, CAST(name AS BINARY) FROM ({join_sentences} UNION ALL {letters})"
    topics.sql(f"CREATE JOB j {QUICK} AS INSERT INTO sink (key, value) {both}")
    topics.send("source", "a")
    topics.sql("WAIT FOR JOB j UNTIL IDLE")
    assert topics.values("sink") == sorted([*"abca", "ann", "bob", "ann"])


def test_a_keyed_topic_follows_an_aggregate(topics: Topics) -> None:
    topics.table("source")
    topics.kafka.topic(topics.topic("counts"), 1, cleanup_policy="compact")
    options = topics.kafka.options(topics.topic("counts"), key_columns="letter", value_format="json")
    topics.sql(f"CREATE TABLE counts (letter STRING, n BIGINT) {options}")
    topics.send("source", "a", "b", "a")
    query = "SELECT CAST(key AS STRING), CASE WHEN count(*) < 3 THEN count(*) END FROM STREAM source GROUP BY key"
    topics.sql(f"CREATE JOB j {QUICK} AS SINK INTO counts {query}")
    assert dict(topics.sql("DESCRIBE JOB j"))["output mode"] == "update"
    topics.send("source", "a")
    topics.sql("WAIT FOR JOB j UNTIL IDLE")
    newest = {message.key: message.value for message in topics.kafka.read(topics.topic("counts"))}
    assert list(newest.values()).count(None) == 1
    assert [value for value in newest.values() if value] == [b'{"letter":"b","n":1}']


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_nondeterministic_rows_are_refused(topics: Topics) -> None:
    topics.table("source")
    topics.table("sink")
    topics.send("source", "a")
    insert = "INSERT INTO sink (key, value) SELECT /*+ REPARTITION(3) */ key, value FROM STREAM source"
    exactly = "OPTIONS ('processingGuarantee' = 'exactlyOnce')"
    error = topics.sql.error(f"CREATE JOB j {exactly} AS {insert}")
    assert error.condition == "JETSQL.GUARANTEE_NOT_POSSIBLE" and "Repartition distributes" in error.message
    topics.sql(f"CREATE JOB j {QUICK} AS {insert}")
    assert dict(topics.sql("DESCRIBE JOB j"))["delivery"].startswith("at least once: Repartition distributes")
    uuids = "INSERT INTO sink (key, value) SELECT key, CAST(uuid() AS BINARY) FROM STREAM source"
    topics.sql(f"CREATE JOB each {exactly} AS {uuids}")


@pytest.mark.slow
def test_missing_rights_are_reported_at_create(topics: Topics) -> None:
    kafka = topics.kafka
    kafka.forbid_all()  # what other tests have let the user do
    topics.table("source")
    kafka.topic(topics.topic("sink"))
    login = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="{USER}" password="{PASSWORD}";'
    options = {
        "kafka.bootstrap.servers": kafka.sasl_servers,
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": login.replace('"', '\\"'),
        "topic": topics.topic("sink"),
    }
    pairs = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    topics.sql(f"CREATE TABLE sink USING kafka OPTIONS ({pairs})")
    create = "CREATE JOB j AS INSERT INTO sink (key, value) SELECT key, value FROM STREAM source"
    rights = (
        (ResourceType.TOPIC, topics.topic("sink"), AclOperation.DESCRIBE),
        (ResourceType.TOPIC, topics.topic("sink"), AclOperation.WRITE),
        (ResourceType.TRANSACTIONAL_ID, "*", AclOperation.ALL),
        (ResourceType.GROUP, "*", AclOperation.ALL),
        (ResourceType.TOPIC, topics.topic("sink"), AclOperation.READ),
    )
    messages = []
    for right in rights:
        error = topics.sql.error(create)
        assert error.condition == "JETSQL.SINK_NOT_READY" and PASSWORD not in str(error)
        messages.append(error.hint)
        kafka.allow(*right)
    assert [hint.split(" on ")[0] for hint in messages[2:]] == [
        "Allow WRITE and DESCRIBE",
        "Allow READ (and DELETE, to clean up)",
        "Allow READ",
    ]
    topics.sql(create)
    topics.sql("DROP JOB j")
    kafka.forbid_all()
