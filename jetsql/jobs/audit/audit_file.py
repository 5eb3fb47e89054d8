"""The file of the audit log: private from its creation, appended to without a buffer, and rotated.

Each line is given to the system before `append` returns. Nothing of a line stays that could not be written as a whole.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Final

from jetsql.home.private_files import private_opener, regular_opener

AUDIT_LOG: Final = "audit.log"
_MOST_BYTES: Final = 20_000_000
_FILES: Final = 10
_APPEND: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC


class AuditFile:
    """The files `audit.log`, the newest, and `audit.log.1` to `audit.log.9`. Any thread can use it."""

    def __init__(self, folder: Path, most_bytes: int = _MOST_BYTES, files: int = _FILES) -> None:
        """Create it without opening a file. most_bytes: of one file. files: their number, with the newest."""
        self.path = folder / AUDIT_LOG
        self._most_bytes, self._files = most_bytes, files
        self._descriptor: int | None = None
        self._lock = Lock()

    def append(self, line: bytes) -> None:
        """Write a line that ends with a line break. Raises OSError; then the file is as before."""
        with self._lock:
            descriptor = self._open()
            size = os.fstat(descriptor).st_size
            if size and size + len(line) > self._most_bytes:
                self._rotate()
                descriptor, size = self._open(), 0
            self._write(descriptor, size, line)

    def newest(self, most: int) -> list[bytes]:
        """Return the last lines, the oldest of them first. Raises OSError."""
        with self._lock:
            found: list[bytes] = []
            for path in self._paths():
                lines = list(_lines(path))
                found = lines[max(0, len(lines) - (most - len(found))) :] + found
                if len(found) >= most:
                    break
            return found

    def close(self) -> None:
        """Close the file; `append` opens it again."""
        with self._lock:
            self._close()

    def _open(self) -> int:
        """Return the descriptor of the newest file, which may have been deleted or replaced since the last line."""
        if self._descriptor is not None and self._is_current(self._descriptor):
            return self._descriptor
        self._close()
        descriptor = private_opener(str(self.path), _APPEND)
        status = os.fstat(descriptor)
        try:
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "it is no regular file", str(self.path))
            if status.st_mode & 0o077:
                os.fchmod(descriptor, 0o600)
            if status.st_size and os.pread(descriptor, 1, status.st_size - 1) != b"\n":  # of an engine that was killed
                os.write(descriptor, b"\n")
        except OSError:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        return descriptor

    def _is_current(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self.path, follow_symlinks=False))
        except FileNotFoundError:
            return False

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _rotate(self) -> None:
        self._close()
        paths = list(self._paths())
        for older, newer in zip(reversed(paths), reversed(paths[:-1]), strict=False):
            if newer.exists():
                os.replace(newer, older)

    def _paths(self) -> Iterator[Path]:
        """Yield the paths of the files, the newest first."""
        yield self.path
        for number in range(1, self._files):
            yield self.path.with_name(f"{self.path.name}.{number}")

    @staticmethod
    def _write(descriptor: int, size: int, line: bytes) -> None:
        written = 0
        try:
            while written < len(line):
                written += os.write(descriptor, line[written:])
        except OSError:
            if written:
                os.ftruncate(descriptor, size)
            raise


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file; none if it does not exist. Raises OSError."""
    try:
        with open(path, "rb", opener=lambda name, flags: regular_opener(name, flags | os.O_NOFOLLOW)) as reading:
            yield from reading
    except FileNotFoundError:
        return
