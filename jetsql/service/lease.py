"""The lease on a home folder: one engine owns it, a second one is refused and told who the first is.

The lock is the operating system's, so a process that dies lets go of it, however it dies. Who holds it stands in a file
beside it.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from filelock import FileLock, Timeout

from jetsql.errors import EngineError


class Lease:
    """Held from construction to `release`. Raises EngineError HOME_IN_USE, HOME_NOT_USABLE."""

    def __init__(self, home: Path) -> None:
        self._owner = home / "engine.owner"
        self._lock = FileLock(home / "engine.lock")
        try:
            self._lock.acquire(timeout=0)
            self._owner.write_text(json.dumps({"pid": os.getpid(), "since": time.time()}))
        except Timeout:
            raise self._in_use(home) from None
        except OSError as error:
            self._lock.release()
            raise not_usable(home, error) from error

    def release(self) -> None:
        self._owner.unlink(missing_ok=True)
        self._lock.release()

    def _in_use(self, home: Path) -> EngineError:
        try:
            pid = json.loads(self._owner.read_text())["pid"]
            who = f"the process {pid}"
        except (OSError, ValueError, KeyError, TypeError):
            who = "another process"
        return EngineError(
            "HOME_IN_USE",
            f"An engine already runs on {home}: {who} owns it.",
            hint="Stop that one first, or use another folder (--home).",
        )


def make_home(home: Path) -> Path:
    """The home folder, absolute, made when it was not there. Raises EngineError HOME_NOT_USABLE."""
    home = home.expanduser().absolute()
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise not_usable(home, error) from error
    return home


def check_place(home: Path) -> None:
    """Remember where a home with tables is. Raises EngineError HOME_NOT_USABLE when it was copied or moved.

    The catalogue keeps tables with their whole paths: an engine on a copy would write into the original.
    """
    note, place = home / "engine.place", str(home.resolve())
    if not note.exists():
        note.write_text(f"{place}\n")
        return
    before = note.read_text().strip()
    if before != place:
        raise EngineError(
            "HOME_NOT_USABLE",
            f"The folder {home} is a copy of {before}, or was moved from there. Its catalogue holds the old paths.",
            hint="Move it back, or start with a new folder (--home) and make tables and jobs anew.",
        )


def not_usable(home: Path, error: OSError) -> EngineError:
    return EngineError(
        "HOME_NOT_USABLE",
        f"The folder {home} can't be used: {error.strerror or error}.",
        hint="Choose one that you may write to (--home).",
    )
