"""A replayable source whose rows are known in closed form: consecutive ids, one file for each minute."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

ROWS_A_FILE = 20
_APART_SECONDS = 0.01


@dataclass(frozen=True)
class Source:
    """A folder of files. File n holds minute n, with the ids from n * ROWS_A_FILE on."""

    folder: Path

    @property
    def minutes(self) -> int:
        return len(list(self.folder.glob("*.json")))

    def ids(self) -> range:
        return range(self.minutes * ROWS_A_FILE)

    def closed(self) -> list[tuple[int, int, int]]:
        """Return (minute, rows, sum of ids) of all minutes but the newest, where a watermark without delay is."""
        ids = [ids_in_minute(minute) for minute in range(self.minutes - 1)]
        return [(minute, len(each), sum(each)) for minute, each in enumerate(ids)]

    def add(self, count: int) -> None:
        """Add minutes; each file appears atomically."""
        self.folder.mkdir(parents=True, exist_ok=True)
        newest = max((file.stat().st_mtime for file in self.folder.glob("*.json")), default=0.0)
        for minute in range(self.minutes, self.minutes + count):
            start = f"2024-01-01T{minute // 60:02d}:{minute % 60:02d}"
            lines = [json.dumps({"id": i, "at": f"{start}:{i % 60:02d}Z"}) for i in ids_in_minute(minute)]
            draft = self.folder / f".{minute}.draft"
            draft.write_text("\n".join(lines) + "\n")
            newest = max(time.time(), newest + _APART_SECONDS)
            os.utime(draft, (newest, newest))
            draft.rename(self.folder / f"{minute:04d}.json")


def sum_by_digit(ids: range) -> list[tuple[int, int, int]]:
    """Return (last digit, rows, sum) of ids from 0 on."""
    return [(d, len(ids[d::10]), sum(ids[d::10])) for d in range(10)]


def ids_in_minute(minute: int) -> range:
    return range(minute * ROWS_A_FILE, (minute + 1) * ROWS_A_FILE)
