"""Members that join and are killed: what a second one gives, and how long it takes until jobs use those there are."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import psutil

from benchmarks.engines import Bench
from benchmarks.reporting import Goal, figure, figures, middle, table, text
from tools.cluster import Cluster, wait_until

_TWICE: Final = Goal(least=1.8)
_SPLITS: Final = 2  # of a batch: one for each member that there will be, and more would only cost more
_SPLITS_OPTION: Final = "'numpartitions'"  # in Spark's own spelling it is a statistic to Hive's metastore, and dropped
_SETTLE_BATCHES: Final = 3  # of a run, not counted: its code is compiled in them
_LEAST_BATCHES: Final = 2
_WAIT_MILLIS: Final = 5  # for a row
_SMALL_BATCHES: Final = 10
_LOOP_SECONDS: Final = 2
_LOOP_ROUNDS: Final = 3  # of which the best are taken: what else the machine does is not its measure
_LOOP: Final = f"""
from time import perf_counter
turns, end = 0, perf_counter() + {_LOOP_SECONDS}
while perf_counter() < end:
    sum(range(1000)); turns += 1
print(turns)
"""


@dataclass(frozen=True)
class Load:
    """What a job does with its rows. work: an expression over the row's `value`. rows, splits: of a
    batch; a task has one of them."""

    name: str
    told: str
    work: str
    rows: int
    splits: int = _SPLITS


@dataclass(frozen=True)
class Gain:
    """Rows a second with one member and with two."""

    told: str
    one: float
    two: float


@dataclass(frozen=True)
class Members:
    """What members give, and how long changes of them take."""

    gains: tuple[Gain, ...]
    most: float
    """How much more two processes do on this machine than one."""
    batch_millis: float
    """Of a batch of one row, with two members."""
    join_seconds: float
    """Seconds from the start of a member until the engine lists it."""
    use_seconds: float
    """Seconds from the start of a member to the first batch of the run that uses it, with the engine's delay."""
    kill_seconds: float
    """Seconds from `kill -9` of a member to the first batch of the next run."""


