"""The demo of `make demo-lakehouse`: a job updates a Delta table with a year of flights, and a second job reads the
changes of this table.

Files are compacted while the jobs run, the engine is killed and started again, and older versions of the tables are
read. At the end pandas computes every table, also the older versions, from the same source; the demo exits with 1 if
one differs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pandas as pd

from examples.flights.demo import first_days, span
from examples.flights.layout import Arrivals, lay_out, parts, read_flights
from examples.lakehouse import expected
from examples.lakehouse.engine import CONFIG, DeltaEngine, stopping
from examples.story import ROOT, Show, Story, StoryFailed, display_path, heading, in_literal, run_demo, say
from examples.verdict import Facts, Verdict, report, show, verdict
from jetsql.engine.jvm.connectors import sparks_of
from jetsql.errors import ReportedError
from jetsql.resultset import Column
from tools.java.older_sparks import environment, install

FOLDER = Path(__file__).parent
JOBS = ("aircraft", "airports")
PARTS = 3
SECONDS = 120.0
HISTORY = (Column("version", "bigint"), Column("operation"), Column("inserted"), Column("updated"), Column("deleted"))
METRICS = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")
FACTS = "SELECT tailnum, airport, unix_timestamp(since), flights, miles FROM aircraft"


@dataclass(frozen=True)
class Moment:
    """A moment at which both jobs had read everything that had arrived."""

    time: str
    """The time, in the session's time zone."""
    version: int
    """The newest version of the table aircraft."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo. Returns its exit code, see `run_demo`."""
    flags = argparse.ArgumentParser(description="Delta tables: upserts, change feed, time travel, OPTIMIZE, a crash.")
    flags.add_argument("--days", type=int, default=365, help="days of the year to use, from 30 to 365 [365]")
    flags.add_argument(
        "--home", type=Path, help="an empty folder for all files [build/demo-lakehouse, emptied at the start]"
    )
    given = flags.parse_args(arguments)
    if not 30 <= given.days <= 365:
        flags.error("--days must be from 30 to 365")
    return run_demo(flags, given.home, ROOT / "build" / "demo-lakehouse", lambda home: run(home, given.days))


def prepare() -> Path:
    """Install a Spark that Delta has a release for, unless it is there, and return its Python."""
    spark = sparks_of(["delta"])[-1]
    say(
        f"Delta's newest release is for Spark {spark}. So the engine of this demo runs in {environment(spark).name}, an"
    )
    say("environment next to .venv with that Spark, JetSQL and its tests, which `make test-sparks` uses as well.")
    return install(spark)


def run(home: Path, days: int) -> int:
    """Run the demo with its files in `home`. Returns its exit code."""
    python = prepare()
    data = home / "data"
    say(f"Writing the flights of 2013 to {display_path(home)}, one file per day ...")
    flights = first_days(read_flights(), days)
    files = list(lay_out(flights, data / "waiting"))
    say(f"{len(flights):,} flights in {len(files)} files.")
    engine = DeltaEngine(home, python)
    heading("The engine (config.toml)")
    say("\n" + "\n".join(f"  {line}" for line in CONFIG.splitlines()))
    with stopping(engine):
        story = Story(engine.start(), FOLDER, {"data": in_literal(data)})
        days_of_parts = parts(files, PARTS)
        moment = narrate(story, engine, Arrivals(data / "flights"), days_of_parts)
        return check(story, flights, first_days(flights, len(days_of_parts[0])), moment)


def narrate(story: Story, engine: DeltaEngine, arrivals: Arrivals, days: Sequence[Sequence[Path]]) -> Moment:
    """Run all chapters but the check. Returns the moment after the first part."""
    first, second, third = days

    story.chapter("Tables (setup.sql)")
    arrivals.arrive(first[:1])
    story.file("setup.sql", Show.STATEMENTS)

    story.chapter("Two jobs: the second reads the changes that the first makes (jobs.sql)")
    story.file("jobs.sql")

    story.chapter(f"The first part arrives ({span(first[1:])})")
    arrivals.arrive(first[1:])
    story.wait(JOBS)
    story.sql("SHOW JOBS")
    show_history(story, "aircraft")
    show_history(story, "airports")
    moment = current_moment(story)

    story.chapter("Files are compacted while both jobs run")
    say(f"\nThe second part arrives ({span(second)}).")
    arrivals.arrive(second)
    for table in JOBS:
        optimize(story, table)
    story.wait(JOBS)
    story.sql("SHOW JOBS")

    story.chapter("The engine is killed and started again; the jobs continue")
    before = batches(story)
    say(f"\nThe third part arrives ({span(third)}).")
    arrivals.arrive(third)
    until(lambda: all(batches(story)[job] > before[job] for job in JOBS), "the jobs did not write a batch")
    engine.kill()
    story.continue_on(engine.start())
    story.wait(JOBS)
    story.sql("SHOW JOB HISTORY aircraft")

    story.chapter("Older versions of the tables, and the changes of a row (travel.sql)")
    story.file("travel.sql", values={"moment": moment.time, "version": str(moment.version)})

    story.chapter("The jobs are dropped; their tables stay")
    story.sql("; ".join(f"DROP JOB {job}" for job in JOBS), Show.STATEMENTS)
    story.sql("SHOW ALL JOBS")
    return moment


