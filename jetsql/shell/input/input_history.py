"""The input history, one private file that all shells of a user append to.

Each statement of a pasted script becomes an entry; a script with many statements is a single entry. An entry is a line
with the time, followed by the entry's lines, each prefixed by `+`. One write under a lock appends it, so parallel
shells do not mix their entries. Secrets are redacted in the file (`'password' = '***'`); the shell in which they were
typed keeps them until it exits. A file that has grown too long is shortened when a shell starts.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Final

from prompt_toolkit.history import History

from jetsql.home.private_files import append_private, write_private
from jetsql.jobs.model.redact_sql import redact_sql
from jetsql.shell.input.input_parsing import DotCommand, command_end, parse_entries, split_entries

MAX_ENTRIES: Final = 5000
"""The number of entries that are kept."""

_SHORTEN_ABOVE: Final = 2 * MAX_ENTRIES
# A text with more statements was pasted; as separate entries they would displace all others.
_MAX_STATEMENTS: Final = 100


class FileHistory(History):
    """The history in a file, which is created with its folder when the first entry is written.

    is_enabled: called for each entry, because the setting may change.
    """

    def __init__(self, file: Path, is_enabled: Callable[[], bool] = lambda: True) -> None:
        super().__init__()
        self._file = file
        self._is_enabled = is_enabled
        self.error: OSError | None = None

    def load_history_strings(self) -> Iterator[str]:
        """Yield the entries, newest first."""
        if not self._is_enabled():
            return
        try:
            entries = list(_entries(self._file.read_text(encoding="utf-8", errors="replace").split("\n")))
            if len(entries) > _SHORTEN_ABOVE:
                self._shorten()
        except FileNotFoundError:
            return
        except OSError as error:
            self.error = error
            return
        yield from reversed(entries[-MAX_ENTRIES:])

    def append_string(self, string: str) -> None:
        """Add each statement and command of the entered text as an entry."""
        statements = split_entries(string)
        for piece in statements if 1 < len(statements) <= _MAX_STATEMENTS else [string]:
            self.add_entry(piece)

    def add_entry(self, string: str) -> None:
        """Add a text as one entry."""
        if [string] != self.get_strings()[-1:]:
            super().append_string(string)

    def store_string(self, string: str) -> None:
        """Write an entry to the file."""
        if not self._is_enabled():
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with _open_locked(self._file) as file:
                file.write(_record(redact_statements(string.rstrip())))
        except OSError as error:
            self.error = error

    def _shorten(self) -> None:
        """Drop old entries atomically: a killed process leaves the old file."""
        with _open_locked(self._file):
            entries = list(_entries(self._file.read_text(encoding="utf-8", errors="replace").split("\n")))
            write_private(self._file.resolve(), "".join(_record(entry).decode() for entry in entries[-MAX_ENTRIES:]))


def redact_statements(text: str) -> str:
    """Return the text with `***` in place of secrets."""
    starts = [entry.start if isinstance(entry, DotCommand) else entry.fragment.start for entry in parse_entries(text)]
    return "".join(_redact_entry(text[start:stop]) for start, stop in pairwise([0, *starts, len(text)]))


def _redact_entry(part: str) -> str:
    """Redact one entry and the text up to the next one."""
    stop = command_end(part, 0)  # an open quote in a command ends with the command
    return redact_sql(part[:stop]) + part[stop:] if stop else redact_sql(part)


@contextmanager
def _open_locked(path: Path) -> Iterator[BinaryIO]:
    """Open the file for appending, under an exclusive lock."""
    while True:
        with append_private(path.resolve()) as file:  # people link their history
            fcntl.flock(file, fcntl.LOCK_EX)  # released by close
            if _is_current(path, file):
                yield file
                return


def _is_current(path: Path, file: BinaryIO) -> bool:
    """Return whether the open file is still at its path: another shell may have replaced it."""
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
