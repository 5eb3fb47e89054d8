"""Killed with -9 in the places where it hurts, an engine goes on as if nothing had happened: every row once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.spark

ROWS_A_FILE = 50
FAILPOINTS = ("staged@3", "manifest-written@4", "file-moved@3", "sink-written@5", "table-moved@2")


def start(home: Path, failpoint: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "JETSQL_FAILPOINT": failpoint}
    command = [sys.executable, "-m", "tests.programs.recovering_jobs", str(home)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200)


def add_files(home: Path, first: int, count: int) -> None:
    """One file holds one minute's rows."""
    folder = home / "numbers"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(first, first + count):
        ids = range(number * ROWS_A_FILE, (number + 1) * ROWS_A_FILE)
        rows = [{"id": i, "at": f"2024-01-01T00:{number:02d}:{i % 60:02d}Z"} for i in ids]
        draft = folder / f".{number}.json"
        draft.write_text("".join(json.dumps(row) + "\n" for row in rows))
        draft.rename(folder / f"{number:03d}.json")


def expected(files: int) -> dict[str, Any]:
    ids = range(files * ROWS_A_FILE)
    once = [[i, 1] for i in ids]
    # The watermark stands at the newest time seen, so every minute but the newest is closed.
    closed = [[n, ROWS_A_FILE, sum(range(n * ROWS_A_FILE, (n + 1) * ROWS_A_FILE))] for n in range(files - 1)]
    digits = [[d, len(ids) // 10, sum(i for i in ids if i % 10 == d)] for d in range(10)]
    return {"copy": once, "parts": once, "chained": once, "minutes": closed, "digits": digits}


def test_every_row_once_whenever_it_dies(tmp_path: Path) -> None:
    files = 0
    for failpoint in FAILPOINTS:
        add_files(tmp_path, files, 3)
        files += 3
        died = start(tmp_path, failpoint)
        assert died.returncode == -signal.SIGKILL, (failpoint, died.stderr[-2000:])
    add_files(tmp_path, files, 1)
    done = start(tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == expected(files + 1)