def loads(rows: int) -> tuple[Load, ...]:
    """Arithmetic that keeps a core busy; and rows each of which waits, as for another system's answer."""
    work = "aggregate(sequence(1, 2000), CAST(0 AS BIGINT), (sum, x) -> sum + (x ^ value))"
    wait = f"length(java_method('java.lang.Thread', 'sleep', {_WAIT_MILLIS}L))"
    return (
        Load("computing", "arithmetic", work, rows),
        Load("waiting", f"waiting {_WAIT_MILLIS} ms for each row", wait, max(rows // 150, _SPLITS)),
    )


class Worker:
    """A job with such a load whose batches follow one another."""

    def __init__(self, bench: Bench, load: Load, seconds: float) -> None:
        self._bench = bench
        self._name = load.name
        self._seconds = seconds
        options = f"'rowsPerBatch' = '{load.rows}', {_SPLITS_OPTION} = '{load.splits}'"
        bench.run(f"CREATE TABLE of_{load.name} USING `rate-micro-batch` OPTIONS ({options})")
        bench.run(f"CREATE TABLE by_{load.name} (value BIGINT, work BIGINT) USING parquet")
        query = f"SELECT value, {load.work} FROM STREAM of_{load.name}"
        bench.run(
            f"CREATE JOB {load.name} OPTIONS ('snapshotIntervalMillis' = '10') AS INSERT INTO by_{load.name} {query}"
        )

    def rate(self) -> float:
        """Rows a second of the job's present run."""
        run, first = self._settle()
        time.sleep(self._seconds)
        self._bench.run(f"WAIT FOR JOB {self._name} UNTIL BATCH {first + _LEAST_BATCHES}")
        [(rate,)] = self._bench.run(
            "SELECT sum(input_rows) * 1000.0D / sum(trigger_ms) FROM jetsql.metrics"
            f" WHERE job = '{self._name}' AND span = 0 AND run = {run} AND batch > {first}"
        )
        return float(rate)

    def batch_millis(self) -> float:
        """The median of some batches of the job's present run."""
        run, first = self._settle()
        self._bench.run(f"WAIT FOR JOB {self._name} UNTIL BATCH {first + _SMALL_BATCHES}")
        return middle(
            float(millis)
            for (millis,) in self._bench.run(
                "SELECT trigger_ms FROM jetsql.metrics"
                f" WHERE job = '{self._name}' AND span = 0 AND run = {run} AND batch > {first}"
            )
        )

    def _settle(self) -> tuple[int, int]:
        """Its run and its newest batch, when it has been at work for a while."""
        _, batch = self._state()
        self._bench.run(f"WAIT FOR JOB {self._name} UNTIL BATCH {batch + _SETTLE_BATCHES}")
        return self._state()

    def suspend(self) -> None:
        self._bench.run(f"SUSPEND JOB {self._name}")

    def resume(self) -> None:
        self._bench.run(f"RESUME JOB {self._name}")

    def drop(self) -> None:
        self._bench.run(f"DROP JOB {self._name}")

    def seconds_to_next_run(self, event: Callable[[], object]) -> float:
        """From the event to the first batch that the run after this one has committed."""
        run, _ = self._state()
        began = time.perf_counter()
        event()
        committed = f"SELECT count(*) FROM jetsql.metrics WHERE job = '{self._name}' AND run > {run}"
        wait_until(lambda: self._bench.run(committed) != [(0,)], "the job does not start again")
        return time.perf_counter() - began

    def _state(self) -> tuple[int, int]:
        """Its run, and its newest committed batch."""
        [state] = self._bench.run(f"SELECT run, coalesce(batch, -1) FROM jetsql.jobs WHERE name = '{self._name}'")
        run, batch = state
        return int(run), int(batch)


def members(spark: Cluster, engine: Bench, rows: int, seconds: float) -> Members:
    """Leaves the second of the two there."""
    most = _two_at_once()
    first = join(spark)
    await_members(engine, 1)
    given = loads(rows)
    workers, ones = [], []
    for load in given:
        worker = Worker(engine, load, seconds)
        workers.append(worker)
        ones.append(worker.rate())
        worker.suspend()
    small = Worker(engine, Load("small", "", "value", rows=1, splits=1), seconds)
    join_sentences: list[float] = []

    def second() -> None:
        began = time.perf_counter()
        join(spark)
        await_members(engine, 2)
        join_sentences.append(time.perf_counter() - began)

    use_seconds = small.seconds_to_next_run(second)
    batch_millis = small.batch_millis()
    small.suspend()
    twos = []
    for worker in workers:
        worker.resume()
        twos.append(worker.rate())
        worker.suspend()
    small.resume()
    small.batch_millis()
    kill_seconds = small.seconds_to_next_run(lambda: spark.kill(first))
    for worker in (*workers, small):
        worker.drop()
    gains = tuple(Gain(load.told, one, two) for load, one, two in zip(given, ones, twos, strict=True))
    return Members(gains, most, batch_millis, join_sentences[0], use_seconds, kill_seconds)


def _two_at_once() -> float:
    """How often the work of one process two of them do at once here: no second member can give more than that."""
    rounds = [(_turns(1), _turns(2)) for _ in range(_LOOP_ROUNDS)]
    return max(two for _, two in rounds) / max(one for one, _ in rounds)


def _turns(processes: int) -> int:
    command = [sys.executable, "-c", _LOOP]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    return sum(int(each.communicate()[0]) for each in started)


def join(spark: Cluster) -> psutil.Popen:
    """A member that has a core of its own, which is what one of one core has on a machine of its own."""
    member = spark.join()
    if hasattr(member, "cpu_affinity"):
        all_cores = psutil.Process().cpu_affinity()
        taken = {core for other in spark.members if other is not member for core in other.cpu_affinity()}
        member.cpu_affinity(([core for core in all_cores if core not in taken] or all_cores)[:1])
    return member


def await_members(engine: Bench, count: int) -> None:
    there = "SELECT count(*) FROM jetsql.members WHERE status = 'ACTIVE' AND NOT is_driver"
    wait_until(lambda: engine.run(there) == [(count,)], f"there are not {count} members")


def report_members(found: Members) -> None:
    columns = (text("what the job does"), *figures("rows/s, 1 member", "2 members", "times"), text("goal"))
    table(columns, map(_gain, found.gains))
    names = (
        "2 processes do, times",
        "ms of a batch of 1 row",
        "join to member, s",
        "join to use, s",
        "kill to next, s",
    )
    seconds = (found.join_seconds, found.use_seconds, found.kill_seconds)
    table(figures(*names), [(figure(found.most, 2), figure(found.batch_millis, 0), *(figure(e, 1) for e in seconds))])


def _gain(gain: Gain) -> Sequence[object]:
    times = gain.two / gain.one
    return gain.told, figure(gain.one, 0), figure(gain.two, 0), figure(times, 2), _TWICE.words(times)
