"""Statements that clients of the HTTP endpoint have running: on threads, and to be cancelled from others.

A thread runs one statement from its text to its last row and hands on lines as `wire` writes them. Handing on blocks
while the reader is slow, which is all the back-pressure there is: the next row is only fetched when there is room.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Final, Protocol

from jetsql.cancellation import Cancellation, cancellable
from jetsql.errors import ErrorReport, StatementError
from jetsql.server import wire
from jetsql.server.client_sessions import ClientSessions, Session

_LOG: Final = logging.getLogger(__name__)
_SESSION_CLOSED: Final = "The session was closed."


@dataclass(frozen=True)
class StatementRequest:
    """One statement as a client sent it.

    id: the client's name for it within its session, by which it can cancel it. arrow: whether its rows are wanted as
    an Arrow stream. live: whether it takes an answer without an end.
    """

    id: str
    text: str
    session: str | None = None
    parameters: Mapping[str, Any] | Sequence[Any] | None = None
    trace: bool = False
    arrow: bool = False
    live: bool = False
    cancellation: Cancellation = field(default_factory=Cancellation)

    @property
    def key(self) -> StatementKey:
        return self.session, self.id


StatementKey = tuple[str | None, str]
"""The session of a statement and its id there. Only a client that knows the session can name the statement; without a
session, its id is as hard to guess as a session's."""

Emit = Callable[[bytes | ErrorReport], None]
"""Hands on a line, or the error that is the end. Blocks while there is no room; raises when nobody reads any more."""


class ErrorReporter(Protocol):
    def error(self, error: BaseException, text: str) -> ErrorReport: ...

    def without_secrets(self, text: str) -> str: ...


class RunningStatements:
    """Those that run at this moment, by session and id."""

    def __init__(self, engine: ErrorReporter, sessions: ClientSessions) -> None:
        self._engine = engine
        self._sessions = sessions
        self._running: dict[StatementKey, StatementRequest] = {}
        self._streaming_selects: set[StatementKey] = set()
        self._lock = Lock()

    def add(self, request: StatementRequest) -> None:
        """From now on it can be cancelled. Raises StatementError REQUEST_NOT_READABLE when its id is taken."""
        with self._lock:
            if request.key in self._running:
                raise StatementError("REQUEST_NOT_READABLE", f"A statement with the id {request.id} is running.")
            self._running[request.key] = request

    def remove(self, request: StatementRequest) -> None:
        with self._lock:
            self._running.pop(request.key, None)
            self._streaming_selects.discard(request.key)

    def run(self, request: StatementRequest, emit: Emit) -> None:
        """Run a statement on this thread, to its end."""
        try:
            with cancellable(request.cancellation), self._sessions.using(request.session) as session:
                with closing(self._lines(session, request)) as lines:
                    for line in lines:
                        request.cancellation.check()
                        emit(line)
        except ClientDisconnected:
            _LOG.info("A client left before its statement had ended")
        except Exception as error:
            # The outermost frame of a statement: whatever it raised, Spark's Java errors included, is its answer.
            self._fail(request, error, emit)

    def cancel(self, statement_id: str, session_id: str | None = None) -> None:
        """Cancel a statement of a session, or one that was sent without a session.

        Raises StatementError STATEMENT_NOT_FOUND, in the same words when the statement runs in another session.
        """
        with self._lock:
            found = self._running.get((session_id, statement_id))
        if found is None:
            raise StatementError("STATEMENT_NOT_FOUND", "No such statement is running; it may have ended.")
        found.cancellation.cancel()

    def cancel_streaming_selects(self, session_id: str) -> None:
        """Of a session that is closed: what has an end goes on to it, looks have none."""
        with self._lock:
            found = [self._running[key] for key in self._streaming_selects]
        for request in found:
            if request.session == session_id:
                request.cancellation.cancel(_SESSION_CLOSED)

    def cancel_all(self) -> None:
        """For the engine's end."""
        with self._lock:
            running = list(self._running.values())
        for request in running:
            request.cancellation.cancel("The engine is being stopped. What the statement had begun goes on after that.")

    def __len__(self) -> int:
        return len(self._running)

    def _lines(self, session: Session, request: StatementRequest) -> Generator[bytes, None, None]:
        if request.arrow:
            yield from session.run_arrow(request.text, request.parameters)
            return
        result = session.run(request.text, request.parameters, request.live)
        if result.live is not None:
            self._add_streaming_select(request)
        yield from wire.lines(result)

    def _add_streaming_select(self, request: StatementRequest) -> None:
        """From now on it ends with its session, which may have been closed while Spark planned the statement."""
        with self._lock:
            self._streaming_selects.add(request.key)
        if request.session is not None and request.session not in self._sessions:
            request.cancellation.cancel(_SESSION_CLOSED)

    def _fail(self, request: StatementRequest, error: Exception, emit: Emit) -> None:
        trace = self._engine.without_secrets("".join(traceback.format_exception(error))) if request.trace else ""
        try:
            emit(replace(self._engine.error(error, request.text), trace=trace))
        except ClientDisconnected:
            _LOG.info("A client left before it heard how its statement failed")


class ClientDisconnected(Exception):
    """Nobody reads the rows any more."""
