"""The console of the command line: results on standard output, messages on standard error.

The JVM's output never appears here, because the engine redirects it to its own log. When the reader is gone, writing
raises OutputClosed, which cannot be confused with an error of the statement.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO

from jetsql.output.result_sink import OutputClosed
from jetsql.output.terminal_text import printable, printable_lines, truncate

SLOW_SECONDS = 2.0
"""The duration above which operations are reported at a terminal."""

NOTICEABLE_SECONDS = 0.3
"""The duration below which waits are not shown."""


class Timer(Protocol):
    """The part of threading.Timer that is used here."""

    daemon: bool

    def start(self) -> None: ...
    def cancel(self) -> None: ...


class Console:
    """A `ResultSink` on two text streams.

    Control characters are escaped, so text cannot drive a terminal. Results written to a file or a pipe are data and
    stay unchanged.
    """

    def __init__(
        self,
        out: TextIO,
        messages: TextIO,
        is_terminal: bool,
        timer: Callable[[float, Callable[[], None]], Timer] = threading.Timer,
    ) -> None:
        """Create a console. is_terminal: whether `messages` is a terminal."""
        self._out = out
        self._messages = messages
        self.is_terminal = is_terminal
        self._timer = timer

    @property
    def streams(self) -> tuple[TextIO, TextIO]:
        """Return the streams of results and of messages, for code that draws on them."""
        return self._out, self._messages

    @property
    def columns(self) -> int | None:
        """Return the width of the terminal, or None without one."""
        return shutil.get_terminal_size().columns if self.is_terminal else None

    def write_line(self, line: str) -> None:
        """Write one line of a result."""
        self._write(self._out, printable_lines(line) if self._out.isatty() else line)

    def show_error(self, text: str) -> None:
        """Print an error."""
        self.print_message(text)

    def print_message(self, text: str) -> None:
        """Print a message and flush it."""
        self._write(self._messages, printable_lines(text))
        self._messages.flush()

    def flush(self) -> None:
        """Flush the results. Raises OutputClosed."""
        try:
            self._out.flush()
        except OSError as error:
            raise OutputClosed(error) from error

    @contextmanager
    def report_if_slow(self, what: str, after: float = SLOW_SECONDS) -> Iterator[None]:
        """Report the operation `what` and its duration at a terminal if it takes longer than `after` seconds.

        A file or a pipe gets no progress: scripts compare standard error, or take every line of it for a problem.
        """
        if not self.is_terminal:
            yield
            return
        started = time.monotonic()
        reported = threading.Event()

        def report() -> None:
            reported.set()
            self.print_message(f"{what} ...")

        timer = self._timer(after, report)
        timer.daemon = True
        try:
            timer.start()
            yield
        finally:
            timer.cancel()
        if reported.is_set():
            self.print_message(f"{what}: done after {time.monotonic() - started:.1f} s")

    @contextmanager
    def show_waiting(self, what: str, detail: Callable[[], str] = lambda: "") -> Iterator[None]:
        """Show a line with the elapsed seconds at a terminal until the block ends.

        detail: returns the current activity, or an empty string.
        """
        if not self.is_terminal:
            yield
            return
        ticker = _Ticker(self._messages, lambda: ": ".join(filter(None, (what, detail()))), self._timer)
        try:
            ticker.start()
            yield
        finally:
            ticker.stop()

    def discard_output(self) -> None:
        """Discard buffered output of a closed reader; otherwise Python reports an error at exit."""
        with open(os.devnull, "w", encoding="utf-8") as null_device:
            for stream in (self._out, self._messages):
                os.dup2(null_device.fileno(), stream.fileno())

    def _write(self, stream: TextIO, text: str) -> None:
        try:
            stream.write(text + "\n")
        except OSError as error:
            raise OutputClosed(error) from error


class _Ticker:
    """A line that is rewritten each second and never wraps."""

    def __init__(
        self, messages: TextIO, what: Callable[[], str], timer: Callable[[float, Callable[[], None]], Timer]
    ) -> None:
        self._messages = messages
        self._what = what
        self._timer = timer
        self._started = time.monotonic()
        self._shown = False
        self._stopped = False
        self._lock = threading.Lock()
        self._next: Timer | None = None

    def start(self) -> None:
        self._next = self._schedule(NOTICEABLE_SECONDS)

    def stop(self) -> None:
        if self._next is not None:  # Ctrl-C may have come before it was set
            self._next.cancel()
        with self._lock:
            self._stopped = True
            if self._shown:
                self._write("")

    def _schedule(self, seconds: float) -> Timer:
        timer = self._timer(seconds, self._tick)
        timer.daemon = True
        timer.start()
        return timer

    def _tick(self) -> None:
        with self._lock:
            if self._stopped:
                return
            self._shown = True
            elapsed = f" ... {time.monotonic() - self._started:.0f} s"
            self._write(truncate(printable(self._what()), _columns() - len(elapsed) - 1) + elapsed)
            self._next = self._schedule(1.0)

    def _write(self, line: str) -> None:
        self._messages.write(f"{_clear_line()}{line}")
        self._messages.flush()


def _columns() -> int:
    return shutil.get_terminal_size().columns


def _clear_line() -> str:
    """Return the sequence that empties the line and moves the cursor to its beginning."""
    dumb = os.environ.get("TERM", "dumb") == "dumb"
    return f"\r{' ' * (_columns() - 1)}\r" if dumb else "\r\x1b[K"


def process_console() -> Console:
    """Return the console of this process. Characters outside its encoding are written as escapes."""
    out, messages = _output_stream(sys.stdout), _output_stream(sys.stderr)
    return Console(out, messages, is_terminal=messages.isatty())


def _output_stream(stream: TextIO | None) -> TextIO:
    """Return the stream prepared for writing, or the null device if the caller closed it."""
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    return stream
