"""File tables as sinks: rows arrive exactly once and become visible together, and rows of other writers are kept."""

from __future__ import annotations

import datetime as dt
import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jetsql.engine.jvm.java_classes import java
from jetsql.jobs.model.staging import STAGING
from tests.conftest import Sql, until

pytestmark = pytest.mark.spark

FAST = "OPTIONS ('snapshotIntervalMillis' = '100')"


@pytest.fixture
def source(sql: Sql) -> Sql:
    sql("CREATE TABLE src (id INT, name STRING, day DATE) USING json")
    sql("INSERT INTO src VALUES (1, 'a', DATE'2024-01-01'), (2, 'b', DATE'2024-01-02'), (3, NULL, NULL)")
    return sql


def location(sql: Sql, table: str) -> Path:
    facts = {row[0]: row[1] for row in sql(f"DESCRIBE EXTENDED {table}")}
    return Path(facts["Location"].removeprefix("file:"))


@pytest.mark.parametrize(
    "rights", ["640", *(pytest.param(rights, marks=pytest.mark.slow) for rights in ("755", "600", "1777"))]
)
def test_files_and_folders_have_the_requested_permissions(sql: Sql, tmp_path: Path, rights: str) -> None:
    spark = sql.engine.spark
    jvm: Any = spark.sparkContext._jvm
    hadoop = jvm.org.apache.hadoop.fs
    files = hadoop.FileSystem.get(spark._jsparkSession.sessionState().newHadoopConf())
    asked = hadoop.permission.FsPermission(rights)
    folder, file = (hadoop.Path(str(tmp_path / name)) for name in ("folder", "folder/file"))
    files.mkdirs(folder)
    files.create(file, True).close()
    for path in (file, folder):
        files.setPermission(path, asked)
        assert oct(os.stat(str(path)).st_mode)[-4:] == rights.zfill(4)
        assert files.getFileStatus(path).getPermission() == asked
    with pytest.raises(Exception, match="gone"):
        files.setPermission(hadoop.Path(str(tmp_path / "gone")), asked)


@pytest.mark.parametrize(
    "format", ["parquet", "csv", *(pytest.param(name, marks=pytest.mark.slow) for name in ("orc", "json"))]
)
def test_every_format(source: Sql, format: str) -> None:
    source(f"CREATE TABLE sink (id INT, name STRING) USING {format}")
    source(f"CREATE JOB j {FAST} AS INSERT INTO sink SELECT id, name FROM STREAM src")
    assert source("SELECT * FROM sink ORDER BY id") == [(1, "a"), (2, "b"), (3, None)]


@pytest.mark.slow
def test_text_tables(source: Sql) -> None:
    source("CREATE TABLE sink (line STRING) USING text")
    source(f"CREATE JOB j {FAST} AS INSERT INTO sink SELECT name FROM STREAM src WHERE name IS NOT NULL")
    assert source("SELECT * FROM sink ORDER BY line") == [("a",), ("b",)]


def test_a_small_batch_is_one_file_without_leftovers(source: Sql) -> None:
    source("INSERT INTO src SELECT id, 'x', NULL FROM range(0, 100, 1, 4)")
    source("CREATE TABLE sink (id INT) USING parquet")
    source(f"CREATE JOB j {FAST} AS INSERT INTO sink SELECT id FROM STREAM src")
    folder = location(source, "sink")
    assert len(list(folder.glob("part-*"))) == 1
    assert not list(folder.glob(".jetsql/*/*"))


@pytest.mark.slow
def test_partitions_are_registered_with_odd_values(source: Sql) -> None:
    source("CREATE TABLE sink (id INT, day DATE, name STRING) USING parquet PARTITIONED BY (day, name)")
    source("INSERT INTO src VALUES (4, 'x y/z=1', DATE'2024-01-03')")
    source(f"CREATE JOB j {FAST} AS INSERT INTO sink SELECT id, day, name FROM STREAM src")
    assert source("SELECT id FROM sink WHERE day = DATE'2024-01-03' AND name = 'x y/z=1'") == [(4,)]
    assert source("SELECT id FROM sink WHERE day IS NULL") == [(3,)]
    assert source.value("SELECT count(*) FROM sink") == 4
    assert len(source("SHOW PARTITIONS sink")) == 4


