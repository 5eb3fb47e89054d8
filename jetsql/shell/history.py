"""What was entered, statement by statement, for all shells of a user: one private file that they all append to.

An entry is a line with the time and then the entry's own lines, each behind a `+`. One write at the file's end adds
it, under a lock, so that shells that run at the same time don't mix theirs. What is written has its secrets hidden
(`'password' = '***'`); the shell it was typed in still has them, as long as it runs. A file that has grown is cut when
a shell starts.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from prompt_toolkit.history import History

from jetsql.private_files import append_private, private
from jetsql.shell.hiding import hide_secrets

MOST: Final = 5000
"""So many entries are kept."""

_GROWN: Final = 2 * MOST


class FileHistory(History):
    """file: made with its folder at the first entry. wanted: whether it is to be used; asked at each entry, since the
    setting may change. trouble: what keeps it from being used."""

    def __init__(self, file: Path, wanted: Callable[[], bool] = lambda: True) -> None:
        super().__init__()
        self._file = file
        self._wanted = wanted
        self.trouble: OSError | None = None

    def load_history_strings(self) -> Iterator[str]:
        """Newest first."""
        if not self._wanted():
            return
        try:
            found = list(_entries(self._file.read_text(encoding="utf-8", errors="replace").split("\n")))
            if len(found) > _GROWN:
                self._cut()
        except FileNotFoundError:
            return
        except OSError as error:
            self.trouble = error
            return
        yield from reversed(found[-MOST:])

    def store_string(self, string: str) -> None:
        if not self._wanted():
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with append_private(self._file) as file:
                fcntl.flock(file, fcntl.LOCK_EX)  # let go when it is closed
                file.write(_record(hide_secrets(string.rstrip())))
        except OSError as error:
            self.trouble = error

    def _cut(self) -> None:
        """Under the lock, and in the same file: others append to what they opened."""
        with open(self._file, "r+", encoding="utf-8", errors="replace", opener=private) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            kept = list(_entries(file.read().split("\n")))[-MOST:]
            file.seek(0)
            file.truncate()
            file.writelines(_record(entry).decode() for entry in kept)
            file.flush()
            os.fsync(file.fileno())


def _record(entry: str) -> bytes:
    lines = "".join(f"+{line}\n" for line in entry.split("\n"))
    return f"# {datetime.now(UTC).isoformat(timespec='seconds')}\n{lines}".encode(errors="replace")


def _entries(lines: Iterable[str]) -> Iterator[str]:
    entry: list[str] = []
    for line in lines:
        if line.startswith("+"):
            entry.append(line[1:])
        elif entry:
            yield "\n".join(entry)
            entry = []
    if entry:
        yield "\n".join(entry)
