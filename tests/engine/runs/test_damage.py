"""Damaged, deleted and unreadable files, full disks and failed servers.

Each stops the job with a message that leads to the fix. After the fix, every row is in the table once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from jetsql.engine.errors.remedies import DAMAGED
from jetsql.engine.errors.run_failures import NOT_RETRYABLE
from jetsql.engine.jvm.java_classes import java
from jetsql.errors import SQLSTATES
from tests.conftest import Sql, until
from tests.support.engines.file_size_limit import file_size_limit
from tests.support.engines.home_files import read_files
from tests.support.servers.postgres import Postgres

pytestmark = pytest.mark.spark

NO_RESTARTS = "OPTIONS ('snapshotIntervalMillis' = '100', 'restartAttempts' = '0')"


@pytest.fixture
def source(sql: Sql) -> Sql:
    sql("CREATE TABLE src (id INT) USING parquet")
    sql("INSERT INTO src VALUES (1)")
    sql("CREATE TABLE sink (id INT) USING parquet")
    return sql


def copy(sql: Sql, options: str = NO_RESTARTS, rows: str = "id") -> Path:
    """Create a job that copies rows, and return its folder."""
    return job_folder(sql, sql(f"CREATE JOB j {options} AS INSERT INTO sink SELECT {rows} FROM STREAM src"))


def job_folder(sql: Sql, created: list[tuple[object, ...]]) -> Path:
    return Path(sql.engine.home) / "checkpoints" / str(created[0][0])


def location(sql: Sql, table: str) -> Path:
    facts = {row[0]: row[1] for row in sql(f"DESCRIBE EXTENDED {table}")}
    return Path(facts["Location"].removeprefix("file:"))


def newest(folder: Path) -> Path:
    """Return the newest entry of one of Spark's logs, or the newest manifest."""
    return max((path for path in folder.iterdir() if path.stem.isdigit()), key=lambda path: int(path.stem))


def facts(sql: Sql) -> dict[str, str]:
    return {row[0]: row[1] for row in sql("DESCRIBE JOB j")}


def last_event(sql: Sql) -> tuple[str, str]:
    [*_, (_, title, *_, words)] = sql("SHOW JOB HISTORY j")
    return title, words


def add(sql: Sql, *ids: int) -> Path:
    """Add rows in a new file of the source, and return the file."""
    before = set(location(sql, "src").glob("part-*"))
    sql(f"INSERT INTO src SELECT /*+ COALESCE(1) */ * FROM VALUES {', '.join(f'({n})' for n in ids)}")
    [new] = set(location(sql, "src").glob("part-*")) - before
    return new


def ids(sql: Sql) -> list[int]:
    sql("WAIT FOR JOB j UNTIL IDLE")
    return [row[0] for row in sql("SELECT id FROM sink ORDER BY id")]


@contextmanager
def set_aside(path: Path) -> Iterator[Path]:
    """Move a file or folder away during the context, and put it back afterwards in place of anything else."""
    aside = path.with_name(f"{path.name}.aside")
    path.rename(aside)
    try:
        yield path
    finally:
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        aside.rename(path)


# --- checkpoints -----------------------------------------------------------------------------------------------------


def cut(path: Path) -> None:
    path.write_text(path.with_name(f"{path.name}.aside").read_text()[:15])


def empty(path: Path) -> None:
    path.write_text("")


def gone(path: Path) -> None:
    assert not path.exists()


def damages(folder: Path) -> list[tuple[Path, Callable[[Path], None], str]]:
    """Yield the file to damage, the damage, and the file or folder that the error must name."""
    spark = folder / "spark"
    offset, commit = newest(spark / "offsets"), newest(spark / "commits")
    return [
        (spark / "metadata", gone, "spark/metadata is missing"),
        (spark / "metadata", cut, "spark/metadata is not readable: "),
        (offset, cut, "offsets/1 is not readable: "),
        (offset, empty, "offsets/1 is not readable: it is empty"),
        (offset, gone, "offsets/1 is missing"),
        (commit, cut, "commits/1 is not readable: "),
        (commit, empty, "commits/1 is not readable: it is empty"),
        (spark / "offsets", gone, "offsets/1 is missing"),
        (spark / "commits", gone, "commits/0 is missing"),
        (spark, gone, "spark is empty or missing"),
        (folder, gone, "spark is empty or missing"),
    ]


