"""The shell on a terminal with Spark: one long session, in which the engine is killed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jetsql.client.engine_client import EngineClient
from jetsql.client.find_engine import StopOutcome, find_engine, stop_engine
from jetsql.client.http_client import HttpClient
from tests.conftest import until
from tests.support.engines.spark_conf import CONF
from tests.support.screens.shell_terminal import JETSQL, ShellTerminal, environment, kill_engine, open_terminal

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

CTRL_C, CTRL_D, CTRL_L, TAB = "\x03", "\x04", "\x0c", "\t"
SECONDS = 120.0


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    confs = [f'{name} = "{value}"' for name, value in CONF.items() if name != "spark.jars.packages"]
    (tmp_path / "config.toml").write_text("\n".join(['master = "local[2]"', *confs, ""]))
    yield tmp_path / "home"
    assert stop_engine(tmp_path / "home", 60) is not StopOutcome.STILL_STOPPING


@pytest.mark.slow
def test_shell_session(tmp_path: Path, home: Path) -> None:
    with open_terminal(environment(tmp_path), program=JETSQL, seconds=SECONDS, columns=150, lines=40) as shell:
        begin(shell)
        suspend_and_resume(shell)
        look_at_rows(shell)
        look_at_counts(shell)
        watch(shell)
        act_in_top(shell)
        make_mistakes(shell)
        read_a_file(shell, tmp_path / "more.sql")
        lose_the_engine(shell, home)
        drop(shell)
        clean(shell)
        shell.press(CTRL_D)
        shell.wait_for("The engine and its jobs continue")
        assert shell.wait_for_exit() == 0
    assert_nothing_is_left(home)


def begin(shell: ShellTerminal) -> None:
    """Type while the engine starts; the shell runs it when the engine is up."""
    shell.wait_for("engine: starting the engine ...")
    shell.press("CREATE TABLE ticks USING rate OPTIONS (rowsPerSecond 5);\r")
    shell.wait_for("Waiting for the engine")
    shell.press("CREATE TABLE evens (n BIGINT) USING parquet;\r")
    shell.wait_for("\ndone\n", times=2)
    shell.press("CREATE JOB evens OPTIONS ('snapshotIntervalMillis' = '200')\r")
    shell.press("AS INSERT INTO evens SELECT value FROM STREAM ticks WHERE value % 2 = 0;\r")
    shell.wait_for("The first batch is committed. Delivery: at least once.")
    shell.wait_for("engine up · 1 running")
    shell.press("SHOW JOBS;\r")
    shell.wait_for("at least once |")


def suspend_and_resume(shell: ShellTerminal) -> None:
    """Complete each verb with the jobs that it applies to."""
    clean(shell)
    shell.press("SUSPEND JOB ")
    shell.wait_for("evens  job, RUNNING")
    shell.press(TAB)
    shell.wait_for("SUSPEND JOB evens")
    shell.press(";\r")
    shell.wait_for("| SUSPENDED |")
    shell.wait_for("1 suspended")
    shell.press("RESUME JOB ")
    shell.wait_for("evens  job, SUSPENDED")
    shell.press(TAB + ";\r")
    shell.wait_for("RESUME JOB evens;")
    shell.wait_for("| RUNNING ")
    shell.wait_for("engine up · 1 running")
    clean(shell)
    shell.press(".jobs\r")
    shell.wait_for("evens | RUNNING")


def look_at_rows(shell: ShellTerminal) -> None:
    clean(shell)
    shell.press("SELECT * FROM STREAM ticks;\r")
    shown = shell.wait_for("batch 3 · ")
    assert "rows/s" in shown and "timestamp" in shown
    shell.press(CTRL_C)
    shell.wait_for(" batches, ")
    shell.wait_for("\ndefault>")


def look_at_counts(shell: ShellTerminal) -> None:
    """Show the whole result in one place, however often it comes."""
    clean(shell)
    shell.press("SELECT value % 2 AS parity, count(*) AS n FROM STREAM ticks GROUP BY ALL ORDER BY parity;\r")
    shell.wait_for("     1 | ")
    shown = shell.wait_for("batch 4 · ")
    assert shown.count("parity |") == 1
    shell.press(CTRL_C)
    assert shell.wait_for("2 rows after ").count("     0 | ") == 1
    shell.wait_for("\ndefault>")


def watch(shell: ShellTerminal) -> None:
    clean(shell)
    shell.press(".watch 0.2 SHOW JOBS\r")
    shell.wait_for("every 0.2 s until q: SHOW JOBS")
    shell.wait_for("| RUNNING |")
    shell.press("q")
    shell.wait_for("\ndefault>")


def act_in_top(shell: ShellTerminal) -> None:
    clean(shell)
    shell.press(".top\r")
    shell.wait_for("RUNNING      evens")
    shell.press("s")
    shell.wait_for("SUSPENDED    evens")
    shell.press("r")
    shell.wait_for("RUNNING      evens")
    shell.press("q")
    shell.wait_for("\ndefault>")


def make_mistakes(shell: ShellTerminal) -> None:
    clean(shell)
    shell.press("SELECT n,\r  nothing\rFROM evens;\r")
    shown = shell.wait_for("A column, variable, or function parameter with name `nothing`")
    assert "    2 |   nothing\n      |   ^" in shown
    shell.press(".errors\r")
    shell.wait_for("SQLSTATE:  42703")


def read_a_file(shell: ShellTerminal, file: Path) -> None:
    """Run a file without confirmations, up to the first error."""
    clean(shell)
    texts = ("CREATE VIEW few AS SELECT 7 * 6 AS answer", "SELECT * FROM few", "DROP VIEW few", "nonsense", "SELECT 1")
    file.write_text(";\n".join(texts))
    shell.press(f".read {file}\r")
    shell.wait_for("    42\n")
    shell.wait_for("1 more was not run.")


def lose_the_engine(shell: ShellTerminal, home: Path) -> None:
    clean(shell)
    shell.press("SET spark.sql.ansi.enabled = false;\r")
    shell.wait_for("spark.sql.ansi.enabled | false")
    shell.press("WAIT FOR JOB evens UNTIL BATCH 1000000;\r")
    shell.wait_for("Running ...")
    kill_engine(home)
    shown = shell.wait_for("The shell reconnects.")
    assert "while this statement ran: WAIT FOR JOB evens UNTIL BATCH 1000000" in shown
    assert "Settings (SET), temporary views and variables of the old session are lost" in shown
    shell.wait_for("engine up · 1 running")
    clean(shell)
    shell.press("SET spark.sql.ansi.enabled;\r")
    shell.wait_for("spark.sql.ansi.enabled | true")


def drop(shell: ShellTerminal) -> None:
    clean(shell)
    shell.press("DROP JOB evens;\r")
    shell.wait_for("Stop and drop job evens for good? Its state is lost. [y/N]")
    shell.press("n\r")
    shell.wait_for("Not run.")
    shell.press("DROP JOB evens;\r")
    shell.wait_for("[y/N]", times=2)
    shell.press("y\r")
    shell.wait_for("engine up · 0 running")


def clean(shell: ShellTerminal) -> None:
    shell.press(CTRL_L)
    until(lambda: shell.current_screen.split("\n")[0] == "default>")


def assert_nothing_is_left(home: Path) -> None:
    found = find_engine(home)
    assert found is not None
    client = HttpClient(found.note.url, found.note.token)
    until(lambda: (about := client.request("GET", "/v1/engine"))["statements"] == 0 and about["sessions"] == 0)
    client.close()
    remote = EngineClient(found.note.url, found.note.token)
    assert list(remote.run("SELECT name FROM jetsql.jobs WHERE status <> 'DROPPED'").rows) == []
    remote.close()
    assert list((home / "streaming-selects").glob("*")) == []
