"""Members that join and are killed: the speedup of a second member, and the time until jobs use the change."""

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
_SPLITS: Final = 2  # partitions of a batch, one for each member
_SPLITS_OPTION: Final = "'numpartitions'"  # Hive's metastore drops Spark's spelling, which it takes for a statistic
_SETTLE_BATCHES: Final = 3  # the first batches of a run, in which its code is compiled, are not measured
_MIN_BATCHES: Final = 2
_WAIT_MILLIS: Final = 5  # for a row
_SMALL_BATCHES: Final = 10
_LOOP_SECONDS: Final = 2
_LOOP_ROUNDS: Final = 3  # the best rounds are used, because other load only slows them down
_LOOP: Final = f"""
from time import perf_counter
turns, end = 0, perf_counter() + {_LOOP_SECONDS}
while perf_counter() < end:
    sum(range(1000)); turns += 1
print(turns)
"""


@dataclass(frozen=True)
class Load:
    """The work of a job."""

    name: str
    """The name of the job."""
    title: str
    """The description in the table."""
    work: str
    """An expression over the row's `value`."""
    rows: int
    """The row count of a batch."""
    splits: int = _SPLITS
    """The number of partitions of a batch, each of which is a task."""


@dataclass(frozen=True)
class Gain:
    """The rows per second of one load with one member and with two."""

    title: str
    """The description in the table."""
    one: float
    """Rows per second with one member."""
    two: float
    """Rows per second with two members."""


@dataclass(frozen=True)
class Members:
    """The speedup by members, and the time that changes of them take."""

    gains: tuple[Gain, ...]
    """The result of each load."""
    max_speedup: float
    """The speedup of two plain processes on this machine compared with one."""
    batch_millis: float
    """The median time of a batch of one row, with two members."""
    join_seconds: float
    """The seconds from the start of a member until the engine lists it."""
    use_seconds: float
    """The seconds from the start of a member to the first batch of the run that uses it, with the engine's delay."""
    kill_seconds: float
    """The seconds from `kill -9` of a member to the first batch of the next run."""


def loads(rows: int) -> tuple[Load, ...]:
    """Return two loads: arithmetic that keeps a core busy, and rows that wait, as for another system."""
    work = "aggregate(sequence(1, 2000), CAST(0 AS BIGINT), (sum, x) -> sum + (x ^ value))"
    wait = f"length(java_method('java.lang.Thread', 'sleep', {_WAIT_MILLIS}L))"
    return (
        Load("computing", "arithmetic", work, rows),
        Load("waiting", f"waiting {_WAIT_MILLIS} ms for each row", wait, max(rows // 150, _SPLITS)),
    )


class Worker:
    """A job that runs a load in continuous batches."""

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
        """Return the rows per second of the job's current run."""
        run, first = self._settle()
        time.sleep(self._seconds)
        self._bench.run(f"WAIT FOR JOB {self._name} UNTIL BATCH {first + _MIN_BATCHES}")
        [(rate,)] = self._bench.run(
            "SELECT sum(input_rows) * 1000.0D / sum(trigger_ms) FROM jetsql.metrics"
            f" WHERE job = '{self._name}' AND span = 0 AND run = {run} AND batch > {first}"
        )
        return float(rate)

    def batch_millis(self) -> float:
        """Return the median time of some batches of the job's current run."""
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
        """Wait for some batches, and return the run and its newest batch."""
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
        """Return the seconds from an event to the first committed batch of the next run."""
        run, _ = self._state()
        began = time.perf_counter()
        event()
        committed = f"SELECT count(*) FROM jetsql.metrics WHERE job = '{self._name}' AND run > {run}"
        wait_until(lambda: self._bench.run(committed) != [(0,)], "the job does not start again")
        return time.perf_counter() - began

    def _state(self) -> tuple[int, int]:
        """Return the job's run and its newest committed batch."""
        [state] = self._bench.run(f"SELECT run, coalesce(batch, -1) FROM jetsql.jobs WHERE name = '{self._name}'")
        run, batch = state
        return int(run), int(batch)


def members(spark: Cluster, engine: Bench, rows: int, seconds: float) -> Members:
    """Run the measurements. The second member still runs afterwards."""
    max_speedup = _measure_two_processes()
    first = join(spark)
    await_members(engine, 1)
    measured_loads = loads(rows)
    workers, ones = [], []
    for load in measured_loads:
        worker = Worker(engine, load, seconds)
        workers.append(worker)
        ones.append(worker.rate())
        worker.suspend()
    small = Worker(engine, Load("small", "", "value", rows=1, splits=1), seconds)
    join_seconds: list[float] = []

    def join_second() -> None:
        began = time.perf_counter()
        join(spark)
        await_members(engine, 2)
        join_seconds.append(time.perf_counter() - began)

    use_seconds = small.seconds_to_next_run(join_second)
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
    gains = tuple(Gain(load.title, one, two) for load, one, two in zip(measured_loads, ones, twos, strict=True))
    return Members(gains, max_speedup, batch_millis, join_seconds[0], use_seconds, kill_seconds)


def _measure_two_processes() -> float:
    """Return the speedup of two parallel processes compared with one, the upper limit for a second member."""
    rounds = [(_turns(1), _turns(2)) for _ in range(_LOOP_ROUNDS)]
    return max(two for _, two in rounds) / max(one for one, _ in rounds)


def _turns(processes: int) -> int:
    command = [sys.executable, "-c", _LOOP]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    return sum(int(each.communicate()[0]) for each in started)


def join(spark: Cluster) -> psutil.Popen:
    """Start a member and bind it to a core that no other member uses, if the system supports that."""
    member = spark.join()
    if hasattr(member, "cpu_affinity"):
        all_cores = psutil.Process().cpu_affinity()
        taken = {core for other in spark.members if other is not member for core in other.cpu_affinity()}
        member.cpu_affinity(([core for core in all_cores if core not in taken] or all_cores)[:1])
    return member


def await_members(engine: Bench, count: int) -> None:
    count_members = "SELECT count(*) FROM jetsql.members WHERE status = 'ACTIVE' AND NOT is_driver"
    wait_until(lambda: engine.run(count_members) == [(count,)], f"there are not {count} members")


def report_members(measured: Members) -> None:
    columns = (text("load"), *figures("rows/s, 1 member", "2 members", "speedup"), text("goal"))
    table(columns, map(_gain_line, measured.gains))
    names = (
        "speedup of 2 processes",
        "ms of a batch of 1 row",
        "join to member, s",
        "join to use, s",
        "kill to next, s",
    )
    seconds = (measured.join_seconds, measured.use_seconds, measured.kill_seconds)
    first = (figure(measured.max_speedup, 2), figure(measured.batch_millis, 0))
    table(figures(*names), [(*first, *(figure(each, 1) for each in seconds))])


def _gain_line(gain: Gain) -> Sequence[object]:
    speedup = gain.two / gain.one
    return gain.title, figure(gain.one, 0), figure(gain.two, 0), figure(speedup, 2), _TWICE.describe(speedup)
