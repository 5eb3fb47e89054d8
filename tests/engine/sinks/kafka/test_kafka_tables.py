"""Kafka tables in statements and with values of all types: supported and refused uses."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial

import pytest

from tests.conftest import Sql
from tests.support.servers.kafka import Kafka, Message

pytestmark = pytest.mark.spark

Table = Callable[..., str]


@pytest.fixture
def table(sql: Sql, kafka: Kafka) -> Table:
    """Return a function that creates a table over a new topic, see `Kafka.table`."""
    return partial(kafka.table, sql)


# --- statements ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_statements_that_any_table_takes(sql: Sql, kafka: Kafka, table: Table) -> None:
    topic = table("t", "id BIGINT, name STRING", key_columns="id")
    sql("INSERT INTO t VALUES (1, 'a')")
    for text in (
        "REFRESH TABLE t",
        "ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS",
        "ALTER TABLE t SET TBLPROPERTIES ('a' = 'b')",
        "ALTER TABLE t UNSET TBLPROPERTIES ('a')",
        "COMMENT ON TABLE t IS 'orders'",
        "ALTER TABLE t ALTER COLUMN id COMMENT 'its number'",
        "CACHE TABLE now AS SELECT id FROM t",
        "UNCACHE TABLE now",
        "ALTER TABLE t RENAME TO u",
        "CREATE TABLE v LIKE u",
        "CREATE VIEW w AS SELECT id, _offset FROM u",
        "REFRESH TABLE w",
    ):
        sql(text)
    sql.engine.spark.catalog.refreshTable("u")
    assert sql("SELECT * FROM u") == sql("SELECT * FROM v") == [(1, "a")]
    assert sql("SELECT * FROM w") == [(1, 0)]
    [(statement,)] = sql("SHOW CREATE TABLE u")
    assert topic in statement and "COMMENT 'its number'" in statement and "COMMENT 'orders'" in statement
    assert ("topic", topic) in [(row[0], row[1]) for row in re.findall(r"'(\w+)' = '([^']*)'", statement)]
    sql("DROP TABLE u")
    assert len(kafka.read(topic)) == 1


@pytest.mark.slow
def test_a_table_recreated_from_its_own_statement_means_the_same(sql: Sql, table: Table) -> None:
    """Recreate the table: a job's fingerprint names its columns, not the expressions of its watermark."""
    table("ticks", "name STRING, at TIMESTAMP", watermark="at DELAY OF INTERVAL 1 SECOND")
    sql("CREATE TABLE counted (name STRING, n BIGINT) USING parquet")
    counted = "SELECT name, count(*) FROM STREAM ticks GROUP BY name"
    sql(f"CREATE JOB counting OPTIONS ('snapshotIntervalMillis' = '100') AS INSERT OVERWRITE counted {counted}")
    sql("SUSPEND JOB counting")
    [(statement,)] = sql("SHOW CREATE TABLE ticks")
    sql("DROP TABLE ticks")
    time.sleep(1.1)  # Hive's catalogue has the creation time of a table in whole seconds
    sql(statement)
    same = sql.error("RESUME JOB counting").message
    assert "was dropped and recreated" in same and "It was:" not in same
    sql("DROP TABLE ticks")
    sql(statement.replace("1 SECOND", "2 SECONDS"))
    other = sql.error("RESUME JOB counting").message
    assert "EventTimeWatermark; `source0.at`: timestamp; delay 1 seconds" in other and "raise_error" not in other


def test_a_stream_does_not_fill_a_new_table(sql: Sql, kafka: Kafka, table: Table) -> None:
    table("ids", "id BIGINT")
    options = kafka.options("tables.filled", value_format="json")
    error = sql.error(f"CREATE TABLE filled {options} AS SELECT id FROM STREAM ids")
    assert error.condition == "JETSQL.STREAM_OUTSIDE_JOB"
    assert sql("SHOW TABLES LIKE 'filled'") == []


