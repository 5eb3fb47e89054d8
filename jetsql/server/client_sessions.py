"""The sessions of the HTTP endpoint's clients. Each has a Spark session and is closed after some time without use.

The time limit is for clients that disconnect without closing their sessions. Jobs do not depend on sessions. A closed
session is only removed from the dictionary: its Spark session is then garbage.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, Final, Protocol

from jetsql.errors import EngineError, StatementError
from jetsql.request import ENGINE, current
from jetsql.server.statement_result import StatementResult

# The smallest interval between two checks for idle sessions.
_CHECK_SECONDS: Final = 1.0


class Session(Protocol):
    """A session of the engine, as `EngineInstance.session()` returns it."""

    def run(self, text: str, parameters: Any = None, live: bool = False) -> StatementResult: ...
    def run_arrow(self, text: str, parameters: Any = None) -> Iterator[bytes]: ...
    def schema(self) -> str: ...


class SessionFactory(Protocol):
    @property
    def leads(self) -> bool:
        """Return whether this engine surely leads; False while its store is out of reach, so that another may lead."""

    def session(self) -> Session: ...


class ClientSession:
    """The session of a client."""

    def __init__(self, session: Session) -> None:
        self.id = secrets.token_urlsafe(16)  # 128 random bits: any client that knows the id can use the session
        self.session = session
        self.user = current().caller.user  # only this user can use it
        self.active_statements = 0
        self.last_used = monotonic()

    @property
    def is_of_caller(self) -> bool:
        """Return whether the caller can use it: its user, or the engine itself."""
        caller = current().caller
        return caller is ENGINE or self.user == caller.user


class ClientSessions:
    """The sessions of all clients.

    idle_seconds: the time after which an unused session is closed.
    most: the limit of open sessions.
    """

    def __init__(self, engine: SessionFactory, idle_seconds: float, most: int) -> None:
        self._engine = engine
        self._idle_seconds = idle_seconds
        self._most = most
        self._sessions: dict[str, ClientSession] = {}
        self._lock = Lock()
        self._closed = Event()
        self._idle_closer = Thread(target=self._close_idle_repeatedly, name="idle-sessions", daemon=True)
        self._idle_closer.start()

    def open(self) -> ClientSession:
        """Open a session. Raises EngineError NOT_LEADER, and ENGINE_NOT_REACHABLE when the limit is reached."""
        self.check_leadership()
        if len(self._sessions) >= self._most:
            raise EngineError(
                "ENGINE_NOT_REACHABLE",
                f"The engine has {self._most} open sessions, which is the limit.",
                hint="Close sessions, or raise sessions_most.",
            )
        opened = ClientSession(self._engine.session())
        with self._lock:
            self._sessions[opened.id] = opened
        return opened

    def check_leadership(self) -> None:
        """Raise EngineError NOT_LEADER while the store is out of reach.

        A statement would wait for the catalogue in the store, also when another engine leads already.
        """
        if not self._engine.leads:
            message = "This engine cannot reach its store, and another engine may lead."
            raise EngineError("NOT_LEADER", message, hint="Try again in a few seconds.")

    def close(self, session_id: str) -> None:
        """Close a session of the caller, if it is open. Its statements run to their end, except streaming selects.

        `RunningStatements.cancel_streaming_selects` cancels those.
        """
        with self._lock:
            session = self._sessions.get(session_id)
            if session is not None and session.is_of_caller:
                del self._sessions[session_id]

    @contextmanager
    def using(self, session_id: str | None) -> Iterator[Session]:
        """Yield a client's session and keep it open meanwhile; without an id, yield a new session for this use.

        Raises StatementError SESSION_NOT_FOUND.
        """
        if session_id is None:
            yield self._engine.session()
            return
        used = self._enter(session_id)
        try:
            yield used.session
        finally:
            with self._lock:
                used.active_statements -= 1
                used.last_used = monotonic()

    def get(self, session_id: str) -> ClientSession:
        """Return a session. This counts as use, so that an idle client can keep its session open.

        Raises StatementError SESSION_NOT_FOUND.
        """
        with self._lock:
            requested = self._get(session_id)
            requested.last_used = monotonic()
            return requested

    def stop(self) -> None:
        """Stop the thread that closes idle sessions."""
        self._closed.set()
        self._idle_closer.join()

    def _close_idle_repeatedly(self) -> None:
        while not self._closed.wait(max(self._close_idle(), _CHECK_SECONDS)):
            continue

    def _close_idle(self) -> float:
        """Close the sessions that were idle for too long, and return the seconds until the next one may be."""
        now = monotonic()
        with self._lock:
            remaining = {each.id: each.last_used + self._idle_seconds - now for each in self._unused()}
            for session_id in [session_id for session_id, seconds in remaining.items() if seconds <= 0]:
                del self._sessions[session_id]
        return min((seconds for seconds in remaining.values() if seconds > 0), default=self._idle_seconds)

    def _unused(self) -> Iterator[ClientSession]:
        return (session for session in self._sessions.values() if session.active_statements == 0)

    def __len__(self) -> int:
        return len(self._sessions)

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._sessions

    def _enter(self, session_id: str) -> ClientSession:
        with self._lock:
            entered = self._get(session_id)
            entered.active_statements += 1
            return entered

    def _get(self, session_id: str) -> ClientSession:
        session = self._sessions.get(session_id)
        if session is None or not session.is_of_caller:
            raise StatementError(
                "SESSION_NOT_FOUND",
                "The session does not exist: it was closed, or the engine has restarted.",
                hint="Connect again. The session's settings and temporary views are lost; jobs are not affected.",
            )
        return session
