"""Showing a statement's rows: on the screen, through the pager, or into what `.output` named.

Rows are read as they are shown and never kept, so a result may have any length. Below it stands how many there were
and how long they took; not counted is the time that somebody looked at them in the pager.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePath
from threading import Lock
from time import monotonic
from typing import Final, Protocol

from jetsql.client.response_rows import RemoteRows
from jetsql.errors import EngineError, JetSQLError, ReportedError
from jetsql.live_rows import Live, LiveMode
from jetsql.output import render
from jetsql.output.render import Format, Row, Rows
from jetsql.output.terminal_text import printable_lines
from jetsql.resultset import Column
from jetsql.shell.output.live_views import Course
from jetsql.shell.output.output_writers import (
    CommandOutlet,
    Kind,
    OutputWriter,
    ReaderLeft,
    Target,
    open_pager,
    opened,
    pager_command,
    target,
)
from jetsql.shell.output.refresher import painted
from jetsql.shell.output.result_pages import Look, page
from jetsql.shell.output.result_summary import Ended, Tally, counted_words, tally_words
from jetsql.shell.output.screen import Frame, Screen
from jetsql.shell.output.show_live import counting, is_drawn, plain_lines, show_live
from jetsql.shell.session.typed_ahead import Keyboard

_BY_SUFFIX: Final = {
    ".csv": Format.CSV,
    ".json": Format.JSON,
    ".jsonl": Format.JSON,
    ".ndjson": Format.JSON,
    ".md": Format.MARKDOWN,
}
_FLUSHED_LINES: Final = 200
_PROGRESS_ROWS: Final = 1000
_PROGRESS_SECONDS: Final = 0.2


class Wanted(Protocol):
    """Of the shell's settings, those that say how results are shown."""

    @property
    def mode(self) -> str: ...
    @property
    def pager(self) -> str: ...
    @property
    def timing(self) -> bool: ...
    @property
    def null_text(self) -> str: ...


class Counted:
    """A result that counts its rows as they are read. began: when its statement was sent, by `monotonic`."""

    def __init__(self, result: Rows, began: float) -> None:
        self.columns: tuple[Column, ...] = result.columns
        self.rows: Iterator[Row] = self._counting(result.rows)
        self._began = began
        self._count = 0
        self._first: float | None = None
        self._newest: float | None = None

    def tally(self) -> Tally:
        """As of the newest row, or of its end."""
        newest = self._newest if self._newest is not None else monotonic()
        first = self._first - self._began if self._first is not None else None
        return Tally(self._count, newest - self._began, first, bool(self.columns))

    def _counting(self, rows: Iterator[Row]) -> Iterator[Row]:
        for row in rows:
            self._newest = monotonic()
            if self._first is None:
                self._first = self._newest
            self._count += 1
            yield row
        self._newest = monotonic()


