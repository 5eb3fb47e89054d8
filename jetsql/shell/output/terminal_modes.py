"""The terminal mode while a statement runs: typed keys are kept for the prompt and not echoed."""

from __future__ import annotations

import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_echo() -> Iterator[None]:
    """Switch off echo and line mode; Ctrl-C keeps working and discards no typed keys. No effect without a terminal."""
    if sys.stdin is None or not sys.stdin.isatty():
        yield
        return
    stdin = sys.stdin.fileno()
    before = termios.tcgetattr(stdin)
    quiet = termios.tcgetattr(stdin)
    quiet[3] = quiet[3] & ~(termios.ECHO | termios.ICANON) | termios.NOFLSH
    termios.tcsetattr(stdin, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(stdin, termios.TCSANOW, before)
