"""The shell's way to its engine, which is found or started on a thread of its own: the prompt waits for nothing.

The link knows what became of it (`State`), and who needs the engine waits in `engine`. A link that broke is made anew
by the next statement, not at once: whoever ran `jetsql stop` did not want the engine back.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from time import monotonic
from typing import Final

from jetsql.client.remote_engine import RemoteEngine
from jetsql.errors import EngineError, JetSQLError, ReportedError
from jetsql.output.terminal_text import printable

_KEEP_SECONDS: Final = 20.0

_GONE: Final = "engine gone"
_NONE: Final = "no engine"


class Phase(Enum):
    STARTING = "starting"
    UP = "up"
    GONE = "gone"


@dataclass(frozen=True)
class State:
    """doing: what is under way, or how it is, in words. schema: the session's current one, as far as is known."""

    phase: Phase
    doing: str = ""
    schema: str = "default"


class Talk:
    """What `jetsql.cli.connect` tells of its way to an engine. terminal: a person waits, and is told at once.

    starts: whether an engine is to be started where none runs."""

    is_terminal = True

    def __init__(self, link: EngineConnection, starts: bool = True) -> None:
        self._link = link
        self.starts = starts

    def print_message(self, text: str) -> None:
        self._link.tell(text)

    @contextmanager
    def report_if_slow(self, what: str, after: float) -> Iterator[None]:
        self._link.doing(what)
        yield


Reach = Callable[[Talk], RemoteEngine]
"""A session on the engine, which is found or started. Raises EngineError."""


class BackgroundConnection:
    """A connection of its own to whatever engine the shell has: for one thread, which asks now and then."""

    def __init__(self) -> None:
        self.source: RemoteEngine | None = None
        self._engine: RemoteEngine | None = None
        self._kept = 0.0

    def of(self, source: RemoteEngine) -> RemoteEngine:
        """The connection beside this engine's, made anew when it was beside another's. Raises as `RemoteEngine.ask`."""
        if self._engine is None or self.source is not source:
            self.leave()
            self._engine, self.source, self._kept = source.open_parallel(), source, monotonic()
        return self._engine

    def keep_session(self) -> None:
        """A session that nobody uses is closed after a while: be its user now and then. Raises as `of`."""
        if self._engine is not None and monotonic() - self._kept > _KEEP_SECONDS:
            self._engine.current_schema()
            self._kept = monotonic()

    def leave(self) -> None:
        if self._engine is not None:
            self._engine.abandon_response()
        self.source = self._engine = None


class EngineConnection:
    """changed: called on any thread when the state has changed. tell: takes a line for the user, on any thread."""

    def __init__(self, reach: Reach, changed: Callable[[], None], tell: Callable[[str], None]) -> None:
        self._reach = reach
        self._changed = changed
        self.tell = tell
        self._lock = threading.Lock()
        self._engine: RemoteEngine | None = None
        self._failure: JetSQLError | None = None
        self._settled = threading.Event()
        self._settled.set()
        self._had_one = False
        self._waiting = False
        self.state = State(Phase.GONE, _NONE)

    def begin(self, starts: bool = True) -> None:
        """Look for the engine, unless that is under way or done. starts: one, where none runs."""
        with self._lock:
            if self._engine is not None or not self._settled.is_set():
                return
            self._settled.clear()
            self._failure = None
        self._set(State(Phase.STARTING, "looking for the engine", self.state.schema))
        threading.Thread(target=self._connect, args=(starts,), name="link", daemon=True).start()

    def engine(self, starts: bool = True) -> RemoteEngine:
        """The engine, waited for. starts: one, where none runs.

        Raises EngineError, whatever kept it from being reached, and KeyboardInterrupt; then the search goes on.
        """
        with self._awaited():
            self.begin(starts)
            self._settled.wait()
        if self._engine is None:
            raise self._failure or EngineError("ENGINE_NOT_REACHABLE", "The engine is gone.")
        return self._engine

    @contextmanager
    def _awaited(self) -> Iterator[None]:
        self._waiting = True
        try:
            yield
        finally:
            self._waiting = False

    @property
    def now(self) -> RemoteEngine | None:
        """The engine when it is up."""
        return self._engine

    def doing(self, what: str) -> None:
        self._set(State(Phase.STARTING, what, self.state.schema))

    def in_schema(self, schema: str) -> None:
        self._set(State(self.state.phase, self.state.doing, schema))

    def lost(self, engine: RemoteEngine) -> None:
        """The engine does not answer any more, or has forgotten the session. On any thread; again is fine."""
        with self._lock:
            if self._engine is not engine:
                return
            self._engine = None
        self._set(State(Phase.GONE, _GONE, self.state.schema))

    def close(self) -> None:
        """Close the session, should there be one."""
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def _connect(self, starts: bool) -> None:
        try:
            engine = self._reach(Talk(self, starts))
            schema = self._in_schema(engine)
            self._engine = engine
            self._set(State(Phase.UP, "", schema))
        except Exception as error:
            # The outermost frame of this thread: whoever waits for the engine is told, whatever it was.
            self._failure = _as_ours(error)
            self._set(State(Phase.GONE, _GONE if self._had_one else _NONE, self.state.schema))
            if not self._waiting:
                self.tell(str(self._failure))
        finally:
            self._settled.set()

    def _in_schema(self, engine: RemoteEngine) -> str:
        """The new session's schema, which is that of the session before it where that can be."""
        wanted, schema = self.state.schema, engine.current_schema()
        if not self._had_one or wanted == schema:
            self._had_one = True
            return schema
        try:
            for _ in engine.run(f"USE `{wanted.replace('`', '``')}`").rows:
                continue
        except ReportedError:
            self.tell(f"There is no schema {printable(wanted)} any more; the current one is {printable(schema)}.")
        return engine.current_schema()

    def _set(self, state: State) -> None:
        self.state = state
        self._changed()


def _as_ours(error: Exception) -> JetSQLError:
    """Who waits for the engine knows our errors alone."""
    if isinstance(error, JetSQLError):
        return error
    told = error.report.message if isinstance(error, ReportedError) else f"{type(error).__name__}: {error}"
    return EngineError("ENGINE_NOT_REACHABLE", f"The engine could not be reached: {told}")
