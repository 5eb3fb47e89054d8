"""An engine is stopped in the middle of a commit, another one writes the same batch, and the first one continues.

The rows of the batch are in the table once. JetSQL's lease cannot help here: the first engine has compared it before.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from tests.support.paths import ROOT
from tests.support.tables.lake_tables import ENGINES
from tests.support.tables.lakehouse import SETTINGS
from tools.java.older_sparks import install

# Long enough to install a Spark for the first time.
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1200)]
PAUSE_SECONDS = 3.0


@contextmanager
def _writer(folder: Path, name: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Start an engine that writes a batch when it gets a line, and kill it at the end."""
    table_format = str(arguments[0])
    spark, settings = ENGINES[table_format]
    config = folder / f"{name}.toml"
    config.write_text(f"{SETTINGS}\n{settings.format(folder=folder)}", encoding="utf-8")
    program = ["-m", "tests.support.programs.two_lake_writers", str(folder / name), *map(str, arguments)]
    with subprocess.Popen(
        [str(install(spark)), *program],
        cwd=ROOT,
        env={**os.environ, "JETSQL_CONFIG": str(config)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            _expect(process, "READY")
            yield process
        finally:
            for each in _family(process):
                each.kill()


def _expect(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdout is not None
    others = []
    for text in process.stdout:
        if text.strip() == line:
            return
        others.append(text)
    raise AssertionError(f"the writer has ended without {line}: {others}")


def _outcome(process: subprocess.Popen[str]) -> dict[str, object]:
    assert process.stdout is not None
    return dict(json.loads(next(text for text in process.stdout if text.startswith("{"))))


def _begin(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("begin\n")
    process.stdin.flush()


def _family(process: subprocess.Popen[str]) -> list[psutil.Process]:
    parent = psutil.Process(process.pid)
    return [parent, *parent.children(recursive=True)]


def _signal(processes: Iterable[psutil.Process], number: int) -> None:
    for each in processes:
        with suppress(psutil.NoSuchProcess):  # a worker of Spark has just ended
            each.send_signal(number)


@pytest.mark.parametrize("verb", ["append", "overwrite", "merge"])
@pytest.mark.parametrize("table_format", ENGINES)
def test_a_stopped_engine_does_not_write_a_batch_again(table_format: str, verb: str, tmp_path: Path) -> None:
    with _writer(tmp_path, "first", table_format, verb, 0, PAUSE_SECONDS) as first:
        _begin(first)
        _expect(first, "WRITING")
        stopped = _family(first)
        _signal(stopped, signal.SIGSTOP)
        with _writer(tmp_path, "second", table_format, verb, 0) as second:
            _begin(second)
            assert _outcome(second) == {"newest": -1, "outcome": "written", "counted": [10, 10]}
        _signal(stopped, signal.SIGCONT)
        ended = _outcome(first)
    assert ended["counted"] == [10, 10]
    error = str(ended["outcome"])
    refusals = ("another run of the job wrote batch 0", "ConcurrentTransactionException", "ValidationException")
    assert any(each in error for each in refusals), error
