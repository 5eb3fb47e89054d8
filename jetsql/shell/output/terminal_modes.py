"""The terminal while a statement runs: what is typed meanwhile is kept for the prompt, and not shown twice."""

from __future__ import annotations

import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def unechoed() -> Iterator[None]:
    """Keys are not shown. Ctrl-C works, and takes nothing that was typed. Not a terminal: as it is."""
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
