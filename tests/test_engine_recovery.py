"""Killed with -9 in the places where it hurts, an engine goes on as if nothing had happened: every row once."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.recovery import add_minutes, run_program

pytestmark = pytest.mark.spark

ROWS_A_FILE = 50
FAILPOINTS = ("staged@3", "manifest-written@4", "file-moved@3", "sink-written@5", "table-moved@2")


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
        add_minutes(tmp_path / "numbers", files, 3, ROWS_A_FILE)
        files += 3
        died = run_program("recovering_jobs", str(tmp_path), failpoint=failpoint)
        assert died.returncode == -signal.SIGKILL, (failpoint, died.stderr[-2000:])
    add_minutes(tmp_path / "numbers", files, 1, ROWS_A_FILE)
    done = run_program("recovering_jobs", str(tmp_path))
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == expected(files + 1)
