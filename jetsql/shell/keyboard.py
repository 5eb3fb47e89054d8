"""Single keys, while the terminal hands them out as they are pressed (see `terminal.unechoed`)."""

from __future__ import annotations

import os
import select
import sys
from time import sleep


def pressed(seconds: float) -> str:
    """The key that is pressed within so many seconds; empty when none is."""
    if sys.stdin is None or not sys.stdin.isatty():
        sleep(seconds)
        return ""
    ready, _, _ = select.select([sys.stdin], [], [], seconds)
    return os.read(sys.stdin.fileno(), 1).decode(errors="replace") if ready else ""