def test_errors_of_kafka_clients_in_plain_statements(sql: Sql, kafka: Kafka, table: Table) -> None:
    compacted = kafka.topic("tables.compacted", 1, cleanup_policy="compact")
    sql(f"CREATE TABLE compacted (id BIGINT) {kafka.options(compacted, value_format='json')}")
    error = sql.error("INSERT INTO compacted VALUES (1)")
    assert error.condition == "JETSQL.SINK_REFUSED_ROWS" and "Give each row a key" in str(error.hint)
    topic = table("odd", "id BIGINT", kafka_isolation_level="nope")
    kafka.send_json(topic, [{"id": 1}])
    wrong = sql.error("SELECT * FROM odd")
    assert wrong.condition == "JETSQL.INVALID_OPTION_VALUE" and "isolation.level" in wrong.message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("TRUNCATE TABLE {t}", "cannot delete the messages"),
        ("DELETE FROM {t} WHERE id = 1", "messages of a Kafka topic cannot be changed"),
        ("UPDATE {t} SET id = 1", "messages of a Kafka topic cannot be changed"),
        (
            "MERGE INTO {t} USING {t} AS u ON u.id = 1 WHEN MATCHED THEN DELETE",
            "messages of a Kafka topic cannot be changed",
        ),
        ("INSERT OVERWRITE {t} VALUES (1)", "cannot be replaced"),
        ("CACHE TABLE {t}", "CACHE TABLE name AS SELECT"),
        ("ALTER TABLE {t} DROP COLUMN id", "use DROP TABLE and CREATE TABLE, which do not change the topic"),
        ("ALTER TABLE {t} REPLACE COLUMNS (n INT)", "Leave the column out of the query"),
        ("ALTER TABLE {t} RENAME COLUMN id TO n", "SELECT old AS new"),
        ("ALTER TABLE {t} ALTER COLUMN id TYPE BIGINT", "Add a column of the other type"),
        ("ALTER TABLE {t} ADD COLUMN more INT FIRST", "Leave out the position"),
        ("ALTER TABLE {t} ADD COLUMN more INT AFTER id", "Leave out the position"),
        ("ALTER TABLE {t} ADD COLUMN more INT NOT NULL", "NULL in the messages that were written before"),
        ("ALTER TABLE {t} SET SERDEPROPERTIES ('topic' = 'another')", "cannot be altered"),
        ("ALTER TABLE {t} SET LOCATION '/tmp/x'", "cannot be altered"),
        ("ALTER TABLE {t} CLUSTER BY (id)", "cannot be altered"),
    ],
)
def test_statements_refused_at_the_table_name(sql: Sql, text: str, words: str) -> None:
    sql("CREATE TABLE refusing (id INT) USING kafka OPTIONS"
        " ('kafka.bootstrap.servers' = 'x:1', 'topic' = 't', 'value.format' = 'json')")  # fmt: skip
    error = sql.error(text.format(t="\n refusing"))
    assert error.condition in ("JETSQL.NOT_SUPPORTED", "JETSQL.UNSUPPORTED_SINK") and words in error.message
    assert (error.line, error.column) == (2, 2)


@pytest.mark.parametrize(
    ("option", "condition", "at"),
    [
        ("'startingOffset' = 'latest'", "UNKNOWN_OPTION", "'startingOffset'"),
        ("'startingOffsets' = 'lates'", "INVALID_OPTION_VALUE", "'lates'"),
        ("'maxOffsetsPerTrigger' = 'many'", "INVALID_OPTION_VALUE", "'many'"),
        ("'on.error' = 'table:x'", "INVALID_OPTION_VALUE", "'table:x'"),
        ("'topic' = 'another'", "OPTION_NOT_CHANGEABLE", "'topic'"),
        ("'value.format' = 'csv'", "OPTION_NOT_CHANGEABLE", "'value.format'"),
        ("'kafka.value.deserializer' = 'x'", "OPTION_NOT_CHANGEABLE", "'kafka.value"),
        ("'kafka.commit.group' = 'x'", "OPTION_NOT_CHANGEABLE", "'kafka.commit"),
    ],
)
def test_options_of_a_query_are_checked_at_their_places(sql: Sql, option: str, condition: str, at: str) -> None:
    sql("CREATE TABLE asked (id INT) USING kafka OPTIONS"
        " ('kafka.bootstrap.servers' = 'x:1', 'topic' = 't', 'value.format' = 'json')")  # fmt: skip
    sql("CREATE TABLE ids (id INT) USING parquet")
    for text in (
        f"SELECT id FROM\n asked WITH ({option})",
        f"CREATE JOB j AS INSERT INTO ids SELECT id FROM\n STREAM asked WITH ({option})",
    ):
        error = sql.error(text)
        assert error.condition == f"JETSQL.{condition}"
        assert (error.line, error.column) == (2, text.splitlines()[1].index(at) + 1)


