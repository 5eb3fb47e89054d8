"""What the status bar knows: the engine's state, and how the jobs are, asked for now and then while nobody waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final

from prompt_toolkit.formatted_text import StyleAndTextTuples

from jetsql.errors import EngineError, ReportedError
from jetsql.jobs.model.job import CANCELLED
from jetsql.shell.session.background_threads import Failed, go_on
from jetsql.shell.session.engine_connection import BackgroundConnection, EngineConnection, Phase, State

EVERY_SECONDS: Final = 2.0
IDLE_SECONDS: Final = 120.0
"""When nobody has pressed a key for so long, the engine is asked once in `IDLE_EVERY_SECONDS`, so that its session
stays."""
IDLE_EVERY_SECONDS: Final = 60.0


@dataclass(frozen=True)
class Jobs:
    """How many there are. troubled: suspended ones that an error suspended. failed: ended with an error, and nobody
    has made a job of that name since."""

    running: int = 0
    suspended: int = 0
    troubled: int = 0
    failed: int = 0
    moving: int = 0


def counted(jobs: Iterable[Mapping[str, Any]]) -> Jobs:
    """jobs: as `GET /v1/jobs?all=true` tells them, newest first."""
    counts = dict.fromkeys(("running", "suspended", "troubled", "failed", "moving"), 0)
    seen: set[str] = set()
    for job in jobs:
        newest = job["name"].lower() not in seen
        seen.add(job["name"].lower())
        kind = _kind(job)
        if kind and (newest or kind != "failed"):
            counts[kind] += 1
    return Jobs(**counts)


def _kind(job: Mapping[str, Any]) -> str:
    status, error = job["status"], job["last_error"]
    if status == "RUNNING":
        return "running"
    if status.startswith("SUSPENDED"):
        return "troubled" if error else "suspended"
    if status == "FAILED":
        return "" if error is None or CANCELLED.message in error else "failed"
    return "" if status == "COMPLETED" else "moving"


class JobWatch:
    """Asks for the jobs on a thread of its own while the prompt is idle. changed: called there with news. failed: told
    there what nobody foresaw."""

    def __init__(self, link: EngineConnection, changed: Callable[[], None], failed: Failed) -> None:
        self._link = link
        self._changed = changed
        self._failed = failed
        self._wanted = threading.Event()
        self._over = threading.Event()
        self._touched = monotonic()
        self.jobs: Jobs | None = None
        self._beside = BackgroundConnection()

    def begin(self) -> None:
        threading.Thread(target=self._keep, name="jobs", daemon=True).start()

    def prompting(self, yes: bool) -> None:
        """Whether the prompt is shown: a statement that runs needs no bar."""
        self.touch()
        if yes:
            self._wanted.set()
        else:
            self._wanted.clear()

    def touch(self) -> None:
        """Somebody is there."""
        self._touched = monotonic()

    def close(self) -> None:
        self._over.set()
        self._wanted.set()

    def _keep(self) -> None:
        go_on(self._watch, self._over, self._failed)

    def _watch(self) -> None:
        self._wanted.wait()
        self._ask()
        began = monotonic()
        while not self._over.wait(EVERY_SECONDS) and self._sleeps(began):
            continue

    def _sleeps(self, began: float) -> bool:
        now = monotonic()
        return now - self._touched > IDLE_SECONDS and now - began < IDLE_EVERY_SECONDS

    def _ask(self) -> None:
        engine = self._link.now
        if engine is None:
            self._tell(None)
            return
        try:
            self._tell(counted(self._beside.of(engine).request("GET", "/v1/jobs?all=true")["jobs"]))
            self._beside.keep_session()
        except EngineError as error:
            if error.condition == "JETSQL.ENGINE_NOT_REACHABLE":  # not one that is only busy
                self._link.lost(engine)
        except ReportedError:
            self._tell(None)

    def _tell(self, jobs: Jobs | None) -> None:
        if jobs != self.jobs:
            self.jobs = jobs
            self._changed()


def bar(state: State, jobs: Jobs | None, hint: str) -> StyleAndTextTuples:
    """The bar's text. hint: of the moment, at its end."""
    shown: StyleAndTextTuples = [("", " "), *_engine(state)]
    if jobs is not None and state.phase is Phase.UP:
        for words in _job_words(jobs):
            shown += [("class:bar.part", " · "), words]
    if hint:
        shown += [("class:bar.part", " · "), ("class:bar.hint", hint)]
    return shown


def _engine(state: State) -> StyleAndTextTuples:
    match state.phase:
        case Phase.UP:
            return [("class:bar.good", "engine up")]
        case Phase.STARTING:
            return [("class:bar.moving", f"engine: {state.doing or 'starting'} ...")]
    return [("class:bar.bad", state.doing), ("class:bar.hint", " (the next statement connects anew)")]


def _job_words(jobs: Jobs) -> list[tuple[str, str]]:
    words = [("class:bar.good" if jobs.running else "", f"{jobs.running} running")]
    if jobs.moving:
        words.append(("class:bar.moving", f"{jobs.moving} on the way"))
    stopped = jobs.suspended + jobs.troubled
    if jobs.troubled:
        words.append(("class:bar.bad", f"{stopped} suspended ({jobs.troubled} by an error)"))
    elif stopped:
        words.append(("class:bar.moving", f"{stopped} suspended"))
    if jobs.failed:
        words.append(("class:bar.bad", f"{jobs.failed} failed"))
    return words
