"""Jobs with Kafka tables, with a broker that the tests start."""

from __future__ import annotations

import json
import re
import socket
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from jetsql.engine.sinks.kafka.messages import TopicTable
from jetsql.engine.spark.startup import load_kafka_connector
from tests.conftest import Sql, until
from tests.support.servers.kafka import PASSWORD, USER, Kafka, Message

pytestmark = pytest.mark.spark


@pytest.fixture
def topic(kafka: Kafka, request: pytest.FixtureRequest) -> str:
    """Return a topic for one test, with two partitions and a dot in its name."""
    return kafka.topic(f"t.{re.sub(r'[^a-z_]', '.', request.node.name)}")


@pytest.mark.slow
def test_the_connector_comes_while_the_engine_runs(sql: Sql, kafka: Kafka, topic: str) -> None:
    kafka.send(topic, [Message(b"a", b"1", 0), Message(None, None, 1)])
    load_kafka_connector(sql.engine.spark)
    load_kafka_connector(sql.engine.spark)
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
    statement = sql.value("SHOW CREATE TABLE t")
    sql("DROP TABLE t")
    sql(statement)
    assert sql.value("SELECT count(*) FROM t") == 3


@pytest.mark.slow
def test_rows_are_inserted_as_messages(sql: Sql, kafka: Kafka, topic: str) -> None:
    sql(f"CREATE TABLE t {kafka.options(topic)}")
    sql("INSERT INTO t (key, value, partition) VALUES (X'61', X'31', 1), (NULL, NULL, 0)")
    sql("INSERT INTO t BY NAME SELECT X'32' AS value, 0 AS partition")
    found = [(message.key, message.value, message.partition) for message in kafka.read(topic)]
    assert found == [(None, None, 0), (None, b"2", 0), (b"a", b"1", 1)]
    assert sql.error("INSERT OVERWRITE t SELECT * FROM t").condition == "JETSQL.UNSUPPORTED_SINK"
    assert sql.error("DELETE FROM t WHERE offset = 0").condition == "JETSQL.NOT_SUPPORTED"
    sql(f"CREATE TABLE again {kafka.options(topic)} AS SELECT X'33' AS value")
    assert sql("SELECT value FROM again WHERE value = X'33'") == [(b"3",)]


def test_client_defaults_are_for_many_small_messages(sql: Sql, kafka: Kafka, topic: str) -> None:
    own = {"kafka_LINGER_ms": "7", "kafka_max_poll_records": "77"}
    spark = sql.engine.spark
    for name, more in (("t", {}), ("u", own)):
        sql(f"CREATE TABLE {name} {kafka.options(topic, **more)}")
        relation = spark.sql(f"SELECT value FROM STREAM {name}")._jdf.queryExecution().analyzed().collectLeaves().head()
        reading = relation.extraOptions()
        assert reading.get("kafka.max.poll.records") == ("77" if more else "10000")
        assert reading.get("kafka.max.partition.fetch.bytes") == "8388608"
        assert reading.get("kafka.isolation.level") == "read_committed"
        schema = sql.value("SELECT current_schema()")
        for in_batches, linger in ((True, "20"), (False, "0")):
            options = TopicTable(spark, f"spark_catalog.{schema}.{name}").writer_options(in_batches)
            writing = {key.lower(): value for key, value in options.items()}
            assert writing["kafka.linger.ms"] == ("7" if more else linger)
            assert writing.get("kafka.compression.type") == ("lz4" if in_batches else None)
            assert writing.get("kafka.batch.size") == ("262144" if in_batches else None)
            assert writing.get("kafka.acks", "all") == "all"


@pytest.mark.slow
def test_producer_batches_fit_the_topic(sql: Sql, kafka: Kafka) -> None:
    topic = kafka.topic("small", 1, max_message_bytes="3000")
    schema = sql.value("SELECT current_schema()")
    for name, more, size in (("t", {}, "3000"), ("u", {"kafka_BATCH_size": "2000"}, "2000")):
        sql(f"CREATE TABLE {name} {kafka.options(topic, kafka_compression_type='none', **more)}")
        table = TopicTable(sql.engine.spark, f"spark_catalog.{schema}.{name}")
        for in_batches in (True, False):
            writing = {key.lower(): value for key, value in table.writer_options(in_batches).items()}
            assert writing["kafka.batch.size"] == size
        sql(f"INSERT INTO {name} (value) SELECT CAST(repeat('x', 500) AS BINARY) FROM range(20)")
    assert len(kafka.read(topic)) == 40


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


