"""The command line with a real engine, as a process: what reaches which stream."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parent.parent


def jetsql(home: Path, *arguments: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "jetsql", "--home", str(home), "--master", "local[2]", *arguments],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={**os.environ, "JETSQL_CONFIG": os.devnull, **environ},
    )


def test_results_and_mistakes_keep_to_their_streams(tmp_path: Path) -> None:
    text = "SELECT 1 AS one;\nSELECT *\n  FROM nowhere;\nSHOW JOBS;"
    ended = jetsql(tmp_path, "--format", "csv", "--continue", "-e", text)
    header = "id,name,status,submission_time,delivery,rows_per_second,last_error"
    assert ended.stdout == f"one\n1\n\n{header}\n"
    # A slow machine adds lines before and after that say what takes long.
    mistake = ended.stderr[ended.stderr.index("-e:3:8: ") :].splitlines()
    assert mistake[0].startswith("-e:3:8: [TABLE_OR_VIEW_NOT_FOUND]")
    assert mistake[1:3] == ["    3 |   FROM nowhere;", "      |        ^"]
    assert ended.returncode == 1


def test_without_java_there_is_no_engine(tmp_path: Path) -> None:
    ended = jetsql(tmp_path, "-e", "SHOW JOBS", JAVA_HOME=str(tmp_path / "none"))
    assert (ended.returncode, ended.stdout) == (3, "")
    assert "JETSQL.ENGINE_NOT_STARTED" in ended.stderr
