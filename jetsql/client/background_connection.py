"""The shell's connection to its engine, which is found or started on a background thread.

The connection publishes its `ConnectionState`; code that needs the engine waits in `wait_for_engine`. A lost connection
is restored by the next statement and not immediately, because that would restart an engine which the user has stopped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from time import monotonic
from typing import Final

from jetsql.client.engine_client import EngineClient
from jetsql.errors import EngineError, JetSQLError, ReportedError
from jetsql.output.terminal_text import printable

_KEEP_ALIVE_SECONDS: Final = 20.0

_GONE: Final = "engine gone"
_NO_ENGINE: Final = "no engine"


class ConnectionPhase(Enum):
    """The phases of the connection."""

    STARTING = "starting"
    UP = "up"
    GONE = "gone"


@dataclass(frozen=True)
class ConnectionState:
    """The state of the connection."""

    phase: ConnectionPhase
    activity: str = ""  # the current activity, or why there is no engine
    schema: str = "default"  # the session's current one, as far as known


class BackgroundStartupReporter:
    """Receive the progress of `jetsql.cli.connect` for the shell.

    start_engine: start an engine if none runs.
    """

    def __init__(self, connection: EngineConnection, start_engine: bool = True) -> None:
        self._connection = connection
        self.start_engine = start_engine

    def print_message(self, text: str) -> None:
        self._connection.notify(text)

    @contextmanager
    def report_if_slow(self, what: str, after: float) -> Iterator[None]:
        self._connection.set_activity(what)
        yield


Connect = Callable[[BackgroundStartupReporter], EngineClient]
"""Find or start the engine and open a session on it. Raises EngineError."""


class BackgroundConnection:
    """A connection to the shell's session for one background thread."""

    def __init__(self) -> None:
        self.source: EngineClient | None = None
        self._engine: EngineClient | None = None
        self._last_kept_alive = 0.0

    def open_for(self, source: EngineClient) -> EngineClient:
        """Return the connection parallel to this engine's; reopen it for another engine.

        Raises what `EngineClient.request` raises.
        """
        if self._engine is None or self.source is not source:
            self.close()
            self._engine, self.source, self._last_kept_alive = source.open_parallel(), source, monotonic()
        return self._engine

    def keep_session_alive(self) -> None:
        """Use the session regularly, because the engine closes idle ones. Raises what `open_for` raises."""
        if self._engine is not None and monotonic() - self._last_kept_alive > _KEEP_ALIVE_SECONDS:
            self._engine.current_schema()
            self._last_kept_alive = monotonic()

    def close(self) -> None:
        """Close the connection, but not the session."""
        if self._engine is not None:
            self._engine.abandon_response()
        self.source = self._engine = None


class EngineConnection:
    """The connection of the shell to its engine."""

    def __init__(self, connect: Connect, on_change: Callable[[], None], notify: Callable[[str], None]) -> None:
        """Create the connection, without connecting (see `start`).

        connect: opens a session. on_change: called after each change of the state, on any thread. notify: prints a line
        for the user, on any thread.
        """
        self._connect_engine = connect
        self._on_change = on_change
        self.notify = notify
        self._lock = threading.Lock()
        self._engine: EngineClient | None = None
        self._failure: JetSQLError | None = None
        self._settled = threading.Event()
        self._settled.set()
        self._had_one = False
        self._waiting = False
        self.state = ConnectionState(ConnectionPhase.GONE, _NO_ENGINE)

    def start(self, start_engine: bool = True) -> None:
        """Connect in the background, unless connected or connecting. start_engine: start an engine if none runs."""
        with self._lock:
            if self._engine is not None or not self._settled.is_set():
                return
            self._settled.clear()
            self._failure = None
        self._set_state(ConnectionState(ConnectionPhase.STARTING, "connecting", self.state.schema))
        threading.Thread(target=self._search, args=(start_engine,), name="connect", daemon=True).start()

    def wait_for_engine(self, start_engine: bool = True) -> EngineClient:
        """Wait for the engine and return it. start_engine: start one if none runs.

        Raises EngineError if it cannot be reached, and KeyboardInterrupt, after which connecting continues.
        """
        with self._marked_waiting():
            self.start(start_engine)
            self._settled.wait()
        if self._engine is None:
            raise self._failure or EngineError("ENGINE_NOT_REACHABLE", "The engine is gone.")
        return self._engine

    @contextmanager
    def _marked_waiting(self) -> Iterator[None]:
        self._waiting = True
        try:
            yield
        finally:
            self._waiting = False

    @property
    def current(self) -> EngineClient | None:
        """Return the engine if it is connected, otherwise None."""
        return self._engine

    def set_activity(self, activity: str) -> None:
        """Publish the current activity while the engine starts."""
        self._set_state(ConnectionState(ConnectionPhase.STARTING, activity, self.state.schema))

    def set_schema(self, schema: str) -> None:
        """Publish the session's current schema."""
        self._set_state(ConnectionState(self.state.phase, self.state.activity, schema))

    def mark_lost(self, engine: EngineClient) -> None:
        """Mark the engine as gone or its session as closed. Thread-safe and idempotent."""
        with self._lock:
            if self._engine is not engine:
                return
            self._engine = None
        self._set_state(ConnectionState(ConnectionPhase.GONE, _GONE, self.state.schema))

    def close(self) -> None:
        """Close the session, if there is one."""
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def _search(self, start_engine: bool) -> None:
        try:
            engine = self._connect_engine(BackgroundStartupReporter(self, start_engine))
            schema = self._restore_schema(engine)
            self._engine = engine
            self._set_state(ConnectionState(ConnectionPhase.UP, "", schema))
        except Exception as error:
            # The outermost frame of this thread; `wait_for_engine` raises the error.
            self._failure = _to_jetsql_error(error)
            self._set_state(
                ConnectionState(ConnectionPhase.GONE, _GONE if self._had_one else _NO_ENGINE, self.state.schema)
            )
            if not self._waiting:
                self.notify(str(self._failure))
        finally:
            self._settled.set()

    def _restore_schema(self, engine: EngineClient) -> str:
        """Select the schema of the previous session, if it exists, and return the current one."""
        previous, schema = self.state.schema, engine.current_schema()
        if not self._had_one or previous == schema:
            self._had_one = True
            return schema
        try:
            for _ in engine.run(f"USE `{previous.replace('`', '``')}`").rows:
                continue
        except ReportedError:
            self.notify(f"Schema {printable(previous)} no longer exists; the current schema is {printable(schema)}.")
        return engine.current_schema()

    def _set_state(self, state: ConnectionState) -> None:
        self.state = state
        self._on_change()


def _to_jetsql_error(error: Exception) -> JetSQLError:
    """Return the error as a JetSQLError, the only kind that callers of `wait_for_engine` handle."""
    if isinstance(error, JetSQLError):
        return error
    message = error.report.message if isinstance(error, ReportedError) else f"{type(error).__name__}: {error}"
    return EngineError("ENGINE_NOT_REACHABLE", f"Cannot reach the engine: {message}")
