"""How jobs scale over members.

A cluster of Spark's own on this machine: a master, and members of one core each, whose executors share the machine's
cores with the engine. `rows/s` is of a job whose batches come one behind the other and keep the members busy with
arithmetic: the rows of its batches over the time that they took, once with one member and once with two. `join to use`
is from the start of `jetsql join` to the first batch that the job's next run has committed, without the delay that the
engine waits for more members; `kill to next batch` from `kill -9` of a member to the first batch of the next run.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks.engines import Bench, bench
from benchmarks.reporting import Goal, figure, figures, introduce, table, text
from tools.cluster import Cluster, cluster, wait_until

DELAY_SECONDS = 10.0  # the engine's own, for members that follow one another
TWICE = Goal(least=1.8)
_CONF = {"spark.executor.memory": "512m"}
_WORK = "aggregate(sequence(1, 2000), CAST(0 AS BIGINT), (sum, x) -> sum + (x ^ value))"
_PARTS = 8
_SETTLE_BATCHES = 3  # of a run, not counted: its code is compiled in them


@dataclass(frozen=True)
class Members:
    """What the cluster came to. one, two: rows a second by how many members there were."""

    one: float
    two: float
    join_seconds: float
    kill_seconds: float


class Busy:
    """One job that never waits for rows."""

    def __init__(self, bench: Bench, rows: int, seconds: float) -> None:
        self._bench = bench
        self._seconds = seconds
        options = f"'rowsPerBatch' = '{rows}', 'numPartitions' = '{_PARTS}'"
        bench.run(f"CREATE TABLE much USING `rate-micro-batch` OPTIONS ({options})")
        bench.run("CREATE TABLE worked (value BIGINT, work BIGINT) USING parquet")
        query = f"SELECT value, {_WORK} FROM STREAM much"
        bench.run(f"CREATE JOB busy OPTIONS ('snapshotIntervalMillis' = '1') AS INSERT INTO worked {query}")

    def rate(self) -> float:
        """Rows a second of the job's present run."""
        run, batch = self.state()
        self._bench.run(f"WAIT FOR JOB busy UNTIL BATCH {batch + _SETTLE_BATCHES}")
        _, first = self.state()
        time.sleep(self._seconds)
        [(rate,)] = self._bench.run(
            "SELECT sum(input_rows) * 1000.0D / sum(trigger_ms) FROM jetsql.metrics"
            f" WHERE job = 'busy' AND run = {run} AND batch > {first}"
        )
        return float(rate)

    def state(self) -> tuple[int, int]:
        """Its run, and its newest committed batch."""
        [(run, batch)] = self._bench.run("SELECT run, coalesce(batch, -1) FROM jetsql.jobs WHERE name = 'busy'")
        return int(run), int(batch)

    def seconds_to_next_run(self, event: Callable[[], object]) -> float:
        """From the event to the first batch that the run after this one has committed."""
        run, _ = self.state()
        began = time.perf_counter()
        event()
        committed = f"SELECT count(*) FROM jetsql.metrics WHERE job = 'busy' AND run > {run}"
        wait_until(lambda: self._bench.run(committed) != [(0,)], "the job does not start again")
        return time.perf_counter() - began


def members(spark: Cluster, engine: Bench, rows: int, seconds: float) -> Members:
    first = spark.join()
    await_members(engine, 1)
    busy = Busy(engine, rows, seconds)
    one = busy.rate()
    join_seconds = busy.seconds_to_next_run(spark.join) - DELAY_SECONDS
    two = busy.rate()
    kill_seconds = busy.seconds_to_next_run(lambda: spark.kill(first))
    engine.run("DROP JOB busy")
    return Members(one, two, join_seconds, kill_seconds)


def await_members(engine: Bench, count: int) -> None:
    there = "SELECT count(*) FROM jetsql.members WHERE status = 'ACTIVE' AND NOT is_driver"
    wait_until(lambda: engine.run(there) == [(count,)], f"there are not {count} members")


def report_members(found: Members) -> None:
    columns = (text("members"), *figures("rows/s", "times", "join to use, s", "kill to next batch, s"), text("goal"))
    times = found.two / found.one
    rows: list[tuple[object, ...]] = [
        ("1", figure(found.one, 0), None, None, None, ""),
        ("2", figure(found.two, 0), figure(times, 2), figure(found.join_seconds, 1), figure(found.kill_seconds, 1),
         TWICE.words(times)),
    ]  # fmt: skip
    table(columns, rows)


@click.command(help=__doc__)
@click.option("--seconds", type=click.FloatRange(1), default=30, show_default=True, help="Taken for each figure.")
@click.option("--rows", type=click.IntRange(1), default=20_000, show_default=True, help="In a batch of the busy job.")
@click.option("--memory", default="2g", show_default=True, help="Of Spark's driver.")
def main(seconds: float, rows: int, memory: str) -> None:
    introduce(
        "scaling: members that join and are killed",
        f"each figure over {seconds:g} s; members have one core each; batches of the busy job have {rows} rows",
    )
    with tempfile.TemporaryDirectory(prefix="jetsql-bench-") as folder, cluster(Path(folder)) as spark:
        with bench(spark.url, memory, _CONF) as engine:
            report_members(members(spark, engine, rows, seconds))


if __name__ == "__main__":
    main()