@pytest.mark.slow
def test_a_dropped_partition_comes_back_with_new_rows(source: Sql) -> None:
    source("CREATE TABLE sink (id INT, name STRING) USING parquet PARTITIONED BY (name)")
    source(f"CREATE JOB j {FAST} AS INSERT INTO sink SELECT id, name FROM STREAM src")
    source("ALTER TABLE sink DROP PARTITION (name = 'a')")
    source("INSERT INTO src VALUES (4, 'a', NULL)")
    source("WAIT FOR JOB j UNTIL IDLE")
    assert source("SELECT id FROM sink WHERE name = 'a'") == [(4,)]


@pytest.mark.slow
def test_static_partition_column_list_and_by_name(source: Sql) -> None:
    source("CREATE TABLE sink (id INT, name STRING, part STRING) USING parquet PARTITIONED BY (part)")
    source(f"CREATE JOB a {FAST} AS INSERT INTO sink PARTITION (part = 'p') SELECT id, name FROM STREAM src")
    source(f"CREATE JOB b {FAST} AS INSERT INTO sink (part, id) SELECT 'q', id FROM STREAM src")
    source(
        f"CREATE JOB c {FAST} AS WITH s AS (SELECT 'r' AS part, name, id FROM STREAM src)"
        " INSERT INTO sink BY NAME SELECT * FROM s"
    )
    counts = source("SELECT part, count(*), count(name) FROM sink GROUP BY part ORDER BY part")
    assert counts == [("p", 3, 2), ("q", 3, 0), ("r", 3, 2)]


def test_changed_options_apply_to_the_next_batch(source: Sql) -> None:
    source("CREATE TABLE sink (id INT, name STRING) USING csv OPTIONS ('sep' = ',')")
    source(f"CREATE JOB j {FAST} AS INSERT INTO sink SELECT id, name FROM STREAM src WHERE id > 3")
    for id, separator in ((4, ","), (5, ","), (6, ";"), (7, ";")):
        source(f"ALTER TABLE sink SET SERDEPROPERTIES ('sep' = '{separator}')")
        source(f"INSERT INTO src VALUES ({id}, 'x', NULL)")
        source("WAIT FOR JOB j UNTIL IDLE")
    texts = {path.read_text() for path in location(source, "sink").glob("part-*")}
    assert {text for text in texts if text} == {"4,x\n", "5,x\n", "6;x\n", "7;x\n"}


@pytest.mark.slow
def test_other_rows_stay_and_sessions_see_new_ones(source: Sql) -> None:
    source("CREATE TABLE sink (id INT) USING parquet")
    source("INSERT INTO sink VALUES (-1)")
    reader = source.engine.spark.newSession()
    schema = source.value("SELECT current_schema()")
    count = f"SELECT count(*) FROM {schema}.sink"
    assert reader.sql(count).collect()[0][0] == 1
    source(f"CREATE JOB j {FAST} AS INSERT INTO sink SELECT id FROM STREAM src")
    assert reader.sql(count).collect()[0][0] == 4
    source("INSERT INTO sink VALUES (-2)")
    source("INSERT INTO src VALUES (4, 'd', NULL)")
    source("WAIT FOR JOB j UNTIL IDLE")
    assert reader.sql(count).collect()[0][0] == 6
    assert reader.sql(f"SELECT count(*) FROM (SELECT * FROM {schema}.SINK) s").collect()[0][0] == 6


def test_a_cached_table_and_a_view_follow_too(source: Sql) -> None:
    source("CREATE TABLE sink (id INT) USING parquet")
    source("CREATE VIEW seen AS SELECT count(*) AS n FROM sink")
    source("CACHE TABLE sink")
    source(f"CREATE JOB j {FAST} AS INSERT INTO sink SELECT id FROM STREAM src")
    assert source.value("SELECT n FROM seen") == 3
    source("UNCACHE TABLE sink")


def test_a_cached_table_and_its_statistics_follow_an_overwrite(source: Sql) -> None:
    source("CREATE TABLE sink (id INT) USING parquet")
    source("INSERT INTO sink VALUES (-1)")
    source("CACHE TABLE sink")
    source("ANALYZE TABLE sink COMPUTE STATISTICS")
    source(f"CREATE JOB j {FAST} AS INSERT OVERWRITE sink SELECT max(id) FROM STREAM src GROUP BY id")
    assert source.value("SELECT count(*) FROM sink WHERE id > 0") == 3
    assert source.engine.spark.catalog.isCached("sink")
    source("UNCACHE TABLE sink")
    rows = {name: value for name, value, *_ in source("DESCRIBE EXTENDED sink")}
    assert "1 rows" not in rows.get("Statistics", "")


