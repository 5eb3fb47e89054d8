"""The output of benchmarks: a description of the machine, without which no figure has a meaning, and tables."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from statistics import median

import click

from jetsql.output.render import Format, render_lines
from jetsql.resultset import Column
from jetsql.version import VERSION


@dataclass(frozen=True)
class Goal:
    """The goal of a figure, one of two limits."""

    most: float | None = None
    """The upper limit; None for a goal with a lower one."""
    least: float | None = None
    """The lower limit; None for a goal with an upper one."""

    def describe(self, value: float) -> str:
        """Return the goal and whether a value meets it."""
        limit = f"<= {self.most:g}" if self.most is not None else f">= {self.least:g}"
        met = value <= self.most if self.most is not None else value >= (self.least or 0.0)
        return f"{limit} {'met' if met else 'MISSED'}"


@dataclass(frozen=True)
class _Rows:
    """A table in the form that `jetsql.output.render` prints."""

    columns: tuple[Column, ...]
    rows: Iterator[tuple[object, ...]]


def machine() -> str:
    """Return the machine and the versions in one line."""
    return (
        f"{os.cpu_count()} cores ({_processor()}), {platform.system()}, Python {platform.python_version()},"
        f" Spark {version('pyspark')}, Java {_java()}, JetSQL {VERSION}"
    )


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    match = re.search(r"^model name\s*:\s*(.+)$", info.read_text(), re.MULTILINE) if info.exists() else None
    return match.group(1) if match else platform.machine()


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin") if home else None)
    if java is None:
        raise click.ClickException("Spark needs Java 17, and there is no java on the PATH or in JAVA_HOME.")
    output = subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr
    match = re.search(r'"([^"]+)"', output)
    return match.group(1) if match else output.partition("\n")[0]


def say(text: str = "") -> None:
    """Print a line."""
    click.echo(text)


def introduce(title: str, conditions: str) -> None:
    """Print the title, the conditions and the machine of a benchmark."""
    say(title)
    say(conditions)
    say(f"machine: {machine()}; {_load()}")
    say()


def _load() -> str:
    """Return the load average of the minute before the benchmark, which is that of other processes."""
    return f"load before: {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "load unknown"


def table(columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> None:
    for line in render_lines(_Rows(tuple(columns), (tuple(row) for row in rows)), Format.TABLE):
        say(line)
    say()


def text(name: str) -> Column:
    return Column(name)


def figures(*names: str) -> tuple[Column, ...]:
    """Return columns for numbers."""
    return tuple(Column(name, "decimal(20,3)") for name in names)


def figure(value: float, digits: int = 3) -> Decimal:
    """Return a number for a column. digits: the decimal places."""
    return Decimal(f"{value:.{digits}f}")


def middle(values: Iterable[float]) -> float:
    """Return the median, which a single disturbed round hardly changes."""
    return median(values)
