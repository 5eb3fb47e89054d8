"""The example with Delta tables: the rows of its tables, with made-up flights; and a short run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from examples.lakehouse import expected
from tests.support.paths import ROOT


def run_demo(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "examples.lakehouse.demo", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=1000, check=False, cwd=ROOT)


def flights(*rows: tuple[str, int, str, int | None]) -> pd.DataFrame:
    """Return flights of the aircraft N1 and N2, each of 100 miles: aircraft, hour, destination, delay."""
    columns = ["tailnum", "hour", "dest", "arr_delay"]
    table = pd.DataFrame(list(rows), columns=columns).assign(flight=1, distance=100)
    return table.assign(scheduled=pd.to_datetime(table["hour"], unit="h", utc=True))


def test_an_aircraft_is_where_it_landed_last() -> None:
    found = expected.aircraft(
        flights(("N1", 3, "LAX", 5), ("N1", 2, "SFO", -1), ("N1", 4, "ORD", None), ("N2", 1, "LAX", 0))
    )
    assert found == {("N1", "LAX"): (3 * 3600, 2, 200), ("N2", "LAX"): (3600, 1, 100)}
    assert expected.airports(found) == {("LAX",): (2,)}
    assert expected.inserted_once(found) == {("N1",): (1,), ("N2",): (1,)}


def test_folder_with_other_files_is_not_deleted(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    ended = run_demo("--home", str(tmp_path))
    assert ended.returncode == 2
    assert f"{tmp_path} is not empty" in ended.stderr
    assert (tmp_path / "mine").exists()


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(1200)  # long enough to install a Spark for the first time
def test_the_whole_story(tmp_path: Path) -> None:
    ended = run_demo("--home", str(tmp_path / "demo"), "--days", "40")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.count("| same") == 5
    assert "kill -9" in ended.stdout and "update_postimage" in ended.stdout
