"""Many jobs on one engine: the time of their batches when all are busy, and their cost when all are idle."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from benchmarks.engines import Bench
from benchmarks.processes import processor_seconds
from benchmarks.reporting import figure, figures, table, text

_MANY = (1, 10, 50)
_PARALLEL = 4  # statements whose order does not matter


@dataclass(frozen=True)
class Batches:
    """The batches of all busy jobs."""

    jobs: int
    """The number of jobs."""
    batches: int
    """The number of batches."""
    median: float
    """The median of the batch times, milliseconds."""
    percentile_95: float
    """The 95th percentile of the batch times, milliseconds."""
    processor: float
    """The processor time of the engine in the measured time, divided by the batches, milliseconds."""


@dataclass(frozen=True)
class Idle:
    """The processor time of idle jobs."""

    jobs: int
    """The number of jobs."""
    when: str
    """The time of the measurement: at first, while the JVM compiles their code, or later."""
    python: float
    """The share of the engine's Python process, percent of a core."""
    java: float
    """The share of the engine's Spark process, percent of a core."""


def many(engine: Bench, seconds: float, most: int) -> Iterator[Batches]:
    """Yield the batch times for increasing numbers of parallel jobs, each of which has a new row every second."""
    first = 0
    for count in sorted({*(each for each in _MANY if each < most), most}):
        create_small_jobs(engine, range(first, count))
        first = count
        time.sleep(seconds / 2)
        yield measure_batches(engine, count, seconds)
    drop_jobs(engine, "small", range(first))


def create_small_jobs(engine: Bench, numbers: range) -> None:
    """Create jobs each of which has a new row every second."""
    engine.run(
        "CREATE TABLE IF NOT EXISTS few USING `rate-micro-batch` OPTIONS ('rowsPerBatch' = '1', 'numpartitions' = '1')"
    )
    _run_parallel(numbers, lambda number: _make(engine, f"small_{number}", "few", 1000))


def measure_batches(engine: Bench, jobs: int, seconds: float) -> Batches:
    """Return the batch times of small jobs in the next seconds. jobs: their number"""
    [(began,)] = engine.run("SELECT CAST(current_timestamp() AS STRING)")
    before = engine.processor_seconds()
    time.sleep(seconds)
    used = engine.processor_seconds() - before
    [(batches, median, slow)] = engine.run(
        "SELECT count(*), percentile(trigger_ms, 0.5), percentile(trigger_ms, 0.95) FROM jetsql.metrics"
        f" WHERE job LIKE 'small_%' AND span = 0 AND time >= TIMESTAMP'{began}'"
    )
    return Batches(jobs, int(batches), float(median), float(slow), used / int(batches) * 1000)


def idle(engine: Bench, seconds: float, jobs: int) -> Iterator[Idle]:
    """Yield the processor time of jobs over a table of one file, which they read at their start. Drop them later."""
    without = _processor(engine, seconds)
    create_idle_jobs(engine, range(jobs))
    for when, wait in (("at first", 0.0), ("later", 3 * seconds)):
        time.sleep(wait)
        percent = _processor(engine, seconds)
        yield Idle(jobs, when, percent["python"] - without["python"], percent["java"] - without["java"])
    drop_jobs(engine, "idle", range(jobs))


def create_idle_jobs(engine: Bench, numbers: range) -> None:
    """Create jobs that check every second for new files in a table that gets none."""
    engine.run("CREATE TABLE IF NOT EXISTS nothing_new (value BIGINT) USING parquet")
    engine.run("INSERT INTO nothing_new VALUES (1)")
    _run_parallel(numbers, lambda number: _make(engine, f"idle_{number}", "nothing_new", 1000))


def drop_jobs(engine: Bench, kind: str, numbers: range) -> None:
    """Drop jobs and their tables. kind: 'small' or 'idle'"""
    _run_parallel(numbers, lambda number: _drop(engine, f"{kind}_{number}"))


def _make(engine: Bench, name: str, source: str, millis: int) -> None:
    engine.run(f"CREATE TABLE {name} (value BIGINT) USING parquet")
    options = f"'snapshotIntervalMillis' = '{millis}'"
    engine.run(f"CREATE JOB {name} OPTIONS ({options}) AS INSERT INTO {name} SELECT value FROM STREAM {source}")


def _drop(engine: Bench, name: str) -> None:
    engine.run(f"DROP JOB {name}")
    engine.run(f"DROP TABLE {name}")


def _run_parallel(numbers: Iterable[int], each: Callable[[int], object]) -> None:
    with ThreadPoolExecutor(_PARALLEL) as pool:
        list(pool.map(each, numbers))


def _processor(engine: Bench, seconds: float) -> Mapping[str, float]:
    """Return the percentages of a core that the processes of the engine use.

    seconds: the time of the measurement, and the wait before it.
    """
    processes = engine.processes
    time.sleep(seconds)  # until the previous statements and the compilation of their code have ended
    began = time.perf_counter()
    before = {name: processor_seconds(process) for name, process in processes.items()}
    time.sleep(seconds)
    elapsed = time.perf_counter() - began
    return {name: (processor_seconds(process) - before[name]) / elapsed * 100 for name, process in processes.items()}


BATCH_FIGURES: Final = ("batches", "batch ms, median", "batch ms, 95th percentile", "processor ms/batch")
"""The names of the figures of `batch_figures`."""


def batch_figures(measured: Batches) -> list[Decimal]:
    values = (measured.batches, measured.median, measured.percentile_95, measured.processor)
    return [figure(value, 0) for value in values]


def report_batches(measured: Iterable[Batches]) -> None:
    columns = (text("parallel jobs"), *figures(*BATCH_FIGURES))
    table(columns, [(str(each.jobs), *batch_figures(each)) for each in measured])


def report_idle(measured: Iterable[Idle]) -> None:
    columns = (text("idle jobs"), text("when"), *figures("Python, % of a core", "Spark, % of a core"))
    table(columns, [(str(each.jobs), each.when, figure(each.python, 1), figure(each.java, 1)) for each in measured])
