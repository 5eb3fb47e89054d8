"""WAIT FOR JOB ... UNTIL IDLE: while a trigger is always running, and after the clock was set back."""

import os
from pathlib import Path
from subprocess import CompletedProcess
from typing import TYPE_CHECKING

import pytest

from tests.external_clients.engine import run_jetsql
from tests.support.clocks import ShiftedClock

if TYPE_CHECKING:
    from tests.conftest import Sql

pytestmark = pytest.mark.spark


@pytest.mark.slow
def test_trigger_in_progress_does_not_end_the_wait(sql: "Sql") -> None:
    sql("CREATE TABLE source (k INT) USING json")
    sql("CREATE TABLE sink (k INT) USING json")
    # Many files make long triggers: each lists them all.
    sql("INSERT INTO source SELECT /*+ REPARTITION(200) */ CAST(id AS INT) FROM range(200)")
    sql("CREATE JOB busy OPTIONS ('snapshotIntervalMillis' = '1') AS INSERT INTO sink SELECT k FROM STREAM source")
    for _ in range(20):
        sql("WAIT FOR JOB busy UNTIL IDLE TIMEOUT 60 SECONDS")
    assert sql("SELECT count(*) FROM sink") == [(200,)]


@pytest.mark.slow
def test_clock_set_back_does_not_end_a_wait(tmp_path: Path) -> None:
    clock, home = ShiftedClock(tmp_path), tmp_path / "home"

    def run(*arguments: str) -> CompletedProcess[str]:
        return run_jetsql(home, *arguments, environ={**os.environ, **clock.environment})

    def statements(*texts: str) -> str:
        ended = run("--format", "csv", *(word for text in texts for word in ("-e", text)))
        return ended.stdout + ended.stderr

    try:
        statements("CREATE TABLE source (k INT) USING json", "CREATE TABLE sink (k INT) USING json")
        statements("CREATE JOB j AS INSERT INTO sink SELECT k FROM STREAM source")
        assert "Batch 0" in statements("INSERT INTO source VALUES (1)", "WAIT FOR JOB j UNTIL IDLE")
        clock.jump_to(-3600)
        waited = statements("INSERT INTO source VALUES (2)", "WAIT FOR JOB j UNTIL IDLE TIMEOUT 5 SECONDS")
        assert "WAIT_TIMEOUT" in waited and "RESTART JOB continues the job now" in waited
        assert "Batch 1" in statements("RESTART JOB j", "WAIT FOR JOB j UNTIL IDLE")
        assert statements("SELECT k FROM sink ORDER BY k").split() == ["k", "1", "2"]
    finally:
        run("stop")
