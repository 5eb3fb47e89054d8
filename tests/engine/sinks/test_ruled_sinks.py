"""Rules of jobs into a database and into a topic: what a rule excludes is written to no other table."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import Sql
from tests.support.servers.kafka import Kafka
from tests.support.servers.postgres import Postgres

pytestmark = pytest.mark.spark

QUICK = "OPTIONS ('snapshotIntervalMillis' = '100')"
RULES = (
    "(CONSTRAINT named EXPECT (name IS NOT NULL) ON VIOLATION DROP ROW,"
    " CONSTRAINT small EXPECT (id < 10) ON VIOLATION INTO TABLE wrong)"
)
_schemas = itertools.count(1)


@pytest.fixture
def events(sql: Sql) -> Iterator[Sql]:
    sql("CREATE TABLE events (id INT, name STRING, n INT, op STRING) USING json")
    add(sql, "(1, 'a', 1, 'I'), (2, NULL, 1, 'I'), (30, 'c', 1, 'I'), (4, 'd', 1, 'I')")
    yield sql
    for row in sql("SHOW JOBS"):
        sql(f"DROP JOB '{row[0]}'")


@pytest.fixture
def schema(events: Sql, postgres: Postgres) -> Iterator[str]:
    name = f"ruled_{next(_schemas)}"
    postgres(f"CREATE SCHEMA {name}; CREATE TABLE {name}.t (id int PRIMARY KEY, name text NOT NULL)")
    yield name
    for row in events("SHOW JOBS"):
        events(f"DROP JOB '{row[0]}'")
    postgres(f"DROP SCHEMA {name} CASCADE")


def add(sql: Sql, values: str) -> None:
    # One file: the job may see several files of a statement in two batches.
    sql(f"INSERT INTO events SELECT /*+ COALESCE(1) */ * FROM VALUES {values}")


def counts(sql: Sql) -> list[tuple[Any, ...]]:
    job_id = sql.value("SELECT id FROM jetsql.jobs WHERE name = 'j' AND status = 'RUNNING'")
    return sorted(sql(f"SELECT rule, rows, violations FROM jetsql.expectations WHERE job_id = '{job_id}'"))


@pytest.mark.parametrize("verb", ["INSERT INTO", "SINK INTO"])
def test_a_database_gets_the_rows_that_pass(events: Sql, postgres: Postgres, schema: str, verb: str) -> None:
    events(f"CREATE TABLE t {postgres.options(f'{schema}.t', key_columns='id')}")
    events(f"CREATE JOB j {RULES} {QUICK} AS {verb} t SELECT id, name FROM STREAM events")
    events("WAIT FOR JOB j UNTIL IDLE")
    add(events, "(5, NULL, 1, 'I'), (6, 'f', 1, 'I')")
    events("WAIT FOR JOB j UNTIL IDLE")
    assert postgres(f"SELECT * FROM {schema}.t ORDER BY id") == [(1, "a"), (4, "d"), (6, "f")]
    assert [row[0] for row in events("SELECT row FROM wrong")] == ['{"id":30,"name":"c"}']
    assert counts(events) == [("named", 6, 2), ("small", 6, 1)]


def test_auto_cdc_checks_updates_and_not_deletions(events: Sql, postgres: Postgres, schema: str) -> None:
    events(f"CREATE TABLE t {postgres.options(f'{schema}.t', key_columns='id')}")
    events(
        f"CREATE JOB j {RULES} {QUICK} AS AUTO CDC INTO t FROM STREAM events KEYS (id) APPLY AS DELETE WHEN op = 'D'"
        " SEQUENCE BY n COLUMNS * EXCEPT (op, n)"
    )
    events("WAIT FOR JOB j UNTIL IDLE")
    assert postgres(f"SELECT * FROM {schema}.t ORDER BY id") == [(1, "a"), (4, "d")]
    assert counts(events) == [("named", 4, 1), ("small", 4, 1)]
    add(events, "(1, NULL, 2, 'U'), (4, NULL, 2, 'D'), (2, 'b', 2, 'U')")
    events("WAIT FOR JOB j UNTIL IDLE")
    assert postgres(f"SELECT * FROM {schema}.t ORDER BY id") == [(1, "a"), (2, "b")]
    assert counts(events)[0][2] == 2


@pytest.mark.parametrize("guarantee", ["exactlyOnce", "atLeastOnce"])
def test_a_topic_gets_the_rows_that_pass(events: Sql, kafka: Kafka, guarantee: str) -> None:
    topic = f"ruled-{guarantee.lower()}"
    kafka.topic(topic, 2)
    events(f"CREATE TABLE topic (id INT, name STRING) {kafka.options(topic, value_format='json')}")
    options = f"OPTIONS ('snapshotIntervalMillis' = '100', 'processingGuarantee' = '{guarantee}')"
    events(f"CREATE JOB j {RULES} {options} AS INSERT INTO topic SELECT id, name FROM STREAM events")
    events("WAIT FOR JOB j UNTIL IDLE")
    add(events, "(5, NULL, 1, 'I'), (6, 'f', 1, 'I')")
    events("WAIT FOR JOB j UNTIL IDLE")
    values = [json.loads(message.value or b"{}") for message in kafka.read(topic)]
    assert sorted(value["id"] for value in values) == [1, 4, 6]
    assert [row[0] for row in events("SELECT row FROM wrong")] == ['{"id":30,"name":"c"}']
    assert counts(events) == [("named", 6, 2), ("small", 6, 1)]


@pytest.mark.parametrize("guarantee", ["exactlyOnce", "atLeastOnce"])
def test_a_topic_gets_nothing_of_a_batch_that_fails(events: Sql, kafka: Kafka, guarantee: str) -> None:
    topic = f"failed-{guarantee.lower()}"
    kafka.topic(topic, 2)
    events(f"CREATE TABLE topic (id INT, name STRING) {kafka.options(topic, value_format='json')}")
    error = events.error(
        "CREATE JOB j (CONSTRAINT small EXPECT (id < 10) ON VIOLATION FAIL)"
        f" OPTIONS ('processingGuarantee' = '{guarantee}') AS INSERT INTO topic SELECT id, name FROM STREAM events"
    )
    assert "[JETSQL.EXPECTATION_VIOLATED]" in error.message
    assert '{"id":30,"name":"c"}' in error.message
    assert kafka.read(topic) == []
