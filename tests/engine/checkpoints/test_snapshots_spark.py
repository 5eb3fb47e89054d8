"""Snapshots of real checkpoints: consistent while the job runs, complete or missing, and usable to start a job."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.conftest import Sql
from tests.faults.source import ROWS_A_FILE, Source, sum_by_digit

pytestmark = pytest.mark.spark

FAST = "'snapshotIntervalMillis' = '50'"
COUNT = "SELECT id % 10, count(*), sum(id) FROM STREAM numbers WITH ('maxFilesPerTrigger' = '1') GROUP BY 1"


@pytest.fixture
def numbers(sql: Sql, numbers: Source) -> Source:
    sql("CREATE TABLE copied (digit BIGINT, n BIGINT, total BIGINT) USING parquet")
    return numbers


def make(sql: Sql, name: str, table: str, snapshot: str | None = None, more: str = "") -> str:
    start = f", 'initialSnapshotName' = '{snapshot}'{more}" if snapshot else ""
    [(job, _, _, message)] = sql(f"CREATE JOB {name} OPTIONS ({FAST}{start}) AS INSERT OVERWRITE {table} {COUNT}")
    assert (f"starts from the snapshot {snapshot}" in message) is bool(snapshot)
    return str(job)


def digits(files: int) -> list[tuple[int, int, int]]:
    return sum_by_digit(range(files * ROWS_A_FILE))


def all_digits(sql: Sql, table: str, job: str) -> list[tuple[object, ...]]:
    sql(f"WAIT FOR JOB {job} UNTIL IDLE TIMEOUT 60")
    return sql(f"SELECT * FROM {table} ORDER BY digit")


def snapshots(sql: Sql, name: str) -> list[tuple[object, ...]]:
    return [row for row in sql("SHOW SNAPSHOTS") if row[0] == name]


@pytest.mark.slow
def test_snapshots_in_a_loop_while_the_job_runs(sql: Sql, numbers: Source) -> None:
    """Take snapshots of one batch each; a job from each continues to the same result."""
    make(sql, "j", "digits")
    taken = []
    for round in range(3):
        numbers.add(1)
        [(_, _, status, _)] = sql(f"CREATE SNAPSHOT loop_{round} FOR JOB j")
        assert status == "RUNNING"
        taken.append(snapshots(sql, f"loop_{round}")[0][3])
    assert taken == sorted(taken, key=lambda batch: int(str(batch)))
    assert all_digits(sql, "digits", "j") == digits(7)
    for round in range(3):
        make(sql, f"k{round}", "copied", f"loop_{round}")
        assert all_digits(sql, "copied", f"k{round}") == digits(7)
        sql(f"DROP JOB k{round}")
        sql(f"DROP SNAPSHOT loop_{round}")
    assert sql.status("j") == "RUNNING"


@pytest.mark.needs_spark("4.2")
def test_job_from_a_snapshot_runs_next_to_the_original(sql: Sql, numbers: Source) -> None:
    make(sql, "j", "digits")
    sql("CREATE SNAPSHOT beside FOR JOB j")
    make(sql, "k", "copied", "beside", ", 'spark.sql.shuffle.partitions' = '3'")
    sql("DROP SNAPSHOT beside")
    numbers.add(2)
    assert all_digits(sql, "digits", "j") == digits(6)
    assert all_digits(sql, "copied", "k") == digits(6)
    sql("RESTART JOB k")
    sql("SUSPEND JOB j")
    sql("RESUME JOB j")
    numbers.add(1)
    assert all_digits(sql, "digits", "j") == digits(7)
    assert all_digits(sql, "copied", "k") == digits(7)


def test_dropped_with_a_snapshot_and_created_again_without_a_gap(sql: Sql, numbers: Source) -> None:
    sql(f"CREATE JOB j OPTIONS ({FAST}) AS INSERT INTO plain SELECT id FROM STREAM numbers")
    sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60")
    sql("DROP JOB j WITH SNAPSHOT moved")
    assert not [row for row in sql("SHOW JOBS") if row[1] == "j"]
    numbers.add(1)
    start = f"OPTIONS ({FAST}, 'initialSnapshotName' = 'moved')"
    sql(f"CREATE JOB j {start} AS INSERT INTO plain SELECT id FROM STREAM numbers")
    sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60")
    assert sql("SELECT id FROM plain ORDER BY id") == [(i,) for i in range(5 * ROWS_A_FILE)]
    sql("DROP SNAPSHOT moved")


@pytest.mark.needs_spark("4.2")
def test_snapshot_result_is_written_to_another_table_without_new_rows(sql: Sql, numbers: Source) -> None:
    make(sql, "j", "digits")
    assert all_digits(sql, "digits", "j") == digits(4)
    sql("DROP JOB j WITH SNAPSHOT whole")
    for partitions, table in (("2", "copied"), ("3", "digits")):
        sql("TRUNCATE TABLE digits")
        make(sql, "k", table, "whole", f", 'spark.sql.shuffle.partitions' = '{partitions}'")
        assert sql(f"SELECT * FROM {table} ORDER BY digit") == digits(4)
        numbers.add(1)
        numbers_read = 5 if table == "copied" else 6
        assert all_digits(sql, table, "k") == digits(numbers_read)
        sql("DROP JOB k")
    sql("DROP SNAPSHOT whole")


@pytest.mark.slow
def test_snapshot_of_a_suspended_job_is_listed(sql: Sql, numbers: Source) -> None:
    job = make(sql, "j", "digits")
    sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60")
    sql("SUSPEND JOB j")
    [(_, _, status, _)] = sql("CREATE SNAPSHOT resting FOR JOB j")
    assert status == "SUSPENDED"
    [(name, job_name, job_id, batch, size, _, _, age, text)] = snapshots(sql, "resting")
    assert (name, job_name, job_id, batch) == ("resting", "j", job, 3)
    assert int(str(size)) > 1000 and int(str(age)) < 60 and "INSERT OVERWRITE digits" in str(text)
    sql("CREATE OR REPLACE SNAPSHOT resting FOR JOB j")
    folders = list(Path(sql.engine.home / "snapshots").iterdir())
    assert len(folders) == len(sql("SHOW SNAPSHOTS"))
    sql("DROP SNAPSHOT resting")
    assert sql.error("DROP SNAPSHOT resting").condition == "JETSQL.SNAPSHOT_NOT_FOUND"


@pytest.mark.slow
def test_snapshot_of_another_query_is_refused_before_any_change(sql: Sql, numbers: Source) -> None:
    make(sql, "j", "digits")
    sql("CREATE SNAPSHOT other FOR JOB j")
    before = len(sql("SHOW ALL JOBS"))
    by_five = COUNT.replace("% 10", "% 5")
    start = "OPTIONS ('initialSnapshotName' = 'other')"
    for query in (by_five, COUNT.replace("sum", "max"), "SELECT id, 1, 1 FROM STREAM numbers"):
        verb = "INSERT OVERWRITE" if "GROUP" in query else "INSERT INTO"
        error = sql.error(f"CREATE JOB k {start} AS {verb} copied {query}")
        assert error.condition == "JETSQL.STATE_NOT_COMPATIBLE"
    assert len(sql("SHOW ALL JOBS")) == before
    sql("DROP SNAPSHOT other")


def take_over(sql: Sql, job: str, **owner: object) -> None:
    """Take over the job, as another engine on the same home does at its start."""
    lease = Path(sql.engine.home / "checkpoints" / job / "lease.json")
    ours = json.loads(lease.read_text())
    lease.write_text(json.dumps({**ours, "engine": "another", **owner}))


@pytest.mark.slow
def test_run_taken_over_by_another_engine_ends_before_writing(sql: Sql, numbers: Source) -> None:
    job = make(sql, "j", "digits")
    assert all_digits(sql, "digits", "j") == digits(4)
    take_over(sql, job, host="elsewhere", pid=1)
    numbers.add(1)
    error = sql.error("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60")
    assert "process 1 on elsewhere" in error.message
    assert sql.status("j") == "SUSPENDED"
    assert sql("SELECT * FROM digits ORDER BY digit") == digits(4)
    sql("RESUME JOB j")
    assert all_digits(sql, "digits", "j") == digits(5)


def test_only_a_dead_engine_is_taken_over(sql: Sql, numbers: Source) -> None:
    job = make(sql, "j", "digits")
    sql("SUSPEND JOB j")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        started = psutil.Process(other.pid).create_time()
        take_over(sql, job, pid=other.pid, started=started)
        error = sql.error("RESUME JOB j")
        assert f"process {other.pid}" in error.message and sql.status("j") == "SUSPENDED"
        other.communicate(b"\n")
    sql("RESUME JOB j")
    assert all_digits(sql, "digits", "j") == digits(4)
