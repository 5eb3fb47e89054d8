"""Engines with jobs into Delta and Iceberg tables are killed with -9: every row is in the tables once."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from jetsql.failpoints import VARIABLE
from tests.faults.source import ROWS_A_FILE, Source, sum_by_digit
from tests.support.paths import ROOT
from tests.support.programs.lake_jobs import JOBS
from tests.support.tables.lake_tables import ENGINES
from tests.support.tables.lakehouse import SETTINGS
from tools.java.older_sparks import install

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]
POINTS = ("lake-batch-checked", "lake-committed", "sink-written")


def _run(folder: Path, table_format: str, failpoints: str = "") -> subprocess.CompletedProcess[str]:
    spark, settings = ENGINES[table_format]
    config = folder / "config.toml"
    config.write_text(f"{SETTINGS}\n{settings.format(folder=folder)}", encoding="utf-8")
    command = [str(install(spark)), "-m", "tests.support.programs.lake_jobs", str(folder), table_format]
    environment = {**os.environ, VARIABLE: failpoints, "JETSQL_CONFIG": str(config)}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240, check=False)


@pytest.mark.parametrize("table_format", ENGINES)
def test_every_row_is_written_once(table_format: str, tmp_path: Path) -> None:
    source = Source(tmp_path / "numbers")
    for life in range(len(POINTS) * 2):
        source.add(3)
        shifted = [*POINTS[life % 3 :], *POINTS[: life % 3], POINTS[life % 3]]
        places = [f"{point}:{job}" for point, job in zip((*shifted, "branch-written"), JOBS, strict=True)]
        died = _run(tmp_path, table_format, ",".join(places) + f"@{life % 2 + 1}")  # a place of `split`
        assert died.returncode == -9, died.stderr[-3000:]
        assert all(f"failpoint {place}" in died.stderr for place in places)
    source.add(2)
    ended = _run(tmp_path, table_format)
    assert ended.returncode == 0, ended.stderr[-3000:]
    found = json.loads(ended.stdout)
    sums = [list(row) for row in sum_by_digit(source.ids())]
    rows = {name: sorted(rows) for name, rows in found["rows"].items()}
    assert rows["appended"] == [[i, i // ROWS_A_FILE] for i in source.ids()]
    assert rows["replaced"] == sums
    assert rows["merged"] == sums
    assert rows["retracted"] == [row for row in sums if row[2] % 3]
    assert sorted(rows["split"] + rows["files"]) == [[i] for i in source.ids()]
    assert set(found["statuses"]) == {"RUNNING"}


def test_the_second_of_two_writers_fails(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f"{SETTINGS}\ndelta = true", encoding="utf-8")
    command = [str(install("4.2")), "-m", "tests.support.programs.two_delta_writers", str(tmp_path / "engine")]
    environment = {**os.environ, "JETSQL_CONFIG": str(config)}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    found = json.loads(ended.stdout)
    assert found["rows"] == 10
    assert found["results"].count("10") == 1
    [error] = [result for result in found["results"] if result != "10"]
    assert "ConcurrentTransactionException" in error or "another run of the job wrote batch 0" in error
    assert "another run of the job wrote batch 0" in found["late"]
    assert [note["batch"] for note in found["notes"]] == [-1, 0, 0]
