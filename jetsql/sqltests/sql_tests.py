"""Run the tests of files and folders, and report their results: `jetsql test`."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence

from jetsql.output.console import Console
from jetsql.output.diagnostics import Diagnostic
from jetsql.sqltests.read_tests import InvalidTestFile, SqlTestFile, find_test_files, read_test_file
from jetsql.sqltests.report_tests import ReportFormat, problem_lines, report_results, result_line, summary
from jetsql.sqltests.run_files import SparkOfTests
from jetsql.sqltests.run_test import Result, Verdict

_WATCH_SECONDS = 0.5


class SqlTests:
    """The tests of files and folders."""

    def __init__(
        self, console: Console, paths: Sequence[str], pattern: str, report: str, variables: Mapping[str, str]
    ) -> None:
        """Create it. pattern: see `is_chosen`. report: the name of a `ReportFormat`. variables: those of scripts"""
        self._console = console
        self._paths = paths
        self._pattern = pattern
        self._format = ReportFormat(report)
        self._variables = variables

    def run(self, watch: bool) -> bool:
        """Run the tests, and return whether all have passed. watch: run them again when a file has changed, for ever

        Raises ValueError when there is no test to run, and EngineError ENGINE_NOT_STARTED.
        """
        files, invalid = self._read()
        if not any(file.choose(self._pattern) for file in files) and not invalid:
            reason = f"No test has {self._pattern!r} in its name" if files else "There are no files *.test.sql"
            raise ValueError(f"{reason} in {', '.join(self._paths)}.")
        with SparkOfTests(os.cpu_count() or 1) as spark:
            passed = self._run(spark, files, invalid)
            while watch:
                self._wait_for_change(files)
                files, invalid = self._read()
                passed = self._run(spark, files, invalid)
        return passed

    def _read(self) -> tuple[list[SqlTestFile], list[Diagnostic]]:
        """Return the test files, and the errors of those that cannot be run. Raises ValueError."""
        files: list[SqlTestFile] = []
        invalid: list[Diagnostic] = []
        try:
            names = list(dict.fromkeys(find_test_files(self._paths)))
        except OSError as error:
            raise ValueError(f"{error.filename}: {error.strerror}.") from error
        for name in names:
            try:
                files.append(read_test_file(name, self._variables))
            except InvalidTestFile as error:
                invalid += error.errors
        return files, invalid

    def _run(self, spark: SparkOfTests, files: Sequence[SqlTestFile], invalid: Sequence[Diagnostic]) -> bool:
        began = time.monotonic()
        results = []
        for result in spark.run(files, self._pattern):
            results.append(result)
            if self._format is ReportFormat.TEXT:
                self._console.write_line(result_line(result))
                self._console.flush()
        self._report(results, invalid)
        self._console.print_message(summary(results, invalid, time.monotonic() - began))
        return all(result.verdict is Verdict.PASSED for result in results) and not invalid

    def _report(self, results: Sequence[Result], invalid: Sequence[Diagnostic]) -> None:
        if self._format is not ReportFormat.TEXT:
            for line in report_results(results, invalid, self._format):
                self._console.write_line(line)
            self._console.flush()
            return
        for result in results:
            if result.problem is not None:
                for line in problem_lines(result):
                    self._console.write_line(line)
        self._console.flush()
        for problem in invalid:
            self._console.show_error(str(problem))

    def _wait_for_change(self, files: Sequence[SqlTestFile]) -> None:
        """Wait until a test file or a file under test is written, added or removed."""
        before = self._times(files)
        while self._times(files) == before:
            time.sleep(_WATCH_SECONDS)

    def _times(self, files: Sequence[SqlTestFile]) -> dict[str, float]:
        named = {path for file in files for path in file.files}
        times = {}
        for path in {*named, *find_test_files(self._paths)}:
            try:
                times[path] = os.stat(path).st_mtime
            except OSError:
                continue  # it was removed
        return times
