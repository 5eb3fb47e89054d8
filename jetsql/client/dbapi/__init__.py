"""The DB-API of PEP 249 for JetSQL, over the HTTP endpoint. It needs neither PySpark nor pandas.

    with jetsql.connect(home="my-home") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT id, amount FROM orders WHERE customer = ?", ["Ada"])
        print(cursor.fetchall())

Every statement takes effect when it returns: `commit` does nothing, and `rollback` is not supported.
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
    interface_error,
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
from jetsql.client.engine_address import parse_address
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
"""Threads may share a connection, but not a cursor."""
paramstyle: Final = "qmark"
"""`?` for parameters in a sequence; `:name` for parameters in a mapping works as well."""


def connect(
    url: str | None = None,
    *,
    home: str | os.PathLike[str] | None = None,
    token: str | None = None,
    schema: str | None = None,
    start: bool = True,
    ca_file: str | os.PathLike[str] | None = None,
) -> Connection:
    """Open a connection with a new session on an engine.

    url: the URL of the engine's HTTP endpoint; see `jetsql.client.engine_address`.
    home: the folder of an engine on this machine, instead of a URL; the default is the home in the settings.
    token: the token, if the URL has none; the default is JETSQL_TOKEN.
    schema: the current schema of the session.
    start: start the engine of the home if none runs.
    ca_file: the certificates of the authorities of an engine with TLS, in PEM; the default is JETSQL_CA_FILE, and then
        those of the system.
    Raises InterfaceError for a wrong URL, OperationalError if no engine answers, ProgrammingError for a schema that
    does not exist.
    """
    try:
        address = parse_address(home, url, token, schema, start, ca_file)
    except ValueError as error:
        raise interface_error(f"The engine's URL cannot be read. {error}" if url is not None else str(error)) from error
    return Connection(address)
