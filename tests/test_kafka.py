"""Kafka tables, against a broker of the tests' own."""

from __future__ import annotations

import pytest

from jetsql.engine.startup import load_kafka
from tests.conftest import Sql
from tests.kafka import Kafka, Message

pytestmark = pytest.mark.spark


@pytest.fixture
def topic(kafka: Kafka, request: pytest.FixtureRequest) -> str:
    """A topic of the test's own, with two partitions and a dot in its name."""
    return kafka.topic(f"t.{request.node.name}")


def test_the_connector_comes_while_the_engine_runs(sql: Sql, kafka: Kafka, topic: str) -> None:
    kafka.send(topic, [Message(b"a", b"1", 0), Message(None, None, 1)])
    load_kafka(sql.engine.spark)
    load_kafka(sql.engine.spark)
    options = {"kafka.bootstrap.servers": kafka.servers, "subscribe": topic}
    rows = sql.engine.spark.newSession().read.format("kafka").options(**options).load().collect()
    assert {(row.key, row.value) for row in rows} == {(b"a", b"1"), (None, None)}


def test_a_table_with_kafkas_own_columns(sql: Sql, kafka: Kafka, topic: str) -> None:
    kafka.send(topic, [Message(b"a", b"1", 0), Message(None, None, 1), Message(b"c", b"3", 1, timestamp=5)])
    sql(f"CREATE TABLE t {kafka.options(topic)}")
    sql(f"CREATE TABLE IF NOT EXISTS t {kafka.options('another')}")
    assert sql.error(f"CREATE TABLE t {kafka.options(topic)}").condition == "TABLE_OR_VIEW_ALREADY_EXISTS"
    assert sql("SELECT key, value, topic, partition, offset, timestampType FROM t ORDER BY partition, offset") == [
        (b"a", b"1", topic, 0, 0, 0),
        (None, None, topic, 1, 0, 0),
        (b"c", b"3", topic, 1, 1, 0),
    ]
    sql("CREATE VIEW v AS SELECT one.value FROM t AS one JOIN t AS two USING (partition, offset)")
    assert sql.value("SELECT count(*) FROM v WHERE value IS NOT NULL") == 2
    made = sql.value("SHOW CREATE TABLE t")
    sql("DROP TABLE t")
    sql(made)
    assert sql.value("SELECT count(*) FROM t") == 3


def test_rows_are_inserted_as_messages(sql: Sql, kafka: Kafka, topic: str) -> None:
    sql(f"CREATE TABLE t {kafka.options(topic)}")
    sql("INSERT INTO t (key, value, partition) VALUES (X'61', X'31', 1), (NULL, NULL, 0)")
    sql("INSERT INTO t BY NAME SELECT X'32' AS value, 0 AS partition")
    found = [(message.key, message.value, message.partition) for message in kafka.read(topic)]
    assert found == [(None, None, 0), (None, b"2", 0), (b"a", b"1", 1)]
    assert sql.error("INSERT OVERWRITE t SELECT * FROM t").condition == "JETSQL.UNSUPPORTED_SINK"
    sql(f"CREATE TABLE again {kafka.options(topic)} AS SELECT X'33' AS value")
    assert sql("SELECT value FROM again WHERE value = X'33'") == [(b"3",)]


def test_jobs_read_and_write_topics(sql: Sql, kafka: Kafka, topic: str) -> None:
    out = kafka.topic(f"{topic}.out", 1)
    sql(f"CREATE TABLE t {kafka.options(topic)}")
    sql(f"CREATE TABLE out {kafka.options(out)}")
    sql("CREATE TABLE files (value STRING, partition INT, offset BIGINT) USING parquet")
    kafka.send(topic, [Message(None, str(n).encode(), n % 2) for n in range(10)])
    sql(
        "CREATE JOB a OPTIONS ('snapshotIntervalMillis' = '100') AS INSERT INTO files"
        " SELECT CAST(value AS STRING), partition, offset FROM STREAM t"
    )
    sql(
        "CREATE JOB b OPTIONS ('snapshotIntervalMillis' = '100', 'processingGuarantee' = 'atLeastOnce') AS"
        " INSERT INTO out (key, value) SELECT X'6b', value FROM STREAM t WHERE offset > 0"
    )
    kafka.send(topic, [Message(None, str(n).encode(), n % 2) for n in range(10, 20)])
    sql("WAIT FOR JOB a UNTIL IDLE TIMEOUT 60 SECONDS")
    sql("WAIT FOR JOB b UNTIL IDLE TIMEOUT 60 SECONDS")
    assert sorted(sql("SELECT * FROM files")) == sorted((str(n), n % 2, n // 2) for n in range(20))
    assert sorted(int(message.value or b"") for message in kafka.read(out)) == list(range(2, 20))
    described = dict(sql("DESCRIBE JOB a"))
    assert described["delivery"].startswith("exactly once")
    assert (
        described["source"]
        == f"spark_catalog.{sql.value('SELECT current_schema()')}.t (kafka, {topic}), replayable: yes"
    )