def test_query_option_for_unreadable_messages(sql: Sql, kafka: Kafka, table: Table) -> None:
    topic = table("t", "id INT", on_error="table:dead")
    kafka.send(topic, [Message(None, b'{"id": 1}'), Message(None, b"?")])
    assert sql("SELECT id FROM t WITH ('on.error' = 'null') ORDER BY _offset") == [(1,), (None,)]
    sql("CREATE TABLE ids (id INT) USING parquet")
    error = sql.error("CREATE JOB j AS INSERT INTO ids SELECT id FROM STREAM t WITH ('on.error' = 'null')")
    assert error.condition == "JETSQL.OPTION_NOT_CHANGEABLE" and "dead letters" in error.message


def test_unknown_names_in_an_insert_are_reported(sql: Sql, table: Table) -> None:
    table("t", "id INT")
    for text in ("INSERT INTO t SELECT nope FROM t", "CREATE JOB j AS INSERT INTO t SELECT nope FROM STREAM u"):
        sql("CREATE TABLE IF NOT EXISTS u (id INT) USING json")
        error = sql.error(text)
        assert error.condition.startswith("UNRESOLVED_COLUMN") and error.column == text.index("nope") + 1
    assert sql.error("INSERT INTO t WITH ('topic' = 'x') VALUES (1)").condition == "JETSQL.OPTION_NOT_CHANGEABLE"


@pytest.mark.parametrize("option", ["subscribe", "subscribePattern", "assign"])
def test_jobs_over_several_topics(sql: Sql, kafka: Kafka, option: str) -> None:
    one, two = (kafka.topic(f"several.{option}.{n}", 1) for n in "ab")
    value = {"subscribe": f"{one},{two}", "subscribePattern": f"several[.]{option}[.].*"}
    value["assign"] = f'{{"{one}": [0], "{two}": [0]}}'
    options = f"'kafka.bootstrap.servers' = '{kafka.servers}', '{option}' = '{value[option]}'"
    sql(f"CREATE TABLE t (id INT) USING kafka OPTIONS ({options}, 'value.format' = 'json')")
    sql("CREATE TABLE ids (id INT, topic STRING) USING parquet")
    kafka.send_json(one, [{"id": 1}])
    kafka.send_json(two, [{"id": 2}])
    sql("CREATE JOB j OPTIONS ('snapshotIntervalMillis' = '100') AS INSERT INTO ids SELECT id, _topic FROM STREAM t")
    sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60 SECONDS")
    assert sorted(sql("SELECT * FROM ids")) == [(1, one), (2, two)]
    assert [row[1] for row in sql("SHOW JOBS")] == ["j"]
    for text in ("INSERT INTO t VALUES (3)", "CREATE JOB k AS INSERT INTO t SELECT id FROM STREAM ids"):
        error = sql.error(text)
        assert error.condition == "JETSQL.UNSUPPORTED_SINK" and error.column == text.index(" t ") + 2


# --- columns and values ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ("a INT, A INT", "'value.format' = 'json'", "already exists"),
        ("a INT, b INT GENERATED ALWAYS AS (a + 1)", "'value.format' = 'json'", "cannot be GENERATED"),
        ("a MAP<INT, STRING>", "'value.format' = 'json'", "keys are not STRING"),
        ("a ARRAY<STRUCT<b: MAP<DATE, INT>>>", "'value.format' = 'json'", "keys are not STRING"),
        ("a BINARY", "'value.format' = 'csv'", "cannot be written as csv"),
        ("a STRUCT<b: INT>", "'value.format' = 'csv'", "cannot be written as csv"),
        ("a ARRAY<INT>", "'value.format' = 'raw'", "cannot be cast to text"),
        (
            "a INT, b ARRAY<INT>",
            "'value.format' = 'json', 'key.columns' = 'b', 'key.format' = 'raw'",
            "cannot be cast to text",
        ),
        ("a INT, b INT", "'value.format' = 'json', 'key.columns' = 'a,b', 'key.format' = 'raw'", "is one column"),
        ("a INT", "'value.format' = 'avro', 'avro.schema' = '{'", "must be the Avro schema of a record"),
        ("a INT", "'value.format' = 'avro', 'avro.schema' = '\"int\"'", "it is not a record"),
        (
            "a INT",
            "'value.format' = 'avro', 'avro.schema.id' = '2147483648'",
            "the id of the schema in a schema registry",
        ),
    ],
)
def test_columns_that_a_format_cannot_carry(sql: Sql, columns: str, options: str, words: str) -> None:
    given = f"'kafka.bootstrap.servers' = 'x:1', 'topic' = 't', {options}"
    assert words in sql.error(f"CREATE TABLE t ({columns}) USING kafka OPTIONS ({given})").message


