"""Sessions of the HTTP endpoint's clients: each has a session of Spark's, and goes when nobody used it for a while.

Clients come and go and many never say goodbye; jobs don't notice. A session is dropped by forgetting it: Spark's side
of it is garbage when nothing refers to it any more.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, Final, Protocol

from jetsql.errors import EngineError, StatementError
from jetsql.server.statement_result import StatementResult

# A session is dropped at most so much late; the least that is slept between two looks at them.
_LATE_SECONDS: Final = 1.0


class Session(Protocol):
    """What statements of a client run in: `EmbeddedEngine.session()` gives one."""

    def run(self, text: str, parameters: Any = None, live: bool = False) -> StatementResult: ...
    def run_arrow(self, text: str, parameters: Any = None) -> Iterator[bytes]: ...
    def schema(self) -> str: ...


class SessionFactory(Protocol):
    def session(self) -> Session: ...


class ClientSession:
    """A client's session. id: what the client names it by; 128 random bits, since whoever knows it can use it."""

    def __init__(self, session: Session) -> None:
        self.id = secrets.token_urlsafe(16)
        self.session = session
        self.active_statements = 0
        self.last_used = monotonic()


class ClientSessions:
    """All of them. idle_seconds: how long an unused one stays. most: so many at once, more are refused."""

    def __init__(self, engine: SessionFactory, idle_seconds: float, most: int) -> None:
        self._engine = engine
        self._idle_seconds = idle_seconds
        self._most = most
        self._sessions: dict[str, ClientSession] = {}
        self._lock = Lock()
        self._closed = Event()
        self._dropping = Thread(target=self._drop_when_due, name="idle-sessions", daemon=True)
        self._dropping.start()

    def open(self) -> ClientSession:
        """Raise EngineError ENGINE_NOT_REACHABLE when there are too many."""
        if len(self._sessions) >= self._most:
            raise EngineError(
                "ENGINE_NOT_REACHABLE",
                f"The engine has {self._most} sessions, and all were used not long ago.",
                hint="Close some, or raise sessions_most.",
            )
        made = ClientSession(self._engine.session())
        with self._lock:
            self._sessions[made.id] = made
        return made

    def close(self, session_id: str) -> None:
        """Again is fine. What runs in it goes on to its end, see also `RunningStatements.cancel_streaming_selects`."""
        with self._lock:
            self._sessions.pop(session_id, None)

    @contextmanager
    def using(self, session_id: str | None) -> Iterator[Session]:
        """Return a client's session, kept while this lasts; one for this time alone when no id is given.

        Raises StatementError SESSION_NOT_FOUND.
        """
        if session_id is None:
            yield self._engine.session()
            return
        found = self._enter(session_id)
        try:
            yield found.session
        finally:
            with self._lock:
                found.active_statements -= 1
                found.last_used = monotonic()

    def get(self, session_id: str) -> ClientSession:
        """Who asks for it uses it: a client that is left open can keep its session so.

        Raises StatementError SESSION_NOT_FOUND.
        """
        with self._lock:
            found = self._get(session_id)
            found.last_used = monotonic()
            return found

    def stop(self) -> None:
        """Drop none any more."""
        self._closed.set()
        self._dropping.join()

    def _drop_when_due(self) -> None:
        while not self._closed.wait(max(self._drop_idle(), _LATE_SECONDS)):
            continue

    def _drop_idle(self) -> float:
        """Forget those that nobody used for a while. Returns the seconds after which another may be due."""
        now = monotonic()
        with self._lock:
            left = {each.id: each.last_used + self._idle_seconds - now for each in self._unused()}
            for session_id in [session_id for session_id, seconds in left.items() if seconds <= 0]:
                del self._sessions[session_id]
        return min((seconds for seconds in left.values() if seconds > 0), default=self._idle_seconds)

    def _unused(self) -> Iterator[ClientSession]:
        return (session for session in self._sessions.values() if session.active_statements == 0)

    def __len__(self) -> int:
        return len(self._sessions)

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._sessions

    def _enter(self, session_id: str) -> ClientSession:
        with self._lock:
            found = self._get(session_id)
            found.active_statements += 1
            return found

    def _get(self, session_id: str) -> ClientSession:
        found = self._sessions.get(session_id)
        if found is None:
            raise StatementError(
                "SESSION_NOT_FOUND",
                "There is no such session; it was closed, or the engine has started anew since.",
                hint="Connect again. Settings and temporary views of the session are gone, jobs are not.",
            )
        return found
