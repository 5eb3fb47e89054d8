"""Run scripts of statements: split, fill in variables, run one after the other, show results and mistakes.

Everything that can be wrong without an engine (an open quote, a variable that is not set) is found by `prepare` before
one is started. What the engine is handed is the statement with everything before it in its file blanked out, line
breaks kept: so the line numbers in Spark's own messages, which we can't rewrite, are those of the file. Where a
variable was filled in, `Step.origin` leads from the text that ran back to the text that was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

from jetsql.errors import EngineError, JetSQLError, StatementError
from jetsql.language import Fragment, Substituted, split, substitute
from jetsql.output import render
from jetsql.output.diagnostics import Diagnostic, Script
from jetsql.output.render import Format, Rows
from jetsql.output.result_sink import ResultSink, SurfaceLost

VARIABLE_PREFIX = "JETSQL_VAR_"


_COMMAND: Final = StatementError(
    "PARSE_SYNTAX_ERROR",
    "A line that begins with a dot is a command of the shell; scripts hold statements only.",
    hint="Enter it in the shell: jetsql.",
)


class Report(Protocol):
    """An error of any origin, taken apart. line, column: from 1 in the text that ran, None where it names no place."""

    @property
    def condition(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def hint(self) -> str: ...
    @property
    def line(self) -> int | None: ...
    @property
    def column(self) -> int | None: ...
    @property
    def trace(self) -> str: ...


class Engine(Protocol):
    """What statements run on: `jetsql.open()` gives one."""

    def run(self, text: str) -> Rows:
        """Run one statement. Raises JetSQLError or Spark's own errors, also while the rows are read."""

    def error(self, exc: Exception, text: str) -> Report:
        """What an error of `run` says of the text."""

    def close(self) -> None:
        """Stop the live jobs gracefully and end; they continue with the next start on this home."""


class Outcome(Enum):
    FINE = "fine"
    FAILED = "failed"
    ENGINE_LOST = "engine lost"


@dataclass(frozen=True)
class Step:
    """One statement, ready to run. start: its offset in the script. ahead: what the engine is handed before it."""

    script: Script
    fragment: Fragment
    filled: Substituted
    ahead: str = ""

    @property
    def start(self) -> int:
        return self.fragment.start

    @property
    def text(self) -> str:
        """What the engine is handed. Made anew each time: blanks kept for every statement would be the file squared."""
        return self._before + self.filled.text

    def origin(self, offset: int) -> int:
        """From an offset in `text` to one in the script."""
        return self.start + self.filled.original(max(offset - len(self._before), 0))

    @property
    def _before(self) -> str:
        return self.ahead + "\n" * (self.fragment.line - 1) + " " * self.fragment.column


def variables(environ: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """The variables of scripts: those of the environment (JETSQL_VAR_name), overridden by those given."""
    prefix = len(VARIABLE_PREFIX)
    named = {name[prefix:]: value for name, value in environ.items() if name.startswith(VARIABLE_PREFIX)}
    return {**named, **given}


def prepare(scripts: Iterable[Script], values: Mapping[str, str]) -> list[Step | Diagnostic]:
    """The statements of all scripts in their order, each ready to run or with what keeps it from running."""
    return [step for script in scripts for step in _steps(script, values)]


def run(
    steps: Sequence[Step | Diagnostic], engine: Engine, surface: ResultSink, form: Format, keep_going: bool
) -> Outcome:
    """Run the steps and show what they give; end at the first that fails unless `keep_going`.

    Raises SurfaceLost, and KeyboardInterrupt where a person interrupts.
    """
    outcome = Outcome.FINE
    printer = _Printer(surface, form)
    for step in steps:
        mistake = step if isinstance(step, Diagnostic) else _run_step(step, engine, printer)
        surface.flush()
        if mistake is None:
            continue
        surface.mistake(str(mistake))
        outcome = Outcome.FAILED
        if isinstance(mistake, _EngineMistake):
            return Outcome.ENGINE_LOST
        if not keep_going:
            break
    return outcome


class _EngineMistake(Diagnostic):
    """The engine is at fault, not the statement: the next one would meet the same."""


class _Printer:
    """Shows results, with an empty line between two of them where nothing else parts them."""

    def __init__(self, surface: ResultSink, form: Format) -> None:
        self.surface = surface
        self._form = form
        self._parts = form is not Format.JSON
        self._shown = False

    def show(self, rows: Rows) -> None:
        for index, line in enumerate(render.lines(rows, self._form)):
            if index == 0 and self._shown and self._parts:
                self.surface.result("")
            self._shown = True
            self.surface.result(line)


def _run_step(step: Step, engine: Engine, printer: _Printer) -> Diagnostic | None:
    text = step.text
    try:
        with printer.surface.busy(f"{step.script.name}:{step.script.line(step.start)}: running"):
            printer.show(engine.run(text))
    except SurfaceLost:
        raise
    except Exception as error:
        # The outermost loop of this surface: whatever a statement raises, Spark's Java errors included, is its answer.
        mistake = mistake_of(step, engine.error(error, text))
        return _EngineMistake(**vars(mistake)) if isinstance(error, EngineError) else mistake
    return None


def mistake_of(step: Step, report: Report) -> Diagnostic:
    """What an error of the step's statement says of the script."""
    return Diagnostic(step.script, _offset(step, report), report.condition, report.message, report.hint, report.trace)


def _offset(step: Step, report: Report) -> int:
    if report.line is None:
        return step.start
    text, before = step.text, 0
    for _ in range(report.line - 1):
        before = text.find("\n", before) + 1
    return step.origin(min(before + (report.column or 1) - 1, len(text)))


def _steps(script: Script, values: Mapping[str, str]) -> Iterator[Step | Diagnostic]:
    """A script that can't be split is one mistake: where its statements end is a guess from the open quote on."""
    try:
        fragments = split(script.text, strict=True)
    except JetSQLError as error:
        yield _mistake_before(script, 0, error)
        return
    for fragment in fragments:
        if fragment.text.startswith("."):
            yield _mistake_before(script, fragment.start, _COMMAND)
        else:
            yield step(script, fragment, values)


def step(script: Script, fragment: Fragment, values: Mapping[str, str]) -> Step | Diagnostic:
    """One statement of a script with its variables filled in, or what keeps it from running."""
    try:
        return Step(script, fragment, substitute(fragment.text, values))
    except JetSQLError as error:
        return _mistake_before(script, fragment.start, error)


def _mistake_before(script: Script, start: int, error: JetSQLError) -> Diagnostic:
    """A mistake found before anything ran. start: the offset that the error's place is counted from."""
    offset = start + (error.place.start if error.place else 0)
    return Diagnostic(script, offset, error.condition, error.message, error.hint)
