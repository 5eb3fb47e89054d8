"""Compare a job with three rules for its rows with the same job without rules.

Both read the same files with the same batch limits until all of them are read (availableNow), each into an empty table.
A pair is one run of each, and the order alternates. The rules are violated by no row, so that both jobs write the same
rows; they are compared after the measurement. Besides the time from the statement until everything is committed, the
benchmark measures the processor time of the engine, which other programs on the machine do not change as much.

With `--into-table`, one of the rules has a table for its rows, so the rows of each batch are stored while they are
written.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import click

from benchmarks.contents import Contents, contents
from benchmarks.engines import Bench, bench
from benchmarks.overhead import EVENT, PROJECTED, PROJECTION, ROWS, WORKLOADS
from benchmarks.pairs import measure_pairs
from benchmarks.reporting import Goal, figure, figures, introduce, middle, say, table, text

GOAL = Goal(least=0.97)
_LOAD = next(load for load in WORKLOADS if load.name == "medium batches")
_RULES = """(
  CONSTRAINT known EXPECT (carrier IS NOT NULL AND origin IN ('JFK', 'LGA', 'EWR')),
  CONSTRAINT possible EXPECT (delay BETWEEN -60 AND 1440) ON VIOLATION DROP ROW,
  CONSTRAINT positive EXPECT (km >= 0 AND at > TIMESTAMP '2020-01-01') ON VIOLATION {action}
)"""


@dataclass(frozen=True)
class Measured:
    """The result of one run."""

    seconds: float
    """The total time."""
    processor_seconds: float
    """The processor time that the engine has used meanwhile."""
    written: Contents
    """The written rows."""


def _run(engine: Bench, rules: str) -> Measured:
    """Run the job and return its figures."""
    engine.run(f"CREATE TABLE written ({PROJECTED}) USING parquet")
    engine.collect_garbage()
    began, used = time.perf_counter(), engine.processor_seconds()
    source = f"STREAM events WITH ('maxFilesPerTrigger' = '{_LOAD.files_in_batch}')"
    engine.run(
        f"CREATE JOB written {rules} OPTIONS ('trigger' = 'availableNow')"
        f" AS INSERT INTO written {PROJECTION.format(source=source)}"
    )
    engine.run("WAIT FOR JOB written UNTIL COMPLETED")
    seconds, processor = time.perf_counter() - began, engine.processor_seconds() - used
    rows = contents(engine.engine.spark.table("written"))
    engine.run("DROP TABLE written")
    return Measured(seconds, processor, rows)


@click.command(help=__doc__)
@click.option("--pairs", default=7, show_default=True, help="The number of measured pairs.")
@click.option("--into-table", is_flag=True, help="Give the last rule a table for its rows.")
def main(pairs: int, into_table: bool) -> None:
    introduce("rules: a job with three rules, and without", "local[2], driver memory 2g")
    with bench("local[2]", "2g") as engine:
        query = ROWS.format(first=0, last=_LOAD.rows, files=_LOAD.files)
        engine.engine.spark.sql(query).write.parquet(str(engine.folder / "events"))
        engine.run(f"CREATE TABLE events ({EVENT}) USING parquet LOCATION '{engine.folder / 'events'}'")
        rules = _RULES.format(action="INTO TABLE wrong" if into_table else "FAIL")
        measured = list(measure_pairs(lambda: _run(engine, rules), lambda: _run(engine, ""), warm_ups=2, count=pairs))
        processor = [pair.hand.processor_seconds / pair.job.processor_seconds for pair in measured]
        rows = [
            (
                str(number),
                *(figure(value, 2) for value in (pair.job.seconds, pair.hand.seconds, pair.ratio)),
                *(figure(each.processor_seconds, 2) for each in (pair.job, pair.hand)),
                figure(ratio),
            )
            for number, (pair, ratio) in enumerate(zip(measured, processor, strict=True), start=1)
        ]
        columns = ("rules s", "without s", "ratio", "rules cpu s", "without cpu s", "cpu ratio")
        say(f"{_LOAD.rows:,} rows in {_LOAD.batches} batches")
        table((text("pair"), *figures(*columns)), rows)
        ratio = middle(processor)
        say(f"median ratio of the processor time: {figure(ratio)} ({GOAL.describe(ratio)})")


if __name__ == "__main__":
    main()
