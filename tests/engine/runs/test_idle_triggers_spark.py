"""Idle jobs, whose triggers begin only when their sources may have rows, or after two minutes.

The tests wait for a minute at most, so they fail if a trigger begins only because the time has passed.
"""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest

from tests.conftest import Sql, until
from tests.support.servers.kafka import Kafka

pytestmark = pytest.mark.spark

JOB = "CREATE JOB {name} OPTIONS ('snapshotIntervalMillis' = '100') AS INSERT INTO {name}_rows "


def write(folder: Path, name: str, *ids: int) -> None:
    """Write a file of JSON that appears as a whole."""
    draft = folder / f".{name}"
    draft.write_text("".join(f"{json.dumps({'id': each})}\n" for each in ids))
    draft.rename(folder / name)


def waits_for_rows(sql: Sql, job: str) -> bool:
    """Return whether the thread of a job waits until its sources may have rows, and not for an interval."""
    jvm = sql.engine.spark._jvm
    assert jvm is not None
    beans = jvm.java.lang.management.ManagementFactory
    threads = beans.getThreadMXBean().dumpAllThreads(False, False)
    [found] = [each for each in threads if each.getThreadName().startswith(f"stream execution thread for {job} ")]
    return "TriggerClock.awaitRows" in found.toString()


def await_gate(sql: Sql, job: str) -> None:
    """Wait until a job waits for rows, also after the next interval."""
    until(lambda: waits_for_rows(sql, job))
    time.sleep(0.3)
    until(lambda: waits_for_rows(sql, job))


def rows(sql: Sql, job: str) -> list[int]:
    return sorted(row[0] for row in sql(f"SELECT id FROM {job}_rows"))


def await_rows(sql: Sql, job: str, *expected: int) -> None:
    until(lambda: rows(sql, job) == [*expected])


def test_idle_job_over_files_reads_what_appears(sql: Sql, tmp_path: Path) -> None:
    folder = tmp_path / "lines"
    folder.mkdir()
    write(folder, "1.json", 1)
    sql(f"CREATE TABLE lines (id INT) USING json LOCATION '{folder}'")
    sql("CREATE TABLE copied_rows (id INT) USING parquet")
    sql(JOB.format(name="copied") + "SELECT id FROM STREAM lines")
    await_gate(sql, "copied")
    write(folder, "2.json", 2)
    await_rows(sql, "copied", 1, 2)
    write(folder, "3.json", 3)  # the time of the folder is not reliable yet
    await_rows(sql, "copied", 1, 2, 3)
    await_gate(sql, "copied")


def test_idle_job_over_partitions_reads_new_ones(sql: Sql, tmp_path: Path) -> None:
    folder = tmp_path / "lines"
    (folder / "day=1").mkdir(parents=True)
    write(folder / "day=1", "1.json", 1)
    sql(f"CREATE TABLE lines (id INT, day INT) USING json PARTITIONED BY (day) LOCATION '{folder}'")
    sql("CREATE TABLE copied_rows (id INT) USING parquet")
    sql(JOB.format(name="copied") + "SELECT id FROM STREAM lines")
    await_gate(sql, "copied")
    (folder / "day=2").mkdir()
    until(lambda: not waits_for_rows(sql, "copied"))
    await_gate(sql, "copied")
    write(folder / "day=2", "2.json", 2)
    sql("WAIT FOR JOB copied UNTIL IDLE TIMEOUT 60 SECONDS")
    assert rows(sql, "copied") == [1, 2]


def test_idle_job_reads_what_another_job_writes(sql: Sql, tmp_path: Path) -> None:
    folder = tmp_path / "lines"
    folder.mkdir()
    sql(f"CREATE TABLE lines (id INT) USING json LOCATION '{folder}'")
    for name in ("first", "second"):
        sql(f"CREATE TABLE {name}_rows (id INT) USING parquet")
    sql(JOB.format(name="first") + "SELECT id FROM STREAM lines")
    sql(JOB.format(name="second") + "SELECT id FROM STREAM first_rows")
    for number in range(3):
        await_gate(sql, "first")
        await_gate(sql, "second")
        write(folder, f"{number}.json", number)
        await_rows(sql, "second", *range(number + 1))


