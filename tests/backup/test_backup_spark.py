"""Backups of a home whose jobs run: the restored jobs continue, and each row is in each table once."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jetsql.backup.backup_manifest import read_manifest
from tests.conftest import until
from tests.support.engines.service_engine import ServiceEngine
from tests.support.servers.kafka import Kafka
from tests.support.servers.postgres import DRIVER_PACKAGE, PASSWORD, USER, Postgres

pytestmark = [pytest.mark.spark, pytest.mark.slow]
FAST = "'processingGuarantee' = 'exactlyOnce', 'snapshotIntervalMillis' = '20'"
JOBS = ("copy", "chain", "totals", "changes", "ruled")


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[ServiceEngine]:
    engine = ServiceEngine(tmp_path / "home")
    yield engine
    engine("stop")


class Feed:
    """Files with one row each, which a thread adds to a table."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self.count = 0

    def add(self) -> None:
        hidden = self._folder / f".{self.count}"
        hidden.write_text(f'{{"id": {self.count}}}\n')
        hidden.rename(self._folder / f"{self.count:06d}.json")
        self.count += 1

    @contextmanager
    def running(self) -> Iterator[None]:
        stop = threading.Event()

        def run() -> None:
            while not stop.wait(0.1):
                self.add()

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


def create_jobs(engine: ServiceEngine, source: Path) -> None:
    """Create a copy of a table, one of the copy, an overwritten table with state, one with partitions, and rules."""
    engine(
        "-e",
        f"CREATE TABLE src (id BIGINT) USING json LOCATION '{source}';"
        "CREATE TABLE copied (id BIGINT) USING parquet;"
        "CREATE TABLE chained (id BIGINT) USING parquet;"
        "CREATE TABLE totals (digit BIGINT, n BIGINT, total BIGINT) USING parquet;"
        "CREATE TABLE changes (id BIGINT) USING json PARTITIONED BY (digit BIGINT);"
        "CREATE TABLE passed (id BIGINT) USING parquet;"
        f"CREATE JOB copy OPTIONS ({FAST}) AS INSERT INTO copied SELECT id FROM STREAM src;"
        f"CREATE JOB chain OPTIONS ({FAST}) AS INSERT INTO chained SELECT id FROM STREAM copied;"
        f"CREATE JOB totals OPTIONS ({FAST}) AS INSERT OVERWRITE totals SELECT id % 10, count(*), sum(id)"
        " FROM STREAM src GROUP BY 1;"
        f"CREATE JOB changes OPTIONS ({FAST}) AS INSERT INTO changes SELECT id, id % 10 FROM STREAM src;"
        "CREATE JOB ruled (CONSTRAINT even EXPECT (id % 2 = 0), CONSTRAINT three EXPECT (id % 3 > 0) ON VIOLATION"
        f" INTO TABLE failed) OPTIONS ({FAST}) AS INSERT INTO passed SELECT id FROM STREAM src",
    )


