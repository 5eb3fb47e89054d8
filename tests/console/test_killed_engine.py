"""Open pages of an engine that is killed and started again, without Spark; `stories` has the same with Spark."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.support.paths import PROGRAMS
from tests.support.screens.killed_engine import engine_process, pages_survive_a_killed_engine

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_pages_survive_a_killed_engine(chromium: Browser, tmp_path: Path) -> None:
    program = [sys.executable, str(PROGRAMS / "jetsql_without_spark.py")]
    with engine_process(program, tmp_path / "home") as engine:
        engine("-e", "CREATE JOB orders AS INSERT INTO out SELECT * FROM STREAM src")
        pages_survive_a_killed_engine(engine, chromium, "orders", kills=2)
