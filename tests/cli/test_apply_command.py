"""`jetsql apply` as a command: its usage, its exit codes, and what is reported before an engine is found."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import pytest
from click.testing import CliRunner, Result

from jetsql import cli
from jetsql.cli.flags import ExitCode
from tests.support.engines.declared_engine import DeclaredCatalog
from tests.support.paths import ROOT
from tests.support.servers.declared_server import declared_server
from tests.support.servers.http_server import TOKEN, RunningServer

Apply = Callable[..., Result]
FILE = """CREATE TABLE orders (id BIGINT) USING json;
CREATE TABLE copies (id BIGINT) USING parquet;
CREATE JOB copies AS INSERT INTO copies SELECT id FROM STREAM orders;
"""


@pytest.fixture
def apply(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Apply:
    monkeypatch.setenv("JETSQL_CONFIG", os.devnull)
    monkeypatch.chdir(tmp_path)
    Path("sql").mkdir()

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(cli.cli, ["apply", *arguments], catch_exceptions=False, prog_name="jetsql")

    return run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing argument 'DIR'."),
        (["none"], "There is no folder none."),
        (["a.sql"], "There is no folder a.sql."),
        (["sql"], "There are no .sql files in sql."),
        (["sql", "--plna"], "No such option '--plna'."),
        (["sql", "--prune"], "--prune needs --group NAME"),
        (["sql", "--format", "csv"], "'csv' is not one of 'text', 'json'"),
        (["sql", "--set", "1=2"], "--set: '1' is not a valid name."),
        (["sql", "--url", "nonsense"], "begins with neither"),
    ],
)
def test_usage_error_is_no_plan(apply: Apply, arguments: list[str], message: str) -> None:
    """Distinguish usage errors from a plan with changes, whose exit code is 2."""
    Path("a.sql").write_text("SHOW JOBS;")
    if "--url" in arguments:
        Path("sql/a.sql").write_text("CREATE SCHEMA s;")
    ended = apply("--plan", *arguments)
    assert ended.exit_code == 1 and message in " ".join(ended.stderr.split()), ended.output
    assert cli.main(["apply", "--plan", *arguments]) == 1


def test_errors_in_files_are_reported_without_an_engine(apply: Apply) -> None:
    Path("sql/a.sql").write_text(
        "CREATE TABLE t (a INT);\nDROP JOB j;\nCREATE JOB j OPTIONS ('x' = '1') AS INSERT INTO t SELECT 1;"
    )
    Path("sql/b.sql").write_text("CREATE VIEW t AS SELECT ${missing};\nCREATE TABLE `t` (a INT);")
    Path("sql/.hidden.sql").write_text("nonsense")
    ended = apply("sql", "--url", "http://127.0.0.1:1")
    assert ended.exit_code == ExitCode.PROBLEMS_FOUND and ended.stdout == ""
    places = [line.split(" ", 2)[:2] for line in ended.stderr.splitlines() if line.startswith("sql")]
    assert places == [
        ["sql/a.sql:3:23:", "[JETSQL.UNKNOWN_OPTION]"],
        ["sql/b.sql:1:25:", "[JETSQL.VARIABLE_NOT_SET]"],
        ["sql/a.sql:2:1:", "[JETSQL.NOT_A_DECLARATION]"],
        ["sql/b.sql:2:14:", "[JETSQL.DECLARED_TWICE]"],
    ]
    assert ended.stderr.endswith("4 errors in 2 files. Nothing was changed.\n")
    ended = apply("sql", "--format", "json")
    assert len(json.loads(ended.stdout)["problems"]) == 4 and ended.exit_code == 1


def test_without_an_engine_nothing_is_planned(apply: Apply, tmp_path: Path) -> None:
    Path("sql/a.sql").write_text("CREATE SCHEMA s;")
    ended = apply("sql", "--plan", "--url", "http://127.0.0.1:1")
    assert ended.exit_code == ExitCode.NO_ENGINE and "JETSQL.ENGINE_NOT_REACHABLE" in ended.stderr
    home = tmp_path / "home"
    ended = apply("sql", "--plan", "--home", str(home))
    assert ended.exit_code == ExitCode.NO_ENGINE and f"There is no home {home}" in ended.stderr
    assert not home.exists()


# --- on an engine in memory, over HTTP -------------------------------------------------------------------------------


class Held:
    """Hold an engine before its n-th change."""

    def __init__(self, catalog: DeclaredCatalog, number: int) -> None:
        self.reached = threading.Event()
        self.continues = threading.Event()
        self._left = number
        catalog.before = self._before

    def _before(self, text: str) -> None:
        self._left -= 1
        if self._left == 0:
            self.reached.set()
            assert self.continues.wait(120)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, apply: Apply) -> Iterator[tuple[RunningServer, DeclaredCatalog]]:
    monkeypatch.setenv("JETSQL_TOKEN", TOKEN)
    Path("sql/a.sql").write_text(FILE)
    with declared_server() as (server, catalog):
        monkeypatch.setenv("JETSQL_URL", server.url)
        yield server, catalog


def start_process() -> subprocess.Popen[str]:
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "jetsql", "apply", "sql"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True)


def test_exit_code_shows_pending_changes(apply: Apply, served: tuple[RunningServer, DeclaredCatalog]) -> None:
    assert apply("--plan", "sql").exit_code == ExitCode.CHANGES_PLANNED
    ended = apply("sql")
    assert ended.exit_code == 0 and ended.stderr == "" and ended.stdout.endswith("created job copies: Created.\n")
    ended = apply("--plan", "--format", "json", "sql")
    assert ended.exit_code == 0 and json.loads(ended.stdout)["status"] == "nothing to do"


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_killed_run_is_completed_by_the_next_one(
    apply: Apply, served: tuple[RunningServer, DeclaredCatalog], number: int
) -> None:
    _, catalog = served
    held = Held(catalog, number)
    process = start_process()
    assert held.reached.wait(120)
    process.kill()
    process.communicate()
    held.continues.set()
    ended = apply("sql")
    assert ended.exit_code == 0 or "Another program has created it" in ended.stderr  # the engine was not done yet
    assert apply("sql").exit_code == 0 and apply("--plan", "sql").exit_code == 0
    assert len(catalog.tables) == 2 and len(catalog.jobs) == 1


def test_ctrl_c_reports_what_was_done(apply: Apply, served: tuple[RunningServer, DeclaredCatalog]) -> None:
    _, catalog = served
    held = Held(catalog, 2)
    process = start_process()
    assert held.reached.wait(120)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    held.continues.set()
    assert process.returncode == ExitCode.INTERRUPTED and out.endswith("created table orders\n")
    assert err.splitlines()[:3] == [
        "Done: create table orders.",
        "Interrupted, and perhaps done: create table copies.",
        "Not done: create job copies.",
    ]


def test_concurrent_run_is_reported(apply: Apply, served: tuple[RunningServer, DeclaredCatalog]) -> None:
    _, catalog = served
    held = Held(catalog, 1)
    process = start_process()
    assert held.reached.wait(120)
    assert apply("sql").exit_code == 0
    held.continues.set()
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1 and "sql/a.sql:1:14: [TABLE_OR_VIEW_ALREADY_EXISTS]" in err
    assert "Another program has created it since the plan was made. Run `jetsql apply` again." in err
    assert apply("--plan", "sql").exit_code == 0


@pytest.mark.parametrize(("answer", "code"), [("n", 1), ("y", 0)])
def test_replacement_needs_a_confirmation(
    apply: Apply, served: tuple[RunningServer, DeclaredCatalog], answer: str, code: int
) -> None:
    _, catalog = served
    assert apply("sql").exit_code == 0
    Path("sql/a.sql").write_text(FILE.replace("SELECT id", "SELECT id + 1"))
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "dumb"}
    child = pexpect.spawn(sys.executable, ["-m", "jetsql", "apply", "sql"], env=environ, encoding="utf-8", timeout=120)
    child.expect_exact("1 to replace, 2 left as it is. Continue? [y/N]: ")
    child.sendline(answer)
    child.expect_exact("replaced job copies: Updated." if answer == "y" else "Nothing was changed.")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == code and len(catalog.ran) == (4 if answer == "y" else 3)