def test_a_job_does_not_read_what_it_writes(sql: Sql, kafka: Kafka, topic: str) -> None:
    for name in ("t", "same"):
        sql(f"CREATE TABLE {name} {kafka.options(topic)}")
        error = sql.error(f"CREATE JOB j AS INSERT INTO {name} (value) SELECT value FROM STREAM t")
        assert error.condition == "JETSQL.UNSUPPORTED_QUERY" and "its own rows" in error.message


COLUMNS = "(id BIGINT, name STRING, amount DECIMAL(10,2), ts TIMESTAMP)"
GARBAGE = [
    b"not json",
    b"[1]",
    b"",
    b"\xff\xfe{",
    b"null",
    b'{"id": "x"}',
    b'{"amount": 123456789012.5}',
    b'{"ts": "x"}',
]
LOGIN = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="{USER}" password="%s";'


def typed(kafka: Kafka, topic: str, form: str = "json", columns: str = COLUMNS, **more: str) -> str:
    return f"{columns} {kafka.options(topic, value_format=form, **more)}"


@pytest.mark.slow
def test_a_job_creates_the_table_of_its_topic(sql: Sql, kafka: Kafka, topic: str) -> None:
    sql("CREATE TABLE orders (id BIGINT, name STRING) USING parquet")
    table = f"CREATE TABLE out {kafka.options(topic, value_format='json', kafka_linger_ms='1')}"
    job = f"CREATE JOB j AS {table} AS SELECT id, upper(name) AS name FROM STREAM orders"
    assert "with the columns id bigint, name string" in str(sql.value(f"EXPLAIN {job}"))
    missing = sql.error(job.replace(topic, "not.there"))
    assert missing.condition == "JETSQL.SINK_NOT_READY" and sql("SHOW TABLES LIKE 'out'") == []
    sql("INSERT INTO orders VALUES (1, 'a'), (2, NULL)")
    sql(job)
    assert sorted(sql("SELECT id, name FROM out")) == [(1, "A"), (2, None)]
    sql.error("DROP TABLE out")
    sql("DROP JOB j")
    sql("DROP TABLE out")


def test_columns_are_read_from_json(sql: Sql, kafka: Kafka, topic: str) -> None:
    row = {"id": 1, "name": "ann", "amount": 12.10, "ts": "2026-01-01T10:00:00.123456789Z", "more": {"a": 1}}
    kafka.send(
        topic, [Message(b"9", json.dumps(row).encode(), 1), Message(b"7", None, 1), Message(b"8", b'{"name":""}', 1)]
    )
    sql(f"CREATE TABLE t {typed(kafka, topic, key_columns='id')}")
    at = datetime(2026, 1, 1, 10, 0, 0, 123456, tzinfo=UTC)
    assert sql("SELECT * FROM t ORDER BY _offset") == [
        (1, "ann", Decimal("12.10"), at),
        (7, None, None, None),
        (8, "", None, None),
    ]
    found = sql(
        "SELECT o.id, o._topic, _partition, o._offset, _key FROM t AS o WHERE _timestamp > '2000-01-01' AND id = 1"
    )
    assert found == [(1, topic, 1, 0, b"9")]
    assert [row[0] for row in sql("DESCRIBE t")] == ["id", "name", "amount", "ts"]


@pytest.mark.slow
def test_handling_of_unreadable_messages(sql: Sql, kafka: Kafka, topic: str) -> None:
    kafka.send(topic, [Message(None, text, 0) for text in (b'{"id": 1}', *GARBAGE, b'{"id": 2}')])
    sql(f"CREATE TABLE fails {typed(kafka, topic)}")
    sql(f"CREATE TABLE skips {typed(kafka, topic, on_error='skip')}")
    sql(f"CREATE TABLE nulls {typed(kafka, topic, on_error='null')}")
    assert sql("SELECT id FROM skips ORDER BY 1") == [(1,), (2,)]
    assert sql("SELECT id, name, amount, ts FROM nulls ORDER BY _offset") == [
        (1, None, None, None),
        *[(None, None, None, None)] * len(GARBAGE),
        (2, None, None, None),
    ]
    words = sql.error("SELECT * FROM fails").message
    assert (
        words.startswith(f"The message at offset 1 of topic {topic}, partition 0, does not fit")
        and "it is not valid JSON" in words
    )
    sql("CREATE TABLE ids (id BIGINT) USING parquet")
    error = sql.error("CREATE JOB j AS INSERT INTO ids SELECT id FROM STREAM fails")
    assert error.condition == "JETSQL.JOB_FAILED" and "at offset 1 " in error.message
    sql("CREATE JOB k AS INSERT INTO ids SELECT id FROM STREAM skips")
    sql("WAIT FOR JOB k UNTIL IDLE TIMEOUT 60 SECONDS")
    assert sql("SELECT id FROM ids ORDER BY 1") == [(1,), (2,)]


