"""Tests on the older Sparks that JetSQL supports.

python -m tools.sparks             # installs what is missing, checks the linkage, and runs the tests of `CHOSEN`
python -m tools.sparks --only 4.1  # the same for one version
python -m tools.sparks --stories   # runs the golden stories only, on all of them in parallel
python -m tools.sparks TESTS       # runs these tests
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from tools.java import linkage
from tools.java.older_sparks import OLDER, install
from tools.java.packages import ROOT

CHOSEN: Final = (
    "tests/engine/checkpoints",
    "tests/engine/functions/test_python_functions.py",
    "tests/engine/jdbc/test_lookup_joins.py",
    "tests/engine/runs/test_joins_by_time.py",
    "tests/engine/runs/test_late_rows.py",
    "tests/engine/runs/test_rewrites.py",
    "tests/engine/runs/test_state_ttl.py",
    "tests/engine/session/test_connect_sessions.py",
    "tests/engine/session/test_flink_spellings.py",
    "tests/engine/session/test_streaming_selects.py",
    "tests/engine/session/test_thrift_sessions.py",
    "tests/engine/sinks/kafka/test_kafka_jobs.py",
    "tests/engine/sinks/kafka/test_real_time.py",
    "tests/engine/sinks/test_file_tables.py",
    "tests/engine/sinks/test_jdbc_sink.py",
)
"""The tests of what depends most on Spark's own classes: about a quarter of an hour for each Spark, on two cores."""

STORIES: Final = ("tests/stories/test_golden.py",)
"""The tests in `make test`: statements of all kinds whose output is the same on each Spark."""

_IGNORED: Final = (
    # PySpark 4.1 leaves the sockets of results open until the garbage collector finds them.
    "ignore::ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
    "ignore:PySpark does not yet fully support pandas:FutureWarning",  # 4.1 and 4.2
)
"""Warnings of the older PySparks, which would fail tests."""


def run_tests(python: Path, tests: Sequence[str]) -> bool:
    """Run tests with an older Spark. Return whether all have passed."""
    _archive_classes(python)
    command = [*_command(python), "-n", "2", "--dist", "loadfile", *tests]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def run_stories(sparks: Sequence[str]) -> list[str]:
    """Run the stories with older Sparks, side by side. Return the versions on which they have failed."""
    pythons = {spark: install(spark) for spark in sparks}
    for python in pythons.values():
        _archive_classes(python)
    commands = {
        spark: [*_command(python), "-p", "no:cacheprovider", "-q", *STORIES] for spark, python in pythons.items()
    }
    running = {
        spark: subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for spark, command in commands.items()
    }
    failed = []
    for spark, process in running.items():
        output, _ = process.communicate()
        click.echo(f"Spark {spark}:\n{output}", nl=False)
        if process.returncode:
            failed.append(spark)
    return failed


def _archive_classes(python: Path) -> None:
    """Make a missing archive of Spark's classes, and download the connectors once, and not by tests in parallel."""
    subprocess.run([str(python), "-m", "tools.class_archive"], cwd=ROOT, check=False)


def _command(python: Path) -> list[str]:
    warnings = [argument for ignored in _IGNORED for argument in ("-W", ignored)]
    return [str(python), "-m", "pytest", "-m", "not slow", *warnings]


@click.command()
@click.option("--only", multiple=True, type=click.Choice(OLDER), help="This version.")
@click.option("--stories", is_flag=True, help="Run the golden stories only, on all versions in parallel.")
@click.argument("tests", nargs=-1)
def main(only: Sequence[str], stories: bool, tests: Sequence[str]) -> None:
    """Check the linkage and run tests with the older Sparks."""
    if stories:
        _end([f"stories on {spark}" for spark in run_stories(only or OLDER)])
        return
    wrong = []
    for spark in only or OLDER:
        click.echo(f"Spark {spark}:")
        python = install(spark)
        problems = linkage.check_installed(spark)
        click.echo("".join(f"{problem}\n" for problem in problems), nl=False)
        if problems:
            wrong.append(f"linkage on {spark}")
        if not run_tests(python, tests or CHOSEN):
            wrong.append(f"tests on {spark}")
    _end(wrong)


def _end(wrong: Sequence[str]) -> None:
    if wrong:
        click.echo(f"went wrong: {', '.join(wrong)}")
        sys.exit(1)


if __name__ == "__main__":
    main()