def test_damaged_checkpoint_is_refused_until_restored(source: Sql) -> None:
    folder = copy(source, "OPTIONS ('snapshotIntervalMillis' = '100', 'suspendOnFailure' = 'false')")
    add(source, 2)
    assert ids(source) == [1, 2]
    source("SUSPEND JOB j")
    add(source, 3)
    for path, damage, named in damages(folder):
        with set_aside(path):
            damage(path)
            error = source.error("RESUME JOB j")
        assert f"[JETSQL.CHECKPOINT_DAMAGED] The job's checkpoint is damaged: file:{folder}" in error.message
        assert named in error.message
        assert "from a backup and RESUME JOB" in error.hint
        assert source.status("j") == "SUSPENDED"
    title, words = last_event(source)
    assert (title, words.startswith("The run could not start: ")) == ("suspended by an error", True)
    assert words.count("from a backup") == 1
    source("RESUME JOB j")
    assert ids(source) == [1, 2, 3]


@pytest.mark.slow
def test_damaged_state_suspends_immediately_and_names_the_file(sql: Sql) -> None:
    sql("CREATE TABLE src (id INT) USING parquet")
    sql("INSERT INTO src VALUES (1), (2)")
    sql("CREATE TABLE sink (id INT, n BIGINT) USING parquet")
    text = "INSERT OVERWRITE sink SELECT id % 2, count(*) FROM STREAM src GROUP BY 1"
    folder = job_folder(sql, sql(f"CREATE JOB j OPTIONS ('snapshotIntervalMillis' = '100') AS {text}"))
    sql("SUSPEND JOB j")
    [state] = (folder / "spark/state/0/0").glob("*.changelog")
    with set_aside(state):
        sql("RESUME JOB j")
        add(sql, 3)
        error = sql.error("WAIT FOR JOB j UNTIL IDLE")
    assert (error.condition, "[JETSQL.CHECKPOINT_DAMAGED]" in error.message) == ("JETSQL.WRONG_STATUS", True)
    assert str(state) in error.message
    assert "retry" not in [row[1] for row in sql("SHOW JOB HISTORY j")]
    sql("RESUME JOB j")
    sql("WAIT FOR JOB j UNTIL IDLE")
    assert sql("SELECT * FROM sink ORDER BY 1") == [(0, 1), (1, 2)]


@pytest.mark.slow
def test_damaged_list_of_read_files_is_reported(source: Sql) -> None:
    folder = copy(source)
    source("SUSPEND JOB j")
    read = newest(folder / "spark/sources/0")
    with set_aside(read):
        cut(read)
        source("RESUME JOB j")
        error = source.error("WAIT FOR JOB j UNTIL IDLE")
    assert "[JETSQL.CHECKPOINT_DAMAGED] The job's checkpoint is damaged: " in error.message
    assert f"file:{read}" in error.message and "REDACTED" not in error.message
    add(source, 2)
    source("RESUME JOB j")
    assert ids(source) == [1, 2]


@pytest.mark.slow
def test_a_damaged_manifest_matters_only_while_files_wait_for_it(source: Sql) -> None:
    folder = copy(source)
    [job] = [row[0] for row in source("SHOW JOBS")]
    source("SUSPEND JOB j")
    manifest = newest(folder / "manifests")
    staged = location(source, "sink") / ".jetsql" / str(job) / manifest.stem
    with set_aside(manifest):
        cut(manifest)
        staged.mkdir(parents=True)
        assert f"[JETSQL.CHECKPOINT_DAMAGED] The job's checkpoint is damaged: file:{manifest} is truncated" in (
            source.error("RESUME JOB j").message
        )
        staged.rmdir()
        add(source, 2)
        source("RESUME JOB j")
        assert ids(source) == [1, 2]


# --- files that can't be written -------------------------------------------------------------------------------------


