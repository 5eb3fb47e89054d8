"""The two streams of the command line: results on standard output and nothing else there, talk on standard error.

The JVM and whatever it starts write to the file descriptors they inherit, past anything that Python can redirect. So
the console works on duplicates of its own, and while an engine lives, descriptors 1 and 2 are the engine's log.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TextIO

from jetsql.errors import EngineError
from jetsql.script import SurfaceLost

LONG_SECONDS = 2.0
"""Only what takes longer than this is talked about, unless somebody sits before it and waits."""


class Timer(Protocol):
    """The part of threading.Timer that is used here."""

    daemon: bool

    def start(self) -> None: ...
    def cancel(self) -> None: ...


class Console:
    """A `script.Surface` on two text streams. terminal: whether a person watches the second."""

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

    def result(self, line: str) -> None:
        self._write(self._out, line)

    def mistake(self, text: str) -> None:
        self.say(text)

    def say(self, text: str) -> None:
        """A line for people, at once."""
        self._write(self._talk, text)
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
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
        if told.is_set():
            self.say(f"{what}: done after {time.monotonic() - began:.1f} s")

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


def process_console() -> Console:
    """The console of this process."""
    out, talk = _duplicate(sys.stdout, 1), _duplicate(sys.stderr, 2)
    return Console(out, talk, terminal=talk.isatty())


def _duplicate(stream: TextIO | None, descriptor: int) -> TextIO:
    """A stream of our own to where `stream` leads; nowhere when the caller closed it."""
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    if stream not in (sys.__stdout__, sys.__stderr__):
        return stream
    buffering = 1 if os.isatty(descriptor) else -1
    return open(os.dup(descriptor), "w", buffering, encoding="utf-8", errors="backslashreplace", newline="\n")


@contextmanager
def process_output_to(log: Path) -> Iterator[None]:
    """Point descriptors 1 and 2 at the file `log` meanwhile; processes started then keep it for their whole life.

    Raises EngineError (HOME_NOT_USABLE) when the file can't be written.
    """
    saved = {descriptor: os.dup(descriptor) for descriptor in (1, 2) if _is_open(descriptor)}
    file = _open_log(log)
    try:
        for descriptor in (1, 2):
            os.dup2(file, descriptor)
        yield
    finally:
        os.close(file)
        for descriptor, original in saved.items():
            os.dup2(original, descriptor)
            os.close(original)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _open_log(log: Path) -> int:
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        return os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise EngineError(
            "HOME_NOT_USABLE",
            f"The home folder can't be used: {log}: {error.strerror}.",
            hint="Name another with --home or JETSQL_HOME.",
        ) from error
