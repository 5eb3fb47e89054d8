"""Batch jobs that are stopped while their query runs."""

from __future__ import annotations

import threading

import pytest

from tests.conftest import Sql, until
from tests.faults.source import Source

pytestmark = pytest.mark.spark

ENDLESS = [
    "SELECT id FROM range(0, 1000000000000, 1, 2) WHERE id < 0",
    "SELECT count(*) FROM range(1000000000000) WHERE id % 7 = rand(1)",
]


@pytest.mark.parametrize("query", ENDLESS, ids=["rows", "aggregate"])
def test_a_batch_job_under_way_is_suspended_and_dropped(sql: Sql, query: str) -> None:
    sql("CREATE TABLE found (n BIGINT) USING parquet")
    tracker = sql.engine.spark.sparkContext.statusTracker()
    replies = []
    creating = threading.Thread(target=lambda: replies.extend(sql(f"CREATE JOB endless AS INSERT INTO found {query}")))
    creating.start()
    until(lambda: tracker.getActiveJobsIds() != [])
    [(_, _, status, message)] = sql("SUSPEND JOB endless")
    assert status == "SUSPENDED" and message.startswith("Suspended. The query was stopped.")
    creating.join(60)
    assert "Another statement has suspended the job." in replies[0][3]
    until(lambda: tracker.getActiveJobsIds() == [])
    sql("RESUME JOB endless")
    sql("SUSPEND JOB endless")  # perhaps before Spark has begun
    until(lambda: tracker.getActiveJobsIds() == [])
    sql("RESUME JOB endless")
    until(lambda: tracker.getActiveJobsIds() != [])
    [(_, _, status, message)] = sql("DROP JOB endless")
    assert status == "DROPPED" and "The query was stopped." in message
    until(lambda: tracker.getActiveJobsIds() == [])
    assert sql("SELECT * FROM found") == []


def test_a_batch_job_names_the_tables_that_it_could_stream(sql: Sql, numbers: Source) -> None:
    sql("CREATE VIEW evens AS SELECT id FROM numbers WHERE id % 2 = 0")
    [(_, _, status, message)] = sql("CREATE JOB once AS INSERT INTO plain SELECT id FROM numbers")
    assert status == "COMPLETED"
    assert message.startswith("Created: it has read numbers once and ended; write STREAM numbers to read new rows")
    assert "\nRead once:   numbers; write STREAM numbers to read new rows as they arrive\n" in sql.value(
        "EXPLAIN CREATE JOB once AS INSERT INTO plain SELECT id FROM numbers"
    )
    [(_, _, _, message)] = sql("CREATE JOB twice AS INSERT INTO plain SELECT * FROM evens")
    assert ".numbers once and ended; write STREAM spark_catalog." in message
    for job, query in {"no_table": "range(5)", "stream": "STREAM numbers"}.items():
        [(_, _, _, message)] = sql(f"CREATE JOB {job} AS INSERT INTO plain SELECT id FROM {query}")
        assert "write STREAM" not in message
