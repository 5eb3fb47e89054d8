"""The connections of dbt's threads: sessions on the engine, through the DB-API."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final

from dbt.adapters.contracts.connection import AdapterResponse, Connection, ConnectionState
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.exceptions import FailedToConnectError
from dbt.adapters.sql import SQLConnectionManager
from dbt_common.exceptions import DbtDatabaseError
from dbt_common.invocation import get_invocation_id

from jetsql.client import dbapi
from jetsql.dbt_adapter.engine_profile import open_connection, parent_settings
from jetsql.dbt_adapter.error_text import describe_error

if TYPE_CHECKING:
    import agate

_LOG: Final = AdapterLogger("JetSQL")
_NOT_REACHABLE: Final = "JETSQL.ENGINE_NOT_REACHABLE"
_ROWS_AT_ONCE: Final = 1000


class JetSQLDatabaseError(DbtDatabaseError):
    """A statement failed. condition: of the error."""

    def __init__(self, message: str, condition: str) -> None:
        super().__init__(message)
        self.condition = condition


class _NoEngine(Exception):
    """No engine has answered; one may answer later."""


class JetSQLConnectionManager(SQLConnectionManager):
    """Opens, cancels and uses the connection of each thread. Every statement takes effect when it returns."""

    TYPE = "jetsql"
    project: ClassVar[str] = ""
    """The name of dbt's project."""

    @contextmanager
    def exception_handler(self, sql: str) -> Iterator[None]:
        """Raise errors of the DB-API as dbt's, and cancel the statement if dbt is interrupted."""
        try:
            yield
        except dbapi.Error as error:
            _LOG.debug(f"JetSQL error: {error}")
            raise JetSQLDatabaseError(describe_error(error, sql), error.condition) from error
        except KeyboardInterrupt:
            connection = self.get_if_exists()
            if connection is not None:
                self.cancel(connection)
            raise

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        """Open a session. Raises FailedToConnectError."""
        if connection.state == ConnectionState.OPEN:
            return connection
        profile = connection.credentials
        settings = {**parent_settings(cls.project, get_invocation_id(), os.environ), **profile.settings}

        def connect() -> dbapi.Connection:
            try:
                return open_connection(
                    profile.url, profile.home, profile.token, profile.start, settings, profile.ca_file
                )
            except dbapi.Error as error:
                if error.condition == _NOT_REACHABLE:
                    raise _NoEngine(describe_error(error)) from error
                connection.handle, connection.state = None, ConnectionState.FAIL
                raise FailedToConnectError(describe_error(error)) from error

        retries, seconds = profile.connect_retries, profile.connect_timeout
        return cls.retry_connection(connection, connect, _LOG, [_NoEngine], retries, seconds)

    def cancel(self, connection: Connection) -> None:
        """Cancel the running statements of a connection."""
        with suppress(dbapi.Error):  # the engine is gone, and its statements with it
            connection.handle.cancel()

    @classmethod
    def get_response(cls, cursor: Any) -> AdapterResponse:
        return AdapterResponse(_message="OK")

    @classmethod
    def data_type_code_to_name(cls, type_code: int | str) -> str:
        return str(type_code)

    def execute(
        self, sql: str, auto_begin: bool = False, fetch: bool = False, limit: int | None = None
    ) -> tuple[AdapterResponse, agate.Table]:
        """Run a statement to its end. The rows are read in any case, because an error can come with them."""
        from dbt_common.clients.agate_helper import empty_table

        text = self._add_query_comment(sql)
        _, cursor = self.add_query(text, auto_begin)
        with self.exception_handler(text):
            if fetch:
                table = self.get_result_from_cursor(cursor, limit)
            else:
                table = empty_table()
                while cursor.description is not None and cursor.fetchmany(_ROWS_AT_ONCE):
                    pass
        cursor.close()
        return self.get_response(cursor), table

    def begin(self) -> Any:
        """Return the connection: there are no transactions."""
        return self.get_thread_connection()

    def commit(self) -> Any:
        """Return the connection: there are no transactions."""
        return self.get_thread_connection()

    def clear_transaction(self) -> None:
        """Do nothing: there are no transactions."""
