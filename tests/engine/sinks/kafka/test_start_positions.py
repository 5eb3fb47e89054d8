"""Jobs that begin to read topics at the position of the clause START_MODE."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator

import pytest

from tests.conftest import Sql
from tests.support.servers.kafka import Kafka, Message

pytestmark = pytest.mark.spark

FAST = "OPTIONS ('snapshotIntervalMillis' = '100')"
_numbers = itertools.count(1)


@pytest.fixture
def topic(kafka: Kafka, sql: Sql) -> Iterator[str]:
    """Return a topic with two partitions and the messages 1 to 4, whose table is s; the table o is for results."""
    name = kafka.topic(f"starts{next(_numbers)}", 2)
    sql(f"CREATE TABLE s (id INT) {kafka.options(name, value_format='json')}")
    sql("CREATE TABLE o (id INT) USING parquet")
    send(kafka, name, 1, 2, 3, 4)
    yield name
    for row in sql("SHOW JOBS"):
        sql(f"DROP JOB '{row[0]}'")


def send(kafka: Kafka, topic: str, *ids: int, millis: int | None = None) -> None:
    """Send messages, the even ones to partition 0 and the odd ones to partition 1."""
    kafka.send(topic, (Message(None, json.dumps({"id": each}).encode(), each % 2, timestamp=millis) for each in ids))


def read(sql: Sql, job: str = "j") -> list[int]:
    sql(f"WAIT FOR JOB {job} UNTIL IDLE TIMEOUT 60 SECONDS")
    return sorted(row[0] for row in sql("SELECT id FROM o"))


def create(sql: Sql, mode: str, replace: str = "", query: str = "SELECT id FROM STREAM s") -> str:
    """Create the job j and return the message of the statement."""
    [row] = sql(f"CREATE {replace} JOB j {FAST} START_MODE = {mode} AS INSERT INTO o {query}")
    return str(row[3])


def test_from_now_begins_after_the_last_message(sql: Sql, kafka: Kafka, topic: str) -> None:
    message = create(sql, "FROM_NOW")
    assert f"It begins at the offsets {topic} 0:2, 1:2 of spark_catalog." in message
    send(kafka, topic, 5, 6)
    assert read(sql) == [5, 6]
    facts = dict(sql("DESCRIBE JOB j"))
    assert facts["start mode"] == "FROM_NOW" and f"{topic} 0:2, 1:2" in facts["began"]
    assert f"{topic} 0:2, 1:2" in str(sql("SHOW JOB HISTORY j"))
    assert "START_MODE = FROM_NOW\nAS INSERT" in sql.value("SHOW CREATE JOB j")
    kafka.add_partitions(topic, 3)
    kafka.send(topic, [Message(None, b'{"id": 9}', 2)])
    assert read(sql) == [5, 6, 9]


def test_from_timestamp_in_the_time_zone_of_the_session(sql: Sql, kafka: Kafka, topic: str) -> None:
    late = 1_900_000_000_000  # 2030-03-17 17:46:40 in UTC, and 18:46:40 in Berlin
    old = 1_700_000_000_000  # 2023-11-14 22:13:20 in UTC, and 23:13:20 in Berlin
    send(kafka, topic, 5, 6, millis=old)
    assert (
        sql.error(
            f"CREATE JOB j START_MODE = FROM_TIMESTAMP('{_time(late)}') AS INSERT INTO o SELECT id FROM STREAM s"
        ).condition
        == "JETSQL.INVALID_START_MODE"
    )
    sql("SET TIME ZONE 'Europe/Berlin'")
    name = kafka.topic(f"{topic}.old", 1)
    sql(f"CREATE TABLE old (id INT) {kafka.options(name, value_format='json')}")
    for number, millis in enumerate((old - 1, old, old + 1)):
        kafka.send(name, [Message(None, b'{"id": %d}' % number, 0, timestamp=millis)])
    create(sql, "FROM_TIMESTAMP(TIMESTAMP '2023-11-14 23:13:20')", query="SELECT id FROM STREAM old")
    assert read(sql) == [1, 2]


def _time(millis: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S+00:00", time.gmtime(millis / 1000))


def test_timestamp_after_the_last_message_begins_at_the_end(sql: Sql, kafka: Kafka, topic: str) -> None:
    name = kafka.topic(f"{topic}.past", 2)
    send(kafka, name, 1, 2, millis=1_700_000_000_000)
    sql(f"CREATE TABLE past (id INT) {kafka.options(name, value_format='json')}")
    create(sql, "FROM_NOW(INTERVAL '1' HOUR)", query="SELECT id FROM STREAM past")
    send(kafka, name, 3, 4)
    assert read(sql) == [3, 4]


def test_given_offsets_are_compared_with_the_topic(sql: Sql, kafka: Kafka, topic: str) -> None:
    for offsets, problem in (
        ("[1]", "are no offsets"),
        ({topic: {"0": 1}}, "The offset of partition 1 of the topic"),
        ({topic: {"0": 1, "1": 1, "2": 1}}, "has no partition 2"),
        ({topic: {"0": 3, "1": 1}}, "has no offset 3"),
        ({topic: {"0": 1, "1": 1}, "other": {"0": 1}}, "does not read the topic other"),
    ):
        text = offsets if isinstance(offsets, str) else json.dumps(offsets)
        error = sql.error(f"CREATE JOB j START_MODE = FROM_OFFSETS('{text}') AS INSERT INTO o SELECT id FROM STREAM s")
        assert error.condition == "JETSQL.INVALID_START_MODE" and problem in str(error.message)
    offsets = json.dumps({topic: {"0": -1, "1": 1}})
    create(sql, f"FROM_OFFSETS('{offsets}')")
    send(kafka, topic, 5, 6)
    assert read(sql) == [3, 5, 6]


def test_clause_and_option_that_disagree_are_refused(sql: Sql, kafka: Kafka, topic: str) -> None:
    for option, mode, condition in (
        ("latest", "FROM_BEGINNING", "JETSQL.START_NOT_POSSIBLE"),
        ("earliest", "FROM_NOW", "JETSQL.START_NOT_POSSIBLE"),
    ):
        body = f"INSERT INTO o SELECT id FROM STREAM s WITH ('startingOffsets' = '{option}')"
        assert sql.error(f"CREATE JOB j START_MODE = {mode} AS {body}").condition == condition
    create(sql, "FROM_BEGINNING", query="SELECT id FROM STREAM s WITH ('startingOffsets' = 'earliest')")
    assert read(sql) == [1, 2, 3, 4]


def test_job_that_exists_keeps_its_position(sql: Sql, kafka: Kafka, topic: str) -> None:
    create(sql, "RESUME_OR_FROM_NOW", "OR REPLACE")
    send(kafka, topic, 5)
    assert read(sql) == [5]
    query = "SELECT id FROM STREAM s WHERE id > 0"
    error = sql.error(f"CREATE OR REPLACE JOB j {FAST} START_MODE = FROM_BEGINNING AS INSERT INTO o {query}")
    assert error.condition == "JETSQL.START_NOT_POSSIBLE" and "RESUME_OR_FROM_BEGINNING" in str(error.hint)
    create(sql, "RESUME_OR_FROM_BEGINNING", "OR REPLACE", query)
    send(kafka, topic, 6)
    assert read(sql) == [5, 6]


def test_update_before_the_first_batch_keeps_the_position(sql: Sql, kafka: Kafka, topic: str) -> None:
    create(sql, "FROM_NOW")
    sql("SUSPEND JOB j")
    send(kafka, topic, 5)
    sql(f"CREATE OR REPLACE JOB j {FAST} AS INSERT INTO o SELECT id FROM STREAM s WHERE id > 0")
    assert read(sql) == [5]


def test_streaming_table_begins_now(sql: Sql, kafka: Kafka, topic: str) -> None:
    sql(f"CREATE STREAMING TABLE st JOB {FAST} START_MODE = FROM_NOW AS SELECT id FROM STREAM s")
    send(kafka, topic, 5)
    sql("REFRESH STREAMING TABLE st")
    assert sql("SELECT id FROM st") == [(5,)]
    sql("DROP STREAMING TABLE st")
