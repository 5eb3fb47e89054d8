"""Readers of the small files of a checkpoint, with the checks of Spark and Hadoop.

A log is a folder of numbered files. Each begins with a line `v1` or `v2`; the other lines are JSON objects. Each file
has a hidden file with its checksums next to it, which Hadoop compares before Spark reads the file.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

_CHECKSUM_HEADER: Final = struct.Struct(">4sI")
_CHECKSUM_MAGIC: Final = b"crc\0"
_ENTRY: Final = re.compile(r"(\d+)(\.compact)?")


@dataclass(frozen=True)
class Log:
    """The files of a log."""

    folder: Path
    numbers: frozenset[int]
    compacted: frozenset[int]  # numbers of files that include all earlier ones

    @property
    def newest(self) -> int | None:
        """Return the highest number, or None."""
        return max(self.numbers, default=None)

    def path(self, number: int) -> Path:
        """Return the path of a file."""
        return self.folder / f"{number}{'.compact' if number in self.compacted else ''}"

    def gaps(self) -> list[range]:
        """Return the ranges of missing numbers between the oldest and the newest."""
        return missing(self.numbers, min(self.numbers), max(self.numbers)) if self.numbers else []


def missing(present: Iterable[int], first: int, last: int) -> list[range]:
    """Return the ranges of missing numbers from `first` to `last`, inclusive."""
    inside = sorted(number for number in set(present) if first <= number <= last)
    edges = pairwise([first - 1, *inside, last + 1])
    return [range(before + 1, after) for before, after in edges if after - before > 1]


def read_log(folder: Path) -> Log:
    """Return the files of a log; a folder that does not exist is an empty log."""
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    matches = [match for match in map(_ENTRY.fullmatch, names) if match]
    compacted = frozenset(int(match[1]) for match in matches if match[2])
    return Log(folder, frozenset(int(match[1]) for match in matches), compacted)


def json_lines(path: Path) -> list[object]:
    """Return the objects of a log's file. Raises ValueError with the problem as a phrase, OSError."""
    version, *lines = _text(path).splitlines() or [""]
    if not re.fullmatch(r"v[1-9]\d*", version):
        raise ValueError("it does not begin with a version")
    if not lines:
        raise ValueError("it ends after its first line")
    return [_value(line) for line in lines if line.strip()]


def json_object(path: Path) -> dict[str, object]:
    """Return the object of a file with a single one. Raises ValueError with the problem as a phrase, OSError."""
    value = _value(_text(path))
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")
    return value


def _value(text: str) -> object:
    try:
        return None if text == "-" else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError("it is not JSON") from error


def _text(path: Path) -> str:
    content = path.read_bytes()
    if not content.strip(b"\0"):
        raise ValueError("it is empty")
    if not _fits_checksums(content, path.with_name(f".{path.name}.crc")):
        raise ValueError("its checksum does not match")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ValueError("it is not UTF-8") from error


def _fits_checksums(content: bytes, sums: Path) -> bool:
    """Return whether the checksums match; True without checksums, as on object stores."""
    try:
        stored = sums.read_bytes()
    except FileNotFoundError:
        return True
    if len(stored) < _CHECKSUM_HEADER.size:
        return False
    magic, size = _CHECKSUM_HEADER.unpack_from(stored)
    if magic != _CHECKSUM_MAGIC or size == 0:
        return False
    made = b"".join(struct.pack(">I", zlib.crc32(content[at : at + size])) for at in range(0, len(content), size))
    return stored[_CHECKSUM_HEADER.size :] == made
