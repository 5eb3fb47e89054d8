"""Systems that stop answering in the middle of a batch: its tasks end, and afterwards no row is lost or duplicated.

The engine has two task slots. As long as tasks wait for a system, no other job and no statement gets a slot.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Sql, until
from tests.support.servers.kafka import Kafka, Message
from tests.support.servers.postgres import Postgres

pytestmark = pytest.mark.spark

OPTIONS = "OPTIONS ('snapshotIntervalMillis' = '100', 'spark.jetsql.externalSystemTimeout' = '3s')"
ROWS = 4000
# A task sleeps for each row until the outage begins, so that the outage begins in the middle of a batch.
SLEEP = "jetsql.test.sleep"
MILLIS = f"CAST(reflect('java.lang.System', 'getProperty', '{SLEEP}') AS BIGINT)"
SLOW = f"reflect('java.lang.Thread', 'sleep', {MILLIS}) IS NOT NULL"


@dataclass
class Case:
    """A job that reads or writes a system."""

    body: str
    """The statement of the job, which writes `ROWS` rows."""
    count: Callable[[], list[int]]
    """Returns the number of rows, and of different ones."""


class Bench:
    """The shared engine, with a table of files that has two files."""

    def __init__(self, sql: Sql, folder: Path) -> None:
        self.sql = sql
        folder.mkdir()
        for number in range(2):
            lines = (json.dumps({"id": number * 20 + row}) for row in range(20))
            (folder / f"{number}.json").write_text("\n".join(lines))
        self.sleep(100)
        sql(f"CREATE TABLE numbers (id BIGINT) USING json LOCATION '{folder}'")
        sql("CREATE TABLE hundred (n BIGINT) USING parquet")
        sql("INSERT INTO hundred SELECT id FROM range(100)")
        sql("CREATE TABLE copy (v STRING) USING parquet")

    def sleep(self, millis: int) -> None:
        jvm: Any = self.sql.engine.spark.sparkContext._jvm
        jvm.java.lang.System.setProperty(SLEEP, str(millis))

    def count_tasks(self, job: str) -> int:
        context: Any = self.sql.engine.spark.sparkContext
        running = context._jvm.dev.jetsql.scheduling.RunningTasks
        return int(running.awaitEnd(context._jsc.sc(), job, 0))

    def copied(self) -> list[int]:
        [row] = self.sql("SELECT count(*), count(DISTINCT v) FROM copy")
        return list(row)

    def check(self, case: Case, outage: Callable[[], AbstractContextManager[None]]) -> None:
        """Start the job, begin the outage in its first batch, and check what the job does then and afterwards."""
        sql = self.sql
        job = sql(f"CREATE JOB j {OPTIONS} AS {case.body}")[0][0]
        assert str(dict(sql("DESCRIBE JOB j"))["delivery"]).startswith("exactly once")
        until(lambda: self.count_tasks(job) > 0)
        with outage():
            self.sleep(0)
            until(lambda: self.count_tasks(job) == 0)
            assert sql("SELECT count(*) FROM hundred") == [(100,)]
            until(lambda: "cannot be reached" in str(sql("SHOW JOBS LIKE 'j'")[0][-1]))
        sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 120 SECONDS")
        assert case.count() == [ROWS, ROWS]
        history = [(row[1], str(row[-1])) for row in sql("SHOW JOB HISTORY j")]
        assert any("does not count as a restart" in words for event, words in history if event == "error"), history
        assert not any("(restart " in words for _, words in history), history


@pytest.fixture
def bench(sql: Sql, tmp_path: Path) -> Bench:
    return Bench(sql, tmp_path / "numbers")


def kafka_source(bench: Bench, kafka: Kafka) -> Case:
    topic = kafka.topic(f"outage{id(bench)}", 2)
    kafka.send(topic, (Message(None, b"%d" % row + b"x" * 200) for row in range(ROWS)), batch=20)
    options = kafka.options(topic, kafka_max_partition_fetch_bytes="4000", kafka_fetch_max_bytes="4000")
    bench.sql(f"CREATE TABLE source {options}")
    return Case(f"INSERT INTO copy SELECT CAST(value AS STRING) FROM STREAM source WHERE {SLOW}", bench.copied)


def kafka_sink(bench: Bench, kafka: Kafka) -> Case:
    topic = kafka.topic(f"outage{id(bench)}", 2)
    bench.sql(f"CREATE TABLE sink {kafka.options(topic)}")

    def count() -> list[int]:
        values = [message.value for message in kafka.read(topic)]
        return [len(values), len(set(values))]

    value = "CAST(concat(id, '-', n, repeat('x', 200)) AS BINARY)"
    # A sleep would let JetSQL write at least once, because each function of Java may return other values each time.
    slow = "sha2(repeat(concat(id, '-', n), 100000), 256) IS NOT NULL"
    return Case(f"INSERT INTO sink (value) SELECT {value} FROM STREAM numbers CROSS JOIN hundred WHERE {slow}", count)


def jdbc_source(bench: Bench, postgres: Postgres) -> Case:
    series = "(SELECT n FROM generate_series(0, 99) n) q"
    bench.sql(f"CREATE TABLE series {postgres.options(series, fetchsize='1')}")
    slow = f"(SELECT n FROM series WHERE {SLOW})"
    return Case(f"INSERT INTO copy SELECT concat(id, '-', n) FROM STREAM numbers CROSS JOIN {slow}", bench.copied)


def jdbc_sink(bench: Bench, postgres: Postgres) -> Case:
    name = f"outage{id(bench)}"
    postgres(f"CREATE TABLE {name} (v text)")
    bench.sql(f"CREATE TABLE sink {postgres.options(name, batchsize='10')}")

    def count() -> list[int]:
        return list(postgres(f"SELECT count(*), count(DISTINCT v) FROM {name}")[0])

    return Case(
        f"INSERT INTO sink SELECT concat(id, '-', n) FROM STREAM numbers CROSS JOIN hundred WHERE {SLOW}", count
    )


def test_stalled_source_releases_its_task_slots(bench: Bench, kafka: Kafka) -> None:
    bench.check(kafka_source(bench, kafka), kafka.paused)


@pytest.mark.slow
@pytest.mark.parametrize("make", [kafka_source, kafka_sink])
@pytest.mark.parametrize("is_killed", [False, True])
def test_kafka_outage_during_a_batch(
    bench: Bench, kafka: Kafka, make: Callable[[Bench, Kafka], Case], is_killed: bool
) -> None:
    bench.check(make(bench, kafka), kafka.killed if is_killed else kafka.paused)


@pytest.mark.slow
@pytest.mark.parametrize("make", [jdbc_source, jdbc_sink])
@pytest.mark.parametrize("is_stopped", [False, True])
def test_database_outage_during_a_batch(
    bench: Bench, postgres: Postgres, make: Callable[[Bench, Postgres], Case], is_stopped: bool
) -> None:
    bench.check(make(bench, postgres), postgres.stopped if is_stopped else postgres.paused)


SLOW_ROWS = f"SELECT CAST(concat(id, '-', n) AS BINARY) FROM numbers CROSS JOIN hundred WHERE {SLOW}"


@pytest.mark.slow
def test_stalled_broker_during_a_batch_job(bench: Bench, kafka: Kafka) -> None:
    sql, topic = bench.sql, kafka.topic(f"batch{id(bench)}", 2)
    sql(f"CREATE TABLE sink {kafka.options(topic)}")
    with ThreadPoolExecutor(1) as threads:
        created = threads.submit(sql, f"CREATE JOB j {OPTIONS} AS INSERT INTO sink (value) {SLOW_ROWS}")
        until(lambda: sql.engine.spark.sparkContext.statusTracker().getActiveJobsIds() != [])
        with kafka.paused():  # the rows are computed first, so that each attempt writes the same ones
            bench.sleep(0)
            until(lambda: "cannot be reached" in str(sql("SHOW JOBS LIKE 'j'")[0][-1]))
            until(lambda: sql.engine.spark.sparkContext.statusTracker().getActiveJobsIds() == [])
            assert sql("SELECT count(*) FROM hundred") == [(100,)]
        created.result(120)
    until(lambda: sql.status("j") == "COMPLETED")
    values = [message.value for message in kafka.read(topic)]
    assert len(values) == len(set(values)) == ROWS
    assert not any("(restart " in str(row[-1]) for row in sql("SHOW JOB HISTORY j"))


@pytest.mark.slow
def test_stalled_broker_during_an_insert(bench: Bench, kafka: Kafka) -> None:
    sql, topic = bench.sql, kafka.topic(f"insert{id(bench)}", 2)
    sql(f"CREATE TABLE sink {kafka.options(topic)}")
    sql("SET spark.jetsql.externalSystemTimeout = 3s")
    try:
        with ThreadPoolExecutor(1) as threads:
            failed = threads.submit(sql.error, f"INSERT INTO sink (value) {SLOW_ROWS}")
            until(lambda: kafka.count(topic) > 0)
            with kafka.paused():
                bench.sleep(0)
                error = failed.result(60)
                assert sql("SELECT count(*) FROM hundred") == [(100,)]
    finally:
        sql("RESET spark.jetsql.externalSystemTimeout")
    assert error.condition == "JETSQL.EXTERNAL_SYSTEM_UNAVAILABLE"
    assert f"Kafka {kafka.servers} cannot be reached" in error.message
