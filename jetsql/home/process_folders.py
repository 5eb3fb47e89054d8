"""Temporary folders that processes use until they end, and that later processes delete after a kill.

A lock of the operating system shows that a folder is in use. Its holder may have another process id by now, or run in
another container that shares the folder for temporary files.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

_NEW_SECONDS: Final = 60.0
"""A younger folder may have an owner that has not locked it yet."""
_SUFFIX: Final = 8
"""The number of characters that make a name unique."""


def make_process_folder(prefix: str, parent: Path | None = None, keep: bool = False) -> Path:
    """Create a folder that only this user can access, and delete those with this prefix that no process uses.

    prefix: the beginning of its name. parent: default: the system's folder for temporary files
    keep: whether the next program of this process uses it, after `exec`; otherwise it is deleted when Python exits
    """
    parent = Path(tempfile.gettempdir()) if parent is None else parent
    for left in parent.glob(f"{prefix}{'?' * _SUFFIX}"):
        _delete_unused(left)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    lock = _lock(folder)
    if keep and lock is not None:
        os.set_inheritable(lock, True)
    elif not keep:
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def name_length(prefix: str) -> int:
    """Return the number of bytes in the name of a folder."""
    return len(os.fsencode(prefix)) + _SUFFIX


def _delete_unused(folder: Path) -> None:
    with suppress(OSError):  # another process deletes it at the same time
        status = folder.lstat()
        is_own = status.st_uid == os.getuid() and stat.S_ISDIR(status.st_mode)
        if not is_own or status.st_mtime > time.time() - _NEW_SECONDS:
            return
        lock = _lock(folder)
        if lock is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


def _lock(folder: Path) -> int | None:
    """Return a descriptor that holds the lock of a folder; None if another process holds it. Raises OSError."""
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # or a file system without locks, where folders stay
        os.close(descriptor)
        return None
    return descriptor
