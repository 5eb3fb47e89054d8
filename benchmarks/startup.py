"""Measure the time from the start of the process to the first result by stage, compared with bare Spark.

Both variants use the same catalogue, Hive's on embedded Derby in a home folder with an existing metastore, and end with
the same statement, which reads it. The processes run in pairs, one after the other, in alternating order. `session`
includes `JVM`, and `open` includes all stages of the engine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks.reporting import Goal, figure, figures, introduce, middle, say, table, text

GOAL = Goal(most=1.3)
_ROOT = Path(__file__).parent.parent

Stages = dict[str, float]


@dataclass(frozen=True)
class Starter:
    """The arguments of the measured processes."""

    home: Path
    """The home folder of both variants."""
    master: str
    """Spark's master."""
    memory: str
    """The memory of Spark's driver."""

    def start(self, kind: str) -> Stages:
        """Run a process of `benchmarks.starting` and return the seconds by stage. Raises ClickException."""
        command = [sys.executable, "-m", "benchmarks.starting", kind, str(self.home), self.master, self.memory]
        ended = subprocess.run([*command, repr(time.time())], cwd=_ROOT, capture_output=True, text=True, check=False)
        if ended.returncode:
            raise click.ClickException(ended.stderr)
        stages: Stages = json.loads(ended.stdout.strip().splitlines()[-1])
        return stages


@dataclass(frozen=True)
class Pair:
    """One start of each variant."""

    jetsql: Stages
    """The seconds by stage with JetSQL."""
    bare: Stages
    """The seconds by stage with bare Spark."""

    @property
    def ratio(self) -> float:
        return self.jetsql["total"] / self.bare["total"]


def pairs(starter: Starter, count: int) -> list[Pair]:
    measured = []
    for number in range(count):
        first = starter.start("bare" if number % 2 else "jetsql")
        second = starter.start("jetsql" if number % 2 else "bare")
        measured.append(Pair(second, first) if number % 2 else Pair(first, second))
    return measured


def report_stages(measured: list[Pair]) -> None:
    names = list(measured[0].jetsql)
    rows = []
    for name in names:
        jetsql_seconds = middle(pair.jetsql[name] for pair in measured)
        bare_seconds = middle(pair.bare[name] for pair in measured) if name in measured[0].bare else None
        rows.append((name, figure(jetsql_seconds), None if bare_seconds is None else figure(bare_seconds)))
    table((text("stage"), *figures("JetSQL, s", "bare Spark, s")), rows)


def report_pairs(measured: list[Pair]) -> None:
    rows = [
        (str(number), figure(pair.jetsql["total"]), figure(pair.bare["total"]), figure(pair.ratio))
        for number, pair in enumerate(measured, start=1)
    ]
    table((text("pair"), *figures("JetSQL, s", "bare Spark, s", "ratio")), rows)
    ratio = middle(pair.ratio for pair in measured)
    say(f"median ratio {ratio:.3f}, goal {GOAL.describe(ratio)}")
    say()


def report_commands(count: int) -> None:
    """Print the median times of commands that need no engine. count: the number of calls."""
    rows = []
    for flag in ("--version", "--help"):
        times = []
        for _ in range(count):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-m", "jetsql", flag], cwd=_ROOT, capture_output=True, check=True)
            times.append(time.perf_counter() - began)
        rows.append((f"jetsql {flag}", figure(middle(times))))
    table((text("command"), *figures("s")), rows)


@click.command(help=__doc__)
@click.option("--pairs", "count", type=click.IntRange(1), default=5, show_default=True, help="Starts of each variant.")
@click.option("--master", default="local[*]", show_default=True, help="Spark's master.")
@click.option("--memory", default="1g", show_default=True, help="Memory of Spark's driver.")
def main(count: int, master: str, memory: str) -> None:
    introduce(
        "startup: from the start of the process to the first result",
        "JetSQL: jetsql.open, SHOW JOBS, SHOW TABLES; bare: a SparkSession with Hive on Derby, SHOW TABLES",
    )
    with tempfile.TemporaryDirectory(prefix="jetsql-bench-") as folder:
        starter = Starter(Path(folder), master, memory)
        starter.start("jetsql")  # creates the home's metastore and store, and warms the disk cache for both variants
        starter.start("bare")
        measured = pairs(starter, count)
    report_stages(measured)
    report_pairs(measured)
    report_commands(2 * count)


if __name__ == "__main__":
    main()
