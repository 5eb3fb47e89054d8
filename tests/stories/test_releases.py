"""Homes that each release left when it was killed while batches ran.

The check of this release finds no damage in them, and its engine continues them, each row once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.source import Source
from tests.releases.recording import ROOT
from tests.releases.restoring import restore_server
from tests.support.paths import TESTS
from tests.support.servers.postgres import Postgres

pytestmark = pytest.mark.spark

RECORDED = sorted(path.parent for path in (TESTS / "releases").glob("*/store.sql"))


def expected(source: Source) -> dict[str, list[list[int]]]:
    ids = source.ids()
    wanted = {
        "digits": [[d, len(ids[d::10]), sum(ids[d::10])] for d in range(10)],
        "minutes": [list(row) for row in source.closed()],
        "parts": [[i, i % 10] for i in ids],
        "orders": [[i] for i in ids],
    }
    return {name: sorted(rows, key=str) for name, rows in wanted.items()}


def test_first_release_has_a_recorded_home() -> None:
    assert RECORDED


@pytest.mark.slow
@pytest.mark.parametrize("recorded", RECORDED, ids=lambda path: path.name)
def test_killed_home_of_a_release_continues(recorded: Path, tmp_path: Path, postgres: Postgres) -> None:
    home = tmp_path / "home"
    restore_server(recorded, postgres)
    before = expected(Source(recorded / "numbers"))
    command = [sys.executable, "-m", "tests.releases.program", "resume", str(home), postgres.url, str(recorded)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=250, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    report = json.loads(ended.stdout)
    assert report["damage before"] == report["damage after"] == []
    assert report["found"] == before
    assert report["more"] == expected(Source(home / "numbers"))
    assert [row[2] for row in report["jobs"]] == ["RUNNING"] * 4
