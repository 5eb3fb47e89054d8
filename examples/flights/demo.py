"""The story of `make demo`: a year of flights arrives while four jobs read them; one is suspended and goes on.

Nothing here sleeps: what has to be waited for is waited for with WAIT FOR JOB. At the end every table is compared with
what pandas makes of the same source, and the program ends with 1 if they differ.
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
from examples.story import ROOT, Show, Story, heading, in_literal, say, shown, told
from examples.verdict import Facts, Verdict, report, show, verdict
from jetsql.resultset import Column
from jetsql.settings import Settings

JOBS = ("hourly_delays", "enriched", "rejected", "top_routes")
OPEN_HOURS = (Column("open_hour"), Column("carriers", "bigint"), Column("flights", "bigint"))


@dataclass(frozen=True)
class Comparison:
    """name: what is compared. query: gives the key's columns first, then its numbers."""

    name: str
    expected: Facts
    query: str

    def verdict(self, story: Story) -> Verdict:
        return verdict(self.name, self.expected, story.rows(self.query))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo. Returns its exit code, see `told`."""
    flags = argparse.ArgumentParser(description="A year of flights, four jobs, one of them suspended in between.")
    flags.add_argument("--days", type=int, default=365, help="only the first so many days of the year [365], 4 or more")
    flags.add_argument("--home", type=Path, help="an empty folder [build/demo, which is wiped at the start]")
    given = flags.parse_args(arguments)
    if not 4 <= given.days <= 365:
        flags.error("--days takes 4 to 365")
    return told(flags, given.home, ROOT / "build" / "demo", lambda home: run(home, given.days))


def run(home: Path, days: int) -> int:
    data = home / "data"
    say(f"Laying out the flights of 2013 in {shown(home)}, one file a day ...")
    flights = first_days(read_flights(), days)
    lay_out_names(data)
    files = list(lay_out(flights, data / "waiting"))
    say(f"{len(flights):,} flights in {len(files)} files. Starting Spark ...")
    with jetsql.open(settings=Settings(home=home / "engine", master="local[2]")) as engine:
        story = Story(engine, Path(__file__).parent, {"data": in_literal(data)})
        tell(story, Arrivals(data / "flights"), parts(files, 4))
        return check(story, flights)


def first_days(flights: pd.DataFrame, days: int) -> pd.DataFrame:
    wanted = sorted(flights["day"].unique())[:days]
    return flights[flights["day"].isin(wanted)]


def tell(story: Story, arrivals: Arrivals, quarters: Sequence[Sequence[Path]]) -> None:
    first, second, third, fourth = quarters

    story.chapter("Tables")
    arrivals.arrive(first[:1])
    story.file("setup.sql", Show.NOTHING)
    story.sql("SHOW TABLES")
    say("\nThe first day is there; all others are still to come.")

    story.chapter("Four jobs over one stream (jobs.sql)")
    story.file("jobs.sql")

    story.chapter(f"The first quarter arrives ({span(first[1:])})")
    arrivals.arrive(first[1:])
    story.wait(JOBS)
    story.sql("SHOW JOBS")

    story.chapter("enriched is suspended; files keep arriving, and the others go on")
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
    """How far the two jobs are that share the flights between them."""
    story.sql(
        "SELECT 'enriched' AS table, count(*) AS rows, max(day) AS newest_day FROM enriched\n"
        "UNION ALL SELECT 'rejected', count(*), max(day) FROM rejected"
    )


def check(story: Story, flights: pd.DataFrame) -> int:
    """Compare every table with the source, and say which hours are still open. Returns 1 when a table differs."""
    heading("Are the tables right? Compared with what pandas makes of the same source")
    by_hour = hours(flights)
    code = report([comparison.verdict(story) for comparison in comparisons(flights, by_hour)])
    explain_hours(flights, by_hour)
    return code


def comparisons(flights: pd.DataFrame, by_hour: Hours) -> Iterator[Comparison]:
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
    latest = flights["scheduled"].max()
    watermark = latest - WATERMARK
    say(
        f"\nhourly_delays holds exactly the closed hours: those that ended by {clock(watermark)}, the watermark.\n"
        f"That is the latest departure seen ({clock(latest)}) less the 2 hours that the job waits for late rows.\n"
        "These are still open. Their flights are in the job's state, and come out when later flights arrive:"
    )
    starts = sorted({int(str(key[0])) for key in by_hour.open})
    rows = [(clock(pd.Timestamp(start, unit="s", tz="UTC")), *open_hour(by_hour.open, start)) for start in starts]
    show(OPEN_HOURS, rows)


def open_hour(open_hours: Facts, start: int) -> tuple[int, int]:
    """Of the hour that begins at `start`: carriers, flights."""
    flights = [numbers[0] for key, numbers in open_hours.items() if key[0] == start]
    return len(flights), sum(flights)


def clock(moment: pd.Timestamp) -> str:
    return moment.tz_convert("America/New_York").strftime("%Y-%m-%d %H:%M")


def span(files: Sequence[Path]) -> str:
    return f"{files[0].stem} to {files[-1].stem}, {len(files)} files" if files else "no files"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
