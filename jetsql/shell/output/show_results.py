"""Show a statement's rows: on the screen, in the pager, or in the target of `.output`.

Rows are shown while they are read and never kept, so a result may have any length. The line below it contains the
number of rows and the time that they took, without the time spent in the pager.
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
from jetsql.output.live_progress import LiveProgress
from jetsql.output.render import Format, Row, Rows
from jetsql.output.result_summary import ResultSummary, ShowOutcome, row_count, summary_line
from jetsql.output.terminal_text import printable_lines
from jetsql.resultset import Column
from jetsql.shell.input.typed_ahead import Keyboard
from jetsql.shell.output.output_writers import (
    CommandWriter,
    OutputTarget,
    OutputTargetKind,
    OutputWriter,
    ReaderClosed,
    open_pager,
    open_target,
    pager_command,
    parse_target,
)
from jetsql.shell.output.refresher import refreshing
from jetsql.shell.output.result_pages import PageOptions, layout_page
from jetsql.shell.output.screen import Screen, ScreenFrame
from jetsql.shell.output.show_live import count_live_rows, is_drawn, plain_lines, show_live

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


class DisplaySettings(Protocol):
    """The shell's settings that determine how results are shown."""

    @property
    def mode(self) -> str: ...
    @property
    def pager(self) -> str: ...
    @property
    def timing(self) -> bool: ...
    @property
    def null_text(self) -> str: ...


class CountedRows:
    """A result that counts its rows while they are read. started: the time of its statement, by `monotonic`."""

    def __init__(self, result: Rows, started: float) -> None:
        self.columns: tuple[Column, ...] = result.columns
        self.rows: Iterator[Row] = self._count_rows(result.rows)
        self._started = started
        self._count = 0
        self._first_at: float | None = None
        self._newest_at: float | None = None

    def summary(self) -> ResultSummary:
        """Return the summary up to the newest row, or to the end."""
        newest = self._newest_at if self._newest_at is not None else monotonic()
        first = self._first_at - self._started if self._first_at is not None else None
        return ResultSummary(self._count, newest - self._started, first, bool(self.columns))

    def _count_rows(self, rows: Iterator[Row]) -> Iterator[Row]:
        for row in rows:
            self._newest_at = monotonic()
            if self._first_at is None:
                self._first_at = self._newest_at
            self._count += 1
            yield row
        self._newest_at = monotonic()


