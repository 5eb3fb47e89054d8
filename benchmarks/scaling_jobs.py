"""Many jobs on one engine: how long their batches take when all are at work, and what they cost when none is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import psutil

from benchmarks.engines import Bench
from benchmarks.reporting import figure, figures, table, text

_MANY = (1, 10, 50)
_SPARK = "org.apache.spark.deploy.SparkSubmit"  # the process of the engine's Spark, beside those of the cluster
_AT_ONCE = 4  # statements, where the order does not matter


@dataclass(frozen=True)
class Batches:
    """Of all jobs together: how many they were, milliseconds of a batch."""

    jobs: int
    batches: int
    median: float
    slowest_of_twenty: float


@dataclass(frozen=True)
class Idle:
    """Percent of one core that idle jobs take: the engine's Python and its Spark, which compiles what they do first."""

    jobs: int
    when: str
    python: float
    java: float


def many(engine: Bench, seconds: float, most: int) -> Iterator[Batches]:
    """Batch times with more and more jobs at once, each of which has a new row each second."""
    engine.run("CREATE TABLE few USING `rate-micro-batch` OPTIONS ('rowsPerBatch' = '1', 'numpartitions' = '1')")
    made = 0
    for count in sorted({*(each for each in _MANY if each < most), most}):
        _at_once(range(made, count), lambda number: _make(engine, f"small_{number}", "few", 1000))
        made = count
        time.sleep(seconds / 2)
        [(began,)] = engine.run("SELECT CAST(current_timestamp() AS STRING)")
        time.sleep(seconds)
        [(batches, median, slow)] = engine.run(
            "SELECT count(*), percentile(trigger_ms, 0.5), percentile(trigger_ms, 0.95) FROM jetsql.metrics"
            f" WHERE job LIKE 'small_%' AND span = 0 AND time >= TIMESTAMP'{began}'"
        )
        yield Batches(count, int(batches), float(median), float(slow))
    _at_once(range(made), lambda number: _drop(engine, f"small_{number}"))


def idle(engine: Bench, seconds: float, jobs: int) -> Iterator[Idle]:
    """Jobs over a table of one file, which they have read when they are made; they are gone afterwards."""
    engine.run("CREATE TABLE nothing_new (value BIGINT) USING parquet")
    engine.run("INSERT INTO nothing_new VALUES (1)")
    without = _processor(seconds)
    _at_once(range(jobs), lambda number: _make(engine, f"idle_{number}", "nothing_new", 1000))
    for when, wait in (("at first", 0.0), ("later", 3 * seconds)):
        time.sleep(wait)
        taken = _processor(seconds)
        yield Idle(jobs, when, taken["python"] - without["python"], taken["java"] - without["java"])
    _at_once(range(jobs), lambda number: _drop(engine, f"idle_{number}"))


def _make(engine: Bench, name: str, source: str, millis: int) -> None:
    engine.run(f"CREATE TABLE {name} (value BIGINT) USING parquet")
    options = f"'snapshotIntervalMillis' = '{millis}'"
    engine.run(f"CREATE JOB {name} OPTIONS ({options}) AS INSERT INTO {name} SELECT value FROM STREAM {source}")


def _drop(engine: Bench, name: str) -> None:
    engine.run(f"DROP JOB {name}")
    engine.run(f"DROP TABLE {name}")


def _at_once(numbers: Iterable[int], each: Callable[[int], object]) -> None:
    with ThreadPoolExecutor(_AT_ONCE) as beside:
        list(beside.map(each, numbers))


def _processor(seconds: float) -> Mapping[str, float]:
    """Percent of a core that this process and its Spark take over so many seconds, a while from now."""
    python = psutil.Process()
    java = next(each for each in python.children(recursive=True) if _SPARK in each.cmdline())
    processes = {"python": python, "java": java}
    time.sleep(seconds)  # what was asked for just before, and compiling it, is done by then
    began = time.perf_counter()
    before = {name: _seconds(process) for name, process in processes.items()}
    time.sleep(seconds)
    taken = time.perf_counter() - began
    return {name: (_seconds(process) - before[name]) / taken * 100 for name, process in processes.items()}


def _seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def report_batches(found: Iterable[Batches]) -> None:
    columns = (text("jobs at once"), *figures("batches", "batch ms, median", "batch ms, 19 of 20 under"))
    rows = [(str(e.jobs), *(figure(value, 0) for value in (e.batches, e.median, e.slowest_of_twenty))) for e in found]
    table(columns, rows)


def report_idle(found: Iterable[Idle]) -> None:
    columns = (text("idle jobs"), text("when"), *figures("Python, % of a core", "Spark, % of a core"))
    table(columns, [(str(each.jobs), each.when, figure(each.python, 1), figure(each.java, 1)) for each in found])
