"""The shell as a process on a terminal, with an engine without Spark."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jetsql.client.find_engine import StopOutcome, stop_engine, wait_for_engine
from tests.support.screens.shell_terminal import PROGRAM, environment, kill_engine, open_terminal

CREATE = "CREATE JOB j AS INSERT INTO t SELECT * FROM STREAM s;\r"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "home"
    assert stop_engine(tmp_path / "home", 60) is not StopOutcome.STILL_STOPPING


def test_a_first_session(tmp_path: Path, home: Path) -> None:
    with open_terminal(environment(tmp_path)) as shell:
        shell.wait_for("default>")
        shell.press("SELECT 2;")
        assert "default> SELECT 2;" in shell.wait_for("SELECT 2;")
        assert shell.colour_of("SELECT") == "blue"
        shell.press("\r")
        shell.wait_for("1\n2 rows\ndefault>")
        shell.wait_for("engine up")
        shell.press(CREATE)
        shell.wait_for("The first batch is committed")
        shell.wait_for("1 running")
        assert shell.status_bar.startswith("engine up")
        shell.press("SELECT\r  nonsense,\r1;\r")
        shown = shell.wait_for("This is no statement")
        assert "default> SELECT\n       |   nonsense,\n       | 1;\n" in shown
        shell.wait_for_prompt()
        shell.press("\x04")
        shell.wait_for("The engine and its jobs continue")
        assert shell.wait_for_exit() == 0


PASTED = [
    "CREATE JOB orders_by_shop AS",
    "INSERT INTO totals",
    *(f"{'  ' * (number % 5)}SELECT shop_{number}, sum(amount) AS amount_{number}," for number in range(30)),
    "",
    "    FROM STREAM orders",
    "GROUP BY 1",
]


@pytest.mark.parametrize("line_end", ["\r", "\n"])
def test_pasted_lines_keep_their_indentation(tmp_path: Path, home: Path, line_end: str) -> None:
    """Send pasted text as keys, as a terminal without bracketed paste does."""
    with open_terminal(environment(tmp_path), lines=60) as shell:
        shell.wait_for("engine up")
        shell.press(line_end.join(PASTED))
        shown = shell.wait_for("GROUP BY 1").split("default> ")[-1].splitlines()
        assert [line.removeprefix("       |").removeprefix(" ") for line in shown[: len(PASTED)]] == PASTED
        shell.press("\x03\x04")
        assert shell.wait_for_exit() == 0


def test_typed_lines_are_indented_as_the_line_before(tmp_path: Path, home: Path) -> None:
    with open_terminal(environment(tmp_path)) as shell:
        shell.wait_for("engine up")
        shell.press("SELECT\r   a,")
        shell.wait_for("       |    a,")
        shell.press("\r")
        shell.wait_for("a,\n       |")
        shell.press("b")
        shell.wait_for("default> SELECT\n       |    a,\n       |    b")
        shell.press("\x03\x04")
        assert shell.wait_for_exit() == 0


def test_options_of_scripts_are_refused(tmp_path: Path) -> None:
    for option in ("--echo", "--continue"):
        with open_terminal(environment(tmp_path), option) as shell:
            shell.wait_for(f"{option} does not apply to the shell.")
            assert shell.wait_for_exit() == 2


def test_input_before_the_engine_start_waits_for_it(tmp_path: Path, home: Path) -> None:
    late = tmp_path / "late"
    with open_terminal(environment(tmp_path, JETSQL_TEST_LATE=str(late))) as shell:
        shell.wait_for("engine: starting the engine ...")
        shell.press("SELECT 1;\r")
        shell.wait_for("Waiting for the engine")
        shell.press("\x03")
        shell.wait_for("the statement was not run")
        shell.press("SELECT 3;\r")
        shell.wait_for("Waiting for the engine")
        shell.press("SELECT 1")  # is kept for the prompt
        late.touch()
        shell.wait_for("2\n3 rows\ndefault> SELECT 1")
        shell.press("\x03\x04")
        assert shell.wait_for_exit() == 0


def test_an_engine_that_is_being_started_outlives_the_shell(tmp_path: Path, home: Path) -> None:
    late = tmp_path / "late"
    with open_terminal(environment(tmp_path, JETSQL_TEST_LATE=str(late))) as shell:
        shell.wait_for("engine: starting the engine ...")
        shell.press("\x04")
        shell.wait_for("The engine and its jobs continue")
        assert shell.wait_for_exit() == 0
    late.touch()
    assert wait_for_engine(home, 30) is not None
    stop_engine(home, 60)
    assert "The engine ends" not in (home / "engine.log").read_text()


def test_ctrl_c_ends_the_statement_on_the_engine(tmp_path: Path, home: Path) -> None:
    with open_terminal(environment(tmp_path)) as shell:
        shell.wait_for("engine up")
        shell.press(CREATE)
        shell.wait_for("The first batch is committed")
        shell.press("WAIT FOR JOB j UNTIL BATCH 1000000;\r")
        shell.wait_for("Running ...")
        shell.press("\x03")
        shell.wait_for("Cancelled.")
        shell.press("SHOW JOBS;\r")
        shell.wait_for("RUNNING", times=2)
        shell.wait_for_prompt()
        shell.press("\x04")
        assert shell.wait_for_exit() == 0


def test_the_shell_survives_its_engine(tmp_path: Path, home: Path) -> None:
    with open_terminal(environment(tmp_path)) as shell:
        shell.wait_for("engine up")
        shell.press(CREATE)
        shell.wait_for("The first batch is committed")
        shell.press("WAIT FOR JOB j UNTIL BATCH 1000000;\r")
        shell.wait_for("Running ...")
        kill_engine(home)
        shown = shell.wait_for("The shell reconnects.")
        assert "Its outcome is unknown: check it before you repeat the statement." in shown
        shell.wait_for("engine up")
        shell.press("SHOW JOBS;\r")
        shell.wait_for("submission_time")
        shell.wait_for("engine up")
        kill_engine(home)
        shell.wait_for("engine gone")
        shell.press("SELECT 4;\r")
        shell.wait_for("this is a new session.")
        shell.wait_for("3\n4 rows\ndefault>")
        shell.press("\x04")
        assert shell.wait_for_exit() == 0


def test_engine_that_must_not_start_is_reported_and_found_later(tmp_path: Path, home: Path) -> None:
    environ = environment(tmp_path)
    with open_terminal(environ, "--no-start") as shell:
        shell.wait_for("No engine runs on")
        shell.wait_for("no engine (the next statement connects)")
        subprocess.run([sys.executable, PROGRAM, "start"], env=environ, check=True, capture_output=True)
        shell.press("SELECT 1;\r")
        shell.wait_for("0\n1 row\ndefault>")
        shell.press("\x04")
        assert shell.wait_for_exit() == 0


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_shell_ends_with_its_terminal(tmp_path: Path, home: Path, number: signal.Signals) -> None:
    with open_terminal(environment(tmp_path)) as shell:
        shell.wait_for("engine up")
        shell.press("SELECT 1")
        shell.wait_for("SELECT 1")
        shell.process.kill(number)
        assert shell.wait_for_exit() == 130


def test_resizing_keeps_the_input(tmp_path: Path, home: Path) -> None:
    with open_terminal(environment(tmp_path)) as shell:
        shell.wait_for("engine up")
        shell.press("SELECT 1,\r2,\r3")
        shell.wait_for("| 3")
        shell.resize(60, 12)
        shell.wait_for("| 3")
        shell.press("\x03")
        shell.wait_for("default>", times=2)  # between two prompts, the terminal would take the next key itself
        shell.press("\x04")
        assert shell.wait_for_exit() == 0


def test_a_small_screen_has_room_for_the_prompt(tmp_path: Path, home: Path) -> None:
    with open_terminal(environment(tmp_path)) as shell:
        shell.wait_for("engine up")
        shell.resize(20, 6)
        shell.wait_for("default>")
        shell.press("SELECT 1;\r")
        shell.wait_for("1 row\ndefault>")
        shell.press("\x04")
        assert shell.wait_for_exit() == 0


def test_output_that_is_no_terminal_is_refused(tmp_path: Path) -> None:
    keyboard, stdin = os.openpty()
    ended = subprocess.run(
        [sys.executable, PROGRAM], env=environment(tmp_path), stdin=stdin, capture_output=True, text=True, check=False
    )
    os.close(keyboard)
    os.close(stdin)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "The shell needs a terminal" in ended.stderr
