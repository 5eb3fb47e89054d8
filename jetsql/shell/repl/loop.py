"""The shell: reads what is entered, does it, shows what came of it, until somebody leaves.

Everything a user waits for happens on the main thread, between two prompts, so that Ctrl-C means what is being done
and nothing else; the engine is looked for and the jobs are counted on threads of their own. Whatever goes wrong, the
prompt comes back.
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
from jetsql.errors import EngineError
from jetsql.output.console import Console
from jetsql.output.diagnostics import Diagnostic, Script
from jetsql.output.result_sink import OutputClosed
from jetsql.output.terminal_text import printable
from jetsql.script import PreparedStatement
from jetsql.shell.completion.catalog_cache import CatalogCache
from jetsql.shell.completion.completer import ShellCompleter
from jetsql.shell.output import colours
from jetsql.shell.output.status_bar import JobWatch
from jetsql.shell.output.terminal_modes import unechoed
from jetsql.shell.repl.destructive_statements import loss
from jetsql.shell.repl.dot_commands import run_command
from jetsql.shell.repl.prompt import Prompt
from jetsql.shell.repl.run_statements import Outcome, Statements
from jetsql.shell.repl.views import Views
from jetsql.shell.session.background_threads import Troubles
from jetsql.shell.session.engine_connection import EngineConnection, Phase, Reach
from jetsql.shell.session.entries import DotCommand, Sql, command_below, entries
from jetsql.shell.session.favourites import Favourites
from jetsql.shell.session.typed_ahead import Keyboard
from jetsql.shell.settings.shell_settings import ShellSettings, shell_value
from jetsql.version import VERSION

_GREETING: Final = f"JetSQL {VERSION}. Statements end with ; and .help lists the commands."
_GOODBYE: Final = "The engine and its jobs go on; `jetsql stop` stops them."
_GOODBYE_FROM_AFAR: Final = "The engine and its jobs go on."


class Shell:
    """variables: of scripts (`--set`). history: a file. favourites: a folder. here: whether the engine is one of this
    machine, which `jetsql stop` ends.

    Raises EngineError INVALID_SETTING for a style that there isn't.
    """

    def __init__(
        self,
        reach: Reach,
        console: Console,
        settings: ShellSettings,
        variables: Mapping[str, str],
        history: Path,
        favourites: Path,
        here: bool = True,
    ) -> None:
        self.console = console
        self.settings = _known_colours(settings)
        self.variables = variables
        self.favourites = Favourites(favourites)
        self.last = ""
        self._here = here
        self._leaving = self._killed = False
        self._next = ""
        self._link = EngineConnection(reach, self._changed, self._tell_from_beside)
        self.troubles = Troubles(self._tell_from_beside)
        self._watch = JobWatch(self._link, self._changed, partial(self.troubles.met, "Asking for the jobs"))
        keyboard = Keyboard()
        self.views = Views(console, self._link, lambda: self.settings, keyboard, self._tell_from_beside)
        self._names = CatalogCache(self._link, self._named, partial(self.troubles.met, "Asking for names to complete"))
        self.statements = Statements(self._link, console, self.views.show, self._names.statement_done)
        self._prompt = Prompt(
            lambda: self.settings,
            lambda: self._link.state,
            lambda: self._watch.jobs,
            history,
            ShellCompleter(self._names, self.favourites.names),
            self._watch.touch,
            keyboard.typed,
        )

    def run(self) -> bool:
        """Until the user leaves; False when the terminal's end, or a signal, was what ended it.

        Raises OutputClosed when there is nobody to show anything.
        """
        self._take_signals()
        self.console.print_message(_GREETING)
        self._link.begin()
        self._watch.begin()
        self._names.begin()
        try:
            while not self._leaving:
                self._turn()
            if self._link.state.phase is not Phase.GONE and not self._killed:
                self.console.print_message(_GOODBYE if self._here else _GOODBYE_FROM_AFAR)
        finally:
            self._watch.close()
            self._names.close()
            self._link.close()
            self.views.close()
        return not self._killed

    def leave(self) -> None:
        """End after what is being done."""
        self._leaving = True

    def put(self, text: str) -> None:
        """Stand at the next prompt."""
        self._next = text

    def set(self, name: str, value: str) -> None:
        """Raises EngineError INVALID_SETTING."""
        read = shell_value(name, value, f".set {name}")
        self.settings = _known_colours(replace(self.settings, **{name: read}))

    def tell(self, told: Iterable[str]) -> None:
        """Lines that were asked for."""
        for line in told:
            self.console.write_line(line)
        self.console.flush()

    def run_text(self, text: str) -> bool:
        """Run statements that a command wrote or kept. Whether all went well."""
        return self.run_steps(script.prepare([Script("", text)], self.variables))

    def run_steps(self, steps: Sequence[PreparedStatement | Diagnostic], ask: bool = True) -> bool:
        """Run statements; the first that fails ends it. ask: before those that take something away. Whether all went
        well."""
        for index, step in enumerate(steps):
            if not (self._agreed(step, ask) and self._run_one(step)):
                self._tell_rest(len(steps) - index - 1)
                return False
        return True

    def _run_one(self, step: PreparedStatement | Diagnostic) -> bool:
        with unechoed():
            return self.statements.run(step) is Outcome.FINE

    def _tell_rest(self, rest: int) -> None:
        if rest:
            self.console.print_message(f"{rest} more {'were' if rest > 1 else 'was'} not run.")

    def _agreed(self, step: PreparedStatement | Diagnostic, ask: bool) -> bool:
        question = None if isinstance(step, Diagnostic) or not ask else loss(step.filled.text)
        if question is None or not self.settings.ask_before_drop:
            return True
        if self._prompt.ask(question):
            return True
        self.console.print_message("Not run.")
        return False

    def _turn(self) -> None:
        try:
            text = self._read()
            if trouble := self._prompt.trouble():
                self.console.print_message(trouble)
            self._do_at_any_rate(text)
        except KeyboardInterrupt:
            return
        except EOFError:
            self._leaving = True

    def _do_at_any_rate(self, text: str) -> None:
        try:
            self._do(text)
        except (OutputClosed, EOFError):
            raise
        except Exception as error:
            # The outermost frame of what was entered: a fault in one thing that is done must not cost the user the
            # session with its settings and views. What reading the prompt raises is not met here: it would come again.
            if self._link.now is not None:
                self._link.now.abandon_response()
            words = printable(" ".join(str(error).split()))
            self.console.print_message(f"This failed, and the shell goes on. {type(error).__name__}: {words}")

    def _read(self) -> str:
        """Raises KeyboardInterrupt, EOFError, OutputClosed."""
        self._watch.prompting(True)
        try:
            return self._prompt.read(self._next)
        except OSError as error:  # the terminal's end
            raise OutputClosed(error) from error
        finally:
            self._next = ""
            self._watch.prompting(False)

    def _do(self, text: str) -> None:
        """Run everything in a text; the first that goes wrong ends it."""
        if unknown := _not_text(text):
            self.console.print_message(unknown)
            return
        found = entries(text)
        if any(isinstance(entry, Sql) for entry in found):
            self.last = _statements(text, found)
        for index, entry in enumerate(found):
            fine = run_command(self, entry) if isinstance(entry, DotCommand) else self._run_entry(text, entry)
            if not fine:
                self._tell_rest(len(found) - index - 1)
            if not fine or self._leaving:
                return

    def _run_entry(self, text: str, entry: Sql) -> bool:
        written = Script("", text)
        if entry.fragment.closed:
            fine = self.run_steps([script.prepare_statement(written, entry.fragment, self.variables)])
            if not fine:
                self._hint_at_command(entry)
            return fine
        return self.run_steps(script.prepare([written], self.variables)[-1:])  # which says where it opens

    def _hint_at_command(self, entry: Sql) -> None:
        below = None if entry.fragment.terminated else command_below(entry.fragment)
        if below is not None:
            self.console.print_message(
                f"Line {below.line} is the command {below.word}, if the statement before it ends with ;."
            )

    def _changed(self) -> None:
        self._names.wake()
        self._prompt.redraw()

    def _named(self) -> None:
        self._prompt.complete_anew()

    def _tell_from_beside(self, words: str) -> None:
        if not self._prompt.above(lambda: self.console.print_message(words)):
            self.console.print_message(words)

    def _take_signals(self) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever it was to whoever started this process
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._end)

    def _end(self, number: int, frame: FrameType | None) -> None:
        """The terminal is gone, or somebody wants the process to end: leave as with Ctrl-D, without a word."""
        self._leaving = self._killed = True
        if not self._prompt.leave():
            raise KeyboardInterrupt


def _statements(text: str, found: Sequence[DotCommand | Sql]) -> str:
    """What is SQL in an entered text, as it is written there: commands between leave nothing."""
    pieces: list[str] = []
    begun = 0
    for entry in [*found, None]:
        if isinstance(entry, Sql):
            continue
        pieces.append(text[begun : entry.start if entry else len(text)].strip())
        begun = entry.stop if entry else 0
    return "\n".join(filter(None, pieces))


def _not_text(text: str) -> str:
    """What to tell of bytes that are no characters of UTF-8, which no engine takes; empty where there are none."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        column = error.start - text.rfind("\n", 0, error.start)
        words = f"Not run: line {line}, character {column} is no text, but a byte that is not UTF-8."
        return f"{words} The arrow key brings it back."
    return ""


def _known_colours(settings: ShellSettings) -> ShellSettings:
    try:
        colours.style(settings.colours)
    except ValueError as wrong:
        words = f"The shell's setting colours is {settings.colours!r}."
        raise EngineError("INVALID_SETTING", words, hint=f"It must be {wrong}.") from None
    return settings
