"""Run scripts of statements: split them, fill in variables, run each statement, show results and errors.

`prepare` finds every error that needs no engine (an open quote, a variable that is not set) before an engine is
started. The engine receives each statement with everything before it in its file blanked out and the line breaks kept,
so the line numbers in Spark's own messages, which cannot be rewritten, are those of the file. Where a variable was
filled in, `PreparedStatement.origin` maps an offset of the text that ran to the script.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

from jetsql.errors import EngineError, JetSQLError, StatementError
from jetsql.jobs.model.redact_sql import redact_sql
from jetsql.language import Fragment, Substituted, split, substitute
from jetsql.language.variables import unset_variables
from jetsql.output import render
from jetsql.output.diagnostics import Diagnostic, Script
from jetsql.output.render import Format, Rows
from jetsql.output.result_sink import OutputClosed, ResultSink

VARIABLE_PREFIX = "JETSQL_VAR_"

_FORMS_FOR_USERS: Final = (Format.TABLE, Format.VERTICAL)

_COMMAND: Final = StatementError(
    "PARSE_SYNTAX_ERROR",
    "A line that begins with a dot is a command of the shell; scripts contain statements only.",
    hint="Enter it in the shell: jetsql.",
)


class ErrorDetails(Protocol):
    """The parts of an error of any origin. Line and column count from 1 in the text that ran, None without a place."""

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


class StatementEngine(Protocol):
    """Run statements; `jetsql.open()` returns one."""

    def run(self, text: str) -> Rows:
        """Run one statement. Raises JetSQLError or Spark's own errors, also while the rows are read."""

    def error(self, exc: Exception, text: str) -> ErrorDetails:
        """Return the parts of an error that `run` raised for the text."""

    def close(self) -> None:
        """Stop the live jobs gracefully and end; they continue with the next start on this home."""


class ScriptOutcome(Enum):
    """The outcome of running a script."""

    SUCCEEDED = "fine"
    FAILED = "failed"
    ENGINE_LOST = "engine lost"


@dataclass(frozen=True)
class PreparedStatement:
    """One statement, ready to run."""

    script: Script
    fragment: Fragment
    filled: Substituted
    prefix: str = ""  # what the engine receives before the statement

    @property
    def start(self) -> int:
        """Return the statement's offset in the script."""
        return self.fragment.start

    @property
    def text(self) -> str:
        """Return what the engine receives. Computed on each call: storing the blanks for every statement would need the
        square of the file's size."""
        return self._before + self.filled.text

    def origin(self, offset: int) -> int:
        """Return the offset in the script of an offset in `text`."""
        return self.start + self.filled.original(max(offset - len(self._before), 0))

    @property
    def _before(self) -> str:
        return self.prefix + "\n" * (self.fragment.line - 1) + " " * self.fragment.column