def test_spark_keeps_no_rows_of_replaced_files(source: Sql) -> None:
    cache = source.engine.spark._jsparkSession.sharedState().cacheManager()
    source("CREATE TABLE sink (id INT) USING parquet")
    before = cache.numCachedEntries()
    source("CACHE TABLE sink")
    source("CACHE TABLE largest AS SELECT max(id) AS id FROM sink")
    source(f"CREATE JOB j {FAST} AS INSERT OVERWRITE sink SELECT max(id) FROM STREAM src GROUP BY id")
    assert source("SELECT * FROM largest") == [(3,)]
    assert cache.numCachedEntries() == before + 1, "only those of CACHE TABLE sink"
    source("UNCACHE TABLE sink")
    assert cache.numCachedEntries() == before
    source("DROP VIEW largest")


@pytest.mark.slow
def test_a_view_follows_from_another_schema_too(source: Sql) -> None:
    source("CREATE TABLE sink (id INT) USING parquet")
    source("CREATE VIEW seen AS SELECT count(*) AS n FROM sink")
    reader = source.engine.spark.newSession()
    count = f"SELECT n FROM {source.value('SELECT current_schema()')}.seen"
    source(f"CREATE JOB j {FAST} AS INSERT INTO sink SELECT id FROM STREAM src")
    assert reader.sql(count).collect()[0][0] == 3
    source("INSERT INTO src VALUES (4, 'd', NULL)")
    source("WAIT FOR JOB j UNTIL IDLE")
    assert reader.sql(count).collect()[0][0] == 4


@pytest.mark.slow
def test_two_jobs_into_one_table(source: Sql) -> None:
    source("CREATE TABLE sink (id INT) USING parquet")
    for job in ("one", "two"):
        source(f"CREATE JOB {job} {FAST} AS INSERT INTO sink SELECT id FROM STREAM src")
    source("INSERT INTO src VALUES (4, 'd', NULL)")
    for job in ("one", "two"):
        source(f"WAIT FOR JOB {job} UNTIL IDLE")
    assert source("SELECT id, count(*) FROM sink GROUP BY id ORDER BY id") == [(n, 2) for n in (1, 2, 3, 4)]


def test_an_empty_batch_leaves_no_file(source: Sql) -> None:
    source("CREATE TABLE sink (id INT) USING parquet")
    source(f"CREATE JOB j {FAST} AS INSERT INTO sink SELECT id FROM STREAM src WHERE id > 100")
    assert list(location(source, "sink").glob("part-*")) == []


def test_a_batch_job_appends_once_and_completes(source: Sql) -> None:
    source("CREATE TABLE sink (id INT) USING parquet")
    source("CREATE JOB j AS INSERT INTO sink SELECT id FROM src")
    source("WAIT FOR JOB j")
    assert source.status("j") == "COMPLETED"
    assert source.value("SELECT count(*) FROM sink") == 3


def test_available_now_runs_again_over_new_rows(source: Sql) -> None:
    source("CREATE TABLE sink (id INT) USING parquet")
    source("CREATE JOB j OPTIONS ('trigger' = 'availableNow') AS INSERT INTO sink SELECT id FROM STREAM src")
    source("WAIT FOR JOB j UNTIL COMPLETED")
    source("INSERT INTO src VALUES (4, 'd', NULL)")
    source("RESUME JOB j")
    source("WAIT FOR JOB j UNTIL COMPLETED")
    assert source("SELECT id FROM sink ORDER BY id") == [(1,), (2,), (3,), (4,)]


