"""How a benchmark tells what it found: the machine first, since no number means anything without it, then tables."""

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
    """What a figure should reach. most: seconds or a ratio that it stays under; least: a ratio that it reaches."""

    most: float | None = None
    least: float | None = None

    def words(self, value: float) -> str:
        wanted = f"<= {self.most:g}" if self.most is not None else f">= {self.least:g}"
        met = value <= self.most if self.most is not None else value >= (self.least or 0.0)
        return f"{wanted} {'met' if met else 'MISSED'}"


@dataclass(frozen=True)
class _Rows:
    """A table as `jetsql.output.render` takes it."""

    columns: tuple[Column, ...]
    rows: Iterator[tuple[object, ...]]


def machine() -> str:
    """The machine and the versions in one line."""
    return (
        f"{os.cpu_count()} cores ({_processor()}), {platform.system()}, Python {platform.python_version()},"
        f" Spark {version('pyspark')}, Java {_java()}, JetSQL {VERSION}"
    )


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*:\s*(.+)$", info.read_text(), re.MULTILINE) if info.exists() else None
    return found.group(1) if found else platform.machine()


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin") if home else None)
    if java is None:
        raise click.ClickException("There is no java here; Spark needs Java 17.")
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr
    found = re.search(r'"([^"]+)"', told)
    return found.group(1) if found else told.partition("\n")[0]


def say(text: str = "") -> None:
    """A line for people, at once."""
    click.echo(text)


def introduce(title: str, compared: str) -> None:
    say(title)
    say(compared)
    say(f"machine: {machine()}; {_load()}")
    say()


def _load() -> str:
    """What else the machine does: the other processes' share of the last minute, as it was when we began."""
    return f"load before: {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "load unknown"


def table(columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> None:
    for line in render_lines(_Rows(tuple(columns), (tuple(row) for row in rows)), Format.TABLE):
        say(line)
    say()


def text(name: str) -> Column:
    return Column(name)


def figures(*names: str) -> tuple[Column, ...]:
    """Columns of numbers."""
    return tuple(Column(name, "decimal(20,3)") for name in names)


def figure(value: float, digits: int = 3) -> Decimal:
    """A number with so many digits behind the point."""
    return Decimal(f"{value:.{digits}f}")


def middle(values: Iterable[float]) -> float:
    """The median, which one disturbed round does not move."""
    return median(values)
