"""The user's own editor on a text."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def edited(text: str) -> str:
    """What the editor of $VISUAL or $EDITOR (else vi) leaves of a text. Raises OSError, ValueError."""
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="jetsql-") as folder:  # nobody else's to read
        file = Path(folder) / "statement.sql"
        file.write_text(text, encoding="utf-8")
        with _leaving_interrupts_to_it():
            code = subprocess.run([*shlex.split(command), str(file)], check=False).returncode
        if code:
            raise ValueError(f"the editor ({command}) ended with {code}; $VISUAL or $EDITOR names another.")
        return file.read_text(encoding="utf-8").rstrip("\n")


@contextmanager
def _leaving_interrupts_to_it() -> Iterator[None]:
    """Ctrl-C in the editor is the editor's. A handler, and not SIG_IGN, which the editor would inherit."""
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