TYPES = (
    "b BOOLEAN, ti TINYINT, si SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, de DECIMAL(38,18), s STRING, bi BINARY,"
    " da DATE, ts TIMESTAMP, n TIMESTAMP_NTZ, a ARRAY<INT>, m MAP<STRING, DOUBLE>,"
    " st STRUCT<x: INT, y: ARRAY<STRUCT<z: DECIMAL(20,5), w: TIMESTAMP>>>"
)
FULL = (
    "true, -128Y, 32767S, -2147483648, 9223372036854775807L, CAST(0.5 AS FLOAT), 0.1D,"
    " 12345678901234567890.123456789012345678, 'a,\"\\n\\u0000é😀', X'00ff', DATE'0001-01-01',"
    " TIMESTAMP'1900-01-01 00:00:00.000001+05:53', TIMESTAMP_NTZ'9999-12-30 23:59:59.999999', array(1, NULL),"
    " map('a', 1.5D, 'b', NULL), named_struct('x', 1, 'y', array(named_struct('z', 1.00001BD, 'w',"
    " TIMESTAMP'2026-01-01 00:00:00.123456Z')))"
)


@pytest.mark.parametrize("form", ["json", "avro"])
def test_values_come_back_as_they_were(sql: Sql, table: Table, form: str) -> None:
    table("t", TYPES, form)
    nothing = ", ".join(["NULL"] * 16)
    odd = nothing.split(", ")
    odd[5:7] = "CAST('NaN' AS FLOAT)", "CAST('-Infinity' AS DOUBLE)"
    odd[8:10] = "''", "X''"
    odd[13:15] = "array()", "map()"
    rows = (FULL, nothing, ", ".join(odd))
    for row in rows:
        sql(f"INSERT INTO t VALUES ({row})")
    wanted = [sql(f"SELECT CAST(({row}) AS STRING)") for row in rows]
    names = ", ".join(column.split()[0] for column in re.split(r", (?=\w+ [A-Z])", TYPES))
    found = sql(f"SELECT CAST(({names}) AS STRING) FROM t ORDER BY _offset")
    assert found == [row for [row] in wanted]


# Each message that is not one JSON object, and the reason.
NO_OBJECT = {
    b'{"id":2,"s":"b"} {"id":3}': "it has text after its JSON object",
    b'{"id":4}\n{"id":5}': "it has text after its JSON object",
    b'{"id":6} garbage': "it has text after its JSON object",
    b'{"id":7}}': "it has text after its JSON object",
    b'[{"id":8}]': "it is not a JSON object",
    b"12": "it is not a JSON object",
    b'{"id":9': "it is not valid JSON",
    b'{"id":10,"s":"\xff"}': "it is not valid JSON",
    b'{"other":"\xc3("}': "it is not valid JSON",
    b'{"id":"x","s":"y"}': "id is not of type INT",
}


def test_json_message_is_one_object(sql: Sql, kafka: Kafka, table: Table) -> None:
    texts = ["1.10", '{"a":1.10, "b": 12345678901234567890.12}', "12345678901234567890123", "[1.50,2]", "1E5", "true"]
    topic = table("t", "id INT, s STRING", on_error="null")
    good = [
        b' {"id":1,"s":"a"}\r\n',
        '\ufeff{"id":2,"s":"\u00fc"}'.encode(),
        *(f'{{"s":{text}}}'.encode() for text in texts),
    ]
    kafka.send(topic, [Message(None, value) for value in (*good, *NO_OBJECT)])
    assert sql("SELECT id, s FROM t ORDER BY _offset") == [
        *((1, "a"), (2, "\u00fc")),
        *((None, text) for text in texts),
        *[(None, None)] * len(NO_OBJECT),
    ]
    sql(f"CREATE TABLE u (id INT, s STRING) {kafka.options(topic, value_format='json')}")
    for offset, reason in enumerate(NO_OBJECT.values(), len(good)):
        assert "the columns of spark_catalog" in (
            message := sql.error(f"SELECT * FROM u WHERE _offset = {offset}").message
        )
        assert reason in message, message


