"""The shell: read input, run it and show the results until the user leaves.

Statements and commands run on the main thread between two prompts, so Ctrl-C interrupts exactly them. Background
threads connect to the engine, poll the jobs and load names. The prompt returns after every failure.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Final

from jetsql import script
from jetsql.client.background_connection import Connect, ConnectionPhase, EngineConnection
from jetsql.client.background_threads import BackgroundErrors
from jetsql.completion.catalog_cache import CatalogCache
from jetsql.errors import EngineError
from jetsql.language.statement_effects import drop_question
from jetsql.output.console import Console
from jetsql.output.diagnostics import Diagnostic, Script
from jetsql.output.result_sink import OutputClosed
from jetsql.output.terminal_text import printable
from jetsql.script import PreparedStatement
from jetsql.shell.input.input_parsing import DotCommand, SqlInput, command_within, parse_entries
from jetsql.shell.input.typed_ahead import Keyboard
from jetsql.shell.output import colours
from jetsql.shell.output.status_bar import JobPoller
from jetsql.shell.output.terminal_modes import without_echo
from jetsql.shell.repl.complete_entries import needed_by_entry
from jetsql.shell.repl.completer import ShellCompleter
from jetsql.shell.repl.dot_commands import run_command
from jetsql.shell.repl.prompt import Prompt
from jetsql.shell.repl.run_statements import StatementOutcome, StatementRunner
from jetsql.shell.repl.views import Views
from jetsql.shell.settings.shell_settings import ShellSettings, parse_shell_value
from jetsql.version import VERSION

_GREETING: Final = f"JetSQL {VERSION}. Statements end with ; and .help lists the commands."
_GOODBYE: Final = "The engine and its jobs continue; `jetsql stop` stops them."
_REMOTE_GOODBYE: Final = "The engine and its jobs continue."


class Shell:
    """The shell."""

    def __init__(
        self,
        connect: Connect,
        console: Console,
        settings: ShellSettings,
        variables: Mapping[str, str],
        history: Path,
        is_local: bool = True,
    ) -> None:
        """Create the shell.

        variables: values of `${name}` (`--set`). history: the history file.
        is_local: the engine runs on this machine, where `jetsql stop` stops it.
        Raises EngineError INVALID_SETTING for an unknown style.
        """
        self.console = console
        self.settings = _check_colours(settings)
        self.variables = variables
        self.last_statement = ""
        self._is_local = is_local
        self._exiting = self._terminated = False
        self._next_input = ""
        self._connection = EngineConnection(connect, self._on_connection_change, self._notify)
        self.background_errors = BackgroundErrors(self._notify)
        self._poller = JobPoller(
            self._connection, self._on_connection_change, partial(self.background_errors.record, "Polling the jobs")
        )
        keyboard = Keyboard()
        self.views = Views(console, self._connection, lambda: self.settings, keyboard, self._notify)
        self._names = CatalogCache(
            self._connection,
            self._on_new_names,
            partial(self.background_errors.record, "Loading names for completion"),
            needed_by_entry,
        )
        self.statements = StatementRunner(self._connection, console, self.views.show, self._names.expire_names)
        self._prompt = Prompt(
            lambda: self.settings,
            lambda: self._connection.state,
            lambda: self._poller.jobs,
            history,
            ShellCompleter(self._names),
            self._poller.note_key,
            keyboard.take_typed,
        )

    def run(self) -> bool:
        """Run until the user leaves. Return False if a signal or the terminal's end terminated the shell.

        Raises OutputClosed if the output is gone.
        """
        self._install_signal_handlers()
        self.console.print_message(_GREETING)
        self._connection.start()
        self._poller.start()
        self._names.start()
        try:
            while not self._exiting:
                self._read_and_run()
            if self._connection.state.phase is not ConnectionPhase.GONE and not self._terminated:
                self.console.print_message(_GOODBYE if self._is_local else _REMOTE_GOODBYE)
        finally:
            self._poller.close()
            self._names.close()
            self._connection.close()
            self.views.close()
        return not self._terminated

    def request_exit(self) -> None:
        """Exit after the current input."""
        self._exiting = True

    def set_next_input(self, text: str) -> None:
        """Show this text at the next prompt."""
        self._next_input = text

    def set_setting(self, name: str, value: str) -> None:
        """Change a setting. Raises EngineError INVALID_SETTING."""
        parsed = parse_shell_value(name, value, f".set {name}")
        self.settings = _check_colours(replace(self.settings, **{name: parsed}))

    def print_lines(self, lines: Iterable[str]) -> None:
        """Print lines that the user requested."""
        for line in lines:
            self.console.write_line(line)
        self.console.flush()

    def run_script(self, text: str) -> bool:
        """Run the statements of a text. Return whether all succeeded."""
        return self.run_statements(script.prepare([Script("", text)], self.variables))

    def run_statements(self, steps: Sequence[PreparedStatement | Diagnostic], ask: bool = True) -> bool:
        """Run statements until the first failure. Return whether all succeeded.

        ask: ask before statements that drop an object or a state, and before jobs whose query may lack STREAM.
        """
        for index, step in enumerate(steps):
            if not (self._is_confirmed(step, ask) and self._run_one(step)):
                self._print_remaining(len(steps) - index - 1)
                return False
        return True

    def _run_one(self, step: PreparedStatement | Diagnostic) -> bool:
        with without_echo():
            return self.statements.run(step) is StatementOutcome.SUCCEEDED

    def _print_remaining(self, count: int) -> None:
        if count:
            self.console.print_message(f"{count} more {'were' if count > 1 else 'was'} not run.")

    def _is_confirmed(self, step: PreparedStatement | Diagnostic, ask: bool) -> bool:
        if isinstance(step, Diagnostic) or not ask or not self.settings.ask_before_drop:
            return True
        question = drop_question(step.filled.text) or self.statements.batch_job_question(step)
        if question is None:
            return True
        if self._prompt.confirm(question):
            return True
        self.console.print_message("Not run.")
        return False

    def _read_and_run(self) -> None:
        try:
            text = self._read_input()
            if history_error := self._prompt.history_error():
                self.console.print_message(history_error)
            self._run_input_safely(text)
        except KeyboardInterrupt:
            return
        except EOFError:
            self._exiting = True

    def _run_input_safely(self, text: str) -> None:
        try:
            self._run_input(text)
        except (OutputClosed, EOFError):
            raise
        except Exception as error:
            # The outermost frame of an input: an unexpected error must not end the session with its settings and views.
            # Errors of the prompt itself are not caught here, because they would recur.
            if self._connection.current is not None:
                self._connection.current.abandon_response()
            message = printable(" ".join(str(error).split()))
            self.console.print_message(f"Unexpected error; the shell continues. {type(error).__name__}: {message}")

    def _read_input(self) -> str:
        """Read the next input. Raises KeyboardInterrupt, EOFError, OutputClosed."""
        self._poller.set_prompting(True)
        try:
            return self._prompt.read(self._next_input)
        except OSError as error:  # the terminal's end
            raise OutputClosed(error) from error
        finally:
            self._next_input = ""
            self._poller.set_prompting(False)

    def _run_input(self, text: str) -> None:
        """Run everything in a text until the first failure."""
        if encoding_error := _find_encoding_error(text):
            self.console.print_message(encoding_error)
            return
        parsed = parse_entries(text)
        if any(isinstance(entry, SqlInput) for entry in parsed):
            self.last_statement = _extract_sql(text, parsed)
        for index, entry in enumerate(parsed):
            succeeded = run_command(self, entry) if isinstance(entry, DotCommand) else self._run_entry(text, entry)
            if not succeeded:
                self._print_remaining(len(parsed) - index - 1)
            if not succeeded or self._exiting:
                return

    def _run_entry(self, text: str, entry: SqlInput) -> bool:
        written = Script("", text)
        if entry.fragment.closed:
            succeeded = self.run_statements([script.prepare_statement(written, entry.fragment, self.variables)])
            if not succeeded:
                self._suggest_command_within(entry)
            return succeeded
        return self.run_statements(
            script.prepare([written], self.variables)[-1:]
        )  # its error reports where the open quote begins

    def _suggest_command_within(self, entry: SqlInput) -> None:
        below = None if entry.fragment.terminated else command_within(entry.fragment)
        if below is not None:
            self.console.print_message(
                f"Line {below.line} looks like the command {below.word}: end the statement before it with a semicolon."
            )

    def _on_connection_change(self) -> None:
        self._names.wake_up()
        self._prompt.redraw()

    def _on_new_names(self) -> None:
        self._prompt.refresh_completions()

    def _notify(self, message: str) -> None:
        if not self._prompt.run_above(lambda: self.console.print_message(message)):
            self.console.print_message(message)

    def _install_signal_handlers(self) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # the starting process may have ignored it
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._terminate)

    def _terminate(self, number: int, frame: FrameType | None) -> None:
        """Exit as after Ctrl-D but without a message: the terminal is gone, or a signal ends the process."""
        self._exiting = self._terminated = True
        if not self._prompt.exit():
            raise KeyboardInterrupt


def _extract_sql(text: str, parsed: Sequence[DotCommand | SqlInput]) -> str:
    """Return the SQL of an entered text as written, without the commands."""
    pieces: list[str] = []
    start = 0
    for entry in [*parsed, None]:
        if isinstance(entry, SqlInput):
            continue
        pieces.append(text[start : entry.start if entry else len(text)].strip())
        start = entry.stop if entry else 0
    return "\n".join(filter(None, pieces))


def _find_encoding_error(text: str) -> str:
    """Return the error for bytes that are not UTF-8, which no engine accepts; empty if there are none."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        column = error.start - text.rfind("\n", 0, error.start)
        message = f"Not run: line {line}, character {column} is a byte that is not UTF-8."
        return f"{message} Press the up arrow to edit the text."
    return ""


def _check_colours(settings: ShellSettings) -> ShellSettings:
    try:
        colours.load_style(settings.colours)
    except ValueError as error:
        message = f"The shell's setting colours is {settings.colours!r}."
        raise EngineError("INVALID_SETTING", message, hint=f"It must be {error}.") from None
    return settings
