"""Backups of a home whose jobs run: the restored jobs continue, and each row is in each table once."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jetsql.backup.backup_manifest import read_manifest
from tests.support.service_engine import ServiceEngine

pytestmark = [pytest.mark.spark, pytest.mark.slow]
FAST = "'processingGuarantee' = 'exactlyOnce', 'snapshotIntervalMillis' = '20'"
JOBS = ("copy", "chain", "totals", "changes")


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
    """A copy of a table, a copy of the copy, an overwritten table with state, and a table with partitions."""
    engine(
        "-e",
        f"CREATE TABLE src (id BIGINT) USING json LOCATION '{source}';"
        "CREATE TABLE copied (id BIGINT) USING parquet;"
        "CREATE TABLE chained (id BIGINT) USING parquet;"
        "CREATE TABLE totals (digit BIGINT, n BIGINT, total BIGINT) USING parquet;"
        "CREATE TABLE changes (id BIGINT) USING json PARTITIONED BY (digit BIGINT);"
        f"CREATE JOB copy OPTIONS ({FAST}) AS INSERT INTO copied SELECT id FROM STREAM src;"
        f"CREATE JOB chain OPTIONS ({FAST}) AS INSERT INTO chained SELECT id FROM STREAM copied;"
        f"CREATE JOB totals OPTIONS ({FAST}) AS INSERT OVERWRITE totals SELECT id % 10, count(*), sum(id)"
        " FROM STREAM src GROUP BY 1;"
        f"CREATE JOB changes OPTIONS ({FAST}) AS INSERT INTO changes SELECT id, id % 10 FROM STREAM src",
    )


def check_tables(engine: ServiceEngine, count: int) -> None:
    for job in JOBS:
        engine("-e", f"WAIT FOR JOB {job} UNTIL IDLE TIMEOUT 120")
    numbers = [[number] for number in range(count)]
    for table in ("copied", "chained", "changes"):
        assert engine.rows(f"SELECT id FROM {table} ORDER BY id") == numbers, table
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
    assert batches == sorted(batches) and None not in batches
    engine("suspend", "chain")
    engine("backup", str(tmp_path / "suspended"))
    engine("stop")
    engine("backup", str(tmp_path / "stopped"))
    for name in ("backup-1", "suspended", "stopped"):
        shutil.rmtree(engine.home)
        engine("restore", str(tmp_path / name))
        assert "No problems found: checked 4 jobs and 1 snapshot" in engine("check")
        feed.add()
        engine("start")
        if name != "backup-1":
            engine("resume", "chain")
        check_tables(engine, feed.count)
        assert [row[0] for row in engine.rows("SHOW SNAPSHOTS")] == ["early"]
        engine("stop")
