"""Damaged checkpoints: `jetsql check` reports an error for those, and only those, with which the job does not continue.

Each damage is made to a suspended job. The check is compared with the start: either the job continues and its table is
exact, or it is suspended immediately with the damaged file and an unchanged table, and continues when the file is back.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from jetsql.check.check_home import check
from jetsql.check.findings import Finding, Severity
from tests.conftest import Sql

pytestmark = pytest.mark.spark

OPTIONS = (
    "OPTIONS ('snapshotIntervalMillis' = '50', 'restartAttempts' = '1', 'spark.sql.shuffle.partitions' = '2',"
    " 'spark.sql.streaming.fileSource.log.compactInterval' = '10')"
)

# --- what is damaged -------------------------------------------------------------------------------------------------

Target = Callable[[Path], Path]
"""Returns a file or folder below the folder of a job."""


def at(name: str) -> Target:
    return lambda folder: folder / name


def entry(log: str, place: int) -> Target:
    """Return an entry of a log: -1 is the newest one."""

    def find(folder: Path) -> Path:
        numbers = sorted(int(path.name) for path in (folder / "spark" / log).iterdir() if path.name.isdigit())
        return folder / "spark" / log / str(numbers[place])

    return find


def state(kind: str, place: int) -> Target:
    """Return a file of the first partition's state, by its kind and version: -1 is the newest one."""

    def find(folder: Path) -> Path:
        files = (folder / "spark/state/0/0").glob(f"[0-9]*.{kind}")
        return sorted(files, key=lambda file: int(file.name.partition("_")[0]))[place]

    return find


def compacted(folder: Path) -> Path:
    """Return the newest list of files with the earlier ones; Spark compacts them every ten batches, by OPTIONS."""
    return max((folder / "spark/sources/0").glob("*.compact"), key=lambda file: int(file.stem))


def manifest(place: int) -> Target:
    return lambda folder: sorted((folder / "manifests").glob("*.json"))[place]


# --- how it is damaged -----------------------------------------------------------------------------------------------


def sums(path: Path) -> Path:
    """Return the file with Hadoop's checksums."""
    return path.with_name(f".{path.name}.crc")


