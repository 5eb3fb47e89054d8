"""`jetsql check` on files that Spark writes: no finding next to a running engine, and damage is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from jetsql.check.check_home import check
from jetsql.check.findings import Finding
from tests.conftest import Sql

pytestmark = pytest.mark.spark

FAST = "OPTIONS ('snapshotIntervalMillis' = '100')"


def problems(home: Path, job: str) -> list[Finding]:
    """Return the findings about a job; other tests share its home."""
    return [each for each in check(home).findings if job in each.where and each.severity.is_problem]


@pytest.mark.slow
def test_checkpoints_of_all_kinds(sql: Sql) -> None:
    sql.all(f"""
        CREATE TABLE src (id INT, name STRING) USING json;
        CREATE TABLE plain (id INT) USING parquet;
        CREATE TABLE parts (id INT, name STRING) USING parquet PARTITIONED BY (name);
        CREATE TABLE totals (name STRING, n BIGINT) USING parquet;
        CREATE TABLE pairs (a INT, b INT) USING parquet;
        INSERT INTO src VALUES (1, 'a'), (2, 'b');
        CREATE JOB plain {FAST} AS INSERT INTO plain SELECT id FROM STREAM src;
        CREATE JOB parts {FAST} AS INSERT INTO parts SELECT id, name FROM STREAM src;
        CREATE JOB totals {FAST} AS INSERT OVERWRITE totals SELECT name, count(*) FROM STREAM src GROUP BY name;
        CREATE JOB pairs {FAST} AS INSERT INTO pairs SELECT a.id, b.id FROM STREAM src a JOIN STREAM src b USING (id);
        INSERT INTO src VALUES (3, 'a'), (4, 'b');
    """)
    jobs = {job: str(sql(f"WAIT FOR JOB {job} UNTIL IDLE")[0][0]) for job in ("plain", "parts", "totals", "pairs")}
    home = sql.engine.home
    assert [problem for job_id in jobs.values() for problem in problems(home, job_id)] == []
    sql("SUSPEND JOB totals")
    state = home / "checkpoints" / jobs["totals"] / "spark" / "state" / "0" / "1"
    [changes] = state.glob("2_*.changelog")
    changes.rename(changes.with_name("gone"))
    assert [finding.where for finding in problems(home, jobs["totals"])] == [str(changes)]
