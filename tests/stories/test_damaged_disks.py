"""The disk of a home fills up, becomes read-only or loses what is not synchronized: each row is written once."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest

import jetsql
from jetsql.client import dbapi
from tests.conftest import until
from tests.faults.leftovers import find_damage
from tests.faults.source import Source, sum_by_digit
from tests.support.engines.service_engine import ServiceEngine

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.getuid() != 0, reason="only root can mount a disk"),
]
FAST = "OPTIONS ('snapshotIntervalMillis' = '300')"
JOBS = {
    "copy": "INSERT INTO copied SELECT id FROM STREAM numbers",
    "sums": "INSERT OVERWRITE digits SELECT id % 10 AS digit, count(*), sum(id) FROM STREAM numbers GROUP BY 1",
    "once": "INSERT INTO seen SELECT DISTINCT id FROM STREAM numbers",
}
MEGABYTES = 300
FILLS = 12
"""The number of times that the disk is filled and freed."""


class Disk:
    """A small disk, with a file that fills it."""

    def __init__(self, folder: Path, image: Path) -> None:
        """Create and mount it. image: the file that holds it."""
        self.folder = folder
        self._image = image
        self._filler = folder / "filler"
        folder.mkdir()
        with image.open("wb") as file:
            file.truncate(MEGABYTES << 20)
        subprocess.run(("mkfs.ext4", "-q", "-m", "0", image), check=True)
        self.mount()

    @property
    def free(self) -> int:
        return int(psutil.disk_usage(str(self.folder)).free)

    def fill(self) -> None:
        """Fill the disk to the last byte."""
        with self._filler.open("ab") as file, suppress(OSError):
            while True:
                os.write(file.fileno(), bytes(max(4096, min(self.free, 1 << 20))))

    def empty(self) -> None:
        """Delete the file that fills the disk."""
        self._filler.unlink(missing_ok=True)

    def break_down(self) -> None:
        """Make it read-only, as the kernel does after an error of the disk. Open files cannot be written either."""
        Path("/sys/fs/ext4", self._device, "trigger_fs_error").write_text("1")

    def mount(self) -> None:
        subprocess.run(("mount", "-o", "loop,errors=remount-ro", self._image, self.folder), check=True)

    def unmount(self) -> None:
        """Unmount it when no process uses it any more."""
        until(lambda: subprocess.run(("umount", self.folder), check=False, capture_output=True).returncode == 0)

    @property
    def _device(self) -> str:
        found = subprocess.run(
            ("findmnt", "-n", "-o", "SOURCE", self.folder), check=True, capture_output=True, text=True
        )
        return Path(found.stdout.strip()).name


class Home:
    """An engine whose home is on a small disk, and its source on another one."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self.disk = disk
        self.source = Source(folder / "numbers")
        self.engine = ServiceEngine(disk.folder / "home", disk_warning_bytes="2", disk_danger_bytes="1")

    def begin(self) -> None:
        self.source.add(3)
        self.engine("start")
        tables = (
            f"CREATE TABLE numbers (id BIGINT) USING json LOCATION '{self.source.folder}'",
            "CREATE TABLE copied (id BIGINT) USING parquet",
            "CREATE TABLE seen (id BIGINT) USING parquet",
            "CREATE TABLE digits (digit BIGINT, n BIGINT, total BIGINT) USING parquet",
        )
        self.engine("-e", "; ".join(tables))
        self.engine("-e", "; ".join(f"CREATE JOB {name} {FAST} AS {body}" for name, body in JOBS.items()))

    def check_rows(self) -> None:
        """Resume what is suspended, and compare all tables with the source."""
        for name in JOBS:
            [[status]] = self.engine.rows(f"SELECT status FROM jetsql.jobs WHERE name = '{name}'")
            if status == "SUSPENDED":
                self.engine("-e", f"RESUME JOB {name}")
            self.engine("-e", f"WAIT FOR JOB {name} UNTIL IDLE TIMEOUT 120 SECONDS")
        ids = self.source.ids()
        for table in ("copied", "seen"):
            assert self.engine.rows(f"SELECT id FROM {table} ORDER BY id") == [[number] for number in ids], table
        digits = self.engine.rows("SELECT * FROM digits ORDER BY digit")
        assert [tuple(row) for row in digits] == sum_by_digit(ids)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    result = Disk(tmp_path / "disk", tmp_path / "disk.img")
    yield result
    result.unmount()


