"""The small files of a checkpoint and what can be wrong with one, read as Spark and Hadoop read them.

A log is a folder of numbered files. Each begins with a line `v1` or `v2`, the rest is JSON, an object a line. Beside
each file lies a hidden one with its checksums, which Hadoop compares before Spark gets to see a byte.
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
    """The numbers of a log's files. compacted: those that stand for all before them too."""

    folder: Path
    numbers: frozenset[int]
    compacted: frozenset[int]

    @property
    def newest(self) -> int | None:
        return max(self.numbers, default=None)

    def path(self, number: int) -> Path:
        return self.folder / f"{number}{'.compact' if number in self.compacted else ''}"

    def gaps(self) -> list[range]:
        """Stretches that are missing between the oldest and the newest."""
        return missing(self.numbers, min(self.numbers), max(self.numbers)) if self.numbers else []


def missing(present: Iterable[int], first: int, last: int) -> list[range]:
    """Return the stretches from `first` to `last` of which no number is present."""
    inside = sorted(number for number in set(present) if first <= number <= last)
    edges = pairwise([first - 1, *inside, last + 1])
    return [range(before + 1, after) for before, after in edges if after - before > 1]


def read_log(folder: Path) -> Log:
    """A folder that is not there is an empty log."""
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    found = [match for match in map(_ENTRY.fullmatch, names) if match]
    compacted = frozenset(int(match[1]) for match in found if match[2])
    return Log(folder, frozenset(int(match[1]) for match in found), compacted)


def json_lines(path: Path) -> list[object]:
    """Return the objects of a log's file. Raises ValueError saying what is wrong with it, OSError."""
    version, *lines = _text(path).splitlines() or [""]
    if not re.fullmatch(r"v[1-9]\d*", version):
        raise ValueError("it does not begin with a version")
    if not lines:
        raise ValueError("it ends after its first line")
    return [_value(line) for line in lines if line.strip()]


def json_object(path: Path) -> dict[str, object]:
    """Return the object that is all of a file. Raises ValueError saying what is wrong with it, OSError."""
    value = _value(_text(path))
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")
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
        raise ValueError("its checksum does not fit")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ValueError("it is not UTF-8") from error


def _fits_checksums(content: bytes, sums: Path) -> bool:
    """Return whether the content is what was written; also where there are no checksums, as on object stores."""
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
