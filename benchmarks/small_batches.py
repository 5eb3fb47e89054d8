"""Measure the processor time of a batch with one row, for jobs between files, between topics, and with state.

Each kind of job runs a few times in parallel. Every second, the source of each job gets one row: a line of JSON in a
new file, or a message. The processor time is that of the engine (Python and Spark), divided by the batches.

With `--idle`, the sources get no rows, and the processor time is that of a second.
"""

from __future__ import annotations

import itertools
import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from benchmarks.engines import Bench, bench
from benchmarks.reporting import figure, figures, introduce, table, text
from benchmarks.scaling_jobs import BATCH_FIGURES, Batches, batch_figures, drop_jobs, measure_batches

_COLUMNS: Final = "id BIGINT, name STRING"
_COUNTS: Final = "name STRING, n BIGINT"
_COPY: Final = "INSERT INTO {sink} SELECT id, upper(name) AS name FROM STREAM {source}"
_DISTINCT: Final = "INSERT INTO {sink} SELECT DISTINCT id, name FROM STREAM {source}"
_COUNT: Final = "INSERT OVERWRITE {sink} SELECT name, count(*) AS n FROM STREAM {source} GROUP BY name"


@dataclass(frozen=True)
class Kind:
    """A kind of job."""

    body: str
    """The query, with the places of the tables."""
    sink_columns: str = _COLUMNS
    """The columns of the table that is written."""
    reads_topic: bool = False
    """True if the source is a topic. Otherwise it is a folder."""
    writes_topic: bool = False
    """True if the sink is a topic. Otherwise it is a table of Parquet files."""


KINDS: Final[Mapping[str, Kind]] = {
    "files": Kind(_COPY),
    "state": Kind(_DISTINCT),
    "kafka": Kind(_COPY, reads_topic=True, writes_topic=True),
    "aggregate": Kind(_COUNT, _COUNTS, reads_topic=True),
}
"""The kinds of jobs by name."""
IDLE_KINDS: Final = ("files", "kafka")
"""The kinds whose jobs are also measured without rows."""
_INTERVAL: Final = 1.0


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
    with _sources(engine, KINDS[kind], jobs) as send, RowFeed(jobs, send), _jobs(engine, KINDS[kind], jobs):
        time.sleep(warm_up)
        return measure_batches(engine, jobs, seconds)


def measure_idle(engine: Bench, kind: str, jobs: int, warm_up: float, seconds: float) -> float:
    """Return the processor time that jobs of a kind without rows use in a second, milliseconds.

    The jobs check their sources every second. They are created and dropped. warm_up: the time before, seconds
    """
    with _sources(engine, KINDS[kind], jobs), _jobs(engine, KINDS[kind], jobs):
        time.sleep(warm_up)
        before = engine.processor_seconds()
        time.sleep(seconds)
        return (engine.processor_seconds() - before) / seconds * 1000


@contextmanager
def _jobs(engine: Bench, kind: Kind, count: int) -> Iterator[None]:
    """Run jobs of a kind, and drop them with their sinks afterwards."""
    for number in range(count):
        body = kind.body.format(sink=f"small_{number}", source=f"row_source_{number}")
        engine.run(f"CREATE JOB small_{number} OPTIONS ('snapshotIntervalMillis' = '1000') AS {body}")
    yield
    drop_jobs(engine, "small", range(count))


@contextmanager
def _sources(engine: Bench, kind: Kind, count: int) -> Iterator[Callable[[int, dict[str, object]], None]]:
    """Create sources and sinks of a kind, and return the function that sends a row to a source. Drop the sources."""
    with _topics(engine, kind, count) if kind.reads_topic else _folders(engine, kind, count) as send:
        yield send
        for number in range(count):
            engine.run(f"DROP TABLE row_source_{number}")


@contextmanager
def _folders(engine: Bench, kind: Kind, count: int) -> Iterator[Callable[[int, dict[str, object]], None]]:
    folders = [engine.folder / f"row_source_{number}" for number in range(count)]
    for number, folder in enumerate(folders):
        shutil.rmtree(folder, ignore_errors=True)  # with the rows of another kind
        folder.mkdir()
        engine.run(f"CREATE TABLE row_source_{number} ({_COLUMNS}) USING json LOCATION '{folder}'")
        engine.run(f"CREATE TABLE small_{number} ({kind.sink_columns}) USING parquet")
    yield lambda source, row: _write_row(folders[source], row)


def _write_row(folder: Path, row: dict[str, object]) -> None:
    """Write a file that appears as a whole."""
    draft = folder / f".{row['id']}"
    draft.write_text(json.dumps(row), encoding="utf-8")
    draft.rename(folder / f"{row['id']}.json")


@contextmanager
def _topics(engine: Bench, kind: Kind, count: int) -> Iterator[Callable[[int, dict[str, object]], None]]:
    from tests.support.servers.kafka import running_kafka

    with running_kafka() as broker:
        for number in range(count):
            source, sink = f"row_source_{number}", f"small_{number}"
            for name in (source, sink) if kind.writes_topic else (source,):
                broker.topic(name, 1)
                engine.run(f"CREATE TABLE {name} ({_COLUMNS}) {broker.options(name, value_format='json')}")
            if not kind.writes_topic:
                engine.run(f"CREATE TABLE {sink} ({kind.sink_columns}) USING parquet")
        yield lambda source, row: broker.send_json(f"row_source_{source}", [row])


@click.command(help=__doc__)
@click.option("--kind", "kinds", multiple=True, type=click.Choice([*KINDS]), help="Only this one; may be repeated.")
@click.option("--jobs", type=click.IntRange(1), default=5, show_default=True, help="The number of jobs of each kind.")
@click.option("--idle", is_flag=True, help="Measure jobs without rows.")
@click.option("--warm-up", type=click.FloatRange(0), default=60, show_default=True, help="Seconds before each figure.")
@click.option("--seconds", type=click.FloatRange(1), default=30, show_default=True, help="Time of each figure.")
@click.option("--master", default="local[2]", show_default=True, help="Spark's master.")
@click.option("--memory", default="1g", show_default=True, help="Memory of Spark's driver.")
def main(
    kinds: tuple[str, ...], jobs: int, idle: bool, warm_up: float, seconds: float, master: str, memory: str
) -> None:
    what = "idle jobs" if idle else "small batches"
    introduce(what, f"{jobs} jobs of a kind, each figure over {seconds:g} s after {warm_up:g} s, {master}")
    with bench(master, memory) as engine:
        if idle:
            chosen = kinds or IDLE_KINDS
            used = [(kind, figure(measure_idle(engine, kind, jobs, warm_up, seconds), 0)) for kind in chosen]
            table((text("kind"), *figures("processor ms in a second")), used)
            return
        rows = [(kind, *batch_figures(measure_kind(engine, kind, jobs, warm_up, seconds))) for kind in kinds or KINDS]
    table((text("kind"), *figures(*BATCH_FIGURES)), rows)


if __name__ == "__main__":
    main()
