"""Running statements: on the engine as soon as there is one, until they end or Ctrl-C, through the engine's own end."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final, Protocol

from jetsql.client.http_client import RequestNotSent
from jetsql.client.remote_engine import RemoteEngine
from jetsql.errors import EngineError, ErrorReport, JetSQLError, ReportedError
from jetsql.output.console import Console
from jetsql.output.diagnostics import Diagnostic
from jetsql.output.result_sink import OutputClosed
from jetsql.output.terminal_text import printable
from jetsql.script import PreparedStatement, diagnose
from jetsql.shell.repl.last_errors import Failure
from jetsql.shell.session import session_state
from jetsql.shell.session.engine_connection import EngineConnection

_ONE_LINE: Final = 70

# Also an engine whose Spark has died tells that it is not reachable, and by then it may have done the statement.
_LOST: Final = frozenset({"JETSQL.CONNECTION_LOST", "JETSQL.ENGINE_NOT_REACHABLE"})


class Outcome(Enum):
    FINE = "fine"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class Show(Protocol):
    """Shows a statement's rows, to their end. Raises what reading them raises."""

    def __call__(self, engine: RemoteEngine, text: str) -> None: ...


@dataclass
class Memory:
    """failure: the last one. touched: the session has settings, temporary views or variables."""

    failure: Failure | None = None
    touched: bool = False


class Statements:
    """Runs them one at a time. done: told the text of each that has succeeded."""

    def __init__(self, link: EngineConnection, console: Console, show: Show, done: Callable[[str], None]) -> None:
        self._link = link
        self._console = console
        self._show = show
        self._done = done
        self._session: RemoteEngine | None = None
        self.memory = Memory()

    def run(self, step: PreparedStatement | Diagnostic) -> Outcome:
        """Run one to its end, or tell what is wrong with it. Raises OutputClosed."""
        if isinstance(step, Diagnostic):
            return self._mistaken(step, step.script.text, None)
        try:
            return self._run(step)
        except KeyboardInterrupt:
            return self._break_off(step)
        except JetSQLError as error:
            return self._fail(error.condition, _told(error), step.fragment.text, error.report())

    def _run(self, step: PreparedStatement) -> Outcome:
        """Raises EngineError when there is no engine to run it."""
        engine = self._engine()
        if not self._may_run(engine):
            return Outcome.FAILED
        try:
            return self._answered(engine, step)
        except RequestNotSent:
            return self._again(engine, step)
        except EngineError as error:
            if error.condition not in _LOST:
                raise
            return self._lost_in_the_middle(engine, step, error)

    def _engine(self) -> RemoteEngine:
        with self._console.show_waiting("Waiting for the engine", lambda: self._link.state.doing):
            return self._link.engine()

    def _answered(self, engine: RemoteEngine, step: PreparedStatement) -> Outcome:
        text = step.text
        try:
            self._show(engine, text)
        except (OutputClosed, JetSQLError):
            engine.abandon_response()
            raise
        except ReportedError as error:
            if error.report.condition == "JETSQL.SESSION_NOT_FOUND":
                return self._again(engine, step)
            return self._mistaken(diagnose(step, error.report), step.fragment.text, error.report)
        self._note(engine, step.fragment.text)
        return Outcome.FINE

    def _note(self, engine: RemoteEngine, text: str) -> None:
        self.memory.touched |= session_state.leaves_something(text)
        if session_state.may_change_schema(text):
            with suppress(EngineError, ReportedError):  # it was done all the same; the next statement meets the reason
                self._link.in_schema(engine.current_schema())
        self._done(text)

    def _again(self, engine: RemoteEngine, step: PreparedStatement) -> Outcome:
        """In a new session, a statement that the old one never got."""
        self._link.lost(engine)
        engine.abandon_response()
        new = self._engine()
        return self._answered(new, step) if self._may_run(new) else Outcome.FAILED

    def _may_run(self, engine: RemoteEngine) -> bool:
        """Tell when the session is another than before; whether a statement means the same in it all the same."""
        before, self._session = self._session, engine
        if before in (None, engine):
            return True
        touched, self.memory.touched = self.memory.touched, False
        self._console.print_message(f"The engine has ended, or has closed the session: this is a new one. {_GONE}")
        if touched:
            self._console.print_message(
                "The statement was not run, for it may rest on these. Enter it again when they are back."
            )
        return not touched

    def _lost_in_the_middle(self, engine: RemoteEngine, step: PreparedStatement, error: EngineError) -> Outcome:
        self._link.lost(engine)
        self._link.begin()
        self._session, self.memory.touched = None, False
        text = step.fragment.text
        fate = (
            "It only reads, so it can be repeated."
            if session_state.only_reads(text)
            else "Whether it was done is not known: look before you repeat it."
        )
        words = f"The engine has ended, or the connection to it broke, while this ran: {_short(text)}"
        self._fail(error.condition, f"[{error.condition}] {words}\n{fate}", text, error.report())
        self._console.print_message(f"The shell connects anew. {_GONE}")
        return Outcome.FAILED

    def _break_off(self, step: PreparedStatement) -> Outcome:
        engine = self._link.now
        if engine is None:
            self._console.print_message("Cancelled: the engine was not there yet, and the statement was not run.")
            return Outcome.INTERRUPTED
        engine.abandon_response()
        text = step.fragment.text
        more = "" if session_state.only_reads(text) else " What it had begun on a job goes on: SHOW JOBS tells."
        self._console.print_message(f"Cancelled.{more}")
        return Outcome.INTERRUPTED

    def _mistaken(self, mistake: Diagnostic, text: str, report: ErrorReport | None) -> Outcome:
        return self._fail(mistake.condition, mistake.render(self._console.columns), text, report, report is not None)

    def _fail(
        self, condition: str, shown: str, text: str, report: ErrorReport | None, traceable: bool = False
    ) -> Outcome:
        self.memory.failure = Failure(condition, shown, text, datetime.now(), report, traceable)
        self._console.show_error(shown)
        return Outcome.FAILED


_GONE: Final = "Settings (SET), temporary views and variables of the old one are gone; jobs and tables are not."


def _told(error: JetSQLError) -> str:
    """An error that is not the statement's: it has no place in there."""
    return f"[{error.condition}] {error.explanation}"


def _short(text: str) -> str:
    line = printable(" ".join(text.split()))
    return line if len(line) <= _ONE_LINE else line[: _ONE_LINE - 1] + "…"