@pytest.mark.slow
def test_dead_letters_are_kept_once(sql: Sql, kafka: Kafka, topic: str) -> None:
    kafka.send(topic, [Message(b"k", text, 0) for text in (b'{"id": 1}', *GARBAGE)])
    sql(f"CREATE TABLE t {typed(kafka, topic, on_error='table:dead', kafka_metadata_max_age_ms='200')}")
    sql("CREATE TABLE ids (id BIGINT, n BIGINT) USING parquet")
    sql(
        "CREATE JOB j OPTIONS ('snapshotIntervalMillis' = '100') AS"
        " INSERT OVERWRITE ids SELECT id, count(*) FROM STREAM t GROUP BY id"
    )
    sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60 SECONDS")
    found = sql("SELECT offset, partition, topic, key, value FROM dead ORDER BY offset")
    assert found == [(n, 0, topic, b"k", text) for n, text in enumerate(GARBAGE, 1)]
    reasons = dict(sql("SELECT offset, reason FROM dead"))
    assert (reasons[1], reasons[2], reasons[6]) == (
        "it is not valid JSON",
        "it is not a JSON object",
        "id is not of type BIGINT",
    )
    sql("SUSPEND JOB j")
    sql("DROP TABLE dead")
    sql("RESUME JOB j")
    kafka.add_partitions(topic, 3)
    kafka.send(topic, [Message(None, b"late", 2), Message(None, b'{"id": 2}', 2)])
    until(lambda: sorted(sql("SELECT * FROM ids")) == [(1, 1), (2, 1)])
    assert sql("SELECT partition, value FROM dead") == [(2, b"late")]
    assert sql("SELECT id FROM t ORDER BY 1") == [(1,), (2,)]


@pytest.mark.parametrize("form", ["json", "csv"])
def test_columns_are_written(sql: Sql, kafka: Kafka, topic: str, form: str) -> None:
    topic = kafka.topic(f"{topic}.one".replace("[", ".").replace("]", ""), 1)
    sql(f"CREATE TABLE t {typed(kafka, topic, form, key_columns='id')}")
    sql("INSERT INTO t VALUES (1, 'a,\"b', 99999999.99, TIMESTAMP'2026-01-01 10:00:00.123456'), (2, NULL, 0.10, NULL)")
    sql("INSERT INTO t (name, id) SELECT 'c', 3")
    assert sorted(message.key or b"" for message in kafka.read(topic)) == [b"1", b"2", b"3"]
    at = datetime(2026, 1, 1, 10, 0, 0, 123456, tzinfo=UTC)
    assert sql("SELECT * FROM t ORDER BY id") == [
        (1, 'a,"b', Decimal("99999999.99"), at),
        (2, None, Decimal("0.10"), None),
        (3, "c", None, None),
    ]


@pytest.mark.slow
def test_raw_values_and_keys_of_several_columns(sql: Sql, kafka: Kafka, topic: str) -> None:
    sql(f"CREATE TABLE raw {typed(kafka, topic, 'raw', '(k STRING, v INT)', key_columns='k')}")
    sql("INSERT INTO raw VALUES ('a', 1), (NULL, 2), ('c', NULL)")
    found = {(message.key, message.value) for message in kafka.read(topic)}
    assert found == {(b"a", b"1"), (None, b"2"), (b"c", None)}
    assert set(sql("SELECT * FROM raw")) == {("a", 1), (None, 2), ("c", None)}
    both = kafka.topic(f"{topic}.both", 1)
    sql(
        f"CREATE TABLE both {typed(kafka, both, key_columns='id,name')} AS SELECT 1 AS id, 'x' AS name, 2 AS n".replace(
            COLUMNS, ""
        )
    )
    [message] = kafka.read(both)
    assert (message.key, message.value) == (b'{"id":1,"name":"x"}', b'{"id":1,"name":"x","n":2}')


