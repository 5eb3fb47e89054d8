"""Members come and go on a real cluster: Spark's own master and workers, and an engine that uses them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.cluster import ROOT, Cluster, cluster, wait_until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


class Engine:
    """An engine on the cluster, spoken to by the command line. Growth is used after a second."""

    def __init__(self, home: Path, master: str) -> None:
        self.home = home
        self.environ = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "JETSQL_CONFIG": os.devnull,
            "JETSQL_HOME": str(home),
            "JETSQL_MASTER": master,
            "JETSQL_DRIVER_MEMORY": "1g",
            "JETSQL_SCALE_UP_DELAY_SECONDS": "1",
            "JETSQL_CONF": "spark.executor.memory=512m spark.sql.shuffle.partitions=2",
        }

    def command(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "jetsql", *words],
            env=self.environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def sql(self, text: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.command("-e", text, "--format", "json").splitlines()]

    def run_of(self, job: str) -> int:
        """The number of the run that the job has; 0 while it has none."""
        [row] = self.sql(f"SELECT run, status FROM jetsql.jobs WHERE name = '{job}'")
        return int(row["run"]) if row["status"] == "RUNNING" else 0

    def members(self, status: str = "ACTIVE") -> list[str]:
        return [row["id"] for row in self.sql("SHOW MEMBERS") if row["status"] == status and not row["is_driver"]]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as made:
        yield made


@pytest.fixture(scope="module")
def engine(spark: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """It starts with no member there."""
    made = Engine(tmp_path_factory.mktemp("home"), spark.url)
    made.command("start")
    made.command("-e", "CREATE TABLE numbers USING `rate-micro-batch` OPTIONS ('rowsPerBatch' = '20')")
    made.command("-e", "CREATE TABLE kept (value BIGINT) USING parquet")
    try:
        yield made
    finally:
        made.command("stop")


def test_a_job_follows_the_members(spark: Cluster, engine: Engine) -> None:
    body = "INSERT INTO kept SELECT value FROM STREAM numbers"
    options = "'snapshotIntervalMillis' = '500'"
    [made] = engine.sql(f"CREATE JOB follows OPTIONS ({options}) AS {body}")
    assert made["status"] == "NOT_RUNNING" and "It waits for a member" in made["message"]

    first = spark.join()
    wait_until(lambda: engine.run_of("follows") == 1, "the job does not start when a member is there")
    engine.sql("WAIT FOR JOB follows UNTIL BATCH 2")
    assert len(engine.members()) == 1

    spark.join()
    wait_until(lambda: engine.run_of("follows") == 2, "the job does not restart when a member has joined")
    assert len(engine.members()) == 2

    spark.kill(first)
    wait_until(lambda: engine.run_of("follows") == 3, "the job does not restart when a member is lost")
    assert len(engine.members()) == len(engine.members("GONE")) == 1

    [job] = engine.sql("SELECT batch FROM jetsql.jobs WHERE name = 'follows'")
    engine.sql(f"WAIT FOR JOB follows UNTIL BATCH {int(job['batch'] or 0) + 3}")
    engine.sql("SUSPEND JOB follows")
    [rows] = engine.sql("SELECT count(*) AS n, count(DISTINCT value) AS once, max(value) AS last FROM kept")
    assert rows["n"] == rows["once"] == rows["last"] + 1 > 0
    told = [row["event"] for row in engine.sql("SHOW JOB HISTORY follows")]
    assert [title for title in told if title in ("members joined", "member lost")] == [
        "members joined", "members joined", "member lost",
    ]  # fmt: skip


def test_without_auto_scaling_a_loss_suspends_and_restart_uses_all(spark: Cluster, engine: Engine) -> None:
    engine.sql("DROP JOB IF EXISTS follows")
    before = len(engine.members())
    spark.join()
    wait_until(lambda: len(engine.members()) == before + 1, "the member does not come")
    body = "INSERT INTO kept SELECT value FROM STREAM numbers"
    engine.sql(f"CREATE JOB stays OPTIONS ('autoScaling' = 'false', 'snapshotIntervalMillis' = '500') AS {body}")
    member = spark.join()
    wait_until(lambda: len(engine.members()) == before + 2, "the member does not come")
    engine.sql("RESTART JOB stays")
    assert engine.run_of("stays") == 2
    spark.kill(member)

    def suspended() -> bool:
        [row] = engine.sql("SELECT status, last_error_condition AS why FROM jetsql.jobs WHERE name = 'stays'")
        return row == {"status": "SUSPENDED", "why": "JETSQL.MEMBER_LOST"}

    wait_until(suspended, "the job is not suspended")
    [resumed] = engine.sql("RESUME JOB stays")
    assert resumed["status"] == "RUNNING"
    engine.sql("DROP JOB stays")
