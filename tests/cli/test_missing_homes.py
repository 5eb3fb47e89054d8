"""A home that does not exist: commands that only show or control something do not create it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from jetsql import cli
from jetsql.cli.flags import ExitCode
from tests.support.golden_reports import compare


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JETSQL_HOME", str(tmp_path / "mistyped"))
    monkeypatch.setenv("JETSQL_CONFIG", os.devnull)
    return tmp_path / "mistyped"


def jetsql(*arguments: str, input: str | None = None) -> Result:
    return CliRunner().invoke(cli.cli, arguments, input=input, catch_exceptions=False, prog_name="jetsql")


@pytest.mark.parametrize(
    "arguments",
    [
        ["list-jobs"],
        ["list-snapshots"],
        ["describe", "j"],
        ["suspend", "j"],
        ["cancel", "j"],
        ["restart", "--all"],
        ["delete-snapshot", "s"],
        ["-e", "SHOW JOBS; DESCRIBE JOB j; -- and\nshow tables"],
        ["-e", "SUSPEND JOB j", "-e", "wait for job j"],
        ["run", "--embedded", "-e", "SHOW JOBS"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("is_folder", [False, True], ids=["no folder", "empty folder"])
def test_command_for_existing_homes_creates_none(home: Path, arguments: list[str], is_folder: bool) -> None:
    if is_folder:
        home.mkdir()
    ended = jetsql(*arguments)
    assert (ended.exit_code, ended.stdout) == (ExitCode.NO_ENGINE, "")
    compare([ended.stderr.strip().replace(str(home), "HOME")])
    assert home.exists() is is_folder and (not is_folder or not list(home.iterdir()))


def test_the_log_of_a_missing_home(home: Path) -> None:
    for arguments in ([], ["-f"], ["j"]):
        ended = jetsql("logs", *arguments)
        assert (ended.exit_code, ended.stdout) == (ExitCode.STATEMENT_FAILED, "")
        compare([ended.stderr.strip().replace(str(home), "HOME")])
    assert not home.exists()


def test_status_and_check_of_a_missing_home(home: Path) -> None:
    ended = jetsql("status", "--format", "json")
    assert ended.exit_code == ExitCode.NO_ENGINE
    assert json.loads(ended.stdout) == {"status": "down", "home": str(home), "message": "The home does not exist."}
    ended = jetsql("check")
    assert ended.exit_code == ExitCode.PROBLEMS_FOUND
    assert "The home folder does not exist." in ended.stdout
    assert jetsql("stop").exit_code == ExitCode.SUCCESS
    assert not home.exists()