def test_idle_job_answers_statements_immediately(sql: Sql, tmp_path: Path) -> None:
    folder = tmp_path / "lines"
    folder.mkdir()
    sql(f"CREATE TABLE lines (id INT) USING json LOCATION '{folder}'")
    sql("CREATE TABLE copied_rows (id INT) USING parquet")
    sql(JOB.format(name="copied") + "SELECT id FROM STREAM lines")
    await_gate(sql, "copied")
    for _ in range(3):
        sql("WAIT FOR JOB copied UNTIL IDLE TIMEOUT 60 SECONDS")
    sql("SUSPEND JOB copied")
    write(folder, "1.json", 1)
    sql("RESUME JOB copied")
    sql("WAIT FOR JOB copied UNTIL IDLE TIMEOUT 60 SECONDS")
    assert rows(sql, "copied") == [1]


def test_deleted_folder_begins_a_trigger(sql: Sql, tmp_path: Path) -> None:
    folder = tmp_path / "lines"
    folder.mkdir()
    sql(f"CREATE TABLE lines (id INT) USING json LOCATION '{folder}'")
    sql("CREATE TABLE copied_rows (id INT) USING parquet")
    sql(JOB.format(name="copied") + "SELECT id FROM STREAM lines")
    await_gate(sql, "copied")
    shutil.rmtree(folder)
    until(lambda: not waits_for_rows(sql, "copied"))


def test_idle_job_over_topics_reads_all_partitions(sql: Sql, kafka: Kafka) -> None:
    first, second = kafka.topic("idle.first", 1), kafka.topic("idle.second", 1)
    for name, topic in (("one", first), ("two", second)):
        sql(f"CREATE TABLE {name} (id INT) {kafka.options(topic, value_format='json')}")
    sql("CREATE TABLE copied_rows (id INT) USING parquet")
    sql(JOB.format(name="copied") + "SELECT id FROM STREAM one UNION ALL SELECT id FROM STREAM two")
    await_gate(sql, "copied")
    kafka.send_json(first, [{"id": 1}])
    await_rows(sql, "copied", 1)
    await_gate(sql, "copied")
    kafka.send_json(second, [{"id": 2}])
    await_rows(sql, "copied", 1, 2)
    sql("SUSPEND JOB copied")
    sql("RESUME JOB copied")  # its offsets are those of the checkpoint
    await_gate(sql, "copied")
    kafka.add_partitions(second, 2)
    kafka.send_json(second, [{"id": 3}], 1)
    await_rows(sql, "copied", 1, 2, 3)


def test_idle_jobs_of_a_broker_do_not_disturb_each_other(sql: Sql, kafka: Kafka) -> None:
    names = ("first", "second", "third")
    topics = {name: kafka.topic(f"together.{name}", 1) for name in names}
    for name, topic in topics.items():
        sql(f"CREATE TABLE {name} (id INT) {kafka.options(topic, value_format='json')}")
        sql(f"CREATE TABLE {name}_rows (id INT) USING parquet")
        sql(JOB.format(name=name) + f"SELECT id FROM STREAM {name}")
    for name in names:
        await_gate(sql, name)
    kafka.send_json(topics["second"], [{"id": 2}])
    await_rows(sql, "second", 2)
    kafka.delete_topic(topics["third"])
    missing = "SELECT name FROM jetsql.jobs WHERE last_error_condition = 'JETSQL.SOURCE_NOT_READY'"
    until(lambda: sql(missing) == [("third",)])
    for name, number in (("first", 1), ("second", 3)):
        await_gate(sql, name)
        kafka.send_json(topics[name], [{"id": number}])
    await_rows(sql, "first", 1)
    await_rows(sql, "second", 2, 3)
