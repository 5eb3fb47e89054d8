"""Jobs from topic to topic, at least once: Spark stores offsets and commits asynchronously.

All tests but the first use a broker that the tests start.
"""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from jetsql.engine.checkpoints.checkpoint_reader import fill_offset_gap
from jetsql.engine.jvm.filesystem import FileSystem
from tests.conftest import Sql
from tests.support.servers.kafka import Kafka, Message

OFTEN = "'snapshotIntervalMillis' = '1'"
SELDOM = "'snapshotIntervalMillis' = '3600000'"
AT_LEAST = "'processingGuarantee' = 'atLeastOnce'"
QUERY = "INSERT INTO out (value) SELECT value FROM STREAM t"


class Folder:
    """The files of a checkpoint."""

    def __init__(self, *entries: int) -> None:
        self.offsets = {str(number): f"to {number}" for number in entries}

    def list_names(self, folder: str) -> list[str]:
        return [*self.offsets, "9.crc"]

    def read(self, path: str) -> str:
        return self.offsets[path.rpartition("/")[2]]

    def write(self, path: str, text: str) -> None:
        self.offsets[path.rpartition("/")[2]] = text


@pytest.mark.parametrize(
    ("entries", "filled"), [((), {}), ((0,), {}), ((0, 1), {}), ((5,), {}), ((0, 3, 7), {"6": "to 3"})]
)
def test_a_batch_begins_where_the_entry_before_it_ends(entries: tuple[int, ...], filled: dict[str, str]) -> None:
    folder = Folder(*entries)
    before = dict(folder.offsets)
    fill_offset_gap(cast(FileSystem, folder), "checkpoint")
    assert folder.offsets == before | filled


# --- with a broker ---------------------------------------------------------------------------------------------------


@pytest.fixture
def topic(kafka: Kafka, sql: Sql, request: pytest.FixtureRequest) -> str:
    """Under the table `t`; `out` is over another."""
    name = kafka.topic(f"tracking.{request.node.name}")
    kafka.topic(f"{name}.out")
    sql(f"CREATE TABLE t {kafka.options(name)}")
    sql(f"CREATE TABLE out {kafka.options(f'{name}.out')}")
    return name


def send(kafka: Kafka, topic: str, *values: str) -> None:
    kafka.send(topic, [Message(None, value.encode()) for value in values])


def values(kafka: Kafka, topic: str) -> list[str]:
    return sorted((message.value or b"").decode() for message in kafka.read(f"{topic}.out"))


def log(sql: Sql, job_id: str, name: str) -> Path:
    """Return the entries of a log in the only checkpoint of a job."""
    [folder] = (sql.engine.home / "checkpoints" / job_id).glob("spark*")
    return folder / name


def entries(folder: Path) -> list[int]:
    return sorted(int(path.name) for path in folder.iterdir() if path.name.isdecimal())


@pytest.mark.spark
@pytest.mark.slow
def test_suspended_job_has_stored_its_whole_progress(kafka: Kafka, sql: Sql, topic: str) -> None:
    [(job_id, *_)] = sql(f"CREATE JOB j OPTIONS ({SELDOM}, {AT_LEAST}) AS {QUERY}")
    assert dict(sql("DESCRIBE JOB j"))["trigger"] == (
        "interval: rows as they arrive; offsets are committed every 3600000 ms"
    )
    for value in "abc":
        send(kafka, topic, value)
        sql("WAIT FOR JOB j UNTIL IDLE")
    newest = sql.value("SELECT batch FROM jetsql.jobs WHERE name = 'j' AND status = 'RUNNING'")
    assert entries(log(sql, job_id, "commits"))[1:] == []
    assert sql.value("SELECT lag FROM jetsql.jobs WHERE name = 'j' AND status = 'RUNNING'") == "0 rows"
    sql("SUSPEND JOB j")
    assert entries(log(sql, job_id, "commits"))[-1] == entries(log(sql, job_id, "offsets"))[-1] == newest
    send(kafka, topic, "d")
    sql("RESUME JOB j")
    sql("WAIT FOR JOB j UNTIL IDLE")
    assert values(kafka, topic) == list("abcd")


@pytest.mark.slow
@pytest.mark.spark
def test_unrecorded_batch_is_repeated_after_a_change_to_exactly_once(kafka: Kafka, sql: Sql, topic: str) -> None:
    [(job_id, *_)] = sql(f"CREATE JOB j OPTIONS ({SELDOM}, {AT_LEAST}) AS {QUERY}")
    for value in "abc":
        send(kafka, topic, value)
        sql("WAIT FOR JOB j UNTIL IDLE")
    sql("SUSPEND JOB j")
    # As after a death: the newest batch was planned, and that it is done is not noted.
    newest = entries(log(sql, job_id, "commits"))[-1]
    for name in (f"{newest}", f".{newest}.crc"):
        (log(sql, job_id, "commits") / name).unlink(missing_ok=True)
    exactly = "'snapshotIntervalMillis' = '100', 'processingGuarantee' = 'exactlyOnce'"
    sql(f"CREATE OR REPLACE JOB j OPTIONS ({exactly}) AS {QUERY}")
    sql("RESUME JOB j")
    send(kafka, topic, "d")
    sql("WAIT FOR JOB j UNTIL IDLE")
    assert dict(sql("DESCRIBE JOB j"))["delivery"].startswith("exactly once")
    found = values(kafka, topic)
    assert set(found) == set("abcd") and found.count("d") == 1 and len(found) > 4


@pytest.mark.spark
def test_at_least_once_messages_carry_their_batch_number(kafka: Kafka, sql: Sql, topic: str) -> None:
    out = kafka.topic(f"{topic}.numbered")
    options = kafka.options(out, includeHeaders="true", delivery_headers="true")
    sql(f"CREATE TABLE numbered {options}")
    sql(f"CREATE TABLE headed {kafka.options(topic, includeHeaders='true')}")
    query = "INSERT INTO numbered (value, headers) SELECT value, headers FROM STREAM headed"
    kafka.send(topic, [Message(None, b"a", headers=(("own", b"1"),)), Message(None, b"b")])
    [(job_id, *_)] = sql(f"CREATE JOB j OPTIONS ({OFTEN}, {AT_LEAST}) AS {query}")
    assert dict(sql("DESCRIBE JOB j"))["trigger"] == "interval: every 1 ms"
    sql("WAIT FOR JOB j UNTIL IDLE")
    added = (("jetsql-job", job_id.encode()), ("jetsql-batch", b"0"))
    assert {message.value: message.headers for message in kafka.read(out)} == {
        b"a": (("own", b"1"), *added),
        b"b": added,
    }
