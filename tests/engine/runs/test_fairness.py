"""Many jobs on one engine: a batch with many more tasks than cores does not delay the other jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conftest import until

if TYPE_CHECKING:
    from tests.conftest import Sql

pytestmark = pytest.mark.spark

# On two cores they are more than a minute, and no work: each holds a core and sleeps.
TASKS, MILLIS = 400, 400
SPLITS = "'numpartitions'"  # in Spark's own spelling it is a statistic to Hive's metastore, and dropped


def huge_at_work(sql: Sql) -> bool:
    tracker = sql.engine.spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    return any(stage is not None and stage.numTasks == TASKS and stage.numActiveTasks > 0 for stage in stages)


@pytest.mark.slow
def test_a_huge_batch_takes_turns_with_small_ones(sql: Sql, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scheduled first in, first out, each of the small ones would wait for the end of the huge one."""
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
