"""Run statements: wait for the engine, cancel at Ctrl-C, and reconnect when the engine is gone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final, Protocol

from jetsql.client.background_connection import EngineConnection
from jetsql.client.engine_client import EngineClient
from jetsql.client.http_client import RequestNotSent
from jetsql.errors import EngineError, ErrorReport, JetSQLError, ReportedError
from jetsql.jobs.planning.single_read import SingleRead, read_single_read
from jetsql.language import statement_effects
from jetsql.output.console import Console
from jetsql.output.diagnostics import Diagnostic
from jetsql.output.result_sink import OutputClosed
from jetsql.output.terminal_text import printable
from jetsql.script import PreparedStatement, diagnose

_MAX_LINE: Final = 70

# An engine whose Spark has died also reports ENGINE_NOT_REACHABLE; it may have run the statement before.
_CONNECTION_LOST: Final = frozenset({"JETSQL.CONNECTION_LOST", "JETSQL.ENGINE_NOT_REACHABLE"})


class StatementOutcome(Enum):
    """The outcome of a statement."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class ShowRows(Protocol):
    """Run a statement and show all its rows. Raises what reading them raises."""

    def __call__(self, engine: EngineClient, text: str) -> None: ...


@dataclass(frozen=True)
class StatementFailure:
    """A failed statement."""

    condition: str
    message: str  # as shown
    statement: str  # as written
    time: datetime
    report: ErrorReport | None = None  # None if the engine sent none
    has_trace: bool = False  # the engine can return a stack trace

    def details(self) -> list[str]:
        """Return everything known about the failure, in lines."""
        sqlstate = self.report.sqlstate if self.report is not None else ""
        lines = [
            f"time:      {self.time:%Y-%m-%d %H:%M:%S}",
            f"condition: {self.condition or 'none'}",
            *([f"SQLSTATE:  {sqlstate}"] if sqlstate else []),
            "statement:",
            *(f"  {line}" for line in self.statement.split("\n")),
            "",
            self.message,
        ]
        if self.has_trace and self.report is not None and not self.report.trace:
            lines += ["", "Start the shell with -v to see the engine's stack trace."]
        return lines


@dataclass
class SessionMemory:
    """The last failure, and whether the session has state that a new session lacks."""

    failure: StatementFailure | None = None  # the last failure
    has_session_state: bool = False  # settings, temporary views or variables


