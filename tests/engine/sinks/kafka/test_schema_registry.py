"""Kafka tables whose Avro schemas are in a schema registry: reading, writing, and a registry with faults."""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Sql, until
from tests.support.servers.kafka import Kafka, Message
from tests.support.servers.schema_registry import USER_INFO, Registry, create_certificates, running_registry

pytestmark = pytest.mark.spark

_numbers = itertools.count(1)
Table = Callable[..., str]


@pytest.fixture
def table(sql: Sql, kafka: Kafka, registry: Registry) -> Table:
    """Create tables with values in Avro whose schemas are in the registry; return the topic."""

    def make(name: str, columns: str, topic: str = "", **options: str) -> str:
        topic = topic or kafka.topic(f"registry.{next(_numbers)}", 1)
        given = {"value_format": "avro", "avro_schema_registry_url": registry.url, **options}
        sql(f"CREATE TABLE {name} {columns} {kafka.options(topic, **given)}")
        return topic

    return make


def record(*fields: Any, name: str = "Order") -> dict[str, Any]:
    """Return the schema of a record. fields: pairs of name and type, and triples with a default."""
    members = [dict(zip(("name", "type", "default"), field, strict=False)) for field in fields]
    return {"type": "record", "name": name, "namespace": "shop", "fields": members}


def header(id_: int) -> bytes:
    return b"\0" + id_.to_bytes(4, "big")


ID = ("id", "long")
TEXT = ("text", "string")
MILLIS = ("at", {"type": "long", "logicalType": "timestamp-millis"})
MICROS = ("at", {"type": "long", "logicalType": "timestamp-micros"})


def test_reads_each_message_by_its_schema(sql: Sql, kafka: Kafka, registry: Registry, table: Table) -> None:
    topic = table("t", "(id BIGINT, text STRING, n INT)", on_error="null")
    versions = [
        registry.add(f"{topic}-value", record(TEXT, ID)),
        registry.add(f"{topic}-value", record(ID)),
        registry.add(f"{topic}-value", record(ID, TEXT, ("n", "int", 7), ("more", "string", ""))),
    ]
    records = [b"\2a\2", b"\4", b"\6\2c\x0a\0"]
    kafka.send(topic, [Message(None, header(id_) + data) for id_, data in zip(versions, records, strict=True)])
    broken = [b"", b"\0\0", header(99) + b"\2", header(versions[0]) + b"\x7f", b"\1" + header(1)]
    kafka.send(topic, [Message(None, value) for value in broken])
    rows = sql("SELECT * FROM t ORDER BY _offset")
    assert rows == [(1, "a", 7), (2, None, 7), (3, "c", 5), *[(None, None, None)] * 5]
    table("u", "(id BIGINT)", topic)
    reasons = [sql.error(f"SELECT id FROM u WHERE _offset = {offset}").message for offset in (3, 5, 6)]
    assert "does not begin with a zero byte and a schema id" in reasons[0]
    assert "the schema registry has no schema with the id 99" in reasons[1]
    assert "not a valid record of its schema" in reasons[2]
    assert registry.requests.count(f"/schemas/ids/{versions[0]}") == 1


def test_other_logical_types_do_not_fit(sql: Sql, kafka: Kafka, registry: Registry, table: Table) -> None:
    topic = table("t", "(at TIMESTAMP)", on_error="skip")
    old, new = (registry.add(f"{topic}-value", record(field)) for field in (MICROS, MILLIS))
    kafka.send(topic, [Message(None, header(old) + b"\2"), Message(None, header(new) + b"\xd0\x0f")])
    assert sql("SELECT unix_millis(at) FROM t") == [(1000,)]
    table("strict", "(at TIMESTAMP)", topic)
    assert "another logical type" in sql.error("SELECT * FROM strict").message


def test_columns_of_the_newest_version(sql: Sql, kafka: Kafka, registry: Registry, table: Table) -> None:
    topic = kafka.topic(f"registry.{next(_numbers)}", 1)
    with pytest.raises(Exception, match="has no version of the subject"):
        table("t", "", topic)
    registry.add("orders", record(ID, MILLIS))
    table("o", "", topic, avro_schema_registry_subject="orders")
    assert [row[:2] for row in sql("DESCRIBE o")] == [("id", "bigint"), ("at", "timestamp")]
    registry.add(f"{topic}-value", record(TEXT))
    with pytest.raises(Exception, match="names the column id"):
        table("t", "", topic, key_columns="id")


