"""The engine's log: one file in the home, and the rotated files before it.

The file has the log of Spark through log4j, which rotates it (`jetsql/engine/log4j2.properties`), the log of the engine
through Python's logging, and the standard outputs of both processes. A record begins with its time. A record that Spark
logs for a job has the job's name after the logger's:

    2026-11-21T12:02:21.707 WARN MicroBatchExecution [orders]: message
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO

LOG: Final = "engine.log"
_HEAD: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}) [A-Z]+ [^ ]+(?: \[(.*?)\])?: ")


@dataclass(frozen=True)
class Record:
    """One record of the log."""

    text: str  # all its lines
    time: str = ""  # as written, in the machine's time zone; empty for a record without time
    job: str = ""  # the name of the job that it was logged for; empty for none


def log_files(home: Path) -> list[Path]:
    """Return the existing log files, oldest first."""
    older = [file for file in home.glob(f"{LOG}.*") if file.suffix[1:].isdigit()]
    newest = home / LOG
    return sorted(older, key=lambda file: -int(file.suffix[1:])) + ([newest] if newest.exists() else [])


def records(lines: Iterable[str]) -> Iterator[Record]:
    """Group lines into records; lines without a time belong to the record before them."""
    head, more = Record(""), list[str]()
    for line in lines:
        match = _HEAD.match(line)
        if match is None and (head.time or more):
            more.append(line)
            continue
        if head.text or more:
            yield _join(head, more)
        head, more = Record(line, match[1], match[2] or "") if match else Record(line), []
    if head.text or more:
        yield _join(head, more)


def _join(head: Record, more: list[str]) -> Record:
    return Record("\n".join((head.text, *more)), head.time, head.job)


class LogReader:
    """A reader of the log from its oldest file, which follows new lines and rotations."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._file: TextIO | None = None
        self._half = ""

    def lines(self) -> Iterator[str]:
        """Return the complete lines that were written since the last call; none while there is no log."""
        while True:
            if self._file is None:
                self._file = self._open_next(None)
            if self._file is None:
                return
            yield from self._rest(self._file)
            if not self._is_full(self._file):
                return
            yield from self._rest(self._file)  # lines that were written before the rotation
            if self._half:
                yield self._half
            before, self._half = self._file, ""
            self._file = self._open_next(os.fstat(before.fileno()).st_ino)
            before.close()

    def skip(self) -> int:
        """Continue at the end of the newest file, and return its size; 0 without a file."""
        files = log_files(self._home)
        if not files:
            return 0
        self.close()
        self._file, self._half = files[-1].open(encoding="utf-8", errors="replace", newline="\n"), ""
        return self._file.seek(0, os.SEEK_END)

    def close(self) -> None:
        """Close the open log file."""
        if self._file is not None:
            self._file.close()

    def _rest(self, file: TextIO) -> Iterator[str]:
        if os.fstat(file.fileno()).st_size < file.tell():  # the file was truncated
            file.seek(0)
        while piece := file.readline():
            self._half += piece
            if self._half.endswith("\n"):
                line, self._half = self._half[:-1], ""
                yield line

    def _is_full(self, file: TextIO) -> bool:
        """Return whether the file was rotated."""
        try:
            return (self._home / LOG).stat().st_ino != os.fstat(file.fileno()).st_ino
        except FileNotFoundError:  # between two files
            return False

    def _open_next(self, inode: int | None) -> TextIO | None:
        """Open the file after the one with this inode, or the oldest file if that one is deleted."""
        files = log_files(self._home)
        indexes = [index for index, file in enumerate(files) if _inode(file) == inode]
        rest = files[indexes[0] + 1 :] if indexes else files
        for file in rest:
            try:
                return file.open(encoding="utf-8", errors="replace", newline="\n")
            except FileNotFoundError:
                continue
        return None


def _inode(file: Path) -> int:
    try:
        return file.stat().st_ino
    except FileNotFoundError:
        return -1
