"""The relations of the schema `jetsql` in Spark: every query reads current rows, and Spark describes their columns."""

from __future__ import annotations

import pytest

from jetsql.jobs.statements.system_tables import SYSTEM_TABLES
from tests.conftest import Sql

pytestmark = pytest.mark.spark


@pytest.fixture
def job(sql: Sql) -> str:
    """Return the id of a running job named orders."""
    sql("CREATE TABLE src (id INT) USING json")
    sql("CREATE TABLE dst (id INT) USING parquet")
    sql("INSERT INTO src VALUES (1), (2)")
    options = "'snapshotIntervalMillis' = '100'"
    [(job_id, *_)] = sql(f"CREATE JOB orders OPTIONS ({options}) AS INSERT INTO dst SELECT * FROM STREAM src")
    return str(job_id)


@pytest.fixture
def home_schema(sql: Sql) -> str:
    return str(sql.value("SELECT current_schema()"))


def test_the_catalogue_knows_them_as_spark_asks(sql: Sql) -> None:
    assert ("jetsql",) in sql("SHOW SCHEMAS")
    assert {relation.name for relation in SYSTEM_TABLES} <= {name for _, name, _ in sql("SHOW TABLES IN jetsql")}
    described = {name: (kind, comment) for name, kind, comment in sql("DESCRIBE jetsql.jobs")}
    assert described["submission_time"] == ("timestamp", "when CREATE JOB created it")
    assert described["sources"][0] == "array<string>"
    assert "CREATE VIEW jetsql.jobs" in sql.value("SHOW CREATE TABLE jetsql.jobs")
    assert sql.engine.spark.catalog.tableExists("jetsql.jobs")


READS = (
    "SELECT name FROM jetsql.jobs WHERE id = '{}'",
    "SELECT jobs.name FROM spark_catalog.jetsql.jobs WHERE jobs.id = '{}'",
    "SELECT jetsql.jobs.name FROM JETSQL.Jobs WHERE id = '{}' AND array_contains(sources, '{}')",
    "WITH mine AS (SELECT * FROM jetsql.jobs) SELECT name FROM mine WHERE id = '{}'",
    "SELECT name FROM IDENTIFIER('jetsql.jobs') WHERE id = '{}'",
    "SELECT j.name FROM jetsql.jobs j JOIN jetsql.job_history h ON h.job_id = j.id AND h.event = 'submitted'"
    " WHERE j.id = '{}'",
    "SELECT (SELECT max(name) FROM jetsql.jobs WHERE id = '{}')",
    "SELECT job FROM jetsql.job_history WHERE job_id = '{}' AND from_status IS NULL",
)
"""Queries of jobs and their history, with the id of a job and the schema of its source."""


def test_relations_are_read_like_tables(sql: Sql, job: str, home_schema: str) -> None:
    for query in READS:
        assert sql(query.format(job, f"spark_catalog.{home_schema}.src")) == [("orders",)], query


def test_temporary_views_hide_plain_names_of_the_schema(sql: Sql, job: str, home_schema: str) -> None:
    sql("USE jetsql")
    try:
        assert sql.value(f"SELECT name FROM jobs WHERE id = '{job}'") == "orders"
        sql("CREATE TEMPORARY VIEW jobs AS SELECT 'mine' AS name")
        assert sql("SELECT * FROM jobs") == [("mine",)]
        sql("DROP VIEW jobs")
    finally:
        sql(f"USE {home_schema}")
    assert sql.error("SELECT * FROM jobs").condition == "TABLE_OR_VIEW_NOT_FOUND"


def test_every_query_sees_what_is_now(sql: Sql, job: str) -> None:
    sql(f"CREATE VIEW v AS SELECT status FROM jetsql.jobs WHERE id = '{job}'")
    sql("CREATE TEMPORARY VIEW t AS SELECT * FROM v")
    frame = sql.engine.spark.table("jetsql.jobs").where(f"id = '{job}'").select("status")
    kept = sql.engine.spark.table("jetsql.jobs").where(f"id = '{job}'").select("status").cache()
    reads = (
        lambda: sql.value("SELECT status FROM v"),
        lambda: sql.value("SELECT status FROM t"),
        lambda: sql.value(f"SELECT status FROM jetsql.jobs WHERE id = '{job}'"),
        lambda: frame.select("*").collect()[0][0],
    )
    assert kept.collect() == [("RUNNING",)]
    assert [read() for read in reads] == ["RUNNING"] * 4
    sql("SUSPEND JOB orders")
    assert [read() for read in reads] == ["SUSPENDED"] * 4
    assert kept.collect() == [("RUNNING",)], "that is what cache() is for"
    kept.unpersist()
    sql("DROP VIEW t")