def test_folder_creation_error_is_the_statement_error(source: Sql) -> None:
    checkpoints = Path(source.engine.home) / "checkpoints"
    checkpoints.mkdir(exist_ok=True)
    with set_aside(checkpoints):
        checkpoints.write_text("no folder")
        error = source.error(f"CREATE JOB j {NO_RESTARTS} AS INSERT INTO sink SELECT id FROM STREAM src")
    assert error.condition == "JETSQL.JOB_FAILED"
    assert f"[JETSQL.STORAGE_NOT_USABLE] file:{checkpoints} cannot be used: " in error.message
    assert not source("SHOW JOBS")
    copy(source)
    assert ids(source) == [1]


@pytest.mark.slow
def test_unwritable_checkpoint(source: Sql) -> None:
    folder = copy(source)
    offsets = folder / "spark/offsets"
    with set_aside(offsets):
        offsets.write_text("no folder")
        add(source, 2)
        error = source.error("WAIT FOR JOB j UNTIL IDLE")
    assert f"[JETSQL.STORAGE_NOT_USABLE] {offsets} cannot be used: " in error.message
    assert "Give the engine's user read and write permission." in error.hint
    known = facts(source)
    assert (known["last error at"], known["last error in batch"]) == (str(offsets), "1")
    assert known["last error class"] == "org.apache.hadoop.fs.FileAlreadyExistsException"
    assert known["last error"].count("RESUME JOB") == 1
    source("RESUME JOB j")
    assert ids(source) == [1, 2]


@pytest.fixture
def full_folder(tmp_path: Path) -> Iterator[Path]:
    """Mount a disk without space left."""
    folder = tmp_path / "full"
    folder.mkdir()
    subprocess.run(("mount", "-t", "tmpfs", "-o", "size=4k", "none", str(folder)), check=True)
    (folder / "fill").write_bytes(bytes(4096))
    yield folder
    subprocess.run(("umount", str(folder)), check=True)


@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0, reason="only root can mount a disk")
def test_a_full_disk_under_the_checkpoint(source: Sql, full_folder: Path) -> None:
    folder = copy(source)
    manifests = folder / "manifests"
    kept = manifests.rename(folder / "kept")
    manifests.symlink_to(full_folder)
    add(source, 2)
    error = source.error("WAIT FOR JOB j UNTIL IDLE")
    assert (
        f"[JETSQL.DISK_FULL] There is no space left for file:{folder}/spark: No space left on device" in error.message
    )
    title, words = last_event(source)
    assert (title, words.startswith("Batch 1 failed: There is no space left")) == ("suspended by an error", True)
    assert "Free some disk space." in words and "The job is suspended and keeps its state." in words
    manifests.unlink()
    kept.rename(manifests)
    add(source, 3)
    source("RESUME JOB j")
    assert ids(source) == [1, 2, 3]


@contextmanager
def largest_file(sql: Sql) -> Iterator[int]:
    """Limit the size of the files that Spark can write, and yield the limit. Existing files fit it."""
    pid = sql.engine.spark.sparkContext._gateway.proc.pid  # type: ignore[union-attr]
    home = Path(sql.engine.home)
    most = max(len(content) for _, content in read_files(home)) + 2_000_000
    with file_size_limit(pid, most):
        yield most


@pytest.mark.slow
def test_table_without_space_for_a_batch(sql: Sql) -> None:
    sql("CREATE TABLE src (id INT) USING parquet")
    sql("CREATE TABLE sink (id INT, text STRING) USING json")
    with largest_file(sql) as most:
        copy(sql, rows=f"id, repeat('x', IF(id = 2, {most}, 1))")
        add(sql, 1)
        assert ids(sql) == [1]
        add(sql, 2)
        error = sql.error("WAIT FOR JOB j UNTIL IDLE")
        assert f"[JETSQL.DISK_FULL] There is no space left for file:{location(sql, 'sink')}: " in error.message
        assert [row[0] for row in sql("SELECT id FROM sink")] == [1]
    sql("RESUME JOB j")
    assert ids(sql) == [1, 2]


# --- sources ---------------------------------------------------------------------------------------------------------


