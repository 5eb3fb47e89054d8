"""The narration of a demo: run statements and show them with their results, like `jetsql run`.

Results and errors go through a result sink of `jetsql.script`, so an error in a .sql file is shown with file, line and
caret.
"""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from pathlib import Path

import jetsql
from jetsql import script
from jetsql.output.diagnostics import Diagnostic, Script
from jetsql.output.render import Format, Rows

ROOT = Path(__file__).absolute().parent.parent
RULE = 100


class StoryFailed(Exception):
    """A statement of the demo failed; its error has been shown."""


class Show(Enum):
    """The output of statements that succeed; errors are always shown."""

    ALL = "statements and results"
    STATEMENTS = "statements"
    NOTHING = "nothing"


class Story:
    """Print headings, statements and results. folder: contains the .sql files. values: of their variables."""

    def __init__(self, engine: script.StatementEngine, folder: Path, values: dict[str, str]) -> None:
        self._engine = engine
        self._folder = folder
        self._values = values
        self._chapter = 0

    def chapter(self, title: str) -> None:
        """Print the numbered heading of the next chapter."""
        self._chapter += 1
        heading(f"{self._chapter}. {title}")

    def sql(self, text: str, show: Show = Show.ALL) -> None:
        """Run statements. Raises StoryFailed."""
        self._run(Script("demo", text), show, {})

    def file(self, name: str, show: Show = Show.ALL, values: Mapping[str, str] | None = None) -> None:
        """Run a file of the folder. values: of further variables. Raises StoryFailed."""
        self._run(Script(name, (self._folder / name).read_text(encoding="utf-8")), show, values or {})

    def _run(self, source: Script, show: Show, values: Mapping[str, str]) -> None:
        if show is Show.STATEMENTS:
            say()
        for step in script.prepare([source], {**self._values, **values}):
            if show is not Show.NOTHING and not isinstance(step, Diagnostic):
                say(("\n" if show is Show.ALL else "") + step.text.strip() + ";")
            sink = _StorySink(show is Show.ALL)
            if script.run([step], self._engine, sink, Format.TABLE, False) is not script.ScriptOutcome.SUCCEEDED:
                raise StoryFailed(source.name)

    def wait(self, jobs: Iterable[str]) -> None:
        """Wait until each job has committed all input that has arrived."""
        began = time.monotonic()
        self.sql("; ".join(f"WAIT FOR JOB {job} UNTIL IDLE" for job in jobs), Show.STATEMENTS)
        say(f"\n  The jobs have read all input after {time.monotonic() - began:.1f} s.")

    def run(self, text: str) -> Rows:
        """Run a statement and return its result without showing it."""
        return self._engine.run(text)

    def rows(self, query: str) -> Iterator[tuple[object, ...]]:
        """Return the rows of a query, for the checks."""
        return self.run(query).rows

    def continue_on(self, engine: script.StatementEngine) -> None:
        """Run the next statements on another engine."""
        self._engine = engine


class _StorySink:
    def __init__(self, results: bool) -> None:
        self._results = results
        self._begun = False

    def write_line(self, line: str) -> None:
        if not self._results:
            return
        if not self._begun:
            say()
        self._begun = True
        say(f"  {line}")

    def show_error(self, text: str) -> None:
        say(text)

    def print_message(self, text: str) -> None:
        say(text)

    @contextmanager
    def report_if_slow(self, what: str) -> Iterator[None]:
        yield

    def flush(self) -> None:
        """Do nothing, because `say` flushes every line."""


def run_demo(flags: argparse.ArgumentParser, given: Path | None, default: Path, run: Callable[[Path], int]) -> int:
    """Run a demo in its own folder: an empty folder `given`, or `default`, which is emptied first.

    Returns the exit code: 0 for success, 1 if a statement failed or a table differs from the source, 3 if the engine
    did not start.
    """
    if given is None:
        shutil.rmtree(default, ignore_errors=True)
    elif given.exists() and any(given.iterdir()):
        flags.error(f"{given} is not empty")
    began = time.monotonic()
    try:
        code = run((given or default).absolute())
    except StoryFailed:
        code = 1
    except jetsql.EngineError as error:
        say(f"{error}")
        code = 3
    say(f"\n{'Done' if code == 0 else 'Failed'} after {time.monotonic() - began:.0f} s.")
    return code


def display_path(path: Path) -> str:
    """Return a path relative to the repository, if it is in it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def in_literal(path: Path) -> str:
    """Return a path escaped for a string literal in SQL."""
    return str(path).replace("\\", "\\\\").replace("'", "\\'")


def heading(title: str) -> None:
    say(f"\n-- {title} {'-' * (RULE - len(title) - 4)}")


def say(text: str = "") -> None:
    print(text, flush=True)
