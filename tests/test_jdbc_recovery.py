"""Killed with -9 between a JDBC sink and Spark's own commit, jobs go on as if nothing had happened: every row once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.postgres import Postgres

pytestmark = pytest.mark.spark

ROWS_A_FILE = 20
FAILPOINTS = ("sink-written@2", "staged@5", "sink-written@7")


def start(home: Path, url: str, failpoint: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "JETSQL_FAILPOINT": failpoint}
    command = [sys.executable, "-m", "tests.programs.jdbc_jobs", str(home), url]
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


@pytest.fixture
def server(postgres: Postgres) -> Postgres:
    postgres(
        """
        CREATE SCHEMA crash;
        CREATE TABLE crash.copy (id bigint);
        CREATE TABLE crash.minutes (start timestamptz, n bigint, total bigint);
        CREATE TABLE crash.digits (digit bigint PRIMARY KEY, n bigint, total bigint);
        CREATE TABLE crash.whole (n bigint, total bigint);
        """
    )
    return postgres


def test_every_row_once_whenever_it_dies(server: Postgres, tmp_path: Path) -> None:
    files = 0
    for failpoint in FAILPOINTS:
        add_files(tmp_path, files, 2)
        files += 2
        died = start(tmp_path, server.url, failpoint)
        assert died.returncode == -signal.SIGKILL, (failpoint, died.stderr[-2000:])
    add_files(tmp_path, files, 1)
    done = start(tmp_path, server.url)
    assert done.returncode == 0, done.stderr[-2000:]

    ids = range((files + 1) * ROWS_A_FILE)
    assert server("SELECT id, count(*) FROM crash.copy GROUP BY id ORDER BY id") == [(i, 1) for i in ids]
    # The watermark stands at the newest time seen, so every minute but the newest is closed.
    closed = [
        (n, ROWS_A_FILE, sum(range(n * ROWS_A_FILE, (n + 1) * ROWS_A_FILE))) for n in range(files)
    ]
    assert server("SELECT extract(minute FROM start)::int, n, total FROM crash.minutes ORDER BY 1") == closed
    digits = [(d, len(ids) // 10, sum(i for i in ids if i % 10 == d)) for d in range(10)]
    assert server("SELECT * FROM crash.digits ORDER BY 1") == digits
    assert server("SELECT * FROM crash.whole") == [(len(ids), sum(ids))]
    assert server("SELECT relname FROM pg_class WHERE relname LIKE 'jetsql\\_%' AND relkind = 'r'") == [
        ("jetsql_ledger",)
    ]
