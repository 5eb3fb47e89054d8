"""The command line with a real engine, embedded and in a process of its own: the use of the output streams."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.spark


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


@pytest.mark.slow
def test_results_and_errors_use_their_streams(tmp_path: Path) -> None:
    text = "SELECT 1 AS one;\nSELECT *\n  FROM nowhere;\nSHOW JOBS;"
    ended = jetsql(tmp_path, "--embedded", "--format", "csv", "--continue", "-e", text)
    header = "id,name,status,submission_time,delivery,rows_per_second,lag,last_error"
    assert ended.stdout == f"one\n1\n\n{header}\n"
    # A slow machine adds lines before and after that say what takes long.
    mistake = ended.stderr[ended.stderr.index("-e:3:8: ") :].splitlines()
    assert mistake[0].startswith("-e:3:8: [TABLE_OR_VIEW_NOT_FOUND]")
    assert mistake[1:3] == ["    3 |   FROM nowhere;", "      |        ^"]
    assert ended.returncode == 1


def test_without_java_there_is_no_engine(tmp_path: Path) -> None:
    ended = jetsql(tmp_path, "-e", "SELECT 1", JAVA_HOME=str(tmp_path / "none"))
    assert (ended.returncode, ended.stdout) == (3, "")
    assert "JETSQL.ENGINE_NOT_STARTED" in ended.stderr


def test_unreadable_store_is_reported_before_spark_starts(tmp_path: Path) -> None:
    (tmp_path / "jetsql.db").write_bytes(b"no database")
    ended = jetsql(tmp_path, "-e", "SHOW JOBS", JAVA_HOME=str(tmp_path / "none"))
    assert (ended.returncode, ended.stdout) == (3, "")
    assert "JETSQL.STORE_DAMAGED" in ended.stderr
    assert (tmp_path / "jetsql.db").read_bytes() == b"no database"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            ["--master", "nonsense"],
            "Java exited immediately: Master must either be yarn or start with spark, k8s, or local",
        ),
        pytest.param(["--master", "local[x]"], "Could not parse Master URL: 'local[x]'", marks=pytest.mark.slow),
        pytest.param(
            ["--conf", "spark.driver.memory=lots"],
            "Java exited immediately: Invalid maximum heap size: -Xmxlots",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ["--conf", "spark.sql.shuffle.partitions=abc"], "The value 'abc' in the config", marks=pytest.mark.slow
        ),
    ],
)
def test_start_error_of_spark_is_reported_unchanged(tmp_path: Path, arguments: list[str], reason: str) -> None:
    ended = jetsql(tmp_path, *arguments, "-e", "SELECT 1")
    assert (ended.returncode, ended.stdout) == (3, "")
    assert f"Spark cannot start: {reason}" in ended.stderr
    assert "\tat " not in ended.stderr and "Exception" not in ended.stderr
