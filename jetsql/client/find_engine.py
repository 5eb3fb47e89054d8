"""Find the engine of a home, and start one if none runs.

An engine runs if it answers a request. Its note does not prove that: the note of a killed engine remains, and its
process id may belong to another program by now. The lock on the home shows whether the home has an owner that does not
answer: an engine that is starting or stopping, or an engine inside another program.
"""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from time import monotonic
from typing import Any, Final

from jetsql.client.http_client import HttpClient
from jetsql.client.server_trust import ServerTrust
from jetsql.errors import SQLSTATES, EngineError, ReportedError
from jetsql.home.discovery import API, EngineNote, read_note
from jetsql.home.home_lock import make_home, not_usable, owner
from jetsql.home.log_reader import LOG
from jetsql.home.private_files import MODE, append_private
from jetsql.installation import engine_missing, has_engine, python_command
from jetsql.settings.engine_settings import Settings
from jetsql.version import VERSION

PROGRAM: tuple[str, ...] = python_command("-m", "jetsql")
"""The command that starts an engine."""

_POLL_SECONDS: Final = 0.05
_START_SECONDS: Final = 300.0
_LOG_TAIL_LINES: Final = 5


@dataclass(frozen=True)
class RunningEngine:
    """An engine that answered."""

    note: EngineNote
    info: dict[str, Any]  # what `GET /v1/engine` returned
    was_started: bool = False  # this call started it
    client: HttpClient | None = None  # the open connection, if the caller requested it


def find_engine(home: Path, *, keep_connection: bool = False) -> RunningEngine | None:
    """Return the engine that answers for a home and is not stopping, otherwise None.

    keep_connection: leave the connection open, in `RunningEngine.client`.
    Raises EngineError ENGINE_NOT_REACHABLE for an engine of another API version, HOME_NOT_USABLE for a home that
    belongs to another user.
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
        client = HttpClient(note.url, note.token, binds_proof=note.binds_proof, trust=ServerTrust(note=note))
        closing.callback(client.close)
        try:
            info = client.request("GET", "/v1/engine")
        except (EngineError, ReportedError):  # the engine was killed, and another program may use its port
            return None
        if not isinstance(info, dict) or not _is_same_folder(info.get("home"), home):
            return None
        if not keep_connection:
            return RunningEngine(note, info)
        closing.pop_all()
        return RunningEngine(note, info, client=client)


def _is_same_folder(path: object, home: Path) -> bool:
    """Return whether an engine's path is that of the home, also through symbolic links."""
    return isinstance(path, str) and Path(path).resolve() == home.resolve()


def _other_version(home: Path, note: EngineNote) -> EngineError:
    return EngineError(
        "ENGINE_NOT_REACHABLE",
        f"The engine on {home} is JetSQL {note.version} with API version {note.api}; this is JetSQL {VERSION} with API "
        f"version {API}.",
        hint=f"Use JetSQL {note.version}, or stop the engine with it and start it with JetSQL {VERSION}.",
    )


def no_engine(home: Path) -> EngineError:
    """Return the error for a home on which no engine runs."""
    hint = f"Start it with `jetsql start --home {shlex.quote(str(home))}`."
    return EngineError("ENGINE_NOT_REACHABLE", f"No engine runs on {home}.", hint=hint)


def silent_engine_state(home: Path) -> str | None:
    """Return the state of an engine that does not answer: `starting`, `stopping`, or `embedded` in another program.

    Returns None if there is none.
    """
    if not home.exists() or owner(home) is None:
        return None
    note = read_note(home)
    if not _is_service(home):
        return "embedded"
    return "stopping" if note is not None and note.stopping else "starting"


def find_or_start_engine(settings: Settings, flags: Sequence[str] = (), conf: Sequence[str] = ()) -> RunningEngine:
    """Return the engine of a home, started in the background if none runs.

    flags: flags of `jetsql serve` for an engine that has to be started.
    conf: Spark settings for it, as `key=value`.
    Raises EngineError ENGINE_NOT_STARTED, ENGINE_NOT_INSTALLED, HOME_IN_USE, HOME_NOT_USABLE, and the error with which
    the start failed.
    """
    if not has_engine():
        return _find_without_engine(settings.home)
    engine = find_engine(settings.home)
    if engine is not None:
        return engine
    home = make_home(settings.home)
    from filelock import FileLock, Timeout  # slow to import, and not needed when an engine runs

    try:
        # The second of two concurrent starts finds the engine of the first.
        with FileLock(home / "start.lock", mode=MODE, timeout=_START_SECONDS):
            return find_engine(home) or _await_owner(home) or _start_engine(home, flags, conf)
    except Timeout as error:
        message = f"Another process has been starting an engine on {home} for {_START_SECONDS:g} s."
        raise EngineError("ENGINE_NOT_STARTED", message, hint=f"See {home / LOG}.") from error
    except OSError as error:
        raise not_usable(home, error) from error


def _find_without_engine(home: Path) -> RunningEngine:
    """Return the engine of a home, where none can be started; its folder is not made. Raises EngineError."""
    engine = find_engine(home) or _await_owner(home)
    if engine is None:
        raise engine_missing(f"start an engine, and none runs on {home}")
    return engine


def wait_for_engine(home: Path, seconds: float) -> RunningEngine | None:
    """Return the engine of a home as soon as it answers, or None after `seconds`."""
    until = monotonic() + seconds
    while (engine := find_engine(home)) is None and monotonic() < until:
        time.sleep(_POLL_SECONDS)
    return engine


