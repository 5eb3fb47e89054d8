"""`jetsql apply` is killed with -9 while the engine replaces a job: repeated, it loses no job and makes none twice."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.paths import ROOT
from tests.support.servers.http_server import TOKEN, run_server

if TYPE_CHECKING:
    from jetsql.embedded.engine_instance import EngineInstance
    from tests.conftest import Sql

pytestmark = [pytest.mark.spark, pytest.mark.slow]

JOBS = ("one", "two", "three")
CHANGED = """
CREATE OR REPLACE JOB {job} OPTIONS ('snapshotIntervalMillis' = '100')
AS INSERT INTO {job} SELECT id, {number} AS version FROM STREAM orders WHERE id >= 0;
"""


class AppliedFolder:
    """A folder with three jobs, and the command that applies it."""

    def __init__(self, url: str, schema: str) -> None:
        self._url = url
        self._schema = schema

    def write(self, number: int) -> None:
        """Write the files. number: what the jobs write to each row."""
        tables = "".join(f"CREATE TABLE {job} (id INT, version INT) USING parquet;\n" for job in JOBS)
        jobs = "".join(CHANGED.format(job=job, number=number) for job in JOBS)
        text = f"USE {self._schema};\nCREATE TABLE orders (id INT) USING json;\n{tables}{jobs}"
        Path("sql/jobs.sql").write_text(text, encoding="utf-8")

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start the command."""
        command = [sys.executable, "-m", "jetsql", "apply", "--url", self._url, *arguments, "sql"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "JETSQL_CONFIG": os.devnull, "JETSQL_TOKEN": TOKEN}
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=environment, stdout=pipe, stderr=subprocess.STDOUT, text=True)

    def run(self, *arguments: str, code: int = 0) -> str:
        """Run the command to its end, and return its output."""
        process = self.start(*arguments)
        output, _ = process.communicate()
        assert process.returncode == code, output
        return output


@pytest.fixture
def folder(
    engine: EngineInstance, sql: Sql, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[AppliedFolder]:
    monkeypatch.chdir(tmp_path)
    Path("sql").mkdir()
    with run_server(engine) as server:
        yield AppliedFolder(server.url, str(sql.value("SELECT current_schema()")))


def history(sql: Sql, job: str) -> int:
    return len(sql(f"SHOW JOB HISTORY {job}"))


def kill_during(process: subprocess.Popen[str], sql: Sql, job: str) -> bool:
    """Kill the command when a job is being replaced. Return whether the command had not ended before."""
    before = history(sql, job)
    while process.poll() is None and history(sql, job) == before:
        time.sleep(0.001)
    process.kill()
    process.communicate()
    return process.returncode == -9


def test_a_killed_apply_is_repeated(folder: AppliedFolder, sql: Sql) -> None:
    folder.write(0)
    folder.run()
    ids = {row[1]: row[0] for row in sql("SHOW JOBS")}
    assert set(ids) == set(JOBS)
    killed = 0
    for number, job in enumerate(JOBS, start=1):
        folder.write(number)
        killed += kill_during(folder.start("--yes"), sql, job)
        sql(f"INSERT INTO orders VALUES ({number})")
        folder.run("--yes")
        assert {row[1]: row[0] for row in sql("SHOW JOBS")} == ids
        assert "Nothing to do" in folder.run("--plan")
        for each in JOBS:
            sql(f"WAIT FOR JOB {each} UNTIL IDLE TIMEOUT 60 SECONDS")
            assert f"SELECT id, {number} AS version" in str(dict(sql(f"DESCRIBE JOB {each}")))
            assert [row[0] for row in sql(f"SELECT id FROM {each} ORDER BY id")] == [*range(1, number + 1)]
    assert killed == len(JOBS)