@pytest.mark.slow
def test_a_watermark_of_the_table(sql: Sql, kafka: Kafka, topic: str) -> None:
    sql(f"CREATE TABLE t {typed(kafka, topic, watermark='ts DELAY OF INTERVAL 5 SECONDS')}")
    sql("CREATE TABLE counts (start TIMESTAMP, n BIGINT) USING parquet")
    kafka.send_json(
        topic, [{"ts": "2026-01-01T10:00:01Z"}, {"ts": "2026-01-01T10:00:02Z"}, {"ts": "2026-01-01T10:01:00Z"}]
    )
    sql(
        "CREATE JOB j OPTIONS ('snapshotIntervalMillis' = '100') AS INSERT INTO counts"
        " SELECT window.start, count(*) FROM STREAM t GROUP BY window(ts, '10 seconds')"
    )
    sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60 SECONDS")
    assert sql("SELECT n FROM counts") == [(2,)]


@pytest.mark.parametrize(
    ("columns", "options", "at", "words"),
    [
        ("", "'topic' = 't'", None, "needs the option 'kafka.bootstrap.servers'"),
        ("", "'kafka.bootstrap.servers' = 'x:1'", None, "needs the option 'topic'"),
        ("", "'topik' = 't'", "'topik'", "Did you mean 'topic'?"),
        ("", "'kafka.bootstrap.server' = 't'", "'kafka.bootstrap.server'", "Did you mean 'kafka.bootstrap.servers'?"),
        ("", "'bootstrap.servers' = 't'", "'bootstrap", "Did you mean 'kafka.bootstrap.servers'?"),
        ("", "'json.timestampFromat' = 'y'", "'json.times", "Did you mean 'json.timestampFormat'?"),
        ("", "'csv.mode' = 'FAILFAST'", "'csv.mode'", "Cannot set 'csv.mode'"),
        ("", "'delivery.header' = 'true'", "'delivery.header'", "Did you mean 'delivery.headers'?"),
        ("", "'topic' = 'a b'", "'a b'", "the name of one topic"),
        ("", "'maxOffsetsPerTrigger' = 'many'", "'many'", "a whole number"),
        ("", "'topic' = '..'", "'..'", "the name of one topic"),
        ("", "'maxOffsetsPerTrigger' = '0'", "'0'", "1 or more"),
        ("", "'kafka.bootstrap.servers' = 'x:1,y'", "'x:1,y'", "HOST:PORT"),
        ("", "'startingOffsets' = '{\"t\": }'", "'{\"t", "must be JSON"),
        ("", "'subscribePattern' = 'a['", "'a['", "a regular expression"),
        ("", "'kafka.value.deserializer' = 'x'", "'kafka.value", "Cannot set 'kafka.value.deserializer'"),
        ("", "'kafka.transactional.id' = 'x'", "'kafka.trans", "Cannot set 'kafka.transactional.id'"),
        ("(a INT)", "'topic' = 't', 'kafka.bootstrap.servers' = 'x:1'", None, "needs the option 'value.format'"),
        ("(a INT)", "'value.format' = 'xml'", "'xml'", "one of 'json', 'csv', 'avro', 'protobuf', 'raw'"),
        ("(a INT)", "'key.columns' = 'b'", "'b'", "the column b, which the table does not have. Its columns: a."),
        ("(a INT)", "'on.error' = 'table:'", "'table:'", "'table:NAME'"),
        ("(a INT)", "'key.columns' = 'a, A'", "'a, A'", "each column once"),
        ("(a INT)", "'watermark' = 'a 5 seconds'", "'a 5", "DELAY OF INTERVAL 5 SECONDS"),
        ("(a TIMESTAMP)", "'watermark' = 'a DELAY OF INTERVAL -5 SECONDS'", "'a D", "DELAY OF INTERVAL 5 SECONDS"),
        ("(a INT)", "'watermark' = 'a DELAY OF INTERVAL 5 SECONDS'", "'a D", "a TIMESTAMP column, but a is INT"),
    ],
)
def test_options_are_checked_at_their_places(sql: Sql, columns: str, options: str, at: str | None, words: str) -> None:
    text = f"CREATE TABLE t {columns}\n  USING kafka OPTIONS ({options})"
    error = sql.error(text)
    assert words in error.message
    if at is not None:
        assert (error.line, error.column) == (2, text.splitlines()[1].index(at) + 1)