def _await_owner(home: Path) -> RunningEngine | None:
    """Wait for an owner of the home that is starting or stopping. Return the engine, or None without an owner."""
    until = monotonic() + _START_SECONDS
    while (process := owner(home)) is not None:
        engine = find_engine(home)
        if engine is not None:
            return engine
        if not _is_service(home):
            raise _home_in_use(home, process)
        if monotonic() > until:
            message = f"The engine on {home}, {process}, has not answered for {_START_SECONDS:g} s."
            raise EngineError("ENGINE_NOT_STARTED", message, hint=f"See {home / LOG}.")
        time.sleep(_POLL_SECONDS)
    return None


def _home_in_use(home: Path, process: str) -> EngineError:
    return EngineError(
        "HOME_IN_USE",
        f"An engine inside another program owns the home {home}: {process}.",
        hint="End that program, or use another folder (--home).",
    )


def _is_service(home: Path) -> bool:
    try:
        return bool(json.loads((home / "engine.owner").read_text(encoding="utf-8")).get("service"))
    except (OSError, ValueError, AttributeError):
        return True  # the file is missing between two owners, or is being written


def _start_engine(home: Path, flags: Sequence[str], conf: Sequence[str]) -> RunningEngine:
    report, code, last_lines = _run_until_ready(home, flags, conf)
    if not report:
        outcome = f"ended with exit code {code}" if code else "was stopped while it was starting"
        raise EngineError(
            "ENGINE_NOT_STARTED", f"The engine {outcome}. {last_lines}".strip(), hint=f"See {home / LOG}."
        )
    if "error" in report:
        error = _to_engine_error(report["error"])
        engine = _await_owner(home) if error.condition == "JETSQL.HOME_IN_USE" else None
        if engine is not None:  # started by another `jetsql serve` at the same time
            return engine
        raise error
    engine = find_engine(home)
    if engine is None:
        raise EngineError("ENGINE_NOT_STARTED", "The engine started, but does not answer.", hint=f"See {home / LOG}.")
    return replace(engine, was_started=True)


def _run_until_ready(home: Path, flags: Sequence[str], conf: Sequence[str]) -> tuple[dict[str, Any], int, str]:
    """Start an engine, wait, and return its report (ready, or its error), its exit code and its last log lines.

    Without a report, the engine has ended.

    Spark's settings are passed in an unnamed file, because every user can read the arguments of a process.
    """
    import subprocess  # not at the top, because most commands find a running engine
    from tempfile import TemporaryFile

    reading, writing = os.pipe()
    with append_private(home / LOG) as log, os.fdopen(reading, "rb") as pipe, TemporaryFile() as conf_file:
        conf_file.write(json.dumps(conf).encode())
        conf_file.seek(0)
        fds = ("--ready-fd", str(writing), "--conf-fd", str(conf_file.fileno()))
        log_start = log.tell()
        process = subprocess.Popen(
            [*PROGRAM, "serve", "--home", str(home), *flags, *fds],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(writing, conf_file.fileno()),
            start_new_session=True,
        )
        os.close(writing)
        report = pipe.read()  # the engine closes the pipe when it is ready, or when it ends
    if report:
        process.returncode = 0  # prevents a ResourceWarning, because the engine outlives this process
        return json.loads(report), 0, ""
    return {}, process.wait(), _log_tail(home / LOG, log_start)


def _log_tail(log: Path, start: int) -> str:
    lines = log.read_bytes()[start:].decode(errors="replace").splitlines()
    return " ".join(line.strip() for line in lines[-_LOG_TAIL_LINES:])


def _to_engine_error(report: dict[str, Any]) -> EngineError:
    condition = str(report["condition"]).removeprefix("JETSQL.")
    return EngineError(
        condition if condition in SQLSTATES else "ENGINE_NOT_STARTED", report["message"], hint=report["hint"]
    )


class StopOutcome(Enum):
    """The outcome of `stop_engine`."""

    STOPPED = "ended"
    NOT_RUNNING = "none ran"
    STILL_STOPPING = "still stopping"  # at the time limit


def stop_engine(home: Path, seconds: float) -> StopOutcome:
    """Stop the engine of a home gracefully, also one that is starting, and wait until it has ended.

    seconds: the time limit.
    Raises EngineError HOME_IN_USE for an engine inside another program.
    """
    until = monotonic() + seconds
    was_running = False
    while home.exists() and (process := _steady_owner(home)) is not None:
        if not _is_service(home):
            raise _home_in_use(home, process)
        was_running = True
        if monotonic() > until:
            return StopOutcome.STILL_STOPPING
        engine = find_engine(home)
        if engine is not None:
            _request_stop(engine.note)
        time.sleep(_POLL_SECONDS)
    return StopOutcome.STOPPED if was_running else StopOutcome.NOT_RUNNING


def _steady_owner(home: Path) -> str | None:
    """Return the owner of a home. An engine that restarts its program has no lock on it for some microseconds."""
    process = owner(home)
    if process is None:
        time.sleep(_POLL_SECONDS)
        process = owner(home)
    return process


def _request_stop(note: EngineNote) -> None:
    client = HttpClient(note.url, note.token, binds_proof=note.binds_proof, trust=ServerTrust(note=note))
    with suppress(EngineError):  # the engine has ended meanwhile, or the caller repeats the request
        client.request("POST", "/v1/engine/stop", {})
    client.close()
