"""The example with members that join and leave: the rows of its tables, and a whole run on a cluster of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT


def run_demo(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "examples.scaling.demo", *words]
    environ = {**os.environ, "JETSQL_CONFIG": os.devnull}
    return subprocess.run(command, capture_output=True, text=True, timeout=280, check=False, cwd=ROOT, env=environ)


def test_newest_batch_decides_the_expected_rows() -> None:
    from examples.scaling import demo

    facts = demo.by_digit(1)
    assert sum(count for count, _ in facts.values()) == 2 * demo.ROWS
    assert sum(total for _, total in facts.values()) == sum(range(2 * demo.ROWS))
    assert facts[(3,)][0] == 2 * demo.ROWS // 10


def test_folder_with_other_files_is_not_deleted(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    ended = run_demo("--home", str(tmp_path))
    assert ended.returncode == 2
    assert f"{tmp_path} is not empty" in ended.stderr


@pytest.mark.slow
@pytest.mark.spark
def test_the_whole_story(tmp_path: Path) -> None:
    ended = run_demo("--home", str(tmp_path / "demo"), "--delay", "1")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.count("| same") == 2
    assert "members joined" in ended.stdout and "member lost" in ended.stdout
