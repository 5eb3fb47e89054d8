"""The demo of `make demo`: four jobs read a year of flights as they arrive; one job is suspended and resumed.

The demo never sleeps: it waits with WAIT FOR JOB. At the end it compares every table with a computation of pandas over
the same source, and exits with 1 if a table differs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

import jetsql
from examples.flights.expected import WATERMARK, Hours, hours, landed_by_day, landed_by_names, rejected, top_routes
from examples.flights.layout import Arrivals, lay_out, lay_out_names, parts, read_flights, read_names
from examples.story import ROOT, Show, Story, display_path, heading, in_literal, run_demo, say
from examples.verdict import Facts, Verdict, report, show, verdict
from jetsql.resultset import Column
from jetsql.settings.engine_settings import Settings

JOBS = ("hourly_delays", "enriched", "rejected", "top_routes")
OPEN_HOURS = (Column("open_hour"), Column("carriers", "bigint"), Column("flights", "bigint"))


@dataclass(frozen=True)
class Comparison:
    """A comparison of a table with the source."""

    name: str  # for the report
    expected: Facts
    query: str  # returns the columns of the key, then its numbers

    def verdict(self, story: Story) -> Verdict:
        """Run the query and compare its rows."""
        return verdict(self.name, self.expected, story.rows(self.query))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo. Returns its exit code, see `run_demo`."""
    flags = argparse.ArgumentParser(description="Four jobs read a year of flights; one job is suspended and resumed.")
    flags.add_argument("--days", type=int, default=365, help="days of the year to use, from 4 to 365 [365]")
    flags.add_argument("--home", type=Path, help="an empty folder for all files [build/demo, emptied at the start]")
    given = flags.parse_args(arguments)
    if not 4 <= given.days <= 365:
        flags.error("--days must be from 4 to 365")
    return run_demo(flags, given.home, ROOT / "build" / "demo", lambda home: run(home, given.days))


def run(home: Path, days: int) -> int:
    """Run the demo with its files in `home`. Returns its exit code."""
    data = home / "data"
    say(f"Writing the flights of 2013 to {display_path(home)}, one file per day ...")
    flights = first_days(read_flights(), days)
    lay_out_names(data)
    files = list(lay_out(flights, data / "waiting"))
    say(f"{len(flights):,} flights in {len(files)} files. Starting Spark ...")
    with jetsql.open(settings=Settings(home=home / "engine", master="local[2]")) as engine:
        story = Story(engine, Path(__file__).parent, {"data": in_literal(data)})
        narrate(story, Arrivals(data / "flights"), parts(files, 4))
        return check(story, flights)


def first_days(flights: pd.DataFrame, days: int) -> pd.DataFrame:
    """Return the flights of the first `days` days."""
    wanted = sorted(flights["day"].unique())[:days]
    return flights[flights["day"].isin(wanted)]


def narrate(story: Story, arrivals: Arrivals, quarters: Sequence[Sequence[Path]]) -> None:
    """Run all chapters but the check."""
    first, second, third, fourth = quarters

    story.chapter("Tables")
    arrivals.arrive(first[:1])
    story.file("setup.sql", Show.NOTHING)
    story.sql("SHOW TABLES")
    say("\nThe file of the first day has arrived; the others follow.")

    story.chapter("Four jobs over one stream (jobs.sql)")
    story.file("jobs.sql")

    story.chapter(f"The first quarter arrives ({span(first[1:])})")
    arrivals.arrive(first[1:])
    story.wait(JOBS)
    story.sql("SHOW JOBS")

    story.chapter("enriched is suspended; files keep arriving, and the other jobs continue")
    story.sql("SUSPEND JOB enriched")
    say(f"\nThe second quarter arrives ({span(second)}).")
    arrivals.arrive(second)
    story.wait([job for job in JOBS if job != "enriched"])
    story.sql("SHOW JOBS")
    show_progress(story)

    story.chapter("enriched is resumed and catches up, while the third quarter arrives")
    story.sql("RESUME JOB enriched")
    say(f"\nThe third quarter arrives ({span(third)}).")
    arrivals.arrive(third)
    story.wait(JOBS)
    show_progress(story)

    story.chapter(f"The last quarter arrives ({span(fourth)})")
    arrivals.arrive(fourth)
    story.wait(JOBS)
    story.sql("SHOW JOB HISTORY enriched")

    story.chapter("Results (results.sql)")
    story.file("results.sql")

    story.chapter("The jobs are dropped; their tables stay")
    story.sql("; ".join(f"DROP JOB {job}" for job in JOBS), Show.STATEMENTS)
    story.sql("SHOW JOBS")
    story.sql("SHOW ALL JOBS")


