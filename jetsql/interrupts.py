"""Ctrl-C and termination, as the command line means them.

The first signal ends what is running and lets the jobs stop gracefully; the second ends the process where it stands,
which is safe (the store and the checkpoints are made for it) but leaves a batch to be run again. Signals in the same
instant count as one: a terminal and a wrapping program both pass Ctrl-C on. PySpark puts a handler of its own in place
that cancels every running batch, so `install` is called again once the engine has started.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

SAME_INSTANT_SECONDS = 0.5


def _leave(status: int) -> NoReturn:
    os._exit(status)


class Interrupts:
    """What has been asked for so far.

    say: tells people. leave: ends the process at once. first: done at the first signal, instead of raising
    KeyboardInterrupt.
    """

    def __init__(
        self,
        say: Callable[[str], None],
        status: int,
        leave: Callable[[int], None] = _leave,
        clock: Callable[[], float] = time.monotonic,
        first: Callable[[], None] | None = None,
    ) -> None:
        self._say = say
        self._status = status
        self._on_first = first
        self._leave = leave
        self._clock = clock
        self._first: float | None = None
        self._closing = False
        self._what = "stopping the jobs"

    @property
    def requested(self) -> bool:
        return self._first is not None

    def install(self) -> None:
        """Take SIGINT, SIGTERM and, unless it is ignored (nohup), SIGHUP."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._handle)

    def closing(self, what: str = "stopping the jobs") -> None:
        """From now on a first signal no longer breaks off what runs: stopping is under way already. what: in words."""
        self._closing = True
        self._what = what
        if self.requested:
            self._tell()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        now = self._clock()
        if self._first is None:
            self._first = now
            if self._on_first is not None:
                self._on_first()
            elif not self._closing:
                raise KeyboardInterrupt
            self._tell()
        elif now - self._first > SAME_INSTANT_SECONDS:
            self._leave(self._status)

    def _tell(self) -> None:
        self._say(f"{self._what} ... (Ctrl-C again ends at once)")
