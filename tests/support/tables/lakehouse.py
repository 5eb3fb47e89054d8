"""Engines with Delta or Iceberg, on the older Spark that the format has a release for, as processes of their own."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jetsql.client.engine_client import EngineClient
from jetsql.errors import ErrorReport, ReportedError
from jetsql.home.discovery import read_note, token
from tests.support.paths import ROOT
from tools.java.older_sparks import install

SETTINGS = """
master = "local[2]"
driver_memory = "1g"
spark.sql.shuffle.partitions = 2
spark.sql.session.timeZone = "UTC"
"""


class Lakehouse:
    """A session on an engine with a table format."""

    def __init__(self, home: Path) -> None:
        note = read_note(home)
        assert note is not None
        self._engine = EngineClient(note.url, token(home))

    def __call__(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements and return the rows of the last one."""
        rows: list[tuple[Any, ...]] = []
        for text in statements:
            rows = list(self._engine.run(text).rows)
        return rows

    def close(self) -> None:
        self._engine.close()

    def error(self, text: str) -> ErrorReport:
        """Run a statement that fails, and return its error."""
        try:
            self(text)
        except ReportedError as error:
            return error.report
        raise AssertionError(f"no error: {text}")

    def all_rows_of(self, job: str, table: str, order: str = "1") -> list[tuple[Any, ...]]:
        """Wait until a job has read everything, and return the rows of a table."""
        self(f"WAIT FOR JOB {job} UNTIL IDLE TIMEOUT 60 SECONDS")
        return self(f"SELECT * FROM {table} ORDER BY {order}")

    def wait_until_suspended(self, job: str, seconds: float = 60.0) -> str:
        """Wait until a job is suspended, and return the newest text of its history."""
        end = time.monotonic() + seconds
        while self(f"SELECT status FROM spark_catalog.jetsql.jobs WHERE name = '{job}'") != [("SUSPENDED",)]:
            assert time.monotonic() < end, self(f"SHOW JOB HISTORY {job}")
            time.sleep(0.2)
        return str(self(f"SHOW JOB HISTORY {job}"))


def _run(python: Path, config: Path, *arguments: str) -> None:
    command = [str(python), "-m", "jetsql", *arguments]
    environment = {**os.environ, "JETSQL_CONFIG": str(config)}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@contextmanager
def lakehouse(spark: str, folder: Path, settings: str) -> Iterator[Lakehouse]:
    """Start an engine on a Spark with further lines of config.toml, and stop it at the end."""
    python = install(spark)
    config, home = folder / "config.toml", folder / "home"
    config.write_text(f"{SETTINGS}\n{settings}", encoding="utf-8")
    _run(python, config, "start", "--home", str(home))
    try:
        session = Lakehouse(home)
        try:
            yield session
        finally:
            session.close()
    finally:
        _run(python, config, "stop", "--home", str(home))