def test_windows_close_with_the_watermark_and_late_rows_are_reported(source: Sql) -> None:
    source("CREATE TABLE events (at TIMESTAMP) USING json")
    source("INSERT INTO events VALUES (TIMESTAMP'2024-01-01 00:10:00'), (TIMESTAMP'2024-01-01 05:00:00')")
    source("CREATE TABLE sink (start TIMESTAMP, n BIGINT) USING parquet")
    source(
        "CREATE JOB j OPTIONS ('trigger' = 'availableNow') AS INSERT INTO sink SELECT window.start, count(*)"
        " FROM STREAM events WATERMARK at DELAY OF INTERVAL 1 MINUTE GROUP BY window(at, '1 hour')"
    )
    [(_, _, _, message)] = source("WAIT FOR JOB j UNTIL COMPLETED")
    assert source("SELECT * FROM sink") == [(dt.datetime(2024, 1, 1, tzinfo=dt.UTC), 1)]
    assert "watermark" in message and message.startswith("1 ")


def test_overwrite_replaces_and_readers_never_see_less(source: Sql) -> None:
    source("CREATE TABLE sink (k INT, n BIGINT) USING parquet")
    source("INSERT INTO sink VALUES (9, 9), (8, 8)")
    reader = source.engine.spark.newSession()
    schema = source.value("SELECT current_schema()")
    seen: set[int] = set()
    done = threading.Event()

    def poll() -> None:
        while not done.is_set():
            seen.add(reader.sql(f"SELECT count(*) FROM {schema}.sink").collect()[0][0])

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        source(f"CREATE JOB j {FAST} AS INSERT OVERWRITE sink SELECT id % 2, count(*) FROM STREAM src GROUP BY 1")
        for n in range(4, 8):
            source(f"INSERT INTO src VALUES ({n}, 'x', NULL)")
            source("WAIT FOR JOB j UNTIL IDLE")
    finally:
        done.set()
        thread.join()
    assert source("SELECT * FROM sink ORDER BY k") == [(0, 3), (1, 4)]
    assert seen == {2}


@pytest.mark.slow
def test_overwritten_table_can_be_dropped_and_created_again(source: Sql) -> None:
    source("CREATE TABLE sink (k INT, n BIGINT) USING parquet")
    source(f"CREATE JOB j {FAST} AS INSERT OVERWRITE sink SELECT id % 2, count(*) FROM STREAM src GROUP BY 1")
    folder = location(source, "sink")
    source("DROP JOB j")
    source("DROP TABLE sink")
    source("CREATE TABLE sink (k INT) USING parquet")
    assert source.value("SELECT count(*) FROM sink") == 0
    assert not list(folder.parent.glob("*"))


def test_batch_overwrite_is_atomic(source: Sql) -> None:
    source("CREATE TABLE sink (id INT) USING parquet")
    source("INSERT INTO sink VALUES (7), (8)")
    source("CREATE JOB j AS INSERT OVERWRITE sink SELECT id FROM src")
    source("WAIT FOR JOB j")
    assert source("SELECT id FROM sink ORDER BY id") == [(1,), (2,), (3,)]


@pytest.mark.slow
def test_replaced_results_are_deleted_after_a_while(source: Sql) -> None:
    source("CREATE TABLE sink (n BIGINT) USING parquet")
    original = location(source, "sink")
    source("CREATE JOB j OPTIONS ('trigger' = 'availableNow') AS INSERT OVERWRITE sink SELECT count(*) FROM STREAM src")
    source("INSERT INTO src VALUES (4, 'd', NULL)")
    source("RESUME JOB j")
    source("WAIT FOR JOB j")
    newest = location(source, "sink")
    [old] = set(newest.parent.iterdir()) - {newest}
    assert original.exists()
    for version in (old, newest):
        os.utime(version, (0, 0))
    source("RESUME JOB j")
    source("WAIT FOR JOB j")
    assert (original.exists(), old.exists(), newest.exists()) == (False, False, True)
    assert source("SELECT * FROM sink") == [(4,)]


@pytest.mark.slow
def test_a_batch_overwrite_of_one_partition_leaves_the_others(source: Sql) -> None:
    source("CREATE TABLE sink (id INT, part STRING) USING parquet PARTITIONED BY (part)")
    source("INSERT INTO sink VALUES (7, 'old'), (8, 'kept')")
    source("CREATE JOB j AS INSERT OVERWRITE sink PARTITION (part = 'old') SELECT id FROM src")
    source("WAIT FOR JOB j")
    assert source("SELECT part, count(*) FROM sink GROUP BY part ORDER BY part") == [("kept", 1), ("old", 3)]


