"""A pytest plugin that records which tests reach a line, and its records.

    python -m pytest -p tools.mutation.reach ...   with JETSQL_REACH=FOLDER

Each process of pytest-xdist, and each process that a test starts, writes its own records.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Final

import coverage
import pytest

FOLDER: Final = "JETSQL_REACH"
_COVERAGERC: Final = "coveragerc"
_CONFIG: Final = """[run]
source = {sources}
data_file = {folder}/coverage
parallel = true
core = ctrace
context = ${{PYTEST_CURRENT_TEST-}}
disable_warnings = no-data-collected, module-not-imported, module-not-measured
"""


class Reach:
    """The records of a run of the tests: the tests that reach a line, and the time of each test."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.failed: list[str] = []
        """The failed tests, which are not used."""
        self._data = coverage.CoverageData(basename=str(folder / "all"))
        for path in folder.glob("coverage.*"):
            part = coverage.CoverageData(basename=str(path))
            part.read()
            self._data.update(part)
        self._root = root
        self._lines: dict[str, dict[int, list[str]]] = {}
        self.seconds: dict[str, float] = {}
        """The time of each test."""
        for path in folder.glob("seconds.*"):
            record = json.loads(path.read_text(encoding="utf-8"))
            self.seconds |= record["seconds"]
            self.failed += record["failed"]

    def tests(self, file: str, lines: Iterable[int]) -> list[str]:
        """Return the tests that reach any of these lines: first those of the mirrored folder, the fastest first."""
        folder = f"tests/{Path(file).parent.relative_to('jetsql').as_posix()}/"
        if file not in self._lines:
            self._lines[file] = self._data.contexts_by_lineno(str(self._root / file))
        contexts = self._lines[file]
        tests = {_test(context) for line in lines for context in contexts.get(line, ())}
        tests -= set(self.failed)
        known = (test for test in tests if test in self.seconds)
        return sorted(known, key=lambda test: (not test.startswith(folder), self.seconds[test], test))


def _test(context: str) -> str:
    """Return the test of a context. For a process that the test has started, the context ends with the phase."""
    for phase in (" (setup)", " (call)", " (teardown)"):
        context = context.removesuffix(phase)
    return context


class _Recorder:
    def __init__(self, folder: Path, worker: str) -> None:
        self._measured = coverage.Coverage(config_file=str(folder / _COVERAGERC), context="")
        self._seconds: dict[str, float] = {}
        self._failed: list[str] = []
        self._path = folder / f"seconds.{worker}"

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._measured.switch_context(item.nodeid)
        result = yield
        self._measured.switch_context("")
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self._failed.append(report.nodeid)

    def pytest_sessionstart(self) -> None:
        self._measured.start()

    def pytest_sessionfinish(self) -> None:
        self._measured.stop()
        self._measured.save()
        self._path.write_text(json.dumps({"seconds": self._seconds, "failed": self._failed}), encoding="utf-8")


def prepare(folder: Path, sources: Iterable[Path]) -> dict[str, str]:
    """Prepare a folder for records, and return the environment variables for pytest."""
    paths = ",".join(map(str, sources))
    (folder / _COVERAGERC).write_text(_CONFIG.format(sources=paths, folder=folder), encoding="utf-8")
    return {FOLDER: str(folder)}


def pytest_configure(config: pytest.Config) -> None:
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is not None:
        folder = Path(os.environ[FOLDER])
        config.pluginmanager.register(_Recorder(folder, worker))
        os.environ["COVERAGE_PROCESS_START"] = str(folder / _COVERAGERC)  # for the processes that tests start
