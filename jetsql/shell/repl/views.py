"""The views of the shell: a statement's result, a watched statement, the jobs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from time import monotonic

from jetsql.client.background_connection import EngineConnection
from jetsql.client.engine_client import EngineClient
from jetsql.client.response_rows import RemoteRows
from jetsql.errors import EngineError, JetSQLError, ReportedError
from jetsql.output.console import Console
from jetsql.output.result_summary import ShowOutcome
from jetsql.shell.input.typed_ahead import Keyboard
from jetsql.shell.output.colours import use_colours
from jetsql.shell.output.screen import Screen, create_screen
from jetsql.shell.output.show_results import ResultOutput
from jetsql.shell.output.terminal_modes import without_echo
from jetsql.shell.output.watch import WatchRequest, is_session_lost, watch
from jetsql.shell.settings.shell_settings import ShellSettings


class Views:
    """The shell's views. settings: returns the current settings. notify: prints a line for the user, on any thread."""

    def __init__(
        self,
        console: Console,
        connection: EngineConnection,
        settings: Callable[[], ShellSettings],
        keyboard: Keyboard,
        notify: Callable[[str], None],
    ) -> None:
        self._console = console
        self._connection = connection
        self._settings = settings
        self._screen = create_screen(*console.streams)
        self._keyboard = keyboard
        self._output = ResultOutput(self._screen, settings, keyboard, notify)

    def show(self, engine: EngineClient, text: str) -> None:
        """Run a statement and show its rows until their end, or until their reader is gone.

        Raises what running it raises, JetSQLError OUTPUT_NOT_WRITABLE, OutputClosed and KeyboardInterrupt. A live
        result ends at q or Ctrl-C without KeyboardInterrupt.
        """
        started = monotonic()
        with self._console.show_waiting("Running"):
            rows = _with_first_row(engine.run(text, live=True))
        self._apply_colours()
        outcome = self._output.show(rows, started, engine.cancel)
        if outcome is not ShowOutcome.DONE:
            engine.abandon_response()
        if outcome is ShowOutcome.INTERRUPTED:
            raise KeyboardInterrupt

    def redirect_output(self, target: str) -> str:
        """Set the target of results (see `.output`) and return the message. Raises JetSQLError OUTPUT_NOT_WRITABLE."""
        return self._output.redirect(target)

    def watch(self, request: WatchRequest) -> None:
        """Watch a statement until q or Ctrl-C. Without a terminal, raises what the statement raises."""
        screen = self._apply_colours()
        try:
            with suppress(KeyboardInterrupt), without_echo():
                watch(
                    lambda: self._run_if_connected(request.text),
                    request,
                    screen,
                    self._keyboard,
                    self._settings().null_text,
                )
        finally:  # after q, too: rows may be unread
            if self._connection.current is not None:
                self._connection.current.abandon_response()

    def top(self) -> None:
        """Show the jobs on the whole screen until q or Ctrl-C. Raises ValueError with the message for the user."""
        from jetsql.shell.top.top_screen import EngineJobSource, TopScreen

        if not self._apply_colours().can_redraw:
            raise ValueError("it cannot draw on this terminal. Enter .jobs to list the jobs.")
        TopScreen(
            EngineJobSource(lambda: self._connection.wait_for_engine(start_engine=False), self._connection.mark_lost),
            coloured=self._screen.is_coloured,
        ).run()

    def close(self) -> None:
        """Finish the output to a file, and print the error if that fails."""
        try:
            self._output.close()
        except JetSQLError as error:
            self._console.print_message(error.explanation)

    def _run_if_connected(self, text: str) -> RemoteRows:
        """Run a statement on the running engine: watching does not start a new one."""
        engine = self._connection.wait_for_engine(start_engine=False)
        try:
            return engine.run(text)
        except (EngineError, ReportedError) as error:
            if is_session_lost(error):
                self._connection.mark_lost(engine)
            raise

    def _apply_colours(self) -> Screen:
        self._screen.is_coloured = use_colours(self._settings().colours)
        return self._screen


def _with_first_row(rows: RemoteRows) -> RemoteRows:
    """Read the first row of a result, which takes longest; a live result reports its own progress."""
    if rows.live is not None:
        return rows
    first = list(islice(rows.rows, 1))
    return replace(rows, rows=chain(first, rows.rows))