@pytest.mark.slow
def test_batch_overwrite_keeps_the_mode_of_its_session(source: Sql) -> None:
    mode = "spark.sql.sources.partitionOverwriteMode"
    source("CREATE TABLE sink (id INT, part STRING) USING parquet PARTITIONED BY (part)")
    source("INSERT INTO sink VALUES (7, 'new'), (8, 'kept')")
    source(f"SET {mode} = dynamic")
    try:
        source("CREATE JOB j AS INSERT OVERWRITE sink SELECT id, 'new' FROM src")
        source("WAIT FOR JOB j")
    finally:
        source(f"RESET {mode}")
    counts = "SELECT part, count(*) FROM sink GROUP BY part ORDER BY part"
    assert source(counts) == [("kept", 1), ("new", 3)]
    source("CREATE JOB k AS INSERT OVERWRITE sink SELECT id, 'new' FROM src")
    source("WAIT FOR JOB k")
    assert source(counts) == [("new", 3)]


def test_dropped_sink_suspends_the_job_and_is_not_recreated(source: Sql) -> None:
    source("CREATE TABLE sink (id INT) USING parquet")
    source(f"CREATE JOB j {FAST} AS INSERT INTO sink SELECT id FROM STREAM src")
    folder = location(source, "sink")
    rename_from_outside(source, "sink")
    source("INSERT INTO src VALUES (4, 'd', NULL)")
    error = source.error("WAIT FOR JOB j UNTIL IDLE")
    assert error.condition == "JETSQL.WRONG_STATUS" and "SINK_CHANGED" in error.message
    assert source.status("j") == "SUSPENDED"
    assert not folder.exists()


def test_a_table_that_a_running_job_uses_is_not_dropped(source: Sql) -> None:
    schema = source.value("SELECT current_schema()")
    source("CREATE TABLE sink (id INT) USING parquet")
    source(f"CREATE JOB j {FAST} AS INSERT INTO sink SELECT id FROM STREAM src")
    for text, verb, name in (
        ("DROP TABLE sink", "drop", f"{schema}.sink: the job j writes it"),
        (f"DROP TABLE IF EXISTS spark_catalog.{schema}.SINK", "drop", f"{schema}.SINK: the job j writes it"),
        ("DROP TABLE src", "drop", f"{schema}.src: the job j reads it"),
        ("ALTER TABLE src RENAME TO other", "rename", f"{schema}.src: the job j reads it"),
        (f"DROP SCHEMA {schema} CASCADE", "drop", f"the schema {schema}: the job j writes spark_catalog.{schema}.sink"),
    ):
        error = source.error(text)
        assert error.condition == "JETSQL.TABLE_IN_USE" and error.sqlstate == "55006"
        assert error.message.startswith(f"Cannot {verb} {name}"), error.message
        assert "Run DROP JOB `j` first, or SUSPEND JOB `j` to keep the state." in error.message
    source("CREATE TEMPORARY VIEW sink AS SELECT 1")
    source("DROP VIEW sink")
    source("SUSPEND JOB `j`")
    source("DROP TABLE src")
    source("CREATE TABLE src (id INT) USING json")
    source("INSERT INTO src VALUES (7)")
    source(f"CREATE OR REPLACE JOB j {FAST} AS INSERT INTO sink SELECT id FROM STREAM src")
    source("RESUME JOB j")
    source("WAIT FOR JOB j UNTIL IDLE")
    assert (7,) in source("SELECT id FROM sink")
    source("SUSPEND JOB j")
    source("DROP TABLE sink")
    assert (
        f"[JETSQL.SINK_CHANGED] The job's table spark_catalog.{schema}.sink does"
        in source.error("RESUME JOB j").message
    )


def rename_from_outside(source: Sql, table: str) -> None:
    """Rename a table as another program with the same catalogue does: for the job, it is gone."""
    schema = source.value("SELECT current_schema()")
    source.engine.spark._jsparkSession.sharedState().externalCatalog().renameTable(schema, table, "renamed")


def test_a_job_leaves_columns_that_its_table_gained_empty(source: Sql) -> None:
    source("CREATE TABLE sink (id INT) USING parquet")
    source(f"CREATE JOB j {FAST} AS INSERT INTO sink SELECT id FROM STREAM src")
    source("ALTER TABLE sink ADD COLUMN (more INT)")
    source("INSERT INTO src VALUES (4, 'd', NULL)")
    source("WAIT FOR JOB j UNTIL IDLE")
    assert source("SELECT * FROM sink WHERE id = 4") == [(4, None)]
    source("RESTART JOB j")
    source("INSERT INTO src VALUES (5, 'e', NULL)")
    source("WAIT FOR JOB j UNTIL IDLE")
    assert source("SELECT * FROM sink WHERE id > 3 ORDER BY id") == [(4, None), (5, None)]


