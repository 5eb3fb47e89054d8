"""Finding the engine of a home, and starting one where none runs.

What tells whether one runs is its answer, not its note: a note outlives an engine that was killed, and its process id
may be another program's by now. The lock on the home tells the rest: whether somebody owns it who does not answer yet,
or will not, being an engine inside another program.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Final

from jetsql.client.http import HttpDoor
from jetsql.discovery import EngineNote, read_note
from jetsql.errors import SQLSTATES, EngineError
from jetsql.lease import make_home, owner
from jetsql.settings import Settings

LOG: Final = "engine.log"
_ASK_AGAIN_SECONDS: Final = 0.05
_START_SECONDS: Final = 300.0


@dataclass(frozen=True)
class Found:
    """An engine that answered. about: what it said of itself, see `GET /v1/engine`. started: by us, just now."""

    note: EngineNote
    about: dict[str, Any]
    started: bool = False


def find(home: Path) -> Found | None:
    """The engine that answers for a home, if one does."""
    note = read_note(home)
    if note is None:
        return None
    door = HttpDoor(note.url, note.token)
    try:
        about = door.ask("GET", "/v1/engine")
    except EngineError:
        return None
    finally:
        door.close()
    return Found(note, about) if about.get("home") == str(home) else None


def find_or_start(settings: Settings, flags: Sequence[str] = ()) -> Found:
    """The engine of a home, started in the background when none runs.

    flags: of `jetsql serve`, for the engine that may have to be started.
    Raises EngineError ENGINE_NOT_STARTED, HOME_IN_USE and whatever the engine could not start for.
    """
    home = make_home(settings.home)
    found = find(home)
    if found is not None:
        return found
    from filelock import FileLock  # takes its time to import, and an engine that runs needs no lock

    with FileLock(home / "start.lock"):  # of two that start one at the same time, the second finds the first's
        return find(home) or _await_owner(home) or _start(home, flags)


def wait_until_up(home: Path, seconds: float) -> Found | None:
    """The engine of a home as soon as it answers; None when the time is up."""
    until = monotonic() + seconds
    while (found := find(home)) is None and monotonic() < until:
        time.sleep(_ASK_AGAIN_SECONDS)
    return found


def _await_owner(home: Path) -> Found | None:
    """Somebody may own the home who starts or stops just now: wait for what becomes of it. None when nobody does."""
    until = monotonic() + _START_SECONDS
    while (who := owner(home)) is not None:
        found = find(home)
        if found is not None:
            return found
        if monotonic() > until or not _is_service(home):
            raise EngineError(
                "HOME_IN_USE",
                f"An engine inside another program owns {home}: {who}.",
                hint="It can only be used from there. End it, or use another folder (--home).",
            )
        time.sleep(_ASK_AGAIN_SECONDS)
    return None


def _is_service(home: Path) -> bool:
    try:
        return bool(json.loads((home / "engine.owner").read_text(encoding="utf-8")).get("service"))
    except (OSError, ValueError, AttributeError):
        return True  # between two owners, or just written


def _start(home: Path, flags: Sequence[str]) -> Found:
    reading, writing = os.pipe()
    command = [sys.executable, "-m", "jetsql", "serve", "--home", str(home), *flags, "--ready-fd", str(writing)]
    with (home / LOG).open("ab") as log, os.fdopen(reading, "rb") as answer:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(writing,), start_new_session=True
        )
        os.close(writing)
        told = answer.read()  # ends when it answers, or with the process
    if not told:
        code = process.wait()
        raise EngineError(
            "ENGINE_NOT_STARTED", f"The engine ended with exit code {code}.", hint=f"See {home / LOG} for more."
        )
    _check_started(json.loads(told))
    found = find(home)
    if found is None:
        raise EngineError("ENGINE_NOT_STARTED", "The engine started and is gone.", hint=f"See {home / LOG}.")
    return Found(found.note, found.about, started=True)


def _check_started(told: dict[str, Any]) -> None:
    error = told.get("error")
    if error is None:
        return
    condition = str(error["condition"]).removeprefix("JETSQL.")
    raise EngineError(
        condition if condition in SQLSTATES else "ENGINE_NOT_STARTED", error["message"], hint=error["hint"]
    )


def stop(home: Path, note: EngineNote, seconds: float) -> bool:
    """Ask an engine to end gracefully, and wait for it. Returns whether it ended within the time."""
    door = HttpDoor(note.url, note.token)
    try:
        door.ask("POST", "/v1/engine/stop", {})
    finally:
        door.close()
    until = monotonic() + seconds
    while owner(home) is not None:
        if monotonic() > until:
            return False
        time.sleep(_ASK_AGAIN_SECONDS)
    return True