def test_a_message_with_bytes_after_its_record_does_not_fit(sql: Sql, kafka: Kafka, table: Table) -> None:
    """Refuse the message, because a reader that stops after the first record would lose the others."""
    records = {
        "csv": (b"1,a", b'2,"a\nb"', b"3,c\n", b"4,d\n5,e", b"6,f\r\n7,g"),
        "avro": (b"\0\2\0\2a", b"\0\4\0\6a\nb", b"\0\6\0\2c", b"\0\x08\0\2d\0\x0a\0\2e", b"\0\x0c\0\2f\0"),
    }
    for form, values in records.items():
        topic = table(form, "id INT, s STRING", form, on_error="skip")
        kafka.send(topic, [Message(None, value) for value in values])
        assert sql(f"SELECT id, s FROM {form} ORDER BY 1") == [(1, "a"), (2, "a\nb"), (3, "c")]
        sql(f"CREATE TABLE {form}_fails (id INT, s STRING) {kafka.options(topic, value_format=form)}")
        reason = {"csv": "it has more than one line", "avro": "it has bytes after its record"}[form]
        for offset in (3, 4):
            assert reason in sql.error(f"SELECT * FROM {form}_fails WHERE _offset = {offset}").message


def test_avro_with_another_schema(sql: Sql, kafka: Kafka, table: Table) -> None:
    types = {"more": '["null", "string"]', "ID": '"long"', "x": '"float"'}
    fields = ", ".join(f'{{"name": "{name}", "type": {kind}}}' for name, kind in types.items())
    schema = f'{{"type": "record", "name": "r", "fields": [{fields}]}}'
    topic = table("t", "id INT, x DECIMAL(5,1)", "avro", key_columns="id", on_error="null", avro_schema=schema)
    sql("INSERT INTO t VALUES (1, 2.5)")
    kafka.send(topic, [Message(b"7", b"\x02\x02a\x04\x00\x00\x80?"), Message(b"8", b"?"), Message(b"9", None)])
    assert kafka.read(topic)[0].value == b"\x00\x02\x00\x00 @"
    assert sql("SELECT * FROM t ORDER BY _offset") == [(1, Decimal("2.5")), (2, Decimal("1.0")), (8, None), (9, None)]


def test_avro_with_a_registry_schema_number(sql: Sql, kafka: Kafka, table: Table) -> None:
    head = b"\0\0\0\1\2"
    topic = table("t", "id INT, name STRING", "avro", avro_schema_id="258", on_error="null", key_columns="id")
    sql("INSERT INTO t VALUES (1, 'a')")
    [message] = kafka.read(topic)
    record = (message.value or b"").removeprefix(head)
    assert (message.value, message.key) == (head + record, b"1") and record == b"\0\2\0\2a"
    kafka.send(topic, [Message(None, value) for value in (b"\0\0\0\1\3" + record, record, head, b"\0", None)])
    kafka.send(topic, [Message(b"7", head + b"\0\x0e\0\2b")])
    assert sql("SELECT * FROM t ORDER BY _offset") == [(1, "a"), *[(None, None)] * 5, (7, "b")]
    sql(f"CREATE TABLE u (id INT, name STRING) {kafka.options(topic, value_format='avro', avro_schema_id='258')}")
    assert "schema id of the option 'avro.schema.id'" in sql.error("SELECT * FROM u WHERE _offset = 4").message


def test_messages_without_avro(sql: Sql, kafka: Kafka, table: Table) -> None:
    topic = table("t", "id INT, name STRING", "avro", on_error="skip")
    sql("INSERT INTO t VALUES (1, 'a')")
    sql("INSERT INTO t VALUES (NULL, NULL)")
    kafka.send(topic, [Message(None, value) for value in (b"\0", b"", b"?", None)])
    assert sql("SELECT *, _offset FROM t ORDER BY _offset") == [(1, "a", 0), (None, None, 1), (None, None, 5)]
    sql(f"CREATE TABLE u (id INT, name STRING) {kafka.options(topic, value_format='avro')}")
    assert "set the option 'avro.schema.id'" in sql.error("SELECT * FROM u WHERE _offset = 2").message


@pytest.mark.slow
def test_an_error_of_a_value_names_the_messages(sql: Sql, kafka: Kafka, table: Table) -> None:
    topic = table("t", "id INT")
    sql("CREATE TABLE small (id TINYINT) USING parquet")
    sql("INSERT INTO t VALUES (1)")
    sql("CREATE JOB j AS INSERT INTO small SELECT CAST(id AS TINYINT) FROM STREAM t")
    sql("WAIT FOR JOB j UNTIL IDLE")
    sql("INSERT INTO t SELECT /*+ COALESCE(1) */ * FROM VALUES (2), (200)")
    message = sql.error("WAIT FOR JOB j UNTIL IDLE").message
    assert "[CAST_OVERFLOW]" in message
    assert f"The task was reading topic {topic}, partition 0, offsets 1 to 2." in message


