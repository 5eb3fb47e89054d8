"""Explain the end of Spark's process by its exit code.

A process that a user or an update has killed has not crashed. The kernel kills processes when the machine or
the container has no memory left. It counts these, which distinguishes them from those that a user kills.
"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Final

_OUT_OF_MEMORY: Final = 3  # of a JVM with the option ExitOnOutOfMemoryError
_KERNEL_COUNTS: Final = Path("/proc/vmstat")
_KILLS: Final = "oom_kill"


class ExitReasons:
    """The reasons of one process, which is created before Spark's process."""

    def __init__(self, counts: Path = _KERNEL_COUNTS) -> None:
        """Remember the kernel's count. counts: the file with the kernel's counters."""
        self._counts = counts
        self._kills_before = self._read_kills()

    def describe(self, code: int) -> str | None:
        """Return why a process ended with this code, as a sentence; None if something else has ended it.

        code: negative for a signal.
        """
        if code == _OUT_OF_MEMORY:
            return "Spark's process ended, because its heap was full."
        if code == -signal.SIGABRT:
            return "Spark's process crashed."
        if code == -signal.SIGKILL and self._read_kills() > self._kills_before:
            return "The system killed Spark's process, because there was no memory left."
        return None

    def _read_kills(self) -> int:
        """Return how many processes the kernel has killed for lack of memory; 0 if it does not count them."""
        try:
            lines = self._counts.read_text(encoding="ascii").splitlines()
        except OSError:
            return 0
        counters = dict(line.split() for line in lines if line.count(" ") == 1)
        return int(counters.get(_KILLS, 0))