def test_timestamps_are_exact(sql: Sql, job: str) -> None:
    """Compare to the microsecond, though the times are floats on the way, rounded in two languages."""
    shown = [row[:1] for row in sql(f"SHOW JOB HISTORY '{job}'")]
    assert sql(f"SELECT time FROM jetsql.job_history WHERE job_id = '{job}'") == shown
    times = [time for time, *_ in sql.engine.spark.sql(f"SHOW JOB HISTORY '{job}'").collect()]
    assert [time.timestamp() for (time,) in shown] == [time.timestamp() for time in times]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO jetsql.jobs SELECT * FROM jetsql.jobs",
        "INSERT OVERWRITE jetsql.jobs SELECT * FROM jetsql.jobs",
        "UPDATE jetsql.jobs SET name = 'x'",
        "DELETE FROM jetsql.jobs AS j WHERE true",
        "MERGE INTO jetsql.jobs j USING (SELECT 'x' AS id) s ON j.id = s.id WHEN MATCHED THEN DELETE",
        "DROP TABLE jetsql.jobs",
        "DROP VIEW IF EXISTS spark_catalog.jetsql.jobs",
        "CREATE OR REPLACE VIEW jetsql.jobs AS SELECT 1 AS id",
        "CREATE TABLE IF NOT EXISTS jetsql.jobs (id INT) USING parquet",
        "CREATE TABLE jetsql.jobs USING parquet AS SELECT 1 AS id",
        "ALTER VIEW jetsql.jobs AS SELECT 1 AS id",
        "ALTER VIEW jetsql.jobs RENAME TO jetsql.others",
        "CREATE JOB j AS INSERT INTO jetsql.jobs SELECT * FROM jetsql.jobs",
    ],
)
def test_relations_cannot_be_changed(sql: Sql, statement: str) -> None:
    error = sql.error(statement)
    assert (error.condition, error.sqlstate) == ("JETSQL.RELATION_READ_ONLY", "42809")
    assert "jetsql.jobs" in error.message


@pytest.mark.parametrize("statement", ["TRUNCATE TABLE jetsql.jobs", "ALTER TABLE jetsql.jobs ADD COLUMN x INT"])
def test_statements_for_tables_are_refused(sql: Sql, statement: str) -> None:
    assert sql.error(statement).condition.startswith("EXPECT_TABLE_NOT_VIEW")


def test_refresh_has_nothing_to_do(sql: Sql) -> None:
    assert sql("REFRESH TABLE jetsql.jobs") == []


@pytest.mark.parametrize(
    "text",
    ["SELECT * FROM STREAM jetsql.jobs", "CREATE JOB j AS INSERT INTO dst SELECT 1\nFROM STREAM jetsql.jobs"],
)
def test_relations_cannot_be_streams(sql: Sql, job: str, text: str) -> None:
    error = sql.error(text)
    assert (error.condition, error.message) == (
        "JETSQL.UNSUPPORTED_QUERY",
        "Cannot read the relation jetsql.jobs as a stream: it shows the current state. Leave out STREAM.",
    )
    assert error.line == text.count("\n") + 1


@pytest.mark.slow
def test_unknown_names_keep_sparks_errors(sql: Sql) -> None:
    assert sql.error("SELECT * FROM jetsql.job").condition == "TABLE_OR_VIEW_NOT_FOUND"
    assert sql.error("SELECT statuss FROM jetsql.jobs").condition == "UNRESOLVED_COLUMN.WITH_SUGGESTION"


def test_each_batch_of_a_stream_sees_current_rows(sql: Sql, job: str) -> None:
    sql("CREATE TABLE seen (id INT, status STRING) USING parquet")
    sql(
        "CREATE JOB watching OPTIONS ('snapshotIntervalMillis' = '100') AS INSERT INTO seen"
        f" SELECT s.id, j.status FROM STREAM src s CROSS JOIN jetsql.jobs j WHERE j.id = '{job}'"
    )
    sql("SUSPEND JOB orders")
    sql("INSERT INTO src VALUES (3)")
    sql("WAIT FOR JOB watching UNTIL IDLE")
    assert sql("SELECT * FROM seen ORDER BY id") == [(1, "RUNNING"), (2, "RUNNING"), (3, "SUSPENDED")]


def test_batch_job_keeps_the_rows_of_its_start(sql: Sql, job: str) -> None:
    sql("CREATE TABLE archive (job STRING, event STRING) USING parquet")
    sql(f"CREATE JOB archive AS INSERT INTO archive SELECT job, event FROM jetsql.job_history WHERE job_id = '{job}'")
    sql("WAIT FOR JOB archive UNTIL COMPLETED")
    assert ("orders", "submitted") in sql("SELECT * FROM archive")