def show_progress(story: Story) -> None:
    """Show the progress of the two jobs that divide the flights between them."""
    story.sql(
        "SELECT 'enriched' AS table, count(*) AS rows, max(day) AS newest_day FROM enriched\n"
        "UNION ALL SELECT 'rejected', count(*), max(day) FROM rejected"
    )


def check(story: Story, flights: pd.DataFrame) -> int:
    """Compare every table with the source, and list the open hours. Returns 1 if a table differs, otherwise 0."""
    heading("Check: every table is compared with a computation of pandas over the same source")
    by_hour = hours(flights)
    code = report([comparison.verdict(story) for comparison in comparisons(flights, by_hour)])
    explain_hours(flights, by_hour)
    return code


def comparisons(flights: pd.DataFrame, by_hour: Hours) -> Iterator[Comparison]:
    """Yield the comparisons of all tables."""
    yield Comparison(
        "hourly_delays by hour and carrier (closed hours)",
        by_hour.closed,
        "SELECT unix_timestamp(hour), carrier, flights, landed, late, delay_minutes FROM hourly_delays",
    )
    yield Comparison(
        "enriched by day",
        landed_by_day(flights),
        "SELECT CAST(day AS STRING), count(*), sum(arr_delay) FROM enriched GROUP BY day",
    )
    yield Comparison(
        "enriched by names of airline and destination",
        landed_by_names(flights, read_names("airlines"), read_names("airports")),
        "SELECT airline, destination, count(*) FROM enriched GROUP BY airline, destination",
    )
    yield Comparison("rejected by reason", rejected(flights), "SELECT reason, count(*) FROM rejected GROUP BY reason")
    yield Comparison("top_routes", top_routes(flights), "SELECT origin, dest, flights, miles FROM top_routes")


def explain_hours(flights: pd.DataFrame, by_hour: Hours) -> None:
    """Explain which hours are missing from hourly_delays, and why."""
    latest = flights["scheduled"].max()
    watermark = latest - WATERMARK
    say(
        f"\nhourly_delays contains exactly the closed hours, which ended by the watermark, {clock(watermark)}:\n"
        f"the latest departure so far ({clock(latest)}) minus the 2 hours that the job waits for late rows.\n"
        "The hours below are still open: their flights are in the job's state until later flights close them."
    )
    starts = sorted({int(str(key[0])) for key in by_hour.open})
    rows = [(clock(pd.Timestamp(start, unit="s", tz="UTC")), *open_hour(by_hour.open, start)) for start in starts]
    show(OPEN_HOURS, rows)


def open_hour(open_hours: Facts, start: int) -> tuple[int, int]:
    """Return the carriers and flights of the hour that begins at `start`."""
    flights = [numbers[0] for key, numbers in open_hours.items() if key[0] == start]
    return len(flights), sum(flights)


def clock(time: pd.Timestamp) -> str:
    """Return a time in New York, to the minute."""
    return f"{time.tz_convert('America/New_York'):%Y-%m-%d %H:%M}"


def span(files: Sequence[Path]) -> str:
    """Return the first and last day of the files, and their number."""
    return f"{files[0].stem} to {files[-1].stem}, {len(files)} files" if files else "no files"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
