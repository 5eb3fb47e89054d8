"""Helper processes of benchmarks. Each prints READY, begins after a line of input, and prints its result as a line."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

import click
import psutil

_ROOT: Final = Path(__file__).parent.parent
_SAMPLE_SECONDS: Final = 0.05


@dataclass(frozen=True)
class MeasuredRun:
    """The end of a command, and what it took."""

    seconds: float
    processor_seconds: float
    """The processor time of the command and of all processes that it started, such as Java."""
    output: str


@contextmanager
def beginning(module: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Start a process of a module, let it begin when it is ready, and kill it at the end of the context."""
    with started(module, *arguments) as process:
        assert process.stdin is not None
        process.stdin.write("begin\n")
        process.stdin.flush()
        yield process


@contextmanager
def started(
    module: str, *arguments: object, tree: Path = _ROOT, environment: Mapping[str, str] = MappingProxyType({})
) -> Iterator[subprocess.Popen[str]]:
    """Start a process of a module, wait until it is ready, and kill it with its children at the end of the context.

    tree: the checkout whose code the process and its children run.
    environment: variables that the process has in addition.
    """
    command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
    variables = {**os.environ, "PYTHONPATH": str(tree), **environment}
    with subprocess.Popen(
        command, cwd=tree, env=variables, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
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


def end(process: subprocess.Popen[str]) -> None:
    """Close the input of a process, and wait until it has ended. It deletes its files meanwhile."""
    assert process.stdin is not None
    process.stdin.close()
    process.wait()


def kill(process: subprocess.Popen[str]) -> None:
    """Kill a process (kill -9) with its children, if it still runs."""
    if process.poll() is not None:
        return
    try:
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for each in family:
        each.kill()
    process.wait()


def measure(command: Sequence[str]) -> MeasuredRun:
    """Run a command until its processes have ended.

    The system adds up only the times of processes that their parents wait for, which Python does not do for Java. So
    the times of all processes are sampled.
    """
    began = time.monotonic()
    used: dict[psutil.Process, float] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        root = psutil.Process(process.pid)
        while True:
            try:
                output, _ = process.communicate(timeout=_SAMPLE_SECONDS)
                break
            except subprocess.TimeoutExpired:
                _sample(root, used)
    seconds = time.monotonic() - began
    while any(_runs(each) for each in used):
        _sample(root, used)
        time.sleep(_SAMPLE_SECONDS)
    return MeasuredRun(seconds, sum(used.values()), output)


def _sample(root: psutil.Process, used: dict[psutil.Process, float]) -> None:
    """Note the processor times of a process, of its descendants, and of those that have outlived it."""
    with suppress(psutil.NoSuchProcess):
        used.update(dict.fromkeys({root, *root.children(recursive=True)} - used.keys(), 0.0))
    for each in used:
        with suppress(psutil.NoSuchProcess):
            used[each] = processor_seconds(each)


def processor_seconds(process: psutil.Process) -> float:
    """Return the processor time of a process without its children. Raises NoSuchProcess."""
    times = process.cpu_times()
    return float(times.user + times.system)


def _runs(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False
