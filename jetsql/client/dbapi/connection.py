"""A connection of PEP 249: a session on an engine, shared by its cursors.

Each cursor has an HTTP connection of its own, so that it can fetch while another cursor executes. The session is lost
when the engine restarts. A statement is then repeated in a new session if two conditions are met: the engine has
certainly not begun it, and the old session had no state (settings, temporary views, another current schema).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from contextlib import suppress
from threading import RLock
from types import TracebackType
from typing import Final, TypeVar
from weakref import WeakSet

from jetsql.client.dbapi import exceptions
from jetsql.client.dbapi.cursor import ArrowCursor, Cursor
from jetsql.client.dbapi.exceptions import interface_error, translate_errors
from jetsql.client.engine_address import EngineAddress
from jetsql.client.engine_client import EngineClient
from jetsql.client.http_client import RequestNotSent
from jetsql.errors import EngineError, ErrorReport, JetSQLError, ReportedError
from jetsql.language.statement_effects import keeps_session

_LOG: Final = logging.getLogger(__name__)
_T = TypeVar("_T")


class Connection:
    """A connection to an engine. `messages` is PEP 249's list of warnings, for example about a new session."""

    Warning = exceptions.Warning
    Error = exceptions.Error
    InterfaceError = exceptions.InterfaceError
    DatabaseError = exceptions.DatabaseError
    DataError = exceptions.DataError
    OperationalError = exceptions.OperationalError
    IntegrityError = exceptions.IntegrityError
    InternalError = exceptions.InternalError
    ProgrammingError = exceptions.ProgrammingError
    NotSupportedError = exceptions.NotSupportedError

    def __init__(self, address: EngineAddress) -> None:
        """Open the session. Raises OperationalError if no engine answers, ProgrammingError for a missing schema."""
        self.messages: list[tuple[type[Exception], str]] = []
        self._address = address
        self._cursors: WeakSet[Cursor | ArrowCursor] = WeakSet()
        self._lock = RLock()
        self._closed = False
        self._is_stateless = True
        with translate_errors():
            self._session = self._open()

    def cursor(self) -> Cursor:
        """Return a new cursor."""
        self._check_open()
        cursor = Cursor(self)
        self._cursors.add(cursor)
        return cursor

    def arrow_cursor(self) -> ArrowCursor:
        """Return a cursor that fetches Arrow: `fetch_arrow_table`, `fetch_record_batch`, `fetch_df`. Needs pyarrow."""
        self._check_open()
        cursor = ArrowCursor(self)
        self._cursors.add(cursor)
        return cursor

    def commit(self) -> None:
        """Do nothing: every statement takes effect when it returns."""
        self._check_open()

    def rollback(self) -> None:
        """Raise NotSupportedError: the effect of a statement cannot be undone."""
        self._check_open()
        message = "JetSQL has no transactions: every statement takes effect when it returns."
        raise exceptions.NotSupportedError(ErrorReport("JETSQL.NOT_SUPPORTED", "0A000", message))

    def cancel(self) -> None:
        """Cancel the running statements of all cursors, from another thread; they raise OperationalError."""
        for cursor in list(self._cursors):
            cursor.cancel()

    def close(self) -> None:
        """Close the session and end its statements, unless it is closed. The engine and its jobs continue to run."""
        if self._closed:
            return
        self._closed = True
        for cursor in list(self._cursors):
            cursor.close()
        with suppress(JetSQLError, ReportedError):  # the engine closes the session when it expires
            self._session.close()

    @property
    def closed(self) -> bool:
        """Return whether the connection is closed."""
        return self._closed

    @property
    def schema(self) -> str:
        """Return the session's current schema."""
        self._check_open()
        with translate_errors():
            return self.run_in_session(lambda engine: engine.current_schema(), "SELECT")

    def run_in_session(self, work: Callable[[EngineClient], _T], text: str, engine: EngineClient | None = None) -> _T:
        """Do the work in the session, and repeat it in a new session if the session is lost and this is safe.

        text: the statement of the work.
        engine: the HTTP connection to use; the default is that of the session.
        Raises JetSQLError and ReportedError.
        """
        self._check_open()
        used = engine or self._session
        try:
            result = work(used)
        except (EngineError, ReportedError) as error:
            if not _session_gone_before_start(error):
                raise
            result = work(self._reconnect(used, error))
        self._is_stateless = self._is_stateless and keeps_session(text)
        return result

    def open_parallel(self) -> EngineClient:
        """Return another HTTP connection to the session, for statements that run in parallel."""
        self._check_open()
        return self._session.open_parallel()

    def _check_open(self) -> None:
        if self._closed:
            raise interface_error("The connection is closed.")

    def _open(self) -> EngineClient:
        session = EngineClient(*self._address.endpoint())
        try:
            session.current_schema()  # makes `connect` raise for a wrong address or token
            if self._address.schema is not None:
                name = ".".join(_quoted(part) for part in _name_parts(self._address.schema))
                list(session.run(f"USE {name}").rows)
        except BaseException:
            session.abandon_response()
            raise
        return session

    def _reconnect(self, lost: EngineClient, error: EngineError | ReportedError) -> EngineClient:
        """Replace a lost session, and return an HTTP connection to the new one. Raises the error if this is unsafe."""
        with self._lock:
            if self._session.session_id == lost.session_id:
                if not self._is_stateless:
                    raise _session_lost(error) from error
                self._session.abandon_response()
                self._session = self._open()
                message = (
                    "The session was lost, and a new session was opened: the engine restarted, or the session expired."
                )
                self.messages.append((exceptions.Warning, message))
                _LOG.warning("%s", message)
            return self._session.open_parallel()

    def __del__(self) -> None:
        # Only the HTTP connection is closed; the engine closes the session when it expires.
        if hasattr(self, "_session"):
            self._session.abandon_response()

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _session_gone_before_start(error: EngineError | ReportedError) -> bool:
    """Return whether the session is gone and the statement has certainly not begun."""
    if isinstance(error, ReportedError):
        return error.report.condition == "JETSQL.SESSION_NOT_FOUND"
    return isinstance(error, RequestNotSent)


def _session_lost(cause: EngineError | ReportedError) -> EngineError:
    reason = cause.report.message if isinstance(cause, ReportedError) else cause.message
    message = (
        "The session was lost, with its settings, temporary views and current schema. The statement was not executed. "
        f"{reason}"
    )
    return EngineError("SESSION_NOT_FOUND", message, hint="Connect again.")


def _name_parts(name: str) -> list[str]:
    """Return the parts of `catalog.schema`; a part in back quotes may contain dots."""
    parts = re.findall(r"`(?:[^`]|``)*`|[^.`]+", name)
    return [part[1:-1].replace("``", "`") if part[0] == "`" else part for part in parts]


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
