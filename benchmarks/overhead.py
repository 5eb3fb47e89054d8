"""Compare a job with the same query written by hand with `writeStream` to Spark's own file sink.

Both run in one JVM over the same files with the same batch limits, shuffle partitions and state store, until all files
are read (availableNow), each to an empty table or folder. The time is the total: from the statement, or from `start()`,
until everything is committed. A workload takes some ten seconds, so that the start has little weight, as in a job that
runs for days. A pair is one run of each; the order alternates, so that neither always finds the warmer machine. After
the measurement, the rows of both are compared by number and digest; the benchmark fails when they differ.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from typing import Any

import click

from benchmarks.contents import Contents, contents
from benchmarks.engines import Bench, bench, confs_by_hand
from benchmarks.pairs import Pair, measure_pairs
from benchmarks.reporting import Goal, figure, figures, introduce, middle, say, table, text

GOAL = Goal(least=0.98)
EVENT = "id BIGINT, at TIMESTAMP, carrier STRING, origin STRING, delay INT, distance DOUBLE, note STRING"
ROWS = """
SELECT id, timestamp_seconds(1700000000 + id DIV 100) AS at, concat('C', id % 16) AS carrier,
  element_at(array('JFK', 'LGA', 'EWR'), CAST(id % 3 + 1 AS INT)) AS origin, CAST(id * 7919 % 240 - 30 AS INT) AS delay,
  CAST(id * 104729 % 5000 AS DOUBLE) / 3 AS distance, sha1(CAST(id AS STRING)) AS note
FROM range({first}, {last}, 1, {files})
"""


@dataclass(frozen=True)
class Workload:
    """A query over generated files."""

    name: str
    """The name in the output."""
    files: int
    """The number of files."""
    rows_in_file: int
    """The row count of each file."""
    files_in_batch: int
    """The number of files in each batch."""
    query: str
    """The SELECT statement, with the placeholder `source`."""
    sink: str
    """The columns of the sink."""
    watermark: str = ""
    """The delay of the watermark on `at`; empty for none."""

    @property
    def rows(self) -> int:
        return self.files * self.rows_in_file

    @property
    def batches(self) -> int:
        return -(-self.files // self.files_in_batch)


PROJECTION = """
SELECT id, at, upper(carrier) AS carrier, origin, delay, round(distance * 1.609344, 1) AS km, note
FROM {source} WHERE delay > 0
"""
PROJECTED = "id BIGINT, at TIMESTAMP, carrier STRING, origin STRING, delay INT, km DOUBLE, note STRING"
WORKLOADS = (
    Workload("large batches", 16, 1_000_000, 2, PROJECTION, PROJECTED),
    Workload("medium batches", 64, 100_000, 2, PROJECTION, PROJECTED),
    Workload("small batches", 60, 1_000, 1, PROJECTION, PROJECTED),
    Workload(
        "windowed aggregate",
        40,
        250_000,
        2,
        "SELECT window.start AS start, carrier, count(*) AS n, avg(delay) AS delay\n"
        "FROM {source} GROUP BY window(at, '1 minute'), carrier",
        "start TIMESTAMP, carrier STRING, n BIGINT, delay DOUBLE",
        "10 minutes",
    ),
)
_NAMES = [load.name for load in WORKLOADS]


@dataclass(frozen=True)
class Measured:
    """The result of one run."""

    seconds: float
    """The total time."""
    written: Contents
    """The written rows."""


class Contest:
    """The two variants of one workload."""

    def __init__(self, bench: Bench, workload: Workload) -> None:
        self._bench = bench
        self._workload = workload
        self._name = workload.name.replace(" ", "_")
        self._source = bench.folder / self._name / "source"
        self._hand = bench.engine.spark.newSession()
        for key, value in confs_by_hand(bench).items():
            self._hand.conf.set(key, value)

    def prepare(self) -> None:
        """Write the source's files and create a table over them for the job."""
        load = self._workload
        query = ROWS.format(first=0, last=load.rows, files=load.files)
        self._bench.engine.spark.sql(query).write.parquet(str(self._source))
        self._bench.run(f"CREATE TABLE source_{self._name} ({EVENT}) USING parquet LOCATION '{self._source}'")

    def job(self) -> Measured:
        """Run the workload as a job."""
        load, run = self._workload, self._bench.run
        source = f"STREAM source_{self._name} WITH ('maxFilesPerTrigger' = '{load.files_in_batch}')"
        if load.watermark:
            source += f" WATERMARK at DELAY OF INTERVAL {load.watermark}"
        run(f"CREATE TABLE sink_{self._name} ({load.sink}) USING parquet")
        self._bench.collect_garbage()
        began = time.perf_counter()
        run(
            f"CREATE JOB {self._name} OPTIONS ('trigger' = 'availableNow', 'processingGuarantee' = 'exactlyOnce')\n"
            f"AS INSERT INTO sink_{self._name} {load.query.format(source=source)}"
        )
        run(f"WAIT FOR JOB {self._name} UNTIL COMPLETED")
        seconds = time.perf_counter() - began
        written = contents(self._bench.engine.spark.table(f"sink_{self._name}"))
        run(f"DROP TABLE sink_{self._name}")
        return Measured(seconds, written)

    def hand(self) -> Measured:
        """Run the workload by hand."""
        folder = self._bench.folder / self._name
        sink, checkpoint = folder / "by-hand", folder / "checkpoint"
        self._bench.collect_garbage()
        began = time.perf_counter()
        writer = self._by_hand().writeStream.format("parquet").outputMode("append").trigger(availableNow=True)
        writer.option("checkpointLocation", str(checkpoint)).start(str(sink)).awaitTermination()
        seconds = time.perf_counter() - began
        written = contents(self._hand.read.parquet(str(sink)))
        shutil.rmtree(sink)
        shutil.rmtree(checkpoint)
        return Measured(seconds, written)

    def _by_hand(self) -> Any:
        load = self._workload
        stream: Any = self._hand.readStream.schema(EVENT).option("maxFilesPerTrigger", load.files_in_batch)
        stream = stream.parquet(str(self._source))
        if load.watermark:
            stream = stream.withWatermark("at", load.watermark)
        stream.createOrReplaceTempView("source")
        return self._hand.sql(load.query.format(source="source"))


