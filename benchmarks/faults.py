"""The crash matrix: jobs of every kind are killed at every named place, started again, and every row is counted.

Each start of the engine kills many jobs at once, each at a place of its own; the next one goes on from there. In the
end all sinks are compared with the rows that must be in them, and the store's history with what was asked for. Readers
poll the tables all the time, one beside Spark and one in a session that stays open.

`lost` and `twice` are rows of the jobs that died at a place; what comes again where that may be is not counted.
`s` is how long the starts took that died there, each to its death. Exit code 1 when anything is not as it must be.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
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
    kinds: str
    deaths: int
    lost: int
    twice: int
    verdict: str
    seconds: float


def lines(scenarios: list[tuple[Scenario, Outcome]], points: list[str]) -> Iterator[Line]:
    for point in points:
        found = [line for scenario, outcome in scenarios if (line := _line(point, scenario, outcome))]
        yield from found or [Line(point, "", 0, 0, 0, "NEVER CAME THERE", 0.0)]


def _line(point: str, scenario: Scenario, outcome: Outcome) -> Line | None:
    deaths = [death for death in outcome.deaths if any(place.name == point for place in death.round.armed)]
    if not deaths:
        return None
    at = [place for death in deaths if death.died for place in death.round.armed if place.name == point]
    jobs = {place.job for place in at}
    kinds = [kind.words for kind in scenario.kinds if kind.name in jobs]
    losses = [loss for name, loss in outcome.losses.items() if name in jobs]
    lost, twice = sum(loss.lost for loss in losses), sum(loss.twice for loss in losses)
    wrong = outcome.wrong_at.get(point, [])
    compared = all(job in outcome.losses for job in jobs if job)
    verdict = "; ".join(wrong) or ("WRONG" if lost or twice else "ok" if at and compared else "NOT COMPARED")
    return Line(point, ", ".join(kinds), len(at), lost, twice, verdict, sum(death.seconds for death in deaths))


def run(scenarios: list[Scenario]) -> list[tuple[Scenario, Outcome]]:
    from tests.faults.matrix import Matrix
    from tests.faults.migration import MIGRATION, Migration
    from tests.postgres import running_postgres

    found = []
    with running_postgres() as server, tempfile.TemporaryDirectory(prefix="jetsql-faults-") as folder:
        for scenario in scenarios:
            home = Path(folder) / scenario.name
            if scenario.name == MIGRATION.name:
                found.append((scenario, Migration(scenario, home, say).run()))
            else:
                found.append((scenario, Matrix(scenario, home, server, say).run()))
    return found


def report(found: list[tuple[Scenario, Outcome]], points: list[str]) -> bool:
    """Print the table; whether all is well."""
    rows = list(lines(found, points))
    say()
    columns = (text("failpoint"), text("jobs that died there"), *figures("deaths", "lost", "twice"), text("verdict"))
    table(
        (*columns, *figures("s")),
        [(row.point, row.kinds, row.deaths, row.lost, row.twice, row.verdict, figure(row.seconds, 1)) for row in rows],
    )
    killed = sum(death.died and bool(death.round.places) for _, outcome in found for death in outcome.deaths)
    losses = [loss for _, outcome in found for loss in outcome.losses.values()]
    say(
        f"{killed} starts killed, {sum(row.deaths for row in rows)} deaths of jobs at {len(rows)} places,"
        f" {sum(loss.lost for loss in losses)} rows lost, {sum(loss.twice for loss in losses)} twice"
    )
    for scenario, outcome in found:
        say(f"{scenario.name}: {outcome.seconds:.0f} s; {_readers(outcome)}")
        for words in outcome.faults:
            say(f"  WRONG {words}")
    return all(not outcome.faults for _, outcome in found) and all(row.verdict == "ok" for row in rows)


def _readers(outcome: Outcome) -> str:
    return f"{outcome.looks} looks at {outcome.files} files from outside, {outcome.polls} by an open session"


@click.command(help=__doc__)
@click.option("--only", type=click.Choice(list(POINTS)), metavar="NAME", help="One failpoint.")
def main(only: str | None) -> None:
    from tests.faults.migration import MIGRATION
    from tests.faults.rounds import SCENARIOS

    introduce("faults: kill -9 at every named place", "local[2], driver memory 1g; PostgreSQL on loopback")
    points = [only] if only else list(POINTS)
    scenarios = [*SCENARIOS.values(), MIGRATION]
    if only:
        scenarios = [scenario.only(only) for scenario in scenarios if scenario.dies_at(only)]
    sys.exit(0 if report(run(scenarios), points) else 1)


if __name__ == "__main__":
    main()
