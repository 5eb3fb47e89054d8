"""The shell's screens as the user sees them: streams, a pager, a watched statement, the jobs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from jetsql.jobs.model.job import Status
from jetsql.jobs.statements.job_metrics import JobMetrics
from jetsql.jobs.statements.metrics_sample import JobSample
from jetsql.jobs.store.metrics import Totals
from jetsql.resultset import Column
from jetsql.server.statement_result import StatementResult
from tests.support.engines.server_engine import ServedEngine
from tests.support.screens.shell_terminal import ShellTerminal, environment, open_terminal
from tests.support.servers.http_server import TOKEN, run_server


class ScreensEngine(ServedEngine):
    def run(self, text: str) -> StatementResult:
        return StatementResult(
            (Column("name"), Column("status"), Column("last_error")), iter([("orders", "RUNNING", None)])
        )


@pytest.fixture
def engine() -> ScreensEngine:
    reading = JobMetrics("0001-0000-0000-0001", "orders", Status.RUNNING, 1, 0, Totals(), None, None, None)
    return ScreensEngine(jobs_now=[JobSample(reading, 12345.0, (1.0, 2.0))])


@pytest.fixture
def shell(engine: ServedEngine, tmp_path: Path) -> Iterator[ShellTerminal]:
    environ = environment(tmp_path, JETSQL_TOKEN=TOKEN, PAGER="head -n 3")
    with run_server(engine) as server, open_terminal(environ, "--url", server.url) as shell:
        shell.wait_for("default>")
        yield shell
        shell.wait_for_prompt()
        shell.press("\x04")
        assert shell.wait_for_exit() == 0


def test_stream_is_shown_until_q_cancels_it(shell: ShellTerminal, engine: ServedEngine) -> None:
    shell.press("LOOK 2 ENDLESS;\r")
    shell.wait_for("not shown")
    shell.wait_for("q ends")
    shell.press("q")
    shell.wait_for("batch, ")
    shell.wait_for("default>", times=1)
    assert engine.ended.wait(60)
    shell.press("SELECT still;\r")
    shell.wait_for("1 row\ndefault>")


def test_input_before_stream_rows_waits_for_the_prompt(shell: ShellTerminal, engine: ServedEngine) -> None:
    shell.press("LOOK 2 ENDLESS;\r")
    shell.wait_for("q ends")
    shell.press("SELECT q")
    shell.wait_for("Ctrl-C ends")
    shell.press("uite;\x03")
    shell.wait_for("default> SELECT quite;")
    assert engine.ended.wait(60)
    shell.press("\r")
    shell.wait_for("1 row")


def test_output_command_survives_ctrl_c_and_its_end_is_reported(
    shell: ShellTerminal, engine: ServedEngine, tmp_path: Path
) -> None:
    shell.press(f".output |cat > {tmp_path / 'out'}\r")
    shell.wait_for("Results go to")
    shell.press("WAIT;\r")
    assert engine.waiting.wait(60)
    shell.press("\x03")
    shell.wait_for("Cancelled.")
    shell.press("SELECT kept;\r")
    shell.wait_for("1 row to `cat")
    shell.press(".output |exit 3\r")
    shell.wait_for("`exit 3` has ended with exit code 3; results go to the screen.")
    assert "kept" in (tmp_path / "out").read_text()
    shell.press("SELECT shown;\r")
    shell.wait_for("shown", times=2)


def test_invalid_text_is_reported_and_not_run(shell: ShellTerminal, engine: ServedEngine) -> None:
    os.write(shell.process.child_fd, b"SELECT 1,\r '\xff';\r")
    shell.wait_for("Not run: line 2, character 3 is a byte that is not UTF-8.")
    shell.press("SELECT still;\r")
    shell.wait_for("1 row")
    assert engine.statements.texts == ["SELECT still"]


def test_prompt_returns_after_the_pager(shell: ShellTerminal, engine: ServedEngine) -> None:
    shell.press("ENDLESS;\r")
    shell.wait_for("rows read")
    assert engine.ended.wait(60)
    shell.press("SELECT still;\r")
    shell.wait_for("1 row")


def test_a_statement_is_watched_until_q_or_ctrl_c(shell: ShellTerminal) -> None:
    shell.press(".watch 0.1 SELECT something\r")
    shell.wait_for("until q: SELECT something")
    shell.press("q")
    shell.wait_for("default>", times=2)
    shell.press(".watch WAIT\r")
    shell.wait_for("WAIT is not read-only")
    shell.press(".watch 60 SELECT more\r")
    shell.wait_for("until q: SELECT more")
    shell.press("\x03")
    shell.wait_for("default>", times=4)


def test_top_uses_the_whole_screen_until_q(shell: ShellTerminal, engine: ServedEngine) -> None:
    shell.press(".top\r")
    shell.wait_for("orders")
    assert "default>" not in shell.screen
    shell.press("d")
    shell.wait_for("Drop the job orders? Its state is lost, its table stays. [y/N]")
    shell.press("y")
    shell.wait_for("unknown: DROP")  # what this engine answers
    assert engine.statements.texts == ["DROP JOB '0001-0000-0000-0001'"]
    shell.resize(60, 10)
    shell.wait_for("12k")
    shell.press("q")
    shell.wait_for("default>")
    shell.press("SELECT still;\r")
    shell.wait_for("1 row")