class Output:
    """settings: as they are at the moment. tell: takes a line for the user, on any thread, at any time."""

    def __init__(
        self, screen: Screen, settings: Callable[[], Wanted], keyboard: Keyboard, tell: Callable[[str], None]
    ) -> None:
        self.screen = screen
        self._settings = settings
        self._keyboard = keyboard
        self._tell_beside = tell
        self._lock = Lock()
        self._outlet: OutputWriter | None = None
        self._target = Target(Kind.SCREEN)
        self._written = self._putting = False
        self._farewell = ""

    def show(self, result: RemoteRows, began: float | None = None, cancel: Callable[[], None] = lambda: None) -> Ended:
        """Show a result to its end, until Ctrl-C, or until nobody wants more. A live one is meant to be ended by
        q or Ctrl-C: that is LEFT.

        began: when its statement was sent, by `monotonic`; else now. cancel: ends the statement; may be called on
        another thread. Raises what reading the rows raises, JetSQLError OUTPUT_NOT_WRITABLE, OutputClosed.
        """
        self._drop_ended()
        if result.live is not None:
            return self._show_live(result.columns, result.live)
        counted = Counted(result, monotonic() if began is None else began)
        ended = Ended.DONE
        try:
            if self._outlet is not None:
                self._export(counted, self._outlet)
            else:
                self._display(counted, cancel)
        except KeyboardInterrupt:
            ended = Ended.INTERRUPTED
        except ReaderLeft:
            ended = Ended.LEFT
        self._tell_farewell()
        self._tell(counted.tally(), ended)
        return ended

    def _show_live(self, columns: tuple[Column, ...], live: Live) -> Ended:
        form, null, outlet = self.form, self._settings().null_text, self._outlet
        try:
            if outlet is not None:
                with self._counted(live) as counting:
                    self._put(outlet, plain_lines(columns, counting, form, outlet.flush), lambda: None)
            elif is_drawn(self.screen, form):
                show_live(columns, live, self.screen, form, null, self._keyboard)
            else:
                lines = plain_lines(columns, live, form, self.screen.flush)
                self._write(map(printable_lines, lines) if self.screen.terminal else lines)
        except (KeyboardInterrupt, ReaderLeft):
            self._tell_farewell()
            return Ended.LEFT
        return Ended.DONE

    def _tell_farewell(self) -> None:
        """That a command ended while it was written to, once nothing is drawn any more."""
        farewell, self._farewell = self._farewell, ""
        if farewell:
            self.screen.say(farewell)

    @contextmanager
    def _counted(self, live: Live) -> Iterator[Live]:
        """The same result; how it goes is told in a line, for its rows are not seen."""
        appends, name, keyboard = live.mode is LiveMode.APPEND, named(self._target), self._keyboard
        course = Course(monotonic, appends, lambda: keyboard.ender)
        if not self.screen.moves:
            yield live
            return

        def frame() -> Frame:
            return Frame([course.line(self.screen.size.columns, f"to {name}")])

        with painted(self.screen, frame, lambda: keyboard.quits(0)):
            try:
                yield counting(live, course)
            finally:
                course.closed = True

    def send_to(self, text: str) -> str:
        """What `.output` does, with what stands behind it; what to tell of it.

        Raises JetSQLError OUTPUT_NOT_WRITABLE; then results go where they went.
        """
        wanted = target(text)
        outlet = None if wanted.kind is Kind.SCREEN else opened(wanted, self._left)
        self.close()
        with self._lock:
            self._outlet, self._target = outlet, wanted
        self._drop_ended()  # its end may have been before
        return self._where_words()

    def _left(self) -> None:
        """On a thread of its own: the command that takes the results has ended."""
        if not self._putting:  # who writes to it meets its end
            self._drop_ended()

    def _drop_ended(self) -> None:
        """Results go to the screen again when the command that took them has ended: tell it, once."""
        with self._lock:
            outlet, wanted = self._outlet, self._target
            if not isinstance(outlet, CommandOutlet) or not outlet.ended:
                return
            self._to_screen()
        outlet.discard()
        self._tell_beside(_ended_words(outlet, wanted))

    def _to_screen(self) -> None:
        self._outlet, self._target, self._written = None, Target(Kind.SCREEN), False

    def close(self) -> None:
        """What was written is there; further results go to the screen. Raises JetSQLError OUTPUT_NOT_WRITABLE."""
        with self._lock:
            outlet = self._outlet
            self._to_screen()
        if outlet is not None:
            outlet.close()

    @property
    def form(self) -> Format:
        """Of the results that come: that of the mode, unless a file's name says another."""
        of_file = _BY_SUFFIX.get(PurePath(self._target.name).suffix.lower())
        return Format(self._settings().mode) if of_file is None or not self._in_file else of_file

    @property
    def _in_file(self) -> bool:
        return self._target.kind in (Kind.FILE, Kind.APPENDED)

    def _where_words(self) -> str:
        if self._target.kind is Kind.SCREEN:
            return "Results go to the screen."
        name = named(self._target)
        return f"Results go to {name} as {self.form.value}; .output alone brings them back to the screen."

    def _display(self, result: Counted, cancel: Callable[[], None]) -> None:
        screen = self.screen
        if not screen.terminal:
            self._write(render.render_lines(result, self.form))
            return
        settings = self._settings()
        command = pager_command(settings.pager) if screen.moves else ""
        found = page(result, Look(self.form, screen.size, screen.paint, settings.null_text, bool(command)))
        if found.paged:
            _through_pager(found.lines, command, cancel)
        else:
            self._write(found.lines)

    def _write(self, lines: Iterator[str]) -> None:
        try:
            for line in lines:
                self.screen.line(line)
        finally:
            self.screen.flush()

    def _export(self, result: Counted, outlet: OutputWriter) -> None:
        written = render.render_lines(result, self.form)
        if self.screen.moves:
            with self.screen.drawing(keep=False):
                self._put(outlet, written, self._progress(result))
        else:
            self._put(outlet, written, lambda: None)

    def _put(self, outlet: OutputWriter, lines: Iterator[str], progress: Callable[[], None]) -> None:
        """Lines into what `.output` named, parted from those before."""
        self._putting = True
        try:
            for index, line in enumerate(lines):
                if index == 0 and self._written and self.form is not Format.JSON:
                    outlet.line("")
                self._written = True
                outlet.line(line)
                if index % _PROGRESS_ROWS == 0:
                    progress()
            outlet.flush()
        except ReaderLeft:
            wanted = self._target
            if self._outlet is outlet:
                self.close()
                self._farewell = _ended_words(outlet, wanted)
            raise
        except JetSQLError as error:
            if error.condition == "JETSQL.OUTPUT_NOT_WRITABLE":
                self._to_screen()
            raise
        finally:
            self._putting = False
        self._drop_ended()

    def _progress(self, result: Counted) -> Callable[[], None]:
        drawn = monotonic()

        def draw() -> None:
            nonlocal drawn
            if monotonic() - drawn > _PROGRESS_SECONDS:
                drawn = monotonic()
                self.screen.draw(Frame([f"{counted_words(result.tally().rows)} to {named(self._target)} ..."]))

        return draw

    def _tell(self, tally: Tally, ended: Ended) -> None:
        if self.screen.terminal:
            where = named(self._target) if self._outlet is not None else ""
            self.screen.say(tally_words(tally, ended, timing=self._settings().timing, where=where))


def named(wanted: Target) -> str:
    """A target as messages name it."""
    return f"`{wanted.name}`" if wanted.kind is Kind.COMMAND else wanted.name


def _ended_words(outlet: OutputWriter, wanted: Target) -> str:
    code = outlet.code if isinstance(outlet, CommandOutlet) else 0
    return f"{named(wanted)} has ended{f' with {code}' if code else ''}; results go to the screen."


def _through_pager(lines: Iterator[str], command: str, cancel: Callable[[], None]) -> None:
    """Until its end. A person who ends the pager wants no more rows: the statement is cancelled, which those that are
    waited for tell as an error."""
    pager = open_pager(command, cancel)
    try:
        for index, line in enumerate(lines):
            pager.line(line)
            if index < _FLUSHED_LINES:
                pager.flush()
    except (ReportedError, EngineError) as error:
        if pager.ended:
            raise ReaderLeft from error
        raise
    finally:
        pager.close()
