"""Finding the engine of a home, and starting one where none runs.

What tells whether one runs is its answer, not its note: a note outlives an engine that was killed, and its process id
may be another program's by now. The lock on the home tells the rest: whether somebody owns it who does not answer yet,
or will not, being an engine inside another program.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from time import monotonic
from typing import Any, Final

from jetsql.client.http_client import HttpClient
from jetsql.errors import SQLSTATES, EngineError, ReportedError
from jetsql.home.discovery import API, EngineNote, read_note
from jetsql.home.home_lock import make_home, not_usable, owner
from jetsql.home.log_reader import LOG
from jetsql.home.private_files import MODE, append_private
from jetsql.settings import Settings
from jetsql.version import VERSION

PROGRAM: tuple[str, ...] = (sys.executable, "-m", "jetsql")
"""What an engine is started with."""

_ASK_AGAIN_SECONDS: Final = 0.05
_START_SECONDS: Final = 300.0
_LAST_LINES: Final = 5


@dataclass(frozen=True)
class RunningEngine:
    """An engine that answered. about: what it said of itself, see `GET /v1/engine`. started: by us, just now.
    door: the connection to it, when the caller of `find` wants to go on with it.
    """

    note: EngineNote
    about: dict[str, Any]
    started: bool = False
    door: HttpClient | None = None


def find(home: Path, *, keep_door: bool = False) -> RunningEngine | None:
    """The engine that answers for a home, if one does that is not about to end.

    keep_door: leave the connection open, in `RunningEngine.door`.
    Raises EngineError ENGINE_NOT_REACHABLE for one that speaks another version of the interface, HOME_NOT_USABLE for a
    home that is somebody else's.
    """
    try:
        note = read_note(home)
    except PermissionError as error:
        raise not_usable(home, error) from error
    if note is None or note.stopping:
        return None
    if note.api != API:
        if owner(home) is None:
            return None
        raise _other_version(home, note)
    with ExitStack() as closing:
        door = HttpClient(note.url, note.token)
        closing.callback(door.close)
        try:
            about = door.ask("GET", "/v1/engine")
        except (EngineError, ReportedError):  # the note outlived its engine, or its port is another program's by now
            return None
        if not isinstance(about, dict) or about.get("home") != str(home):
            return None
        if not keep_door:
            return RunningEngine(note, about)
        closing.pop_all()
        return RunningEngine(note, about, door=door)


def _other_version(home: Path, note: EngineNote) -> EngineError:
    return EngineError(
        "ENGINE_NOT_REACHABLE",
        f"The engine on {home} is JetSQL {note.version} and speaks version {note.api} of its interface, this is JetSQL "
        f"{VERSION} and speaks version {API}.",
        hint=f"Use JetSQL {note.version}, or stop the engine with that one and start it with this one.",
    )


def state(home: Path) -> str | None:
    """What an engine that does not answer is doing: `starting`, `stopping`, or `embedded` in another program. None
    when there is none."""
    if not home.exists() or owner(home) is None:
        return None
    note = read_note(home)
    if not _is_service(home):
        return "embedded"
    return "stopping" if note is not None and note.stopping else "starting"


def find_or_start(settings: Settings, flags: Sequence[str] = (), conf: Sequence[str] = ()) -> RunningEngine:
    """The engine of a home, started in the background when none runs.

    flags: of `jetsql serve`, for the engine that may have to be started. conf: its settings of Spark, as `key=value`.
    Raises EngineError ENGINE_NOT_STARTED, HOME_IN_USE, HOME_NOT_USABLE and whatever the engine could not start for.
    """
    home = make_home(settings.home)
    found = find(home)
    if found is not None:
        return found
    from filelock import FileLock, Timeout  # takes its time to import, and an engine that runs needs no lock

    try:
        # Of two that start one at the same time, the second finds the first's.
        with FileLock(home / "start.lock", mode=MODE, timeout=_START_SECONDS):
            return find(home) or _await_owner(home) or _start(home, flags, conf)
    except Timeout as error:
        words = f"Somebody else has been starting an engine on {home} for {_START_SECONDS:g} s."
        raise EngineError("ENGINE_NOT_STARTED", words, hint=f"See {home / LOG}.") from error
    except OSError as error:
        raise not_usable(home, error) from error


def wait_until_up(home: Path, seconds: float) -> RunningEngine | None:
    """The engine of a home as soon as it answers; None when the time is up."""
    until = monotonic() + seconds
    while (found := find(home)) is None and monotonic() < until:
        time.sleep(_ASK_AGAIN_SECONDS)
    return found


def _await_owner(home: Path) -> RunningEngine | None:
    """Somebody may own the home who starts or stops just now: wait for what becomes of it. None when nobody does."""
    until = monotonic() + _START_SECONDS
    while (who := owner(home)) is not None:
        found = find(home)
        if found is not None:
            return found
        if not _is_service(home):
            raise _embedded(home, who)
        if monotonic() > until:
            words = f"The engine on {home}, {who}, has not answered for {_START_SECONDS:g} s."
            raise EngineError("ENGINE_NOT_STARTED", words, hint=f"See {home / LOG}.")
        time.sleep(_ASK_AGAIN_SECONDS)
    return None


def _embedded(home: Path, who: str) -> EngineError:
    return EngineError(
        "HOME_IN_USE",
        f"An engine inside another program owns {home}: {who}.",
        hint="It can only be used from there. End it, or use another folder (--home).",
    )


def _is_service(home: Path) -> bool:
    try:
        return bool(json.loads((home / "engine.owner").read_text(encoding="utf-8")).get("service"))
    except (OSError, ValueError, AttributeError):
        return True  # between two owners, or just written


def _start(home: Path, flags: Sequence[str], conf: Sequence[str]) -> RunningEngine:
    told, code, words = _run_until_ready(home, flags, conf)
    if not told:
        how = f"ended with exit code {code}" if code else "was stopped while it was starting"
        raise EngineError("ENGINE_NOT_STARTED", f"The engine {how}. {words}".strip(), hint=f"See {home / LOG}.")
    if "error" in told:
        error = _error_of(told["error"])
        found = _await_owner(home) if error.condition == "JETSQL.HOME_IN_USE" else None
        if found is not None:  # of a `jetsql serve` that somebody else has just called
            return found
        raise error
    found = find(home)
    if found is None:
        raise EngineError("ENGINE_NOT_STARTED", "The engine started and is gone.", hint=f"See {home / LOG}.")
    return replace(found, started=True)


def _run_until_ready(home: Path, flags: Sequence[str], conf: Sequence[str]) -> tuple[dict[str, Any], int, str]:
    """What the new engine told when it was ready or knew why it won't be; else its exit code and its last words.

    Spark's settings go through a file without a name: arguments of a process can be read by every user.
    """
    import subprocess  # here, because most commands find an engine that runs
    from tempfile import TemporaryFile

    reading, writing = os.pipe()
    with append_private(home / LOG) as log, os.fdopen(reading, "rb") as answer, TemporaryFile() as handed:
        handed.write(json.dumps(conf).encode())
        handed.seek(0)
        fds = ("--ready-fd", str(writing), "--conf-fd", str(handed.fileno()))
        before = log.tell()
        process = subprocess.Popen(
            [*PROGRAM, "serve", "--home", str(home), *flags, *fds],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(writing, handed.fileno()),
            start_new_session=True,
        )
        os.close(writing)
        told = answer.read()  # ends when it answers, or with the process
    if told:
        process.returncode = 0  # so that nobody is warned of a process that goes on: it is meant to
        return json.loads(told), 0, ""
    return {}, process.wait(), _last_words(home / LOG, before)


def _last_words(log: Path, since: int) -> str:
    lines = log.read_bytes()[since:].decode(errors="replace").splitlines()
    return " ".join(line.strip() for line in lines[-_LAST_LINES:])


def _error_of(told: dict[str, Any]) -> EngineError:
    condition = str(told["condition"]).removeprefix("JETSQL.")
    return EngineError(
        condition if condition in SQLSTATES else "ENGINE_NOT_STARTED", told["message"], hint=told["hint"]
    )


class StopOutcome(Enum):
    """How `stop` went. STILL: the time was up; it goes on stopping."""

    ENDED = "ended"
    NONE = "none ran"
    STILL = "still stopping"


def stop(home: Path, seconds: float) -> StopOutcome:
    """Ask the engine of a home to end gracefully, also one that is just starting, and wait for it.

    Raises EngineError HOME_IN_USE for one inside another program.
    """
    until = monotonic() + seconds
    seen = False
    while home.exists() and (who := owner(home)) is not None:
        if not _is_service(home):
            raise _embedded(home, who)
        seen = True
        if monotonic() > until:
            return StopOutcome.STILL
        found = find(home)
        if found is not None:
            _ask_to_stop(found.note)
        time.sleep(_ASK_AGAIN_SECONDS)
    return StopOutcome.ENDED if seen else StopOutcome.NONE


def _ask_to_stop(note: EngineNote) -> None:
    door = HttpClient(note.url, note.token)
    with suppress(EngineError):  # it has ended meanwhile, or it is asked again
        door.ask("POST", "/v1/engine/stop", {})
    door.close()