@contextmanager
def unwritable_sink(sql: Sql) -> Iterator[None]:
    """Let every batch fail after it was planned, during the context."""
    staging = location(sql, "sink") / ".jetsql"
    with set_aside(staging):
        staging.write_text("no folder")
        yield


@pytest.mark.slow
def test_source_file_deleted_before_it_was_read_is_reported(source: Sql) -> None:
    copy(source)
    with unwritable_sink(source):
        planned = add(source, 2)
        assert "cannot be used" in source.error("WAIT FOR JOB j UNTIL IDLE").message
    add(source, 3)
    with set_aside(planned):
        source("RESUME JOB j")
        error = source.error("WAIT FOR JOB j UNTIL IDLE")
    assert f"[JETSQL.SOURCE_CHANGED] Batch 1 cannot read file:{planned}, which was deleted or moved." in error.message
    assert "Put the file back" in error.hint and "ignoreMissingFiles" in error.hint
    assert source.status("j") == "SUSPENDED"
    source("RESUME JOB j")
    assert ids(source) == [1, 2, 3]


@pytest.mark.slow
def test_job_continues_without_a_lost_file_by_option(source: Sql) -> None:
    copy(source)
    with unwritable_sink(source):
        planned = add(source, 2)
        source.error("WAIT FOR JOB j UNTIL IDLE")
    planned.unlink()
    add(source, 3)
    source("RESUME JOB j")
    source.error("WAIT FOR JOB j UNTIL IDLE")
    source("ALTER JOB j OPTIONS ('spark.sql.files.ignoreMissingFiles' = 'true') RESUME")
    assert ids(source) == [1, 3]


@pytest.mark.slow
def test_truncated_source_file(source: Sql) -> None:
    copy(source)
    whole = add(source, 2)
    assert ids(source) == [1, 2]
    wrong = whole.with_name("part-wrong.parquet")
    wrong.write_bytes(whole.read_bytes()[:-20])
    error = source.error("WAIT FOR JOB j UNTIL IDLE")
    assert f"[FAILED_READ_FILE.NO_HINT] file:{wrong} is not a Parquet file." in error.message
    assert "Replace the file with a complete one" in error.hint
    assert facts(source)["last error at"] == f"file:{wrong}"
    source("ALTER JOB j OPTIONS ('spark.sql.files.ignoreCorruptFiles' = 'true') RESUME")
    add(source, 3)
    assert ids(source) == [1, 2, 3]
    wrong.unlink()


@pytest.mark.slow
def test_files_of_any_age_are_read(source: Sql) -> None:
    """Read files by their names: clocks jump, and files are copied with their times."""
    copy(source)
    for number, seconds in ((2, 4_000_000_000), (3, 1_000_000), (4, 1_700_000_000)):
        source("SUSPEND JOB j")
        os.utime(add(source, number), (seconds, seconds))
        source("RESUME JOB j")
        source("WAIT FOR JOB j UNTIL IDLE")
    assert ids(source) == [1, 2, 3, 4]


# --- servers ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def shop(postgres: Postgres, sql: Sql) -> Iterator[Sql]:
    postgres("CREATE SCHEMA luck; CREATE TABLE luck.t (id int)")
    sql("CREATE TABLE src (id INT) USING parquet")
    sql("INSERT INTO src VALUES (1)")
    sql(f"CREATE TABLE sink {postgres.options('luck.t')}")
    yield sql
    for row in sql("SHOW JOBS"):
        sql(f"DROP JOB '{row[0]}'")
    postgres("DROP SCHEMA luck CASCADE")


