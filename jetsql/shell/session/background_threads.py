"""What goes on beside the prompt, on threads of its own, and outlives what nobody foresaw.

A thread that ended without a word would leave a bar that tells old news for good. So what goes wrong in it is told
once, kept for `.errors`, and after a pause it goes on.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from jetsql.output.terminal_text import printable

PAUSE_SECONDS: Final = 5.0
_LINE_MOST: Final = 200


@dataclass(frozen=True)
class Trouble:
    """what: failed. words: its error, in a line. times: how often, the last time at `time`. trace: where, in lines."""

    what: str
    words: str
    time: datetime
    trace: tuple[str, ...]
    times: int = 1

    def details(self) -> list[str]:
        """Everything that is known, in lines."""
        often = f", {self.times:,} times so far" if self.times > 1 else ""
        head = f"{self.what} failed beside the prompt at {self.time:%Y-%m-%d %H:%M:%S}{often}: {self.words}"
        return [head, *(f"  {line}" for line in self.trace)]


class Troubles:
    """What went wrong beside the prompt. tell: takes a line for the user, on any thread."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._lock = threading.Lock()
        self._met: dict[str, Trouble] = {}

    def met(self, what: str, error: Exception) -> None:
        """On any thread. Told once for each `what`."""
        words = printable(f"{type(error).__name__}: {' '.join(str(error).split())}")[:_LINE_MOST]
        trace = "".join(traceback.format_exception(error)).rstrip().split("\n")
        with self._lock:
            before = self._met.get(what)
            times = before.times + 1 if before else 1
            self._met[what] = Trouble(what, words, datetime.now(), tuple(trace), times)
        if before is None:
            self._tell(f"{what} failed, and is tried again: {words}. All about it: .errors")

    def details(self) -> list[str]:
        """All of them, in lines."""
        with self._lock:
            return [line for trouble in self._met.values() for line in ["", *trouble.details()]]


Failed = Callable[[Exception], None]


def go_on(turn: Callable[[], None], over: threading.Event, failed: Failed, pause: float = PAUSE_SECONDS) -> None:
    """Do it again and again until it is over."""
    while not over.is_set():
        try:
            turn()
        except Exception as error:  # the outermost frame of a thread that somebody relies on
            failed(error)
            over.wait(pause)