class StatementRunner:
    """Run statements one at a time. on_success: called with the text of each that succeeds."""

    def __init__(
        self, connection: EngineConnection, console: Console, show: ShowRows, on_success: Callable[[str], None]
    ) -> None:
        self._connection = connection
        self._console = console
        self._show = show
        self._on_success = on_success
        self._session: EngineClient | None = None
        self.memory = SessionMemory()

    def run(self, step: PreparedStatement | Diagnostic) -> StatementOutcome:
        """Run a statement to its end, or show its error. Raises OutputClosed."""
        if isinstance(step, Diagnostic):
            return self._show_diagnostic(step, step.script.text, None)
        try:
            return self._run_once(step)
        except KeyboardInterrupt:
            return self._cancel(step)
        except JetSQLError as error:
            return self._fail(error.condition, _error_text(error), step.fragment.text, error.report())

    def batch_job_question(self, step: PreparedStatement) -> str | None:
        """Return the question before a job that reads tables once, because STREAM may be missing; None for others."""
        if not statement_effects.may_lack_stream(step.filled.text):
            return None
        single_read = self._explain_single_read(step)
        if single_read is None:
            return None
        remedy = f"{single_read.remedy[0].upper()}{single_read.remedy[1:]}."
        return f"Create a job that reads {single_read.tables} once and then ends? {remedy}"

    def _explain_single_read(self, step: PreparedStatement) -> SingleRead | None:
        """Return the tables that the job of a statement would read once; None if the statement has an error."""
        engine = None
        try:
            engine = self._engine()
            return read_single_read("\n".join(str(row[0]) for row in engine.run(f"EXPLAIN {step.filled.text}").rows))
        except BaseException as error:
            if engine is not None:
                engine.abandon_response()
            if not isinstance(error, (JetSQLError, ReportedError)):  # Ctrl-C
                raise
            return None

    def _run_once(self, step: PreparedStatement) -> StatementOutcome:
        """Run a statement. Raises EngineError if there is no engine."""
        engine = self._engine()
        if not self._may_run(engine):
            return StatementOutcome.FAILED
        try:
            return self._run_on(engine, step)
        except RequestNotSent:
            return self._retry(engine, step)
        except EngineError as error:
            if error.condition not in _CONNECTION_LOST:
                raise
            return self._handle_lost_engine(engine, step, error)

    def _engine(self) -> EngineClient:
        with self._console.show_waiting("Waiting for the engine", lambda: self._connection.state.activity):
            return self._connection.wait_for_engine()

    def _run_on(self, engine: EngineClient, step: PreparedStatement) -> StatementOutcome:
        text = step.text
        try:
            self._show(engine, text)
        except (OutputClosed, JetSQLError):
            engine.abandon_response()
            raise
        except ReportedError as error:
            if error.report.condition == "JETSQL.SESSION_NOT_FOUND":
                return self._retry(engine, step)
            return self._show_diagnostic(diagnose(step, error.report), step.fragment.text, error.report)
        self._note_success(engine, step.fragment.text)
        return StatementOutcome.SUCCEEDED

    def _note_success(self, engine: EngineClient, text: str) -> None:
        self.memory.has_session_state |= statement_effects.changes_session(text)
        if statement_effects.may_change_schema(text):
            with suppress(EngineError, ReportedError):  # the statement succeeded; the next one reports the error
                self._connection.set_schema(engine.current_schema())
        self._on_success(text)

    def _retry(self, engine: EngineClient, step: PreparedStatement) -> StatementOutcome:
        """Run a statement in a new session, because the old session did not run it."""
        self._connection.mark_lost(engine)
        engine.abandon_response()
        new = self._engine()
        return self._run_on(new, step) if self._may_run(new) else StatementOutcome.FAILED

    def _may_run(self, engine: EngineClient) -> bool:
        """Report a new session. Return whether the statement does not depend on the state of the old one."""
        previous, self._session = self._session, engine
        if previous in (None, engine):
            return True
        had_state, self.memory.has_session_state = self.memory.has_session_state, False
        self._console.print_message(
            f"The engine has ended or has closed the session; this is a new session. {_LOST_STATE}"
        )
        if had_state:
            self._console.print_message(
                "The statement was not run, because it may depend on them. Restore them and enter it again."
            )
        return not had_state

    def _handle_lost_engine(
        self, engine: EngineClient, step: PreparedStatement, error: EngineError
    ) -> StatementOutcome:
        self._connection.mark_lost(engine)
        self._connection.start()
        self._session, self.memory.has_session_state = None, False
        text = step.fragment.text
        advice = (
            "It only reads, so you can repeat it."
            if statement_effects.is_read_only(text)
            else "Its outcome is unknown: check it before you repeat the statement."
        )
        message = f"The connection to the engine was lost while this statement ran: {_shorten(text)}"
        self._fail(error.condition, f"[{error.condition}] {message}\n{advice}", text, error.report())
        self._console.print_message(f"The shell reconnects. {_LOST_STATE}")
        return StatementOutcome.FAILED

    def _cancel(self, step: PreparedStatement) -> StatementOutcome:
        engine = self._connection.current
        if engine is None:
            self._console.print_message("Cancelled: the engine was not available yet, so the statement was not run.")
            return StatementOutcome.INTERRUPTED
        engine.abandon_response()
        text = step.fragment.text
        note = (
            "" if statement_effects.is_read_only(text) else " A change to a job that it began continues; see SHOW JOBS."
        )
        self._console.print_message(f"Cancelled.{note}")
        return StatementOutcome.INTERRUPTED

    def _show_diagnostic(self, diagnostic: Diagnostic, text: str, report: ErrorReport | None) -> StatementOutcome:
        return self._fail(
            diagnostic.condition, diagnostic.render(self._console.columns), text, report, report is not None
        )

    def _fail(
        self, condition: str, shown: str, text: str, report: ErrorReport | None, traceable: bool = False
    ) -> StatementOutcome:
        self.memory.failure = StatementFailure(condition, shown, text, datetime.now(), report, traceable)
        self._console.show_error(shown)
        return StatementOutcome.FAILED


_LOST_STATE: Final = (
    "Settings (SET), temporary views and variables of the old session are lost; jobs and tables are not."
)


def _error_text(error: JetSQLError) -> str:
    """Return the text of an error that has no position in the statement."""
    return f"[{error.condition}] {error.explanation}"


def _shorten(text: str) -> str:
    line = printable(" ".join(text.split()))
    return line if len(line) <= _MAX_LINE else line[: _MAX_LINE - 1] + "…"
