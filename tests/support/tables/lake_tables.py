"""Delta and Iceberg tables for the tests of their sinks."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.tables.lakehouse import Lakehouse, lakehouse

CATALOG = "lake"
"""The catalogue of the Iceberg tables."""
ENGINES = {
    "delta": ("4.2", "delta = true"),
    "iceberg": (
        "4.1",
        "[catalogs.lake]\ntype = 'iceberg'\nkind = 'hadoop'\nwarehouse = '{folder}/lake'",
    ),
}
"""The Spark of each format, and the lines of config.toml that load it."""
QUICK = "OPTIONS ('snapshotIntervalMillis' = '100')"
_schemas = itertools.count(1)


@contextmanager
def lake_engine(table_format: str, folder: Path) -> Iterator[Path]:
    """Start an engine with a format, return its home, and stop it at the end."""
    spark, settings = ENGINES[table_format]
    with lakehouse(spark, folder, settings.format(folder=folder)):
        yield folder / "home"


@contextmanager
def lake_schema(home: Path, table_format: str) -> Iterator[LakeTables]:
    """Create a schema in an engine, with two rows in `events`, and drop all jobs at the end."""
    sql, schema = Lakehouse(home), f"test_{next(_schemas)}"
    sql(f"CREATE SCHEMA {schema}", f"USE {schema}", "CREATE TABLE events (id INT, name STRING) USING json")
    tables = LakeTables(sql, home, table_format, schema)
    if not tables.is_delta:
        sql(f"CREATE NAMESPACE {CATALOG}.{schema}")
    tables.feed((1, "a"), (2, "b"))
    yield tables
    for row in sql("SHOW JOBS"):
        sql(f"DROP JOB '{row[0]}'")


@dataclass(frozen=True)
class LakeTables:
    """The tables of one test in one format."""

    sql: Lakehouse
    """A session in the schema of the test, which has the table `events (id INT, name STRING)`."""
    home: Path
    """The home of the engine."""
    format: str
    """`delta` or `iceberg`."""
    schema: str
    """The schema of the test."""

    @property
    def is_delta(self) -> bool:
        return self.format == "delta"

    def name(self, table: str) -> str:
        """Return the name of a table of the format."""
        return table if self.is_delta else f"{CATALOG}.{self.schema}.{table}"

    def create(self, table: str, columns: str, more: str = "", **properties: str) -> str:
        """Create a table and return its name. properties: with underscores for points"""
        listed = ", ".join(f"'{name.replace('_', '.')}' = '{value}'" for name, value in properties.items())
        tail = f"TBLPROPERTIES ({listed})" if listed else ""
        self.sql(f"CREATE TABLE {self.name(table)} ({columns}) USING {self.format} {more} {tail}")
        return self.name(table)

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        """Return the sorted rows of a table."""
        return self.sql(f"SELECT * FROM {self.name(table)} ORDER BY ALL")

    def feed(self, *events: tuple[int, str]) -> None:
        """Insert rows into `events`."""
        self.sql(f"INSERT INTO events VALUES {', '.join(map(str, events))}")

    def after(self, table: str, *events: tuple[int, str]) -> list[tuple[Any, ...]]:
        """Return the rows of a table after the job `j` has read more events."""
        self.feed(*events)
        self.sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60")
        return self.rows(table)

    def repeat_newest_batch(self) -> None:
        """Suspend the job `j`, and delete Spark's commit of its newest batch, as if the engine had died before it."""
        self.sql("SUSPEND JOB j")
        folder = self.checkpoint("j")
        commits = [path for path in (folder / "commits").iterdir() if path.name.isdigit()]
        newest = max(commits, key=lambda path: int(path.name))
        newest.unlink()
        crc = newest.with_name(f".{newest.name}.crc")
        crc.unlink(missing_ok=True)

    def checkpoint(self, job: str) -> Path:
        """Return the folder of Spark's checkpoint of a job."""
        [job_id] = [row[0] for row in self.sql("SHOW JOBS") if row[1] == job]
        folders = self.home.rglob(f"{job_id}/spark*/commits")
        return max((folder.parent for folder in folders), key=lambda folder: folder.name)

    def status(self, job: str) -> str:
        return str(dict(self.sql(f"DESCRIBE JOB {job}"))["status"])

    def wait_until_suspended(self) -> str:
        """Wait until the job `j` is suspended, at most a minute, and return its history."""
        end = time.monotonic() + 60.0
        while self.status("j") != "SUSPENDED":
            assert time.monotonic() < end, self.sql("SHOW JOB HISTORY j")
            time.sleep(0.2)
        return str(self.sql("SHOW JOB HISTORY j"))

    def commits(self, table: str) -> int:
        """Return the number of commits that have written to a table."""
        if self.is_delta:
            return len(self.sql(f"DESCRIBE HISTORY {self.name(table)}")) - 1
        return len(self.sql(f"SELECT * FROM {self.name(table)}.snapshots"))
