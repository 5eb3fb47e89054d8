"""Files that only their owner can read, regardless of the umask, and that no other user can have put there."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

MODE: Final = 0o600


def write_private(file: Path, text: str) -> None:
    """Replace a file atomically, readable for its owner only. It is on the disk afterwards. Raises OSError."""
    new = file.with_name(f"{file.name}.new")
    new.unlink(missing_ok=True)
    with open(new, "x", encoding="utf-8", opener=private_opener) as writing:
        writing.write(text)
        writing.flush()
        os.fsync(writing.fileno())  # after a power failure the file would be empty
    os.replace(new, file)


def read_own(file: Path) -> str:
    """Return the text of a file that belongs to this user or to root.

    Raises OSError, PermissionError for the file of another user, UnicodeDecodeError.
    """
    with open(file, encoding="utf-8", opener=_own_opener) as reading:
        return reading.read()


def append_private(file: Path) -> BinaryIO:
    """Open a file for appending, readable for its owner only; a link is not followed. Raises OSError."""
    return open(file, "ab", opener=private_opener)


def private_opener(path: str, flags: int) -> int:
    """Open the descriptor of a file with private mode, as an `opener` for `open`. A link is not followed."""
    return os.open(path, flags | os.O_NOFOLLOW, MODE)


def regular_opener(path: str, flags: int) -> int:
    """Open the descriptor of a regular file, as an `opener` for `open`: another one could be waited for without end."""
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no regular file", path)
    return descriptor


def _own_opener(path: str, flags: int) -> int:
    descriptor = regular_opener(path, flags | os.O_NOFOLLOW)
    if not is_of_user_or_root(os.fstat(descriptor)) and os.geteuid() != 0:  # root reads the homes of all users
        os.close(descriptor)
        raise PermissionError(errno.EPERM, "it belongs to another user", path)
    return descriptor


def is_of_user_or_root(status: os.stat_result) -> bool:
    """Return whether a file or folder belongs to the user of this process or to root."""
    return status.st_uid in (os.geteuid(), 0)


def is_writable_by_others(status: os.stat_result) -> bool:
    """Return whether other users of the machine can write to a file or folder."""
    return status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) != 0


def private_folder(folder: Path) -> None:
    """Create a folder that only its owner can access, with its parents, unless it exists. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)


def private_folders(folder: Path) -> None:
    """Create a folder and its missing parents, all of which only their owner can access. Raises OSError.

    `Path.mkdir` leaves the modes of parents to the umask.
    """
    for each in (*reversed(folder.parents), folder):
        if not each.exists():
            each.mkdir(exist_ok=True, mode=0o700)


def is_open_to_others(folder: Path) -> bool:
    """Return whether other users of the machine can access an existing folder."""
    return folder.stat().st_mode & 0o077 != 0
