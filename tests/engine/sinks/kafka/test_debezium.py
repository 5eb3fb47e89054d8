"""Tables with 'value.format' = 'debezium-json': changes that are read, applied and written."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.conftest import Sql
from tests.support.servers.kafka import Kafka, Message

pytestmark = pytest.mark.spark

QUICK = "OPTIONS ('snapshotIntervalMillis' = '100')"
TIME = 1_700_000_000_000


def change(op: str, before: Any, after: Any, lsn: int, *, wrapped: bool = False) -> Message:
    """Return a change as Debezium writes it. wrapped: next to its schema."""
    source = {"connector": "postgresql", "ts_ms": TIME + lsn, "lsn": lsn, "table": "people", "snapshot": False}
    payload = {"before": before, "after": after, "source": source, "op": op, "ts_ms": TIME, "transaction": None}
    key = {"id": (before or after)["id"]}
    value = {"schema": {"type": "struct", "fields": []}, "payload": payload} if wrapped else payload
    return Message(json.dumps(key).encode(), json.dumps(value).encode(), 0)


def tombstone(id_: int) -> Message:
    return Message(json.dumps({"id": id_}).encode(), None, 0)


def person(id_: int, name: str | None = None, since: str | None = None) -> dict[str, Any]:
    return {"id": id_, "name": name, "since": since}


CHANGES = (
    change("r", None, person(1, "Ann", "2026-01-01T00:00:00Z"), 1),
    change("c", None, person(2, "Bob"), 2, wrapped=True),
    change("u", person(1, "Ann"), person(1, "Anna", "2026-01-01T00:00:00.5Z"), 3),
    change("c", None, person(3, "Eve"), 4),
    change("d", person(2), None, 5, wrapped=True),
    tombstone(2),
)


def make_people(sql: Sql, kafka: Kafka, topic: str, name: str = "people", **options: str) -> None:
    settings = {"value_format": "debezium-json", **options}
    sql(f"CREATE TABLE {name} (id INT, name STRING, since TIMESTAMP) {kafka.options(topic, **settings)}")


def test_each_message_is_a_change(sql: Sql, kafka: Kafka) -> None:
    topic = kafka.topic("debezium.read", 1)
    kafka.send(topic, CHANGES)
    make_people(sql, kafka, topic)
    anna = datetime(2026, 1, 1, 0, 0, 0, 500_000, UTC)
    assert sql("SELECT id, name, since, _op, _offset, _source['lsn'] FROM people ORDER BY _offset") == [
        (1, "Ann", anna.replace(microsecond=0), "r", 0, "1"),
        (2, "Bob", None, "c", 1, "2"),
        (1, "Anna", anna, "u", 2, "3"),
        (3, "Eve", None, "c", 3, "4"),
        (2, None, None, "d", 4, "5"),
    ]
    times = sql("SELECT min(_source_timestamp), max(unix_millis(_source_timestamp)) FROM people")
    assert times == [(datetime.fromtimestamp((TIME + 1) / 1000, UTC), TIME + 5)]
    assert len(sql("SELECT * FROM people LIMIT 1")[0]) == 3


@pytest.mark.slow
def test_messages_without_a_row_change(sql: Sql, kafka: Kafka) -> None:
    topic = kafka.topic("debezium.broken", 1)
    broken = {
        b"{": "it is not valid JSON",
        b'{"id": 1}': "it is not a change of Debezium: it has no op",
        b'[{"op": "c"}]': "it is not",
        b'{"op": "t", "before": null, "after": null}': "its op is t, which is no change of a row",
        b'{"op": "d", "before": null, "after": null}': "its op is d and it has no before",
        b'{"op": "c", "after": {"id": "x"}}': "id is not of type INT",
        # A number would become a wrong time.
        b'{"op": "c", "after": {"id": 1, "since": 1700000000000}}': "since is not of type TIMESTAMP",
    }
    kafka.send(topic, [CHANGES[0], *(Message(None, text, 0) for text in broken), CHANGES[1]])
    make_people(sql, kafka, topic, "fails")
    make_people(sql, kafka, topic, "skips", on_error="skip")
    make_people(sql, kafka, topic, "nulls", on_error="null")
    assert sql("SELECT id, _op FROM skips ORDER BY 1") == [(1, "r"), (2, "c")]
    assert sql("SELECT count(*), count(id), count(_op), count(_offset) FROM nulls") == [(9, 2, 2, 9)]
    for offset, reason in enumerate(broken.values(), 1):
        options = f"'startingOffsets' = '{{\"{topic}\": {{\"0\": {offset}}}}}'"
        message = sql.error(f"SELECT * FROM fails WITH ({options})").message
        assert f"The message at offset {offset} " in message and reason in message, message


@pytest.mark.slow
def test_changes_restore_the_table(sql: Sql, kafka: Kafka) -> None:
    source, compacted, changed = (kafka.topic(f"debezium.{name}") for name in ("source", "compacted", "changed"))
    make_people(sql, kafka, source)
    keyed = {"key_columns": "id"}
    columns = "(id INT, name STRING, since TIMESTAMP)"
    sql(f"CREATE TABLE newest {columns} {kafka.options(compacted, value_format='json', **keyed)}")
    make_people(sql, kafka, changed, "applied", **keyed)
    kafka.send(source, CHANGES[:3])
    clauses = "FROM STREAM people KEYS (id) APPLY AS DELETE WHEN _op = 'd' SEQUENCE BY _source['lsn']::bigint"
    sql(f"CREATE JOB a {QUICK} AS AUTO CDC INTO newest {clauses}")
    sql(f"CREATE JOB b {QUICK} AS AUTO CDC INTO applied {clauses}")
    for job in "ab":
        sql(f"WAIT FOR JOB {job} UNTIL IDLE")
    kafka.send(source, [*CHANGES[3:], *CHANGES])  # with all changes again
    for job in "ab":
        sql(f"WAIT FOR JOB {job} UNTIL IDLE")
    newest = {message.key: message.value for message in kafka.read(compacted)}
    assert newest[b"2"] is None and json.loads(newest[b"3"] or b"") == {"id": 3, "name": "Eve"}
    assert json.loads(newest[b"1"] or b"")["name"] == "Anna"
    written = {message.key: json.loads(message.value or b"") for message in kafka.read(changed)}
    assert written[b"3"] == {"before": None, "after": person(3, "Eve"), "op": "u"}
    assert written[b"2"] == {"before": person(2), "after": None, "op": "d"}
    found = sql("SELECT id, max_by(_op, _offset) FROM applied GROUP BY id ORDER BY id")
    assert found == [(1, "u"), (2, "d"), (3, "u")]


@pytest.mark.slow
def test_rows_are_written_as_changes(sql: Sql, kafka: Kafka) -> None:
    topic = kafka.topic("debezium.written", 1)
    make_people(sql, kafka, topic, key_columns="id")
    sql("INSERT INTO people VALUES (1, 'Ann', TIMESTAMP'2026-01-01 00:00:00Z')")
    sql("CREATE TABLE counts (id INT, name STRING) USING json")
    sql("INSERT INTO counts VALUES (1, 'x'), (2, NULL)")
    sql("CREATE JOB j AS SINK INTO people SELECT id, max(name), NULL FROM STREAM counts GROUP BY id")
    inserted, *written = (json.loads(message.value or b"") for message in kafka.read(topic))
    assert inserted == {"before": None, "after": person(1, "Ann", "2026-01-01T00:00:00.000000Z"), "op": "c"}
    assert sorted(written, key=lambda each: str(each["op"])) == [
        {"before": person(2), "after": None, "op": "d"},
        {"before": None, "after": person(1, "x"), "op": "u"},
    ]
    assert sql("SELECT since FROM people WHERE _op = 'c'") == [(datetime(2026, 1, 1, tzinfo=UTC),)]


@pytest.mark.slow
def test_dead_letters_and_keys_without_a_value(sql: Sql, kafka: Kafka) -> None:
    source, target = kafka.topic("debezium.letters", 1), kafka.topic("debezium.keyless", 1)
    kafka.send(source, [CHANGES[0], Message(None, b'{"op": "t"}', 0), tombstone(7)])
    make_people(sql, kafka, source, on_error="table:letters")
    make_people(sql, kafka, target, "applied", key_columns="id")
    clauses = "FROM STREAM people KEYS (id) APPLY AS DELETE WHEN _op = 'd' SEQUENCE BY _offset"
    sql(f"CREATE JOB j {QUICK} AS AUTO CDC INTO applied {clauses}")
    assert sql("SELECT offset, reason FROM letters") == [(1, "its op is t, which is no change of a row")]
    kafka.send(source, [Message(None, b'{"op": "c", "after": {"name": "nobody"}}', 0)])
    error = sql.error("WAIT FOR JOB j UNTIL IDLE")
    assert "A row of the batch has no key" in error.message
    assert [message.key for message in kafka.read(target)] == [b"1"]
