"""dbt's own tests for adapters: the modules of `dbt_suites` that the arguments name.

Further arguments are options of pytest, such as -kTestEmpty.
"""

import os
import re
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

import pytest
import story

SUITES = Path(__file__).parent / "dbt_suites"


COLOR = re.compile(r"\x1b\[[0-9;]*m")


def describe_failure(report: pytest.TestReport) -> str:
    """Return the first error that dbt has printed, and the end of the traceback."""
    _, found, printed = COLOR.sub("", report.capstdout).partition(" Error in ")
    return f"{found.strip()} {printed[:500].rstrip()}\n...\n{str(report.longrepr)[-400:]}".lstrip()


class StepPlugin:
    """Print each test as a step when it ends, past the capture of pytest."""

    def __init__(self) -> None:
        self._output = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.failed:
            name = report.nodeid.partition("::")[2].replace("::", ".")
            with redirect_stdout(self._output):
                print()  # pytest has written a point to this line
                story.print_step(
                    name, report.passed, describe_failure(report) if report.failed else "", report.duration
                )


if __name__ == "__main__":
    # dbt imports each module on the path whose name begins with dbt_.
    sys.path[:] = [str(SUITES), *(each for each in sys.path if each != str(SUITES.parent))]
    arguments = [name if name.startswith("-") else str(SUITES / f"{name}.py") for name in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as folder:
        options = ["-q", "-c", os.devnull, "-W", "ignore", f"--rootdir={folder}", "--noconftest"]
        options += ["-p", "no:cacheprovider", "--import-mode=importlib"]
        options += ["-p", "dbt.tests.fixtures.project", "-p", "engine_profile"]  # the second one replaces the profile
        sys.exit(pytest.main([*options, *arguments], plugins=[StepPlugin()]))
