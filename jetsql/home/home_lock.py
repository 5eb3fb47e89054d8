"""The lease on a home folder: one engine owns it, a second one is refused and told who the first is.

The lock is the operating system's, so a process that dies lets go of it, however it dies. Who holds it stands in a file
beside it. What takes the lock is imported when it is taken: commands that find an engine don't need it.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Final

from jetsql.errors import EngineError
from jetsql.home.private_files import MODE, private_folder, write_private

# `owner` has the lock for some microseconds, which is no engine that runs.
_ACQUIRE_SECONDS: Final = 0.2


class HomeLock:
    """Held from construction to `release`. service: whether the engine is a process that clients can come to.

    Raises EngineError HOME_IN_USE, HOME_NOT_USABLE.
    """

    def __init__(self, home: Path, service: bool = False) -> None:
        from filelock import FileLock, Timeout

        self._owner = home / "engine.owner"
        self._lock = FileLock(home / "engine.lock", mode=MODE)
        try:
            self._lock.acquire(timeout=_ACQUIRE_SECONDS, poll_interval=_ACQUIRE_SECONDS / 10)
            owner = {"pid": os.getpid(), "since": time.time(), "service": service}
            write_private(self._owner, json.dumps(owner))
        except Timeout:
            raise self._in_use(home) from None
        except OSError as error:
            self._lock.release()
            raise not_usable(home, error) from error

    def release(self) -> None:
        self._owner.unlink(missing_ok=True)
        self._lock.release()

    def _in_use(self, home: Path) -> EngineError:
        return EngineError(
            "HOME_IN_USE",
            f"An engine already runs on {home}: {_owner_words(self._owner)} owns it.",
            hint="Stop that one first, or use another folder (--home).",
        )


def owner(home: Path) -> str | None:
    """Who holds the lease on a home, in words, without keeping it from anybody; None when nobody does."""
    lock, note = home / "engine.lock", home / "engine.owner"
    if not lock.exists():
        return None
    from filelock import FileLock, Timeout

    try:
        with FileLock(lock, mode=MODE, timeout=0):
            return None
    except Timeout:
        return _owner_words(note)
    except PermissionError:  # somebody else's home: the note is all that can be seen
        return _owner_words(note) if note.exists() else None


def _owner_words(note: Path) -> str:
    try:
        return f"the process {json.loads(note.read_text())['pid']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def make_home(home: Path) -> Path:
    """Return the home folder, absolute, made when it was not there. Raises EngineError HOME_NOT_USABLE."""
    home = home.expanduser().absolute()
    try:
        private_folder(home)
    except OSError as error:
        raise not_usable(home, error) from error
    return home


def check_location(home: Path) -> None:
    """Remember where a home with tables is. Raises EngineError HOME_NOT_USABLE when it was copied or moved.

    The catalogue keeps tables with their whole paths: an engine on a copy would write into the original.
    """
    note = home / "engine.place"
    if not note.exists():
        try:
            write_private(note, f"{home.resolve()}\n")
        except OSError as error:
            raise not_usable(home, error) from error
        return
    moved = moved_error(home)
    if moved is not None:
        raise moved


def moved_error(home: Path) -> EngineError | None:
    """What is wrong with the place of a home that has one."""
    note = home / "engine.place"
    before = note.read_text().strip() if note.exists() else str(home.resolve())
    if before == str(home.resolve()):
        return None
    return EngineError(
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
