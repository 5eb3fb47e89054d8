"""Files that only their owner may read, from the first byte on and whatever the umask is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, Final

MODE: Final = 0o600


def write_private(file: Path, text: str) -> None:
    """At once and whole, so that nobody reads half of it. Raises OSError."""
    new = file.with_name(f"{file.name}.new")
    new.unlink(missing_ok=True)
    with open(new, "x", encoding="utf-8", opener=private_opener) as writing:
        writing.write(text)
    os.replace(new, file)


def append_private(file: Path) -> BinaryIO:
    """Return the file, to write at its end. Raises OSError."""
    return open(file, "ab", opener=private_opener)


def private_opener(path: str, flags: int) -> int:
    """Return an `opener` for `open`."""
    return os.open(path, flags, MODE)


def private_folder(folder: Path) -> None:
    """Make a folder that only its owner may enter, with its parents, unless it is there. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)


def is_open_to_others(folder: Path) -> bool:
    """Return whether other users of the machine may enter a folder that is there."""
    return folder.stat().st_mode & 0o077 != 0
