"""Random statements from several threads on real Spark jobs: every row arrives once.

There are two lasting jobs, one that copies rows and one with an aggregate; a third is dropped and created again.
Meanwhile the source grows, new versions fail, and queries are stopped without JetSQL.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from jetsql.check.check_home import check
from jetsql.engine.runs.spark_runtime import SparkRuntime
from jetsql.jobs.model.job import Snapshot
from jetsql.jobs.store.job_store import Store
from tests.conftest import Sql
from tests.faults.source import ROWS_A_FILE, Source
from tests.support.random_statements import STATEMENTS, faults, run_scripts

pytestmark = pytest.mark.spark

THREADS: Final = 3
STATEMENTS_A_THREAD: Final = 8
SECONDS: Final = 240.0
FAST: Final = "'snapshotIntervalMillis' = '50'"
GROW, KILL = "GROW", "KILL"

_WINDOWS = """SELECT window.start, count(*), sum(id) FROM STREAM numbers WATERMARK at DELAY OF INTERVAL 0 SECONDS
  GROUP BY window(at, '3 minutes')"""
BODIES: Final = {
    "copied": "INSERT INTO {table} SELECT id FROM STREAM numbers{where}",
    "windows": f"INSERT INTO {{table}} {_WINDOWS}",
    "gone": "INSERT INTO {table} SELECT id, {life} FROM STREAM numbers{where}",
}
COLUMNS: Final = {
    "copied": "id BIGINT",
    "windows": "start TIMESTAMP, n BIGINT, total BIGINT",
    "gone": "id BIGINT, life INT",
}
STANDING: Final = ("copied", "windows")
READ: Final = {"copied": "id", "windows": "unix_timestamp(start) DIV 180 % 480, n, total", "gone": "id, life"}
MORE: Final = (
    "DROP SNAPSHOT IF EXISTS {job}_kept",
    "ALTER JOB {job} OPTIONS ('restartAttempts' = '6') RESUME",
    "CREATE OR REPLACE JOB {job} OPTIONS ({options}) AS {fails}",
    "CREATE JOB IF NOT EXISTS {job} OPTIONS ('initialSnapshotName' = '{job}_kept') AS {body}",
    f"{GROW} {{job}}",
    f"{GROW} {{job}}",
    f"{KILL} {{job}}",
)


@dataclass
class RandomStatements:
    """One run of it. lives: numbers for what the third job writes, no two statements have the same."""

    sql: Sql
    source: Source
    random: Random
    lives: Iterator[int] = field(default_factory=lambda: count(1))
    growing: threading.Lock = field(default_factory=threading.Lock)

    def scripts(self) -> list[list[str]]:
        return [[self.text() for _ in range(STATEMENTS_A_THREAD)] for _ in range(THREADS)]

    def text(self) -> str:
        job = self.random.choice(list(BODIES))
        texts = [text for text in (*STATEMENTS, *MORE) if job not in STANDING or not text.startswith("DROP JOB")]
        interval, partitions = self.random.choice((40, 50, 60)), self.random.choice((2, 2, 3))
        return self.random.choice(texts).format(
            job=job,
            body=self.body(job),
            fails=self.body(job, where=" WHERE id DIV 0 = 0"),
            options=f"'snapshotIntervalMillis' = '{interval}', 'spark.sql.shuffle.partitions' = '{partitions}'",
        )

    def body(self, job: str, table: str = "", where: str = "") -> str:
        return BODIES[job].format(table=table or job, life=next(self.lives), where=where)

    def run(self, text: str) -> Sequence[Sequence[object]]:
        """Run a statement, or another event of the test."""
        if text.startswith(GROW):
            self.grow()
        elif text.startswith(KILL):
            self.kill(text.removeprefix(KILL).strip())
        else:
            return self.sql(text)
        return ()

    def grow(self) -> None:
        with self.growing:
            self.source.add(1)

    def kill(self, job: str) -> None:
        """Stop the query that a job has at this moment, as another program in the session could."""
        live = {row[0] for row in self.sql(f"SHOW JOBS LIKE '{job}'")}
        for run, running in list(spark_runtime(self.sql)._runs._runs.items()):
            query = getattr(running, "_query", None)
            if run.job in live and query is not None:
                with suppress(AttributeError):  # it was ending anyway
                    query.stop()


def spark_runtime(sql: Sql) -> SparkRuntime:
    engine = sql.engine._manager.runtime
    assert isinstance(engine, SparkRuntime)
    return engine


def active_queries(sql: Sql) -> int:
    return int(sql.engine.spark._jsparkSession.sharedState().activeStreamingQueries().size())


def problems(home: Path) -> set[Any]:
    return {finding for finding in check(home).findings if finding.severity.is_problem}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_random_statements_keep_rows_exactly_once(sql: Sql, numbers: Source, seed: int) -> None:
    store, before = sql.engine._manager.store, problems(sql.engine.home)
    for job, columns in COLUMNS.items():
        sql(f"CREATE TABLE {job} ({columns}) USING parquet")
    it = RandomStatements(sql, numbers, Random(seed))
    for job in BODIES:
        sql(f"CREATE JOB {job} OPTIONS ({FAST}) AS {it.body(job)}")

    reports = run_scripts(it.run, store, it.scripts(), SECONDS)

    assert sql.engine._manager.workers.wait_all(SECONDS)
    it.grow()
    sql("DROP JOB IF EXISTS gone")
    last = next(it.lives)
    sql(f"CREATE JOB gone OPTIONS ({FAST}) AS INSERT INTO gone SELECT id, {last} FROM STREAM numbers")
    for job in STANDING:
        sql(f"RESUME JOB {job}")
    settle(sql, BODIES)
    assert rows(sql, "copied") == once((i,) for i in numbers.ids())
    assert rows(sql, "windows") == once(closed(numbers))
    assert_lives(rows(sql, "gone"), numbers, last)
    assert faults(store, reports) == []
    assert active_queries(sql) == len(BODIES) == len(spark_runtime(sql)._runs._runs)

    started = [start_from(it, snapshot) for snapshot in ours(store)]
    it.grow()
    settle(sql, [*started, *BODIES])
    for snapshot in ours(store):
        assert_goes_on_from(sql, numbers, snapshot)
    assert problems(sql.engine.home) <= before

    for job in (*started, *BODIES):
        sql(f"DROP JOB {job}")
    for snapshot in ours(store):
        sql(f"DROP SNAPSHOT {snapshot.name}")
    assert (active_queries(sql), len(spark_runtime(sql)._runs._runs)) == (0, 0)
    assert problems(sql.engine.home) <= before


def settle(sql: Sql, jobs: Sequence[str] | dict[str, str]) -> None:
    for job in jobs:
        sql(f"WAIT FOR JOB {job} UNTIL IDLE TIMEOUT 60")


def once(expected: Iterator[tuple[int, ...]]) -> Counter[tuple[int, ...]]:
    return Counter(expected)


def rows(sql: Sql, job: str, table: str = "", where: str = "true") -> Counter[tuple[int, ...]]:
    table = table or job
    sql(f"REFRESH TABLE {table}")
    return Counter(tuple(row) for row in sql(f"SELECT {READ[job]} FROM {table} WHERE {where}"))


def closed(source: Source) -> Iterator[tuple[int, int, int]]:
    """Yield (number, rows, sum of ids) of each window of three minutes that a later minute has closed."""
    for window in range((source.minutes - 1) // 3):
        ids = range(window * 3 * ROWS_A_FILE, (window + 1) * 3 * ROWS_A_FILE)
        yield window, len(ids), sum(ids)


def assert_lives(found: Counter[tuple[int, ...]], source: Source, last: int) -> None:
    """Check that the last life has all rows, and that earlier ones have whole files, none of them twice."""
    assert set(found.values()) == {1}
    assert sorted(i for i, life in found if life == last) == list(source.ids())
    files = Counter((i // ROWS_A_FILE, life) for i, life in found)
    assert set(files.values()) == {ROWS_A_FILE}


def ours(store: Store) -> list[Snapshot]:
    return [snapshot for snapshot in store.snapshots() if snapshot.job_name in BODIES]


def start_from(it: RandomStatements, snapshot: Snapshot) -> str:
    """Start a job from a snapshot, into a table of its own."""
    job, name = snapshot.job_name, f"from_{snapshot.name}"
    it.sql(f"CREATE TABLE {name} ({COLUMNS[job]}) USING parquet")
    options = f"'initialSnapshotName' = '{snapshot.name}', {FAST}"
    it.sql(f"CREATE JOB {name} OPTIONS ({options}) AS {it.body(job, name)}")
    return name


def assert_goes_on_from(sql: Sql, source: Source, snapshot: Snapshot) -> None:
    """Check that the job from the snapshot has also written the rows of the batches after it."""
    job = snapshot.job_name
    found = rows(sql, job, f"from_{snapshot.name}")
    if job == "gone":
        ids = sorted(i for i, _ in found)
        assert ids and ids == list(source.ids())[-len(ids) :]
        assert len(ids) % ROWS_A_FILE == 0
    else:
        batch = f"CAST(regexp_extract(_metadata.file_name, '-(\\\\d{{9}})-', 1) AS INT) > {snapshot.batch}"
        assert found == rows(sql, job, where=batch)
        assert found or job == "windows"
