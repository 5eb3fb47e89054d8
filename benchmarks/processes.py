"""Processes beside a benchmark: each says READY, begins when it gets a line, and tells in one what it found."""

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
def beginning(module: str, *given: object) -> Iterator[subprocess.Popen[str]]:
    """A process of a module that is ready, and told to begin; killed when its context ends."""
    with started(module, *given) as process:
        assert process.stdin is not None
        process.stdin.write("begin\n")
        process.stdin.flush()
        yield process


@contextmanager
def started(module: str, *given: object) -> Iterator[subprocess.Popen[str]]:
    """A process of a module that is ready; killed when its context ends, with all that it has started."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, given)]
    with subprocess.Popen(command, cwd=_ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            while line(process) != "READY":
                pass
            yield process
        finally:
            kill(process)


def line(process: subprocess.Popen[str]) -> str:
    """The next line that it writes. Raises ClickException when it has ended."""
    assert process.stdout is not None
    text = process.stdout.readline()
    if not text:
        raise click.ClickException("A process of the benchmark ended; its error stands above.")
    return text.strip()


def kill(process: subprocess.Popen[str]) -> None:
    """At once (kill -9), with all that it has started."""
    try:
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for each in family:
        each.kill()
    process.wait()
