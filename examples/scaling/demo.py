"""The demo of `make demo-scaling`: a second member joins a cluster, and the jobs use it; a member is killed, and the
jobs continue. Then every row is counted.

The cluster is a Spark standalone cluster of processes on this machine, each started by its command in a terminal. The
demo exits with 1 if a table differs from its expected contents.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import jetsql
from examples.story import ROOT, Story, StoryFailed, display_path, heading, run_demo, say
from examples.verdict import Facts, report, verdict
from jetsql.jobs.model.job_settings import JobSettings
from jetsql.settings.engine_settings import Settings
from tools.cluster import Cluster, cluster, wait_until

FOLDER = Path(__file__).parent
HOME = ROOT / "build" / "demo-scaling"
JOBS = ("kept", "totals")
ROWS = 500
BATCHES = 3
MEMBERS = """SELECT id, host, cores, status, completed_tasks, reason
FROM jetsql.members WHERE NOT is_driver ORDER BY since"""
EVENTS = """SELECT job, event, from_status AS from, to_status AS to, run, message
FROM jetsql.job_history WHERE time > TIMESTAMP'{since}' ORDER BY time"""
KEPT = "SELECT digit, count(*), count(DISTINCT value), sum(value) FROM kept GROUP BY digit"
TOTALS = "SELECT digit, numbers, total FROM totals"
CONF = {"spark.executor.memory": "512m", "spark.driver.memory": "1g"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo. Returns its exit code, see `run_demo`."""
    flags = argparse.ArgumentParser(
        description="Two jobs on a cluster that grows from one member to two, and loses one."
    )
    flags.add_argument("--delay", type=float, default=10.0, help="the setting scale_up_delay_seconds [10]")
    flags.add_argument(
        "--home", type=Path, help="an empty folder for all files [build/demo-scaling, emptied at the start]"
    )
    given = flags.parse_args(arguments)
    return run_demo(flags, given.home, HOME, lambda home: run(home, given.delay))


def run(home: Path, delay: float) -> int:
    """Run the demo with its files in `home`. Returns its exit code."""
    home.mkdir(parents=True, exist_ok=True)
    say(f"Files are in {display_path(home)}. Starting a master and one member:")
    with cluster(home) as spark:
        say(f"\n  $ jetsql master --port {spark.port} --recovery-dir {display_path(home / 'master')}")
        join(spark)
        say(f"\nStarting an engine on {spark.url} ...")
        jobs = JobSettings(scale_up_delay_seconds=delay)
        secret = spark.secret_file
        settings = Settings(
            home=home / "engine", master=spark.url, spark_conf=CONF, cluster_secret_file=secret, jobs=jobs
        )
        with jetsql.open(settings=settings) as engine:
            story = Story(engine, FOLDER, {"rows": str(ROWS)})
            narrate(story, spark, delay)
            return check(story)


def narrate(story: Story, spark: Cluster, delay: float) -> None:
    """Run all chapters but the check."""
    story.chapter("A cluster of one member, and two jobs (setup.sql, jobs.sql)")
    until(lambda: len(members(story)) == 1, "the first member did not join")
    story.file("setup.sql")
    story.file("jobs.sql")
    wait_for_batches(story)
    story.sql(MEMBERS)
    story.sql("SHOW JOBS")

    story.chapter("A second member joins, from another terminal")
    since, before = now(story), runs(story)
    say()
    join(spark)
    say(f"\nThe jobs keep their cores until no member has joined or left for {delay:g} s (scale_up_delay_seconds),")
    say("so several new members cause one restart. Then they finish their batch and restart on both members.")
    until(lambda: all(runs(story)[job] > before[job] for job in JOBS), "the jobs did not restart on two members")
    wait_for_batches(story)
    story.sql(EVENTS.format(since=since))
    say("\nBoth members have run tasks:")
    story.sql(MEMBERS)

    story.chapter("The first member is killed")
    since, before = now(story), runs(story)
    first = spark.members[0]
    say(f"\n  $ kill -9 {first.pid}        (with its executor, as when a machine is lost)")
    spark.kill(first)
    until(lambda: all(runs(story)[job] > before[job] for job in JOBS), "the jobs did not restart on one member")
    wait_for_batches(story)
    story.sql(EVENTS.format(since=since))
    story.sql(MEMBERS)
    story.sql("SHOW JOBS")

    story.chapter("The jobs are suspended, to count their rows")
    for job in JOBS:
        story.sql(f"SUSPEND JOB {job}")


def until(reached: Callable[[], bool], failure: str) -> None:
    """Wait until `reached` returns true. Raises StoryFailed after a timeout."""
    try:
        wait_until(reached, failure)
    except TimeoutError as error:
        say(f"\n{error}")
        raise StoryFailed(failure) from error


def join(spark: Cluster) -> None:
    """Start a member and show its command."""
    say(f"  $ jetsql join {spark.url} --cores 1")
    spark.join()


def wait_for_batches(story: Story) -> None:
    """Wait until each job has committed some more batches."""
    for job, batch in batches(story).items():
        story.sql(f"WAIT FOR JOB {job} UNTIL BATCH {batch + BATCHES}")


def members(story: Story) -> list[object]:
    """Return the active members without the driver."""
    return list(story.rows("SELECT id FROM jetsql.members WHERE status = 'ACTIVE' AND NOT is_driver"))


def now(story: Story) -> str:
    """Return the current time in the session's time zone."""
    [(time,)] = story.rows("SELECT CAST(current_timestamp() AS STRING)")
    return str(time)


def runs(story: Story) -> dict[str, int]:
    """Return the number of each job's current run; 0 while it does not run."""
    rows = story.rows("SELECT name, CASE WHEN status = 'RUNNING' THEN run ELSE 0 END FROM jetsql.jobs")
    return {str(name): int(str(run)) for name, run in rows}


def batches(story: Story) -> dict[str, int]:
    """Return the newest batch that each job has committed, or -1."""
    rows = story.rows("SELECT name, coalesce(batch, -1) FROM jetsql.jobs ORDER BY name")
    return {str(name): int(str(batch)) for name, batch in rows}


def check(story: Story) -> int:
    """Compare the tables with their expected contents. Returns 1 if a table differs, otherwise 0."""
    heading("Check: the number of a job's newest batch determines the contents of its table")
    newest = batches(story)
    for job, batch in newest.items():
        say(f"\n  {job} has committed batches 0 to {batch}: the numbers 0 to {(batch + 1) * ROWS - 1:,}")
    kept: Facts = {(digit,): (count, count, total) for (digit,), (count, total) in by_digit(newest["kept"]).items()}
    return report(
        [
            verdict("kept by digit: count, distinct count, sum", kept, story.rows(KEPT)),
            verdict("totals by digit: count, sum", by_digit(newest["totals"]), story.rows(TOTALS)),
        ]
    )


def by_digit(batch: int) -> Facts:
    """Return by (last digit,): the count and the sum of the numbers up to the end of a batch."""
    end = (batch + 1) * ROWS
    return {(digit,): (len(range(digit, end, 10)), sum(range(digit, end, 10))) for digit in range(10)}


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