def gone(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def empty(path: Path) -> None:
    path.write_bytes(b"")


def zeros(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def garbled(path: Path) -> None:
    """Change some bytes to such that are no UTF-8."""
    content = bytearray(path.read_bytes())
    for place in random.Random(len(content)).sample(range(len(content)), max(4, len(content) // 20)):
        content[place] = 0xFF - content[place] // 2
    path.write_bytes(bytes(content))


def a_folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


def wrong_sums(path: Path) -> None:
    """Change the last checksum of a file; its header stays."""
    content = sums(path).read_bytes()
    sums(path).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


def unreadable_sums(path: Path) -> None:
    """Truncate the checksums, which Hadoop ignores then."""
    sums(path).write_bytes(b"crc")


@dataclass(frozen=True)
class Damage:
    """One damage of a job's checkpoint."""

    job: str
    name: str
    target: Target
    damage: Callable[[Path], None]
    keeps_sums: bool = False  # Hadoop's checksums stay; otherwise they are deleted, as by a copy without hidden files

    def __str__(self) -> str:
        return f"{self.job}: {self.name} {self.damage.__name__}{' with sums' if self.keeps_sums else ''}"

    def apply(self, folder: Path) -> list[tuple[Path, Path]]:
        """Damage the job's folder. Return what was moved away, with its former place."""
        path = self.target(folder)
        aside = folder.parent.parent / "aside"
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir()
        moved = []
        for each in (path, sums(path)):
            if each.exists():
                copy = aside / each.name
                (shutil.copytree if each.is_dir() else shutil.copy)(each, copy)
                moved.append((copy, each))
        self.damage(path)
        if not self.keeps_sums and self.damage not in (wrong_sums, unreadable_sums):
            sums(path).unlink(missing_ok=True)
        return moved


def damages_of(job: str, name: str, target: Target, *damages: Callable[[Path], None]) -> list[Damage]:
    return [Damage(job, name, target, damage) for damage in damages]


ALL = (gone, empty, zeros, cut, garbled, wrong_sums, unreadable_sums)
DAMAGES = [
    *damages_of("totals", "metadata", at("spark/metadata"), *ALL, a_folder),
    *damages_of("totals", "newest offsets", entry("offsets", -1), *ALL),
    *damages_of("totals", "offsets before", entry("offsets", -2), gone, empty, cut, garbled),
    *damages_of("totals", "old offsets", entry("offsets", -4), gone, cut, garbled),
    *damages_of("totals", "newest commit", entry("commits", -1), *ALL),
    *damages_of("totals", "old commit", entry("commits", -3), gone, cut, garbled),
    *damages_of("totals", "newest changes", state("changelog", -1), gone, empty, cut, garbled, wrong_sums),
    Damage("totals", "newest changes", state("changelog", -1), garbled, keeps_sums=True),
    *damages_of("totals", "changes before", state("changelog", -2), gone, cut, garbled, unreadable_sums),
    *damages_of("totals", "checksum of state", state("changelog.crc", -1), gone, empty, cut, garbled),
    *damages_of("totals", "types of state", at("spark/state/0/0/_metadata/schema"), empty, cut, garbled, wrong_sums),
    *damages_of("totals", "operator", at("spark/state/0/_metadata/metadata"), wrong_sums, garbled, cut, empty),
    *damages_of("totals", "partition", at("spark/state/0/1"), gone),
    *damages_of("totals", "state", at("spark/state"), gone),
    *damages_of("plain", "newest list of files", entry("sources/0", -1), gone, empty, cut, garbled, wrong_sums),
    *damages_of("plain", "compacted list of files", compacted, gone, cut, garbled),
    *damages_of("plain", "lists of files", at("spark/sources"), gone),
    *damages_of("plain", "offsets", at("spark/offsets/999"), a_folder),
    *damages_of("plain", "newest manifest", manifest(-1), gone, empty, garbled),
    *damages_of("plain", "old manifest", manifest(0), gone, garbled),
    *damages_of("plain", "lease", at("lease.json"), gone, empty, garbled),
]
# Those that check and start judged differently once, or that were reported without the file.
IN_GATE = (
    "totals: metadata garbled",
    "totals: old offsets gone",
    "totals: newest commit garbled",
    "totals: newest changes garbled",
    "totals: checksum of state garbled",
    "totals: types of state garbled",
    "plain: newest list of files gone",
    "plain: old manifest garbled",
)


# --- the jobs --------------------------------------------------------------------------------------------------------


@dataclass
class TwoJobs:
    """A source of one row a file, a job that copies it, and one that counts it."""

    sql: Sql
    source: Path
    ids: dict[str, str]
    rows: int = 0

    def add(self) -> None:
        draft = self.source / ".draft"
        draft.write_text(json.dumps({"id": self.rows, "k": self.rows % 3}) + "\n", encoding="utf-8")
        draft.rename(self.source / f"{self.rows:04}.json")
        self.rows += 1

    def folder(self, job: str) -> Path:
        return self.sql.engine.home / "checkpoints" / self.ids[job]

    def table(self, job: str) -> list[tuple[object, ...]]:
        return self.sql(f"SELECT * FROM {job}_table ORDER BY ALL")

    def expected(self, job: str) -> list[tuple[object, ...]]:
        if job == "plain":
            return [(number,) for number in range(self.rows)]
        return [(key, len(range(key, self.rows, 3))) for key in range(3) if key < self.rows]

    def errors(self, job: str) -> list[Finding]:
        found = check(self.sql.engine.home).findings
        return [each for each in found if self.ids[job] in each.where and each.severity is Severity.ERROR]

    def resume(self, job: str) -> str:
        """Resume a job until it is idle, and return its error, if it ends with one."""
        try:
            self.sql(f"RESUME JOB {job}")
            self.sql(f"WAIT FOR JOB {job} UNTIL IDLE")
        except Exception as error:
            return self.sql.engine.error(error, "").message
        return ""


@pytest.fixture
def jobs(sql: Sql) -> Iterator[TwoJobs]:
    sql("CREATE TABLE src (id INT, k INT) USING json")
    facts = {row[0]: row[1] for row in sql("DESCRIBE EXTENDED src")}
    jobs = TwoJobs(sql, Path(facts["Location"].removeprefix("file:")), {})
    jobs.source.mkdir(exist_ok=True)
    jobs.add()
    sql("CREATE TABLE plain_table (id INT) USING parquet")
    sql("CREATE TABLE totals_table (k INT, n BIGINT) USING parquet")
    texts = {
        "plain": "INSERT INTO plain_table SELECT id FROM STREAM src",
        "totals": "INSERT OVERWRITE totals_table SELECT k, count(*) FROM STREAM src GROUP BY k",
    }
    for job, text in texts.items():
        jobs.ids[job] = str(sql(f"CREATE JOB {job} {OPTIONS} AS {text}")[0][0])
    for _ in range(5):
        jobs.add()
        for job in texts:
            sql(f"WAIT FOR JOB {job} UNTIL IDLE")
    yield jobs


def put_back(moved: list[tuple[Path, Path]]) -> None:
    """Replace damaged files and folders by what was moved away."""
    for copy, path in moved:
        if path.is_dir():
            shutil.rmtree(path)
        (shutil.copytree if copy.is_dir() else shutil.copy)(copy, path)


def check_damage(jobs: TwoJobs, damage: Damage) -> None:
    """Damage a job's checkpoint and start the job. Fail unless the check has said what the start does."""
    job, before = damage.job, jobs.table(damage.job)
    jobs.sql(f"SUSPEND JOB {job}")
    assert jobs.errors(job) == [], f"{damage}: not whole before"
    events = len(jobs.sql(f"SHOW JOB HISTORY {job}"))
    moved = damage.apply(jobs.folder(job))
    errors = jobs.errors(job)
    jobs.add()
    message = jobs.resume(job)
    stopped, table = jobs.sql.status(job) == "SUSPENDED", jobs.table(job)
    titles = [row[1] for row in jobs.sql(f"SHOW JOB HISTORY {job}")][events:]
    if stopped:
        put_back(moved)
        if not moved:
            gone(damage.target(jobs.folder(job)))
        again = jobs.resume(job)
        assert again == "", f"{damage}: after it was put back: {again}"
    assert jobs.table(job) == jobs.expected(job), f"{damage}: the rows are {jobs.table(job)}"
    assert stopped == bool(errors), f"{damage}: check found {errors}; the start: {message or 'goes on'}"
    if stopped:
        assert "[JETSQL.CHECKPOINT_DAMAGED] The job's checkpoint is damaged: " in message, f"{damage}: {message}"
        assert any(error.where in message for error in errors), f"{damage}: {message}; check found {errors}"
        assert "retry" not in titles, f"{damage}: {titles}"
        assert table == before, f"{damage}: the rows changed: {table}"


def test_check_agrees_with_the_start(jobs: TwoJobs) -> None:
    for damage in DAMAGES:
        if str(damage) in IN_GATE:
            check_damage(jobs, damage)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_check_agrees_with_the_start_for_each_damage(jobs: TwoJobs) -> None:
    assert len(DAMAGES) >= 60 and set(IN_GATE) <= set(map(str, DAMAGES))
    wrong = []
    for damage in DAMAGES:
        try:
            check_damage(jobs, damage)
        except (AssertionError, OSError) as error:
            wrong.append(f"{damage}: {error}".partition("\n")[0])
            if jobs.sql.status(damage.job) == "SUSPENDED":
                jobs.resume(damage.job)
    assert not wrong, "\n".join(wrong)
