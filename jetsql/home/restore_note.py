"""The note of a home that is being restored from a backup: until it is removed, no engine starts on the home."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Final

from jetsql.errors import EngineError
from jetsql.home.private_files import read_own, write_private

NOTE: Final = "engine.restore"


def write_restore_note(home: Path, backup: Path, storage: Path) -> None:
    """Note that the home, with this folder as its storage, is being restored from a backup. Raises OSError."""
    write_private(home / NOTE, json.dumps({"backup": str(backup), "storage": str(storage)}))


def has_restore_note(home: Path) -> bool:
    """Return whether a restore of the home has begun and has not ended."""
    return (home / NOTE).exists()


def is_restored_to(home: Path, storage: Path) -> bool:
    """Return whether a restore of the home with this folder as its storage has begun and has not ended."""
    return _read_note(home).get("storage") == str(storage)


def remove_restore_note(home: Path) -> None:
    """Make the home usable."""
    (home / NOTE).unlink(missing_ok=True)


def check_restored(home: Path) -> None:
    """Raise EngineError HOME_NOT_USABLE for a home whose restore has not ended."""
    if not has_restore_note(home):
        return
    backup = str(_read_note(home).get("backup", "DIR"))
    raise EngineError(
        "HOME_NOT_USABLE",
        f"The home {home} is not complete: its restore from {backup} has not ended.",
        hint=f"Run `jetsql restore {shlex.quote(backup)} --home {shlex.quote(str(home))}` again.",
    )


def _read_note(home: Path) -> dict[str, object]:
    """Return the facts in the note; none if there is no note that can be read."""
    try:
        return dict(json.loads(read_own(home / NOTE)))
    except (OSError, ValueError, TypeError):
        return {}