def variables(environ: Mapping[str, str], overrides: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of scripts: those of the environment (JETSQL_VAR_name), replaced by `overrides`."""
    prefix = len(VARIABLE_PREFIX)
    named = {name[prefix:]: value for name, value in environ.items() if name.startswith(VARIABLE_PREFIX)}
    return {**named, **overrides}


def prepare(scripts: Iterable[Script], values: Mapping[str, str]) -> list[PreparedStatement | Diagnostic]:
    """Return the statements of all scripts in order, each ready to run or with its error."""
    return [step for script in scripts for _, step in _prepare_script(script, values)]


def prepare_with_all_errors(script: Script, values: Mapping[str, str]) -> Iterator[PreparedStatement | Diagnostic]:
    """Yield the statements of a script as `prepare`; of one with several unset variables, the error of each."""
    for fragment, step in _prepare_script(script, values):
        if isinstance(step, PreparedStatement) or fragment is None:
            yield step
            continue
        for error in unset_variables(fragment.text, values):
            yield _diagnose_unprepared(script, fragment.start, error)


def run(
    steps: Sequence[PreparedStatement | Diagnostic],
    engine: StatementEngine,
    sink: ResultSink,
    form: Format,
    keep_going: bool,
    echo: bool = False,
) -> ScriptOutcome:
    """Run the statements and show their results; stop at the first failure unless `keep_going`.

    echo: print each statement before it runs, without its secrets. Raises OutputClosed, and KeyboardInterrupt when the
    user interrupts.
    """
    outcome = ScriptOutcome.SUCCEEDED
    printer = _Printer(sink, form, echo)
    for step in steps:
        error = step if isinstance(step, Diagnostic) else _run_statement(step, engine, printer)
        sink.flush()
        if error is None:
            continue
        sink.show_error(str(error))
        outcome = ScriptOutcome.FAILED
        if isinstance(error, _EngineDiagnostic):
            return ScriptOutcome.ENGINE_LOST
        if not keep_going:
            break
    return outcome


class _EngineDiagnostic(Diagnostic):
    """An error of the engine instead of the statement: the next statement would fail as well."""


class _Printer:
    """Show results, separated by an empty line unless the form is JSON, and the statements before them.

    In forms that programs read, the statements are messages, so that the results can be parsed.
    """

    def __init__(self, sink: ResultSink, form: Format, echo: bool) -> None:
        self.sink = sink
        self._form = form
        self._echo = echo
        self._parts = form is not Format.JSON
        self._is_begun = False
        self._is_announced = False  # the newest line is the statement of the next result

    def show_statement(self, step: PreparedStatement) -> None:
        if not self._echo:
            return
        line = f"{redact_sql(step.filled.text)};"
        if self._form not in _FORMS_FOR_USERS:
            self.sink.print_message(line)
            return
        self._is_announced = False
        self._begin_part()
        self.sink.write_line(line)
        self.sink.flush()  # the statement may take long
        self._is_announced = True

    def show(self, rows: Rows) -> None:
        for index, line in enumerate(render.render_lines(rows, self._form)):
            if index == 0:
                self._begin_part()
            self.sink.write_line(line)

    def _begin_part(self) -> None:
        if self._is_begun and self._parts and not self._is_announced:
            self.sink.write_line("")
        self._is_begun, self._is_announced = True, False


def _run_statement(step: PreparedStatement, engine: StatementEngine, printer: _Printer) -> Diagnostic | None:
    text = step.text
    printer.show_statement(step)
    try:
        with printer.sink.report_if_slow(f"{step.script.name}:{step.script.line(step.start)}: running"):
            printer.show(engine.run(text))
    except OutputClosed:
        raise
    except Exception as error:
        # The outermost loop of the command: it reports every error of a statement, including Spark's Java errors.
        diagnostic = diagnose(step, engine.error(error, text))
        return _EngineDiagnostic(**vars(diagnostic)) if isinstance(error, EngineError) else diagnostic
    return None


def diagnose(step: PreparedStatement, report: ErrorDetails) -> Diagnostic:
    """Return an error of a statement at its place in the script."""
    return Diagnostic(step.script, _offset(step, report), report.condition, report.message, report.hint, report.trace)


def _offset(step: PreparedStatement, report: ErrorDetails) -> int:
    if report.line is None:
        return step.start
    text, before = step.text, 0
    for _ in range(report.line - 1):
        before = text.find("\n", before) + 1
    return step.origin(min(before + (report.column or 1) - 1, len(text)))


def _prepare_script(
    script: Script, values: Mapping[str, str]
) -> Iterator[tuple[Fragment | None, PreparedStatement | Diagnostic]]:
    """Prepare the statements of a script. Yield None with an error that its variables are no reason for.

    A script that cannot be split is one error, because everything after the open quote is a guess.
    """
    try:
        fragments = split(script.text, strict=True)
    except JetSQLError as error:
        yield None, _diagnose_unprepared(script, 0, error)
        return
    for fragment in fragments:
        if fragment.text.startswith("."):
            yield None, _diagnose_unprepared(script, fragment.start, _COMMAND)
        else:
            yield fragment, prepare_statement(script, fragment, values)


def prepare_statement(script: Script, fragment: Fragment, values: Mapping[str, str]) -> PreparedStatement | Diagnostic:
    """Return one statement with its variables filled in, or its error."""
    try:
        return PreparedStatement(script, fragment, substitute(fragment.text, values))
    except JetSQLError as error:
        return _diagnose_unprepared(script, fragment.start, error)


def _diagnose_unprepared(script: Script, start: int, error: JetSQLError) -> Diagnostic:
    """Return an error that was found before running. start: the offset from which its place is counted."""
    offset, stop = (start, None) if error.place is None else (start + error.place.start, start + error.place.stop)
    return Diagnostic(
        script, offset, error.condition, error.message, error.hint, correction=error.correction, stop=stop
    )