def check_tables(engine: ServiceEngine, count: int) -> None:
    for job in JOBS:
        engine("-e", f"WAIT FOR JOB {job} UNTIL IDLE TIMEOUT 120")
    numbers = [[number] for number in range(count)]
    for table in ("copied", "chained", "changes"):
        assert engine.rows(f"SELECT id FROM {table} ORDER BY id") == numbers, table
    assert engine.rows("SELECT id FROM passed ORDER BY id") == [[number] for number in range(count) if number % 3]
    failed = engine.rows("SELECT CAST(get_json_object(row, '$.id') AS BIGINT) AS id FROM failed ORDER BY id")
    assert failed == [[number] for number in range(0, count, 3)]
    rules = engine.rows("SELECT rule, rows, violations FROM jetsql.expectations WHERE job = 'ruled' ORDER BY rule")
    assert rules == [["even", count, count // 2], ["three", count, len(range(0, count, 3))]]
    digits = [[digit, len(range(digit, count, 10)), sum(range(digit, count, 10))] for digit in range(10)]
    assert engine.rows("SELECT * FROM totals ORDER BY digit") == digits


def test_a_home_is_backed_up_while_its_jobs_run(engine: ServiceEngine, tmp_path: Path) -> None:
    feed = Feed(tmp_path / "src")
    for _ in range(20):
        feed.add()
    engine.set("JETSQL_FAILPOINT", "backup-half-copied")
    engine("start")
    create_jobs(engine, tmp_path / "src")
    engine("-e", "CREATE SNAPSHOT early FOR JOB totals")
    with feed.running():
        engine("backup", str(tmp_path / "killed"), code=3)  # the engine is killed
        engine.set("JETSQL_FAILPOINT", "")
        assert not (tmp_path / "killed").exists()
        engine("start")
        for number in range(3):
            engine("backup", str(tmp_path / f"backup-{number}"))
        assert "exists and is not empty" in engine("backup", str(tmp_path / "backup-0"), code=3)
        engine("backup", str(tmp_path / "killed"))  # deletes what the killed one has left
        assert not (tmp_path / "killed.part").exists()
    check_tables(engine, feed.count)
    batches = []
    for number in range(3):
        manifest = read_manifest(tmp_path / f"backup-{number}")
        assert ({job.name for job in manifest.jobs}, manifest.snapshots) == (set(JOBS), ("early",))
        batches.append(next(job.committed for job in manifest.jobs if job.name == "copy"))
        assert not any(part in name for name in manifest.files for part in ("lease.json", "engine.token", "/.crc"))
    assert batches == sorted(batch for batch in batches if batch is not None)
    engine("suspend", "chain")
    engine("backup", str(tmp_path / "suspended"))
    engine("stop")
    engine("backup", str(tmp_path / "stopped"))
    for name in ("backup-1", "suspended", "stopped"):
        shutil.rmtree(engine.home)
        engine("restore", str(tmp_path / name))
        assert "No problems found: checked 5 jobs and 1 snapshot" in engine("check")
        feed.add()
        engine("start")
        if name != "backup-1":
            engine("resume", "chain")
        check_tables(engine, feed.count)
        assert [row[0] for row in engine.rows("SHOW SNAPSHOTS")] == ["early"]
        engine("stop")


def test_restored_job_writes_each_row_once_into_newer_sinks(
    engine: ServiceEngine, postgres: Postgres, kafka: Kafka, tmp_path: Path
) -> None:
    """Restore a backup older than the sinks by one batch: the restored jobs plan another batch with its number.

    The store is on PostgreSQL, and is copied to another schema after the restore.
    """
    stores = [f"postgresql://{USER}@127.0.0.1:{postgres.port}/postgres?schema={name}" for name in ("before", "after")]
    engine.set("JETSQL_STORE", stores[0])
    engine.set("JETSQL_STORE_PASSWORD", "secret:env:STORE_PASSWORD")
    engine.set("JETSQL_CONF", f"spark.sql.shuffle.partitions=2 spark.jars.packages={DRIVER_PACKAGE}")
    feed = Feed(tmp_path / "src")
    feed.add()
    postgres("DROP TABLE IF EXISTS delivered; CREATE TABLE delivered (id BIGINT)")
    kafka.topic("sent", 1)
    options = f"url '{postgres.url}', dbtable 'delivered', user '{USER}', password '{PASSWORD}'"
    tables = {
        "src": f"(id BIGINT) USING json LOCATION '{tmp_path / 'src'}'",
        "elsewhere": f"(id BIGINT) USING json LOCATION '{tmp_path / 'elsewhere'}'",
        "delivered": f"USING jdbc OPTIONS ({options}, driver 'org.postgresql.Driver')",
        "sent": f"(value STRING) {kafka.options('sent', **{'value.format': 'raw'})}",
    }
    engine("start")
    for table, definition in tables.items():
        engine("-e", f"CREATE TABLE {table} {definition}")
    columns = {"elsewhere": "id", "delivered": "id", "sent": "CAST(id AS STRING)"}

    def contents() -> list[list[int]]:
        for table in columns:
            engine("-e", f"WAIT FOR JOB to_{table} UNTIL IDLE TIMEOUT 120")
        read = [
            [int(str(row[0])) for row in engine.rows(f"SELECT id FROM {name}")] for name in tables if name != "sent"
        ]
        return [sorted(ids) for ids in (*read, [int(message.value or b"") for message in kafka.read("sent")])]

    for table, column in columns.items():
        engine("-e", f"CREATE JOB to_{table} OPTIONS ({FAST}) AS INSERT INTO {table} SELECT {column} FROM STREAM src")
    assert contents() == [[0]] * 4
    printed = engine("backup", str(tmp_path / "backup"))
    assert "not in the backup: spark_catalog.default.elsewhere." in printed
    feed.add()
    assert contents() == [[0, 1]] * 4
    engine("stop")
    feed.add()  # the next batch has two rows
    shutil.rmtree(engine.home)
    assert "The store was in postgresql://" in engine("restore", str(tmp_path / "backup"))
    assert "jetsql store copy --to" in engine("start", code=3)
    engine("store", "copy", "--to", stores[1])
    engine.set("JETSQL_STORE", stores[1])
    engine("start")
    until(lambda: {row[2] for row in engine.rows("SHOW JOBS")} == {"SUSPENDED"})
    for table in columns:
        facts = dict((str(name), str(value)) for name, value in engine.rows(f"DESCRIBE JOB to_{table}"))
        assert "SINK_CHANGED" in str(facts), facts
        assert "was restored from a backup with the batches before 1" in str(facts), facts
    assert [int(message.value or b"") for message in kafka.read("sent")] == [0, 1]
    for table in ("elsewhere", "delivered"):
        assert engine.rows(f"SELECT id FROM {table} ORDER BY id") == [[0], [1]]
    # The table elsewhere is restored as well: its job continues.
    for file in (tmp_path / "elsewhere").glob("part-*-000000001-*"):
        file.unlink()
    engine("resume", "to_elsewhere")
    engine("-e", "WAIT FOR JOB to_elsewhere UNTIL IDLE TIMEOUT 120")
    assert engine.rows("SELECT id FROM elsewhere ORDER BY id") == [[0], [1], [2]]
