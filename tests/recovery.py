"""What tests of recovery share: a source whose rows are known in closed form, and programs that are killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path


def run_program(name: str, *arguments: str, failpoint: str = "") -> subprocess.CompletedProcess[str]:
    """Run a program of tests.programs to its end, or to its death at the failpoint."""
    environment = {**os.environ, "JETSQL_FAILPOINT": failpoint}
    command = [sys.executable, "-m", f"tests.programs.{name}", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200)


def add_minutes(folder: Path, first: int, count: int, rows: int) -> None:
    """Files of one minute each: minute n has the ids from n * rows on, and appears whole."""
    folder.mkdir(parents=True, exist_ok=True)
    for minute in range(first, first + count):
        lines = [
            json.dumps({"id": i, "at": f"2024-01-01T00:{minute:02d}:{i % 60:02d}Z"})
            for i in range(minute * rows, (minute + 1) * rows)
        ]
        draft = folder / f".{minute}.json"
        draft.write_text("\n".join(lines) + "\n")
        draft.rename(folder / f"{minute:03d}.json")
