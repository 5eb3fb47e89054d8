"""How jobs scale: over members, over many jobs, and what jobs cost that have nothing to do.

A cluster of Spark's own on this machine: a master, and members of one core each, to which their processes are bound
where the system can do that; the engine takes what it needs of all cores.

members: rows a second with one member and with two, of jobs whose batches come one behind the other. `arithmetic` keeps
the members' cores busy, so on a machine of two cores the engine takes its part from them; no second member can give
more than two processes do, which is measured beside it. In `waiting` each row holds a member's task and no core, as one
does that asks another system: that is what a second member gives where cores are not what is short. `ms of a batch of
1 row` is what every batch takes whatever its rows do, and a second member makes that no shorter: large batches gain
more by it than small ones (--rows). `join to member` is the time from the start of `jetsql join` until the engine lists
the member. `join to use` ends with the first batch that the next run of such a job has committed; it contains the 10 s
that the engine waits for more members. `kill to next` is the time from `kill -9` of a member to the first batch of the
next run.

idle, many (with two members): `batch ms` is of small jobs that have a new row each second, all at once. What idle jobs
take is the processor time of the engine (its Python and its Spark) with jobs that look into a file table each second
and find nothing, without what it takes with none: at first, while Java compiles what they do, and later.
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
@click.option("--part", "parts", type=click.Choice(_PARTS), multiple=True, help="Only this; may be repeated.")
@click.option("--seconds", type=click.FloatRange(1), default=30, show_default=True, help="Taken for each figure.")
@click.option("--rows", type=click.IntRange(1), default=150_000, show_default=True, help="Of arithmetic in a batch.")
@click.option("--jobs", type=click.IntRange(1), default=50, show_default=True, help="How many jobs are many.")
@click.option("--memory", default="2g", show_default=True, help="Of Spark's driver.")
def main(parts: tuple[str, ...], seconds: float, rows: int, jobs: int, memory: str) -> None:
    wanted = set(parts or _PARTS)
    introduce(
        "scaling: members, many jobs, idle jobs",
        f"each figure over {seconds:g} s; members have one core each; batches of arithmetic have {rows} rows",
    )
    with tempfile.TemporaryDirectory(prefix="jetsql-bench-") as folder, cluster(Path(folder)) as spark:
        with bench(spark.url, memory, _CONF) as engine:
            if "members" in wanted:
                report_members(members(spark, engine, rows, seconds))
            if wanted != {"members"}:
                while len(spark.members) < 2:
                    join(spark)
                await_members(engine, 2)
            if "idle" in wanted:
                report_idle(idle(engine, seconds, jobs))
            if "many" in wanted:
                report_batches(many(engine, seconds, jobs))


if __name__ == "__main__":
    main()
