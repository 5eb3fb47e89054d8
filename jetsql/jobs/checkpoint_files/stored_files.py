"""Access to the files of checkpoints, and their access on a local disk without Spark.

`jetsql check` reads a local disk; the engine reads any of Hadoop's file systems (`engine/jvm/filesystem.py`).
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path
from typing import Final, Protocol

WRONG_CHECKSUM: Final = "its checksum does not match"
IS_FOLDER: Final = "it is a folder"
_HEADER: Final = struct.Struct(">4sI")
_MAGIC: Final = b"crc\0"
_SUM_SIZE: Final = 4


class StoredFiles(Protocol):
    """Reads files in one file system. Paths are URIs or plain paths."""

    def list_names(self, folder: str) -> list[str]:
        """Return the names in a folder, sorted; an empty list when the folder does not exist."""

    def list_tree(self, folder: str) -> list[str]:
        """Return all files below a folder, relative to it; an empty list when it does not exist."""

    def read_checked(self, path: str) -> bytes:
        """Return the content of a file after Hadoop's checksums of the file are compared, if there are any.

        Raises FileNotFoundError, and ValueError with the problem as a phrase. Other errors are those of the file
        system, which may be temporary.
        """

    def has_checksums(self, path: str) -> bool:
        """Return whether `read_checked` compares a file with Hadoop's checksums."""


class LocalFiles:
    """Reads files of a local disk. Each file has a hidden one with Hadoop's checksums next to it."""

    def list_names(self, folder: str) -> list[str]:
        """Return the names in a folder, sorted; an empty list when the folder does not exist."""
        return sorted(os.listdir(folder)) if Path(folder).is_dir() else []

    def list_tree(self, folder: str) -> list[str]:
        """Return all files below a folder, relative to it."""
        files = (Path(parent, name) for parent, _, names in os.walk(folder) for name in names)
        return sorted(file.relative_to(folder).as_posix() for file in files)

    def read_checked(self, path: str) -> bytes:
        """Return the content of a file. Raises FileNotFoundError, ValueError for a wrong checksum, OSError."""
        try:
            content = Path(path).read_bytes()
        except IsADirectoryError:
            raise ValueError(IS_FOLDER) from None
        if not _fits_checksums(content, _checksums(path)):
            raise ValueError(WRONG_CHECKSUM)
        return content

    def has_checksums(self, path: str) -> bool:
        """Return whether the file with the checksums exists."""
        return _checksums(path).exists()


def _checksums(path: str) -> Path:
    return Path(path).with_name(f".{Path(path).name}.crc")


def _fits_checksums(content: bytes, sums: Path) -> bool:
    """Return whether the checksums match.

    Hadoop accepts a file without them, or with a header that it cannot read, and more of them than the file needs.
    """
    try:
        stored = sums.read_bytes()
    except FileNotFoundError:
        return True
    if len(stored) < _HEADER.size:
        return True
    magic, size = _HEADER.unpack_from(stored)
    if magic != _MAGIC or size == 0:
        return True
    made = b"".join(struct.pack(">I", zlib.crc32(content[at : at + size])) for at in range(0, len(content), size))
    sums_only = stored[_HEADER.size :]
    return len(sums_only) % _SUM_SIZE == 0 and sums_only.startswith(made)
