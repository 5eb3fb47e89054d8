"""Processes that end with the process that has started them, also when that is killed."""

from __future__ import annotations

import shutil


def end_with_parent() -> tuple[str, ...]:
    """Return a command prefix that makes the kernel kill the process when this one dies; empty if not supported."""
    return ("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()
