"""A connection of PEP 249: one session on an engine, which all its cursors share.

Each cursor has an HTTP connection of its own, so one can fetch while another executes. When the engine was started anew
the session is gone. A statement is then repeated in a new session only if the engine has certainly not begun it and
nothing of the old session can be missed: no setting, no temporary view, no current schema but the connection's own.
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
from jetsql.client.dbapi.exceptions import misuse, told
from jetsql.client.engine_address import Address
from jetsql.client.http_client import NothingSent
from jetsql.client.remote_engine import RemoteEngine
from jetsql.errors import EngineError, ErrorReport, JetSQLError, ReportedError

_LOG: Final = logging.getLogger(__name__)
_T = TypeVar("_T")

# Leave nothing behind in their session. All others may: SET, USE, DECLARE, CACHE, CREATE TEMPORARY VIEW ...
_TRACELESS: Final = re.compile(
    r"\s*(SELECT|WITH|VALUES|TABLE|FROM|INSERT|SHOW|DESC|DESCRIBE|EXPLAIN|TRUNCATE|WAIT|SUSPEND|RESUME|RESTART"
    r"|(CREATE|DROP)\s+(OR\s+REPLACE\s+)?(JOB|SNAPSHOT|TABLE|SCHEMA))\b",
    re.IGNORECASE,
)


class Connection:
    """messages: PEP 249's, what is worth knowing, such as that the session is a new one."""

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

    def __init__(self, address: Address) -> None:
        """Raises OperationalError when no engine answers, ProgrammingError when the schema is not there."""
        self.messages: list[tuple[type[Exception], str]] = []
        self._address = address
        self._cursors: WeakSet[Cursor | ArrowCursor] = WeakSet()
        self._lock = RLock()
        self._closed = False
        self._traceless = True
        with told():
            self._session = self._open()

    def cursor(self) -> Cursor:
        self._check_open()
        cursor = Cursor(self)
        self._cursors.add(cursor)
        return cursor

    def arrow_cursor(self) -> ArrowCursor:
        """A cursor whose rows come as Arrow: `fetch_arrow_table`, `fetch_record_batch`, `fetch_df`. Needs pyarrow."""
        self._check_open()
        cursor = ArrowCursor(self)
        self._cursors.add(cursor)
        return cursor

    def commit(self) -> None:
        """Nothing to do: every statement has its effect when it returns."""
        self._check_open()

    def rollback(self) -> None:
        """Raises NotSupportedError: what a statement did stays done."""
        self._check_open()
        words = "There are no transactions: every statement has its effect when it returns."
        raise exceptions.NotSupportedError(ErrorReport("JETSQL.NOT_SUPPORTED", "0A000", words))

    def close(self) -> None:
        """Close the session; statements that run end, and the engine and its jobs go on. Again is fine."""
        if self._closed:
            return
        self._closed = True
        for cursor in list(self._cursors):
            cursor.close()
        with suppress(JetSQLError, ReportedError):  # whatever keeps the engine from closing it, it forgets it in time
            self._session.close()

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def schema(self) -> str:
        """The session's current schema."""
        self._check_open()
        with told():
            return self.in_session(lambda engine: engine.schema(), "SELECT")

    def in_session(self, work: Callable[[RemoteEngine], _T], text: str, engine: RemoteEngine | None = None) -> _T:
        """Do something in the session, and once more in a new one when that is safe.

        engine: what to do it with, as long as its session is the connection's; else the session itself.
        Raises JetSQLError and ReportedError.
        """
        self._check_open()
        used = engine or self._session
        try:
            found = work(used)
        except (EngineError, ReportedError) as error:
            if not _was_not_begun(error):
                raise
            found = work(self._renewed(used, error))
        self._traceless = self._traceless and _TRACELESS.match(text) is not None
        return found

    def beside(self) -> RemoteEngine:
        """Something to run statements with in the session, beside what runs in it already."""
        self._check_open()
        return self._session.beside()

    def _check_open(self) -> None:
        if self._closed:
            raise misuse("The connection is closed.")

    def _open(self) -> RemoteEngine:
        session = RemoteEngine(*self._address.door())
        try:
            session.schema()  # so that a wrong address, or a wrong token, is told by `connect`
            if self._address.schema is not None:
                name = ".".join(_quoted(part) for part in _parts(self._address.schema))
                list(session.run(f"USE {name}").rows)
        except BaseException:
            session.leave()
            raise
        return session

    def _renewed(self, lost: RemoteEngine, why: EngineError | ReportedError) -> RemoteEngine:
        """A new session in place of a lost one; what raised stands when there can be none."""
        with self._lock:
            if self._session.session == lost.session:
                if not self._traceless:
                    raise _session_lost(why) from why
                self._session.leave()
                self._session = self._open()
                words = "The engine was started anew, or the session idled for too long: this is a new session."
                self.messages.append((exceptions.Warning, words))
                _LOG.warning("%s", words)
            return self._session.beside()

    def __del__(self) -> None:
        # One that nobody closed: the engine forgets its session in time.
        if hasattr(self, "_session"):
            self._session.leave()

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _was_not_begun(error: EngineError | ReportedError) -> bool:
    """Whether the session is gone, and the statement has certainly not begun."""
    if isinstance(error, ReportedError):
        return error.report.condition == "JETSQL.SESSION_NOT_FOUND"
    return isinstance(error, NothingSent)


def _session_lost(why: EngineError | ReportedError) -> EngineError:
    words = (
        "The session is gone, and with it its settings, temporary views and current schema; the statement was not "
        f"begun. {why.report.message if isinstance(why, ReportedError) else why.message}"
    )
    return EngineError("SESSION_NOT_FOUND", words, hint="Connect again.")


def _parts(name: str) -> list[str]:
    """`catalog.schema` in its parts; a part in backquotes may hold dots."""
    parts = re.findall(r"`(?:[^`]|``)*`|[^.`]+", name)
    return [part[1:-1].replace("``", "`") if part[0] == "`" else part for part in parts]


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
