"""Killed with -9 at the named places, engines go on as if nothing had happened: every row once, every job as asked for.

What fits into a test run; `python -m benchmarks.faults` (`make faults`) does all of it and prints a table.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults.matrix import Matrix
from tests.faults.rounds import SINKS, STATEMENTS, STATES, TOPICS, Scenario
from tests.kafka import Kafka
from tests.postgres import Postgres

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

# Each of these takes a start of its own, and a neighbour that stays does nearly the same.
LEFT_OUT = {
    "store-made",
    "storing-restarted",
    "stored-restarted",
    "storing-options-changed",
    "storing-dropped",
    "storing-cleaned-up",
    "stored-continued",
    "storing-completed",
}
SHORT = replace(STATEMENTS, rounds=tuple(round for round in STATEMENTS.rounds if round.armed[-1].name not in LEFT_OUT))


@pytest.mark.parametrize("scenario", [SINKS, SHORT, STATES, TOPICS], ids=lambda scenario: scenario.name)
def test_nothing_is_lost_and_nothing_is_there_twice(
    scenario: Scenario, postgres: Postgres, kafka: Kafka, tmp_path: Path
) -> None:
    outcome = Matrix(scenario, tmp_path, postgres, print, kafka if scenario.writes_topics else None).run()
    assert outcome.faults == []
    assert all(death.died for death in outcome.deaths)
    assert outcome.looks > 0 and outcome.files > 0 and outcome.polls > 0
