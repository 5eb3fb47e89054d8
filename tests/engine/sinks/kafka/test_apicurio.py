"""Kafka tables with Apicurio Registry, a program of its own with Confluent's API."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from tests.conftest import Sql
from tests.support.servers.apicurio import Apicurio, running_apicurio
from tests.support.servers.kafka import Kafka, Message

pytestmark = [pytest.mark.spark, pytest.mark.slow]

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def apicurio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apicurio]:
    with running_apicurio(tmp_path_factory.mktemp("apicurio")) as running:
        yield running


@pytest.mark.parametrize("format_", ["avro", "protobuf", "json"])
def test_a_registered_schema(sql: Sql, kafka: Kafka, apicurio: Apicurio, format_: str) -> None:
    topic = kafka.topic(f"apicurio.{next(_numbers)}", 1)
    options = {"value_format": format_, f"{format_}_schema_registry_url": apicurio.url}
    sql(f"CREATE TABLE t (id BIGINT, at TIMESTAMP, tags ARRAY<STRING>) {kafka.options(topic, **options)}")
    sql("INSERT INTO t VALUES (1, TIMESTAMP'2026-01-01 00:00:00', array('a'))")
    sql("INSERT INTO t VALUES (2, NULL, array())")
    assert apicurio.call(f"/subjects/{topic}-value/versions") == [1]
    id_ = apicurio.call(f"/subjects/{topic}-value/versions/1")["id"]
    assert all((message.value or b"")[:5] == b"\0" + id_.to_bytes(4, "big") for message in kafka.read(topic))
    rows = sql("SELECT id, year(at), tags FROM t ORDER BY id")
    assert rows == [(1, 2026, ["a"]), (2, None, [])]
    kafka.send(topic, [Message(None, b"\0\0\1\0\0\0")])
    assert "the schema registry has no schema with the id 65536" in sql.error("SELECT * FROM t").message
    if format_ != "json":
        sql(f"CREATE TABLE columns {kafka.options(topic, **options)}")
        assert [row[0] for row in sql("DESCRIBE columns")[:3]] == ["id", "at", "tags"]


def test_schemas_of_other_programs(sql: Sql, kafka: Kafka, apicurio: Apicurio) -> None:
    topic = kafka.topic(f"apicurio.{next(_numbers)}", 1)
    apicurio.add(f"{topic}-value", 'syntax = "proto3"; message A { int64 id = 1; }', "PROTOBUF")
    options = {"value_format": "protobuf", "protobuf_schema_registry_url": apicurio.url}
    error = sql.error(f"CREATE TABLE t {kafka.options(topic, **options)}")
    assert error.condition == "JETSQL.SOURCE_NOT_READY" and "register the schema as a descriptor" in error.message
    json_ = {"value_format": "json", "json_schema_registry_url": apicurio.url}
    sql(f"CREATE TABLE j (id BIGINT) {kafka.options(topic, json_schema_registry_version='latest', **json_)}")
    assert "it is of the type PROTOBUF" in sql.error("INSERT INTO j VALUES (1)").message
    wrong = {**json_, "json_schema_registry_url": apicurio.url.replace("ccompat/v7", "no")}
    sql(f"CREATE TABLE wrong (id BIGINT) {kafka.options(topic, **wrong)}")
    assert "Check 'json.schema.registry.url'" in sql.error("INSERT INTO wrong VALUES (1)").message
