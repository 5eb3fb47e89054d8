"""The status bar: the state of the engine and the number of jobs, polled while the prompt is idle."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from time import monotonic
from typing import Any, Final

from prompt_toolkit.formatted_text import StyleAndTextTuples

from jetsql.client.background_connection import (
    BackgroundConnection,
    ConnectionPhase,
    ConnectionState,
    EngineConnection,
)
from jetsql.client.background_threads import FailureHandler, run_until_stopped
from jetsql.errors import EngineError, ReportedError
from jetsql.jobs.model.job_counts import JobCounts, JobGroup, count_jobs, describe_counts, newest_of_names

POLL_SECONDS: Final = 2.0
IDLE_SECONDS: Final = 120.0
"""The time without a key after which the engine is polled only every `IDLE_POLL_SECONDS`, to keep the session."""
IDLE_POLL_SECONDS: Final = 60.0


def count_listed_jobs(jobs: Iterable[Mapping[str, Any]]) -> JobCounts:
    """Count the jobs of `GET /v1/jobs?all=true`, which lists the newest first."""
    newest = newest_of_names(jobs, lambda job: str(job["name"]))
    return count_jobs((job["status"], bool(job["last_error"])) for job in newest)


class JobPoller:
    """Poll the jobs on a thread while the prompt is idle.

    on_change: called on that thread with new counts. on_failure: called there with unexpected errors.
    """

    def __init__(self, connection: EngineConnection, on_change: Callable[[], None], on_failure: FailureHandler) -> None:
        self._connection = connection
        self._on_change = on_change
        self._on_failure = on_failure
        self._prompt_shown = threading.Event()
        self._stopped = threading.Event()
        self._last_key = monotonic()
        self.jobs: JobCounts | None = None
        self._background = BackgroundConnection()

    def start(self) -> None:
        threading.Thread(target=self._run, name="jobs", daemon=True).start()

    def set_prompting(self, is_shown: bool) -> None:
        """Start or stop polling: there is no status bar while a statement runs."""
        self.note_key()
        if is_shown:
            self._prompt_shown.set()
        else:
            self._prompt_shown.clear()

    def note_key(self) -> None:
        """Note that the user has pressed a key."""
        self._last_key = monotonic()

    def close(self) -> None:
        self._stopped.set()
        self._prompt_shown.set()

    def _run(self) -> None:
        run_until_stopped(self._poll_and_wait, self._stopped, self._on_failure)

    def _poll_and_wait(self) -> None:
        self._prompt_shown.wait()
        self._poll()
        started = monotonic()
        while not self._stopped.wait(POLL_SECONDS) and self._is_idle(started):
            continue

    def _is_idle(self, started: float) -> bool:
        now = monotonic()
        return now - self._last_key > IDLE_SECONDS and now - started < IDLE_POLL_SECONDS

    def _poll(self) -> None:
        engine = self._connection.current
        if engine is None:
            self._publish(None)
            return
        try:
            self._publish(
                count_listed_jobs(self._background.open_for(engine).request("GET", "/v1/jobs?all=true")["jobs"])
            )
            self._background.keep_session_alive()
        except EngineError as error:
            if error.condition == "JETSQL.ENGINE_NOT_REACHABLE":  # a busy engine is not lost
                self._connection.mark_lost(engine)
        except ReportedError:
            self._publish(None)

    def _publish(self, jobs: JobCounts | None) -> None:
        if jobs != self.jobs:
            self.jobs = jobs
            self._on_change()


def render_bar(state: ConnectionState, jobs: JobCounts | None, hint: str) -> StyleAndTextTuples:
    """Return the text of the bar. hint: a text for its end, may be empty."""
    text: StyleAndTextTuples = [("", " "), *_render_engine(state)]
    if jobs is not None and state.phase is ConnectionPhase.UP:
        for part in _render_jobs(jobs):
            text += [("class:bar.part", " · "), part]
    if hint:
        text += [("class:bar.part", " · "), ("class:bar.hint", hint)]
    return text


def _render_engine(state: ConnectionState) -> StyleAndTextTuples:
    match state.phase:
        case ConnectionPhase.UP:
            return [("class:bar.good", "engine up")]
        case ConnectionPhase.STARTING:
            return [("class:bar.moving", f"engine: {state.activity or 'starting'} ...")]
    return [("class:bar.bad", state.activity), ("class:bar.hint", " (the next statement connects)")]


_STYLES: Final[Mapping[JobGroup, str]] = {
    JobGroup.RUNNING: "class:bar.good",
    JobGroup.IN_TRANSITION: "class:bar.moving",
    JobGroup.SUSPENDED: "class:bar.moving",
    JobGroup.SUSPENDED_BY_ERROR: "class:bar.bad",
    JobGroup.FAILED: "class:bar.bad",
}
"""The styles of the groups that the bar shows."""


def _render_jobs(jobs: JobCounts) -> list[tuple[str, str]]:
    styles = _STYLES if jobs.running else {**_STYLES, JobGroup.RUNNING: ""}
    return [(styles[group], text) for group, text in describe_counts(jobs) if group in styles]
