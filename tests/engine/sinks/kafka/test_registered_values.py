"""Kafka tables whose Protobuf and JSON schemas are in a schema registry: reading, writing, and wrong schemas."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from google.protobuf import descriptor_pb2

from tests.conftest import Sql
from tests.support.servers.kafka import Kafka, Message
from tests.support.servers.schema_registry import Registry
from tests.support.tables.protobuf_messages import descriptor_set, message_class

pytestmark = pytest.mark.spark

_numbers = itertools.count(1)
AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
ORDER = b"\2\2"  # the index of shop.Order in its file: one number, 1
Table = Callable[..., str]


@pytest.fixture
def table(sql: Sql, kafka: Kafka, registry: Registry) -> Table:
    """Create tables with values in a format whose schemas are in the registry; return the topic."""

    def make(name: str, format_: str, columns: str = "", topic: str = "", **options: str) -> str:
        topic = topic or kafka.topic(f"registered.{next(_numbers)}", 1)
        given = {"value_format": format_, f"{format_}_schema_registry_url": registry.url, **options}
        sql(f"CREATE TABLE {name} {columns} {kafka.options(topic, **given)}")
        return topic

    return make


def shop() -> descriptor_pb2.FileDescriptorProto:
    """Return the file with shop.Line, shop.Order and shop.Tree. Its import is one that each registry knows."""
    return descriptor_set().file[1]


def header(id_: int) -> bytes:
    return b"\0" + id_.to_bytes(4, "big")


def file_of(registry: Registry, id_: int) -> descriptor_pb2.FileDescriptorProto:
    """Return the registered Protobuf file."""
    return descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(registry.schemas[id_]))


def test_protobuf(sql: Sql, kafka: Kafka, registry: Registry, table: Table) -> None:
    topic = kafka.topic(f"registered.{next(_numbers)}", 1)
    id_ = registry.add_file(f"{topic}-value", shop())
    table("t", "protobuf", "", topic, protobuf_message="shop.Order", on_error="null")
    order = message_class("shop.Order")(id=1, text="ä", state="PAID")
    order.at.FromDatetime(AT)
    order.line.article = "x"
    kafka.send(
        topic, [Message(None, header(id_) + ORDER + order.SerializeToString()), Message(None, header(9) + b"\0")]
    )
    assert sql("SELECT id, text, state, at, line.article FROM t ORDER BY _offset") == [
        (1, "ä", "PAID", AT, "x"),
        (None,) * 5,
    ]
    sql("INSERT INTO t (id, tags) VALUES (2, array('a'))")
    value = kafka.read(topic)[-1].value or b""
    assert value[:7] == header(id_) + ORDER
    read = message_class("shop.Order").FromString(value[7:])
    assert (read.id, list(read.tags)) == (2, ["a"])
    assert list(registry.schemas) == [id_]


def test_json(sql: Sql, kafka: Kafka, registry: Registry, table: Table) -> None:
    topic = table("t", "json", "(id BIGINT, at TIMESTAMP)", on_error="null")
    sql("INSERT INTO t VALUES (1, TIMESTAMP'2026-01-01 00:00:00')")
    [id_] = registry.subjects[f"{topic}-value"]
    assert registry.types[id_] == "JSON"
    assert json.loads(registry.schemas[id_])["properties"]["id"] == {"type": ["integer", "null"]}
    [message] = kafka.read(topic)
    assert (message.value or b"").startswith(header(id_) + b'{"id":1,')
    values = (b'{"id": 2}', header(id_) + b'{"id": 3, "more": 4}')
    kafka.send(topic, [Message(None, value) for value in values])
    assert sql("SELECT id FROM t ORDER BY _offset") == [(1,), (None,), (3,)]


@pytest.mark.slow
def test_json_messages_that_do_not_fit(sql: Sql, kafka: Kafka, registry: Registry, table: Table) -> None:
    topic = table("t", "json", "(id BIGINT)", on_error="table:broken")
    id_ = registry.add("schema", "{}", "JSON")
    avro = registry.add("other", {"type": "record", "name": "a", "fields": []})
    broken = [b'{"id": 2}', header(77) + b'{"id": 2}', header(avro) + b"{}", header(id_) + b'{"id": "x"}']
    kafka.send(topic, [Message(None, value) for value in (*broken, header(id_) + b"[]", header(id_) + b'{"id": 3}')])
    sql("CREATE TABLE copy (id BIGINT) USING parquet")
    sql("CREATE JOB j OPTIONS ('trigger' = 'availableNow') AS INSERT INTO copy SELECT id FROM STREAM t")
    sql("WAIT FOR JOB j UNTIL COMPLETED")
    assert sql("SELECT id FROM copy ORDER BY id") == [(3,)]
    reasons = [reason for (reason,) in sql("SELECT reason FROM broken ORDER BY offset")]
    expected = (
        "does not begin with a zero byte",
        "no schema with the id 77",
        "type AVRO",
        "id is not of type BIGINT",
        "it is not a JSON object",
    )
    assert all(words in reason for words, reason in zip(expected, reasons, strict=True))


@pytest.mark.slow
def test_protobuf_messages_that_do_not_fit(sql: Sql, kafka: Kafka, registry: Registry, table: Table) -> None:
    topic = table("t", "protobuf", "(id BIGINT)", protobuf_message="shop.Order", on_error="table:broken")
    id_ = registry.add_file(f"{topic}-value", shop())
    avro = registry.add("other", {"type": "record", "name": "a", "fields": []})
    other = shop()
    other.message_type[1].field[0].type = descriptor_pb2.FieldDescriptorProto.TYPE_STRING
    changed = registry.add_file("changed", other)
    cases = {
        b"\x08\1": "does not begin with a zero byte and a schema id",
        b"\0\0\0": "does not begin with a zero byte and a schema id",
        header(99) + ORDER: "has no schema with the id 99",
        header(avro) + ORDER: "it is of the type AVRO, and the table's messages are PROTOBUF",
        header(id_): "it ends within the index of its type",
        header(id_) + b"\2\x20": f"its schema, id {id_}, has no message with the index [16]",
        header(id_) + b"\0": "it is of the type shop.Line, and not shop.Order",
        header(id_) + ORDER + b"\x08": f"not a valid message of the type shop.Order in its schema, id {id_}",
        header(changed) + ORDER: "the field shop.Order.id is STRING, and its column is BIGINT",
    }
    kafka.send(topic, [Message(None, value) for value in (*cases, header(id_) + ORDER + b"\x08\7")])
    sql("CREATE TABLE copy (id BIGINT) USING parquet")
    sql("CREATE JOB j OPTIONS ('trigger' = 'availableNow') AS INSERT INTO copy SELECT id FROM STREAM t")
    sql("WAIT FOR JOB j UNTIL COMPLETED")
    assert sql("SELECT id FROM copy") == [(7,)]
    reasons = [reason for (reason,) in sql("SELECT reason FROM broken ORDER BY offset")]
    for words, reason in zip(cases.values(), reasons, strict=True):
        assert words in reason
    table("strict", "protobuf", "(id BIGINT)", topic, protobuf_message="shop.Order")
    assert "To accept such messages, set the table option 'on.error'" in sql.error("SELECT * FROM strict").message


@pytest.mark.slow
def test_versions_and_references_of_protobuf(sql: Sql, kafka: Kafka, registry: Registry, table: Table) -> None:
    topic = kafka.topic(f"registered.{next(_numbers)}", 1)
    old = shop()
    del old.message_type[1].field[8:]  # without line, tags, note and stock
    del old.message_type[1].oneof_decl[:], old.message_type[1].nested_type[:]
    first = registry.add_file(f"{topic}-value", old)
    registry.add_file("shop.proto", shop())
    imports = descriptor_pb2.FileDescriptorProto(name="x", package="more", syntax="proto3", dependency=["shop.proto"])
    message = imports.message_type.add(name="Wrapped")
    message.field.add(name="order", number=1, type=11, label=1, type_name=".shop.Order")
    second = registry.add_file(f"{topic}-value", imports, **{"shop.proto": 1})
    table("wrapped", "protobuf", "", topic, on_error="skip")
    assert [row[0] for row in sql("DESCRIBE wrapped")[:1]] == ["order"]
    order = message_class("shop.Order")(id=5)
    body = b"\x0a" + bytes([len(order.SerializeToString())]) + order.SerializeToString()
    kafka.send(topic, [Message(None, header(second) + b"\0" + body), Message(None, header(first) + ORDER + b"\x08\7")])
    assert sql("SELECT order.id FROM wrapped") == [(5,)]
    third = registry.add_file(f"{topic}-value", shop())
    pinned = {"protobuf_message": "shop.Order", "protobuf_schema_registry_version": "3"}
    table("t", "protobuf", "(id BIGINT, note STRING)", topic, on_error="skip", **pinned)
    sql("INSERT INTO t VALUES (8, 'n')")
    assert sql("SELECT * FROM t ORDER BY id") == [(7, None), (8, "n")]
    assert (kafka.read(topic)[-1].value or b"").startswith(header(third) + ORDER)
    table("old", "protobuf", "(id BIGINT)", topic, **pinned | {"protobuf_schema_registry_version": "1"})
    sql("INSERT INTO old VALUES (9)")
    assert kafka.read(topic)[-1].value == header(first) + ORDER + b"\x08\x09"


@pytest.mark.slow
def test_protobuf_registers_the_columns(sql: Sql, kafka: Kafka, registry: Registry, table: Table) -> None:
    columns = "(id BIGINT, at TIMESTAMP, line STRUCT<n: INT>, tags ARRAY<STRING>, stock MAP<STRING, INT>, note STRING)"
    topic = table("t", "protobuf", columns, protobuf_message="shop.Own")
    sql("INSERT INTO t SELECT 1, TIMESTAMP'2026-01-01 00:00:00', named_struct('n', 2), array('a'), map('k', 3), NULL")
    [id_] = registry.subjects[f"{topic}-value"]
    file = file_of(registry, id_)
    assert (file.package, file.message_type[0].name) == ("shop", "Own")
    assert (kafka.read(topic)[0].value or b"").startswith(header(id_) + b"\0")
    assert sql("SELECT id, at, line.n, tags[0], stock['k'], note FROM t") == [
        (1, datetime(2026, 1, 1, tzinfo=UTC), 2, "a", 3, None)
    ]
    table("wide", "protobuf", "(note STRING, id BIGINT)", topic, protobuf_message="shop.Own")
    sql("INSERT INTO wide VALUES ('n', 2)")
    assert registry.subjects[f"{topic}-value"] == [id_]
    assert sql("SELECT id, note FROM t ORDER BY id") == [(1, None), (2, "n")]


@pytest.mark.slow
def test_wrong_schemas_of_protobuf(sql: Sql, kafka: Kafka, registry: Registry, table: Table) -> None:
    topic = kafka.topic(f"registered.{next(_numbers)}", 1)
    with pytest.raises(Exception, match=r"has no version of the subject .* Name the columns in CREATE TABLE"):
        table("t", "protobuf", "", topic)
    registry.add(f"{topic}-value", {"type": "record", "name": "a", "fields": []})
    with pytest.raises(Exception, match="it is of the type AVRO, and the table's messages are PROTOBUF"):
        table("t", "protobuf", "", topic)
    table("avro", "protobuf", "(id BIGINT)", topic)
    error = sql.error("INSERT INTO avro VALUES (1)")
    assert error.condition == "JETSQL.SINK_NOT_READY" and "it is of the type AVRO" in error.message
    registry.add_file("shop", shop())
    shops = {"protobuf_schema_registry_subject": "shop", "protobuf_message": "shop.Order"}
    with pytest.raises(Exception, match=r"it has no message shop\.Ordr\. Its messages: shop\.Line, shop\.Order"):
        table("t", "protobuf", "", topic, **shops | {"protobuf_message": "shop.Ordr"})
    with pytest.raises(Exception, match=r"the message shop\.Tree contains itself"):
        table("t", "protobuf", "", topic, **shops | {"protobuf_message": "shop.Tree"})
    for columns, words in {
        "(nr INT)": "has no field for the column nr. Its fields: id, text",
        "(id INT)": "The column id is INT, but the field shop.Order.id is BIGINT",
    }.items():
        sql("DROP TABLE IF EXISTS u")
        table("u", "protobuf", columns, topic, **shops)
        error = sql.error("INSERT INTO u VALUES (1)")
        assert error.condition == "JETSQL.SINK_NOT_READY" and words in error.message
    table("new", "protobuf", "(n SMALLINT)", topic, protobuf_schema_registry_subject="none")
    assert "The column n (SMALLINT) has no type in Protobuf" in sql.error("INSERT INTO new VALUES (1)").message
    table("none", "protobuf", "(id INT)", topic, protobuf_schema_registry_version="9")
    assert "has no version 9 of the subject" in sql.error("INSERT INTO none VALUES (1)").message
    registry.has_descriptors = False
    table("text", "protobuf", "(id BIGINT)", topic, **shops | {"protobuf_schema_registry_version": "1"})
    assert "does not return it as a descriptor" in sql.error("INSERT INTO text VALUES (1)").message
    registry.status = 404
    with pytest.raises(Exception, match="has no version of the subject"):
        table("gone", "protobuf", "", topic)


@pytest.mark.slow
def test_versions_of_json(sql: Sql, kafka: Kafka, registry: Registry, table: Table) -> None:
    topic = kafka.topic(f"registered.{next(_numbers)}", 1)
    schema: dict[str, Any] = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    id_ = registry.add(f"{topic}-value", schema, "JSON")
    registry.add(f"{topic}-value", schema | {"additionalProperties": False}, "JSON")
    table("t", "json", "(id BIGINT, more STRING)", topic, json_schema_registry_version="1")
    sql("INSERT INTO t VALUES (1, 'x')")
    assert kafka.read(topic)[0].value == header(id_) + b'{"id":1,"more":"x"}'
    latest = {"json_schema_registry_version": "latest"}
    for name, columns, words in (
        ("closed", "(id BIGINT, more STRING)", "The newest version of the subject"),
        ("lacks", "(more STRING)", "requires the property id, for which there is no column"),
        ("other", "(id STRING)", 'has the property id with the type "integer", and the column is STRING'),
    ):
        table(name, "json", columns, topic, **latest)
        error = sql.error(f"INSERT INTO {name} SELECT * FROM {name} WHERE false")
        assert error.condition == "JETSQL.SINK_NOT_READY" and words in error.message
    registry.refusal = "PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL"
    table("new", "json", "(id BIGINT, n INT)", topic)
    sql("CREATE TABLE rows (id BIGINT) USING parquet")
    error = sql.error("CREATE JOB j AS INSERT INTO new SELECT id, 1 FROM STREAM rows")
    for words in (f"{topic}-value", "BACKWARD", registry.refusal, "'json.schema.registry.version' = 'latest'"):
        assert words in error.message
    assert sql("SHOW JOBS") == []


@pytest.mark.slow
@pytest.mark.parametrize("format_", ["protobuf", "json"])
def test_credentials_stay_out_of_plans(sql: Sql, registry: Registry, table: Table, format_: str) -> None:
    registry.user_info = "ann:s3cr3t-of-registry"
    login = {f"{format_}_schema_registry_basic_auth_user_info": registry.user_info}
    table("t", format_, "(id BIGINT)", **login)
    sql("INSERT INTO t VALUES (1)")
    assert sql("SELECT * FROM t") == [(1,)]
    plan = sql.value("EXPLAIN EXTENDED SELECT * FROM t")
    assert "s3cr3t" not in plan and "QW5u" not in plan
    table("u", format_, "(id BIGINT)")
    assert f"Check '{format_}.schema.registry.basic.auth" in sql.error("INSERT INTO u VALUES (1)").message
