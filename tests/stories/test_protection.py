"""Test that a job that uses too much is suspended, and that the other jobs continue without loss or duplicates."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.conftest import until
from tests.support.engines.service_engine import ServiceEngine

pytestmark = [pytest.mark.spark, pytest.mark.slow]
# Each task keeps 10 GB in its buffer, ten times the heap.
HOG = """
    CREATE JOB hog OPTIONS ('snapshotIntervalMillis' = '500') AS INSERT OVERWRITE sizes
    SELECT size(collect_list(concat(repeat('x', 1000), s.id, r.id)))
    FROM STREAM src s CROSS JOIN (SELECT id FROM range(20000000)) r WHERE s.id > 10
"""


# One allocation is larger than the heap: no watchdog can come first.
BOMB = """
    CREATE JOB bomb OPTIONS ('snapshotIntervalMillis' = '500') AS INSERT INTO sizes
    SELECT length(repeat('x', CAST(1900000000 + id AS INT))) FROM STREAM later
"""

# Its first batch has 128 bytes a row, which cannot be compressed to less than half.
WRITER = """
    CREATE JOB writer OPTIONS ('snapshotIntervalMillis' = '500') AS INSERT INTO hashes
    SELECT sha2(concat(s.id, '-', r.id), 512) FROM STREAM src s CROSS JOIN (SELECT id FROM range(20000000)) r
    WHERE s.id > 10
"""


class Story:
    """An engine with a good job, which copies the numbers of files, and a source for bad jobs."""

    def __init__(self, engine: ServiceEngine, folder: Path) -> None:
        self.engine = engine
        self.source = folder / "src"
        self.source.mkdir()
        self.added: list[int] = []

    def begin(self) -> None:
        self.engine("-e", f"CREATE TABLE src (id BIGINT) USING json LOCATION '{self.source}'")
        self.engine("-e", "CREATE TABLE copied (id BIGINT) USING parquet; CREATE TABLE sizes (n BIGINT) USING parquet")
        self.engine(
            "-e",
            "CREATE JOB copy OPTIONS ('snapshotIntervalMillis' = '500') AS INSERT INTO copied SELECT * FROM STREAM src",
        )

    def add(self, number: int) -> None:
        hidden = self.source / f".{number}"
        hidden.write_text(f'{{"id": {number}}}\n')
        hidden.rename(self.source / f"{number}.json")
        self.added.append(number)

    @property
    def copied(self) -> list[int]:
        return sorted(int(str(row[0])) for row in self.engine.rows("SELECT id FROM copied"))

    def job(self, name: str) -> dict[str, object]:
        [row] = self.engine.rows(f"SELECT to_json(struct(*)) FROM jetsql.jobs WHERE name = '{name}'")
        job: dict[str, object] = json.loads(str(row[0]))
        return job

    def survive(self, name: str) -> dict[str, object]:
        """Wait until a bad job is suspended and the good one continues, and return the bad one."""
        self.add(11)
        until(lambda: self.job(name)["status"] == "SUSPENDED")
        self.add(2)
        until(lambda: self.copied == [1, 2, 11])
        job = self.job(name)
        assert job["last_error_condition"] == "JETSQL.ENGINE_ENDANGERED"
        return job

    def history(self, name: str) -> list[str]:
        return [str(row[0]) for row in self.engine.rows(f"SELECT event FROM jetsql.job_history WHERE job = '{name}'")]


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    engine = ServiceEngine(tmp_path / "home")
    yield Story(engine, tmp_path)
    engine("stop")


def test_job_that_fills_the_heap_is_suspended(story: Story) -> None:
    engine = story.engine
    engine("start")
    [process, *_] = engine.processes()
    story.begin()
    story.add(1)
    engine("-e", HOG)
    hog = story.survive("hog")
    assert "of the heap" in str(hog["last_error"]) and "RESUME JOB" in str(hog["last_error"])
    assert "engine in danger" in story.history("hog")
    assert story.history("copy").count("continued") == 0
    assert process.is_running() and process.status() != psutil.STATUS_ZOMBIE


@pytest.mark.skipif(os.getuid() != 0, reason="only root can mount a disk")
def test_job_that_fills_the_disk_is_suspended_and_others_continue(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    limits = {"disk_warning_bytes": "700000000", "disk_danger_bytes": "500000000"}
    engine = ServiceEngine(tmp_path / "home", storage=str(disk), **limits)
    engine.wrapper = (
        "unshare",
        "--mount",
        "sh",
        "-c",
        f'mount -t tmpfs -o size=1g tmpfs "{disk}" && exec "$@"',
        "sh",
    )
    engine("start")
    engine.wrapper = ()
    story = Story(engine, tmp_path)
    story.begin()
    story.add(1)
    engine("-e", f"CREATE TABLE hashes (hash STRING) USING parquet; {WRITER}")
    writer = story.survive("writer")
    assert f"are free on the disk of {disk}" in str(writer["last_error"])
    assert story.job("copy")["status"] == "RUNNING" and engine.rows("SELECT count(*) FROM hashes") == [[0]]
    engine("stop")


def test_a_job_that_ends_the_engine_twice_stays_suspended(story: Story) -> None:
    engine = story.engine
    engine("start")
    story.begin()
    story.add(1)
    until(lambda: story.copied == [1])
    later = story.source.parent / "later"
    later.mkdir()
    engine("-e", f"CREATE TABLE later (id BIGINT) USING json LOCATION '{later}'; {BOMB}")
    (later / "1.json").write_text('{"id": 1}')
    ends = 0
    while ends < 2:
        until(lambda: engine.role is None)
        ends += 1
        assert engine.log.count("Terminating due to java.lang.OutOfMemoryError") == ends
        engine("start")
    assert story.job("bomb")["status"] == "SUSPENDED"
    assert story.job("bomb")["last_error_condition"] == "JETSQL.CRASH_LOOP"
    assert story.history("bomb").count("engine crashed") == 2
    story.add(2)
    until(lambda: story.copied == [1, 2])
    engine("-e", "ALTER JOB bomb OPTIONS ('restartAttempts' = '1')")
    engine.kill()
    engine("start")
    assert story.job("bomb")["status"] == "SUSPENDED"
    assert story.copied == [1, 2]