@pytest.mark.slow
def test_create_job_asks_the_broker(sql: Sql, kafka: Kafka, topic: str) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        gone = f"127.0.0.1:{silent.getsockname()[1]}"
        secure = {"kafka.security.protocol": "SASL_PLAINTEXT", "kafka.sasl.mechanism": "PLAIN"}
        secure = {key.replace(".", "_"): value for key, value in secure.items()}
        sql(f"CREATE TABLE unreachable {kafka.options(topic).replace(kafka.servers, gone)}")
        sql(f"CREATE TABLE missing {kafka.options('not.there')}")
        for name, password in (("wrong", "wrong"), ("denied", PASSWORD)):
            options = kafka.options(topic, kafka_sasl_jaas_config=LOGIN % password, **secure)
            sql(f"CREATE TABLE {name} {options.replace(kafka.servers, kafka.sasl_servers)}")
        sql("CREATE TABLE vs (value BINARY) USING parquet")

        def error_of(name: str) -> tuple[str, str]:
            error = sql.error(f"CREATE JOB j AS INSERT INTO vs SELECT value FROM STREAM {name}")
            return error.condition.removeprefix("JETSQL."), error.message

        assert error_of("unreachable")[0] == "EXTERNAL_SYSTEM_UNAVAILABLE"
        assert error_of("missing") == ("SOURCE_NOT_READY", f"Kafka {kafka.servers} has no topic not.there.")
        at_once = "CREATE JOB j OPTIONS ('trigger' = 'realTime') AS INSERT INTO denied (value)"
        away = sql.error(f"{at_once} SELECT value FROM STREAM unreachable")
        assert away.condition == "JETSQL.EXTERNAL_SYSTEM_UNAVAILABLE"
        condition, words = error_of("wrong")
        assert condition == "SOURCE_NOT_READY" and f"does not accept the credentials of {USER}" in words
        assert error_of("denied")[1].endswith(f"does not allow {USER} to read the topic {topic}.")
        least = "CREATE JOB j OPTIONS ('processingGuarantee' = 'atLeastOnce') AS INSERT INTO missing (value)"
        unwritten = sql.error(f"{least} SELECT value FROM STREAM vs")
        assert unwritten.condition == "JETSQL.SINK_NOT_READY" and "has no topic not.there" in unwritten.message
        assert sql("SHOW JOBS") == []
        assert sql.error("SELECT * FROM missing").condition == "JETSQL.SOURCE_NOT_READY"
    shown = str([sql("SHOW CREATE TABLE denied"), sql("DESCRIBE TABLE EXTENDED denied")])
    assert PASSWORD not in shown and topic in shown
    kafka.allow(ResourceType.TOPIC, topic, AclOperation.READ)
    kafka.allow(ResourceType.GROUP, "*", AclOperation.READ)
    kafka.send(topic, [Message(None, b"x")])
    sql("CREATE JOB j AS INSERT INTO vs SELECT value FROM STREAM denied")
    sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60 SECONDS")
    assert sql("SELECT value FROM vs") == [(b"x",)]


@pytest.mark.slow
def test_topics_that_change_under_a_job(sql: Sql, kafka: Kafka, topic: str) -> None:
    sql(f"CREATE TABLE t {kafka.options(topic, kafka_metadata_max_age_ms='200')}")
    sql("CREATE TABLE vs (value STRING) USING parquet")
    kafka.send(topic, [Message(None, b"1", 0)])
    sql(
        "CREATE JOB j OPTIONS ('snapshotIntervalMillis' = '100') AS"
        " INSERT INTO vs SELECT CAST(value AS STRING) FROM STREAM t"
    )
    kafka.add_partitions(topic, 3)
    kafka.send(topic, [Message(None, b"2", 2)])
    until(lambda: sorted(sql("SELECT * FROM vs")) == [("1",), ("2",)])
    sql("SUSPEND JOB j")
    kafka.send(topic, [Message(None, b"3", 0), Message(None, b"4", 0)])
    kafka.delete_records(topic, 0, 2)
    sql("RESUME JOB j")
    until(lambda: sql.status("j") == "SUSPENDED")
    assert "failOnDataLoss" in dict(sql("DESCRIBE JOB j"))["last error"]
    sql("ALTER JOB j OPTIONS ('spark.jetsql.kafka.failOnDataLoss' = 'false') RESUME")
    until(lambda: sorted(sql("SELECT * FROM vs")) == [("1",), ("2",), ("4",)])
