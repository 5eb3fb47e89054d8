"""The note of a home that is being restored from a backup: until it is removed, no engine starts on the home."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Final

from jetsql.errors import EngineError
from jetsql.home.private_files import write_private

NOTE: Final = "engine.restore"


def write_restore_note(home: Path, backup: Path) -> None:
    """Note that the home is being restored from a backup. Raises OSError."""
    write_private(home / NOTE, json.dumps({"backup": str(backup)}))


def has_restore_note(home: Path) -> bool:
    """Return whether a restore of the home has begun and has not ended."""
    return (home / NOTE).exists()


def remove_restore_note(home: Path) -> None:
    """Make the home usable."""
    (home / NOTE).unlink(missing_ok=True)


def check_restored(home: Path) -> None:
    """Raise EngineError HOME_NOT_USABLE for a home whose restore has not ended."""
    if not has_restore_note(home):
        return
    try:
        backup = str(json.loads((home / NOTE).read_text(encoding="utf-8"))["backup"])
    except (OSError, ValueError, KeyError, TypeError):
        backup = "DIR"
    raise EngineError(
        "HOME_NOT_USABLE",
        f"The home {home} is not complete: its restore from {backup} has not ended.",
        hint=f"Run `jetsql restore {shlex.quote(backup)} --home {shlex.quote(str(home))}` again.",
    )
