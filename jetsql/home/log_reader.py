"""The engine's log: one file in the home, and those that were full before it.

Everything goes into the one: Spark's log by log4j, which rotates it (`jetsql/engine/log4j2.properties`), the service's
own by Python's logging, which notices that, and whatever either process says on its outputs. A record begins with its
time; what Spark logs on a job's behalf has the job's name behind the logger's:

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
    """One message with all its lines. time: as written, by the machine's clock; empty for what has none. job: the name
    of the job that it was logged for; empty where it was logged for none."""

    text: str
    time: str = ""
    job: str = ""


def log_files(home: Path) -> list[Path]:
    """Those that there are, oldest first."""
    older = [file for file in home.glob(f"{LOG}.*") if file.suffix[1:].isdigit()]
    newest = home / LOG
    return sorted(older, key=lambda file: -int(file.suffix[1:])) + ([newest] if newest.exists() else [])


def records(lines: Iterable[str]) -> Iterator[Record]:
    """Lines without a time belong to the record before them."""
    head, more = Record(""), list[str]()
    for line in lines:
        found = _HEAD.match(line)
        if found is None and (head.time or more):
            more.append(line)
            continue
        if head.text or more:
            yield _whole(head, more)
        head, more = Record(line, found[1], found[2] or "") if found else Record(line), []
    if head.text or more:
        yield _whole(head, more)


def _whole(head: Record, more: list[str]) -> Record:
    return Record("\n".join((head.text, *more)), head.time, head.job)


class LogReader:
    """Reads the log from its oldest file on, while it grows and through its rotations."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._file: TextIO | None = None
        self._half = ""

    def lines(self) -> Iterator[str]:
        """Return the whole lines that have come since the last call; nothing while there is no log."""
        while True:
            if self._file is None:
                self._file = self._open_next(None)
            if self._file is None:
                return
            yield from self._rest(self._file)
            if not self._is_full(self._file):
                return
            yield from self._rest(self._file)  # what came before it was put aside
            if self._half:
                yield self._half
            before, self._half = self._file, ""
            self._file = self._open_next(os.fstat(before.fileno()).st_ino)
            before.close()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _rest(self, file: TextIO) -> Iterator[str]:
        if os.fstat(file.fileno()).st_size < file.tell():  # somebody emptied it
            file.seek(0)
        while piece := file.readline():
            self._half += piece
            if self._half.endswith("\n"):
                line, self._half = self._half[:-1], ""
                yield line

    def _is_full(self, file: TextIO) -> bool:
        """Return whether another file has taken its place."""
        try:
            return (self._home / LOG).stat().st_ino != os.fstat(file.fileno()).st_ino
        except FileNotFoundError:  # between two files
            return False

    def _open_next(self, inode: int | None) -> TextIO | None:
        """Return the file after the one that was read; the oldest when that has gone already."""
        files = log_files(self._home)
        places = [place for place, file in enumerate(files) if _inode(file) == inode]
        rest = files[places[0] + 1 :] if places else files
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
