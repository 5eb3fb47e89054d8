"""What the shell shows of the engine: a statement's result, a statement that is watched, the jobs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from time import monotonic

from jetsql.client.remote_engine import RemoteEngine
from jetsql.client.response_rows import RemoteRows
from jetsql.errors import EngineError, JetSQLError, ReportedError
from jetsql.output.console import Console
from jetsql.shell.output.colours import colours_wanted
from jetsql.shell.output.result_summary import Ended
from jetsql.shell.output.screen import Screen, screen_of
from jetsql.shell.output.show_results import Output
from jetsql.shell.output.terminal_modes import unechoed
from jetsql.shell.output.watch import Watch, loses_session, watch
from jetsql.shell.session.engine_connection import EngineConnection
from jetsql.shell.session.typed_ahead import Keyboard
from jetsql.shell.settings.shell_settings import ShellSettings


class Views:
    """settings: as they are at the moment. tell: takes a line for the user, on any thread, at any time."""

    def __init__(
        self,
        console: Console,
        link: EngineConnection,
        settings: Callable[[], ShellSettings],
        keyboard: Keyboard,
        tell: Callable[[str], None],
    ) -> None:
        self._console = console
        self._link = link
        self._settings = settings
        self._screen = screen_of(*console.streams)
        self._keyboard = keyboard
        self._output = Output(self._screen, settings, keyboard, tell)

    def show(self, engine: RemoteEngine, text: str) -> None:
        """Run a statement and show its rows, to their end or until nobody wants more.

        Raises what running it raises, JetSQLError OUTPUT_NOT_WRITABLE, OutputClosed, and KeyboardInterrupt; of a live
        result q or Ctrl-C is the end.
        """
        began = monotonic()
        with self._console.show_waiting("Running"):
            rows = _begun(engine.run(text, live=True))
        self._colour()
        ended = self._output.show(rows, began, engine.cancel)
        if ended is not Ended.DONE:
            engine.abandon_response()
        if ended is Ended.INTERRUPTED:
            raise KeyboardInterrupt

    def send_to(self, target: str) -> str:
        """Where results go from now on, see `.output`; what to tell of it. Raises JetSQLError OUTPUT_NOT_WRITABLE."""
        return self._output.send_to(target)

    def watch(self, wanted: Watch) -> None:
        """Until q or Ctrl-C. Raises what the statement raises where nobody watches a terminal."""
        screen = self._colour()
        try:
            with suppress(KeyboardInterrupt), unechoed():
                watch(lambda: self._run(wanted.text), wanted, screen, self._keyboard, self._settings().null_text)
        finally:  # also q: rows that nobody counted may be left
            if self._link.now is not None:
                self._link.now.abandon_response()

    def top(self) -> None:
        """The jobs on the whole screen, until q or Ctrl-C. Raises ValueError, in words, where there is none."""
        from jetsql.shell.top.top_screen import JobsOf, Top

        if not self._colour().moves:
            raise ValueError("it draws on a terminal, and this one can't be drawn on; `.jobs` lists the jobs.")
        Top(JobsOf(lambda: self._link.engine(starts=False), self._link.lost), coloured=self._screen.coloured).run()

    def close(self) -> None:
        """What was sent to a file is there, or it is told that it is not."""
        try:
            self._output.close()
        except JetSQLError as error:
            self._console.print_message(error.explanation)

    def _run(self, text: str) -> RemoteRows:
        """On the engine, should one run: who watches does not start it again."""
        engine = self._link.engine(starts=False)
        try:
            return engine.run(text)
        except (EngineError, ReportedError) as error:
            if loses_session(error):
                self._link.lost(engine)
            raise

    def _colour(self) -> Screen:
        self._screen.coloured = colours_wanted(self._settings().colours)
        return self._screen


def _begun(rows: RemoteRows) -> RemoteRows:
    """The result with its first row read: columns come at once, and what takes long is the way to the first row. A live
    result tells itself what it waits for."""
    if rows.live is not None:
        return rows
    first = list(islice(rows.rows, 1))
    return replace(rows, rows=chain(first, rows.rows))