def test_members_of_a_local_engine_are_the_driver(sql: Sql) -> None:
    [(member, cores, status, driver, since)] = sql("SELECT id, cores, status, is_driver, since FROM jetsql.members")
    assert (member, cores, status, driver) == ("driver", 2, "ACTIVE", True)
    assert sql(f"SELECT until, reason FROM jetsql.members WHERE since = TIMESTAMP'{since}'") == [(None, None)]


@pytest.mark.slow
def test_each_batch_is_measured(sql: Sql, job: str) -> None:
    sql("INSERT INTO src VALUES (3)")
    sql("WAIT FOR JOB orders UNTIL IDLE")
    measured = f"FROM jetsql.metrics WHERE job_id = '{job}'"
    assert sql(f"SELECT job, run, batch, span, batches, input_rows, output_rows, lag {measured}") == [
        ("orders", 1, 0, 0, 1, 2, 2, {}),
        ("orders", 1, 1, 0, 1, 1, 1, {}),
    ]
    phases = "add_batch_ms + query_planning_ms + wal_commit_ms + commit_offsets_ms + get_batch_ms + latest_offset_ms"
    assert sql(f"SELECT count(*) {measured} AND trigger_ms > 0 AND {phases} <= trigger_ms") == [(2,)]
    assert sql(f"SELECT count(*) {measured} AND time > (SELECT min(submission_time) FROM jetsql.jobs)") == [(2,)]
    assert sql.value(f"SELECT input_rows FROM jetsql.jobs WHERE id = '{job}'") == 3
    sql("SUSPEND JOB orders")
    assert sql.value(f"SELECT count(*) {measured}") == 2
    sql("DROP JOB orders")
    assert sql.value(f"SELECT count(*) {measured}") == 0


@pytest.mark.slow
def test_watermark_and_state_are_measured(sql: Sql) -> None:
    sql("CREATE TABLE events (at TIMESTAMP) USING json")
    sql("CREATE TABLE counts (start TIMESTAMP, n BIGINT) USING parquet")
    sql("INSERT INTO events VALUES (TIMESTAMP'2024-01-01 00:30:00Z')")
    [(job_id, *_)] = sql(
        "CREATE JOB counts OPTIONS ('snapshotIntervalMillis' = '100') AS INSERT INTO counts"
        " SELECT window(at, '1 hour').start, count(*) FROM STREAM events WATERMARK at DELAY OF INTERVAL 0 SECONDS"
        " GROUP BY window(at, '1 hour')"
    )
    sql("INSERT INTO events VALUES (TIMESTAMP'2024-01-01 05:30:00Z')")
    sql("WAIT FOR JOB counts UNTIL IDLE")
    measured = f"FROM jetsql.metrics WHERE job_id = '{job_id}'"
    rows = sql(f"SELECT CAST(watermark AS STRING), state_rows, state_bytes > 0, late_rows {measured} ORDER BY batch")
    # A batch without rows comes behind each new watermark, unless the next rows are quicker.
    assert rows[0] == (None, 1, True, 0)
    assert rows[-1] == ("2024-01-01 05:30:00", 1, True, 0)
    assert sql(f"SELECT n FROM jetsql.jobs j, counts WHERE j.id = '{job_id}'") == [(1,)]


def test_a_job_without_metrics_has_no_rows(sql: Sql) -> None:
    sql("CREATE TABLE src (id INT) USING json")
    sql("CREATE TABLE dst (id INT) USING parquet")
    sql("INSERT INTO src VALUES (1)")
    options = "'metricsEnabled' = 'false', 'storeMetricsAfterJobCompletion' = 'true'"
    [(job_id, *_)] = sql(f"CREATE JOB quiet OPTIONS ({options}) AS INSERT INTO dst SELECT * FROM src")
    sql("WAIT FOR JOB quiet UNTIL COMPLETED")
    assert sql(f"SELECT * FROM jetsql.metrics WHERE job_id = '{job_id}'") == []


def test_batch_job_has_one_measure_kept_by_its_option(sql: Sql) -> None:
    sql("CREATE TABLE src (id INT) USING json")
    sql("CREATE TABLE dst (id INT) USING parquet")
    sql("INSERT INTO src VALUES (1), (2)")
    options = "'storeMetricsAfterJobCompletion' = 'true'"
    [(job_id, *_)] = sql(f"CREATE JOB once OPTIONS ({options}) AS INSERT INTO dst SELECT * FROM src")
    sql("WAIT FOR JOB once UNTIL COMPLETED")
    found = sql(f"SELECT batch, output_rows, trigger_ms > 0, watermark FROM jetsql.metrics WHERE job_id = '{job_id}'")
    assert found == [(0, 2, True, None)]
