"""Keys typed while no prompt is shown: q ends the view, all others are kept for the prompt.

A terminal delivers each key once, to the first reader. Polling for q therefore also reads keys meant for the prompt,
which are kept. Keys arrive as they are pressed (see `terminal_modes.without_echo`).
"""

from __future__ import annotations

import os
import select
import sys
from time import sleep
from typing import Final

_QUIT_KEYS: Final = (b"q", b"Q")
_CHUNK: Final = 4096


class Keyboard:
    """The keyboard of the terminal at standard input; without a terminal no key is ever pressed."""

    def __init__(self) -> None:
        self._typed = b""

    @property
    def quit_key(self) -> str:
        """Return the key that ends the view: Ctrl-C once other keys were typed, because q may belong to them."""
        return "Ctrl-C" if self._typed or not _is_terminal() else "q"

    def poll_quit(self, seconds: float) -> bool:
        """Return whether q is pressed within `seconds`, before any other key. Not thread-safe."""
        if not _is_terminal():
            sleep(seconds)
            return False
        ready, _, _ = select.select([sys.stdin], [], [], seconds)
        keys = os.read(sys.stdin.fileno(), _CHUNK) if ready else b""
        if ready and not keys:
            sleep(seconds)  # the terminal is closed; a signal ends the shell
        if keys in _QUIT_KEYS and not self._typed:
            return True
        self._typed += keys
        return False

    def take_typed(self) -> str:
        """Return the keys typed for the prompt, and clear them."""
        typed, self._typed = self._typed, b""
        return typed.decode(errors="surrogateescape")  # as prompt_toolkit reads it


def _is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()