def test_texts_of_a_certain_length(sql: Sql, kafka: Kafka, table: Table) -> None:
    topic = table("t", "c CHAR(5), v VARCHAR(3)")
    sql("INSERT INTO t VALUES ('ab', 'abc')")
    assert sql.error("INSERT INTO t VALUES ('ab', 'abcd')").condition == "EXCEED_LIMIT_LENGTH"
    kafka.send_json(topic, [{"c": "x", "v": "y"}])
    assert sql("SELECT * FROM t ORDER BY _offset") == [("ab   ", "abc"), ("x", "y")]


@pytest.mark.slow
def test_a_key_is_the_same_in_every_zone(sql: Sql, kafka: Kafka, table: Table) -> None:
    one = table("one", "at TIMESTAMP, n INT", key_columns="at")
    two = table("two", "at TIMESTAMP, d DATE, n INT", key_columns="at,d")
    raw = table("raw", "at TIMESTAMP", "raw")
    try:
        for zone in ("UTC", "Asia/Tokyo"):
            sql(f"SET TIME ZONE '{zone}'")
            sql("INSERT INTO one VALUES (TIMESTAMP'2026-01-01 00:00:00.123456Z', 1)")
            sql("INSERT INTO two VALUES (TIMESTAMP'2026-01-01 00:00:00.123456Z', NULL, 1)")
            sql("INSERT INTO raw VALUES (TIMESTAMP'2026-01-01 00:00:00.123456Z')")
        at = datetime(2026, 1, 1, 0, 0, 0, 123456, tzinfo=UTC)
        assert {row[0] for name in ("one", "two", "raw") for row in sql(f"SELECT at FROM {name}")} == {at}
    finally:
        sql("SET TIME ZONE 'UTC'")
    assert {message.key for message in kafka.read(one)} == {b"2026-01-01T00:00:00.123456Z"}
    assert {message.key for message in kafka.read(two)} == {b'{"at":"2026-01-01T00:00:00.123456Z"}'}
    assert {message.value for message in kafka.read(raw)} == {b"2026-01-01T00:00:00.123456Z"}


@pytest.mark.slow
def test_names_of_columns(sql: Sql, kafka: Kafka, table: Table) -> None:
    topic = table("t", "`a b` INT, `ü😀` STRING, Up INT, `a.b` INT, `q``q` INT, __broken INT", key_columns="`a.b`, a b")
    sql("INSERT INTO t VALUES (1, 'x', 2, 3, 4, 5)")
    assert kafka.read(topic)[0].key == b'{"a.b":3,"a b":1}'
    assert sql("SELECT `a.b`, up, `q``q`, `A B`, `Ü😀`, __broken, _offset FROM t") == [(3, 2, 4, 1, "x", 5, 0)]
    topic = table("own", "_offset INT, _key STRING, value STRING, partition INT")
    kafka.send(topic, [Message(b"k", b'{"_offset": 42, "_key": "theirs", "value": "v", "partition": 9}')])
    assert sql("SELECT *, _partition FROM own WHERE _offset = 42") == [(42, "theirs", "v", 9, 0)]


def test_keys_of_all_kinds(sql: Sql, kafka: Kafka, table: Table) -> None:
    table("lists", "a ARRAY<INT>, n INT", key_columns="a")
    sql("INSERT INTO lists VALUES (array(1), 1), (NULL, 2)")
    assert sorted(sql("SELECT n, a FROM lists")) == [(1, [1]), (2, None)]
    topic = table("t", "id BIGINT, d DATE, name STRING", key_columns="id", on_error="null")
    keys = (b"x", None, b"1", None, b"", b"2")
    values = (b'{"name": "a"}', b'{"name": "b"}', None, None, None, b'{"id": 3, "d": "2026-01-01"}')
    kafka.send(topic, [Message(key, value) for key, value in zip(keys, values, strict=True)])
    assert sql("SELECT * FROM t ORDER BY _offset") == [
        (None, None, "a"),
        (None, None, "b"),
        (1, None, None),
        (None, None, None),
        (None, None, None),
        (3, date(2026, 1, 1), None),
    ]
