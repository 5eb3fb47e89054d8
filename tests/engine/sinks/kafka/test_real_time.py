"""The trigger realTime, with a broker that the tests start. The batches take 5 s, the minimum of Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from tests.conftest import Sql, until
from tests.support.servers.kafka import Kafka, Message

pytestmark = pytest.mark.spark

REAL_TIME = "OPTIONS ('trigger' = 'realTime', 'snapshotIntervalMillis' = '5000')"


@pytest.fixture
def topic(kafka: Kafka, request: pytest.FixtureRequest) -> str:
    return kafka.topic(f"t.{request.node.name}", 1)


@pytest.fixture
def tables(sql: Sql, kafka: Kafka, topic: str) -> str:
    """Create `t` over the topic and `out` over another topic, and return the name of that topic."""
    out = kafka.topic(f"{topic}.out", 1)
    sql(f"CREATE TABLE t {kafka.options(topic)}")
    sql(f"CREATE TABLE out {kafka.options(out)}")
    return out


def send(kafka: Kafka, topic: str, numbers: range) -> None:
    kafka.send(topic, [Message(None, str(n).encode()) for n in numbers])


def numbers(kafka: Kafka, topic: str) -> Counter[int]:
    return Counter(int(message.value or b"") for message in kafka.read(topic))


def await_numbers(kafka: Kafka, topic: str, expected: Iterable[int]) -> None:
    counts = Counter(expected)
    until(lambda: numbers(kafka, topic) == counts)


@pytest.mark.slow
def test_rows_go_through_while_their_batch_lasts(sql: Sql, kafka: Kafka, topic: str, tables: str) -> None:
    send(kafka, topic, range(10))
    created = sql(f"CREATE JOB j {REAL_TIME} AS INSERT INTO out (value) SELECT value FROM STREAM t WHERE offset > 1")
    assert "rows are written as they arrive" in created[0][3] and "at least once" in created[0][3]
    shown = dict(sql("DESCRIBE JOB j"))
    assert shown["delivery"].startswith("at least once") and "realTime" in shown["trigger"]
    send(kafka, topic, range(10, 20))
    sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60 SECONDS")
    assert numbers(kafka, tables) == Counter(range(2, 20))
    # Suspended while no record comes, the batch ends and is committed: nothing comes again.
    send(kafka, topic, range(20, 21))
    until(lambda: set(numbers(kafka, tables)) == set(range(2, 21)))
    [suspended] = sql("SUSPEND JOB j")
    assert suspended[2] == "SUSPENDED" and "force" not in suspended[3]
    assert sql.value("SELECT lag FROM jetsql.jobs WHERE name = 'j' AND status = 'SUSPENDED'") is None
    send(kafka, topic, range(21, 30))
    sql("RESUME JOB j")
    sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60 SECONDS")
    assert numbers(kafka, tables) == Counter(range(2, 30))
    assert sql.value("SELECT lag FROM jetsql.jobs WHERE name = 'j' AND status = 'RUNNING'") == "0 rows"
    sql("DROP JOB j")


@pytest.mark.slow
def test_deleted_messages_are_skipped_by_option(sql: Sql, kafka: Kafka, topic: str, tables: str) -> None:
    other = kafka.topic(f"{topic}.other", 1)
    sql(f"CREATE TABLE lenient {kafka.options(topic, failOnDataLoss='false')}")
    sql(f"CREATE TABLE also {kafka.options(other)}")
    send(kafka, topic, range(5))
    for job, source, sink, out in (("j", "t", "out", tables), ("k", "lenient", "also", other)):
        sql(f"CREATE JOB {job} {REAL_TIME} AS INSERT INTO {sink} (value) SELECT value FROM STREAM {source}")
        await_numbers(kafka, out, range(5))
        sql(f"SUSPEND JOB {job}")
    send(kafka, topic, range(5, 15))
    kafka.delete_records(topic, 0, 10)
    sql("RESUME JOB j")
    until(lambda: sql.status("j") == "SUSPENDED")
    assert "'spark.jetsql.kafka.failOnDataLoss' = 'false'" in dict(sql("DESCRIBE JOB j"))["last error"]
    for text, out in (
        ("ALTER JOB j OPTIONS ('spark.jetsql.kafka.failOnDataLoss' = 'false') RESUME", tables),
        ("RESUME JOB k", other),
    ):
        sql(text)
        await_numbers(kafka, out, [*range(5), *range(10, 15)])
        sql(f"DROP JOB {'j' if out == tables else 'k'}")


@pytest.mark.needs_spark("4.2")
def test_real_time_limitations_are_refused_before_any_change(sql: Sql, kafka: Kafka, topic: str, tables: str) -> None:
    wide = kafka.topic(f"{topic}.wide", 8)
    sql(f"CREATE TABLE wide {kafka.options(wide)}")
    sql("CREATE TABLE files (value BINARY) USING parquet")
    sql(f"CREATE TABLE few {kafka.options(topic, maxOffsetsPerTrigger='5')}")
    for query, says in (
        ("INSERT INTO files SELECT value FROM STREAM t", "files is a table USING parquet"),
        ("INSERT INTO out (value) SELECT value FROM STREAM wide", "8 for this query"),
        ("INSERT INTO out (value) SELECT value FROM STREAM few", "'maxOffsetsPerTrigger'"),
        (
            "INSERT INTO out (value) SELECT a.value FROM STREAM t AS a JOIN STREAM wide AS b ON a.value = b.value",
            "StreamingSymmetricHashJoin",
        ),
    ):
        error = sql.error(f"CREATE JOB j {REAL_TIME} AS {query}")
        assert error.condition == "JETSQL.TRIGGER_NOT_POSSIBLE"
        assert says in error.message and "interval" in error.hint
    assert sql("SHOW JOBS") == []


@pytest.mark.slow
def test_stateful_job_changes_to_real_time_and_back(sql: Sql, kafka: Kafka, topic: str) -> None:
    keyed = kafka.topic(f"{topic}.keyed", 1, cleanup_policy="compact")
    sql(f"CREATE TABLE source (id BIGINT) {kafka.options(topic, value_format='json')}")
    sql(f"CREATE TABLE counts (odd BOOLEAN, n BIGINT) {kafka.options(keyed, value_format='json', key_columns='odd')}")
    quick = "'trigger' = 'interval', 'snapshotIntervalMillis' = '100'"
    body = "SINK INTO counts SELECT id % 2 = 1, count(*) FROM STREAM source GROUP BY id % 2 = 1"
    # With as many parts of the state as the engine has cores, there is none left for the topic.
    error = sql.error(f"CREATE JOB j {REAL_TIME} AS {body}")
    assert error.condition == "JETSQL.TRIGGER_NOT_POSSIBLE" and "3 for this query" in error.message
    kafka.send_json(topic, [{"id": n} for n in range(5)])
    sql(f"CREATE JOB j OPTIONS ({quick}, 'spark.sql.shuffle.partitions' = '1') AS {body}")
    for options in (REAL_TIME, f"OPTIONS ({quick})", REAL_TIME):
        sql("SUSPEND JOB j")
        kafka.send_json(topic, [{"id": n} for n in range(5)])
        sql(f"ALTER JOB j {options} RESUME")
        kafka.send_json(topic, [{"id": n} for n in range(5)])
        sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60 SECONDS")
    newest = {message.key: message.value for message in kafka.read(keyed)}
    assert newest == {b"false": b'{"odd":false,"n":21}', b"true": b'{"odd":true,"n":14}'}
    sql("DROP JOB j")
