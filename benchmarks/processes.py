"""Helper processes of benchmarks. Each prints READY, begins after a line of input, and prints its result as a line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click
import psutil

_ROOT: Final = Path(__file__).parent.parent


@contextmanager
def beginning(module: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Start a process of a module, let it begin when it is ready, and kill it at the end of the context."""
    with started(module, *arguments) as process:
        assert process.stdin is not None
        process.stdin.write("begin\n")
        process.stdin.flush()
        yield process


@contextmanager
def started(module: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Start a process of a module, wait until it is ready, and kill it with its children at the end of the context."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
    with subprocess.Popen(command, cwd=_ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            while line(process) != "READY":
                pass
            yield process
        finally:
            kill(process)


def line(process: subprocess.Popen[str]) -> str:
    """Return the next line of a process's output. Raises ClickException when the process has ended."""
    assert process.stdout is not None
    text = process.stdout.readline()
    if not text:
        raise click.ClickException("A process of the benchmark has ended; see its error above.")
    return text.strip()


def kill(process: subprocess.Popen[str]) -> None:
    """Kill a process (kill -9) with its children, if it still runs."""
    try:
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for each in family:
        each.kill()
    process.wait()