def report(load: Workload, measured: list[Pair[Measured]]) -> float:
    """Print the pairs of a workload and return the median of their ratios."""
    say(f"{load.name}: {load.rows:,} rows in {load.batches} batches of {load.rows_in_file * load.files_in_batch:,}")
    rows = [
        (
            str(number),
            figure(load.rows / pair.job.seconds, 0),
            figure(load.rows / pair.hand.seconds, 0),
            figure(pair.job.seconds / load.batches * 1000, 0),
            figure(pair.hand.seconds / load.batches * 1000, 0),
            figure(pair.ratio),
        )
        for number, pair in enumerate(measured, start=1)
    ]
    columns = figures("job rows/s", "by hand rows/s", "job ms/batch", "by hand ms/batch", "ratio")
    table((text("pair"), *columns), rows)
    return middle(pair.ratio for pair in measured)


@click.command(help=__doc__)
@click.option("--pairs", "count", type=click.IntRange(1), default=5, show_default=True, help="Measured pairs.")
@click.option("--warm-ups", type=click.IntRange(0), default=2, show_default=True, help="Pairs before, not measured.")
@click.option(
    "--workload", "names", multiple=True, type=click.Choice(_NAMES), help="Only this workload; may be repeated."
)
@click.option("--master", default="local[*]", show_default=True, help="Spark's master.")
@click.option("--memory", default="2g", show_default=True, help="Memory of Spark's driver.")
def main(count: int, warm_ups: int, names: tuple[str, ...], master: str, memory: str) -> None:
    introduce(
        "overhead: a job compared with the same query by hand",
        "job: availableNow, exactly once to a parquet table; by hand: writeStream, Spark's parquet file sink",
    )
    ratios = {}
    with bench(master, memory) as engine:
        for load in WORKLOADS:
            if names and load.name not in names:
                continue
            contest = Contest(engine, load)
            contest.prepare()
            ratios[load.name] = report(load, list(measure_pairs(contest.job, contest.hand, warm_ups, count)))
    rows = ((name, figure(ratio), GOAL.describe(ratio)) for name, ratio in ratios.items())
    table((text("workload"), *figures("median ratio"), text("goal")), rows)


if __name__ == "__main__":
    main()
