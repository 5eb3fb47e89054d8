"""The cursors of PEP 249, which run statements and fetch their rows.

Rows are transferred while they are fetched. Closing the cursor, or executing again, abandons the remaining rows, and
the engine cancels their statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import groupby, islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NoReturn

from jetsql.client.dbapi import type_objects
from jetsql.client.dbapi.exceptions import interface_error, require_package, translate_errors
from jetsql.client.engine_client import EngineClient
from jetsql.client.parameter_encoding import encode_parameters, type_family

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from jetsql.client.arrow_stream import ArrowRows
    from jetsql.client.dbapi.connection import Connection

Parameters = Sequence[Any] | Mapping[str, Any]
Row = tuple[Any, ...]
_NO_ROWS: Final = "The statement has no rows."

_MAX_VALUES: Final = 10_000
"""The limit of values in one statement. Spark parses as many literals in about a second."""

_INSERT: Final = re.compile(
    r"(\s*INSERT\s+INTO\s[^?:'\"]*?\bVALUES\s*)\(\s*((?:\?|:\w+)(?:\s*,\s*(?:\?|:\w+))*)\s*\)\s*;?\s*", re.IGNORECASE
)


class _StatementCursor:
    """The base class of the cursors: a running statement in the session of a connection."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.description: list[type_objects.Description] | None = None
        self.rowcount = -1
        self.lastrowid: None = None
        self._engine: EngineClient | None = None
        self._closed = False

    def cancel(self) -> None:
        """Cancel the running statement, from another thread; its `execute` or fetch raises OperationalError."""
        engine = self._engine
        with translate_errors():
            if engine is not None:
                engine.cancel()

    def close(self) -> None:
        """Close the cursor, and abandon the rows that were not fetched."""
        self._closed = True
        self._abandon_rows()

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Do nothing, because sizes follow from the values."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Do nothing, because values are never truncated."""

    def _begin(self, operation: str) -> EngineClient:
        if self._closed:
            raise interface_error("The cursor is closed.")
        if not isinstance(operation, str):
            raise interface_error(f"A statement is a str, not a {type(operation).__qualname__}.")
        self._abandon_rows()
        self.description, self.rowcount = None, -1
        if self._engine is None:
            self._engine = self.connection.open_parallel()
        return self._engine

    def _switch_engine(self, engine: EngineClient) -> None:
        if engine is not self._engine:  # it belongs to a new session
            self._abandon_rows()
            self._engine = engine

    def _abandon_rows(self) -> None:
        if self._engine is not None:
            self._engine.abandon_response()

    def __del__(self) -> None:
        self._abandon_rows()  # cancels the statement, whose rows cannot be fetched any more


