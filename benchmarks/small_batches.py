"""Measure the processor time of a batch with one row, for jobs between files, between topics, and with state.

Each kind of job runs a few times in parallel. Every second, the source of each job gets one row: a line of JSON in a
new file, or a message. The processor time is that of the engine (Python and Spark), divided by the batches.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from benchmarks.engines import Bench, bench
from benchmarks.reporting import figures, introduce, table, text
from benchmarks.scaling_jobs import BATCH_FIGURES, Batches, batch_figures, drop_jobs, measure_batches

_COLUMNS: Final = "id BIGINT, name STRING"
_COPY: Final = "INSERT INTO {sink} SELECT id, upper(name) AS name FROM STREAM {source}"
_DISTINCT: Final = "INSERT INTO {sink} SELECT DISTINCT id, name FROM STREAM {source}"
KINDS: Final[Mapping[str, str]] = {"files": _COPY, "state": _DISTINCT, "kafka": _COPY}
"""The body of the jobs of each kind."""
_INTERVAL: Final = 1.0
_TOPICS: Final = "kafka"


class RowFeed:
    """A thread that sends a row every second to each source. send: gets the number of the source, and the row"""

    def __init__(self, sources: int, send: Callable[[int, dict[str, object]], None]) -> None:
        self._sources = sources
        self._send = send
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="row-feed", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        for number in itertools.count():
            for source in range(self._sources):
                if self._ended.wait(_INTERVAL / self._sources):
                    return
                self._send(source, {"id": number, "name": f"name-{number % 10}"})


def measure_kind(engine: Bench, kind: str, jobs: int, warm_up: float, seconds: float) -> Batches:
    """Return the batches of jobs of a kind, which are created and dropped. warm_up: the time before, seconds"""
    with _topics(engine, jobs) if kind == _TOPICS else _files(engine, jobs) as send:
        with RowFeed(jobs, send):
            for number in range(jobs):
                body = KINDS[kind].format(sink=f"small_{number}", source=f"row_source_{number}")
                engine.run(f"CREATE JOB small_{number} OPTIONS ('snapshotIntervalMillis' = '1000') AS {body}")
            time.sleep(warm_up)
            measured = measure_batches(engine, jobs, seconds)
        drop_jobs(engine, "small", range(jobs))
        for number in range(jobs):
            engine.run(f"DROP TABLE row_source_{number}")
    return measured


@contextmanager
def _files(engine: Bench, count: int) -> Iterator[Callable[[int, dict[str, object]], None]]:
    folders = [engine.folder / f"row_source_{number}" for number in range(count)]
    for number, folder in enumerate(folders):
        folder.mkdir(exist_ok=True)
        engine.run(f"CREATE TABLE row_source_{number} ({_COLUMNS}) USING json LOCATION '{folder}'")
        engine.run(f"CREATE TABLE small_{number} ({_COLUMNS}) USING parquet")
    yield lambda source, row: _write_row(folders[source], row)


def _write_row(folder: Path, row: dict[str, object]) -> None:
    """Write a file that appears as a whole."""
    draft = folder / f".{row['id']}"
    draft.write_text(json.dumps(row), encoding="utf-8")
    draft.rename(folder / f"{row['id']}.json")


@contextmanager
def _topics(engine: Bench, count: int) -> Iterator[Callable[[int, dict[str, object]], None]]:
    from tests.support.servers.kafka import running_kafka

    with running_kafka() as broker:
        for number in range(count):
            for name in (f"row_source_{number}", f"small_{number}"):
                broker.topic(name, 1)
                engine.run(f"CREATE TABLE {name} ({_COLUMNS}) {broker.options(name, value_format='json')}")
        yield lambda source, row: broker.send_json(f"row_source_{source}", [row])


@click.command(help=__doc__)
@click.option("--kind", "kinds", multiple=True, type=click.Choice([*KINDS]), help="Only this one; may be repeated.")
@click.option("--jobs", type=click.IntRange(1), default=5, show_default=True, help="The number of jobs of each kind.")
@click.option("--warm-up", type=click.FloatRange(0), default=60, show_default=True, help="Seconds before each figure.")
@click.option("--seconds", type=click.FloatRange(1), default=30, show_default=True, help="Time of each figure.")
@click.option("--master", default="local[2]", show_default=True, help="Spark's master.")
@click.option("--memory", default="1g", show_default=True, help="Memory of Spark's driver.")
def main(kinds: tuple[str, ...], jobs: int, warm_up: float, seconds: float, master: str, memory: str) -> None:
    introduce("small batches", f"{jobs} jobs of a kind, each figure over {seconds:g} s after {warm_up:g} s, {master}")
    with bench(master, memory) as engine:
        rows = [
            (kind, *batch_figures(measure_kind(engine, kind, jobs, warm_up, seconds)))
            for kind in KINDS
            if not kinds or kind in kinds
        ]
    table((text("kind"), *figures(*BATCH_FIGURES)), rows)


if __name__ == "__main__":
    main()