@pytest.mark.slow
def test_outage_longer_than_the_restarts(shop: Sql, postgres: Postgres) -> None:
    copy(shop, "OPTIONS ('snapshotIntervalMillis' = '100', 'restartAttempts' = '1')")
    postgres.stop()
    try:
        add(shop, 2)
        error = shop.error("WAIT FOR JOB j UNTIL IDLE")
        known = facts(shop)
    finally:
        postgres.start()
    server = f"PostgreSQL 127.0.0.1:{postgres.port}/postgres"
    assert f"[JETSQL.EXTERNAL_SYSTEM_UNAVAILABLE] {server} cannot be reached: " in error.message
    assert error.hint == "Fix the cause, then start the job with RESUME JOB."
    assert (known["status"], known["last error at"]) == ("SUSPENDED", server)
    assert known["last error class"] == "org.postgresql.util.PSQLException"
    story = [(row[1], row[-1]) for row in shop("SHOW JOB HISTORY j")][-3:]
    assert [title for title, _ in story] == ["error", "retry", "suspended by an error"]
    assert story[0][1].startswith(f"Batch 1 failed: {server} cannot be reached: ")
    assert story[0][1].endswith("Trying again in 1 s (restart 1 of 1).")
    assert "1 restart did not help. The job is suspended and keeps its state." in story[2][1]
    add(shop, 3)
    shop("RESUME JOB j")
    shop("WAIT FOR JOB j UNTIL IDLE")
    assert postgres("SELECT id FROM luck.t ORDER BY 1") == [(1,), (2,), (3,)]


@pytest.mark.slow
def test_a_batch_that_fails_while_the_job_is_being_suspended(shop: Sql, postgres: Postgres) -> None:
    copy(shop)
    with postgres.connect() as blocker:
        blocker.execute("BEGIN; LOCK TABLE luck.t IN SHARE MODE")
        add(shop, 2)
        waiting = f"application_name = 'JetSQL' AND {blocker.info.backend_pid} = ANY (pg_blocking_pids(pid))"
        until(lambda: bool(postgres(f"SELECT 1 FROM pg_stat_activity WHERE {waiting}")))
        replies: list[tuple[object, ...]] = []
        suspending = threading.Thread(target=lambda: replies.extend(shop("SUSPEND JOB j")))
        suspending.start()
        until(lambda: shop.status("j").startswith("COMPLETING"))
        postgres(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {waiting}")
        suspending.join()
        blocker.execute("ROLLBACK")
    [(_, _, status, message)] = replies
    assert status == "SUSPENDED"
    assert "finished first" not in str(message)
    assert "The running batch failed; the next start repeats it." in str(message)
    assert "[JETSQL.EXTERNAL_SYSTEM_UNAVAILABLE]" in str(message)
    shop("RESUME JOB j")
    shop("WAIT FOR JOB j UNTIL IDLE")
    assert postgres("SELECT id FROM luck.t ORDER BY 1") == [(1,), (2,)]


# --- settings and what can't heal ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value", "condition", "message", "at"),
    [
        ("spark.sql.shuffle.partitions", "many", "INVALID_OPTION_VALUE", "It should be a/an 'int' value", "'many'"),
        ("spark.sql.session.timeZone", "Mars/Base", "INVALID_OPTION_VALUE", "Cannot resolve", "'Mars/Base'"),
        ("spark.driver.memory", "1g", "OPTION_NOT_CHANGEABLE", "applies to the whole engine", "'spark.driver.memory'"),
    ],
)
def test_settings_are_checked_before_a_job_has_them(
    source: Sql, key: str, value: str, condition: str, message: str, at: str
) -> None:
    text = f"CREATE JOB j OPTIONS ('{key}' = '{value}') AS INSERT INTO sink SELECT id FROM STREAM src"
    error = source.error(text)
    assert (error.condition, message in error.message) == (f"JETSQL.{condition}", True), error
    assert (error.line, error.column) == (1, text.index(at) + 1)
    assert not source("SHOW JOBS")
    copy(source)
    source("SUSPEND JOB j")
    assert source.error(f"ALTER JOB j OPTIONS ('{key}' = '{value}') RESUME").condition == error.condition
    assert (source.status("j"), f"option {key}" in facts(source)) == ("SUSPENDED", False)


def test_fatal_errors_are_not_retried(source: Sql) -> None:
    copy(source, "OPTIONS ('snapshotIntervalMillis' = '100')", rows="CAST(10 / (id - 2) AS INT)")
    file = add(source, 2)
    error = source.error("WAIT FOR JOB j UNTIL IDLE")
    assert "[DIVIDE_BY_ZERO]" in error.message and f"The task was reading file:{file}." in error.message
    assert facts(source)["last error at"] == f"file:{file}"
    title, words = last_event(source)
    assert (title, words.startswith("Batch 1 failed: ")) == ("suspended by an error", True)
    assert "A restart cannot fix this error. The job is suspended and keeps its state." in words
    assert facts(source)["last error class"] == "org.apache.spark.SparkArithmeticException"
    assert "retry" not in [row[1] for row in source("SHOW JOB HISTORY j")]


