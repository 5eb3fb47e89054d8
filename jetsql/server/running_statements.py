"""Run the statements of the HTTP endpoint's clients on threads, and cancel them from other threads.

A thread runs one statement to its last row and emits lines as `wire` writes them. Emitting blocks while the client
reads slowly. This is the back-pressure: the next row is fetched only when there is room for it.
"""

from __future__ import annotations

import hashlib
import logging
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Final, Protocol

from jetsql.errors import ErrorReport, StatementError
from jetsql.jobs.access.logins import LOGIN_ENDED
from jetsql.jobs.access.user_limits import LIMIT_EXCEEDED, UserLimits
from jetsql.jobs.audit.audit_log import AuditLog, StatementRecord
from jetsql.request import ENGINE_STOPS, Cancellation, Identity, cancellable, current
from jetsql.server import wire
from jetsql.server.client_sessions import ClientSessions, Session
from jetsql.server.statement_rows import StatementRows, count_rows

_LOG: Final = logging.getLogger(__name__)
_SESSION_CLOSED: Final = "The session was closed."
_NOT_BY_CLIENT: Final = tuple(f"JETSQL.{condition}" for condition in (LIMIT_EXCEEDED, LOGIN_ENDED, ENGINE_STOPS))
"""The conditions of statements that were cancelled for another reason than a request of their client."""


@dataclass(frozen=True)
class StatementRequest:
    """A statement as a client sent it."""

    id: str  # unique among the running statements of its session; the client cancels the statement by it
    text: str
    session: str | None = None  # None for a session of its own
    parameters: Mapping[str, Any] | Sequence[Any] | None = None
    trace: bool = False  # errors include a stack trace
    arrow: bool = False  # the rows are an Arrow stream
    live: bool = False  # the client accepts a result without an end
    cancellation: Cancellation = field(default_factory=Cancellation)
    user: str = field(default_factory=lambda: current().caller.user)  # only this user can cancel it
    login: Identity | None = field(default_factory=lambda: current().caller.login)  # the statement ends with it

    @property
    def key(self) -> StatementKey:
        return self.user, self.session, self.id


StatementKey = tuple[str, str | None, str]
"""The user of a statement, its session, and its id there. Only a client of this user that knows the session can cancel
the statement; without a session, the id of the statement is as hard to guess as that of a session."""

Emit = Callable[[bytes | ErrorReport], None]
"""A function that sends a line, or the error that ends the response, to the client.

It blocks while there is no room, and raises ClientDisconnected when the client has disconnected.
"""


class ErrorReporter(Protocol):
    @property
    def limits(self) -> UserLimits:
        """Return the limits of the caller."""

    @property
    def audit(self) -> AuditLog:
        """Return the audit log."""

    def error(self, error: BaseException, text: str) -> ErrorReport: ...

    def without_secrets(self, text: str) -> str: ...


