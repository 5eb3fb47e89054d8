"""Kafka tables that gain columns: what the jobs that read or write them make of it, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import pytest

from tests.conftest import Sql
from tests.support.servers.kafka import Kafka, Message
from tests.support.servers.schema_registry import Registry

pytestmark = pytest.mark.spark

QUICK = "OPTIONS ('snapshotIntervalMillis' = '100')"
Table = Callable[..., str]


@pytest.fixture
def table(sql: Sql, kafka: Kafka) -> Table:
    """Return a function that creates a table over a new topic, see `Kafka.table`."""
    return partial(kafka.table, sql)


def wait(sql: Sql, *jobs: str) -> None:
    for job in jobs:
        sql(f"WAIT FOR JOB {job} UNTIL IDLE")


def test_jobs_keep_their_columns_and_state_until_replaced(sql: Sql, kafka: Kafka, table: Table) -> None:
    """Test one story: messages before and after the change, a restart of the jobs, and new versions of them."""
    more = {"key_columns": "id", "watermark": "at DELAY OF INTERVAL 1 SECOND", "on_error": "table:dead"}
    topic = table("k", "id BIGINT COMMENT 'its number', name STRING, at TIMESTAMP", **more)
    sql("CREATE TABLE copies (id BIGINT, name STRING, at TIMESTAMP, day INT) USING parquet")
    sql("CREATE TABLE counts (name STRING, n BIGINT) USING parquet")
    copy = f"JOB copy {QUICK} AS INSERT INTO copies SELECT *, 7 FROM STREAM k"
    count = f"JOB counting {QUICK} AS INSERT OVERWRITE counts SELECT name, count(*) FROM STREAM k GROUP BY name"
    kafka.send_json(topic, [{"id": 1, "name": "a", "c": 11}])
    sql(f"CREATE {copy}")
    sql(f"CREATE {count}")
    wait(sql, "copy", "counting")

    [(before,)] = sql("SHOW CREATE TABLE k")
    sql("ALTER TABLE k ADD COLUMNS (c INT COMMENT 'the new one')")
    [(after,)] = sql("SHOW CREATE TABLE k")
    assert after.replace(",\n  c INT COMMENT 'the new one'", "") == before
    kafka.send_json(topic, [{"id": 2, "name": "a", "c": 12}, {"id": 3, "name": "b", "c": "no number"}])
    wait(sql, "copy", "counting")
    for job in ("copy", "counting"):
        sql(f"SUSPEND JOB {job}")
        sql(f"RESUME JOB {job}")
    kafka.send_json(topic, [{"id": 4, "name": "b"}, {"id": 5, "name": "b", "c": "none"}])
    wait(sql, "copy", "counting")
    assert sql("SELECT id, day FROM copies ORDER BY id") == [(number, 7) for number in range(1, 6)]
    assert sql("SELECT * FROM counts ORDER BY name") == [("a", 2), ("b", 3)]
    assert sql("SELECT * FROM dead") == []  # the jobs do not know the column that does not fit
    assert sql("SELECT id, c FROM k ORDER BY _offset") == [(1, 11), (2, 12), (4, None)]

    sql("ALTER TABLE copies ADD COLUMN c INT")
    replaced = copy.replace("INTO copies SELECT *, 7", "INTO copies (id, name, at, c, day) SELECT *, 7")
    [(*_, message)] = sql(f"CREATE OR REPLACE {replaced}")
    assert "The query can read the new column c of spark_catalog" in message
    [(*_, message)] = sql(f"CREATE OR REPLACE {count}")
    assert "The state is kept" in message
    [(*_, message)] = sql(f"CREATE OR REPLACE {count}")
    assert "already has this statement" in message
    kafka.send_json(topic, [{"id": 6, "name": "a", "c": 16}, {"id": 7, "name": "a", "c": "bad"}])
    wait(sql, "copy", "counting")
    assert sql("SELECT id, c FROM copies ORDER BY id") == [*((n, None) for n in range(1, 6)), (6, 16)]
    assert sql("SELECT * FROM counts ORDER BY name") == [("a", 3), ("b", 3)]
    assert {json.loads(row[0])["id"] for row in sql("SELECT value FROM dead")} == {7}
    wrong = sql.error(f"CREATE OR REPLACE {count.replace('SELECT name', 'SELECT c').replace('BY name', 'BY c')}")
    assert wrong.condition == "JETSQL.STATE_NOT_COMPATIBLE" and "the aggregate" in wrong.message


def test_jobs_write_the_columns_that_they_know(sql: Sql, kafka: Kafka, table: Table) -> None:
    source = table("changes", "id BIGINT, name STRING, gone BOOLEAN")
    target = table("people", "id BIGINT, name STRING", key_columns="id")
    plain = table("names", "id BIGINT, name STRING")
    clauses = "FROM STREAM changes KEYS (id) APPLY AS DELETE WHEN gone SEQUENCE BY id COLUMNS * EXCEPT (gone)"
    sql(f"CREATE JOB newest {QUICK} AS AUTO CDC INTO people {clauses}")
    sql(f"CREATE JOB plain {QUICK} AS INSERT INTO names SELECT id, name FROM STREAM changes")
    wait(sql, "newest", "plain")
    for name in ("people", "names", "changes"):
        sql(f"ALTER TABLE {name} ADD COLUMN gone_at INT")
    for number, restart in enumerate((False, True)):
        if restart:
            sql("RESTART JOB newest")
            sql("RESTART JOB plain")
        ids = [number * 2, number * 2 + 1]
        kafka.send_json(source, [{"id": each, "name": "x", "gone": each % 2 == 1, "gone_at": 5} for each in ids])
        wait(sql, "newest", "plain")
    sent = {json.loads(message.key or b""): message.value for message in kafka.read(target)}
    assert (sent[1], sent[3]) == (None, None)
    assert [json.loads(sent[number] or b"") for number in (0, 2)] == [{"id": 0, "name": "x"}, {"id": 2, "name": "x"}]
    values = [json.loads(message.value or b"") for message in kafka.read(plain)]
    assert values == [{"id": number, "name": "x"} for number in range(4)]


def test_lines_of_csv_may_lack_added_values(sql: Sql, kafka: Kafka, table: Table) -> None:
    topic = table("lines", "id BIGINT, name STRING", "csv", on_error="fail")
    sql("CREATE TABLE copies (id BIGINT, name STRING) USING parquet")
    sql("CREATE TABLE wide (id BIGINT, name STRING, c INT) USING parquet")
    sql(f"CREATE JOB copy {QUICK} AS INSERT INTO copies SELECT * FROM STREAM lines")
    kafka.send(topic, [Message(None, b"1,a")])
    wait(sql, "copy")
    caught = sql.error("ALTER TABLE lines ADD COLUMN c INT")
    assert (caught.condition, caught.sqlstate) == ("JETSQL.TABLE_IN_USE", "55006")
    sql("SUSPEND JOB copy")
    sql("ALTER TABLE lines ADD COLUMN c INT")
    kafka.send(topic, [Message(None, b"2,b,22")])
    sql("RESUME JOB copy")
    sql(f"CREATE JOB wide {QUICK} AS INSERT INTO wide SELECT * FROM STREAM lines")
    wait(sql, "copy", "wide")
    assert sql("SELECT * FROM copies ORDER BY id") == [(1, "a"), (2, "b")]
    assert sql("SELECT * FROM wide ORDER BY id") == [(1, "a", None), (2, "b", 22)]
    kafka.send(topic, [Message(None, b"3")])
    assert "it has 1 values for 3 columns" in sql.error("WAIT FOR JOB wide UNTIL IDLE").message


@pytest.mark.parametrize(
    ("columns", "options", "added", "words"),
    [
        ("", {"form": ""}, "c INT", "the columns of the table are Kafka's own"),
        ("(id BIGINT)", {}, "_Offset INT", "queries read a field of Kafka's messages with this name"),
        ("(id BIGINT)", {}, "c INT DEFAULT 5", "messages that were written before would be rows with NULL"),
        ("(id BIGINT)", {"form": "csv"}, "c ARRAY<INT>", "The column c (ARRAY<INT>)"),
        ("(id BIGINT)", {"form": "raw"}, "c INT", "With 'value.format' = 'raw' the value is one column"),
        ("(id BIGINT)", {"form": "avro"}, "c INT", "messages of Avro without a schema registry"),
        ("(id BIGINT)", {"form": "json"}, "c INT, ID INT", "`id` already exists"),
        ("(id BIGINT)", {"form": "json"}, "c INT, C INT", "`c` already exists"),
    ],
)
def test_refused_columns(sql: Sql, kafka: Kafka, columns: str, options: dict[str, str], added: str, words: str) -> None:
    form = options.get("form", "json")
    given = kafka.options("added.refused", **({"value_format": form} if form else {}))
    sql(f"CREATE TABLE t {columns} {given}")
    [(before,)] = sql("SHOW CREATE TABLE t")
    error = sql.error(f"ALTER TABLE t ADD COLUMNS ({added})")
    assert words in error.message and error.sqlstate
    assert sql("SHOW CREATE TABLE t") == [(before,)]
    sql("DROP TABLE t")


def test_avro_has_the_schema_of_the_columns(sql: Sql, kafka: Kafka, registry: Registry, table: Table) -> None:
    topic = table("a", "id BIGINT", "avro", avro_schema_registry_url=registry.url)
    sql("INSERT INTO a VALUES (1)")
    sql("ALTER TABLE a ADD COLUMN c INT")
    sql("INSERT INTO a VALUES (2, 22)")
    assert sql("SELECT * FROM a ORDER BY id") == [(1, None), (2, 22)]
    fixed = {"avro_schema_registry_url": registry.url, "avro_schema_registry_version": "1"}
    sql(f"CREATE TABLE first {kafka.options(topic, value_format='avro', **fixed)}")
    error = sql.error("ALTER TABLE first ADD COLUMN c INT")
    assert "Register a version with the field first. Its fields: id" in error.message
