"""Killed with -9 at the named places, engines go on as if nothing had happened: every row once, every job as asked for.

What fits into a test run: batches that die on their way into every kind of sink, and the copies, new versions and
statements that jobs die in meanwhile. `python -m benchmarks.faults` (`make faults`) does all of it and prints a table.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from tests.faults.matrix import Matrix
from tests.faults.rounds import SINKS, STATEMENTS, STATES, TOPICS, Scenario
from tests.support.postgres import Postgres

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

# Each of these takes a start of its own, at which nothing dies but the manager's writer. Without Spark it does so in
# `test_crashes_between_steps`, at these places too.
LEFT_OUT: Final = {
    "store-made",
    "storing-restarted",
    "stored-restarted",
    "storing-options-changed",
    "stored-options-changed",
    "storing-dropped",
    "stored-dropped",
    "storing-cleaned-up",
    "stored-continued",
    "storing-completed",
    "stored-completed",
    "storing-old-version-stopped",
    "stored-old-version-stopped",
    "stored-writing-snapshot",
    "stored-updated",
    "stored-update-committed",
}


def without_left_out(scenario: Scenario) -> Scenario:
    return replace(scenario, rounds=tuple(round for round in scenario.rounds if round.armed[-1].name not in LEFT_OUT))


CORE: Final = tuple(map(without_left_out, (SINKS, STATEMENTS, STATES, TOPICS)))


@pytest.mark.parametrize("scenario", CORE, ids=lambda scenario: scenario.name)
def test_nothing_is_lost_and_nothing_is_there_twice(
    scenario: Scenario, postgres: Postgres, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    kafka = request.getfixturevalue("kafka") if scenario.writes_topics else None
    outcome = Matrix(scenario, tmp_path, postgres, print, kafka).run()
    assert outcome.faults == []
    assert all(death.died for death in outcome.deaths)
    assert outcome.looks > 0 and outcome.files > 0 and outcome.polls > 0