def test_writes_with_a_registered_schema(sql: Sql, kafka: Kafka, registry: Registry, table: Table) -> None:
    topic = table("t", "(id BIGINT, at TIMESTAMP)", key_columns="id")
    sql("INSERT INTO t VALUES (1, TIMESTAMP'2026-01-01 00:00:00')")
    [id_] = registry.subjects[f"{topic}-value"]
    assert [field["default"] for field in json.loads(registry.schemas[id_])["fields"]] == [None, None]
    assert (kafka.read(topic)[0].value or b"").startswith(header(id_))
    table("wide", "(id BIGINT, at TIMESTAMP, more STRING)", topic)
    sql("INSERT INTO wide VALUES (2, NULL, 'x')")
    at = datetime(2026, 1, 1, tzinfo=UTC)
    assert sql("SELECT * FROM t ORDER BY id") == [(1, at), (2, None)]
    assert sql("SELECT * FROM wide ORDER BY id") == [(1, at, None), (2, None, "x")]


@pytest.mark.slow
def test_writes_a_pinned_version(sql: Sql, kafka: Kafka, registry: Registry, table: Table) -> None:
    topic = kafka.topic(f"registry.{next(_numbers)}", 1)
    registry.add(f"{topic}-value", record(ID))
    registry.add(f"{topic}-value", record(ID, TEXT))
    table("t", "(id BIGINT)", topic, avro_schema_registry_version="1")
    sql("INSERT INTO t VALUES (5)")
    assert kafka.read(topic)[0].value == header(1) + b"\x0a"
    table("newest", "(id BIGINT)", topic, avro_schema_registry_version="latest")
    assert "requires the field text, for which there is no column" in sql.error("INSERT INTO newest VALUES (1)").message
    table("none", "(id BIGINT)", topic, avro_schema_registry_version="9")
    assert "has no version 9 of the subject" in sql.error("INSERT INTO none VALUES (1)").message


def test_an_incompatible_schema_creates_no_job(sql: Sql, kafka: Kafka, registry: Registry, table: Table) -> None:
    topic = table("t", "(id BIGINT)")
    registry.refusal = "the new schema lacks the field text"
    sql("CREATE TABLE rows (id BIGINT) USING parquet")
    error = sql.error("CREATE JOB j AS INSERT INTO t SELECT id FROM STREAM rows")
    assert error.condition == "JETSQL.SINK_NOT_READY"
    for words in (f"{topic}-value", "BACKWARD", registry.refusal):
        assert words in error.message
    assert sql("SHOW JOBS") == [] and kafka.read(topic) == []


def test_secrets(sql: Sql, registry: Registry, table: Table, tmp_path: Path) -> None:
    registry.user_info = USER_INFO
    (tmp_path / "login").write_text(USER_INFO)
    table("t", "(id BIGINT)", avro_schema_registry_basic_auth_user_info=f"secret:file:{tmp_path / 'login'}")
    sql("INSERT INTO t VALUES (1)")
    assert sql("SELECT * FROM t") == [(1,)]
    plan = sql.value("EXPLAIN EXTENDED SELECT * FROM t")
    assert USER_INFO.partition(":")[2] not in plan and "QW5u" not in plan
    table("u", "(id BIGINT)")
    error = sql.error("SELECT * FROM u")
    assert error.condition == "JETSQL.SOURCE_NOT_READY" and "with the status 401" in error.message
    log = sql.engine.home / "engine.log"
    assert "goes to its schema registry in clear" not in log.read_text(encoding="utf-8")
    elsewhere = {"avro_schema_registry_url": "http://registry.invalid", "avro_schema_registry_header_x": "hush-hush"}
    table("v", "(id BIGINT)", **elsewhere)
    text = log.read_text(encoding="utf-8")
    assert "avro.schema.registry.header.x of a new table goes to its schema registry in clear" in text
    assert "hush-hush" not in text


