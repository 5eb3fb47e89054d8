"""Test that jobs and statements share the cores: none waits until the others are idle."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import until

if TYPE_CHECKING:
    from pyspark import SparkStageInfo

    from tests.conftest import Sql

pytestmark = pytest.mark.spark

# On two cores they are more than a minute, and no work: each holds a core and sleeps.
TASKS, MILLIS = 400, 400
SPLITS = "'numpartitions'"  # in Spark's own spelling it is a statistic to Hive's metastore, and dropped

SLEEPS = "SELECT java_method('java.lang.Thread', 'sleep', 20L) AS slept FROM range(0, 2000, 1, 2000)"
LONG = f"SELECT count(slept) FROM ({SLEEPS})"
QUICK = "SELECT sum(id) FROM range(0, 10, 1, 4)"


def active_stages(sql: Sql) -> list[SparkStageInfo]:
    tracker = sql.engine.spark.sparkContext.statusTracker()
    return [stage for number in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(number))]


def huge_at_work(sql: Sql) -> bool:
    return any(stage.numTasks == TASKS and stage.numActiveTasks > 0 for stage in active_stages(sql))


def waiting_tasks(sql: Sql) -> int:
    """Return the number of Spark's tasks that wait for a core."""
    return sum(stage.numTasks - stage.numCompletedTasks - stage.numActiveTasks for stage in active_stages(sql))


@pytest.mark.slow
def test_a_huge_batch_takes_turns_with_small_ones(sql: Sql, monkeypatch: pytest.MonkeyPatch) -> None:
    """Share the cores. With first in, first out, each small batch would wait for the end of the huge one."""
    sql("CREATE TABLE few USING `rate-micro-batch` OPTIONS ('rowsPerBatch' = '2')")
    sql("CREATE TABLE kept (value BIGINT) USING parquet")
    sql("CREATE JOB small OPTIONS ('snapshotIntervalMillis' = '100') AS INSERT INTO kept SELECT value FROM STREAM few")

    sql(f"CREATE TABLE many USING `rate-micro-batch` OPTIONS ('rowsPerBatch' = '{TASKS}', {SPLITS} = '{TASKS}')")
    sql("CREATE TABLE slept (half BIGINT, said STRING) USING parquet")
    slept = f"SELECT value % 2 AS half, java_method('java.lang.Thread', 'sleep', {MILLIS}L) AS said FROM STREAM many"
    sql(f"CREATE JOB huge AS INSERT OVERWRITE slept SELECT half, max(said) FROM ({slept}) GROUP BY half")
    until(lambda: huge_at_work(sql))

    batch = sql.value("SELECT batch FROM jetsql.jobs WHERE name = 'small'")
    sql(f"WAIT FOR JOB small UNTIL BATCH {batch + 3}")
    facts = dict(sql("DESCRIBE JOB EXTENDED huge"))
    assert (facts["status"], facts["newest batch"]) == ("RUNNING", None)

    monkeypatch.setattr(sql.engine._manager.workers, "_stop_deadline", 0.1)
    sql("DROP JOB huge")


@contextmanager
def long_queries(sql: Sql, *pools: str | None) -> Iterator[None]:
    """Run a query of 20 s of both cores in each pool, and cancel it at the end of the block."""
    context = sql.engine.spark.sparkContext

    def run(pool: str | None) -> None:
        context.setLocalProperty("spark.scheduler.pool", pool)  # type: ignore[arg-type]
        context.setJobGroup("long", "", interruptOnCancel=True)
        with pytest.raises(Exception, match="cancelled"):
            sql.engine.spark.sql(LONG).collect()

    threads = [threading.Thread(target=run, args=(pool,)) for pool in pools]
    for thread in threads:
        thread.start()
    try:
        until(lambda: waiting_tasks(sql) > 1500 * len(pools))
        yield
    finally:
        context.cancelJobGroup("long")
        for thread in threads:
            thread.join()


def test_statement_runs_next_to_busy_pools(sql: Sql) -> None:
    with long_queries(sql, "1", "2", "3"):
        assert sql.value(QUICK) == 45
        assert waiting_tasks(sql) > 500


def test_statement_runs_next_to_a_long_one(sql: Sql) -> None:
    with long_queries(sql, None):
        assert sql.value(QUICK) == 45
        assert waiting_tasks(sql) > 100


def test_pools_end_with_their_tasks(sql: Sql) -> None:
    with long_queries(sql, "1", "2"):
        pass
    context: Any = sql.engine.spark.sparkContext._jsc
    until(lambda: context.sc().getAllPools().size() == 1)
