"""Kafka tables whose values are Protobuf messages: columns, reading, writing, and refusals."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from tests.conftest import Sql
from tests.support.servers.kafka import Kafka, Message
from tests.support.tables.protobuf_messages import descriptor_set, message_class

pytestmark = pytest.mark.spark

_numbers = itertools.count(1)
AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
Table = Callable[..., str]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.desc"
    path.write_bytes(descriptor_set().SerializeToString())
    return path


@pytest.fixture
def table(sql: Sql, kafka: Kafka, file: Path) -> Table:
    """Create tables whose values are messages of the descriptor file; return the topic."""

    def make(name: str, columns: str = "", topic: str = "", **options: str) -> str:
        topic = topic or kafka.topic(f"protobuf.{next(_numbers)}", 1)
        given = {"value_format": "protobuf", "protobuf_descriptor_file": str(file), "protobuf_message": "shop.Order"}
        sql(f"CREATE TABLE {name} {columns} {kafka.options(topic, **given | options)}")
        return topic

    return make


def test_reads_messages_of_other_programs(sql: Sql, kafka: Kafka, table: Table) -> None:
    topic = table("t")
    order = message_class("shop.Order")
    full = order(id=1, text="ä", small=2**32 - 1, big=2**64 - 1, ok=True, data=b"\1", state="PAID", note="n")
    full.at.FromDatetime(AT)
    full.line.article, full.line.n = "x", 3
    full.tags.extend(["a", "b"])
    full.stock["x"] = 7
    kafka.send(topic, [Message(None, value.SerializeToString()) for value in (full, order())])
    assert [row[1] for row in sql("DESCRIBE t")[:11]] == [
        *("bigint", "string", "bigint", "decimal(20,0)", "boolean", "binary", "string", "timestamp"),
        *("struct<article:string,n:int>", "array<string>", "string"),
    ]
    rows = sql(
        "SELECT id, text, small, big, ok, state, at, line.n, get(tags, 1), note, stock['x'] FROM t ORDER BY _offset"
    )
    assert rows[0] == (1, "ä", 2**32 - 1, Decimal(2**64 - 1), True, "PAID", AT, 3, "b", "n", 7)
    assert rows[1] == (0, "", 0, Decimal(0), False, "OPEN", None, None, None, None, None)


def test_writes_messages_for_other_programs(sql: Sql, kafka: Kafka, table: Table) -> None:
    topic = table("t")
    sql(
        "INSERT INTO t SELECT 1, 'a', 4294967295, 18446744073709551615, true, X'02', 'PAID',"
        " TIMESTAMP'2026-01-02 03:04:05.678901', named_struct('article', 'x', 'n', 3),"
        " array('a', 'b'), NULL, map('x', 7)"
    )
    [message] = kafka.read(topic)
    read = message_class("shop.Order").FromString(message.value)
    assert (read.id, read.text, read.small, read.big, read.data) == (1, "a", 2**32 - 1, 2**64 - 1, b"\2")
    assert (read.state, read.at.ToDatetime(UTC), read.line.n, list(read.tags)) == (1, AT, 3, ["a", "b"])
    assert dict(read.stock) == {"x": 7} and not read.HasField("note")
    assert "has no value 'LOST'. Its values: OPEN, PAID" in sql.error("INSERT INTO t (state) VALUES ('LOST')").message
    assert "cannot contain -1" in sql.error("INSERT INTO t (small) VALUES (-1)").message


@pytest.mark.slow
def test_the_table_keeps_the_descriptor(sql: Sql, kafka: Kafka, table: Table, file: Path) -> None:
    topic = table("t", "(id BIGINT, text STRING)")
    file.write_bytes(b"other")
    sql("INSERT INTO t VALUES (1, 'a')")
    text = sql.value("SHOW CREATE TABLE t")
    assert str(file) not in text
    sql("DROP TABLE t")
    sql(text)
    assert sql("SELECT * FROM t") == [(1, "a")]
    assert len(kafka.read(topic)) == 1


def test_messages_that_do_not_fit(sql: Sql, kafka: Kafka, table: Table) -> None:
    topic = table("t", "(id BIGINT)", on_error="table:broken")
    kafka.send(topic, [Message(None, value) for value in (b"\x08\5", b"\0\0\0\0\1\0\x08\5", b"\x08", b"\x08\6")])
    sql("CREATE TABLE copy (id BIGINT) USING parquet")
    sql("CREATE JOB j OPTIONS ('trigger' = 'availableNow') AS INSERT INTO copy SELECT id FROM STREAM t")
    sql("WAIT FOR JOB j UNTIL COMPLETED")
    assert sql("SELECT id FROM copy ORDER BY id") == [(5,), (6,)]
    reasons = [reason for (reason,) in sql("SELECT reason FROM broken ORDER BY offset")]
    assert reasons[1] == "it is not a valid message of the type shop.Order"
    assert "as clients of a schema registry write it" in reasons[0]
    table("strict", "(id BIGINT)", topic)
    assert "it is not a valid message" in sql.error("SELECT * FROM strict").message


def test_a_required_field_needs_a_column(sql: Sql, table: Table) -> None:
    table("t", "(text STRING)", protobuf_message="shop.Strict")
    error = sql.error("INSERT INTO t VALUES ('a')")
    assert "requires the field id, for which there is no column" in error.message
    table("u", protobuf_message="shop.Strict")
    assert "is required and cannot be NULL" in sql.error("INSERT INTO u (text) VALUES ('a')").message


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ("(id INT)", {}, "The column id is INT, but the field shop.Order.id is BIGINT"),
        ("(nr INT)", {}, "has no field for the column nr. Its fields: id, text"),
        ("", {"protobuf_message": "shop.Ordr"}, "it has no message shop.Ordr. Its messages: "),
        ("", {"protobuf_message": "shop.Tree"}, "the message shop.Tree contains itself"),
        ("", {"protobuf_descriptor_file": "/nowhere/x"}, "the file cannot be read (NoSuchFileException)"),
        ("", {"protobuf_descriptor": "AAAA"}, "either 'protobuf.descriptor.file' or 'protobuf.descriptor'"),
        ("(id BIGINT)", {"value_format": "json"}, "is for tables with 'value.format' = 'protobuf'"),
        ("(id BIGINT)", {"protobuf_mesage": "x"}, "Did you mean 'protobuf.message'"),
    ],
)
def test_refusals(table: Table, columns: str, options: dict[str, str], words: str) -> None:
    with pytest.raises(Exception) as raised:
        table("t", columns, "t", **options)
    assert words in str(raised.value)
