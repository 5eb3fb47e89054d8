"""Measure `jetsql test`: 100 tests over Nexmark's queries, the start of Python and Spark included.

The tests are those of `examples/tested`, in two copies. The command runs as users run it; the time is until it has
ended. The processor time is that of Python and Java together: on a machine that other programs use, it says more.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import click

from benchmarks.processes import measure
from benchmarks.reporting import Goal, figure, figures, introduce, say, table, text

GOAL: Final = Goal(most=60)
_EXAMPLES: Final = Path(__file__).parents[1] / "examples" / "tested"
_COPIES: Final = 2


@click.command(help=__doc__)
def main() -> None:
    introduce("jetsql test", f"{_COPIES} copies of {_EXAMPLES.name}, one command")
    with tempfile.TemporaryDirectory() as folder:
        for number in range(_COPIES):
            shutil.copytree(_EXAMPLES, Path(folder) / str(number))
        run = measure([sys.executable, "-m", "jetsql", "test", "--format", "json", folder])
    results: list[dict[str, Any]] = json.loads(run.output)["tests"]
    passed = sum(each["verdict"] == "passed" for each in results)
    slowest = sorted(results, key=lambda each: -each["seconds"])[:5]
    table(
        [text("tests"), *figures("seconds", "seconds for 100", "processor seconds"), text("goal for 100")],
        [
            (
                f"{len(results)}, {passed} passed",
                figure(run.seconds, 1),
                figure(100 * run.seconds / len(results), 1),
                figure(run.processor_seconds, 1),
                GOAL.describe(100 * run.seconds / len(results)),
            )
        ],
    )
    say("the slowest: " + ", ".join(f"{Path(each['file']).name} {each['seconds']:.1f} s" for each in slowest))
    if passed < len(results):
        raise click.ClickException("Not all tests have passed.")


if __name__ == "__main__":
    main()