TOO_LARGE = "CAST(a.id * 100 AS TINYINT)"


@pytest.mark.parametrize(
    "body",
    [
        f"INSERT OVERWRITE totals SELECT {TOO_LARGE}, count(*) FROM STREAM src a GROUP BY 1",
        pytest.param(
            f"INSERT INTO totals SELECT 1, id FROM STREAM src UNION ALL SELECT {TOO_LARGE}, id FROM STREAM src a",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_unreadable_value_is_reported_with_its_file(source: Sql, body: str) -> None:
    source("CREATE TABLE totals (k INT, n BIGINT) USING parquet")
    source(f"CREATE JOB j OPTIONS ('snapshotIntervalMillis' = '100') AS {body}")
    file = add(source, 2)
    message = source.error("WAIT FOR JOB j UNTIL IDLE").message
    assert "[CAST_OVERFLOW]" in message and "200" in message and f"The task was reading file:{file}." in message


@pytest.mark.slow
def test_a_failed_value_after_a_join_names_a_file(source: Sql) -> None:
    """Spark sends the rows of the smaller side to the tasks that read the other one."""
    source("CREATE TABLE totals (k INT, n BIGINT) USING parquet")
    joined = f"SELECT {TOO_LARGE}, b.id FROM STREAM src a JOIN src b ON a.id > b.id - 9"
    source(f"CREATE JOB j OPTIONS ('snapshotIntervalMillis' = '100') AS INSERT INTO totals {joined}")
    folder = add(source, 2).parent
    message = source.error("WAIT FOR JOB j UNTIL IDLE").message
    assert "[CAST_OVERFLOW]" in message and "200" in message and f"The task was reading file:{folder}/part-" in message


def test_a_partition_with_the_text_of_null_is_refused(sql: Sql) -> None:
    """Spark writes both into one folder, and reads them as NULL."""
    sql("CREATE TABLE src (id INT, k STRING) USING json")
    sql("INSERT INTO src VALUES (1, NULL)")
    sql("CREATE TABLE sink (id INT, k STRING) USING parquet PARTITIONED BY (k)")
    copy(sql, rows="id, k")
    sql("INSERT INTO src VALUES (2, '__HIVE_DEFAULT_PARTITION__'), (3, NULL)")
    message = sql.error("WAIT FOR JOB j UNTIL IDLE").message
    assert (
        "[JETSQL.SINK_REFUSED_ROWS] A row has the text __HIVE_DEFAULT_PARTITION__ in the partition column k" in message
    )
    assert "nullif(name" in facts(sql)["last error"]
    assert sql("SELECT * FROM sink") == [(1, None)]
    fixed = "id, nullif(k, '__HIVE_DEFAULT_PARTITION__')"
    sql(f"CREATE OR REPLACE JOB j {NO_RESTARTS} AS INSERT INTO sink SELECT {fixed} FROM STREAM src")
    assert ids(sql) == [1, 2, 3]


def test_every_fatal_condition_exists(sql: Sql) -> None:
    spark = sql.engine.spark
    jvm: Any = spark.sparkContext._jvm
    java(spark).kafka.KafkaConnector.load(spark._jsparkSession)
    readers = (
        jvm.org.apache.spark.SparkThrowableHelper.errorReader(),
        jvm.org.apache.spark.sql.kafka010.KafkaExceptionsHelper.errorClassesJsonReader(),
    )
    conditions = {name for reader in readers for name in reader.errorInfoMap().keySet().mkString(" ").split()}
    for prefix in (*NOT_RETRYABLE, *DAMAGED):
        ours = prefix.removeprefix("JETSQL.")
        known = SQLSTATES if ours != prefix else conditions
        assert any(condition.startswith(ours) for condition in known), prefix
