"""Readers of Spark's logs in a checkpoint.

A log is a folder of numbered files. Each begins with a line `v1` or `v2`; the other lines are JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from jetsql.jobs.checkpoint_files.stored_files import StoredFiles

_ENTRY: Final = re.compile(r"(\d{1,18})(\.compact)?")


@dataclass(frozen=True)
class Log:
    """The files of a log."""

    folder: str
    numbers: frozenset[int]
    compacted: frozenset[int]  # numbers of files that include all earlier ones

    @property
    def newest(self) -> int | None:
        """Return the highest number, or None."""
        return max(self.numbers, default=None)

    def path(self, number: int) -> str:
        """Return the path of a file."""
        return f"{self.folder}/{number}{'.compact' if number in self.compacted else ''}"

    def gaps(self) -> list[range]:
        """Return the ranges of missing numbers between the oldest and the newest."""
        return missing(self.numbers, min(self.numbers), max(self.numbers)) if self.numbers else []


@dataclass(frozen=True)
class Progress:
    """The newest batches of a query in its checkpoint."""

    planned: int | None
    """The newest batch in the offset log; None before the first."""
    committed: int | None
    """The newest batch in the commit log; None before the first."""

    @property
    def has_pending_batch(self) -> bool:
        """Return whether a batch is planned and not committed. The next run repeats it, even if its SQL differs."""
        return self.planned is not None and self.planned != self.committed

    @property
    def replayed_batch(self) -> int | None:
        """Return the batch that the next run repeats with its planned offsets, or None."""
        return self.planned if self.has_pending_batch else None

    @property
    def next_batch(self) -> int:
        """Return the batch that the next run begins with."""
        if self.has_pending_batch and self.planned is not None:
            return self.planned
        return 0 if self.committed is None else self.committed + 1


def missing(present: Iterable[int], first: int, last: int) -> list[range]:
    """Return the ranges of missing numbers from `first` to `last`, inclusive."""
    inside = sorted(number for number in set(present) if first <= number <= last)
    edges = pairwise([first - 1, *inside, last + 1])
    return [range(before + 1, after) for before, after in edges if after - before > 1]


def range_text(gap: range) -> str:
    """Return a range of numbers as a phrase."""
    return str(gap.start) if len(gap) == 1 else f"{gap.start} to {gap.stop - 1}"


def read_log(files: StoredFiles, folder: str) -> Log:
    """Return the files of a log; a folder that does not exist is an empty log."""
    matches = [match for match in map(_ENTRY.fullmatch, files.list_names(folder)) if match]
    compacted = frozenset(int(match[1]) for match in matches if match[2])
    return Log(folder, frozenset(int(match[1]) for match in matches), compacted)


def read_progress(files: StoredFiles, checkpoint: str) -> Progress:
    """Return the newest batches in a checkpoint. A folder that does not exist has none."""
    # `commits` is read first, so that a batch that is committed meanwhile is also planned.
    committed, planned = (read_log(files, f"{checkpoint}/{name}").newest for name in ("commits", "offsets"))
    return Progress(planned, committed)


def json_lines(files: StoredFiles, path: str) -> list[object]:
    """Return the values in a log's file, None for `-`.

    Raises FileNotFoundError, and ValueError with the problem as a phrase.
    """
    version, *lines = read_text(files, path).split("\n")
    if not re.fullmatch(r"v[1-9]\d*", version):
        raise ValueError("it does not begin with a version")
    values = [_value(line) for line in lines if line.strip()]
    if not values:
        raise ValueError("it ends after its first line")
    return values


def json_object(files: StoredFiles, path: str) -> dict[str, object]:
    """Return the object of a file with a single one.

    Raises FileNotFoundError, and ValueError with the problem as a phrase.
    """
    value = _value(read_text(files, path))
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")
    return value


def read_text(files: StoredFiles, path: str) -> str:
    """Return the text of a file. Raises FileNotFoundError, and ValueError with the problem as a phrase."""
    content = files.read_checked(path)
    if not content.strip(b"\0"):
        raise ValueError("it is empty")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ValueError("it is not UTF-8") from error


def _value(text: str) -> object:
    try:
        return None if text == "-" else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError("it is not JSON") from error
