"""What was entered, statement by statement, for all shells of a user: one private file that they all append to.

Of a script that was pasted each statement is an entry, those of several lines whole; a long one is an entry itself.

An entry is a line with the time and then the entry's own lines, each behind a `+`. One write at the file's end adds
it, under a lock, so that shells that run at the same time don't mix theirs. What is written has its secrets hidden
(`'password' = '***'`); the shell it was typed in still has them, as long as it runs. A file that has grown is cut when
a shell starts.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final

from prompt_toolkit.history import History

from jetsql.home.private_files import append_private, write_private
from jetsql.shell.session.entries import pieces
from jetsql.shell.session.redact_statements import hide_secrets

MOST: Final = 5000
"""So many entries are kept."""

_GROWN: Final = 2 * MOST
# What has more statements was never typed; each by itself would push everything else out.
_SCRIPT: Final = 100


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

    def append_string(self, string: str) -> None:
        """What was entered, each statement and each command of it by itself."""
        found = pieces(string)
        for piece in found if 1 < len(found) <= _SCRIPT else [string]:
            self.keep(piece)

    def keep(self, string: str) -> None:
        """To be had back as it stands."""
        if [string] != self.get_strings()[-1:]:
            super().append_string(string)

    def store_string(self, string: str) -> None:
        if not self._wanted():
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with _locked(self._file) as file:
                file.write(_record(hide_secrets(string.rstrip())))
        except OSError as error:
            self.trouble = error

    def _cut(self) -> None:
        """At once: a process that is killed meanwhile leaves the file as it was."""
        with _locked(self._file):
            found = list(_entries(self._file.read_text(encoding="utf-8", errors="replace").split("\n")))
            write_private(self._file.resolve(), "".join(_record(entry).decode() for entry in found[-MOST:]))


@contextmanager
def _locked(path: Path) -> Iterator[BinaryIO]:
    """The file, to write at its end while nobody else does."""
    while True:
        with append_private(path) as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # let go when it is closed
            if _stands_at(path, file):
                yield file
                return


def _stands_at(path: Path, file: BinaryIO) -> bool:
    """False when another shell has cut the history, or somebody removed it, while the lock was waited for."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


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
