"""Files that only their owner can read, regardless of the umask."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, Final

MODE: Final = 0o600


def write_private(file: Path, text: str) -> None:
    """Replace a file atomically, readable for its owner only. Raises OSError."""
    new = file.with_name(f"{file.name}.new")
    new.unlink(missing_ok=True)
    with open(new, "x", encoding="utf-8", opener=private_opener) as writing:
        writing.write(text)
    os.replace(new, file)


def append_private(file: Path) -> BinaryIO:
    """Open a file for appending, readable for its owner only. Raises OSError."""
    return open(file, "ab", opener=private_opener)


def private_opener(path: str, flags: int) -> int:
    """Open a file descriptor with private mode, as an `opener` for `open`."""
    return os.open(path, flags, MODE)


def private_folder(folder: Path) -> None:
    """Create a folder that only its owner can access, with its parents, unless it exists. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)


def is_open_to_others(folder: Path) -> bool:
    """Return whether other users of the machine can access an existing folder."""
    return folder.stat().st_mode & 0o077 != 0