@pytest.mark.slow
def test_unreadable_file_is_reported_with_its_error(source: Sql) -> None:
    source("CREATE TABLE ids USING parquet AS SELECT id FROM src")
    source("CREATE TABLE sink (id INT) USING parquet")
    options = "OPTIONS ('snapshotIntervalMillis' = '100', 'restartAttempts' = '0')"
    source(f"CREATE JOB j {options} AS INSERT INTO sink SELECT id FROM STREAM ids")
    wrong = location(source, "ids") / "wrong.parquet"
    wrong.write_text("no parquet")
    message = source.error("WAIT FOR JOB j UNTIL IDLE").message
    assert "wrong.parquet is not a Parquet file" in message and "Exception" not in message
    wrong.unlink()
    source("RESUME JOB j")
    assert source.value("SELECT count(*) FROM sink") == 3


@pytest.mark.slow
def test_truncate_by_others_is_no_loss_of_new_rows(source: Sql) -> None:
    source("CREATE TABLE sink (id INT) USING parquet")
    source(f"CREATE JOB j {FAST} AS INSERT INTO sink SELECT id FROM STREAM src")
    source("TRUNCATE TABLE sink")
    source("INSERT INTO src VALUES (4, 'd', NULL)")
    source("WAIT FOR JOB j UNTIL IDLE")
    assert source("SELECT id FROM sink") == [(4,)]


@pytest.mark.slow
def test_static_side_is_read_in_each_batch(source: Sql) -> None:
    source("CREATE TABLE names (id INT, title STRING) USING parquet")
    source("INSERT INTO names VALUES (1, 'one')")
    source("CREATE TABLE sink (id INT, title STRING) USING parquet")
    source(
        f"CREATE JOB j {FAST} AS INSERT INTO sink SELECT s.id, n.title FROM STREAM src s JOIN names n ON s.id = n.id"
    )
    for id, change in ((4, "INSERT INTO"), (5, "INSERT OVERWRITE")):
        source(f"{change} names VALUES ({id}, 'title {id}')")
        source(f"INSERT INTO src VALUES ({id}, 'x', NULL)")
        source("WAIT FOR JOB j UNTIL IDLE")
    source("DROP TABLE names")
    source("CREATE TABLE names (id INT, title STRING) USING parquet")
    source("INSERT INTO names VALUES (6, 'title 6')")
    source("INSERT INTO src VALUES (6, 'x', NULL)")
    source("WAIT FOR JOB j UNTIL IDLE")
    assert source("SELECT * FROM sink ORDER BY id") == [(1, "one"), (4, "title 4"), (5, "title 5"), (6, "title 6")]


def test_chained_jobs_pass_on_all_rows(source: Sql) -> None:
    source("CREATE TABLE middle (id INT) USING parquet")
    source("CREATE TABLE sink (id INT) USING parquet")
    source(f"CREATE JOB first {FAST} AS INSERT INTO middle SELECT id FROM STREAM src")
    source(f"CREATE JOB second {FAST} AS INSERT INTO sink SELECT id FROM STREAM middle")
    source("INSERT INTO src VALUES (4, 'd', NULL)")
    for job in ("first", "second"):
        source(f"WAIT FOR JOB {job} UNTIL IDLE")
    assert source("SELECT id FROM sink ORDER BY id") == [(1,), (2,), (3,), (4,)]


def test_suspended_job_continues_where_it_stopped(source: Sql) -> None:
    source("CREATE TABLE sink (id INT) USING parquet")
    source(f"CREATE JOB j {FAST} AS INSERT INTO sink SELECT id FROM STREAM src")
    [(_, _, status, message)] = source("SUSPEND JOB j")
    assert (status, "finished first" in message) == ("SUSPENDED", True)
    source("INSERT INTO src VALUES (4, 'd', NULL)")
    assert source.value("SELECT count(*) FROM sink") == 3
    source("RESUME JOB j")
    source("WAIT FOR JOB j UNTIL IDLE")
    assert source("SELECT id FROM sink ORDER BY id") == [(1,), (2,), (3,), (4,)]


