"""The two streams of the command line: results on standard output and nothing else there, talk on standard error.

What the JVM writes never gets here: the engine starts it with its own log as output. Nobody reading any more is told by
one exception of its own, so that it can't be taken for an error of the statement whose rows were being written.
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

from jetsql.output.result_sink import SurfaceLost
from jetsql.output.terminal_text import cut, printable, printable_lines

LONG_SECONDS = 2.0
"""Only what takes longer than this is talked about, unless somebody sits before it and waits."""


SHORT_SECONDS = 0.3
"""What takes no longer than this needs no word to anybody."""


class Timer(Protocol):
    """The part of threading.Timer that is used here."""

    daemon: bool

    def start(self) -> None: ...
    def cancel(self) -> None: ...


class Console:
    """A `Surface` on two text streams. terminal: whether a person watches the second.

    No text drives a terminal: what would is escaped. Results that go into a file or a pipe are data and stay as they
    are.
    """

    def __init__(
        self,
        out: TextIO,
        talk: TextIO,
        terminal: bool,
        timer: Callable[[float, Callable[[], None]], Timer] = threading.Timer,
    ) -> None:
        self._out = out
        self._talk = talk
        self.terminal = terminal
        self._timer = timer

    @property
    def streams(self) -> tuple[TextIO, TextIO]:
        """Of results and of talk, for who draws on them."""
        return self._out, self._talk

    @property
    def columns(self) -> int | None:
        """Of the terminal where a person watches; None where nobody does."""
        return shutil.get_terminal_size().columns if self.terminal else None

    def result(self, line: str) -> None:
        self._write(self._out, printable_lines(line) if self._out.isatty() else line)

    def mistake(self, text: str) -> None:
        self.say(text)

    def say(self, text: str) -> None:
        """A line for people, at once."""
        self._write(self._talk, printable_lines(text))
        self._talk.flush()

    def flush(self) -> None:
        try:
            self._out.flush()
        except OSError as error:
            raise SurfaceLost(error) from error

    @contextmanager
    def busy(self, what: str, after: float = LONG_SECONDS) -> Iterator[None]:
        """Tell that something is under way once it has taken `after` seconds, and then also how long it took."""
        began = time.monotonic()
        told = threading.Event()

        def tell() -> None:
            told.set()
            self.say(f"{what} ...")

        timer = self._timer(after, tell)
        timer.daemon = True
        try:
            timer.start()
            yield
        finally:
            timer.cancel()
        if told.is_set():
            self.say(f"{what}: done after {time.monotonic() - began:.1f} s")

    @contextmanager
    def waiting(self, what: str, now: Callable[[], str] = lambda: "") -> Iterator[None]:
        """Tell a person at a terminal what is waited for and since when, in a line that goes when it is over. now: what
        is under way at the moment, where that changes."""
        if not self.terminal:
            yield
            return
        ticker = _Ticker(self._talk, lambda: ": ".join(filter(None, (what, now()))), self._timer)
        try:
            ticker.begin()
            yield
        finally:
            ticker.end()

    def give_up(self) -> None:
        """Throw away what is still buffered for a reader who is gone; Python would complain at its exit otherwise."""
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            for stream in (self._out, self._talk):
                os.dup2(nowhere.fileno(), stream.fileno())

    def _write(self, stream: TextIO, text: str) -> None:
        try:
            stream.write(text + "\n")
        except OSError as error:
            raise SurfaceLost(error) from error


class _Ticker:
    """A line that is written again each second, and never breaks."""

    def __init__(
        self, talk: TextIO, what: Callable[[], str], timer: Callable[[float, Callable[[], None]], Timer]
    ) -> None:
        self._talk = talk
        self._what = what
        self._timer = timer
        self._began = time.monotonic()
        self._shown = False
        self._over = False
        self._lock = threading.Lock()
        self._next: Timer | None = None

    def begin(self) -> None:
        self._next = self._after(SHORT_SECONDS)

    def end(self) -> None:
        if self._next is not None:  # Ctrl-C may have come before it was there
            self._next.cancel()
        with self._lock:
            self._over = True
            if self._shown:
                self._write("")

    def _after(self, seconds: float) -> Timer:
        timer = self._timer(seconds, self._tick)
        timer.daemon = True
        timer.start()
        return timer

    def _tick(self) -> None:
        with self._lock:
            if self._over:
                return
            self._shown = True
            since = f" ... {time.monotonic() - self._began:.0f} s"
            self._write(cut(printable(self._what()), _columns() - len(since) - 1) + since)
            self._next = self._after(1.0)

    def _write(self, line: str) -> None:
        self._talk.write(f"{_empty_line()}{line}")
        self._talk.flush()


def _columns() -> int:
    return shutil.get_terminal_size().columns


def _empty_line() -> str:
    """What empties the line, with the cursor at its beginning."""
    dumb = os.environ.get("TERM", "dumb") == "dumb"
    return f"\r{' ' * (_columns() - 1)}\r" if dumb else "\r\x1b[K"


def process_console() -> Console:
    """The console of this process. What can't be written in its encoding is written as an escape."""
    out, talk = _stream(sys.stdout), _stream(sys.stderr)
    return Console(out, talk, terminal=talk.isatty())


def _stream(stream: TextIO | None) -> TextIO:
    """The stream as we write to it; nowhere when the caller closed it."""
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    return stream
