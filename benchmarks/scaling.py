"""Measure how jobs scale with executors (members) and with the number of jobs, and the cost of idle jobs.

The benchmark starts a standalone Spark cluster on this machine: a master, and members with one core each. Each member's
process is bound to its core if the system supports that; the engine uses all cores.

members: rows per second of jobs with continuous batches, with one member and with two. `arithmetic` keeps the members'
cores busy, so on a machine with two cores the engine competes with them; the speedup of two plain processes, which is
measured too, is the upper limit. In `waiting` each row occupies a task but no core, like a request to another system;
this shows the speedup when cores are not the bottleneck. `ms of a batch of 1 row` is the fixed cost of a batch, which a
second member does not reduce: large batches gain more than small ones (--rows). `join to member` is the time from the
start of `jetsql join` until the engine lists the member. `join to use` ends with the first committed batch of the next
run, and includes the 10 s that the engine waits for more members. `kill to next` is the time from `kill -9` of a member
to the first batch of the next run.

idle, many (with two members): `batch ms` is the batch time of small jobs that run in parallel and each have a new row
every second. The cost of idle jobs is the processor time of the engine (its Python process and its Spark process) with
jobs that poll an unchanged file table every second, minus that without jobs: at first, while the JVM compiles their
code, and later.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from benchmarks.engines import bench
from benchmarks.reporting import introduce
from benchmarks.scaling_jobs import idle, many, report_batches, report_idle
from benchmarks.scaling_members import await_members, join, members, report_members
from tools.cluster import cluster

_CONF = {"spark.executor.memory": "512m"}
_PARTS = ("members", "idle", "many")


@click.command(help=__doc__)
@click.option("--part", "parts", type=click.Choice(_PARTS), multiple=True, help="Only this part; may be repeated.")
@click.option("--seconds", type=click.FloatRange(1), default=30, show_default=True, help="Time of each figure.")
@click.option(
    "--rows", type=click.IntRange(1), default=150_000, show_default=True, help="Rows in a batch of arithmetic."
)
@click.option("--jobs", type=click.IntRange(1), default=50, show_default=True, help="Number of jobs.")
@click.option("--memory", default="2g", show_default=True, help="Memory of Spark's driver.")
def main(parts: tuple[str, ...], seconds: float, rows: int, jobs: int, memory: str) -> None:
    selected = set(parts or _PARTS)
    introduce(
        "scaling: members, many jobs, idle jobs",
        f"each figure over {seconds:g} s; members have one core each; batches of arithmetic have {rows} rows",
    )
    with tempfile.TemporaryDirectory(prefix="jetsql-bench-") as folder, cluster(Path(folder)) as spark:
        with bench(spark.url, memory, _CONF) as engine:
            if "members" in selected:
                report_members(members(spark, engine, rows, seconds))
            if selected != {"members"}:
                while len(spark.members) < 2:
                    join(spark)
                await_members(engine, 2)
            if "idle" in selected:
                report_idle(idle(engine, seconds, jobs))
            if "many" in selected:
                report_batches(many(engine, seconds, jobs))


if __name__ == "__main__":
    main()
