"""What is typed while no prompt is shown: q ends what is shown then, all else waits for the prompt.

A terminal hands its keys to whoever reads first, so who looks for q has read what was meant for the prompt as well, and
keeps it. Keys are handed out as they are pressed (see `terminal.unechoed`).
"""

from __future__ import annotations

import os
import select
import sys
from time import sleep
from typing import Final

_QUITS: Final = (b"q", b"Q")
_CHUNK: Final = 4096


class Keyboard:
    """Of the terminal at standard input; where that is none, no key is ever pressed."""

    def __init__(self) -> None:
        self._typed = b""

    @property
    def ender(self) -> str:
        """The key that ends what is shown: once something else was typed, q may be a part of it."""
        return "Ctrl-C" if self._typed or not _is_terminal() else "q"

    def quits(self, seconds: float) -> bool:
        """Whether q is pressed within so many seconds, alone and before all else. On one thread at a time."""
        if not _is_terminal():
            sleep(seconds)
            return False
        ready, _, _ = select.select([sys.stdin], [], [], seconds)
        came = os.read(sys.stdin.fileno(), _CHUNK) if ready else b""
        if ready and not came:
            sleep(seconds)  # the terminal's end, which a signal tells
        if came in _QUITS and not self._typed:
            return True
        self._typed += came
        return False

    def typed(self) -> str:
        """What was typed for the prompt; once."""
        typed, self._typed = self._typed, b""
        return typed.decode(errors="surrogateescape")  # as prompt_toolkit reads it


def _is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()
