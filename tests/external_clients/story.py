"""The steps that are tried with every client: a table, a job, its listing, suspend and resume, an error, drop."""

from __future__ import annotations

import json
import os
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

Rows = Sequence[Sequence[Any]]


@dataclass
class Story:
    """run: a statement's rows. columns: the names of the columns of the statement that ran last, where they are known.
    explain: an error as the program's user sees it. more: steps of the client's own, while the job runs.
    """

    run: Callable[[str], Rows]
    explain: Callable[[BaseException], str] = str
    columns: Callable[[], Sequence[str]] | None = None
    more: Sequence[Callable[[], str]] = ()
    expected: tuple[str, ...] = ("JETSQL.JOB_NOT_FOUND", "42704")
    schema: str = field(default_factory=lambda: os.environ["JETSQL_TEST_SCHEMA"])
    formats: Sequence[str] = field(default_factory=lambda: os.environ["JETSQL_TEST_FORMATS"].split())

    def run_all(self) -> None:
        for step in (self.connect, self.table, self.create, self.list, self.relation, self.deliver):
            run_step(step.__name__, step)
        for step in (self.suspend_resume, self.error, *self.more, self.drop):
            run_step(step.__name__, step)

    def connect(self) -> str:
        [row] = self.run("SELECT 1 AS one")
        assert str(row[0]) == "1", row
        return ""

    def table(self) -> str:
        for text in (
            f"CREATE SCHEMA {self.schema}",
            f"CREATE TABLE {self.schema}.orders (id INT, amount DECIMAL(10,2), at TIMESTAMP) USING {self.formats[0]}",
            f"CREATE TABLE {self.schema}.big (id INT, amount DECIMAL(10,2), at TIMESTAMP) USING {self.formats[1]}",
            f"INSERT INTO {self.schema}.orders VALUES (1, 20.00, now()), (2, 350.50, now())",
        ):
            self.run(text)
        return ""

    def create(self) -> str:
        [row] = self.run(
            f"CREATE JOB {self.job} OPTIONS ('snapshotIntervalMillis' = '500') AS INSERT INTO {self.schema}.big"
            f" SELECT * FROM STREAM {self.schema}.orders WHERE amount > 100"
        )
        assert str(row[2]) == "RUNNING", row
        return ""

    def list(self) -> str:
        rows = self.run(f"SHOW JOBS LIKE '{self.job}'")
        assert [str(row[1]) for row in rows] == [self.job], rows
        if self.columns is not None:
            names = [name.rpartition(".")[2] for name in self.columns()]
            assert names[:4] == ["id", "name", "status", "submission_time"], names
        return ""

    def relation(self) -> str:
        rows = self.run(f"SELECT name, status FROM jetsql.jobs WHERE name = '{self.job}'")
        assert [[str(cell) for cell in row] for row in rows] == [[self.job, "RUNNING"]], rows
        return ""

    def deliver(self) -> str:
        self.run(f"INSERT INTO {self.schema}.orders VALUES (3, 990.00, now())")
        self.run(f"WAIT FOR JOB {self.job} UNTIL IDLE")
        rows = self.run(f"SELECT id, amount FROM {self.schema}.big ORDER BY id")
        assert [[str(cell) for cell in row] for row in rows] == [["2", "350.50"], ["3", "990.00"]], rows
        return ""

    def suspend_resume(self) -> str:
        [suspended] = self.run(f"SUSPEND JOB {self.job}")
        assert str(suspended[2]) == "SUSPENDED", suspended
        [resumed] = self.run(f"ALTER JOB {self.job} RESUME")
        assert str(resumed[2]) == "RUNNING", resumed
        return ""

    def error(self) -> str:
        try:
            self.run("SUSPEND JOB nobody_knows")
        except Exception as error:
            explanation = self.explain(error)
        else:
            raise AssertionError("no error")
        missing = [word for word in self.expected if word not in explanation]
        assert not missing, f"{missing} not in: {explanation}"
        return explanation.strip().splitlines()[0][:200]

    def drop(self) -> str:
        self.run(f"DROP JOB {self.job}")
        assert not self.run(f"SHOW JOBS LIKE '{self.job}'")
        self.run(f"DROP SCHEMA {self.schema} CASCADE")
        return ""

    @property
    def job(self) -> str:
        return f"job_{self.schema}"


def run_step(step: str, act: Callable[[], str]) -> None:
    """Run a step and print its result, whatever it raises."""
    begun = time.monotonic()
    try:
        note, fine = act(), True
    except Exception as error:
        note, fine = f"{type(error).__name__}: {error}"[:600], False
        if os.environ.get("JETSQL_TEST_TRACE"):
            traceback.print_exc()
    print_step(step, fine, note, time.monotonic() - begun)


def print_step(step: str, ok: bool, note: str, seconds: float) -> None:
    """Print the result of a step."""
    print(json.dumps({"step": step, "ok": ok, "note": note, "seconds": round(seconds, 2)}), flush=True)
