"""An engine on a cluster, in a process of its own, and jobs whose rows are counted. Growth is used after a second."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

import jetsql
from jetsql.client.dbapi import Connection
from tools.cluster import ROOT, wait_until

ROWS = 20


class ClusterEngine:
    """The engine, which can be stopped and started again."""

    def __init__(self, home: Path, variables: Mapping[str, str]) -> None:
        """Create it. variables: those of its environment that name the cluster."""
        self.home = home
        self.connection: Connection | None = None
        self._variables = variables

    def start(self, **more: str) -> None:
        """Start the engine. more: further variables of its environment."""
        self._command("start", **more)
        self.connection = jetsql.connect(home=self.home, start=False)

    def stop(self) -> None:
        self._command("stop")

    def serve(self) -> psutil.Popen:
        """Start the engine as a service manager does, and return its process."""
        return psutil.Popen(
            [sys.executable, "-m", "jetsql", "serve"],
            env=self._environ(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def connect(self) -> None:
        """Wait until the engine answers, and connect to it."""
        self._command("status", "--wait", "400")
        self.connection = jetsql.connect(home=self.home, start=False)

    def _environ(self, **more: str) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "JETSQL_CONFIG": os.devnull,
            "JETSQL_HOME": str(self.home),
            "JETSQL_DRIVER_MEMORY": "1g",
            "JETSQL_SCALE_UP_DELAY_SECONDS": "1",
            "JETSQL_STOP_DEADLINE_SECONDS": "10",
            **self._variables,
            **more,
        }

    def _command(self, *words: str, **more: str) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "jetsql", *words],
            env=self._environ(**more), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=500,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"

    def sql(self, text: str) -> list[dict[str, Any]]:
        assert self.connection is not None, "it is started first"
        return self._rows(self.connection, text)

    def other(self, text: str) -> list[dict[str, Any]]:
        """Return the rows of a long statement, in a session of its own."""
        with jetsql.connect(home=self.home, start=False) as connection:
            return self._rows(connection, text)

    def _rows(self, connection: Connection, text: str) -> list[dict[str, Any]]:
        with connection.cursor() as cursor:
            cursor.execute(text)
            if cursor.description is None:
                return []
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    def batch(self, job: str) -> int:
        """Return the newest committed batch, or -1. A query instead would wait for members that jobs keep busy."""
        facts = {name: value for name, value in (row.values() for row in self.sql(f"DESCRIBE JOB EXTENDED {job}"))}
        newest = facts["newest batch"]
        return -1 if newest is None else int(newest)

    def history(self, job: str) -> list[dict[str, Any]]:
        """Return the history, which is cheaper than a query."""
        return self.sql(f"SHOW JOB HISTORY {job}")

    def runs(self, job: str) -> int:
        """Return the number of the job's run; 0 while it does not run."""
        newest = self.history(job)[-1]
        return int(newest["run"]) if newest["to_status"] == "RUNNING" else 0

    def titles(self, job: str) -> list[str]:
        return [row["event"] for row in self.history(job)]

    def messages(self, job: str) -> str:
        """Return all messages of the history."""
        return " ".join(row["message"] for row in self.history(job))

    def members(self, status: str = "ACTIVE") -> list[str]:
        return [row["id"] for row in self.executors(status)]

    def executors(self, status: str = "ACTIVE") -> list[dict[str, Any]]:
        return [row for row in self.sql("SHOW MEMBERS") if row["status"] == status and not row["is_driver"]]

    def wait_run(self, job: str, run: int) -> None:
        wait_until(lambda: self.runs(job) >= run, f"{job} has no run {run}")

    def wait_status(self, job: str, status: str) -> None:
        wait_until(lambda: self.history(job)[-1]["to_status"] == status, f"{job} is not {status}")

    def wait_title(self, job: str, title: str) -> None:
        wait_until(lambda: title in self.titles(job), f"{job} has no event '{title}'")

    def wait_newest(self, job: str, title: str) -> None:
        """Wait until the newest event of the job has this title."""
        wait_until(lambda: self.titles(job)[-1] == title, f"the newest event of {job} is not '{title}'")

    def wait_for_batches(self, *jobs: str) -> None:
        """Wait until each job has committed two more batches."""
        goals = {job: self.batch(job) + 2 for job in jobs}
        for job, batch in goals.items():
            self.sql(f"WAIT FOR JOB {job} UNTIL BATCH {batch}")

    def check_once(self, job: str, table: str) -> None:
        """Check that every number that the job has read is in the table once."""
        self.sql(f"SUSPEND JOB {job}")
        [rows] = self.sql(f"SELECT count(*) AS n, count(DISTINCT value) AS once, max(value) AS last FROM {table}")
        assert rows["n"] == rows["once"] == rows["last"] + 1 == (self.batch(job) + 1) * ROWS

    def check_totals(self, job: str, table: str) -> None:
        """Check that the job's table has the totals of its numbers."""
        self.sql(f"SUSPEND JOB {job}")
        rows = self.sql(f"SELECT digit, numbers, total FROM {table} ORDER BY digit")
        end = sum(row["numbers"] for row in rows)
        assert end > 0 and end % ROWS == 0
        by_digit = [range(digit, end, 10) for digit in range(10)]
        assert [(row["numbers"], row["total"]) for row in rows] == [(len(each), sum(each)) for each in by_digit]

    def keep(self, name: str, *options: str, query: str = "SELECT value FROM STREAM numbers") -> dict[str, Any]:
        """Make a job that keeps every number in a table of its name."""
        return self._make(name, "value BIGINT", "INSERT INTO", query, *options)

    def count(self, name: str, *options: str, behind: str = "") -> dict[str, Any]:
        """Make a job whose state is a count for each last digit."""
        query = (
            "SELECT value % 10 AS digit, count(*) AS numbers, sum(value) AS total FROM STREAM numbers"
            f" GROUP BY value % 10 {behind}"
        )
        return self._make(name, "digit BIGINT, numbers BIGINT, total BIGINT", "INSERT OVERWRITE", query, *options)

    def _make(self, name: str, columns: str, verb: str, query: str, *options: str) -> dict[str, Any]:
        self.sql(f"CREATE TABLE {name} ({columns}) USING parquet")
        given = ", ".join(("'snapshotIntervalMillis' = '1000'", *options))
        [job_row] = self.sql(f"CREATE JOB {name} OPTIONS ({given}) AS {verb} {name} {query}")
        return job_row

    def drop(self, *jobs: str) -> None:
        for job in jobs:
            self.sql(f"DROP JOB {job}")
