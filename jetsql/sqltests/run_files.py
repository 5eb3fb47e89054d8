"""Run the tests of files in parallel, on one Spark."""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import psutil

from jetsql.engine.memory.memory_spark import coverage_sites, open_session, start_memory_spark
from jetsql.engine.memory.memory_world import MemoryWorld, SharedDefinitions
from jetsql.engine.spark.startup import kill_process
from jetsql.home.process_folders import make_process_folder
from jetsql.settings.engine_settings import default_class_archives
from jetsql.sqltests.coverage import Coverage, read_coverage
from jetsql.sqltests.read_tests import SqlTest, SqlTestFile
from jetsql.sqltests.run_test import Result, run_test

_PREFIX: Final = "jetsql-test-"


class SparkOfTests:
    """The Spark of all tests, and the folder of its files, for use in `with`."""

    def __init__(self, cores: int, covered: bool = False) -> None:
        """Create it. cores: the number of tests in parallel. covered: note the coverage of tests"""
        self._cores = cores
        self._covered = covered
        self._definitions = SharedDefinitions()
        self._spark: Any = None
        self._undo = ExitStack()

    def __enter__(self) -> SparkOfTests:
        """Start Spark. Raises EngineError ENGINE_NOT_STARTED."""
        with ExitStack() as undo:
            self._folder = undo.enter_context(_folder())
            try:
                self._spark = start_memory_spark(self._folder, self._cores, default_class_archives())
            except BaseException:
                _kill_programs_of(self._folder)
                raise
            undo.push(self._end_spark)
            self._undo = undo.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._undo.__exit__(kind, error, at)

    def _end_spark(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """Stop Spark. After Ctrl-C, kill it: a test that runs would wait for a Spark that has stopped."""
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            # The calls of the tests that run fail now, and Py4J reports some of them with the root logger.
            logging.getLogger("py4j").setLevel(logging.CRITICAL)
            logging.getLogger().addFilter(lambda record: "py4j" not in record.pathname)
            kill_process(self._spark)
        else:
            self._spark.stop()

    def run(self, files: Sequence[SqlTestFile], pattern: str) -> Iterator[Result]:
        """Run tests, and yield their results in their order. pattern: see `SqlTestFile.choose`"""
        chosen = [(file, test) for file in files for test in file.choose(pattern)]
        pool = ThreadPoolExecutor(self._cores)
        try:
            futures = [pool.submit(self._run, file, test) for file, test in chosen]
            for future in futures:
                yield future.result()
        finally:
            # After Ctrl-C, running tests end with Spark.
            pool.shutdown(wait=False, cancel_futures=True)

    def coverage(self, files: Sequence[SqlTestFile]) -> Coverage | None:
        """Return the coverage of the tests since the last call; None if it is not noted."""
        return read_coverage(coverage_sites(self._spark), files) if self._covered else None

    def _run(self, file: SqlTestFile, test: SqlTest) -> Result:
        folder = Path(tempfile.mkdtemp(prefix="state-", dir=self._folder))
        with open_session(self._spark, folder) as session:
            world = MemoryWorld(session, folder, self._definitions, self._covered)
            try:
                return run_test(test, file.setup, world)
            finally:
                world.close()
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _folder() -> Iterator[Path]:
    """Return a temporary folder within the block."""
    folder = make_process_folder(_PREFIX)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _kill_programs_of(folder: Path) -> None:
    """Kill the programs of an incomplete start, which would create files while the folder is deleted."""
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if any(str(folder) in argument for argument in child.cmdline()):
                child.kill()
                child.wait()
