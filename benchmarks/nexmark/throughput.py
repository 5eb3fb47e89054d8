"""Compare the throughput of Nexmark's queries as jobs with PySpark written by hand.

Both read the same files, in the same batches, in one engine, with the same shuffle partitions and state store, until
all files are read (availableNow). The job has the text of benchmarks/nexmark/queries; where Spark cannot run this text
over a stream, the program by hand has the best rewrite (benchmarks/nexmark/by_hand.py). A pair is one run of each; the
order alternates. The time is the total: from the statement, or from `start()`, until everything is committed. The rows
of both are compared by number and digest, and those of the job with the same query in batch. The state is the largest
of all batches.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import click

from benchmarks.contents import Contents, contents
from benchmarks.engines import Bench, bench, confs_by_hand
from benchmarks.nexmark.by_hand import ByHand
from benchmarks.nexmark.events import Events
from benchmarks.nexmark.query import load
from benchmarks.nexmark.workload import STREAM, Workload
from benchmarks.pairs import Pair, measure_pairs
from benchmarks.reporting import Goal, figure, figures, introduce, middle, say, table, text

GOAL = Goal(least=1.0)
MEASURED = ("q0", "q4", "q7", "q9", "q11", "q17", "q18", "q20")
_FILES_IN_BATCH = 2


@dataclass(frozen=True)
class State:
    """The size of a run's state."""

    rows: int
    """The number of rows."""
    memory: int
    """The memory in bytes."""


@dataclass(frozen=True)
class Measured:
    """The result of one run."""

    seconds: float
    """The total time."""
    written: Contents
    """The written rows."""
    state: State
    """The largest state of its batches."""


class Contest:
    """The two variants of the queries over one set of events."""

    def __init__(self, bench: Bench, events: Events) -> None:
        self._bench = bench
        self._events = events
        self._files = bench.folder / "events"
        self._workload = Workload(bench.run, self._files, _FILES_IN_BATCH)
        session = bench.engine.spark.newSession()
        for key, value in confs_by_hand(bench).items():
            session.conf.set(key, value)
        # Spark's check refuses the joins below an aggregate of q4 and q9 in complete mode, which its operators can run.
        session.conf.set("spark.sql.streaming.unsupportedOperationCheck", "false")
        self._hand = ByHand(session, self._files, _FILES_IN_BATCH, bench.folder / "by-hand")

    def prepare(self) -> None:
        """Write the events, and create the views of both variants."""
        self._events.write(self._files)
        self._workload.create()
        self._hand.create_views()

    def pairs(self, name: str, warm_ups: int, count: int) -> Iterator[Pair[Measured]]:
        """Yield the measured pairs. Raises ClickException when a run wrote other rows than batch or its counterpart."""
        return measure_pairs(lambda: self.job(name), lambda: self.by_hand(name), warm_ups, count)

    def job(self, name: str) -> Measured:
        """Run a query as a job."""
        query = load(name)
        self._workload.create_sink(query)
        self._bench.collect_garbage()
        began = time.perf_counter()
        self._workload.start(query)
        self._workload.wait(query)
        seconds = time.perf_counter() - began
        difference = self._workload.compare(query)
        if difference.missing or difference.extra:
            raise click.ClickException(
                f"The job {name} differs from batch: {difference.missing} rows missing, {difference.extra} extra."
            )
        written = contents(self._bench.engine.spark.table(f"{STREAM}.{name}"))
        state = self._state(name)
        self._bench.run(f"DROP JOB {name}")
        self._workload.drop_sink(query)
        return Measured(seconds, written, state)

    def by_hand(self, name: str) -> Measured:
        """Run a query by hand."""
        self._bench.collect_garbage()
        began = time.perf_counter()
        progress = self._hand.run(name)
        seconds = time.perf_counter() - began
        written = contents(self._hand.result(name))
        self._hand.clean(name)
        return Measured(seconds, written, _largest(progress))

    def _state(self, name: str) -> State:
        [(rows, memory)] = self._bench.run(
            f"SELECT max(state_rows), max(state_bytes) FROM jetsql.metrics WHERE job = '{name}'"
        )
        return State(int(rows or 0), int(memory or 0))


def _largest(progress: list[dict[str, Any]]) -> State:
    operators = [batch["stateOperators"] for batch in progress]
    return State(
        max((sum(each["numRowsTotal"] for each in batch) for batch in operators), default=0),
        max((sum(each["memoryUsedBytes"] for each in batch) for batch in operators), default=0),
    )


def report(events: Events, measured: Mapping[str, list[Pair[Measured]]]) -> None:
    """Print the medians of each query."""
    rows = []
    for name, pairs in measured.items():
        ratio = middle(pair.ratio for pair in pairs)
        last = pairs[-1]
        rows.append(
            (
                name,
                figure(events.count / middle(pair.job.seconds for pair in pairs), 0),
                figure(events.count / middle(pair.hand.seconds for pair in pairs), 0),
                figure(ratio),
                figure(last.job.written.rows, 0),
                figure(last.job.state.rows, 0),
                figure(last.hand.state.rows, 0),
                figure(last.job.state.memory / 2**20, 1),
                figure(last.hand.state.memory / 2**20, 1),
                GOAL.describe(ratio),
            )
        )
    columns = figures(
        "job events/s", "by hand events/s", "ratio", "rows", "job state rows", "by hand state rows", "job state MiB",
        "by hand state MiB",
    )  # fmt: skip
    table((text("query"), *columns, text("goal")), rows)


@click.command(help=__doc__)
@click.option(
    "--events", "count", type=click.IntRange(1000), default=500_000, show_default=True, help="Events to read."
)
@click.option("--seed", default=1, show_default=True, help="Seed of the events.")
@click.option("--pairs", "pairs", type=click.IntRange(1), default=3, show_default=True, help="Measured pairs.")
@click.option("--warm-ups", type=click.IntRange(0), default=1, show_default=True, help="Pairs before, not measured.")
@click.option("--query", "names", multiple=True, type=click.Choice(MEASURED), help="Only this query; may be repeated.")
@click.option("--master", default="local[*]", show_default=True, help="Spark's master.")
@click.option("--memory", default="2g", show_default=True, help="Memory of Spark's driver.")
def main(count: int, seed: int, pairs: int, warm_ups: int, names: tuple[str, ...], master: str, memory: str) -> None:
    events = Events(count, seed)
    introduce(
        "nexmark: jobs compared with PySpark by hand",
        f"{count:,} events in {events.files} files, {_FILES_IN_BATCH} in a batch; parquet; state in RocksDB",
    )
    measured = {}
    with bench(master, memory, {"spark.sql.session.timeZone": "UTC"}) as engine:
        contest = Contest(engine, events)
        contest.prepare()
        for name in names or MEASURED:
            measured[name] = list(contest.pairs(name, warm_ups, pairs))
            say(f"{name}: ratios " + ", ".join(f"{pair.ratio:.2f}" for pair in measured[name]))
    say()
    report(events, measured)


if __name__ == "__main__":
    main()
