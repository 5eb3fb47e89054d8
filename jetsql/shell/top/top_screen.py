"""`.top`: the jobs on the whole screen, polled once a second.

The screen never blocks: a thread polls the jobs, and other threads run the actions of keys, each on a connection of its
own. When the engine is gone, the last state stays on the screen until an engine is available again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import datetime
from threading import Event, Lock, Thread
from typing import Any, Final, Protocol

from prompt_toolkit import Application
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import FormattedTextControl, Layout, Window
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.styles import Style

from jetsql.client.background_connection import BackgroundConnection
from jetsql.client.engine_client import EngineClient
from jetsql.errors import EngineError, JetSQLError, ReportedError
from jetsql.shell.output.screen import ScreenSize
from jetsql.shell.output.watch import error_line, is_session_lost
from jetsql.shell.top.top_jobs import TopJob, parse_job
from jetsql.shell.top.top_state import (
    Action,
    ActionKind,
    TopState,
    handle_key,
    with_connection_error,
    with_detail,
    with_jobs,
    with_message,
)
from jetsql.shell.top.top_view import STYLE, field_lines, page_lines, render

POLL_SECONDS: Final = 1.0


class JobSource(Protocol):
    """The jobs of an engine. Each method raises EngineError without an engine, ReportedError if it refuses."""

    def jobs(self) -> tuple[TopJob, ...]:
        """Return the live jobs, and the newest ended one of each other name."""

    def run(self, text: str) -> str:
        """Run a statement about a job and return its message."""

    def detail(self, job: str, columns: int) -> tuple[str, ...]:
        """Return the description and the history of a job, in lines of `columns` cells."""


class EngineJobSource:
    """The jobs of the shell's engine.

    connect: returns the running engine or raises EngineError. on_lost: called with an engine that no longer answers.
    """

    def __init__(self, connect: Callable[[], EngineClient], on_lost: Callable[[EngineClient], None]) -> None:
        self._connect = connect
        self._on_lost = on_lost
        self._polling = BackgroundConnection()

    def jobs(self) -> tuple[TopJob, ...]:
        engine = self._connect()
        with self._reporting_loss(engine):
            jobs = self._polling.open_for(engine).request("GET", "/v1/metrics")["jobs"]
            self._polling.keep_session_alive()
        return tuple(parse_job(job) for job in jobs)

    def run(self, text: str) -> str:
        with self._open_parallel() as engine:
            return " ".join(str(row.get("message") or "done") for row in engine.run(text).records)

    def detail(self, job: str, columns: int) -> tuple[str, ...]:
        with self._open_parallel() as engine:
            described = tuple(field_lines(engine.run(f"DESCRIBE JOB EXTENDED '{job}'").rows, columns))
            history = engine.run(f"SHOW JOB HISTORY '{job}'").records
            events = tuple(field_lines(map(_format_event, history), columns))
        return (*described, "", *events)

    @contextmanager
    def _open_parallel(self) -> Iterator[EngineClient]:
        """Open a separate connection, because a statement may take long while polling continues."""
        engine = self._connect()
        with self._reporting_loss(engine), closing(engine.open_parallel()) as parallel:
            yield parallel

    @contextmanager
    def _reporting_loss(self, engine: EngineClient) -> Iterator[None]:
        try:
            yield
        except (EngineError, ReportedError) as error:
            if is_session_lost(error):
                self._on_lost(engine)
            raise


def _format_event(row: Mapping[str, Any]) -> tuple[str, str]:
    """Return the time of a history event and its text."""
    time = row["time"]
    when = f"{time:%Y-%m-%d %H:%M:%S}" if isinstance(time, datetime) else str(time)
    return when, f"{row['event']}, {row['to_status']}. {row['message'] or ''}".rstrip()


class TopScreen:
    """The full screen with the jobs."""

    def __init__(
        self,
        jobs: JobSource,
        seconds: float = POLL_SECONDS,
        coloured: bool = True,
        keys: Input | None = None,
        screen: Output | None = None,
    ) -> None:
        """Create the screen.

        jobs: polled on a thread every `seconds`. keys, screen: the terminal by default; tests replace them.
        """
        self._jobs = jobs
        self._seconds = seconds
        self._lock = Lock()
        self._stopped = Event()
        self._poll_now = Event()
        self.state = TopState()
        self._app: Application[None] = Application(
            layout=Layout(Window(FormattedTextControl(self._text, show_cursor=False), always_hide_cursor=True)),
            key_bindings=self._bindings(),
            style=Style.from_dict(dict(STYLE)),
            full_screen=True,
            color_depth=None if coloured else ColorDepth.DEPTH_1_BIT,
            input=keys,
            output=screen,
        )
        self._app.ttimeoutlen = 0.05  # only this pause distinguishes Esc from key sequences that begin with it
        self._app.timeoutlen = 0.05

    def run(self) -> None:
        """Show the screen until q or Ctrl-C. Statements in progress continue in the engine."""
        Thread(target=self._poll_repeatedly, name="top", daemon=True).start()
        try:
            self._app.run()
        finally:
            self._stopped.set()
            self._poll_now.set()

    def _update(self, change: Callable[[TopState], TopState]) -> None:
        """Change the state and redraw. Thread-safe."""
        with self._lock:
            self.state = change(self.state)
        self._app.invalidate()

    def _poll_repeatedly(self) -> None:
        while not self._stopped.is_set():
            self._poll()
            self._poll_now.wait(self._seconds)
            self._poll_now.clear()

    def _poll(self) -> None:
        try:
            jobs = self._jobs.jobs()
        except Exception as error:  # the outermost frame of this thread, which continues
            message = _error_text(error)
            self._update(lambda state: with_connection_error(state, message))
        else:
            now = f"{datetime.now():%H:%M:%S}"
            self._update(lambda state: with_jobs(state, jobs, now))

    def _handle_key(self, key: str) -> None:
        with self._lock:
            self.state, act = handle_key(self.state, key, page_lines(self._size))
        if act is None:
            return
        if act.kind is ActionKind.QUIT:
            self._app.exit()
        else:
            Thread(target=self._run_action, args=(act,), name="top-act", daemon=True).start()

    def _run_action(self, action: Action) -> None:
        try:
            change = self._result_of(action)
        except Exception as error:  # the outermost frame of this thread; the screen shows the error
            message = _error_text(error)
            self._update(lambda state: with_message(state, message, is_error=True))
        else:
            self._update(change)
        self._poll_now.set()

    def _result_of(self, action: Action) -> Callable[[TopState], TopState]:
        """Run the action and return the change of the state. Raises EngineError, ReportedError."""
        if action.kind is ActionKind.DETAIL:
            lines = self._jobs.detail(action.job, self._size.columns)
            return lambda state: with_detail(state, action.description, lines)
        message = self._jobs.run(action.text)
        return lambda state: with_message(state, f"{action.description}: {message}")

    @property
    def _size(self) -> ScreenSize:
        size = self._app.output.get_size()
        return ScreenSize(size.columns, size.rows)

    def _text(self) -> StyleAndTextTuples:
        text: StyleAndTextTuples = []
        for line in render(self.state, self._size):
            text += [*((f"class:{style}" if style else "", part) for style, part in line), ("", "\n")]
        return text[:-1]

    def _bindings(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add(Keys.Any)
        def _(event: KeyPressEvent) -> None:
            self._handle_key(event.key_sequence[0].key)

        for key, name in _KEY_NAMES.items():
            keys.add(key)(lambda event, name=name: self._handle_key(name))
        return keys


def _error_text(error: Exception) -> str:
    if isinstance(error, JetSQLError | ReportedError):
        return error_line(error)
    return f"Unexpected error. {type(error).__name__}: {' '.join(str(error).split())}"


# Keys that need a binding of their own, because Keys.Any does not match them, with their names in the state.
_KEY_NAMES: Final = {
    "c-c": "c-c",
    "escape": "escape",
    "enter": "enter",
    "up": "up",
    "down": "down",
    "pageup": "pageup",
    "pagedown": "pagedown",
    "home": "home",
    "end": "end",
    "backspace": "backspace",
}
