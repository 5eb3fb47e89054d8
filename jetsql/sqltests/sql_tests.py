"""Run the tests of files and folders, and report their results: `jetsql test`."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from jetsql.output.console import Console
from jetsql.output.diagnostics import Diagnostic
from jetsql.sqltests.coverage import Coverage
from jetsql.sqltests.read_tests import InvalidTestFile, SqlTestFile, find_test_files, read_test_file
from jetsql.sqltests.report_tests import (
    ReportFormat,
    coverage_lines,
    problem_lines,
    report_results,
    result_line,
    summary,
)
from jetsql.sqltests.run_files import SparkOfTests
from jetsql.sqltests.run_test import Result, Verdict

_WATCH_SECONDS = 0.5


class NoTests(Exception):
    """There is no test to run."""


class SqlTests:
    """The tests of files and folders."""

    def __init__(
        self,
        console: Console,
        paths: Sequence[str],
        pattern: str,
        report: str,
        variables: Mapping[str, str],
        covered: bool = False,
    ) -> None:
        """Create it. pattern: see `SqlTestFile.choose`. report: the name of a `ReportFormat`.

        variables: those of scripts. covered: report the coverage of the tests
        """
        self._covered = covered
        self._console = console
        self._paths = paths
        self._pattern = pattern
        self._format = ReportFormat(report)
        self._variables = variables
        self._watched: set[str] = set()
        self._times: dict[str, tuple[int, int]] = {}

    def run(self, watch: bool) -> bool:
        """Run the tests, and return whether all have passed. watch: run them again when a file has changed, for ever

        Raises NoTests, FileNotFoundError for a path that does not exist, and EngineError ENGINE_NOT_STARTED.
        """
        files, invalid = self._read()
        if not any(file.choose(self._pattern) for file in files) and not invalid:
            reason = f"No test has {self._pattern!r} in its name" if files else "There are no files *.test.sql"
            raise NoTests(f"{reason} in {', '.join(self._paths)}.")
        with SparkOfTests(os.cpu_count() or 1, self._covered) as spark:
            passed = self._run(spark, files, invalid)
            while watch:
                self._wait_for_change()
                try:
                    files, invalid = self._read()
                except OSError as error:  # an editor can replace a file by deleting it
                    self._console.show_error(f"{error.filename}: {error.strerror}.")
                    continue
                passed = self._run(spark, files, invalid)
        return passed

    def _read(self) -> tuple[list[SqlTestFile], list[Diagnostic]]:
        """Return the test files, and the errors of those that cannot be run. Raises OSError."""
        self._times = self._read_times()
        files: list[SqlTestFile] = []
        invalid: list[Diagnostic] = []
        for name in dict.fromkeys(find_test_files(self._paths)):
            try:
                file = read_test_file(name, self._variables)
            except InvalidTestFile as error:
                invalid += error.errors
                self._watched.update(error.files)
            else:
                files.append(file)
                self._watched.update(file.files)
        self._times = self._read_times() | self._times  # a file that changes while it is read has changed
        return files, invalid

    def _run(self, spark: SparkOfTests, files: Sequence[SqlTestFile], invalid: Sequence[Diagnostic]) -> bool:
        began = time.monotonic()
        results = []
        for result in spark.run(files, self._pattern):
            results.append(result)
            if self._format is ReportFormat.TEXT:
                self._console.write_line(result_line(result))
                self._console.flush()
        self._report(results, invalid, spark.coverage(files))
        self._console.print_message(summary(results, invalid, time.monotonic() - began))
        return all(result.verdict is Verdict.PASSED for result in results) and not invalid

    def _report(self, results: Sequence[Result], invalid: Sequence[Diagnostic], coverage: Coverage | None) -> None:
        if self._format is not ReportFormat.TEXT:
            for line in report_results(results, invalid, self._format, coverage):
                self._console.write_line(line)
            self._console.flush()
            return
        for line in (*problem_lines(results), *coverage_lines(coverage)):
            self._console.write_line(line)
        self._console.flush()
        for problem in invalid:
            self._console.show_error(str(problem))

    def _wait_for_change(self) -> None:
        """Wait until a test file or a file under test is written, added or removed."""
        while self._read_times() == self._times:
            time.sleep(_WATCH_SECONDS)

    def _read_times(self) -> dict[str, tuple[int, int]]:
        """Return the time and size of each file that was read, and of all test files."""
        with suppress(OSError):  # a path was removed
            self._watched.update(find_test_files(self._paths))
        times = {}
        for path in self._watched:
            with suppress(OSError):
                found = os.stat(path)
                times[path] = (found.st_mtime_ns, found.st_size)
        return times
