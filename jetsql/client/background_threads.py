"""Background threads of the shell, which survive unexpected errors.

A thread that ended silently would leave outdated state on the screen. Therefore an error is reported once and kept for
`.errors`, and the thread continues after a pause.
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
"""The pause after an error, in seconds."""
_MAX_LINE: Final = 200


@dataclass(frozen=True)
class BackgroundError:
    """An error of a background thread."""

    task: str  # the failed task, as messages name it
    message: str  # the error in one line
    time: datetime  # of the last occurrence
    trace: tuple[str, ...]  # the stack trace, in lines
    count: int = 1

    def details(self) -> list[str]:
        """Return everything known about the error, in lines."""
        repeated = f", {self.count:,} times so far" if self.count > 1 else ""
        head = f"{self.task} failed in the background at {self.time:%Y-%m-%d %H:%M:%S}{repeated}: {self.message}"
        return [head, *(f"  {line}" for line in self.trace)]


class BackgroundErrors:
    """The errors of the background threads. notify: prints a line for the user, on any thread."""

    def __init__(self, notify: Callable[[str], None]) -> None:
        self._notify = notify
        self._lock = threading.Lock()
        self._errors: dict[str, BackgroundError] = {}

    def record(self, task: str, error: Exception) -> None:
        """Record an error of a task, on any thread. The first of each task is printed."""
        message = printable(f"{type(error).__name__}: {' '.join(str(error).split())}")[:_MAX_LINE]
        trace = "".join(traceback.format_exception(error)).rstrip().split("\n")
        with self._lock:
            previous = self._errors.get(task)
            times = previous.count + 1 if previous else 1
            self._errors[task] = BackgroundError(task, message, datetime.now(), tuple(trace), times)
        if previous is None:
            self._notify(f"{task} failed and is retried: {message}. Enter .errors for details.")

    def details(self) -> list[str]:
        """Return everything known about all errors, in lines."""
        with self._lock:
            return [line for error in self._errors.values() for line in ["", *error.details()]]


FailureHandler = Callable[[Exception], None]


def run_until_stopped(
    action: Callable[[], None], stopped: threading.Event, on_failure: FailureHandler, pause: float = PAUSE_SECONDS
) -> None:
    """Repeat the action until `stopped` is set. After an error, call `on_failure` and pause."""
    while not stopped.is_set():
        try:
            action()
        except Exception as error:  # the outermost frame of a thread that must not end
            on_failure(error)
            stopped.wait(pause)
