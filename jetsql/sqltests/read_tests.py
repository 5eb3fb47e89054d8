"""Read test files: the statements before the first test, the files under test, and the tests."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_args

from jetsql.errors import Span, StatementError
from jetsql.jobs.model.job import name_key
from jetsql.language import parse
from jetsql.language.statement import (
    ExpectError,
    ExpectJob,
    ExpectNoRows,
    ExpectTable,
    RunFile,
    StartTest,
    Statement,
    TestStatement,
)
from jetsql.output.diagnostics import Diagnostic, Script
from jetsql.script import PreparedStatement, prepare
from jetsql.sqlfiles.read_sql_files import SqlFile, find_sql_files, read_sql_file

SUFFIX: Final = ".test.sql"
_EXPECTATIONS: Final = (ExpectTable, ExpectNoRows, ExpectJob, ExpectError)
_CONDITION: Final = "JETSQL.INVALID_TEST"


@dataclass(frozen=True)
class FileStatement:
    """A statement of a test file or of a file under test."""

    prepared: PreparedStatement
    statement: Statement | None
    """The statement of JetSQL; None for one of Spark."""

    def diagnostic(self, message: str, place: Span | None = None, hint: str = "", condition: str = "") -> Diagnostic:
        """Return an error at this statement. place: of the words at fault in the prepared text"""
        at = self.prepared.start if place is None else self.prepared.origin(place.start)
        return Diagnostic(self.prepared.script, at, condition, message, hint)


@dataclass(frozen=True)
class SqlTest:
    """A test of a file."""

    name: str
    comment: str
    file: str
    line: int
    steps: tuple[FileStatement, ...]


@dataclass(frozen=True)
class SqlTestFile:
    """A test file."""

    name: str
    setup: tuple[FileStatement, ...]
    """The statements that each test runs first, with those of the files under test."""
    tests: tuple[SqlTest, ...]
    files: tuple[str, ...]
    """The paths of this file and of the files under test."""

    def choose(self, pattern: str) -> list[SqlTest]:
        """Return the tests with a text in the name of the file or of the test, without case."""
        return [test for test in self.tests if pattern.casefold() in f"{self.name}::{test.name}".casefold()]


class InvalidTestFile(Exception):
    """A test file that cannot be run."""

    def __init__(self, errors: list[Diagnostic]) -> None:
        super().__init__(str(errors[0]))
        self.errors: Final = errors
        self.files: tuple[str, ...] = ()
        """The paths of this file and of the files under test that were read."""


def find_test_files(names: Sequence[str]) -> Iterator[str]:
    """Yield the test files with these names, and those in folders with these names. Raises OSError."""
    for name in names:
        if not os.path.exists(name):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        for found in find_sql_files([name])[0]:
            if found == name or found.endswith(SUFFIX):
                yield found


def read_test_file(name: str, variables: Mapping[str, str]) -> SqlTestFile:
    """Return a test file. Raises InvalidTestFile."""
    paths = [name]
    try:
        return _Reader(_read(name), variables, paths).file()
    except InvalidTestFile as error:
        error.files = tuple(paths)
        raise
    except OSError as error:
        raise InvalidTestFile([Diagnostic(Script(name, ""), 0, "", f"{error.strerror}.")]) from error


def _read(name: str) -> SqlFile:
    """Return a file. Raises OSError and InvalidTestFile."""
    file = read_sql_file(name)
    if file.problem is not None:
        raise InvalidTestFile([file.problem.diagnostic()])
    return file


class _Reader:
    """The reading of one test file."""

    def __init__(self, file: SqlFile, variables: Mapping[str, str], paths: list[str]) -> None:
        """Create it. paths: receives the paths of the files under test"""
        self._file = file
        self._variables = variables
        self._paths = paths

    def file(self) -> SqlTestFile:
        """Return the test file. Raises InvalidTestFile."""
        steps = self._steps(self._file.script)
        starts = [index for index, step in enumerate(steps) if isinstance(step.statement, StartTest)]
        if not starts:
            raise _invalid(self._file.script, "The file has no test.", "Write START TEST name; before its statements.")
        setup = tuple(self._setup(steps[: starts[0]]))
        ends = [*starts[1:], len(steps)]
        tests = tuple(self._test(steps[start:end]) for start, end in zip(starts, ends, strict=True))
        self._check_names(tests, [steps[start] for start in starts])
        return SqlTestFile(self._file.name, setup, tests, tuple(self._paths))

    def _steps(self, script: Script) -> list[FileStatement]:
        steps, errors = [], []
        for prepared in prepare([script], self._variables):
            if isinstance(prepared, Diagnostic):
                errors.append(prepared)
                continue
            try:
                steps.append(FileStatement(prepared, parse(prepared.text)))
            except StatementError as error:
                place = prepared.start if error.place is None else prepared.origin(error.place.start)
                errors.append(Diagnostic(script, place, error.condition, error.message, error.hint))
        if errors:
            raise InvalidTestFile(errors)
        return steps

    def _setup(self, steps: list[FileStatement]) -> Iterator[FileStatement]:
        """Yield the statements before the first test, with those of the files that RUN FILE names."""
        if not any(isinstance(step.statement, RunFile) for step in steps):
            yield from steps
            yield from self._default_file()
            return
        for step in steps:
            if isinstance(step.statement, RunFile):
                for file, place in zip(step.statement.files, step.statement.places, strict=True):
                    yield from self._file_under_test(file, step, place)
            elif isinstance(step.statement, get_args(TestStatement)):
                raise InvalidTestFile(
                    [step.diagnostic("The statement belongs to a test.", hint="Write START TEST name; before it.")]
                )
            else:
                yield step

    def _default_file(self) -> list[FileStatement]:
        """Return the statements of NAME.sql for NAME.test.sql."""
        path = Path(self._file.name)
        beside = path.with_name(path.name.removesuffix(SUFFIX) + ".sql")
        if not path.name.endswith(SUFFIX) or not beside.exists():
            raise _invalid(
                self._file.script,
                f"The file names no file under test, and {beside.name} does not exist."
                if path.name.endswith(SUFFIX)
                else "The file names no file under test.",
                "Write RUN FILE 'NAME.sql'; before the first test.",
            )
        return self._statements_of(str(beside))

    def _file_under_test(self, file: str, step: FileStatement, place: Span) -> list[FileStatement]:
        path = str(Path(self._file.name).parent / file)
        try:
            return self._statements_of(path)
        except OSError as error:
            message = f"Cannot read the file under test {path}: {error.strerror}."
            raise InvalidTestFile([step.diagnostic(message, place, condition=_CONDITION)]) from error

    def _statements_of(self, path: str) -> list[FileStatement]:
        """Return the statements of a file under test. Raises OSError and InvalidTestFile."""
        self._paths.append(path)
        steps = self._steps(_read(path).script)
        for step in steps:
            if isinstance(step.statement, get_args(TestStatement)):
                message = "A file under test has no statements of tests."
                raise InvalidTestFile([step.diagnostic(message, condition=_CONDITION)])
        return steps

    def _test(self, steps: list[FileStatement]) -> SqlTest:
        start = steps[0].statement
        assert isinstance(start, StartTest)
        for step in steps:
            if isinstance(step.statement, RunFile):
                message = "The files under test are the same for all tests of a file."
                raise InvalidTestFile(
                    [step.diagnostic(message, hint="Write RUN FILE before the first test.", condition=_CONDITION)]
                )
        if not any(isinstance(step.statement, _EXPECTATIONS) for step in steps):
            message = f"The test {start.name.text} expects nothing."
            hint = "Write EXPECT TABLE, EXPECT NO ROWS, EXPECT JOB or EXPECT ERROR after the rows."
            raise InvalidTestFile([steps[0].diagnostic(message, start.name.place, hint, _CONDITION)])
        script = self._file.script
        return SqlTest(
            start.name.text, start.comment or "", script.name, script.line(steps[0].prepared.start), tuple(steps[1:])
        )

    def _check_names(self, tests: tuple[SqlTest, ...], starts: list[FileStatement]) -> None:
        seen: set[str] = set()
        for test, step in zip(tests, starts, strict=True):
            if name_key(test.name) in seen:
                message = f"The file has two tests named {test.name}."
                raise InvalidTestFile([step.diagnostic(message, condition=_CONDITION)])
            seen.add(name_key(test.name))


def _invalid(script: Script, message: str, hint: str) -> InvalidTestFile:
    return InvalidTestFile([Diagnostic(script, 0, _CONDITION, message, hint)])
