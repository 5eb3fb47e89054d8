"""The engine's log: one file in the home, and those that were full before it.

Everything goes into the one: Spark's log by log4j, which rotates it (`jetsql/engine/log4j2.properties`), the service's
own by Python's logging, which notices that, and whatever either process says on its outputs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

LOG: Final = "engine.log"


def log_files(home: Path) -> list[Path]:
    """Those that there are, oldest first."""
    older = [file for file in home.glob(f"{LOG}.*") if file.suffix[1:].isdigit()]
    newest = home / LOG
    return sorted(older, key=lambda file: -int(file.suffix[1:])) + ([newest] if newest.exists() else [])