def current_moment(story: Story) -> Moment:
    """Return the current time and version, before further files arrive."""
    [(version, _, _)] = list(commits(story, "aircraft"))[:1]
    [(text,)] = story.rows("SELECT CAST(current_timestamp() AS STRING)")
    return Moment(str(text), version)


def show_history(story: Story, table: str) -> None:
    """Show the newest commits of a table."""
    say(f"\nDESCRIBE HISTORY {table} LIMIT 3;        (some of its columns)")
    newest = list(commits(story, table))[:3]
    rows = [(version, operation, *(metrics.get(each) for each in METRICS)) for version, operation, metrics in newest]
    show(HISTORY, rows)


def commits(story: Story, table: str) -> Iterator[tuple[int, str, dict[str, str]]]:
    """Yield version, operation and metrics of a table's commits, the newest first."""
    result = story.run(f"DESCRIBE HISTORY {table}")
    names = [column.name for column in result.columns]
    for row in result.rows:
        values = dict(zip(names, row, strict=True))
        metrics = cast(dict[str, str], values["operationMetrics"])
        yield int(str(values["version"])), str(values["operation"]), metrics


def optimize(story: Story, table: str) -> None:
    """Compact the files of a table. A batch that rewrites the same files first makes the statement fail."""
    for _ in range(10):
        say(f"\nOPTIMIZE {table};")
        try:
            [(_, metrics)] = story.rows(f"OPTIMIZE {table}")
            added, removed = cast(tuple[int, ...], metrics)[:2]
        except ReportedError as error:
            if "Concurrent" not in str(error) and "conflict" not in str(error).lower():
                raise
            say("\n  A batch of the job has rewritten the same files. The job continues, and OPTIMIZE is run again.")
        else:
            say(f"\n  {removed} files of the table became {added}.")
            return
    raise StoryFailed(f"OPTIMIZE {table}")


def batches(story: Story) -> dict[str, int]:
    """Return the newest batch that each job has committed, or -1."""
    return {
        str(name): int(str(batch)) for name, batch in story.rows("SELECT name, coalesce(batch, -1) FROM jetsql.jobs")
    }


def until(reached: Callable[[], bool], failure: str) -> None:
    """Wait until `reached` returns true. Raises StoryFailed after a timeout."""
    end = time.monotonic() + SECONDS
    while not reached():
        if time.monotonic() > end:
            say(f"\nAfter {SECONDS:g} s {failure}.")
            raise StoryFailed(failure)
        time.sleep(0.2)


def check(story: Story, flights: pd.DataFrame, first_part: pd.DataFrame, moment: Moment) -> int:
    """Compare every table, and its older version, with the source. Returns 1 if one differs, otherwise 0."""
    heading("Check: every table is compared with a computation of pandas over the same source")
    code = report(list(verdicts(story, expected.aircraft(flights), expected.aircraft(first_part), moment)))
    deletions = [int(metrics.get(METRICS[2], 0)) for _, _, metrics in commits(story, "airports")]
    say(f"\n{sum(deletions)} times the last aircraft left an airport, and its row in airports was deleted.")
    return code


def verdicts(story: Story, now: Facts, then: Facts, moment: Moment) -> Iterator[Verdict]:
    """Yield the verdicts on the tables. now, then: the aircraft of the whole source, and of its first part."""
    version, timestamp = f"VERSION AS OF {moment.version}", f"TIMESTAMP AS OF '{moment.time}'"
    airports = "SELECT airport, aircraft FROM airports"
    inserts = (
        "SELECT tailnum, count(*) FROM table_changes('aircraft', 0) WHERE _change_type = 'insert' GROUP BY tailnum"
    )
    yield verdict("aircraft", now, story.rows(FACTS))
    yield verdict(f"aircraft {version}", then, story.rows(f"{FACTS} {version}"))
    yield verdict("aircraft, inserts in its change feed", expected.inserted_once(now), story.rows(inserts))
    yield verdict("airports, from the change feed", expected.airports(now), story.rows(airports))
    yield verdict(f"airports {timestamp}", expected.airports(then), story.rows(f"{airports} {timestamp}"))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
