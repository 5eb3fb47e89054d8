"""Killed with -9 between a JDBC sink and Spark's own commit, jobs go on as if nothing had happened: every row once."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.postgres import Postgres
from tests.recovery import add_minutes, run_program

pytestmark = pytest.mark.spark

ROWS_A_FILE = 20
FAILPOINTS = ("sink-written@2", "jdbc-staged@5", "sink-written@7")


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
        add_minutes(tmp_path / "numbers", files, 2, ROWS_A_FILE)
        files += 2
        died = run_program("jdbc_jobs", str(tmp_path), server.url, failpoint=failpoint)
        assert died.returncode == -signal.SIGKILL, (failpoint, died.stderr[-2000:])
    add_minutes(tmp_path / "numbers", files, 1, ROWS_A_FILE)
    done = run_program("jdbc_jobs", str(tmp_path), server.url)
    assert done.returncode == 0, done.stderr[-2000:]

    ids = range((files + 1) * ROWS_A_FILE)
    assert server("SELECT id, count(*) FROM crash.copy GROUP BY id ORDER BY id") == [(i, 1) for i in ids]
    # The watermark stands at the newest time seen, so every minute but the newest is closed.
    closed = [(n, ROWS_A_FILE, sum(range(n * ROWS_A_FILE, (n + 1) * ROWS_A_FILE))) for n in range(files)]
    assert server("SELECT extract(minute FROM start)::int, n, total FROM crash.minutes ORDER BY 1") == closed
    digits = [(d, len(ids) // 10, sum(i for i in ids if i % 10 == d)) for d in range(10)]
    assert server("SELECT * FROM crash.digits ORDER BY 1") == digits
    assert server("SELECT * FROM crash.whole") == [(len(ids), sum(ids))]
    assert server("SELECT relname FROM pg_class WHERE relname LIKE 'jetsql\\_%' AND relkind = 'r'") == [
        ("jetsql_ledger",)
    ]
