"""A source that can be replayed and whose rows are known in closed form: ids without gaps, one file a minute."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

ROWS_A_FILE = 20


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
        """(minute, rows, sum of ids) of all minutes but the newest, at which a watermark without delay stands."""
        ids = [ids_of(minute) for minute in range(self.minutes - 1)]
        return [(minute, len(each), sum(each)) for minute, each in enumerate(ids)]

    def add(self, count: int) -> None:
        """More minutes; each file appears whole."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for minute in range(self.minutes, self.minutes + count):
            time = f"2024-01-01T{minute // 60:02d}:{minute % 60:02d}"
            lines = [json.dumps({"id": i, "at": f"{time}:{i % 60:02d}Z"}) for i in ids_of(minute)]
            draft = self.folder / f".{minute}.draft"
            draft.write_text("\n".join(lines) + "\n")
            draft.rename(self.folder / f"{minute:04d}.json")


def ids_of(minute: int) -> range:
    return range(minute * ROWS_A_FILE, (minute + 1) * ROWS_A_FILE)
