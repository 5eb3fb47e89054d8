"""Compare the short benchmarks of this checkout with those of another commit, and find regressions.

    python -m benchmarks.compare REV

The commit gets a worktree, which uses the packages and the benchmarks of this checkout. In each pair, both variants
open an engine and run each benchmark in turn, in alternating order, so that other load affects both alike. A ratio is
the figure of this checkout divided by that of the commit. If the ratio of a figure is worse than 1.1 in every pair, the
figure is a regression, and the exit code is 1. Most figures are processor time: with other load on the machine, it
changes less than the time that has passed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import click

from benchmarks.processes import end, line, started
from benchmarks.reporting import figure, figures, introduce, middle, say, table, text
from benchmarks.short import SHORT, START

LIMIT: Final = 1.1
LEAST_PAIRS: Final = 3
_ROOT: Final = Path(__file__).parent.parent
_NAMES: Final = (START, *SHORT)
_JAR: Final = Path("jetsql", "engine", "jetsql.jar")
_NO_ARCHIVES: Final = {"JETSQL_CLASS_ARCHIVES": "none"}
"""An engine would make a missing archive of classes during the first benchmarks, and only one of the two would."""


@dataclass
class Comparison:
    """A figure of both commits."""

    name: str
    """The benchmark and the figure."""
    here: list[float] = field(default_factory=list)
    """The figures of this checkout, by pair."""
    there: list[float] = field(default_factory=list)
    """The figures of the other commit, by pair."""

    @property
    def ratios(self) -> list[float]:
        """Return the ratios by pair; more than 1 if this checkout needs more."""
        return [here / there for here, there in zip(self.here, self.there, strict=True)]

    @property
    def is_regression(self) -> bool:
        return len(self.ratios) >= LEAST_PAIRS and min(self.ratios) > LIMIT


@contextmanager
def worktree(commit: str) -> Iterator[Path]:
    """Check out a commit in a temporary folder, with the benchmarks of this checkout and a jar of its own sources.

    Raises ClickException when it is no commit, or its Java sources do not compile.
    """
    _run(_ROOT, sys.executable, "-m", "tools.java.jar")
    with tempfile.TemporaryDirectory(prefix="jetsql-compare-") as folder:
        tree = Path(folder) / "tree"
        _run(_ROOT, "git", "worktree", "add", "--quiet", "--detach", str(tree), commit)
        try:
            # An editable installation finds this package in its own checkout otherwise.
            (tree / "jetsql" / "grammar").symlink_to(tree / "grammar")
            shutil.rmtree(tree / "benchmarks", ignore_errors=True)
            shutil.copytree(_ROOT / "benchmarks", tree / "benchmarks")
            shutil.copyfile(_ROOT / _JAR, tree / _JAR)  # built again if the sources differ
            _run(tree, sys.executable, "-m", "tools.java.jar")
            yield tree
        finally:
            _run(_ROOT, "git", "worktree", "remove", "--force", str(tree))


def _run(folder: Path, *command: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise click.ClickException(ended.stderr)
    return ended.stdout.strip()


def measure_pair(trees: Sequence[Path], names: Sequence[str], master: str, memory: str) -> list[dict[str, float]]:
    """Return the figures of both trees, which run in the given order."""
    measured: list[dict[str, float]] = [{}, {}]
    arguments = ("short", master, memory)
    with (
        started(*arguments, tree=trees[0], environment=_NO_ARCHIVES) as first,
        started(*arguments, tree=trees[1], environment=_NO_ARCHIVES) as second,
    ):
        for name in names:
            for process, figures_of_tree in zip((first, second), measured, strict=True):
                for key, value in _run_benchmark(process, name).items():
                    figures_of_tree[f"{name}: {key}"] = value
        for process in (first, second):
            end(process)
    return measured


def _run_benchmark(process: subprocess.Popen[str], name: str) -> dict[str, float]:
    assert process.stdin is not None
    process.stdin.write(f"{name}\n")
    process.stdin.flush()
    while not (text := line(process)).startswith("{"):  # what a client prints
        continue
    figures_by_name: dict[str, float] = json.loads(text)
    return figures_by_name


def compare(here: Path, there: Path, names: Sequence[str], pairs: int, master: str, memory: str) -> list[Comparison]:
    """Measure all pairs, and print the ratios of each."""
    comparisons: dict[str, Comparison] = {}
    for number in range(pairs):
        if number % 2:
            of_commit, of_checkout = measure_pair((there, here), names, master, memory)
        else:
            of_checkout, of_commit = measure_pair((here, there), names, master, memory)
        for name, value in of_checkout.items():
            comparison = comparisons.setdefault(name, Comparison(name))
            comparison.here.append(value)
            comparison.there.append(of_commit[name])
        ratios = ", ".join(f"{each.name} {each.ratios[-1]:.2f}" for each in comparisons.values())
        say(f"pair {number + 1}: {ratios}")
    return list(comparisons.values())


def report(comparisons: Sequence[Comparison]) -> None:
    rows = [
        (
            each.name,
            figure(middle(each.here), 2),
            figure(middle(each.there), 2),
            figure(middle(each.ratios), 2),
            figure(min(each.ratios), 2),
            figure(max(each.ratios), 2),
            "REGRESSION" if each.is_regression else "",
        )
        for each in comparisons
    ]
    columns = figures("this checkout", "other commit", "median ratio", "minimum", "maximum")
    table((text("figure"), *columns, text("verdict")), rows)


@click.command(help=__doc__)
@click.argument("rev")
@click.option("--pairs", type=click.IntRange(LEAST_PAIRS), default=LEAST_PAIRS, show_default=True, help="The pairs.")
@click.option("--only", "names", multiple=True, type=click.Choice(_NAMES), help="Only this one; may be repeated.")
@click.option("--master", default="local[2]", show_default=True, help="Spark's master.")
@click.option("--memory", default="1g", show_default=True, help="Memory of Spark's driver.")
def main(rev: str, pairs: int, names: tuple[str, ...], master: str, memory: str) -> None:
    commit = _run(_ROOT, "git", "rev-parse", "--short", "--verify", f"{rev}^{{commit}}")
    introduce(f"compare: this checkout with {commit}", f"{pairs} pairs, {master}; lower figures are better")
    with worktree(commit) as tree:
        comparisons = compare(_ROOT, tree, names or _NAMES, pairs, master, memory)
    report(comparisons)
    if any(each.is_regression for each in comparisons):
        say(f"The ratio of a regression was worse than {LIMIT:g} in all pairs.")
        sys.exit(1)


if __name__ == "__main__":
    main()
