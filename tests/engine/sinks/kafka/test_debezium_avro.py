"""Tables with 'value.format' = 'debezium-avro': changes whose schemas are in a schema registry."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from tests.conftest import Sql
from tests.support.servers.kafka import Kafka, Message
from tests.support.servers.schema_registry import Registry

pytestmark = [pytest.mark.spark, pytest.mark.slow]

QUICK = "OPTIONS ('snapshotIntervalMillis' = '100')"
TIME = 1_700_000_000_000
COLUMNS = "(id INT, name STRING, since TIMESTAMP_NTZ)"
AT = datetime(2026, 1, 1, 0, 0, 0, 500_000)


def number(value: int) -> bytes:
    """Return an int or a long in Avro: zigzag, seven bits in a byte."""
    rest, data = (value << 1) ^ (value >> 63), bytearray()
    while rest > 0x7F:
        data.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*data, rest])


def text(value: str) -> bytes:
    return number(len(value.encode())) + value.encode()


def some(value: bytes | None) -> bytes:
    """Return the value of a type [null, T]."""
    return b"\0" if value is None else b"\2" + value


def micros(at: datetime) -> int:
    return int((at.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1_000_000)


def named(type_: str, name: str, **more: Any) -> dict[str, Any]:
    """Return a type with the name that Kafka Connect keeps."""
    return {"type": type_, "connect.version": 1, "connect.name": name, **more}


def optional(name: str, type_: Any) -> dict[str, Any]:
    return {"name": name, "type": ["null", type_], "default": None}


ID: dict[str, Any] = {"name": "id", "type": "int"}
SINCE = named("long", "io.debezium.time.MicroTimestamp")
PERSON = (ID, optional("name", "string"), optional("since", SINCE))


def envelope(*fields: dict[str, Any], server: str = "shop") -> dict[str, Any]:
    """Return the schema that Debezium registers for a table of PostgreSQL with these columns."""
    row = {"type": "record", "name": "Value", "fields": list(fields), "connect.name": f"{server}.public.people.Value"}
    source = [
        {"name": "connector", "type": "string"},
        {"name": "ts_ms", "type": "long"},
        {"name": "snapshot", "type": [named("string", "io.debezium.data.Enum"), "null"], "default": "false"},
        optional("lsn", "long"),
    ]
    return {
        "type": "record",
        "name": "Envelope",
        "namespace": f"{server}.public.people",
        "fields": [
            optional("before", row),
            optional("after", "Value"),
            {
                "name": "source",
                "type": {"type": "record", "name": "Source", "namespace": "io.debezium", "fields": source},
            },
            {"name": "op", "type": "string"},
            optional("ts_ms", "long"),
        ],
    }


def change(id_: int, op: str, before: bytes | None, after: bytes | None, lsn: int, key: int) -> Message:
    """Return a change with the schema of this id."""
    source = text("postgresql") + number(TIME + lsn) + b"\0" + text("false") + some(number(lsn))
    value = some(before) + some(after) + source + text(op) + some(number(TIME))
    return Message(f'{{"id": {key}}}'.encode(), b"\0" + id_.to_bytes(4, "big") + value, 0)


def person(id_: int, name: str | None = None, since: datetime | None = None) -> bytes:
    time = None if since is None else number(micros(since))
    return number(id_) + some(None if name is None else text(name)) + some(time)


def changes(id_: int) -> list[Message]:
    return [
        change(id_, "r", None, person(1, "Ann"), 1, 1),
        change(id_, "c", None, person(2, "Bob"), 2, 2),
        change(id_, "u", person(1, "Ann"), person(1, "Änne", AT), 3, 1),
        change(id_, "d", person(2), None, 4, 2),
        Message(b'{"id": 2}', None, 0),
    ]


def make(sql: Sql, kafka: Kafka, registry: Registry, name: str, columns: str, topic: str, **more: str) -> None:
    options = {"value_format": "debezium-avro", "avro_schema_registry_url": registry.url, **more}
    sql(f"CREATE TABLE {name} {columns} {kafka.options(topic, **options)}")


@pytest.mark.slow
def test_each_message_is_a_change(sql: Sql, kafka: Kafka, registry: Registry) -> None:
    topic = kafka.topic("debezium.avro.read", 1)
    old = registry.add(f"{topic}-value", envelope(ID, optional("name", "string"), server="old"))
    kafka.send(topic, [change(old, "c", None, number(9) + some(text("Old")), 0, 9)])
    new = registry.add(f"{topic}-value", envelope(*PERSON))
    kafka.send(topic, changes(new))
    make(sql, kafka, registry, "people", "", topic)
    assert [row[:2] for row in sql("DESCRIBE people")] == [
        ("id", "int"),
        ("name", "string"),
        ("since", "timestamp_ntz"),
    ]
    assert sql("SELECT *, _op, _source['lsn'], _source['snapshot'] FROM people ORDER BY _offset") == [
        (9, "Old", None, "c", "0", "false"),
        (1, "Ann", None, "r", "1", "false"),
        (2, "Bob", None, "c", "2", "false"),
        (1, "Änne", AT, "u", "3", "false"),
        (2, None, None, "d", "4", "false"),
    ]
    assert sql("SELECT max(unix_millis(_source_timestamp)) FROM people") == [(TIME + 4,)]
    make(sql, kafka, registry, "numbers", "(ID BIGINT, since BIGINT)", topic)
    assert sql("SELECT * FROM numbers WHERE _op = 'u'") == [(1, micros(AT))]


@pytest.mark.slow
def test_types_of_debezium(sql: Sql, kafka: Kafka, registry: Registry) -> None:
    topic = kafka.topic("debezium.avro.types", 1)
    decimal = named("bytes", "org.apache.kafka.connect.data.Decimal", scale=2, precision=10, logicalType="decimal")
    fields: list[dict[str, Any]] = [
        {"name": "day", "type": named("int", "io.debezium.time.Date")},
        {"name": "millis", "type": [named("long", "io.debezium.time.Timestamp"), "null"], "default": 0},
        {
            "name": "at",
            "type": named("long", "org.apache.kafka.connect.data.Timestamp", logicalType="timestamp-millis"),
        },
        {"name": "zoned", "type": named("string", "io.debezium.time.ZonedTimestamp")},
        {"name": "price", "type": decimal},
    ]
    id_ = registry.add(f"{topic}-value", envelope(*fields))
    zoned = "2026-01-01T00:00:00.5+01:00"
    row = number(1) + b"\0" + number(2000) + number(TIME) + text(zoned) + number(2) + (1234).to_bytes(2, "big")
    kafka.send(topic, [change(id_, "c", None, row, 1, 1)])
    make(sql, kafka, registry, "t", "", topic)
    rows = sql("SELECT day, millis, unix_millis(at), zoned, price FROM t")
    assert rows == [(date(1970, 1, 2), datetime(1970, 1, 1, 0, 0, 2), TIME, zoned, Decimal("12.34"))]
    make(sql, kafka, registry, "converted", "(millis BIGINT, zoned TIMESTAMP, price STRING)", topic)
    at = datetime(2025, 12, 31, 23, 0, 0, 500_000, UTC)
    assert sql("SELECT * FROM converted") == [(2000, at, "12.34")]
    # A number would become a wrong time, and a time a number of another unit.
    make(sql, kafka, registry, "wrong", "(at BIGINT, price TIMESTAMP, zoned INT, day ARRAY<INT>, millis INT)", topic)
    message = sql.error("SELECT * FROM wrong").message
    wrong = ("at is not of type BIGINT", "price is not of type TIMESTAMP", "zoned is not of type INT")
    assert ", ".join((*wrong, "day is not of type ARRAY<INT>.")) in message


@pytest.mark.slow
def test_messages_without_a_row_change(sql: Sql, kafka: Kafka, registry: Registry) -> None:
    topic = kafka.topic("debezium.avro.broken", 1)
    plain = registry.add("other", {"type": "record", "name": "Order", "fields": [ID]})
    id_ = registry.add(f"{topic}-value", envelope(*PERSON))
    good = change(id_, "c", None, person(1), 1, 1)
    header = b"\0" + id_.to_bytes(4, "big")
    broken = [
        (b"{}", "it does not begin with a zero byte and a schema id"),
        (header + b"\x7f", "it is not a valid record of its schema"),
        (b"\0" + plain.to_bytes(4, "big") + b"\2", "it is not a change of Debezium: it has no op"),
        (change(id_, "t", None, None, 1, 1).value or b"", "its op is t, which is no change of a row"),
        (change(id_, "d", None, None, 1, 1).value or b"", "its op is d and it has no before"),
    ]
    kafka.send(topic, [good, *(Message(None, value, 0) for value, _ in broken), good])
    make(sql, kafka, registry, "fails", COLUMNS, topic)
    make(sql, kafka, registry, "nulls", COLUMNS, topic, on_error="null")
    assert sql("SELECT count(*), count(id), count(_op), count(_offset) FROM nulls") == [(7, 2, 2, 7)]
    for offset, (_, reason) in enumerate(broken, 1):
        message = sql.error(f"SELECT * FROM fails WHERE _offset = {offset}").message
        assert f"The message at offset {offset} " in message and reason in message, message
    registry.add(f"{topic}-value", {"type": "record", "name": "Order", "fields": [ID]})
    other = kafka.topic("debezium.avro.other", 1)
    make(sql, kafka, registry, "named", COLUMNS, other, avro_schema_registry_subject="other")
    error = sql.error("SELECT * FROM named")
    assert error.condition == "JETSQL.SOURCE_NOT_READY" and "not that of a change of Debezium" in error.message


def test_changes_are_applied_and_written(sql: Sql, kafka: Kafka, registry: Registry) -> None:
    source, target = kafka.topic("debezium.avro.source", 1), kafka.topic("debezium.avro.target", 1)
    id_ = registry.add(f"{source}-value", envelope(*PERSON))
    make(sql, kafka, registry, "people", COLUMNS, source)
    make(sql, kafka, registry, "applied", COLUMNS, target, key_columns="id")
    kafka.send(source, changes(id_))
    clauses = "KEYS (id) APPLY AS DELETE WHEN _op = 'd' SEQUENCE BY _source['lsn']::bigint"
    sql(f"CREATE JOB j {QUICK} AS AUTO CDC INTO applied FROM STREAM people {clauses}")
    sql("WAIT FOR JOB j UNTIL IDLE")
    kafka.send(source, [change(id_, "c", None, person(3, "Eve"), 5, 3), *changes(id_)])
    sql("WAIT FOR JOB j UNTIL IDLE")
    newest = "SELECT id, max_by(struct(_op, name, since), _offset) AS newest FROM applied GROUP BY id"
    assert sql(f"SELECT id, newest.* FROM ({newest}) ORDER BY id") == [
        (1, "u", "Änne", AT),
        (2, "d", None, None),
        (3, "u", "Eve", None),
    ]
    sql("INSERT INTO applied VALUES (4, 'Zoe', NULL)")
    assert sql("SELECT _op, name FROM applied WHERE id = 4") == [("c", "Zoe")]


@pytest.mark.slow
def test_a_pinned_version(sql: Sql, kafka: Kafka, registry: Registry) -> None:
    topic = kafka.topic("debezium.avro.pinned", 1)
    schema = envelope(*PERSON)
    registry.add(f"{topic}-value", schema)
    make(sql, kafka, registry, "debezium", COLUMNS, topic, avro_schema_registry_version="1")
    assert (
        "requires the field source, for which there is no column"
        in sql.error("INSERT INTO debezium VALUES (1, 'x', NULL)").message
    )
    schema["fields"] = [field for field in schema["fields"] if field["name"] != "source"]
    id_ = registry.add(f"{topic}-value", schema)
    make(sql, kafka, registry, "people", COLUMNS, topic, avro_schema_registry_version="2")
    sql("INSERT INTO people SELECT 1, 'Ann', TIMESTAMP_NTZ'2026-01-01 00:00:00.5'")
    [message] = kafka.read(topic)
    after = some(None) + some(person(1, "Ann", AT)) + text("c") + some(None)
    assert message.value == b"\0" + id_.to_bytes(4, "big") + after
    assert sql("SELECT *, _op, _source FROM people") == [(1, "Ann", AT, "c", None)]


@pytest.mark.slow
def test_keys_in_avro_dead_letters_and_deletions(sql: Sql, kafka: Kafka, registry: Registry) -> None:
    source, target = kafka.topic("debezium.avro.keys", 1), kafka.topic("debezium.avro.sink", 1)
    key = registry.add(f"{source}-key", {"type": "record", "name": "Key", "fields": [ID]})
    id_ = registry.add(f"{source}-value", envelope(*PERSON))
    keyed = {"key_format": "avro", "key_columns": "id", "on_error": "table:letters"}
    make(sql, kafka, registry, "people", "(id INT, name STRING, since TIMESTAMP)", source, **keyed)
    header = b"\0" + key.to_bytes(4, "big")
    rows = [person(7, "Ann", AT), person(8, "Bob")]
    kafka.send(
        source,
        [
            Message(header + number(7), change(id_, "c", None, rows[0], 1, 7).value, 0),
            Message(header + number(7), b"\0\0\0\0\x63", 0),
            Message(header + number(8), change(id_, "c", None, rows[1], 2, 8).value, 0),
        ],
    )
    make(sql, kafka, registry, "named", "(id INT, name STRING, since TIMESTAMP)", target, key_columns="id")
    sql(f"CREATE JOB j {QUICK} AS SINK INTO named SELECT id, nullif(name, 'Bob'), since FROM STREAM people")
    sql("WAIT FOR JOB j UNTIL IDLE")
    [(offset, reason)] = sql("SELECT offset, reason FROM letters")
    assert offset == 1 and reason == "the schema registry has no schema with the id 99, with which it begins"
    since = sql("SELECT TIMESTAMP'2026-01-01 00:00:00.5'")[0][0]
    assert sql("SELECT *, _op FROM named ORDER BY id") == [(7, "Ann", since, "u"), (8, None, None, "d")]
    sql("SET TIME ZONE '+02:00'")
    hour = "SELECT unix_timestamp(max(since)) - unix_timestamp(TIMESTAMP'2026-01-01 00:00:00Z') FROM people"
    assert sql(hour) == [(-7200,)]
    sql("SET TIME ZONE 'UTC'")
