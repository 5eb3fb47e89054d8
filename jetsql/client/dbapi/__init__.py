"""PEP 249 for JetSQL, over the HTTP door: neither PySpark nor pandas is needed, nor imported.

    with jetsql.connect(home="my-home") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT id, amount FROM orders WHERE customer = ?", ["Ada"])
        print(cursor.fetchall())

Every statement has its effect when it returns: `commit` does nothing, and `rollback` is not supported.
"""

from __future__ import annotations

import os
from typing import Final

from jetsql.client.dbapi.connection import Connection
from jetsql.client.dbapi.cursor import ArrowCursor, Cursor
from jetsql.client.dbapi.exceptions import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,
    misuse,
)
from jetsql.client.dbapi.type_objects import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
)
from jetsql.client.engine_address import address
from jetsql.client.parameter_encoding import Typed

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "ArrowCursor",
    "Binary",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Typed",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]

apilevel: Final = "2.0"
threadsafety: Final = 2
"""Threads may share a connection; each needs cursors of its own."""
paramstyle: Final = "qmark"
"""`?`, and `:name` with a mapping."""


def connect(
    url: str | None = None,
    *,
    home: str | os.PathLike[str] | None = None,
    token: str | None = None,
    schema: str | None = None,
    start: bool = True,
) -> Connection:
    """A connection to an engine, which is a session of its own there.

    url: of the engine's HTTP door, see `jetsql.client.engine_address`. token: of a URL that has none; else the one in
    JETSQL_TOKEN.
    home: instead of a URL, the folder of an engine on this machine; the one of the settings when neither is given.
    schema: the current one. start: start the engine of the home when none runs.
    Raises InterfaceError for a bad URL, OperationalError when no engine answers, ProgrammingError for a schema that is
    not there.
    """
    try:
        where = address(home, url, token, schema, start)
    except ValueError as error:
        raise misuse(f"The engine's URL can't be read: {error}" if url else str(error)) from error
    return Connection(where)