@pytest.mark.slow
def test_without_a_guarantee_every_start_is_from_scratch(source: Sql) -> None:
    source("CREATE TABLE sink (id INT) USING parquet")
    source(
        "CREATE JOB j OPTIONS ('processingGuarantee' = 'none', 'snapshotIntervalMillis' = '100') AS"
        " INSERT INTO sink SELECT id FROM STREAM src"
    )
    source("SUSPEND JOB j")
    source("RESUME JOB j")
    source("WAIT FOR JOB j UNTIL IDLE")
    assert source("SELECT id, count(*) FROM sink GROUP BY id ORDER BY id") == [(1, 2), (2, 2), (3, 2)]


@pytest.mark.slow
def test_table_emptied_before_its_staged_rows_is_reported(source: Sql, monkeypatch: pytest.MonkeyPatch) -> None:
    source("CREATE TABLE sink (id INT) USING parquet")
    source(f"CREATE JOB j {FAST} AS INSERT INTO sink SELECT id FROM STREAM src")
    emptied: list[str] = []

    def empty(place: str, job: str) -> None:
        if place == "manifest-written" and not emptied:
            emptied.append(place)
            source("TRUNCATE TABLE sink")

    monkeypatch.setattr("jetsql.engine.sinks.file_tables.failpoint", empty)
    source("INSERT INTO src VALUES (4, 'd', NULL)")
    source("WAIT FOR JOB j UNTIL IDLE")
    assert emptied and source("SELECT id FROM sink") == []
    [words] = [row[-1] for row in source("SHOW JOB HISTORY j") if row[1] == "sink notice"]
    assert (
        "removed files of batch 1 from" in words
        and "(number of files: 1)" in words
        and "They are not written again." in words
    )
    source("INSERT INTO src VALUES (5, 'e', NULL)")
    source("WAIT FOR JOB j UNTIL IDLE")
    assert source("SELECT id FROM sink") == [(5,)]


def staged(source: Sql, table: str) -> list[str]:
    """Return the names of the folders with staged rows."""
    folder = location(source, table) / STAGING
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def test_a_drop_deletes_staged_rows_after_the_last_task(source: Sql) -> None:
    """Drop the job while a task computes a row: it continues after its Spark job was cancelled, and writes then."""
    context: Any = source.engine.spark.sparkContext
    source("CREATE TABLE hashes (hash STRING) USING parquet")
    slow = "aggregate(sequence(1, 600000 + id), 'x', (hash, n) -> sha2(concat(hash, n), 512))"
    create = f"CREATE JOB j AS INSERT INTO hashes SELECT {slow} FROM range(1)"
    creating = threading.Thread(target=source.error, args=(create,))  # it would wait for the end of the job
    creating.start()
    tasks = java(source.engine.spark).scheduling.RunningTasks
    manager: Any = source.engine._manager

    def job() -> str:
        return next((view.job.id for view in manager.registry.live() if view.job.name == "j"), "")

    until(lambda: bool(job()) and bool(tasks.awaitEnd(context._jsc.sc(), job(), 0)))
    dropped = job()
    source("DROP JOB j")
    creating.join()
    assert tasks.awaitEnd(context._jsc.sc(), dropped, 0) == 0
    assert staged(source, "hashes") == []
    assert source("SHOW JOB HISTORY j")[-1][-1] == "Checkpoint and staged rows are deleted."


def test_staged_rows_of_ended_jobs_are_deleted_at_the_start(source: Sql) -> None:
    source("CREATE TABLE sink (id INT) USING parquet")
    source("CREATE JOB j AS INSERT INTO sink SELECT id FROM STREAM src")
    manager: Any = source.engine._manager
    [live] = [job for job in manager.store.live_jobs() if job.name == "j"]
    ended = replace(live, id="0001-0000-0000-0001")
    folder = location(source, "sink") / STAGING
    for name in (live.id, ended.id, f"{ended.id}-dead-letters", "0002-0000-0000-0001"):
        (folder / name / "000000003-run1").mkdir(parents=True)
    manager.runtime.delete_staged_rows([ended])
    assert staged(source, "sink") == ["0002-0000-0000-0001", live.id]