@pytest.mark.slow
def test_a_registry_with_its_own_authority(sql: Sql, table: Table, tmp_path: Path) -> None:
    with running_registry(create_certificates(tmp_path)) as registry:
        registry.user_info = USER_INFO
        given = {"avro_schema_registry_url": registry.url, "avro_schema_registry_basic_auth_user_info": USER_INFO}
        location, password = (
            "avro_schema_registry_ssl_truststore_location",
            "avro_schema_registry_ssl_truststore_password",
        )
        table("untrusted", "(id BIGINT)", **given)
        error = sql.error("INSERT INTO untrusted VALUES (1)")
        assert "avro.schema.registry.ssl.truststore.location" in error.message and not registry.requests
        (tmp_path / "password").write_text("trusted")
        keytool = ("keytool", "-importcert", "-noprompt", "-file", "ca.pem", "-keystore", "trust.p12")
        command = (*keytool, "-storepass", "trusted")
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60)
        store = {location: str(tmp_path / "trust.p12"), password: f"secret:file:{tmp_path / 'password'}"}
        for name, trust in (("pem", {location: str(tmp_path / "ca.pem")}), ("p12", store)):
            table(name, "(id BIGINT)", **given, **trust)
            sql(f"INSERT INTO {name} VALUES (1)")
            assert sql(f"SELECT * FROM {name}") == [(1,)]
        for name, wrong in (("w1", store | {password: "other"}), ("w2", {location: str(tmp_path / "none")})):
            table(name, "(id BIGINT)", **given, **wrong)
            error = sql.error(f"SELECT * FROM {name}")
            assert error.condition == "JETSQL.SOURCE_NOT_READY" and "Cannot read the trust store" in error.message
        assert registry.requests


@pytest.mark.slow
def test_a_registry_whose_response_stops_is_away(sql: Sql, registry: Registry) -> None:
    registry.add("t-value", record(ID))
    registry.is_stalled = True
    options = f"'topic' = 't', 'value.format' = 'avro', 'avro.schema.registry.url' = '{registry.url}'"
    try:
        error = sql.error(f"CREATE TABLE t USING kafka OPTIONS ('kafka.bootstrap.servers' = 'x:1', {options})")
    finally:
        registry.released.set()
    assert error.condition == "JETSQL.EXTERNAL_SYSTEM_UNAVAILABLE"
    assert f"The schema registry {registry.url} has sent no complete answer for 15 s." in error.message


@pytest.mark.slow
def test_a_job_waits_for_its_registry(sql: Sql, kafka: Kafka, registry: Registry, table: Table) -> None:
    topic = table("t", "(id BIGINT)")
    first = registry.add(f"{topic}-value", record(ID))
    kafka.send(topic, [Message(None, header(first) + b"\2")])
    sql("CREATE TABLE copy (id BIGINT) USING parquet")
    sql("CREATE JOB j OPTIONS ('snapshotIntervalMillis' = '100') AS INSERT INTO copy SELECT id FROM STREAM t")
    sql("WAIT FOR JOB j UNTIL IDLE")
    second = registry.add(f"{topic}-value", record(ID, ("n", "int", 0)))
    registry.status = 503
    kafka.send(topic, [Message(None, header(second) + b"\4\0")])
    until(lambda: "The schema registry" in str(sql("SHOW JOBS LIKE 'j'")[0][-1]))
    assert sql.status("j") != "FAILED"
    registry.status = 0
    until(lambda: sql("SELECT id FROM copy ORDER BY id") == [(1,), (2,)])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("'avro.schema.registry.url' = 'x:1'", "It must be a URL"),
        ("'avro.schema.registry.url' = 'http://ann:pw@x'", "must not contain credentials"),
        ("'avro.schema.registry.subject' = 's'", "needs 'avro.schema.registry.url'"),
        ("'avro.schema.registry.url' = 'http://x', 'avro.schema.id' = '1'", "Set either"),
        ("'avro.schema.registry.url' = 'http://x', 'avro.schema.registry.version' = '0'", "number of a version"),
        (
            "'avro.schema.registry.url' = 'https://x', 'avro.schema.registry.ssl.truststore.password' = 'p'",
            "needs 'avro",
        ),
        ("'avro.schema.registry.urls' = 'http://x'", "Did you mean 'avro.schema.registry.url'"),
        ("'avro.schema.registry.subject' = 'secret:env:X'", "cannot name a secret"),
    ],
)
def test_wrong_options(sql: Sql, options: str, words: str) -> None:
    given = f"'kafka.bootstrap.servers' = 'x:1', 'topic' = 't', 'value.format' = 'avro', {options}"
    error = sql.error(f"CREATE TABLE t (id INT) USING kafka OPTIONS ({given})")
    assert words in error.message and "pw" not in error.message
