"""How Spark jobs share the cores: nobody waits until the others are idle."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.conftest import Sql, until

pytestmark = pytest.mark.spark

SLEEPS = "SELECT java_method('java.lang.Thread', 'sleep', 20L) AS slept FROM range(0, 2000, 1, 2000)"
LONG = f"SELECT count(slept) FROM ({SLEEPS})"
QUICK = "SELECT sum(id) FROM range(0, 10, 1, 4)"


def waiting_tasks(sql: Sql) -> int:
    """Return the number of Spark's tasks that wait for a core."""
    tracker: Any = sql.engine.spark.sparkContext.statusTracker()
    stages = [stage for id in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(id))]
    return sum(stage.numTasks - stage.numCompletedTasks - stage.numActiveTasks for stage in stages)


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


def test_a_statement_runs_beside_busy_pools(sql: Sql) -> None:
    with long_queries(sql, "1", "2", "3"):
        assert sql.value(QUICK) == 45
        assert waiting_tasks(sql) > 500


def test_a_statement_runs_beside_a_long_one(sql: Sql) -> None:
    with long_queries(sql, None):
        assert sql.value(QUICK) == 45
        assert waiting_tasks(sql) > 100


def test_pools_end_with_their_tasks(sql: Sql) -> None:
    with long_queries(sql, "1", "2"):
        pass
    context: Any = sql.engine.spark.sparkContext._jsc
    until(lambda: context.sc().getAllPools().size() == 1)