@pytest.fixture
def home(tmp_path: Path, disk: Disk) -> Iterator[Home]:
    result = Home(tmp_path, disk)
    result.begin()
    yield result
    disk.empty()
    if result.engine.processes():
        result.engine("stop")


def answers(home: Home, seconds: float) -> list[int]:
    """Count the rows of SELECTs that were answered, for some seconds. Each has three."""
    counts = []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with suppress(dbapi.Error), closing(jetsql.connect(home=home.engine.home, start=False)) as connection:
            for text in ("SELECT name FROM jetsql.jobs", "SELECT id FROM range(3)", "SHOW JOBS"):
                with closing(connection.cursor()) as cursor:
                    cursor.execute(text)
                    counts.append(len(cursor.fetchall()))
    return counts


def test_a_disk_that_fills_up_and_is_freed(home: Home) -> None:
    counts = []
    for _ in range(FILLS):
        home.disk.fill()
        home.source.add(1)
        counts += answers(home, 3)
        home.disk.empty()
        home.source.add(1)
        counts += answers(home, 2)
    assert set(counts) == {3}
    home.check_rows()
    home.engine("stop")
    assert find_damage(home.engine.home) == []


def test_a_backup_and_a_start_on_a_full_disk(home: Home, tmp_path: Path) -> None:
    backup = home.disk.folder / "backup"
    home.disk.fill()
    output = home.engine("backup", str(backup), code=3)
    assert "space" in output and "Traceback" not in output
    home.disk.empty()
    assert list(home.disk.folder.glob("backup*")) == []
    home.engine("backup", str(backup))
    home.engine("stop")
    home.disk.fill()
    with home.engine.begin("start") as command:
        output, _ = command.communicate(timeout=240)
    # It may find just the room that it needs.
    assert command.returncode == 0 or (command.returncode == 3 and "space" in output), output
    assert "Traceback" not in output
    assert set(answers(home, 3)) <= {3}
    home.disk.empty()
    if not home.engine.processes():
        home.engine("start")
    home.source.add(1)
    home.check_rows()


def test_a_disk_that_becomes_read_only(home: Home) -> None:
    home.check_rows()
    os.sync()
    home.disk.break_down()
    home.source.add(2)
    assert set(answers(home, 5)) <= {3}
    if home.engine.processes():
        output = home.engine("-e", "SUSPEND JOB copy", code=1)
        assert "JETSQL." in output and "Traceback" not in output
    assert "Traceback" not in home.engine("stop")
    output = home.engine("start", code=3)
    assert str(home.engine.home) in output and "Traceback" not in output
    home.disk.unmount()
    home.disk.mount()
    home.engine("start")
    home.source.add(1)
    home.check_rows()
    home.engine("stop")
    assert find_damage(home.engine.home) == []


def test_a_power_failure(home: Home) -> None:
    """Lose what is not on the disk yet, of files of every age."""
    for _ in range(2):
        for _ in range(10):
            time.sleep(1)
            home.source.add(1)
        home.disk.break_down()
        home.engine.kill()
        home.disk.unmount()
        home.disk.mount()
        assert find_damage(home.engine.home) == []
        home.engine("start")
        home.source.add(1)
        home.check_rows()


def test_a_process_that_may_open_no_more_files(home: Home) -> None:
    """Limit the open files: the engine continues, or ends and is started again."""
    counts = []
    for files in (20, 5, -5):
        java = next(each for each in home.engine.processes() if "java" in each.name())
        before = java.rlimit(psutil.RLIMIT_NOFILE)
        java.rlimit(psutil.RLIMIT_NOFILE, (java.num_fds() + files, before[1]))
        home.source.add(1)
        counts += answers(home, 3)
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            java.rlimit(psutil.RLIMIT_NOFILE, before)
        home.source.add(1)
        counts += answers(home, 3)
        until(lambda: not home.engine.processes() or home.engine.is_ready)
        if not home.engine.processes():
            home.engine("start")
    assert set(counts) == {3}
    home.check_rows()