class ResultOutput:
    """The output of results."""

    def __init__(
        self, screen: Screen, settings: Callable[[], DisplaySettings], keyboard: Keyboard, notify: Callable[[str], None]
    ) -> None:
        """Create the output.

        settings: returns the current settings. notify: prints a line for the user, on any thread.
        """
        self.screen = screen
        self._settings = settings
        self._keyboard = keyboard
        self._notify = notify
        self._lock = Lock()
        self._writer: OutputWriter | None = None
        self._target = OutputTarget(OutputTargetKind.SCREEN)
        self._has_written = self._is_writing = False
        self._exit_message = ""

    def show(
        self, result: RemoteRows, started: float | None = None, cancel: Callable[[], None] = lambda: None
    ) -> ShowOutcome:
        """Show a result until its end, Ctrl-C or the loss of its reader. A live result ends at q or Ctrl-C (ABANDONED).

        started: the time of its statement, by `monotonic`; now by default. cancel: ends the statement; may be called on
        another thread. Raises what reading the rows raises, JetSQLError OUTPUT_NOT_WRITABLE, OutputClosed.
        """
        self._drop_ended_command()
        if result.live is not None:
            return self._show_live(result.columns, result.live)
        counted = CountedRows(result, monotonic() if started is None else started)
        outcome = ShowOutcome.DONE
        try:
            if self._writer is not None:
                self._export(counted, self._writer)
            else:
                self._display(counted, cancel)
        except KeyboardInterrupt:
            outcome = ShowOutcome.INTERRUPTED
        except ReaderClosed:
            outcome = ShowOutcome.ABANDONED
        self._print_exit_message()
        self._print_summary(counted.summary(), outcome)
        return outcome

    def _show_live(self, columns: tuple[Column, ...], live: Live) -> ShowOutcome:
        form, null, writer = self.form, self._settings().null_text, self._writer
        try:
            if writer is not None:
                with self._with_progress(live) as counted:
                    self._write_to(writer, plain_lines(columns, counted, form, writer.flush), lambda: None)
            elif is_drawn(self.screen, form):
                show_live(columns, live, self.screen, form, null, self._keyboard)
            else:
                lines = plain_lines(columns, live, form, self.screen.flush)
                self._write(map(printable_lines, lines) if self.screen.is_terminal else lines)
        except (KeyboardInterrupt, ReaderClosed):
            self._print_exit_message()
            return ShowOutcome.ABANDONED
        return ShowOutcome.DONE

    def _print_exit_message(self) -> None:
        """Print, after drawing, that the command which received results has ended."""
        message, self._exit_message = self._exit_message, ""
        if message:
            self.screen.print_message(message)

    @contextmanager
    def _with_progress(self, live: Live) -> Iterator[Live]:
        """Return the same result and show its progress while its rows go elsewhere."""
        appends, name, keyboard = live.mode is LiveMode.APPEND, target_label(self._target), self._keyboard
        progress = LiveProgress(monotonic, appends, lambda: keyboard.quit_key)
        if not self.screen.can_redraw:
            yield live
            return

        def frame() -> ScreenFrame:
            return ScreenFrame([progress.status_line(self.screen.size.columns, f"to {name}")])

        with refreshing(self.screen, frame, lambda: keyboard.poll_quit(0)):
            try:
                yield count_live_rows(live, progress)
            finally:
                progress.is_closed = True

    def redirect(self, text: str) -> str:
        """Carry out `.output` with its argument and return the message.

        Raises JetSQLError OUTPUT_NOT_WRITABLE, without a change of the target.
        """
        target = parse_target(text)
        writer = None if target.kind is OutputTargetKind.SCREEN else open_target(target, self._on_command_exit)
        self.close()
        with self._lock:
            self._writer, self._target = writer, target
        self._drop_ended_command()  # it may have ended already
        return self._target_text()

    def _on_command_exit(self) -> None:
        """Handle the exit of the command that receives the results. Called on another thread."""
        if not self._is_writing:  # otherwise the writing thread gets the error
            self._drop_ended_command()

    def _drop_ended_command(self) -> None:
        """Send results to the screen again if their command has ended, and report that once."""
        with self._lock:
            writer, target = self._writer, self._target
            if not isinstance(writer, CommandWriter) or not writer.has_ended:
                return
            self._to_screen()
        writer.close_input()
        self._notify(_exit_text(writer, target))

    def _to_screen(self) -> None:
        self._writer, self._target, self._has_written = None, OutputTarget(OutputTargetKind.SCREEN), False

    def close(self) -> None:
        """Finish the output; further results go to the screen. Raises JetSQLError OUTPUT_NOT_WRITABLE."""
        with self._lock:
            writer = self._writer
            self._to_screen()
        if writer is not None:
            writer.close()

    @property
    def form(self) -> Format:
        """Return the format of the results: that of the file's suffix, otherwise that of the mode."""
        of_file = _BY_SUFFIX.get(PurePath(self._target.name).suffix.lower())
        return Format(self._settings().mode) if of_file is None or not self._is_file else of_file

    @property
    def _is_file(self) -> bool:
        return self._target.kind in (OutputTargetKind.FILE, OutputTargetKind.APPENDED)

    def _target_text(self) -> str:
        if self._target.kind is OutputTargetKind.SCREEN:
            return "Results go to the screen."
        name = target_label(self._target)
        return f"Results go to {name} as {self.form.value}; .output alone brings them back to the screen."

    def _display(self, result: CountedRows, cancel: Callable[[], None]) -> None:
        screen = self.screen
        if not screen.is_terminal:
            self._write(render.render_lines(result, self.form))
            return
        settings = self._settings()
        command = pager_command(settings.pager) if screen.can_redraw else ""
        page = layout_page(result, PageOptions(self.form, screen.size, screen.paint, settings.null_text, bool(command)))
        if page.needs_pager:
            _page_lines(page.lines, command, cancel)
        else:
            self._write(page.lines)

    def _write(self, lines: Iterator[str]) -> None:
        try:
            for line in lines:
                self.screen.write_line(line)
        finally:
            self.screen.flush()

    def _export(self, result: CountedRows, writer: OutputWriter) -> None:
        written = render.render_lines(result, self.form)
        if self.screen.can_redraw:
            with self.screen.drawing(keep=False):
                self._write_to(writer, written, self._progress(result))
        else:
            self._write_to(writer, written, lambda: None)

    def _write_to(self, writer: OutputWriter, lines: Iterator[str], progress: Callable[[], None]) -> None:
        """Write the lines of a result to the target, separated from earlier results."""
        self._is_writing = True
        try:
            for index, line in enumerate(lines):
                if index == 0 and self._has_written and self.form is not Format.JSON:
                    writer.write_line("")
                self._has_written = True
                writer.write_line(line)
                if index % _PROGRESS_ROWS == 0:
                    progress()
            writer.flush()
        except ReaderClosed:
            target = self._target
            if self._writer is writer:
                self.close()
                self._exit_message = _exit_text(writer, target)
            raise
        except JetSQLError as error:
            if error.condition == "JETSQL.OUTPUT_NOT_WRITABLE":
                self._to_screen()
            raise
        finally:
            self._is_writing = False
        self._drop_ended_command()

    def _progress(self, result: CountedRows) -> Callable[[], None]:
        drawn = monotonic()

        def draw() -> None:
            nonlocal drawn
            if monotonic() - drawn > _PROGRESS_SECONDS:
                drawn = monotonic()
                self.screen.draw(
                    ScreenFrame([f"{row_count(result.summary().rows)} to {target_label(self._target)} ..."])
                )

        return draw

    def _print_summary(self, summary: ResultSummary, outcome: ShowOutcome) -> None:
        if self.screen.is_terminal:
            where = target_label(self._target) if self._writer is not None else ""
            self.screen.print_message(summary_line(summary, outcome, timing=self._settings().timing, where=where))


def target_label(target: OutputTarget) -> str:
    """Return the name of a target for messages."""
    return f"`{target.name}`" if target.kind is OutputTargetKind.COMMAND else target.name


def _exit_text(writer: OutputWriter, target: OutputTarget) -> str:
    code = writer.exit_code if isinstance(writer, CommandWriter) else 0
    return f"{target_label(target)} has ended{f' with exit code {code}' if code else ''}; results go to the screen."


def _page_lines(lines: Iterator[str], command: str, cancel: Callable[[], None]) -> None:
    """Write to the pager until it ends.

    When the user quits the pager, the statement is cancelled; the resulting error is raised as ReaderClosed.
    """
    pager = open_pager(command, cancel)
    try:
        for index, line in enumerate(lines):
            pager.write_line(line)
            if index < _FLUSHED_LINES:
                pager.flush()
    except (ReportedError, EngineError) as error:
        if pager.has_ended:
            raise ReaderClosed from error
        raise
    finally:
        pager.close()
