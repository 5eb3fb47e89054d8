"""The story of `make demo-scaling`: a second member joins a cluster and the jobs use it; a member is killed, and they
go on. Then every row is counted.

The cluster is Spark's own, of processes on this machine, each started by the command that it would have in a terminal.
The program ends with 1 when a table is not what it must be.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import jetsql
from examples.story import ROOT, Story, StoryFailed, heading, say, shown, told
from examples.verdict import Facts, report, verdict
from jetsql.jobs.model.job_settings import JobSettings
from jetsql.settings import Settings
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
    """Run the demo. Returns its exit code: 0 fine, 1 when a statement failed or a table is not what it must be."""
    flags = argparse.ArgumentParser(description="A cluster of one, then two, then one member; two jobs; rows counted.")
    flags.add_argument("--delay", type=float, default=10.0, help="scale_up_delay_seconds [10]")
    flags.add_argument("--home", type=Path, help="an empty folder [build/demo-scaling, which is wiped at the start]")
    given = flags.parse_args(arguments)
    return told(flags, given.home, HOME, lambda home: run(home, given.delay))


def run(home: Path, delay: float) -> int:
    home.mkdir(parents=True, exist_ok=True)
    say(f"Files are in {shown(home)}. Starting a master and one member:")
    with cluster(home) as spark:
        say(f"\n  $ jetsql master --port {spark.port} --recovery-dir {shown(home / 'master')}")
        join(spark)
        say(f"\nStarting an engine on {spark.url} ...")
        jobs = JobSettings(scale_up_delay_seconds=delay)
        secret = spark.secret_file
        settings = Settings(
            home=home / "engine", master=spark.url, spark_conf=CONF, cluster_secret_file=secret, jobs=jobs
        )
        with jetsql.open(settings=settings) as engine:
            story = Story(engine, FOLDER, {"rows": str(ROWS)})
            tell(story, spark, delay)
            return check(story)


def tell(story: Story, spark: Cluster, delay: float) -> None:
    story.chapter("A cluster of one member, and two jobs (setup.sql, jobs.sql)")
    until(lambda: len(members(story)) == 1, "the first member does not come")
    story.file("setup.sql")
    story.file("jobs.sql")
    go_on(story)
    story.sql(MEMBERS)
    story.sql("SHOW JOBS")

    story.chapter("A second member joins, from another terminal")
    since, before = now(story), runs(story)
    say()
    join(spark)
    say(f"\nThe jobs go on as they are until no member has come or gone for {delay:g} s (scale_up_delay_seconds),")
    say("so that several that join are one restart. Then they finish their batch and start again, on both.")
    until(lambda: all(runs(story)[job] > before[job] for job in JOBS), "the jobs don't restart on two members")
    go_on(story)
    story.sql(EVENTS.format(since=since))
    say("\nTasks were done on both:")
    story.sql(MEMBERS)

    story.chapter("The first member is killed")
    since, before = now(story), runs(story)
    first = spark.members[0]
    say(f"\n  $ kill -9 {first.pid}        (its executor too, as when a machine is lost)")
    spark.kill(first)
    until(lambda: all(runs(story)[job] > before[job] for job in JOBS), "the jobs don't restart on one member")
    go_on(story)
    story.sql(EVENTS.format(since=since))
    story.sql(MEMBERS)
    story.sql("SHOW JOBS")

    story.chapter("The jobs are suspended, to count their rows")
    for job in JOBS:
        story.sql(f"SUSPEND JOB {job}")


def until(reached: Callable[[], bool], otherwise: str) -> None:
    """Raises StoryFailed when that does not come about."""
    try:
        wait_until(reached, otherwise)
    except TimeoutError as error:
        say(f"\n{error}")
        raise StoryFailed(otherwise) from error


def join(spark: Cluster) -> None:
    say(f"  $ jetsql join {spark.url} --cores 1")
    spark.join()


def go_on(story: Story) -> None:
    """Until each job has committed some more batches."""
    for job, batch in batches(story).items():
        story.sql(f"WAIT FOR JOB {job} UNTIL BATCH {batch + BATCHES}")


def members(story: Story) -> list[object]:
    return list(story.rows("SELECT id FROM jetsql.members WHERE status = 'ACTIVE' AND NOT is_driver"))


def now(story: Story) -> str:
    [(moment,)] = story.rows("SELECT CAST(current_timestamp() AS STRING)")
    return str(moment)


def runs(story: Story) -> dict[str, int]:
    """The number of each job's run; 0 while it does not run."""
    rows = story.rows("SELECT name, CASE WHEN status = 'RUNNING' THEN run ELSE 0 END FROM jetsql.jobs")
    return {str(name): int(str(run)) for name, run in rows}


def batches(story: Story) -> dict[str, int]:
    """The newest batch that each job has committed."""
    rows = story.rows("SELECT name, coalesce(batch, -1) FROM jetsql.jobs ORDER BY name")
    return {str(name): int(str(batch)) for name, batch in rows}


def check(story: Story) -> int:
    """Compare the tables with what they must hold. Returns 1 when one differs."""
    heading("Are the tables right? The number of a job's newest batch says what must be there")
    newest = batches(story)
    for job, batch in newest.items():
        say(f"\n  {job} has committed batches 0 to {batch}: the numbers 0 to {(batch + 1) * ROWS - 1:,}")
    kept = {(digit,): (count, count, total) for (digit,), (count, total) in by_digit(newest["kept"]).items()}
    return report(
        [
            verdict("kept: numbers by digit, different ones, their sum", kept, story.rows(KEPT)),
            verdict("totals: numbers by digit, their sum", by_digit(newest["totals"]), story.rows(TOTALS)),
        ]
    )


def by_digit(batch: int) -> Facts:
    """(last digit,): how many of the numbers up to a batch's end have it, and their sum."""
    end = (batch + 1) * ROWS
    return {(digit,): (len(range(digit, end, 10)), sum(range(digit, end, 10))) for digit in range(10)}


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
