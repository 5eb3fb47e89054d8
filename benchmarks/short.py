"""The short benchmarks, which `benchmarks.compare` runs on two commits. All figures are better when they are lower.

    python -m benchmarks.short MASTER MEMORY

The process opens an engine, prints READY, and then a line of JSON for each line of its input, which is the name of a
benchmark. Most figures are processor time of the engine (Python and Spark), which other processes hardly affect.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import Final

from benchmarks.engines import Bench, bench
from benchmarks.kafka_latency import MODES, measure_latency
from benchmarks.kafka_streams import AT_LEAST_ONCE, EXACTLY_ONCE, PROJECTION, Streams
from benchmarks.lifecycle import Lives, measure
from benchmarks.overhead import WORKLOADS, Contest
from benchmarks.small_batches import IDLE_KINDS, KINDS, measure_idle, measure_kind

Figures = dict[str, float]
START: Final = "start"
"""The benchmark that a process runs before it is ready."""
_ROUNDS: Final = 5
_STATEMENTS: Final = ("CREATE", "SUSPEND", "RESUME", "SHOW JOBS, spark.sql")
_SMALL_JOBS: Final = 5
_IDLE_JOBS: Final = 20
_WARM_UP_SECONDS: Final = 20.0
_SECONDS: Final = 20.0
_FILES: Final = "medium batches"
_ROWS: Final = 500_000
_RATE: Final = 1_000
_LATENCY_SECONDS: Final = 10


def statements(engine: Bench) -> Figures:
    lives = Lives(engine)
    lives.prepare()
    measure(lives, "warm", 1, 1)
    before = engine.processor_seconds()
    medians = measure(lives, "short", _ROUNDS, 0)
    used = engine.processor_seconds() - before
    millis = {f"{name}, ms": medians[name] * 1000 for name in _STATEMENTS}
    return {"all statements of a job, processor ms": used / _ROUNDS * 1000, **millis}


def small_batches(engine: Bench) -> Figures:
    measured = {kind: measure_kind(engine, kind, _SMALL_JOBS, _WARM_UP_SECONDS, _SECONDS) for kind in KINDS}
    return {f"a batch of one row, {kind}, processor ms": each.processor for kind, each in measured.items()}


def idle_jobs(engine: Bench) -> Figures:
    return {
        f"{_IDLE_JOBS} idle jobs, {kind}, processor ms in a second": measure_idle(
            engine, kind, _IDLE_JOBS, _WARM_UP_SECONDS, _SECONDS
        )
        for kind in IDLE_KINDS
    }


def files(engine: Bench) -> Figures:
    load = next(each for each in WORKLOADS if each.name == _FILES)
    contest = Contest(engine, load)
    contest.prepare()
    contest.job()
    before = engine.processor_seconds()
    contest.job()
    used = engine.processor_seconds() - before
    return {"a million rows from files to files, processor s": used / load.rows * 1e6}


def kafka(engine: Bench) -> Figures:
    from tests.support.servers.kafka import running_kafka

    figures = {}
    with running_kafka() as broker:
        streams = Streams(engine, broker)
        source = streams.source("all_rows")
        streams.fill(source, _ROWS)
        for way in (EXACTLY_ONCE, AT_LEAST_ONCE):
            runs = [streams.drain(way, PROJECTION, source) for _ in range(2)]
            figures[f"a million rows, {way.name}, processor s"] = runs[-1].cpu / _ROWS * 1e6
        for mode in (MODES["0ms"], MODES["async"]):
            topic, sink = streams.source(f"flow{len(figures)}"), f"flowed{len(figures)}"
            with streams.flowing_job(sink, mode.job, topic):
                latency = measure_latency(streams, topic, sink, _RATE, _LATENCY_SECONDS)
            figures[f"median latency, {mode.name}, ms"] = latency.at(50)
    return figures


SHORT: Final[Mapping[str, Callable[[Bench], Figures]]] = {
    "statements": statements,
    "small-batches": small_batches,
    "idle-jobs": idle_jobs,
    "files": files,
    "kafka": kafka,
}


def _run(engine: Bench, name: str) -> Figures:
    engine.collect_garbage()
    return SHORT[name](engine)


def main(master: str, memory: str) -> None:
    began = time.perf_counter()
    with bench(master, memory) as engine:
        engine.run("SHOW JOBS")
        start = {"s": time.perf_counter() - began, "processor s": engine.processor_seconds()}
        print("READY", flush=True)
        for line in sys.stdin:
            print(json.dumps(start if line.strip() == START else _run(engine, line.strip())), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
