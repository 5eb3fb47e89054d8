"""Handle Ctrl-C and termination signals for the command line.

The first signal ends what is running and stops the jobs gracefully. The second ends the process immediately, which is
safe (the store and the checkpoints allow it) but leaves a batch to be run again. Signals within `SAME_INSTANT_SECONDS`
count as one: a terminal and a wrapping program both forward Ctrl-C. PySpark installs a handler of its own that cancels
every running batch, so `install` is called again after the engine has started.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

SAME_INSTANT_SECONDS = 0.5


def _exit_process(status: int) -> NoReturn:
    os._exit(status)


class Interrupts:
    """Count the termination signals of this process and act on the first and the second."""

    def __init__(
        self,
        notify: Callable[[str], None],
        exit_code: int,
        exit_process: Callable[[int], None] = _exit_process,
        clock: Callable[[], float] = time.monotonic,
        on_first: Callable[[], None] | None = None,
    ) -> None:
        """Create the handler; `install` puts it in place.

        notify: prints a message to the user. exit_code: of the process at the second signal. exit_process: ends the
        process immediately. on_first: called at the first signal instead of raising KeyboardInterrupt.
        """
        self._notify = notify
        self._exit_code = exit_code
        self._on_first = on_first
        self._exit_process = exit_process
        self._clock = clock
        self._first_at: float | None = None
        self._shutting_down = False
        self._description = "stopping the jobs"

    @property
    def is_requested(self) -> bool:
        """Return whether a signal has requested the end of the process."""
        return self._first_at is not None

    def install(self) -> None:
        """Handle SIGINT, SIGTERM and, unless it is ignored (nohup), SIGHUP."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._handle)

    def begin_shutdown(self, description: str = "stopping the jobs") -> None:
        """Stop raising KeyboardInterrupt at the first signal: the shutdown has begun.

        description: of the shutdown, for messages.
        """
        self._shutting_down = True
        self._description = description
        if self.is_requested:
            self._notify_shutdown()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        now = self._clock()
        if self._first_at is None:
            self._first_at = now
            if self._on_first is not None:
                self._on_first()
            elif not self._shutting_down:
                raise KeyboardInterrupt
            self._notify_shutdown()
        elif now - self._first_at > SAME_INSTANT_SECONDS:
            self._exit_process(self._exit_code)

    def _notify_shutdown(self) -> None:
        self._notify(f"{self._description} ... (Ctrl-C again ends immediately)")
