"""Maintenance of Delta and Iceberg tables for a minute next to jobs: every row is written once, and no run fails."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from jetsql.errors import ReportedError
from tests.faults.source import Source, sum_by_digit
from tests.support.tables.lake_tables import CATALOG, ENGINES, QUICK, LakeTables
from tests.support.tables.lakehouse import Lakehouse, lakehouse

# Long enough to install a Spark for the first time.
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1200)]
SECONDS = 60.0
SECONDS_MOST = 400.0
"""The limit of the time until each kind of maintenance has run on a busy machine."""
GROUPS = "SELECT id % 10 AS digit, count(*) AS n, sum(id) AS total FROM STREAM numbers GROUP BY id % 10"
COLUMNS = "digit BIGINT, n BIGINT, total BIGINT"
JOBS = {
    "appended": "INSERT INTO {table} SELECT id, id % 10 AS digit FROM STREAM numbers",
    "replaced": f"INSERT OVERWRITE {{table}} {GROUPS}",
    "merged": f"SINK INTO {{table}} {GROUPS}",
}
OVERTAKEN = "conflict|Concurrent|ommitFailed|ValidationException|Missing required files|could not be found|NotFound"
"""Errors of maintenance that a commit of a job has overtaken."""


@pytest.fixture(scope="module", params=ENGINES)
def lake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LakeTables]:
    """Start an engine with a format, and yield the tables of the jobs."""
    folder = tmp_path_factory.mktemp(request.param)
    spark, settings = ENGINES[request.param]
    with lakehouse(spark, folder, settings.format(folder=folder)) as sql:
        if request.param == "iceberg":
            sql(f"CREATE NAMESPACE {CATALOG}.default")
        yield LakeTables(sql, folder / "home", request.param, "default")


def _maintenance(lake: LakeTables, table: str) -> list[str]:
    """Return the statements that compact a table, remove what is old, and delete the rows of another program."""
    name, key = lake.name(table), "id" if table == "appended" else "digit"
    foreign = [f"DELETE FROM {name} WHERE {key} < 0"]
    if table != "replaced":  # INSERT OVERWRITE replaces the rows of others, so an INSERT next to it can be lost
        foreign.insert(0, f"INSERT INTO {name} VALUES ({'-1, -1' if table == 'appended' else '-1, -1, -1'})")
    if lake.is_delta:
        return [f"OPTIMIZE {name}", *foreign, f"VACUUM {name} RETAIN 168 HOURS"]
    named = f"table => '{lake.schema}.{table}'"
    old = "older_than => TIMESTAMP '2100-01-01', retain_last => 1"
    return [
        f"CALL lake.system.rewrite_data_files({named}, options => map('rewrite-all', 'true'))",
        *foreign,
        f"CALL lake.system.expire_snapshots({named}, {old})",
        f"CALL lake.system.rewrite_manifests({named})",
    ]


def _kind(text: str) -> str:
    """Return the verb or the procedure of a statement."""
    return str(re.findall(r"\w+", text.rpartition("system.")[2])[0]).lower()


class Maintainer(threading.Thread):
    """Maintains the tables in a loop until it is stopped."""

    def __init__(self, lake: LakeTables) -> None:
        super().__init__(daemon=True)
        self._lake = lake
        self._ended = threading.Event()
        self.counts: Counter[str] = Counter()
        """The numbers of statements of each kind that have run, and that were overtaken."""
        self.errors: list[str] = []
        """The other errors."""

    def run(self) -> None:
        session = Lakehouse(self._lake.home)
        try:
            while not self._ended.is_set():
                for text in [text for table in JOBS for text in _maintenance(self._lake, table)]:
                    self._run(session, text)
        finally:
            session.close()

    def _run(self, session: Lakehouse, text: str) -> None:
        if self._ended.is_set():
            return
        kind = _kind(text)
        try:
            session(text)
            self.counts[kind] += 1
        except ReportedError as error:
            if re.search(OVERTAKEN, str(error)):
                self.counts[f"{kind} overtaken"] += 1
            else:
                self.errors.append(f"{text}: {error}")

    @property
    def has_run_all(self) -> bool:
        """Return whether each kind of statement has run."""
        kinds = {_kind(text) for table in JOBS for text in _maintenance(self._lake, table)}
        return kinds <= set(self.counts)

    def stop(self) -> None:
        self._ended.set()
        self.join(120.0)


def test_rows_are_exact_and_jobs_keep_running(lake: LakeTables, tmp_path: Path) -> None:
    source, sql = Source(tmp_path / "numbers"), lake.sql
    source.add(1)
    sql(f"CREATE TABLE numbers (id BIGINT, at TIMESTAMP) USING json LOCATION '{source.folder}'")
    lake.create("appended", "id BIGINT, digit BIGINT")
    lake.create("replaced", COLUMNS)
    lake.create("merged", COLUMNS, key_columns="digit")
    for job, body in JOBS.items():
        sql(f"CREATE JOB {job} {QUICK} AS {body.format(table=lake.name(job))}")
    maintainer = Maintainer(lake)
    maintainer.start()
    statuses, start = set(), time.monotonic()
    while (passed := time.monotonic() - start) < SECONDS or (passed < SECONDS_MOST and not maintainer.has_run_all):
        source.add(1)
        statuses |= {row[2] for row in sql("SHOW JOBS")}
        time.sleep(0.3)
    maintainer.stop()
    for job in JOBS:
        sql(f"WAIT FOR JOB {job} UNTIL IDLE TIMEOUT 120")
    assert not maintainer.errors, maintainer.errors[:3]
    assert maintainer.has_run_all, maintainer.counts
    assert statuses == {"RUNNING"}
    for job in JOBS:
        assert [row for row in sql(f"SHOW JOB HISTORY {job}") if "Trying again" in str(row)] == []
    sums = sum_by_digit(source.ids())
    assert [row[0] for row in lake.rows("appended") if row[0] >= 0] == list(source.ids())
    assert [row for row in lake.rows("replaced") if row[0] >= 0] == sums
    assert [row for row in lake.rows("merged") if row[0] >= 0] == sums
