"""A reader of file tables that uses neither JetSQL nor Spark: it lists folders by Spark's rules and reads the files.

In all rounds and crashes, a visible file must be complete, no row may be duplicated, and no row may disappear.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.orc
import pyarrow.parquet
from pyarrow import ArrowException

from tests.faults.jobs import TOO
from tests.faults.source import ROWS_A_FILE

_PAUSE_SECONDS = 0.02
_SHARE = 4  # of the time of a poll: so the reader takes at most a fifth of a core
_KEYS = {
    "copy": ("id",),
    "parts": ("id",),
    "minutes": ("start",),
    "paired": ("id",),
    "chained": ("id",),
    "now": ("id",),
    "unmatched": ("id",),
    "idle": ("start",),
    "late_totals": ("id",),
    "late_pairs": ("id",),
    "renewed": ("id", "life"),
    "once": ("id", "life"),
}


@dataclass(frozen=True)
class SeenFile:
    """A file as it was when it was first seen. identity: what another file under the same name would not have."""

    identity: tuple[int, int]
    keys: tuple[object, ...]


class FilesReader:
    """Polls the tables below a warehouse folder on a thread of its own. wrong: what it saw and must not, in words."""

    def __init__(self, warehouse: Path) -> None:
        self._warehouse = warehouse
        self._seen: dict[str, dict[Path, SeenFile]] = {table: {} for table in _KEYS}
        self._rows: dict[str, Counter[object]] = {table: Counter() for table in _KEYS}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="files-reader", daemon=True)
        self.wrong: list[str] = []
        self.polls = 0

    @property
    def files(self) -> int:
        return sum(map(len, self._seen.values()))

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Poll a last time, after everything has ended."""
        self._end.set()
        self._thread.join()
        self.poll_tables()

    def _poll(self) -> None:
        took = 0.0
        while not self._end.wait(max(_PAUSE_SECONDS, _SHARE * took)):
            began = time.monotonic()
            self.poll_tables()
            took = time.monotonic() - began

    def poll_tables(self) -> None:
        """Poll all tables once."""
        for table in _KEYS:
            self._read_table(table)
        self.polls += 1

    def _read_table(self, table: str) -> None:
        there = dict(visible_files(self._warehouse / table))
        seen = self._seen[table]
        for path in [path for path, file in seen.items() if there.get(path) != file.identity]:
            self.wrong.append(f"{table}: {path.name} went away or became another file")
            self._rows[table].subtract(seen.pop(path).keys)
        new = [path for path in there if path not in seen]
        for path in new:
            self._read(table, path, there[path])
        if new:
            self._check(table)

    def _read(self, table: str, path: Path, identity: tuple[int, int]) -> None:
        try:
            keys = read_keys(path, _KEYS[table])
        except (OSError, ArrowException) as error:
            self.wrong.append(f"{table}: {path.name} can be seen and not be read: {error}")
            return
        self._seen[table][path] = SeenFile(identity, keys)
        self._rows[table].update(keys)

    def _check(self, table: str) -> None:
        twice = [key for key, count in self._rows[table].items() if count > 1]
        if twice:
            self.wrong.append(f"{table}: {len(twice)} rows are there twice, for example {twice[0]}")
        if table == "copy":
            self._check_whole_batches()

    def _check_whole_batches(self) -> None:
        """Check that files appear as a whole: a batch of these jobs is one file of the source and becomes one file."""
        ids = [key[0] for key in self._rows["copy"] if isinstance(key, tuple) and key[0] >= 0]
        batches = Counter((i // TOO, i % TOO // ROWS_A_FILE) for i in ids)
        partly = [batch for batch, count in batches.items() if count != ROWS_A_FILE]
        if partly:
            self.wrong.append(f"copy: {len(partly)} batches are there in part, for example {partly[0]}")


def visible_files(folder: Path) -> Iterator[tuple[Path, tuple[int, int]]]:
    """Return the files that Spark would list below a table's folder, each with its inode and size."""
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return
    for entry in entries:
        hidden = entry.name.startswith(".") or (entry.name.startswith("_") and "=" not in entry.name)
        if hidden or entry.name.endswith("._COPYING_"):
            continue
        if entry.is_dir():
            yield from visible_files(Path(entry.path))
        else:
            found = entry.stat()
            yield Path(entry.path), (found.st_ino, found.st_size)


def read_keys(path: Path, columns: tuple[str, ...]) -> tuple[object, ...]:
    """Return the rows' values in some columns of a file. Raises OSError, ArrowException for an incomplete file."""
    if path.name.endswith(".orc"):
        table = pyarrow.orc.read_table(path)
    else:
        table = pyarrow.parquet.ParquetFile(path).read()
    return tuple(zip(*(table.column(name).to_pylist() for name in columns), strict=True))
