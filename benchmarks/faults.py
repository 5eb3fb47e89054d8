"""The crash matrix: jobs of every kind are killed at every failpoint and started again, and every row is counted.

Each run of the engine kills many jobs, each at another failpoint; the next run continues from there. At the end, all
sinks are compared with the expected rows, and the store's history with the statements that were run. Two readers poll
the tables during all runs, one without Spark and one in a session that stays open.

`lost` and `twice` count the rows of the jobs that died at a failpoint; duplicates that the guarantee allows are not
counted. `s` is the total time of the runs that died there, each until its death. The exit code is 1 for any deviation.

The fail points of Delta and Iceberg tables need an older Spark: see `tests/stories/test_lakehouse_crashes.py`.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchmarks.reporting import figure, figures, introduce, say, table, text
from jetsql.failpoints import POINTS

if TYPE_CHECKING:  # a server and Spark's client are slow to import, and --help needs neither
    from tests.faults.matrix import Outcome
    from tests.faults.rounds import Scenario


@dataclass(frozen=True)
class Line:
    """A failpoint's line of the table."""

    point: str
    """The name of the failpoint."""
    jobs: str
    """The names of the jobs that died there."""
    deaths: int
    """The number of deaths of jobs."""
    lost: int
    """The rows that these jobs have lost."""
    twice: int
    """The rows that these jobs have written twice."""
    verdict: str
    """`ok`, or the deviations."""
    seconds: float
    """The total time of the runs that died there."""


def line(point: str, results: list[tuple[Scenario, Outcome]]) -> Line:
    """Return the line of the table for a failpoint."""
    deaths = [
        (scenario, outcome, death, place.job)
        for scenario, outcome in results
        for death in outcome.deaths
        for place in death.round.armed
        if place.name == point and death.died
    ]
    jobs = dict.fromkeys(job for _, _, _, job in deaths if job)
    at = {(scenario.name, job): outcome.losses.get(job) for scenario, outcome, _, job in deaths if job}
    losses = [loss for loss in at.values() if loss is not None]
    lost, twice = sum(loss.lost for loss in losses), sum(loss.twice for loss in losses)
    problems = [problem for _, outcome in results for problem in outcome.wrong_at.get(point, [])]
    if not deaths:
        problems.append("NEVER REACHED")
    if len(losses) < len(at):
        problems.append("NOT COMPARED")
    verdict = "; ".join(problems) or ("WRONG" if lost or twice else "ok")
    seconds = sum({id(death): death.seconds for _, _, death, _ in deaths}.values())
    return Line(point, ", ".join(jobs), len(deaths), lost, twice, verdict, seconds)


def run(scenarios: list[Scenario]) -> list[tuple[Scenario, Outcome]]:
    from tests.faults.matrix import Matrix
    from tests.faults.migration import MIGRATION, Migration
    from tests.support.servers.kafka import running_kafka
    from tests.support.servers.postgres import running_postgres

    results: list[tuple[Scenario, Outcome]] = []
    with running_postgres() as server, tempfile.TemporaryDirectory(prefix="jetsql-faults-") as folder:
        for scenario in scenarios:
            home = Path(folder) / scenario.name
            if scenario.name == MIGRATION.name:
                results.append((scenario, Migration(scenario, home, say).run()))
            else:
                # The scenarios write topics of the same names, so each has a broker of its own.
                with running_kafka() if scenario.writes_topics else nullcontext() as kafka:
                    results.append((scenario, Matrix(scenario, home, server, say, kafka).run()))
            report_scenario(*results[-1])
    return results


def report_scenario(scenario: Scenario, outcome: Outcome) -> None:
    """Print the outcome of one scenario."""
    say(f"{scenario.name}: {outcome.seconds:.0f} s; {_describe_readers(outcome)}")
    for fault in outcome.faults:
        say(f"  WRONG {fault}")
    say()


def report(results: list[tuple[Scenario, Outcome]], points: list[str]) -> bool:
    """Print the table. Return whether everything is as expected."""
    rows = [line(point, results) for point in points]
    say()
    descriptions = {kind.name: kind.words for scenario, _ in results for kind in scenario.kinds}
    width = max(map(len, descriptions), default=0)
    for name, description in sorted(descriptions.items()):
        say(f"{name:{width}} {description}")
    say()
    columns = (text("failpoint"), text("jobs that died"), *figures("deaths", "lost", "twice"), text("verdict"))
    table(
        (*columns, *figures("s")),
        [(row.point, row.jobs, row.deaths, row.lost, row.twice, row.verdict, figure(row.seconds, 1)) for row in rows],
    )
    killed = sum(death.died and bool(death.round.places) for _, outcome in results for death in outcome.deaths)
    losses = [loss for _, outcome in results for loss in outcome.losses.values()]
    say(
        f"{killed} runs killed, {sum(row.deaths for row in rows)} deaths of jobs at {len(rows)} failpoints,"
        f" {sum(loss.lost for loss in losses)} rows lost, {sum(loss.twice for loss in losses)} twice"
        f"{', NOT ALL COMPARED' if any(not outcome.losses for scenario, outcome in results if scenario.jobs) else ''}"
    )
    return all(not outcome.faults for _, outcome in results) and all(row.verdict == "ok" for row in rows)


def _describe_readers(outcome: Outcome) -> str:
    return f"{outcome.file_polls} polls of {outcome.files} files without Spark, {outcome.polls} in an open session"


@click.command(help=__doc__)
@click.option("--only", type=click.Choice(list(POINTS)), metavar="NAME", help="Run only this failpoint.")
@click.option("--scenario", metavar="NAME", help="Run only this scenario, with its failpoints.")
def main(only: str | None, scenario: str | None) -> None:
    from tests.faults.migration import MIGRATION
    from tests.faults.rounds import SCENARIOS

    introduce("faults: kill -9 at every failpoint", "local[2], driver memory 1g; PostgreSQL and Kafka on loopback")
    points = [only] if only else [point for point in POINTS if not point.startswith("lake-")]
    scenarios = [*SCENARIOS.values(), MIGRATION]
    if scenario:
        scenarios = [each for each in scenarios if each.name == scenario]
        if not scenarios:
            raise click.BadParameter(f"choose from {', '.join(SCENARIOS)}, {MIGRATION.name}", param_hint="--scenario")
        points = [point for point in points if any(each.dies_at(point) for each in scenarios)]
    if only:
        scenarios = [each.only(only) for each in scenarios if each.dies_at(only)]
    sys.exit(0 if report(run(scenarios), points) else 1)


if __name__ == "__main__":
    main()
