"""Ctrl-C during `jetsql test`, and `--watch`, on Spark: no process and no file stays, and one Spark runs all tests."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from jetsql.cli.flags import ExitCode

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

COLUMNS = "CREATE TABLE source (id INT) USING json;\nCREATE TABLE target (id INT) USING parquet;\n"
JOB = "CREATE JOB copy AS INSERT INTO target SELECT id FROM STREAM source WHERE id > {};\n"
TEST = "RUN FILE 'columns.sql', 'job.sql';\nSTART TEST {};\nINSERT INTO source VALUES (1), (2);\n{};\n"
TWO_ROWS = "EXPECT TABLE target AS VALUES (1), (2)"
ENDLESS = "EXPECT NO ROWS AS SELECT count(*) FROM range(1000000000000) a JOIN range(1000000000000) b ON a.id < b.id"
SECONDS = 300


class Command:
    """A running `jetsql test`, in a process group of its own, as a terminal starts it."""

    def __init__(self, folder: Path, temporary: Path, *arguments: str) -> None:
        command = [sys.executable, "-u", "-m", "jetsql", "test", str(folder), *arguments]
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env={**os.environ, "TMPDIR": str(temporary)},
        )
        self._temporary = temporary
        self._output: list[str] = []

    @property
    def output(self) -> str:
        return "".join(self._output)

    def read_until(self, *texts: str) -> None:
        """Read the output until all texts were in lines after the last call."""
        assert self._process.stdout is not None
        waiting = set(texts)
        while waiting:
            line = self._process.stdout.readline()
            self._output.append(line)
            assert line, self.output
            waiting = {text for text in waiting if text not in line}

    def wait_for_java(self) -> None:
        while not self.java():
            assert self._process.poll() is None, self.output

    def java(self) -> list[psutil.Process]:
        """Return the Java processes of the command, without those that Java forks to start programs."""
        return [each for each in psutil.Process(self._process.pid).children() if _name(each) == "java"]

    def interrupt(self) -> None:
        """Press Ctrl-C, and check that the command leaves nothing."""
        family = psutil.Process(self._process.pid).children(recursive=True)
        os.killpg(self._process.pid, signal.SIGINT)
        output, _ = self._process.communicate(timeout=SECONDS)
        self._output.append(output)
        assert self._process.returncode == ExitCode.INTERRUPTED, self.output
        assert "Traceback" not in self.output, self.output
        _, left = psutil.wait_procs(family, timeout=SECONDS)
        assert not left, left
        assert list(self._temporary.iterdir()) == [], self.output

    def kill(self) -> None:
        """Kill the command with its Java, if it still runs."""
        for each in [psutil.Process(self._process.pid), *self.java()] if self._process.poll() is None else []:
            each.kill()
        self._process.communicate(timeout=SECONDS)


def _name(process: psutil.Process) -> str:
    with suppress(psutil.NoSuchProcess):
        return str(process.name())
    return ""


@pytest.fixture
def temporary() -> Iterator[Path]:
    """Return a folder for temporary files, with a path that is short enough for the sockets in it."""
    folder = Path(tempfile.mkdtemp(prefix="t-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a file under test in two parts, and without a test."""
    folder = tmp_path / "sql"
    folder.mkdir()
    (folder / "columns.sql").write_text(COLUMNS, encoding="utf-8")
    (folder / "job.sql").write_text(JOB.format(0), encoding="utf-8")
    return folder


Start = Callable[..., Command]


@pytest.fixture
def start(folder: Path, temporary: Path) -> Iterator[Start]:
    started: list[Command] = []

    def run(*arguments: str) -> Command:
        started.append(Command(folder, temporary, *arguments))
        return started[-1]

    yield run
    for each in started:
        each.kill()


def write_test(folder: Path, name: str, expectation: str) -> None:
    (folder / f"{name}.test.sql").write_text(TEST.format(name, expectation), encoding="utf-8")


def test_ctrl_c_while_a_test_runs_leaves_nothing(folder: Path, start: Start) -> None:
    write_test(folder, "a_passes", TWO_ROWS)
    write_test(folder, "b_never_ends", ENDLESS)
    command = start()
    command.read_until("a_passes PASSED")
    command.interrupt()
    assert "passed in" not in command.output


def test_ctrl_c_while_spark_starts_leaves_nothing(folder: Path, start: Start) -> None:
    write_test(folder, "a_passes", TWO_ROWS)
    command = start()
    command.wait_for_java()
    command.interrupt()


def test_watch_runs_changed_files_on_the_same_spark(folder: Path, start: Start) -> None:
    write_test(folder, "copy", TWO_ROWS)
    command = start("--watch")
    command.read_until("copy PASSED", "1 passed in")
    java = command.java()

    (folder / "job.sql").write_text(JOB.format(1), encoding="utf-8")
    command.read_until("copy FAILED", "target has other rows: 1 missing.", "1 failed in")
    write_test(folder, "copy", "EXPECT TABLE target AS VALUES (2)")
    command.read_until("copy PASSED", "1 passed in")
    (folder / "columns.sql").write_text(COLUMNS.replace("target (id INT)", "target (other INT)"), encoding="utf-8")
    command.read_until("copy PASSED", "1 passed in")
    (folder / "job.sql").write_text("CREATE JOB copy;\n", encoding="utf-8")
    command.read_until("job.sql:1:16: [JETSQL.PARSE_SYNTAX_ERROR] Expected", "1 invalid in")
    (folder / "job.sql").unlink()
    command.read_until("Cannot read the file under test", "1 invalid in")
    (folder / "job.sql").write_text(JOB.format(1), encoding="utf-8")
    command.read_until("copy PASSED", "1 passed in")

    assert command.java() == java and len(java) == 1
    command.interrupt()
