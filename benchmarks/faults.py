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
    jobs: str
    deaths: int
    lost: int
    twice: int
    verdict: str
    seconds: float


def line(point: str, found: list[tuple[Scenario, Outcome]]) -> Line:
    """What became of all who died there."""
    deaths = [
        (scenario, outcome, death, place.job)
        for scenario, outcome in found
        for death in outcome.deaths
        for place in death.round.armed
        if place.name == point and death.died
    ]
    jobs = dict.fromkeys(job for _, _, _, job in deaths if job)
    at = {(scenario.name, job): outcome.losses.get(job) for scenario, outcome, _, job in deaths if job}
    losses = [loss for loss in at.values() if loss is not None]
    lost, twice = sum(loss.lost for loss in losses), sum(loss.twice for loss in losses)
    wrong = [words for _, outcome in found for words in outcome.wrong_at.get(point, [])]
    if not deaths:
        wrong.append("NEVER CAME THERE")
    if len(losses) < len(at):
        wrong.append("NOT COMPARED")
    verdict = "; ".join(wrong) or ("WRONG" if lost or twice else "ok")
    seconds = sum({id(death): death.seconds for _, _, death, _ in deaths}.values())
    return Line(point, ", ".join(jobs), len(deaths), lost, twice, verdict, seconds)


def run(scenarios: list[Scenario]) -> list[tuple[Scenario, Outcome]]:
    from tests.faults.matrix import Matrix
    from tests.faults.migration import MIGRATION, Migration
    from tests.support.kafka import running_kafka
    from tests.support.postgres import running_postgres

    found = []
    with running_postgres() as server, tempfile.TemporaryDirectory(prefix="jetsql-faults-") as folder:
        for scenario in scenarios:
            home = Path(folder) / scenario.name
            if scenario.name == MIGRATION.name:
                found.append((scenario, Migration(scenario, home, say).run()))
            else:
                # The scenarios write topics of the same names, so each has a broker of its own.
                with running_kafka() if scenario.writes_topics else nullcontext() as kafka:
                    found.append((scenario, Matrix(scenario, home, server, say, kafka).run()))
            tell(*found[-1])
    return found


def tell(scenario: Scenario, outcome: Outcome) -> None:
    """How one scenario went, as soon as that is known."""
    say(f"{scenario.name}: {outcome.seconds:.0f} s; {_readers(outcome)}")
    for words in outcome.faults:
        say(f"  WRONG {words}")
    say()


def report(found: list[tuple[Scenario, Outcome]], points: list[str]) -> bool:
    """Print the table; whether all is well."""
    rows = [line(point, found) for point in points]
    say()
    for name, words in sorted({kind.name: kind.words for scenario, _ in found for kind in scenario.kinds}.items()):
        say(f"{name:10}{words}")
    say()
    columns = (text("failpoint"), text("jobs that died there"), *figures("deaths", "lost", "twice"), text("verdict"))
    table(
        (*columns, *figures("s")),
        [(row.point, row.jobs, row.deaths, row.lost, row.twice, row.verdict, figure(row.seconds, 1)) for row in rows],
    )
    killed = sum(death.died and bool(death.round.places) for _, outcome in found for death in outcome.deaths)
    losses = [loss for _, outcome in found for loss in outcome.losses.values()]
    say(
        f"{killed} starts killed, {sum(row.deaths for row in rows)} deaths of jobs at {len(rows)} places,"
        f" {sum(loss.lost for loss in losses)} rows lost, {sum(loss.twice for loss in losses)} twice"
        f"{', NOT ALL COMPARED' if any(not outcome.losses for scenario, outcome in found if scenario.jobs) else ''}"
    )
    return all(not outcome.faults for _, outcome in found) and all(row.verdict == "ok" for row in rows)


def _readers(outcome: Outcome) -> str:
    return f"{outcome.looks} looks at {outcome.files} files from outside, {outcome.polls} by an open session"


@click.command(help=__doc__)
@click.option("--only", type=click.Choice(list(POINTS)), metavar="NAME", help="One failpoint.")
def main(only: str | None) -> None:
    from tests.faults.migration import MIGRATION
    from tests.faults.rounds import SCENARIOS

    introduce("faults: kill -9 at every named place", "local[2], driver memory 1g; PostgreSQL and Kafka on loopback")
    points = [only] if only else list(POINTS)
    scenarios = [*SCENARIOS.values(), MIGRATION]
    if only:
        scenarios = [scenario.only(only) for scenario in scenarios if scenario.dies_at(only)]
    sys.exit(0 if report(run(scenarios), points) else 1)


if __name__ == "__main__":
    main()
