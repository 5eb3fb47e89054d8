"""The cache of the metastore on Derby: it saves requests, and every session sees each change immediately."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from jetsql.embedded.engine_instance import EngineInstance
from jetsql.engine.jvm.java_classes import java
from jetsql.engine.session import relation_views
from jetsql.jobs.statements.system_tables import SYSTEM_TABLES
from tests.conftest import Sql

pytestmark = pytest.mark.spark


@pytest.fixture
def sessions(sql: Sql, engine: EngineInstance) -> Iterator[tuple[SparkSession, SparkSession]]:
    """Yield two sessions next to the engine's, and a table `known` that both have read."""
    pair = engine.spark.newSession(), engine.spark.newSession()
    sql("CREATE SCHEMA cached")
    sql("CREATE TABLE cached.known (id INT) USING parquet")
    for session in pair:
        _columns(session)
    yield pair
    sql("DROP SCHEMA IF EXISTS cached CASCADE")


def _columns(session: SparkSession, table: str = "cached.known") -> list[str]:
    return session.sql(f"SELECT * FROM {table}").columns


def _requests(session: SparkSession) -> int:
    """Return how many requests Spark has sent to the metastore."""
    jvm: Any = session.sparkContext._jvm
    return int(jvm.org.apache.spark.metrics.source.HiveCatalogMetrics.METRIC_HIVE_CLIENT_CALLS().getCount())


def test_a_known_table_needs_no_request(sessions: tuple[SparkSession, SparkSession], sql: Sql) -> None:
    sql("CREATE TABLE cached.sink (id INT) USING parquet")
    sql("EXPLAIN CREATE JOB cached AS INSERT INTO cached.sink SELECT * FROM STREAM cached.known")
    before = _requests(sessions[0])
    for session in sessions:
        assert _columns(session) == ["id"]
    sql("EXPLAIN CREATE JOB cached AS INSERT INTO cached.sink SELECT * FROM STREAM cached.known")
    assert _requests(sessions[0]) == before


@pytest.mark.parametrize(
    ("change", "columns"),
    [
        ("ALTER TABLE cached.known ADD COLUMN name STRING", ["id", "name"]),
        ("DROP TABLE cached.known; CREATE TABLE cached.known (other INT) USING parquet", ["other"]),
        ("CREATE OR REPLACE VIEW cached.v AS SELECT 1 AS a; DROP TABLE cached.known;"
         " CREATE VIEW cached.known AS SELECT * FROM cached.v", ["a"]),
        ("DROP SCHEMA cached CASCADE; CREATE SCHEMA cached; CREATE TABLE cached.known (b INT) USING json", ["b"]),
    ],
)  # fmt: skip
def test_each_session_sees_a_change_of_another(
    sessions: tuple[SparkSession, SparkSession], change: str, columns: list[str]
) -> None:
    changing, reading = sessions
    for statement in change.split(";"):
        changing.sql(statement)
    assert _columns(reading) == columns


def test_dropped_table_is_not_found(sessions: tuple[SparkSession, SparkSession]) -> None:
    changing, reading = sessions
    changing.sql("ALTER TABLE cached.known RENAME TO cached.renamed")
    assert _columns(reading, "cached.renamed") == ["id"]
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        _columns(reading)
    changing.sql("DROP SCHEMA cached CASCADE")
    with pytest.raises(AnalysisException, match="SCHEMA_NOT_FOUND"):
        reading.sql("USE cached")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        _columns(reading, "cached.renamed")


def test_a_change_that_fails_changes_nothing(sessions: tuple[SparkSession, SparkSession]) -> None:
    changing, reading = sessions
    with pytest.raises(AnalysisException):
        changing.sql("ALTER TABLE cached.known ADD COLUMN id INT")
    with pytest.raises(AnalysisException):
        changing.sql("CREATE TABLE cached.known (x INT) USING parquet")
    assert _columns(reading) == ["id"]
    changing.sql("ALTER TABLE cached.known ADD COLUMN name STRING")
    assert _columns(reading) == ["id", "name"]


def test_concurrent_readers_end_with_the_newest_table(sessions: tuple[SparkSession, SparkSession]) -> None:
    changing, reading = sessions
    with ThreadPoolExecutor(4) as pool:
        for number in range(10):
            readers = [pool.submit(_columns, reading) for _ in range(8)]
            changing.sql(f"ALTER TABLE cached.known ADD COLUMN c{number} INT")
            seen = _columns(reading)
            assert seen[-1] == f"c{number}" and len(seen) == number + 2
            assert all(len(each.result()) in (number + 1, number + 2) for each in readers)


def test_start_reads_views_only_when_one_is_missing(sql: Sql, engine: EngineInstance) -> None:
    spark = engine.spark
    before = _requests(spark)
    relation_views.install(spark, SYSTEM_TABLES)
    assert _requests(spark) - before <= 4
    java(spark).catalog.LiveTables.show("{}")  # as before the start, when Spark may drop a view
    spark.sql("DROP VIEW jetsql.jobs")
    relation_views.install(spark, SYSTEM_TABLES)
    assert ("jetsql", "jobs", False) in sql("SHOW TABLES IN jetsql")
    assert "submission_time" in dict(row[:2] for row in sql("DESCRIBE jetsql.jobs"))


def test_interrupts_do_not_reach_the_metastore(sessions: tuple[SparkSession, SparkSession]) -> None:
    """Interrupt calls more often than the pool of the metastore has connections, which is eight times."""
    spark: Any = sessions[0]
    catalog, jvm = spark._jsparkSession.sharedState().externalCatalog(), spark.sparkContext._jvm
    ended = threading.Event()

    def interrupt(thread: Any) -> int:
        for count in itertools.count():
            if ended.wait(0.002):
                return count
            thread.interrupt()
        raise AssertionError

    def read() -> None:
        with ThreadPoolExecutor(1) as other:
            interrupted = other.submit(interrupt, jvm.java.lang.Thread.currentThread())
            for number in range(300):
                assert catalog.getDatabase("cached").name() == "cached"
                assert not catalog.tableExists("cached", f"missing{number}")
            ended.set()
            assert interrupted.result() > 10

    with ThreadPoolExecutor(1) as pool:
        pool.submit(read).result()
    assert _columns(sessions[1]) == ["id"]