class RunningStatements:
    """The running statements, by session and id."""

    def __init__(self, engine: ErrorReporter, sessions: ClientSessions) -> None:
        self._engine = engine
        self._sessions = sessions
        self._running: dict[StatementKey, StatementRequest] = {}
        self._streaming_selects: set[StatementKey] = set()
        self._lock = Lock()

    def add(self, request: StatementRequest) -> None:
        """Add a statement, so that it can be cancelled.

        Raises EngineError NOT_LEADER, StatementError REQUEST_NOT_READABLE if a running statement of the session has its
        id, and LIMIT_EXCEEDED.
        """
        self._sessions.check_leadership()
        with self._lock:
            if request.key in self._running:
                message = f"A statement with the id {request.id} is already running."
                raise StatementError("REQUEST_NOT_READABLE", message)
            self._engine.limits.check_statements(sum(each.user == request.user for each in self._running.values()))
            self._running[request.key] = request

    def remove(self, request: StatementRequest) -> None:
        with self._lock:
            self._running.pop(request.key, None)
            self._streaming_selects.discard(request.key)

    def run(self, request: StatementRequest, emit: Emit) -> None:
        """Run a statement on this thread, to its end."""
        try:
            record = self._engine.audit.statement(request.text, _short_name(request.session), request.id)
        except StatementError as error:  # the audit log has to record it, and cannot
            self._fail(request, error, emit)
            return
        try:
            limited = self._engine.limits.limited_time(request.cancellation)
            using = self._sessions.using(request.session)
            with record.active(), limited, cancellable(request.cancellation), using as session:
                with closing(self._lines(session, request, record)) as lines:
                    for line in lines:
                        request.cancellation.check()
                        emit(line)
        except ClientDisconnected:
            record.cancel()
            _LOG.info("A client disconnected before its statement had ended")
        except Exception as error:
            # The outermost frame of a statement: the client receives every error, including Spark's Java errors.
            self._fail(request, error, emit, record)
        finally:
            record.end()

    def cancel(self, statement_id: str, session_id: str | None = None) -> None:
        """Cancel a statement of a session, or one that was sent without a session.

        Raises StatementError STATEMENT_NOT_FOUND, with the same message if the statement runs in another session.
        """
        with self._lock:
            request = self._running.get((current().caller.user, session_id, statement_id))
        if request is None:
            raise StatementError("STATEMENT_NOT_FOUND", "No statement with this id is running; it may have ended.")
        request.cancellation.cancel()

    def cancel_streaming_selects(self, session_id: str) -> None:
        """Cancel the streaming selects of a closed session: they have no end of their own, as other statements do."""
        with self._lock:
            selects = [self._running[key] for key in self._streaming_selects]
        for request in selects:
            if request.session == session_id and request.user == current().caller.user:
                request.cancellation.cancel(_SESSION_CLOSED)

    def cancel_session(self, session_id: str) -> None:
        """Cancel all statements of a session of the caller that was closed, but not the one that has closed it."""
        caller = current().caller.user
        self._cancel(lambda request: request.session == session_id and request.user == caller)

    def cancel_ended(self, end_of: Callable[[Identity], str]) -> None:
        """Cancel the statements whose login has ended, but not the one that has caused this.

        end_of: returns why a login is not valid any more, or an empty text
        """
        own = current().cancellation
        with self._lock:
            running = list(self._running.values())
        for request in running:
            reason = "" if request.login is None else end_of(request.login)
            if reason and request.cancellation is not own:
                request.cancellation.cancel(f"{reason} The statement was ended.", LOGIN_ENDED)

    def _cancel(self, is_wanted: Callable[[StatementRequest], bool]) -> None:
        own = current().cancellation
        with self._lock:
            wanted = [request for request in self._running.values() if is_wanted(request)]
        for request in wanted:
            if request.cancellation is not own:
                request.cancellation.cancel(_SESSION_CLOSED)

    def cancel_all(self) -> None:
        """Cancel all statements, because the engine stops."""
        with self._lock:
            running = list(self._running.values())
        for request in running:
            request.cancellation.end_with_engine("Changes to jobs that the statement began will continue.")

    def __len__(self) -> int:
        return len(self._running)

    def _lines(
        self, session: Session, request: StatementRequest, record: StatementRecord
    ) -> Generator[bytes, None, None]:
        rows = StatementRows(record, self._engine.limits.rows_most)
        if request.arrow:
            for part in session.run_arrow(request.text, request.parameters):
                rows.add_rows(count_rows(part))
                yield part
            return
        result = session.run(request.text, request.parameters, request.live)
        if result.live is not None:
            self._add_streaming_select(request)
        yield from wire.lines(result, rows)

    def _add_streaming_select(self, request: StatementRequest) -> None:
        """Mark a statement to end with its session, which may have been closed while Spark planned the statement."""
        with self._lock:
            self._streaming_selects.add(request.key)
        if request.session is not None and request.session not in self._sessions:
            request.cancellation.cancel(_SESSION_CLOSED)

    def _fail(
        self, request: StatementRequest, error: Exception, emit: Emit, record: StatementRecord | None = None
    ) -> None:
        trace = self._engine.without_secrets("".join(traceback.format_exception(error))) if request.trace else ""
        report = replace(self._engine.error(error, request.text), trace=trace)
        if record is not None:  # recorded before the client knows
            if request.cancellation.is_requested and report.condition not in _NOT_BY_CLIENT:
                record.cancel()
            else:
                record.fail(report.condition)
            record.end()
        try:
            emit(report)
        except ClientDisconnected:
            _LOG.info("A client disconnected before it received the error of its statement")


def _short_name(session: str | None) -> str:
    """Return a name of a session for the audit log, by which the session cannot be used."""
    return "" if session is None else hashlib.sha256(session.encode()).hexdigest()[:12]


class ClientDisconnected(Exception):
    """The client has disconnected, so its rows cannot be sent."""
