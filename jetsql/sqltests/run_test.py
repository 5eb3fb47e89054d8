"""Run one test: its statements, steps and expectations."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from enum import Enum
from itertools import takewhile
from typing import Final

from jetsql.engine.memory.memory_world import MemoryWorld
from jetsql.errors import Span
from jetsql.language.statement import (
    AdvanceClock,
    ExpectError,
    ExpectJob,
    ExpectNoRows,
    ExpectTable,
    JobMeasure,
    Rest,
    RunJobs,
    Statement,
)
from jetsql.language.tokens import blank
from jetsql.output.diagnostics import Diagnostic
from jetsql.script import diagnose
from jetsql.sqltests.compare_rows import RowDifference, compare_rows
from jetsql.sqltests.read_tests import FileStatement, SqlTest

_SHOWN_ROWS: Final = 20


class Verdict(Enum):
    """The verdict on a test."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    """A statement failed that no expectation names."""


@dataclass(frozen=True)
class Result:
    """The result of a test."""

    test: SqlTest
    verdict: Verdict
    seconds: float
    problem: Diagnostic | None = None
    difference: RowDifference | None = None


@dataclass
class _Failed(Exception):
    """The end of a test that has not passed."""

    verdict: Verdict
    problem: Diagnostic
    difference: RowDifference | None = field(default=None)


def run_test(test: SqlTest, setup: tuple[FileStatement, ...], world: MemoryWorld) -> Result:
    """Run a test in its world."""
    began = time.monotonic()
    run = _TestRun(world)
    definitions = [step.prepared.text for step in takewhile(lambda step: step.statement is None, setup)]
    try:
        defined = world.define(definitions)
        for step in (*setup[defined:], *test.steps):
            run.take(step)
        run.check_jobs(test.steps[-1])
    except _Failed as failed:
        return Result(test, failed.verdict, time.monotonic() - began, failed.problem, failed.difference)
    return Result(test, Verdict.PASSED, time.monotonic() - began)


class _TestRun:
    """The run of one test."""

    def __init__(self, world: MemoryWorld) -> None:
        self._world = world
        self._is_due = True
        self._expected_failures: set[str] = set()

    def take(self, step: FileStatement) -> None:
        """Carry out a statement. Raises _Failed."""
        statement = step.statement
        match statement:
            case RunJobs():
                self._step(step)
            case AdvanceClock():
                text = f"({_placed(step, statement.value)})"
                self._call(step, lambda: self._world.advance_clock(text, statement.by_interval))
                self._is_due = True
            case ExpectTable() | ExpectNoRows() | ExpectJob():
                self._finish_step(step)
                self.check_jobs(step)
                self._check(step, statement)
            case ExpectError():
                self._expect_error(step, statement)
            case _:
                self._call(step, lambda: self._world.run(step.prepared.text, statement))
                self._is_due = True

    def _call(self, step: FileStatement, action: object) -> None:
        assert callable(action)
        try:
            action()
        except Exception as error:  # Spark's errors have no common base class
            raise self._error(step, error) from error

    def _error(self, step: FileStatement, error: Exception) -> _Failed:
        report = self._world.report(error, step.prepared.text)
        return _Failed(Verdict.ERROR, diagnose(step.prepared, report))

    def _finish_step(self, step: FileStatement) -> None:
        if self._is_due:
            self._step(step)

    def _step(self, step: FileStatement) -> None:
        self._is_due = False
        self._call(step, self._world.step)

    def check_jobs(self, step: FileStatement) -> None:
        """Raise _Failed if a job has failed that no expectation names."""
        for name, cause in self._world.failures().items():
            if name not in self._expected_failures:
                message = f"Job {name} failed: {cause.message}"
                problem = step.diagnostic(message, hint=cause.hint, condition=cause.condition)
                raise _Failed(Verdict.ERROR, problem)

    def _check(self, step: FileStatement, statement: ExpectTable | ExpectNoRows | ExpectJob) -> None:
        try:
            match statement:
                case ExpectTable():
                    self._expect_table(step, statement)
                case ExpectNoRows():
                    self._expect_no_rows(step, statement)
                case ExpectJob():
                    self._expect_job(step, statement)
        except _Failed:
            raise
        except Exception as error:  # Spark's errors have no common base class
            raise self._error(step, error) from error

    def _expect_table(self, step: FileStatement, statement: ExpectTable) -> None:
        place = statement.table.place
        table = step.prepared.text[place.start : place.stop]
        columns = [column.text for column in statement.columns]
        found = self._world.compare(table, columns, _placed(step, statement.query))
        difference = compare_rows(found.columns, found.actual, found.expected)
        if difference:
            raise self._failed(step, f"{table} has other rows: {difference.summary}.", place, difference)

    def _expect_no_rows(self, step: FileStatement, statement: ExpectNoRows) -> None:
        columns, rows = self._world.rows(_placed(step, statement.query))
        if rows:
            shown = tuple(map(tuple, rows[:_SHOWN_ROWS]))
            message = f"The query returns {len(rows)} row{'' if len(rows) == 1 else 's'}."
            raise self._failed(step, message, statement.query.place, RowDifference(columns, (), shown, ()))

    def _expect_job(self, step: FileStatement, statement: ExpectJob) -> None:
        job = self._world.running(statement.job)
        name = statement.job.text
        value = _placed(step, statement.value)
        if statement.measure is JobMeasure.LATE_ROWS:
            expected, actual = self._world.value(f"CAST(({value}) AS BIGINT)"), str(job.late_rows)
            what = "late rows"
        else:
            watermark = f"timestamp_millis({job.watermark_millis})" if job.watermark_millis else "NULL"
            expected = self._world.value(f"CAST(({value}) AS TIMESTAMP)")
            actual = self._world.value(f"CAST({watermark} AS TIMESTAMP)") or "NULL"
            what = "the watermark"
        if (expected or "NULL") != actual:
            message = (
                f"Job {name} has {actual} {what}, not {expected}."
                if statement.measure is JobMeasure.LATE_ROWS
                else f"Job {name} has {what} {actual}, not {expected or 'NULL'}."
            )
            raise self._failed(step, message, statement.value.place)

    def _expect_error(self, step: FileStatement, statement: ExpectError) -> None:
        if statement.job is not None:
            self._finish_step(step)
            job = statement.job.text
            failures = {name.casefold(): (name, cause) for name, cause in self._world.failures().items()}
            if job.casefold() not in failures:
                raise self._failed(step, f"Job {job} has not failed.", statement.job.place)
            name, cause = failures[job.casefold()]
            self._expected_failures.add(name)
            self._compare_condition(step, statement, cause.condition, cause.message)
            return
        assert statement.statement is not None
        text = blank(step.prepared.text[: statement.statement.place.start]) + statement.statement.text
        try:
            self._world.run(text, _parse(text))
        except Exception as error:  # Spark's errors have no common base class
            report = self._world.report(error, text)
            self._compare_condition(step, statement, report.condition, report.message)
        else:
            raise self._failed(step, "The statement was not refused.", statement.statement.place)

    def _compare_condition(self, step: FileStatement, statement: ExpectError, condition: str, message: str) -> None:
        if not _is_condition(condition, statement.error):
            text = f"The error is {condition or 'without a condition'}, not {statement.error}: {message}"
            raise self._failed(step, text, statement.error_place)

    def _failed(
        self, step: FileStatement, message: str, place: Span, difference: RowDifference | None = None
    ) -> _Failed:
        return _Failed(Verdict.FAILED, step.diagnostic(message, place), difference)


def _parse(text: str) -> Statement | None:
    from jetsql.language import parse

    return parse(text)


def _placed(step: FileStatement, rest: Rest) -> str:
    """Return a part of a statement at its place, so that positions in Spark's errors are those of the file."""
    return blank(step.prepared.text[: rest.place.start]) + rest.text


def _is_condition(condition: str, expected: str) -> bool:
    """Return whether a condition is the expected one, or one of its subclasses."""
    wanted = re.sub(r"^JETSQL\.", "", expected, flags=re.IGNORECASE).upper()
    found = condition.removeprefix("JETSQL.").upper()
    return found == wanted or found.startswith(f"{wanted}.")