class Cursor(_StatementCursor):
    """A cursor whose rows are tuples.

    `arraysize` is the default number of rows of `fetchmany`. `rowcount` is -1 until all rows are fetched, and after an
    INSERT, because Spark does not count inserted rows.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.arraysize = 1
        self._rows: Iterator[Row] | None = None
        self._fetched = 0

    def execute(self, operation: str, parameters: Parameters | None = None) -> Cursor:
        """Run one statement.

        parameters: a sequence for `?`, a mapping for `:name`.
        Raises ProgrammingError and other subclasses of `Error`. An error in computing a row is raised when the row is
        fetched.
        """
        engine = self._begin(operation)
        self._rows = None
        with translate_errors(operation):
            encoded = _encode(parameters)
            self._run(operation, encoded, engine)
        return self

    def executemany(self, operation: str, seq_of_parameters: Sequence[Parameters]) -> Cursor:
        """Run a statement with each of the parameters. An `INSERT ... VALUES (?, ...)` inserts many rows at a time."""
        engine = self._begin(operation)
        self._rows = None
        with translate_errors(operation):
            for text, parameters in batch_statements(operation, [_encode(each) for each in seq_of_parameters]):
                self._run(text, parameters, engine)
                if self.description is not None:
                    raise interface_error("executemany is for statements without rows.", "Use execute.")
        return self

    def fetchone(self) -> Row | None:
        """Return the next row, or None after the last."""
        return next(iter(self.fetchmany(1)), None)

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """Return the next rows, `size` or `arraysize` at most."""
        count = self.arraysize if size is None else size
        with translate_errors():
            rows = list(islice(self._open_rows(), count))
        return self._count(rows, is_last=len(rows) < count)

    def fetchall(self) -> list[Row]:
        """Return the remaining rows."""
        with translate_errors():
            rows = list(self._open_rows())
        return self._count(rows, is_last=True)

    def fetch_arrow_table(self) -> NoReturn:
        raise interface_error("This cursor does not fetch Arrow data.", "Use connection.arrow_cursor().")

    fetch_record_batch = fetch_df = fetch_arrow_table

    def close(self) -> None:
        self._rows = None
        super().close()

    def _run(self, text: str, parameters: Parameters | None, engine: EngineClient) -> None:
        def run(engine: EngineClient) -> Any:
            self._switch_engine(engine)
            return engine.run(text, parameters)

        result = self.connection.run_in_session(run, text, engine)
        self.description = type_objects.description(result.columns)
        if self.description is None:
            list(result.rows)  # read the response to its end, which may be an error
        else:
            self._rows, self._fetched = result.rows, 0

    def _open_rows(self) -> Iterator[Row]:
        if self._closed or self.connection.closed:
            raise interface_error("The cursor is closed.")
        if self._rows is None:
            raise interface_error(_NO_ROWS, "Execute a query first.")
        return self._rows

    def _count(self, rows: list[Row], is_last: bool) -> list[Row]:
        self._fetched += len(rows)
        if is_last:
            self.rowcount = self._fetched
        return rows

    def __iter__(self) -> Iterator[Row]:
        return iter(self.fetchone, None)

    def __enter__(self) -> Cursor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class ArrowCursor(_StatementCursor):
    """A cursor whose rows are Arrow data. The rows of an `execute` can be fetched once, by any of the three methods."""

    def __init__(self, connection: Connection) -> None:
        """Create the cursor. Raises NotSupportedError without pyarrow."""
        super().__init__(connection)
        self._rows: ArrowRows | None = None
        with require_package("pyarrow", "An Arrow cursor"):
            import_module("pyarrow")

    def execute(self, operation: str, parameters: Parameters | None = None) -> ArrowCursor:
        """Run one statement as `Cursor.execute`, but wait for the first rows."""
        from jetsql.client.arrow_stream import ArrowRows

        engine = self._begin(operation)
        self._rows = None

        def run(engine: EngineClient) -> ArrowRows:
            self._switch_engine(engine)
            return ArrowRows(engine.run_arrow(operation, encoded))

        with translate_errors(operation):
            encoded = _encode(parameters)
            self._rows = self.connection.run_in_session(run, operation, engine)
        self.description = type_objects.description(self._rows.columns)
        return self

    def fetch_record_batch(self) -> pyarrow.RecordBatchReader:
        """Return a reader of the record batches, which are transferred while they are read."""
        return self._open_rows().reader(translate_errors)

    def fetch_arrow_table(self) -> pyarrow.Table:
        """Return the rows as an Arrow table."""
        with translate_errors():
            return self.fetch_record_batch().read_all()

    def fetch_df(self) -> pandas.DataFrame:
        """Return the rows as a pandas data frame.

        Raises NotSupportedError without pandas; the other methods can still fetch the rows.
        """
        with require_package("pandas", "A data frame"):
            import_module("pandas")
        return self.fetch_arrow_table().to_pandas()

    def _open_rows(self) -> ArrowRows:
        if self._closed or self.connection.closed:
            raise interface_error("The cursor is closed.")
        rows, self._rows = self._rows, None
        if rows is None or self.description is None:
            raise interface_error(_NO_ROWS, "Execute a query first; its rows are fetched once.")
        return rows

    def __enter__(self) -> ArrowCursor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _encode(parameters: Parameters | None) -> Any:
    if parameters is None:
        return None
    if isinstance(parameters, str | bytes) or not isinstance(parameters, Sequence | Mapping):
        raise interface_error(f"Parameters are a sequence or a mapping, not a {type(parameters).__qualname__}.")
    return encode_parameters(parameters)


def batch_statements(text: str, rows: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Yield statements with parameters that together have the effect of `text` with each row."""
    insert = _INSERT.fullmatch(text)
    if insert is None or len(rows) < 2:
        yield from ((text, row) for row in rows)
        return
    markers = re.findall(r"\?|:\w+", insert[2])
    flat = [_positional(row, markers) for row in rows]
    if any(row is None for row in flat):
        yield from ((text, row) for row in rows)  # a row is wrong, and Spark reports how
        return
    yield from _combine(insert[1], [row for row in flat if row is not None], len(markers))


def _positional(row: Any, markers: list[str]) -> list[Any] | None:
    """Return a row's values in the order of the markers, or None if they do not fit."""
    if isinstance(row, Mapping):
        names = [marker[1:] for marker in markers]
        return [row[name] for name in names] if all(name in row for name in names) else None
    fits = isinstance(row, list) and len(row) == len(markers) and set(markers) == {"?"}
    return row if fits else None


def _combine(head: str, rows: list[list[Any]], width: int) -> Iterator[tuple[str, list[Any]]]:
    max_rows = max(_MAX_VALUES // width, 1)
    group = f"({', '.join('?' * width)})"
    for _, same_types in groupby(rows, _type_families):
        run = list(same_types)
        for start in range(0, len(run), max_rows):
            part = run[start : start + max_rows]
            yield f"{head}{', '.join([group] * len(part))}", [value for row in part for value in row]


def _type_families(row: list[Any]) -> list[str]:
    """Return the types of a row. Rows of one VALUES need the same types: Spark casts numbers next to strings."""
    return [type_family(value) for value in row]
