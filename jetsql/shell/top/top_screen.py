"""`.top`: the jobs on the whole screen, asked for once a second while it is open.

The screen waits for nothing: jobs are asked for on one thread, what keys want done is done on others, each with a
connection of its own. When the engine is gone, what was seen last stays, and it goes on when an engine is back.
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

from jetsql.client.remote_engine import RemoteEngine
from jetsql.errors import EngineError, JetSQLError, ReportedError
from jetsql.shell.output.screen import Size
from jetsql.shell.output.watch import error_words, loses_session
from jetsql.shell.session.engine_connection import BackgroundConnection
from jetsql.shell.top.top_jobs import TopJob, top_job
from jetsql.shell.top.top_state import Act, Doing, TopState, answered, detailed, lost, press, told
from jetsql.shell.top.top_view import STYLE, draw, facts, page_lines

EVERY_SECONDS: Final = 1.0


class Jobs(Protocol):
    """What `.top` asks of an engine; each raises EngineError when there is none, ReportedError for what it refuses."""

    def jobs(self) -> tuple[TopJob, ...]:
        """Those that have not ended, and of each other name the newest."""

    def run(self, text: str) -> str:
        """Run a statement about a job; the message that it answers."""

    def detail(self, job: str, columns: int) -> tuple[str, ...]:
        """Everything known of a job and all that happened to it, in lines of so many cells."""


class JobsOf:
    """connect: the engine when one runs; raises EngineError. lost: told the engine that does not answer any more."""

    def __init__(self, connect: Callable[[], RemoteEngine], lost: Callable[[RemoteEngine], None]) -> None:
        self._connect = connect
        self._lost = lost
        self._asking = BackgroundConnection()

    def jobs(self) -> tuple[TopJob, ...]:
        engine = self._connect()
        with self._telling_loss(engine):
            jobs = self._asking.of(engine).request("GET", "/v1/metrics")["jobs"]
            self._asking.keep_session()
        return tuple(top_job(job) for job in jobs)

    def run(self, text: str) -> str:
        with self._beside() as engine:
            return " ".join(str(row.get("message") or "done") for row in engine.run(text).records)

    def detail(self, job: str, columns: int) -> tuple[str, ...]:
        with self._beside() as engine:
            described = tuple(facts(engine.run(f"DESCRIBE JOB EXTENDED '{job}'").rows, columns))
            history = engine.run(f"SHOW JOB HISTORY '{job}'").records
            events = tuple(facts(map(_event, history), columns))
        return (*described, "", *events)

    @contextmanager
    def _beside(self) -> Iterator[RemoteEngine]:
        """A connection of its own: what a key wants done may take long, and the screen goes on."""
        engine = self._connect()
        with self._telling_loss(engine), closing(engine.open_parallel()) as beside:
            yield beside

    @contextmanager
    def _telling_loss(self, engine: RemoteEngine) -> Iterator[None]:
        try:
            yield
        except (EngineError, ReportedError) as error:
            if loses_session(error):
                self._lost(engine)
            raise


def _event(row: Mapping[str, Any]) -> tuple[str, str]:
    """What happened to a job: when, and what."""
    time = row["time"]
    when = f"{time:%Y-%m-%d %H:%M:%S}" if isinstance(time, datetime) else str(time)
    return when, f"{row['event']}, {row['to_status']}. {row['message'] or ''}".rstrip()


class Top:
    """The screen. jobs: asked on a thread, every so many seconds. keys, screen: of a test; else the terminal's."""

    def __init__(
        self,
        jobs: Jobs,
        seconds: float = EVERY_SECONDS,
        coloured: bool = True,
        keys: Input | None = None,
        screen: Output | None = None,
    ) -> None:
        self._jobs = jobs
        self._seconds = seconds
        self._lock = Lock()
        self._over = Event()
        self._ask = Event()
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
        self._app.ttimeoutlen = 0.05  # Esc alone is told from the keys that begin with it by how long nothing follows
        self._app.timeoutlen = 0.05

    def run(self) -> None:
        """Until q or Ctrl-C. Statements that are under way then go on in the engine."""
        Thread(target=self._watch, name="top", daemon=True).start()
        try:
            self._app.run()
        finally:
            self._over.set()
            self._ask.set()

    def _change(self, change: Callable[[TopState], TopState]) -> None:
        """On any thread."""
        with self._lock:
            self.state = change(self.state)
        self._app.invalidate()

    def _watch(self) -> None:
        while not self._over.is_set():
            self._look()
            self._ask.wait(self._seconds)
            self._ask.clear()

    def _look(self) -> None:
        try:
            jobs = self._jobs.jobs()
        except Exception as error:  # the outermost frame of this thread, which goes on
            words = _words(error)
            self._change(lambda state: lost(state, words))
        else:
            now = f"{datetime.now():%H:%M:%S}"
            self._change(lambda state: told(state, jobs, now))

    def _press(self, key: str) -> None:
        with self._lock:
            self.state, act = press(self.state, key, page_lines(self._size))
        if act is None:
            return
        if act.doing is Doing.QUIT:
            self._app.exit()
        else:
            Thread(target=self._do, args=(act,), name="top-act", daemon=True).start()

    def _do(self, act: Act) -> None:
        try:
            change = self._done(act)
        except Exception as error:  # the outermost frame of this thread: who pressed the key is told
            words = _words(error)
            self._change(lambda state: answered(state, words, bad=True))
        else:
            self._change(change)
        self._ask.set()

    def _done(self, act: Act) -> Callable[[TopState], TopState]:
        """Raises EngineError, ReportedError."""
        if act.doing is Doing.DETAIL:
            found = self._jobs.detail(act.job, self._size.columns)
            return lambda state: detailed(state, act.words, found)
        message = self._jobs.run(act.text)
        return lambda state: answered(state, f"{act.words}: {message}")

    @property
    def _size(self) -> Size:
        size = self._app.output.get_size()
        return Size(size.columns, size.rows)

    def _text(self) -> StyleAndTextTuples:
        text: StyleAndTextTuples = []
        for line in draw(self.state, self._size):
            text += [*((f"class:{style}" if style else "", part) for style, part in line), ("", "\n")]
        return text[:-1]

    def _bindings(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add(Keys.Any)
        def _(event: KeyPressEvent) -> None:
            self._press(event.key_sequence[0].key)

        for key, name in _NAMES.items():
            keys.add(key)(lambda event, name=name: self._press(name))
        return keys


def _words(error: Exception) -> str:
    if isinstance(error, JetSQLError | ReportedError):
        return error_words(error)
    return f"This failed. {type(error).__name__}: {' '.join(str(error).split())}"


# Keys that prompt_toolkit would not hand to the binding of any key, by how the state knows them.
_NAMES: Final = {
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
